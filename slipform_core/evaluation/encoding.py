"""Pictures and texts as features: each once for a model, whatever number of benchmarks asks for it."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import length_hint
from pathlib import Path

import numpy as np
import torch
from more_itertools import chunked
from PIL.Image import Image
from torch import Tensor

from slipform_core import progress
from slipform_core.benchmarks.items import Photo
from slipform_core.evaluation.store import Store, key_of
from slipform_core.evaluation.threads import in_parts, reading_threads
from slipform_core.mistakes import BadPicture, Mistake
from slipform_core.models import fingerprint
from slipform_core.models.clip import Clip
from slipform_core.sources import photographs

Shown = Photo | Image  # a photograph by where it lies, or a picture in memory
Content = tuple[bytes, bytes | Image | None]  # the key of a picture, and what was read for it
New = tuple[bytes, "Future[Tensor]"]  # the key of a picture, and its pixels to come
SAID = 3  # photographs that an error names


class UnreadablePictures(BadPicture):
    """Photographs that cannot be read, by their places; all others of the same call are encoded and kept."""

    def __init__(self, why: Mapping[str, str]):
        self.why = why
        named = [f"{reason}: {place}" for place, reason in why.items()][:SAID]
        more = f"{len(why):,} pictures cannot be read, the first: " if len(why) > 1 else ""
        super().__init__(more + "; ".join(named))


@dataclass
class _Bad:
    """What of a call's photographs cannot be read, and why, by place; damaged ones by their content."""

    missing: dict[str, str] = field(default_factory=dict)
    damaged: dict[bytes, str] = field(default_factory=dict)
    places: defaultdict[bytes, list[str]] = field(default_factory=lambda: defaultdict(list))

    def why(self) -> dict[str, str]:
        said = ((place, why) for key, why in self.damaged.items() for place in self.places[key])
        return self.missing | dict(said)


