"""Keywords a second: the batched extraction against spaCy's full pipeline in a plain loop, interleaved.

Both make the same keywords of the same distinct captions, in blocks that take turns, on one thread:
`OMP_NUM_THREADS=1 python benchmarks/words.py --captions captions_val2017.json --count 5000`.
"""

import argparse
import json
from collections.abc import Sequence
from itertools import islice, product
from pathlib import Path
from time import perf_counter

import spacy
from report import publish, ratio

from slipform_core.concreteness import Norms, extract_keywords_batch, keywords_of
from slipform_core.concreteness.pipeline import MODEL

BUILT_IN = product(
    ("A strange picture of", "a view of", "There is", "two things on sand:", "photo of"),
    ("a red dog", "a small blue cup", "an owl", "a purple umbrella", "the orange teddy bear", "a hot dog"),
    ("to the left of", "sitting above", "next to", "beneath", "in front of"),
    ("a yellow bus", "the large green hammer", "a lion", "two white chairs", "an old traffic light"),
    ("on the grass.", "in the snow", "near water", "while people walk by.", "at night", "under a tree."),
)


def captions(path: Path | None, count: int) -> list[str]:
    """The first distinct captions of a COCO annotation file, or of the built-in grammar."""
    if path is None:
        texts = map(" ".join, BUILT_IN)
    else:
        texts = (row["caption"] for row in json.loads(path.read_text())["annotations"])
    return list(islice(dict.fromkeys(texts), count))


def measure(texts: Sequence[str], blocks: int) -> dict[str, float]:
    """Captions a second of both, their ratio (median over blocks), and the share of equal keyword lists."""
    norms = Norms.load("brysbaert")
    full = spacy.load(MODEL)

    def plain(block: Sequence[str]) -> list:
        return [keywords_of(doc, norms) for doc in map(full, block)]

    def batched(block: Sequence[str]) -> list:
        return extract_keywords_batch(block, norms)

    plain(texts[:20]), batched(texts[:20])
    seconds: dict[str, list[float]] = {"plain": [], "batched": []}
    same = 0
    for index in range(blocks):
        block = texts[index::blocks]
        found = {}
        turns = [("plain", plain), ("batched", batched)]
        for name, extract in turns if index % 2 else reversed(turns):
            start = perf_counter()
            found[name] = extract(block)
            seconds[name].append(perf_counter() - start)
        same += sum(map(list.__eq__, found["plain"], found["batched"]))
    return {
        "captions": len(texts),
        "captions a second, plain": round(len(texts) / sum(seconds["plain"])),
        "captions a second, batched": round(len(texts) / sum(seconds["batched"])),
        "faster": ratio(seconds["plain"], seconds["batched"]),
        "identical": same / len(texts),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--captions", type=Path, help="a COCO captions file; else a built-in grammar")
    parser.add_argument("--count", type=int, default=4000, help="captions at most (the grammar has 4,500)")
    parser.add_argument("--blocks", type=int, default=8, help="turns that the two take")
    parser.add_argument("--out", type=Path, help="a results file")
    options = parser.parse_args()
    publish(measure(captions(options.captions, options.count), options.blocks), options.out)
