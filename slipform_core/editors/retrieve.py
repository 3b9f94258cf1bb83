"""Another real photo of the source, whose own captions fit the negative caption; nothing is edited.

The idea is NegCLIP's (Yuksekgonul et al. 2023), there by similar pictures. It is no counterfactual:
everything else differs too.
"""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import numpy as np
from filelock import FileLock
from more_itertools import chunked
from numpy.typing import NDArray
from PIL import Image

from slipform_core import progress
from slipform_core.audit import ARTICLES
from slipform_core.changes import words
from slipform_core.editors.protocol import Edit
from slipform_core.files import whole
from slipform_core.mistakes import BadPicture, Mistake
from slipform_core.records import Caption
from slipform_core.sentences import SentenceEncoder

FITS = 0.6  # cosine of the negative caption and the photo's own: our choice
NONE = "no other photo fits"
TRIES = 10  # photos, of which the first that can be read is taken
ENCODED = 2048  # captions at a time


class CaptionIndex:
    """The captions of a source, their vectors (C, D) in half precision on disk, and which have a word."""

    def __init__(self, captions: Iterable[Caption], encoder: SentenceEncoder, folder: Path):
        self._encoder = encoder
        self.pictures: list[str] = []
        self._rows: dict[str, array] = {}
        self._of_caption: dict[int, int] = {}
        digest = hashlib.sha256(encoder.version.encode())
        texts = []
        for row, caption in enumerate(captions):
            digest.update(repr((caption.image_id, caption.text)).encode())
            self.pictures.append(caption.image_id)
            self._of_caption[hash((caption.image_id, caption.text))] = row
            texts.append(caption.text)
            for word in set(words(caption.text)):
                self._rows.setdefault(word, array("I")).append(row)
        if not texts:
            raise Mistake("no picture of the source is there, so that none can be taken for another")
        self.version = digest.hexdigest()[:8]
        path = folder / f"captions-{self.version}.npy"
        # The processes that share a run begin together: one encodes, the others wait for it.
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock")):
            if not path.is_file():
                _encode(texts, encoder, path)
                _drop_others(path)
        self.vectors = np.load(path, mmap_mode="r")

    def vector(self, caption: Caption) -> NDArray[np.float32]:
        """The vector of a caption, of one of the source without encoding it again."""
        row = self._of_caption.get(hash((caption.image_id, caption.text)))
        if row is None:
            return self._encoder.encode([caption.text])[0]
        return self.vectors[row].astype(np.float32)

    def with_words(self, wanted: Iterable[str]) -> NDArray[np.uint32]:
        """The rows of the captions that have all of some words; all rows where none are wanted."""
        found: NDArray[np.uint32] | None = None
        for word in wanted:
            rows = np.frombuffer(self._rows.get(word, array("I")), dtype=np.uint32)
            found = rows if found is None else np.intersect1d(found, rows, assume_unique=True)
        return np.arange(len(self.pictures), dtype=np.uint32) if found is None else found


class RetrieveEditor:
    """Takes the photo whose caption is nearest to the negative caption, if it fits that and not the original.

    A photo fits whose caption has the new words, or all where two were exchanged, articles aside, a cosine of
    at least 0.6 to the negative caption, and a greater one to it than to the original. picture: a photo by
    its id, of the size of the originals.
    """

    side = None

    def __init__(
        self,
        index: CaptionIndex,
        encoder: SentenceEncoder,
        picture: Callable[[str, int], Image.Image],
    ):
        self._index, self._encoder, self._picture = index, encoder, picture
        self.version = f"retrieve@2-{index.version}"

    def edit(
        self,
        captions: Sequence[Caption],
        images: Sequence[Image.Image],
        negative_captions: Sequence[str],
        *,
        seeds: Sequence[int],
    ) -> list[Edit]:
        wanted = self._encoder.encode(negative_captions)
        records = zip(captions, images, negative_captions, wanted, strict=True)
        return [self._one(*record) for record in records]

    def _one(
        self,
        caption: Caption,
        image: Image.Image,
        negative: str,
        wanted: NDArray[np.float32],
    ) -> Edit:
        said = set(words(negative))
        new = said.difference(words(caption.text), ARTICLES)
        rows = self._index.with_words(new or said - ARTICLES)
        vectors = self._index.vectors[rows].astype(np.float32)
        cosines = vectors @ wanted
        fits = (cosines >= FITS) & (cosines > vectors @ self._index.vector(caption))
        nearest = rows[fits][np.argsort(-cosines[fits], kind="stable")]
        names = dict.fromkeys(self._index.pictures[row] for row in nearest)
        names.pop(caption.image_id, None)
        for name in islice(names, TRIES):
            with suppress(BadPicture):
                return Edit(self._picture(name, image.width), name)
        return Edit(None, fault=NONE)


def _drop_others(path: Path) -> None:
    """Remove the vectors of captions of before, hundreds of megabytes."""
    for other in path.parent.glob("captions-*"):
        if other.stem != path.stem:
            other.unlink(missing_ok=True)


def _encode(texts: Sequence[str], encoder: SentenceEncoder, path: Path) -> None:
    with whole(path) as partial, progress.bar(desc="captions", unit="caption", total=len(texts)) as bar:
        vectors = None
        for start, part in zip(range(0, len(texts), ENCODED), chunked(texts, ENCODED), strict=True):
            found = encoder.encode(part).astype(np.float16)
            if vectors is None:
                shape = (len(texts), found.shape[1])
                vectors = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float16, shape=shape)
            vectors[start : start + len(part)] = found
            bar.update(len(part))
        vectors.flush()
