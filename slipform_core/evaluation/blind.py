"""What texts alone tell of a benchmark's items: baselines that never see a picture.

A baseline gives each text a score, the higher the likelier it is an own caption. It has an answer where one
picture is asked of several captions: the rules "choice" and "pairs" (i2t) and "scpp" (ITT). Winoground asks
the same two captions of two pictures, and one order of the two is wrong at one of them: text and group are 0
by construction, and pictures, as in image and t2i, are not told apart. TOT sees no picture anyway.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from more_itertools import chunked
from numpy.typing import NDArray

from slipform_core import progress
from slipform_core.benchmarks.items import Benchmark, Items
from slipform_core.metrics import clustered_stderr
from slipform_core.mistakes import Mistake
from slipform_core.records import Score

Baseline = Callable[[Sequence[str]], Sequence[float]]
Floats = NDArray[np.float64]

METRICS = {"choice": "i2t", "pairs": "i2t", "scpp": "itt"}  # what a baseline answers, by an item's rule
STRICT, HALF = "strict", "ties at half"
READ = 256  # texts at a time that a language model is given


def _fewer_words(texts: Sequence[str]) -> list[float]:
    return [-len(text.split()) for text in texts]


def _fewer_characters(texts: Sequence[str]) -> list[float]:
    return [-len(text.strip()) for text in texts]


def _plainer(texts: Sequence[str]) -> list[float]:
    """Fewer of two: a capital letter at the beginning, a full stop at the very end.

    A blank after the full stop hides it, as often in COCO and seldom in what a language model wrote. The rule
    is our choice: what is published of it is one number, 64.8 %.
    """
    return [-text[:1].isupper() - text.endswith(".") for text in texts]


BLIND: dict[str, Baseline] = {
    "shorter caption (words)": _fewer_words,
    "shorter caption (characters)": _fewer_characters,
    "punctuation and case": _plainer,
}


def language_model(model: str, device: str = "cpu") -> Baseline:
    """The log probability of the whole text by a causal language model, a folder or a name of the hub.

    It is not divided by the text's length (our choice): the question is which text is likelier to be written.
    """
    from slipform_core.rewriters.lexical import Fluency

    fluency = Fluency(model, device)

    def scores(texts: Sequence[str]) -> list[float]:
        found: dict[str, float] = {}
        with progress.bar(desc="language model", unit="text", total=len(texts)) as bar:
            for part in chunked(sorted(texts, key=len), READ):  # of like length: little padding
                found |= zip(part, fluency.scores(part), strict=True)
                bar.update(len(part))
        return [found[text] for text in texts]

    return scores


def blind(benchmark: Benchmark, baselines: Mapping[str, Baseline] = BLIND) -> list[Score]:
    """Each baseline's score of each subset whose rule it can answer, and of all their items as "micro".

    Each text is scored once. The metric is "i2t, shorter caption (words), strict", where a tie is wrong, or
    "…, ties at half", where it is worth what a draw among the equal ones would win. A picture's items are one
    observation in the standard error. Mistake for a score that is NaN.
    """
    subsets = {key: items for key, items in benchmark.subsets.items() if items.rule in METRICS}
    scores: list[Score] = []
    for baseline, texts_to_scores in baselines.items() if subsets else ():
        values = np.asarray(texts_to_scores(benchmark.texts), dtype=np.float64)
        if np.isnan(values).any():
            raise Mistake(f"{baseline} is NaN for {benchmark.texts[int(np.isnan(values).argmax())]!r}")
        parts: dict[str, list[tuple[Floats, NDArray]]] = {}
        for key, items in subsets.items():
            metric, won = METRICS[items.rule], credit(items, values)
            scores += _scores(key, f"{metric}, {baseline}", won, items.clusters)
            parts.setdefault(metric, []).append((won, items.clusters))
        for metric, each in parts.items():
            if len(each) > 1:
                pooled = map(np.concatenate, zip(*each, strict=True))
                scores += _scores(f"{benchmark.name}/micro", f"{metric}, {baseline}", *pooled)
    return scores


def _scores(key: str, metric: str, won: Floats, clusters: NDArray) -> list[Score]:
    name, _, subset = key.partition("/")
    return [
        Score(
            name, subset, f"{metric}, {way}", float(each.mean()), len(each), clustered_stderr(each, clusters)
        )
        for way, each in ((STRICT, (won == 1).astype(np.float64)), (HALF, won))
    ]


def credit(items: Items, values: Floats) -> Floats:
    """What each item (N,) is worth by the scores of texts (T,): 1 right, 0 wrong, 1/k for k equal ones.

    Equal are those that share the place of the own caption above all others or, for "scpp", of the negative
    below both captions: a constant score is at chance, 1/2 of two captions and 1/3 of three.
    """
    # First the caption that stands against all others, of "scpp" the negative.
    asked = -values[items.captions[:, ::-1]] if items.rule == "scpp" else values[items.captions]
    own, others = asked[:, :1], asked[:, 1:]
    counts = (own == others) & ~items.repeated[:, 1:] if items.rule == "choice" else own == others
    return (own >= others).all(axis=1) / (1.0 + counts.sum(axis=1))
