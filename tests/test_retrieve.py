"""The retrieve editor on photos whose captions say which one fits."""

from dataclasses import replace

import numpy as np
import pytest
from made_up_encoder import MadeUpEncoder
from PIL import Image

from slipform_core.editors import retrieve
from slipform_core.editors.retrieve import CaptionIndex, RetrieveEditor, words
from slipform_core.mistakes import Mistake
from slipform_core.records import Caption

ROWS = [
    ("a.jpg", "a dog runs on the grass"),
    ("a.jpg", "a brown dog outside"),
    ("b.jpg", "a cat runs on the grass"),
    ("c.jpg", "a cat sleeps on a sofa"),
    ("d.jpg", "a horse runs on the grass"),
    ("e.jpg", "two men at a table"),
]
COLOURS = dict(zip("abcde", ("red", "green", "blue", "white", "black"), strict=True))


def captions() -> list[Caption]:
    return [Caption(name, name, text) for name, text in ROWS]


def picture(name: str, side: int) -> Image.Image:
    return Image.new("RGB", (side, side), COLOURS[name[0]])


@pytest.fixture
def editor(tmp_path) -> RetrieveEditor:
    encoder = MadeUpEncoder(common=0.1)
    return RetrieveEditor(CaptionIndex(captions(), encoder, tmp_path), encoder, picture)


def edit(editor, text, negative, name="a.jpg"):
    [made] = editor.edit([Caption(name, name, text)], [picture("a", 48)], [negative], seeds=[0])
    return made


def test_the_photo_whose_caption_fits_best_is_taken_at_the_size_of_the_original(editor):
    made = edit(editor, "a dog runs on the grass", "a cat runs on the grass")
    assert (made.path, made.fault) == ("b.jpg", None)
    assert made.image.size == (48, 48)
    assert made.image.getpixel((0, 0)) == (0, 128, 0)


def test_a_photo_has_to_say_the_new_word(editor):
    made = edit(editor, "a dog runs on the grass", "a goat runs on the grass")
    assert made == (None, None, "no other photo fits")


def test_a_photo_may_say_the_new_word_with_another_article(tmp_path):
    rows = [*captions(), Caption("f.jpg", None, "the owl runs on the grass")]
    encoder = MadeUpEncoder(common=0.1)
    editor = RetrieveEditor(
        CaptionIndex(rows, encoder, tmp_path), encoder, lambda name, side: picture("e", side)
    )
    made = edit(editor, "a dog runs on the grass", "an owl runs on the grass")
    assert made.path == "f.jpg"


def test_vectors_of_other_captions_do_not_stay(tmp_path):
    encoder = MadeUpEncoder()
    for count in (3, 5):
        made = CaptionIndex(captions()[:count], encoder, tmp_path)
    assert [path.stem for path in tmp_path.glob("*.npy")] == [f"captions-{made.version}"]
    with pytest.raises(Mistake, match="no picture of the source is there"):
        CaptionIndex([], encoder, tmp_path)


def test_a_photo_has_to_fit_and_better_than_it_fits_the_original(editor):
    far = edit(
        editor,
        "seven boats pass green islands while one dog swims",
        "seven boats pass green islands while one cat swims",
    )
    assert far.fault == "no other photo fits"
    # the nearest caption with the word "sofa" is no nearer to this than to the original
    other = edit(editor, "a cat sleeps on a sofa", "a cat sleeps on a bed sofa sofa", "b.jpg")
    assert other.fault == "no other photo fits"


def test_its_own_picture_is_no_other_photo(editor):
    made = edit(editor, "a dog runs on the grass", "a cat runs on the grass", "b.jpg")
    assert made.path != "b.jpg"


