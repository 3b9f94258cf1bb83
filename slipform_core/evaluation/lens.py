"""Concreteness as a lens: how any model fares by the c of the word that an item changes, and by its role.

Texts and outcomes are all it needs. Roles are ARO's, by our keyword extraction; c is Brysbaert's.
"""

import difflib
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slipform_core import progress, statistics
from slipform_core.audit import ARTICLES
from slipform_core.benchmarks.items import Benchmark, Items
from slipform_core.changes import WORD
from slipform_core.concreteness import Norms, extract_keywords_batch
from slipform_core.metrics import clustered_stderr
from slipform_core.records import ROLES, Keyword

BANDS = (1.0, 2.0, 3.0, 4.0, 4.5, 5.0)  # of c: our choice, made before any result was seen
DIGITS = 6  # of a mean c
FEWEST = 20  # items, and pictures, that a trend is estimated from: our choice
DRAWS = 1000
LONGEST = 100  # words
OTHER = {"choice": 1, "pairs": 1, "winoground": 1, "scpp": 2}  # the caption that the own one is compared with
ROLE_OF_SUBSET = {"_obj": "object", "_att": "attribute", "_rel": "relation"}

Floats = NDArray[np.float64]
Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Changed:
    """What N items change: the words, joined by "|"; c (N,), NaN where none is rated; role, "" for none."""

    words: tuple[str, ...]
    c: Floats
    role: tuple[str, ...]


def changed(texts: Sequence[str], items: Items, subset: str = "", norms: Norms | None = None) -> Changed:
    """The words of the own captions that the negatives change; those of the negatives for an addition.

    Words are keywords, a bigram of the norms as one; those of the role that the subset's name says (`_obj`,
    `_att`, `_rel`) where there are some, since a change often takes a little word along (our choice). Where
    no keyword is changed ("two" for "three") they are all changed words but articles, and the role the
    subset's. c: the mean of those that are rated, each by its surface form, else by its lemma; role: that of
    the first. Nothing where a caption has several negatives, since no one word is changed there.
    """
    norms = norms or Norms.load("brysbaert")
    one = (~items.repeated).sum(axis=1) == 2 if items.rule == "choice" else np.ones(len(items), bool)
    pairs = [(texts[row[0]], texts[row[OTHER[items.rule]]]) for row in items.captions]
    both = list(dict.fromkeys(text for pair in pairs for text in pair))
    keywords = dict(zip(both, extract_keywords_batch(both, norms), strict=True))
    said = ROLE_OF_SUBSET.get(subset[-4:], "")
    nothing = "", float("nan"), ""
    rows = [
        _change(pair, keywords, said, norms) if has_one else nothing
        for pair, has_one in zip(pairs, one, strict=True)
    ]
    found, c, role = zip(*rows, strict=True) if rows else ((), (), ())
    return Changed(found, np.array(c, dtype=np.float64), role)


def _change(
    pair: tuple[str, str], keywords: Mapping[str, list[Keyword]], said: str, norms: Norms
) -> tuple[str, float, str]:
    """The words that a pair of captions changes, their mean c and their role."""
    sides = [
        (text, spans, [word for word in keywords[text] if _touches(word, spans)])
        for text, spans in zip(pair, alone(*pair), strict=True)
    ]
    if not sides[0][2] and len(sides[1][1]) > len(sides[0][1]):
        sides.reverse()  # an addition, whatever of the grammar it changes
    for text, spans, mine in sides:
        plain = [text[slice(*span)].lower() for span in spans]
        plain = [word for word in dict.fromkeys(plain) if word not in ARTICLES]
        if mine:
            mine = [word for word in mine if word.role == said] or mine
            c = _mean([word.concreteness for word in mine])
            return "|".join(word.text.lower() for word in mine), c, mine[0].role
        if plain:
            return "|".join(plain), _mean([norms.lookup(word) for word in plain]), said
    return "", float("nan"), said


def _touches(word: Keyword, spans: Sequence[Span]) -> bool:
    return any(start < word.end and word.start < end for start, end in spans)


