"""ConcretePlant: captions in, audited hard negatives and counts of what was rejected out.

keywords -> target word by concreteness -> rewritten caption -> audit -> edited picture -> shard.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from slipform_core import progress, shards, sources
from slipform_core.audit import audit
from slipform_core.concreteness import CHOICES, Norms, choose_swap, choose_target, extract_keywords_batch
from slipform_core.editors import Editor
from slipform_core.records import Caption, HardNegative, Keyword, Provenance
from slipform_core.rewriters import Rewriter, record_rng

SWAP = "swap"
NOTHING = "no covered keyword"
REPEATED = "repeated caption"


@dataclass(frozen=True)
class PlantReport:
    """What a run made: hard negatives kept, captions rejected by reason, and where the shards are."""

    kept: int
    rejected: Counter[str]
    folder: Path


class ConcretePlant:
    """The pipeline for one choice of the target word.

    choose: "hc", "lc", "wo" (see `choose_target`), or "swap", which exchanges two words of a role.
    picture: a caption's picture, (H, W, 3) uint8. top_k: candidates a role. attempts: draws before a
    caption is rejected. seed: of choice, rewriter and editor; each record draws from a generator of its own,
    so that its outcome does not depend on its neighbours.
    """

    def __init__(
        self,
        *,
        norms: Norms,
        choose: str,
        rewriter: Rewriter,
        editor: Editor,
        picture: Callable[[Caption], np.ndarray] = sources.picture,
        top_k: int = 3,
        attempts: int = 8,
        seed: int = 0,
    ):
        if choose not in (*CHOICES, SWAP):
            raise ValueError(f"unknown choice {choose!r}; the choices are: {', '.join((*CHOICES, SWAP))}")
        self.norms, self.choose, self.rewriter, self.editor = norms, choose, rewriter, editor
        self.picture, self.top_k, self.attempts, self.seed = picture, top_k, attempts, seed

    def run(self, captions: Iterable[Caption], *, out: Path, shard_captions: int = 1000) -> PlantReport:
        """Make the hard negatives of all captions, `shard_captions` a shard; shards that stand are kept."""
        out.mkdir(parents=True, exist_ok=True)
        standing = {shard.name: shard for shard in shards.read_manifest(out)}
        made: list[shards.Shard] = []
        with progress.bar(desc=f"negatives {self.choose}", unit="caption") as bar:
            for index, chunk in enumerate(sources.chunks(captions, shard_captions)):
                name, source = shards.shard_name(index), self._source(chunk)
                old = standing.get(name)
                keep = old is not None and old.source == source and shards.intact(out, old)
                made.append(old if keep else self._shard(chunk, out, name, source))
                shards.write_manifest(out, [*made, *(standing[n] for n in standing if n > name)])
                bar.update(len(chunk))
        shards.write_manifest(out, made)
        return PlantReport(sum(shard.records for shard in made), shards.rejections(made), out)

    def negatives(
        self, captions: Sequence[Caption]
    ) -> tuple[list[tuple[Caption, HardNegative]], Counter[str]]:
        """The text stage: the hard negatives of these captions, and the rejections by reason.

        A caption whose rewriting fails is tried again with another draw, `attempts` times in all; its last
        reason is the one that counts. A picture's caption that comes again would make the same record.
        """
        keywords = extract_keywords_batch([caption.text for caption in captions], self.norms)
        records: dict[int, HardNegative] = {}
        first: dict[tuple[str, str], int] = {}
        for index, caption in enumerate(captions):
            first.setdefault((caption.image_id, caption.text), index)
        reasons = dict.fromkeys(first.values(), "")
        for attempt in range(self.attempts):
            targets: dict[int, Keyword] = {}
            for index in reasons:
                target = self._target(captions[index], keywords[index], attempt)
                if target:
                    targets[index] = target
                else:
                    reasons[index] = NOTHING if captions[index].text.strip() else "empty caption"
            tried = [captions[index] for index in targets]
            texts = self.rewriter.rewrite(tried, list(targets.values()), seed=self.seed + attempt)
            for (index, target), text in zip(targets.items(), texts, strict=True):
                caption = captions[index]
                reasons[index] = audit(caption.text, target, text) or self.rewriter.fault(caption, text) or ""
                if not reasons[index]:
                    records[index] = self._record(caption, target, text)
                    del reasons[index]
        rejected = Counter(reasons.values()) + Counter({REPEATED: len(captions) - len(first)})
        return [(captions[index], records[index]) for index in sorted(records)], rejected

    def _target(self, caption: Caption, keywords: Sequence[Keyword], attempt: int) -> Keyword | None:
        rng = record_rng(caption, self.seed + attempt)
        if self.choose == SWAP:
            return choose_swap(caption.text, keywords, rng=rng)
        return choose_target(keywords, self.choose, top_k=self.top_k, rng=rng)

    def _record(self, caption: Caption, target: Keyword, text: str) -> HardNegative:
        seed = int(record_rng(caption, self.seed).integers(2**31))
        provenance = Provenance(self.rewriter.version, self.editor.version, seed)
        return HardNegative(
            caption.image_id, caption.image_path, caption.text, target, text, None, provenance
        )

    def _source(self, captions: Sequence[Caption]) -> str:
        """What a shard is made from, in sixteen hex digits."""
        settings = (
            self.norms.name,
            self.choose,
            self.top_k,
            self.attempts,
            self.seed,
            self.rewriter.version,
            self.editor.version,
        )
        digest = hashlib.sha256(repr(settings).encode())
        for caption in captions:
            digest.update(repr(caption).encode())
        return digest.hexdigest()[:16]

    def _shard(self, captions: Sequence[Caption], out: Path, name: str, source: str) -> shards.Shard:
        kept, rejected = self.negatives(captions)
        count = len(captions)
        return shards.write_shard(
            out, name, self._pictures(kept), source=source, captions=count, rejected=rejected
        )

    def _pictures(self, kept: Sequence[tuple[Caption, HardNegative]]) -> Iterator[shards.Sample]:
        for caption, record in kept:
            picture = self.picture(caption)
            [edited] = self.editor.edit(
                [caption],
                [Image.fromarray(picture)],
                [record.negative_caption],
                seeds=[record.provenance.seed],
            )
            yield shards.Sample(record, picture, np.asarray(edited.image))