def test_against_a_slow_search(tmp_path):
    rng = np.random.default_rng(0)
    words = ["dog", "cat", "horse", "runs", "sleeps", "grass", "sofa", "red", "old"]
    rows = [Caption(f"{k % 40}", None, " ".join(rng.choice(words, 5, replace=False))) for k in range(150)]
    encoder = MadeUpEncoder(common=0.3)
    index = CaptionIndex(rows, encoder, tmp_path)
    editor = RetrieveEditor(index, encoder, lambda name, side: Image.new("RGB", (side, side)))
    vectors = encoder.encode([row.text for row in rows]).astype(np.float16).astype(np.float32)
    found = 0
    for row in rows[:60]:
        old, new = rng.choice(words, 2, replace=False)
        if old not in row.text or new in row.text:
            continue
        negative = row.text.replace(old, new)
        own, wanted = encoder.encode([row.text, negative])
        best, path = 0.6, None
        for other, vector in zip(rows, vectors, strict=True):
            cosine = float(vector @ wanted)
            fits = cosine >= best if path is None else cosine > best
            if (
                other.image_id != row.image_id
                and new in other.text.split()
                and fits
                and cosine > vector @ own
            ):
                best, path = cosine, other.image_id
        [made] = editor.edit([row], [Image.new("RGB", (8, 8))], [negative], seeds=[0])
        assert made.path == path
        found += path is not None
    assert found > 3


def test_the_index_is_kept_until_its_captions_change(tmp_path):
    first = MadeUpEncoder()
    CaptionIndex(captions(), first, tmp_path)
    again = MadeUpEncoder()
    CaptionIndex(captions(), again, tmp_path)
    assert len(first.encoded) == len(ROWS) and again.encoded == []
    other = MadeUpEncoder()
    CaptionIndex(captions()[1:], other, tmp_path)
    assert len(other.encoded) == len(ROWS) - 1
    assert not list(tmp_path.glob("*.partial"))


def test_the_version_names_the_captions_their_pictures_and_the_encoder(tmp_path):
    encoder, other = MadeUpEncoder(), MadeUpEncoder()
    other.version = "other"
    sources = [captions()[start:] for start in range(3)]
    sources.append([replace(caption, image_id=f"{caption.image_id}g") for caption in captions()])
    indexes = [CaptionIndex(rows, encoder, tmp_path) for rows in sources]
    indexes.append(CaptionIndex(captions(), other, tmp_path))
    assert len({index.version for index in indexes}) == 5
    assert RetrieveEditor(indexes[0], encoder, picture).version == f"retrieve@2-{indexes[0].version}"


class Stops(MadeUpEncoder):
    def encode(self, texts):
        if self.encoded:
            raise KeyboardInterrupt
        return super().encode(texts)


@pytest.mark.parametrize("encoded", [1, 4, 5, 6])
def test_captions_are_encoded_in_parts_and_written_whole(tmp_path, monkeypatch, encoded):
    monkeypatch.setattr(retrieve, "ENCODED", encoded)
    expected = MadeUpEncoder().encode([text for _, text in ROWS]).astype(np.float16)
    if encoded < len(ROWS):
        with pytest.raises(KeyboardInterrupt):
            CaptionIndex(captions(), Stops(), tmp_path)
        assert not list(tmp_path.glob("*.npy"))
    index = CaptionIndex(captions(), MadeUpEncoder(), tmp_path)
    assert (index.vectors == expected).all()


def test_words_are_found_in_capitals_too(tmp_path):
    rows = [Caption("a.jpg", None, "A Cat sleeps"), Caption("b.jpg", None, "the cat")]
    assert CaptionIndex(rows, MadeUpEncoder(), tmp_path).with_words(words("CAT")).tolist() == [0, 1]


def test_captions_are_found_by_all_of_several_words(tmp_path):
    index = CaptionIndex(captions(), MadeUpEncoder(), tmp_path)
    assert index.with_words(["cat", "grass"]).tolist() == [2]
    assert index.with_words(["a", "grass", "runs"]).tolist() == [0, 2, 4]
    assert index.with_words(["cat", "goat"]).tolist() == []
    assert index.with_words([]).tolist() == list(range(len(ROWS)))


def test_exchanged_words_have_to_be_said_both(tmp_path):
    rows = [
        ("a.jpg", "a dog chases an owl"),
        ("b.jpg", "a dog chases a dog"),
        ("c.jpg", "an owl chases a dog"),
    ]
    encoder = MadeUpEncoder(common=0.1)
    index = CaptionIndex([Caption(name, name, text) for name, text in rows], encoder, tmp_path)
    assert index.with_words({"owl", "chases", "dog"}).tolist() == [0, 2]
    # the encoder does not see the order: no caption is nearer to the negative one than to the original
    made = edit(RetrieveEditor(index, encoder, picture), rows[0][1], "an owl chases a dog")
    assert made.fault == "no other photo fits"
