"""The rewriter by a chat model: what it asks, when it asks again, what it leaves."""

import json

import numpy as np
import pytest
from qwen_fakes import ODD, Meanings, captions, keyword, scripted, swap

from slipform_core.concrete_plant import TextStage
from slipform_core.concreteness import Norms, choose_swap, extract_keywords
from slipform_core.records import Keyword
from slipform_core.rewriters.qwen import QwenRewriter
from slipform_core.rewriters.qwen.prompt import INSTRUCTIONS, conversation


def asked(text: str, target: Keyword) -> dict:
    return json.loads(conversation(text, target)[-1]["content"])


def test_the_question_names_word_place_and_kind_and_ends_with_the_caption():
    text = "a cat watches a cat, concatenated"
    assert asked(text, keyword(text, "cat", at=4)) == {
        "change": "object",
        "word": "cat",
        "span": [16, 19],
        "occurrence": "2 of 2",
        "caption": text,
    }
    assert asked("red", keyword("red", "red", "attribute"))["change"] == "attribute"
    for target in (keyword(text, "cat"), swap(text, "cat", "concatenated")):
        assert list(asked(text, target))[-1] == "caption"


def test_a_swap_names_both_words_as_choose_swap_gives_them():
    text = "a red dog and a blue owl"
    chosen = choose_swap(text, extract_keywords(text), rng=np.random.default_rng(0))
    question = asked(text, chosen)
    assert question["change"] == "swap"
    assert question["word"] == chosen.lemma.split("|") == [text[slice(*span)] for span in question["span"]]
    assert question["occurrence"] == ["1 of 1", "1 of 1"]
    bar = "a|b on a|c"
    assert asked(bar, keyword(bar, "a|b"))["word"] == "a|b"


def test_the_instructions_are_always_the_same_and_their_examples_hold():
    one, other = (
        conversation("a dog", keyword("a dog", "dog")),
        conversation("a cat", keyword("a cat", "cat")),
    )
    assert one[0] == other[0] == {"role": "system", "content": INSTRUCTIONS}
    lines = INSTRUCTIONS.rpartition("Examples:\n")[2].splitlines()
    kinds = []
    for question, answer in zip(lines[::2], map(json.loads, lines[1::2]), strict=True):
        shown = json.loads(question)
        kinds.append(shown["change"])
        spans = shown["span"] if shown["change"] == "swap" else [shown["span"]]
        words = shown["word"] if shown["change"] == "swap" else [shown["word"]]
        assert [shown["caption"][slice(*span)] for span in spans] == words
        assert answer != shown["caption"]
        if len(words) == 1:
            start, end = spans[0]
            assert answer.startswith(shown["caption"][:start]) and answer.endswith(shown["caption"][end:])
        else:
            assert answer.index(words[1]) < answer.index(words[0])
    assert kinds == ["object", "attribute", "relation", "swap"]


@pytest.mark.parametrize("text", ODD)
def test_an_odd_caption_is_data_and_no_token(text):
    content = conversation(text, keyword(text, text[:1]))[-1]["content"]
    assert json.loads(content)["caption"] == text
    assert "<" not in content and len(content.split("\n")) == 1


def test_only_the_refused_are_asked_again_with_the_reason():
    texts = ["a dog on a sofa", "a red car", "a boat", "a man sits"]
    answers = {
        texts[0]: ['"a cat on a sofa"'],
        texts[1]: ["a red car", "a scarlet bus", '"a blue car"'],
        texts[2]: ['"a boat\n\nI changed"', "Answer: a train"],
        texts[3]: ["a man sitting", "<think>hm", "a <|im_end|> man"],
    }
    rewriter = scripted(answers)
    words = ["dog", "red", "boat", "sits"]
    targets = [keyword(text, word) for text, word in zip(texts, words, strict=True)]
    made = rewriter.rewrite(captions(*texts), targets, seed=1)
    assert made == ["a cat on a sofa", "a blue car", "a train", "a <|im_end|> man"]
    asked = rewriter.engine.asked
    assert [[json.loads(talk[1]["content"])["caption"] for talk in call] for call in asked] == [
        texts,
        texts[1:],
        [texts[1], texts[3]],
    ]
    car, man = asked[2]
    assert [message["role"] for message in car] == ["system", "user", *["assistant", "user"] * 2]
    assert car[:2] == conversation(texts[1], targets[1])
    assert json.loads(car[2]["content"]) == "a red car" and "says the same" in car[3]["content"]
    assert json.loads(car[4]["content"]) == "a scarlet bus" and "other words than" in car[5]["content"]
    assert "nearly the same" in man[3]["content"] and "no caption" in man[5]["content"]
    boat = asked[1][1]
    assert json.loads(boat[2]["content"]) == "a boat\n\nI changed" and "one line" in boat[3]["content"]
    assert asked[0][0] == conversation(texts[0], targets[0])


def test_the_last_answer_stays_after_all_retries():
    text = "a dog on a sofa"
    for retries in (0, 1, 3):
        rewriter = scripted({text: [f"a cat on a {number}" for number in "abcd"]}, retries=retries)
        made = rewriter.rewrite(captions(text), [keyword(text, "dog")], seed=1)
        assert made == [f"a cat on a {'abcd'[retries]}"] and len(rewriter.engine.asked) == retries + 1


def test_a_swap_that_was_none_leaves_the_caption():
    text = "A dog chases two cats"
    target = swap(text, "dog", "cats")
    for answer, expected in [
        ("A cat chases two dogs", "A cat chases two dogs"),
        ("A cats chases two dog", "A cats chases two dog"),
        ("A fox chases two cats", text),
        ("A cat follows two dogs", text),
        ("A cat chases two dogs!", "A cat chases two dogs!"),
    ]:
        rewriter = scripted({text: [answer]}, retries=0)
        assert rewriter.rewrite(captions(text), [target], seed=1) == [expected]
    rewriter = scripted({text: ["A fox chases two cats", "A cat chases two dogs"]})
    assert rewriter.rewrite(captions(text), [target], seed=1) == ["A cat chases two dogs"]
    assert "change places" in rewriter.engine.asked[1][0][3]["content"]


