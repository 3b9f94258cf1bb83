"""Which keyword of a caption becomes the target of its hard negative."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from slipform_core.records import ROLES, Keyword

MIDPOINT = (
    4.0  # where Cement's margin changes its sign, on Brysbaert's scale; a word at 4.00 counts as concrete
)


def _most_concrete(keywords: Sequence[Keyword], top_k: int, midpoint: float) -> list[Keyword]:
    concrete = [keyword for keyword in keywords if keyword.concreteness >= midpoint]
    return sorted(concrete, key=lambda keyword: -keyword.concreteness)[:top_k]


def _least_concrete(keywords: Sequence[Keyword], top_k: int, midpoint: float) -> list[Keyword]:
    abstract = [keyword for keyword in keywords if keyword.concreteness < midpoint]
    return sorted(abstract, key=lambda keyword: keyword.concreteness)[:top_k]


def _any_covered(keywords: Sequence[Keyword], top_k: int, midpoint: float) -> list[Keyword]:
    return list(keywords)


CHOICES = {"hc": _most_concrete, "lc": _least_concrete, "wo": _any_covered}


def choose_target(
    keywords: Sequence[Keyword],
    choice: str,
    *,
    top_k: int,
    midpoint: float = MIDPOINT,
    rng: np.random.Generator,
) -> Keyword | None:
    """Draw the word to change: a role evenly among those present, then a word evenly among its candidates.

    The candidates of a role are its `top_k` most concrete keywords with c >= midpoint ("hc"), its `top_k`
    least concrete ones with c < midpoint ("lc"), or all that the norms cover ("wo"); ties go to the earlier
    word. c is on the norms' scale. None when there is no candidate; ValueError for an unknown choice or for a
    top_k under 1.
    Source: top-K sampling of concrete keywords balanced over attribute, object and relation (the paper, by a
    secondary summary); top-K within each role and the even draws are our choice.
    """
    if choice not in CHOICES:
        raise ValueError(f"unknown choice {choice!r}; the choices are: {', '.join(CHOICES)}")
    if top_k < 1:
        raise ValueError(f"top_k = {top_k}: at least 1")
    covered = [keyword for keyword in keywords if keyword.concreteness is not None]
    of_role = (
        CHOICES[choice]([keyword for keyword in covered if keyword.role == role], top_k, midpoint)
        for role in ROLES
    )
    present = [candidates for candidates in of_role if candidates]
    if not present:
        return None
    candidates = present[rng.integers(len(present))]
    return candidates[rng.integers(len(candidates))]


def choose_swap(caption: str, keywords: Sequence[Keyword], *, rng: np.random.Generator) -> Keyword | None:
    """Draw two keywords of one role to exchange: objects or attributes, evenly where both have two.

    The keyword returned spans from the first to the second, its lemma is their surface forms joined by "|",
    its concreteness the mean of theirs (our choice). None when no role has two different covered words.
    """
    pairs = [
        [
            (one, other)
            for one, other in combinations(keywords, 2)
            if one.role == other.role == role
            and one.text.lower() != other.text.lower()
            and None not in (one.concreteness, other.concreteness)
        ]
        for role in ("object", "attribute")
    ]
    present = [candidates for candidates in pairs if candidates]
    if not present:
        return None
    candidates = present[rng.integers(len(present))]
    one, other = candidates[rng.integers(len(candidates))]
    return Keyword(
        text=caption[one.start : other.end],
        lemma=f"{one.text}|{other.text}",
        pos=one.pos,
        start=one.start,
        end=other.end,
        concreteness=(one.concreteness + other.concreteness) / 2,
        role=one.role,
    )
