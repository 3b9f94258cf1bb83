"""Words exchanged in captions of photographs, whose order may say nothing."""

import numpy as np
import pytest

from slipform_core.concreteness import choose_swap, extract_keywords
from slipform_core.records import Caption
from slipform_core.rewriters import SwapWords

CASES = [
    ("A dog chases an owl", "An owl chases a dog", None),
    ("A dog and a cat", "A cat and a dog", "still true"),
    ("a dog next to the cat", "a cat next to the dog", "still true"),
    ("dogs, cats", "cats, dogs", "still true"),
    ("A dog with a cat", "a cat with a dog", "still true"),
    ("a dog by its cat", "a cat by its dog", "still true"),
    ("a dog on a sofa", "a sofa on a dog", None),
    ("a dog behind his cat", "a cat behind his dog", None),
]


@pytest.mark.parametrize(("text", "swapped", "fault"), CASES)
def test_two_words_change_places_and_articles_follow(text, swapped, fault):
    caption = Caption("1", None, text)
    target = choose_swap(text, extract_keywords(text), rng=np.random.default_rng(0))
    assert SwapWords().rewrite([caption], [target], seed=0)[0].lower() == swapped.lower()
    assert SwapWords().fault(caption, swapped) == fault


def test_one_word_that_differs_is_no_swap():
    assert SwapWords().fault(Caption("1", None, "a dog"), "a cat") is None
    assert SwapWords().fault(Caption("1", None, "a dog"), "a dog") is None