def _mean(values: Sequence[float | None]) -> float:
    rated = [value for value in values if value is not None]
    # Rounded, since a mean of three may fall a hair below the edge of a band that it is.
    return round(sum(rated) / len(rated), DIGITS) if rated else float("nan")


def alone(own: str, other: str) -> tuple[list[Span], list[Span]]:
    """The words of two captions that the other does not have there, as characters from and to.

    Two parts that trade places are alone, and what is between them is not; case and punctuation are nothing.
    """
    spans = [[found.span() for found in re.finditer(WORD, text)] for text in (own, other)]
    one, two = (
        [text[slice(*span)].lower() for span in of] for text, of in zip((own, other), spans, strict=True)
    )
    places = _exchanged(one, two) or _unmatched(one, two)
    return tuple([of[k] for k in at] for of, at in zip(spans, places, strict=True))


def _unmatched(one: list[str], two: list[str]) -> tuple[list[int], list[int]]:
    """The places of what difflib finds no match for, as `changes.marked` shows it."""
    places: tuple[list[int], list[int]] = [], []
    for kind, *ends in difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if kind != "equal":
            places[0].extend(range(*ends[:2]))
            places[1].extend(range(*ends[2:]))
    return places


def _exchanged(one: list[str], two: list[str]) -> tuple[list[int], list[int]] | None:
    """The places of the parts A and B, where one is "…A…B…" and two "…B…A…"; the shortest such parts.

    Not looked for in longer captions than CLIP reads: it takes the cube of their words.
    """
    if len(one) > LONGEST or len(one) != len(two) or sorted(one) != sorted(two) or one == two:
        return None
    differ = [k for k, pair in enumerate(zip(one, two, strict=True)) if pair[0] != pair[1]]
    start, end = differ[0], differ[-1] + 1
    a, b, size = one[start:end], two[start:end], end - start
    for both in range(2, size + 1):
        for i in range(1, both):
            j = both - i
            if a[:i] == b[size - i :] and a[size - j :] == b[:j] and a[i : size - j] == b[j : size - i]:
                first = [*range(start, start + i), *range(end - j, end)]
                return first, [*range(start, start + j), *range(end - i, end)]
    return None


def changes(benchmark: Benchmark) -> dict[str, Changed]:
    """What each item changes, by "benchmark/subset"."""
    subsets = progress.bar(iterable=benchmark.subsets.items(), desc="what items change", unit="subset")
    return {key: changed(benchmark.texts, items, key.partition("/")[2]) for key, items in subsets}


def lens(
    benchmark: Benchmark,
    outcomes: Mapping[str, Mapping[str, NDArray[np.bool_]]],
    made: Mapping[str, Changed],
    *,
    seed: int = 0,
) -> dict[str, dict[str, Any]]:
    """`strata` by "benchmark/subset/metric" and, over all subsets of a benchmark, by "benchmark/metric".

    outcomes: as `Evaluation` has them, "benchmark/subset" -> metric -> bool (N,); others are not read. made:
    the `changes`, which are the same for every model.
    """
    found: dict[str, dict[str, Any]] = {}
    pooled: dict[str, list[tuple[NDArray, ...]]] = {}
    for key, items in progress.bar(iterable=benchmark.subsets.items(), desc="lens", unit="subset"):
        name, change = key.partition("/")[0], made[key]
        if key not in outcomes:
            continue
        for metric, right in outcomes[key].items():
            columns = right, change.c, np.array(change.role), items.clusters
            found[f"{key}/{metric}"] = strata(*columns, seed=seed)
            pooled.setdefault(f"{name}/{metric}", []).append(columns)
    for key, parts in pooled.items():
        found[key] = strata(*map(np.concatenate, zip(*parts, strict=True)), seed=seed)
    return found


