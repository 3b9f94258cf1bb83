"""What a model sees of ConcreteBatch: similarities and gaps between originals and edits, and their Table 1.

v and t are a record's picture and caption, v' and t' their edits; R records, D embedding width.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from more_itertools import chunked
from numpy.typing import ArrayLike

from slipform_core.models.clip import Clip
from slipform_core.shards import Sample

DIGITS = 5  # significant, not after the point: the smallest gap keeps its sign
ABSTRACT = 3.0  # Table 1 has a part for words whose concreteness is below this
MEANS = ("text_similarity", "image_similarity", "own", "edited")


def measure(clip: Clip, samples: Iterable[Sample], *, batch: int) -> dict[str, list[Any]]:
    """Columns of R plain values, a row a record in the order given; `batch` records in memory at a time.

    word, lemma, role, pos, concreteness: of the changed word. scene: a number a picture, in order of
    appearance. length: words in the caption. Cosines, not logits: text_similarity (t, t'), image_similarity
    (v, v'), own (v, t), edited (v', t'), gap_i2t (v, t) - (v, t'), gap_t2i (v, t) - (v', t); a choice is
    right where its gap is above 0. A picture and a text that come again in a batch are encoded once.
    Leaves the model in eval mode. Raises ValueError for no records, and names one whose cosine is NaN.
    """
    clip.model.eval()
    columns: dict[str, list[Any]] = {}
    scenes: dict[str, int] = {}
    for chunk in chunked(samples, batch):
        for name, values in (_words(chunk, scenes) | _cosines(clip, chunk)).items():
            columns.setdefault(name, []).extend(values)
    if not columns:
        raise ValueError("there are no records to measure")
    return columns


def _words(chunk: Sequence[Sample], scenes: dict[str, int]) -> dict[str, list[Any]]:
    records = [sample.record for sample in chunk]
    keywords = [record.keyword for record in records]
    return {
        "word": [keyword.text.lower() for keyword in keywords],
        "lemma": [keyword.lemma for keyword in keywords],
        "role": [keyword.role for keyword in keywords],
        "pos": [keyword.pos for keyword in keywords],
        "concreteness": _plain([keyword.concreteness for keyword in keywords]),
        "scene": [scenes.setdefault(record.image_id, len(scenes)) for record in records],
        "length": [len(record.caption.split()) for record in records],
    }


def _cosines(clip: Clip, chunk: Sequence[Sample]) -> dict[str, list[float]]:
    pictures, negative_pictures, texts, negative_texts = _features(clip, chunk)
    own = _cosine(pictures, texts)
    columns = {
        "text_similarity": _cosine(texts, negative_texts),
        "image_similarity": _cosine(pictures, negative_pictures),
        "own": own,
        "edited": _cosine(negative_pictures, negative_texts),
        "gap_i2t": own - _cosine(pictures, negative_texts),
        "gap_t2i": own - _cosine(negative_pictures, texts),
    }
    for name, values in columns.items():
        if np.isnan(values).any():
            record = chunk[int(np.isnan(values).argmax())].record
            raise ValueError(f"{name} of record {record.record_id} ({record.caption!r}) is NaN")
    return {name: _plain(values) for name, values in columns.items()}


def _features(clip: Clip, chunk: Sequence[Sample]) -> list[np.ndarray]:
    """Unit vectors (R, D) float64 of v, v', t and t'."""
    records = [sample.record for sample in chunk]
    originals = {sample.record.image_id: sample.picture for sample in chunk}
    image_rows = {image_id: row for row, image_id in enumerate(originals)}
    both = [text for record in records for text in (record.caption, record.negative_caption)]
    text_rows = {text: row for row, text in enumerate(dict.fromkeys(both))}
    with torch.inference_mode():
        pictures = clip.encode_image(np.stack(list(originals.values())))
        edits = clip.encode_image(np.stack([sample.negative_picture for sample in chunk]))
        texts = clip.encode_text(clip.tokenize(list(text_rows)))
    images, edits, texts = (part.float().double().numpy() for part in (pictures, edits, texts))
    return [
        images[[image_rows[record.image_id] for record in records]],
        edits,
        texts[[text_rows[record.caption] for record in records]],
        texts[[text_rows[record.negative_caption] for record in records]],
    ]


def _cosine(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    # Products in float64, rounded to float32 before they are subtracted, as in the evaluation. What differs
    # only by the rounding of a tower's blocks is most often a tie so, not always: near 0 float32 is finer.
    return np.einsum("rd,rd->r", one, other).astype(np.float32).astype(np.float64)


def _plain(values: ArrayLike) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def table(columns: Mapping[str, Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """Table 1 of such columns: `all` records, and the `abstract` ones, whose c is below 3.

    count, mean concreteness, and of the two choices' accuracies (strict fractions) and the four similarities
    the mean and its standard error, which takes records for independent. A part without records is its count.
    """
    concreteness = np.array(columns["concreteness"])
    parts = {"all": np.ones(len(concreteness), dtype=bool), "abstract": concreteness < ABSTRACT}
    return {part: _aggregate(columns, rows) for part, rows in parts.items()}


def _aggregate(columns: Mapping[str, Sequence[Any]], rows: np.ndarray) -> dict[str, Any]:
    if not rows.any():
        return {"count": 0}
    kept = {name: np.array(columns[name])[rows] for name in (*MEANS, "concreteness", "gap_i2t", "gap_t2i")}
    measured = {name: kept[name] for name in MEANS}
    measured |= {"i2t": kept["gap_i2t"] > 0, "t2i": kept["gap_t2i"] > 0}
    return {
        "count": int(rows.sum()),
        "concreteness": round(float(kept["concreteness"].mean()), DIGITS),
        **{name: _mean(values) for name, values in measured.items()},
    }


def _mean(values: np.ndarray) -> dict[str, float]:
    error = values.std() / np.sqrt(len(values))
    return {"mean": round(float(values.mean()), DIGITS), "stderr": round(float(error), DIGITS)}