def test_each_record_has_seeds_of_its_own():
    texts = ["a dog", "a cat", "a bus"]
    targets = [keyword(text, text[2:]) for text in texts]

    def seeds(rows, seed):
        rewriter = scripted({text: [text] * 3 for text in texts})
        chosen = [captions(*texts)[row] for row in rows]
        rewriter.rewrite(chosen, [targets[row] for row in rows], seed=seed)
        return {row: [call[place] for call in rewriter.engine.seeds] for place, row in enumerate(rows)}

    together, backwards = seeds([0, 1, 2], 1), seeds([2, 1, 0], 1)
    assert together == backwards and together[1] == seeds([1], 1)[1]
    assert len({seed for drawn in together.values() for seed in drawn}) == 9
    assert not set(together[0]) & set(seeds([0], 2)[0])
    assert all(type(seed) is int for seed in together[0])


def test_captions_that_cannot_be_asked_for_come_back():
    texts = ["", "  ", "a \ud83d dog", "a dog"]
    rewriter = scripted({"a dog": ["a cat"]})
    targets = [Keyword("", "", "NOUN", 0, 0, None, "object")] * 3 + [keyword("a dog", "dog")]
    assert rewriter.rewrite(captions(*texts), targets, seed=1) == [*texts[:3], "a cat"]
    assert [len(call) for call in rewriter.engine.asked] == [1]
    assert scripted({}).rewrite([], [], seed=1) == []


def test_captions_and_keywords_are_as_many():
    with pytest.raises(ValueError, match="argument 2"):
        scripted({}).rewrite(captions("a dog"), [], seed=1)


def test_what_was_checked_is_not_encoded_again():
    text = "a dog on a sofa"
    rewriter = scripted({text: ["a cat on a sofa"]})
    made = rewriter.rewrite(captions(text), [keyword(text, "dog")], seed=1)
    assert rewriter.encoder.seen == ["dog", "cat", text, *made]
    assert rewriter.fault(*captions(text), made[0]) is None and len(rewriter.encoder.seen) == 4


class Always:
    """An engine that changes the word by a fixed list, by what the question says."""

    NEW = {"dog": "cat", "sofa": "couch", "red": "red", "car": "машина"}

    def generate(self, conversations, seeds):
        asked = [json.loads(messages[1]["content"]) for messages in conversations]
        return [json.dumps(one["caption"].replace(one["word"], self.NEW[one["word"]])) for one in asked]


def test_the_plant_keeps_what_is_right_and_counts_the_reasons():
    rewriter = QwenRewriter("always", engine=Always(), encoder=Meanings())
    stage = TextStage(
        norms=Norms.load("brysbaert"), choose="hc", rewriter=rewriter, top_k=1, attempts=1, seed=0
    )
    part = stage.part(captions("a dog", "a sofa", "a red thing", "a car"))
    assert [record.negative_caption for _, record in part.kept] == ["a cat"]
    assert part.kept[0][1].provenance.rewriter == rewriter.version
    assert part.reasons == {"synonym": 1, "unchanged": 1, "another language": 1}


def test_the_version_names_the_model_and_changes_with_what_decides():
    names = [
        QwenRewriter("Qwen/Qwen3-32B", **settings).version
        for settings in (
            {},
            {"revision": "abc"},
            {"retries": 1},
            {"synonym": 0.7},
            {"paraphrase": 0.9},
            {"temperature": 0.0},
            {"top_p": 0.9},
            {"tokens": 99},
            {"dtype": "float32"},
            {"options": {"attn_implementation": "eager"}},
            {"encoder": Meanings()},
        )
    ]
    assert len(set(names)) == len(names)
    assert all(name.startswith("qwen@1-Qwen3-32B-") for name in names)
    assert names[1].startswith("qwen@1-Qwen3-32B-abc-transformers")
    assert QwenRewriter("Qwen/Qwen3-32B", batch=4, device="cuda").version == names[0]


MISTAKES = [
    ("./nowhere", {}, FileNotFoundError, "no folder './nowhere'"),
    ("a/b/c", {}, FileNotFoundError, "no folder 'a/b/c'"),
    ("Qwen/Qwen3-32B", {"engine": "vllm"}, FileNotFoundError, "pip install vllm"),
    ("Qwen/Qwen3-32B", {"engine": "other"}, ValueError, "transformers, vllm"),
    ("Qwen/Qwen3-32B", {"temperature": -1.0}, ValueError, "temperature -1.0"),
    ("Qwen/Qwen3-32B", {"top_p": 0.0}, ValueError, "top_p 0.0"),
    ("Qwen/Qwen3-32B", {"batch": 0}, ValueError, "batch 0"),
    ("Qwen/Qwen3-32B", {"retries": -1}, ValueError, "retries -1"),
]


@pytest.mark.parametrize(("model", "settings", "error", "words"), MISTAKES)
def test_a_mistake_is_one_line_before_anything_is_loaded(model, settings, error, words):
    with pytest.raises(error, match=words) as caught:
        QwenRewriter(model, **settings)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_model_is_a_mistake(tmp_path):
    with pytest.raises(FileNotFoundError, match="no config.json"):
        QwenRewriter(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="no revision 'main'"):
        QwenRewriter(str(tmp_path), revision="main")
    assert QwenRewriter(str(tmp_path)).version.startswith(f"qwen@1-{tmp_path.name}-transformers")
