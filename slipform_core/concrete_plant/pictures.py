"""The picture stage: rewritings in, pairs of pictures or reasons why there is none out."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from more_itertools import chunked
from PIL import Image

from slipform_core import progress, shards
from slipform_core.concrete_plant.guard import Failure, Guard
from slipform_core.concrete_plant.parts import (
    DROPPED,
    WHOLE,
    Dropped,
    Rejection,
    Share,
    digest,
    failed,
    head,
    part_path,
    part_paths,
    read_part,
    unread,
    write_dropped,
)
from slipform_core.editors import Edit, Editor
from slipform_core.mistakes import BadPicture
from slipform_core.records import Caption, HardNegative
from slipform_core.sources.photographs import square

Row = tuple[Caption, HardNegative]


class PictureStage:
    """Edits the pictures of rewritten captions, `batch` records at a time.

    picture: a caption's picture, (H, W, 3) uint8; a BadPicture that it raises drops the record. side: of the
    pictures that are kept, originals and edits resampled alike; None keeps them as they are. quality: of
    JPEGs; None for PNG, without loss.
    """

    def __init__(
        self,
        *,
        editor: Editor,
        picture: Callable[[Caption], np.ndarray],
        batch: int = 1,
        side: int | None = None,
        quality: int | None = None,
    ):
        self.editor, self.batch, self.side, self.quality = editor, batch, side, quality
        self._picture = picture
        # An editor that always fails is not excused by pictures that can be read.
        self._loads, self._edited = Guard(), Guard()

    def run(self, out: Path, share: Share = WHOLE) -> None:
        """Make the shards of this process's share of the parts of a folder; those that stand are kept.

        A shard is made again where a record failed in it, or a picture that was dropped can be read by now.
        """
        paths = part_paths(out)
        mine = {index: path for index, path in paths.items() if share.has(index)}
        total = sum(head(path)["captions"] for path in mine.values())
        before = {shard.name: shard for shard in shards.read_manifest(out)}
        rejected: Counter[str] = Counter()
        with progress.bar(desc="pictures", unit="caption", total=total) as bar:
            for index, path in mine.items():
                old = before.get(shards.shard_name(index))
                rejected += Counter(self._shard(out, index, path, old, bar).rejected)
                bar.set_postfix(rejected.most_common(3), refresh=False)
        # Read again, since others that share the run may have written parts meanwhile.
        standing = part_paths(out)
        for index, path in part_paths(out, DROPPED).items():
            if index not in standing:
                path.unlink(missing_ok=True)
        shards.forget(out, {shards.shard_name(index) for index in standing})

    def _shard(self, out: Path, index: int, path: Path, old: shards.Shard | None, bar: Any) -> shards.Shard:
        source, lost = self.source(digest(path)), part_path(out, index, DROPPED)
        if old and old.source == source and shards.intact(out, old) and self._final(lost, old):
            bar.update(old.captions)
            return old
        part, dropped = read_part(path), Dropped()
        bar.update(len(part.rejected))
        made = shards.write_shard(
            out,
            shards.shard_name(index),
            self.samples(_ticking(part.kept, bar), dropped),
            source=source,
            captions=part.captions,
            rejected=lambda: part.reasons + Counter(rejection.reason for rejection in dropped.records),
            quality=self.quality,
        )
        write_dropped(lost, dropped)
        shards.enter(out, made)
        return made

    def _final(self, lost: Path, old: shards.Shard) -> bool:
        """Whether nothing that was dropped from a shard might be made by now."""
        if not lost.is_file() or failed(old.rejected):
            return False
        return all(isinstance(self._load(caption), Failure) for caption in unread(lost))

    def samples(self, kept: Iterable[Row], dropped: Dropped) -> Iterator[shards.Sample]:
        """The samples of these records in their order; what is dropped is added to `dropped`."""
        pictures: dict[str, Image.Image | Failure] = {}
        for rows in chunked(kept, self.batch):
            # A picture's captions stand together, so that the last batch has it or none.
            before, pictures = pictures, {}
            for caption, _ in rows:
                if caption.image_id not in pictures:
                    picture = before.get(caption.image_id) or self._load(caption)
                    pictures[caption.image_id] = picture
                    if isinstance(picture, Failure) and caption.image_id not in before:
                        dropped.unread.append(caption)
            usable = [row for row in rows if not isinstance(pictures[row[0].image_id], Failure)]
            edits = self._edits([(*row, pictures[row[0].image_id]) for row in usable])
            outcomes = {record.record_id: edit for (_, record), edit in zip(usable, edits, strict=True)}
            for caption, record in rows:
                picture = pictures[caption.image_id]
                edit = outcomes.get(record.record_id, picture)
                if isinstance(edit, Failure):
                    tried = record.keyword.text, record.negative_caption
                    dropped.records.append(Rejection(caption, edit, *tried))
                else:
                    yield self._sample(record, picture, edit)

    def _load(self, caption: Caption) -> Image.Image | Failure:
        def load(captions: Sequence[Caption]) -> list[Image.Image | Failure]:
            try:
                return [Image.fromarray(self._picture(captions[0]))]
            except BadPicture as bad:
                return [Failure(bad)]

        return self._loads.each(load, [caption])[0]

    def _edits(self, rows: Sequence[tuple[Caption, HardNegative, Image.Image]]) -> list[Edit | Failure]:
        def edit(rows: Sequence[tuple[Caption, HardNegative, Image.Image]]) -> list[Edit | Failure]:
            captions, records, pictures = zip(*rows, strict=True)
            edits = self.editor.edit(
                captions,
                pictures,
                [record.negative_caption for record in records],
                seeds=[record.provenance.seed for record in records],
            )
            return [Failure(made.fault) if made.fault else made for made in edits]

        return self._edited.each(edit, rows) if rows else []

    def _sample(self, record: HardNegative, picture: Image.Image, edit: Edit) -> shards.Sample:
        provenance = replace(record.provenance, editor=self.editor.version)
        record = replace(record, negative_image_path=edit.path, provenance=provenance)
        both = (square(one, self.side) if self.side else one for one in (picture, edit.image))
        return shards.Sample(record, *map(np.asarray, both))

    def source(self, part: str) -> str:
        """What a shard is made from, in sixteen hex digits: the part's digest and what edits it."""
        settings = repr((part, self.editor.version, self.side, self.quality))
        return hashlib.sha256(settings.encode()).hexdigest()[:16]


def _ticking(rows: Iterable[Row], bar: Any) -> Iterator[Row]:
    for row in rows:
        yield row
        bar.update()
