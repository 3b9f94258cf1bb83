"""Photographs and texts as features: each once for a model, whatever number of benchmarks asks for it."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from more_itertools import chunked
from torch import Tensor

from slipform_core import progress
from slipform_core.benchmarks import Photo
from slipform_core.evaluation.store import Store, key_of
from slipform_core.mistakes import BadPicture
from slipform_core.models import Clip, fingerprint
from slipform_core.sources import photographs

THREADS = 4  # that read photographs beside the model
READ = 256  # files whose bytes are held at a time

New = tuple[bytes, "Future[Tensor]"]  # the key of a picture, and its pixels to come


class Encoder:
    """A model, and what it has encoded.

    Texts are known by their characters, photographs by the bytes of their files and the part that is shown:
    what two benchmarks share is encoded once, also across runs where `folder` keeps it. batch: at a time.
    `encoded` counts the pictures and texts that the model was asked for.
    """

    def __init__(self, clip: Clip, *, folder: Path | None = None, batch: int = 64):
        self.clip, self.batch = clip, batch
        self.model = fingerprint(clip)
        self.encoded = {"pictures": 0, "texts": 0}
        self._store = Store(folder, self.model)
        self._known: dict[Photo, bytes] = {}

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (T, D) float32."""
        keys = {text: key_of("text", text.encode(errors="replace")) for text in texts}
        named = {key: text for text, key in keys.items()}
        # Of like length together, so that few tokens are padding; the longest first, which needs most memory.
        missing = sorted(self._store.missing(named), key=lambda key: -len(named[key]))
        with progress.bar(desc="texts", unit="text", total=len(missing), disable=not missing) as bar:
            for part in chunked(missing, self.batch):
                with torch.inference_mode():
                    features = self.clip.encode_text(self.clip.tokenize([named[key] for key in part]))
                self._keep("texts", part, features)
                bar.update(len(part))
        return self._store.read([keys[text] for text in texts])

    def pictures(self, photos: Sequence[Photo]) -> np.ndarray:
        """Unit vectors (P, D) float32; BadPicture names a photograph that cannot be read."""
        new = [photo for photo in dict.fromkeys(photos) if photo not in self._known]
        waiting: deque[New] = deque()
        with (
            ThreadPoolExecutor(THREADS) as pool,
            progress.bar(desc="pictures", unit="picture", total=len(new), disable=not new) as bar,
        ):
            for found in self._missing(new, pool, bar):
                waiting.append(found)
                if len(waiting) == 2 * self.batch:  # while one half is encoded, the other is read
                    self._encode([waiting.popleft() for _ in range(self.batch)])
            for part in chunked(waiting, self.batch):
                self._encode(part)
        return self._store.read([self._known[photo] for photo in photos])

    def _missing(self, photos: Sequence[Photo], pool: ThreadPoolExecutor, bar) -> Iterator[New]:
        """What of the photographs the store lacks, each content once."""
        asked: set[bytes] = set()
        for part in chunked(photos, READ):
            contents = list(pool.map(_content, part))
            self._known |= {photo: key for photo, (key, _) in zip(part, contents, strict=True)}
            missing = set(self._store.missing(key for key, _ in contents)) - asked
            for photo, (key, data) in zip(part, contents, strict=True):
                if key in missing - asked:
                    asked.add(key)
                    yield key, pool.submit(self._pixels, photo, data)
                bar.update()

    def _pixels(self, photo: Photo, data: bytes) -> Tensor:
        try:
            picture = photographs.whole(data)
        except BadPicture as bad:
            raise BadPicture(f"{bad}: {photo.place}") from None
        return self.clip.transform(picture.crop(photo.box) if photo.box else picture)

    def _encode(self, new: Sequence[New]) -> None:
        keys, pixels = zip(*new, strict=True)
        with torch.inference_mode():
            features = self.clip.encode_pixels(torch.stack([each.result() for each in pixels]))
        self._keep("pictures", keys, features)

    def _keep(self, what: str, keys: Sequence[bytes], features: Tensor) -> None:
        self.encoded[what] += len(keys)
        self._store.write(dict(zip(keys, features.float().cpu().numpy(), strict=True)))


def _content(photo: Photo) -> tuple[bytes, bytes]:
    try:
        data = photographs.content(photo.place)
    except BadPicture as bad:
        raise BadPicture(f"{bad}: {photo.place}") from None
    return key_of(f"picture {photo.box}", data), data