class Encoder:
    """A model, and what it has encoded.

    Texts are known by their characters, photographs by the bytes of their files and the part that is shown,
    pictures in memory by their pixels in RGB: what two benchmarks share is encoded once, also across runs
    where `folder` keeps it. batch: at a time. `encoded` counts the pictures and texts that the model was
    asked for.
    """

    def __init__(self, clip: Clip, *, folder: Path | None = None, batch: int = 64):
        self.clip, self.batch = clip, batch
        self.fingerprint = fingerprint(clip)
        self.encoded = {"pictures": 0, "texts": 0}
        self._store = Store(folder, self.fingerprint)
        self._known: dict[Photo, bytes] = {}

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (T, D) float32."""
        alike = self._alike(texts)
        keys = {text: key_of("text", alike.get(text, text).encode(errors="surrogatepass")) for text in texts}
        named = {key: text for text, key in keys.items()}
        # Of like length together, so that few tokens are padding; the longest first, which needs most memory.
        missing = sorted(self._store.missing(named), key=lambda key: -len(named[key]))
        with progress.bar(desc="texts", unit="text", total=len(missing), disable=not missing) as bar:
            for part in chunked(missing, self.batch):
                with _asking():
                    features = self.clip.encode_text(self.clip.tokenize([named[key] for key in part]))
                self.encoded["texts"] += len(part)
                self._keep(part, features)
                bar.update(len(part))
        return self._store.read([keys[text] for text in texts])

    def _alike(self, texts: Sequence[str]) -> dict[str, str]:
        """Of texts that the model cuts, the first with the same tokens: one vector, so that they tie."""
        first: dict[bytes, str] = {}
        return {
            text: first.setdefault(row.numpy().tobytes(), text)
            for part in chunked(self.cut(texts), self.batch)
            for text, row in zip(part, self.clip.tokenize(part), strict=True)
        }

    def cut(self, texts: Sequence[str]) -> list[str]:
        """The texts that have more tokens than the model reads; none of a tokenizer that refuses these."""
        limit = self.context
        # A token has a byte at least, and two are marks of start and end.
        long = [text for text in dict.fromkeys(texts) if len(text.encode(errors="replace")) > limit - 2]
        found: list[str] = []
        for part in chunked(long, self.batch):
            try:
                longer = self.clip.tokenize(["", *part], context_length=limit + 1)
            except TypeError:
                return []
            # With room for one more, what was cut ends otherwise: by its next token, or later by its mark.
            short = self.clip.tokenize(["", *part])
            other = (short != longer[:, :limit]).any(dim=1) | (longer[:, -1] != longer[0, -1])
            found += [text for text, cut in zip(part, other[1:].tolist(), strict=True) if cut]
        return found

    @cached_property
    def context(self) -> int:
        """How many tokens the model reads of a text."""
        return np.shape(self.clip.tokenize([""]))[1]

    def pictures(self, pictures: Iterable[Shown], *, projected: bool = True) -> np.ndarray:
        """Unit vectors (P, D) float32, or the tower's features (P, W) before its projection, as they come.

        Each is read once and in order, so that a generator will do. What is asked for before the projection
        is kept after it too, from the same encoding. UnreadablePictures names the photographs that cannot be
        read, Mistake a tower without a projection of its own.
        """
        keys: list[bytes] = []
        bad = _Bad()
        waiting: deque[New] = deque()
        total = length_hint(pictures) or None
        again = isinstance(pictures, Sequence) and all(
            isinstance(shown, Photo) and shown in self._known for shown in pictures
        )
        with (
            reading_threads() as pool,
            progress.bar(desc="pictures", unit="picture", total=total, disable=again) as bar,
        ):
            for found in self._missing(pictures, keys, projected, pool, bar, bad):
                waiting.append(found)
                if len(waiting) == 2 * self.batch:  # while one half is encoded, the other is read
                    self._encode([waiting.popleft() for _ in range(self.batch)], projected, bad)
            for part in chunked(waiting, self.batch):
                self._encode(part, projected, bad)
        if why := bad.why():
            raise UnreadablePictures(why)
        return self._store.read(keys if projected else [_unprojected(key) for key in keys])

    def _missing(
        self,
        pictures: Iterable[Shown],
        keys: list[bytes],
        projected: bool,
        pool: ThreadPoolExecutor,
        bar,
        bad: _Bad,
    ) -> Iterator[New]:
        """What of the pictures the store lacks, each content once; adds the key of each picture to `keys`."""
        asked: set[bytes] = set()
        for part in in_parts(pictures):
            read = list(zip(part, pool.map(self._content, part), strict=True))
            bad.missing |= {shown.place: content for shown, content in read if isinstance(content, str)}
            found = [(shown, content) for shown, content in read if not isinstance(content, str)]
            self._known |= {shown: key for shown, (key, _) in found if isinstance(shown, Photo)}
            kept = {key if projected else _unprojected(key): key for _, (key, _) in found}
            missing = {kept[key] for key in self._store.missing(kept)}
            for shown, (key, data) in found:
                if key in missing and isinstance(shown, Photo):
                    bad.places[key].append(shown.place)
                if key in missing and key not in asked:
                    asked.add(key)
                    yield key, pool.submit(self._pixels, shown, data)
                keys.append(key)
                bar.update()

    def _content(self, shown: Shown) -> Content | str:
        """What of a picture is to be encoded, or why there is nothing."""
        if isinstance(shown, Image):
            picture = shown if shown.mode == "RGB" else shown.convert("RGB")
            return key_of(f"pixels {picture.size}", picture.tobytes()), picture
        if shown in self._known:
            return self._known[shown], None
        try:
            data = photographs.content(shown.place)
        except BadPicture as bad:
            return str(bad)
        return key_of(f"picture {shown.box}", data), data

    def _pixels(self, shown: Shown, data: bytes | Image | None) -> Tensor:
        if isinstance(data, Image):
            return self.clip.transform(data)
        picture = photographs.as_stored(data or photographs.content(shown.place))
        return self.clip.transform(picture.crop(shown.box) if shown.box else picture)

    def _encode(self, new: Sequence[New], projected: bool, bad: _Bad) -> None:
        keys, pixels = [], []
        for key, coming in new:
            try:
                pixels.append(coming.result())
                keys.append(key)
            except BadPicture as error:
                bad.damaged[key] = str(error)
        if not keys:
            return
        stacked = torch.stack(pixels)
        with _asking():
            if projected:
                units = self.clip.encode_pixels(stacked)
            else:
                pooled, units = self.clip.encode_unprojected(stacked)
                self._keep([_unprojected(key) for key in keys], pooled)
        self.encoded["pictures"] += len(keys)
        self._keep(keys, units)

    def _keep(self, keys: Sequence[bytes], features: Tensor) -> None:
        self._store.write(dict(zip(keys, features.float().cpu().numpy(), strict=True)))


@contextmanager
def _asking() -> Iterator[None]:
    try:
        with torch.inference_mode():
            yield
    except torch.OutOfMemoryError:
        raise Mistake("the device has too little memory: say a smaller --batch-size") from None


def _unprojected(key: bytes) -> bytes:
    """The key of a picture's features before the projection, from that of its unit vector."""
    return key_of("unprojected", key)