def strata(
    right: ArrayLike, c: ArrayLike, role: ArrayLike, clusters: ArrayLike, *, seed: int = 0
) -> dict[str, Any]:
    """Scores by band of c and by role, and how the score goes with c; plain values.

    right, c, role, clusters: (N,); c NaN where it is not known, clusters the picture of each item. "bands" of
    c from low up to high, the last including it, "unrated" and "roles" have count, value and stderr each, a
    picture's items taken for one observation; value and stderr are None where the count is 0, stderr of a
    single picture too. "trend" is over "all" rated items and within each role, so that roles do not confound.
    ValueError for unequal lengths.
    """
    right, c = np.asarray(right, dtype=bool), np.asarray(c, dtype=np.float64)
    role, clusters = np.asarray(role), np.asarray(clusters)
    if len({len(column) for column in (right, c, role, clusters)}) > 1:
        raise ValueError(f"{len(right)} outcomes, {len(c)} c, {len(role)} roles, {len(clusters)} clusters")
    band = np.digitize(c, BANDS[1:-1])
    rated = ~np.isnan(c)

    def scored(chosen: NDArray[np.bool_]) -> dict[str, Any]:
        return _score(right[chosen], clusters[chosen])

    def followed(chosen: NDArray[np.bool_]) -> dict[str, Any]:
        return trend(right[chosen], c[chosen], clusters[chosen], seed=seed)

    return {
        "bands": [
            {"low": low, "high": high, **scored(rated & (band == k))}
            for k, (low, high) in enumerate(zip(BANDS, BANDS[1:], strict=False))
        ],
        "unrated": scored(~rated),
        "roles": {name: scored(role == name) for name in ROLES},
        "trend": {"all": followed(rated), **{name: followed(rated & (role == name)) for name in ROLES}},
    }


def _score(right: NDArray[np.bool_], clusters: NDArray) -> dict[str, Any]:
    if not len(right):
        return {"count": 0, "value": None, "stderr": None}
    stderr = clustered_stderr(right, clusters)
    return {
        "count": len(right),
        "value": float(right.mean()),
        "stderr": stderr if math.isfinite(stderr) else None,
    }


def trend(right: NDArray[np.bool_], c: Floats, clusters: NDArray, *, seed: int = 0) -> dict[str, Any]:
    """How being right goes with c, or the "reason" why that cannot be estimated; count and pictures always.

    "odds_ratio" a point of c, its 95 % interval "low", "high" and "p": logistic regression by statsmodels,
    standard errors clustered by picture, Wald's test. "spearman": the rank correlation and its 95 % interval
    by a bootstrap of pictures.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    said = {"count": len(right), "pictures": int(codes.max(initial=-1)) + 1}
    if reason := _obstacle(right, c, said["pictures"]):
        return said | {"reason": reason}
    from statsmodels.api import Logit, add_constant

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is asked below
        fit = Logit(right.astype(np.float64), add_constant(c)).fit(
            disp=False, cov_type="cluster", cov_kwds={"groups": codes}
        )
        odds = np.exp([fit.params[1], *fit.conf_int()[1]])
    if not (fit.mle_retvals["converged"] and np.isfinite([*odds, fit.pvalues[1]]).all()):
        return said | {"reason": "the regression does not converge"}
    rng = np.random.default_rng(seed)
    ranks = statistics.spearman(c, right, clusters=codes, rng=rng, draws=DRAWS)
    ratio = dict(zip(("odds_ratio", "low", "high"), odds.tolist(), strict=True))
    return said | ratio | {"p": float(fit.pvalues[1]), "spearman": list(ranks)}


def _obstacle(right: NDArray[np.bool_], c: Floats, pictures: int) -> str:
    """Why a regression of these outcomes has no estimate; "" where it has one."""
    if len(right) < FEWEST or pictures < FEWEST:
        return f"too few: items {len(right)}, pictures {pictures}; {FEWEST} of both are needed"
    if right.all() or not right.any():
        return f"all {len(right)} items are {'right' if right.all() else 'wrong'}"
    if len(np.unique(c)) < 2:
        return f"c is {c[0]:g} in all {len(c)} items"
    yes, no = c[right], c[~right]
    if yes.min() >= no.max() or no.min() >= yes.max():
        return "c parts the right items from the wrong ones: the odds ratio has no bound"
    return ""
