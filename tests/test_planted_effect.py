"""The analysis finds an effect that was put in, and none where there is none."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from slipform_core import config, experiment, statistics
from slipform_core.comparisons import by_word
from slipform_core.emoji_world import drawing
from slipform_core.judges import measure
from slipform_core.models import Clip
from slipform_core.outcomes import Outcomes, items, pack
from slipform_core.shards import read_samples

PARAMS = Path(__file__).parent.parent / "notebooks" / "params"
COLOURS = dict(drawing.COLOURS)
PALE = {colour: tuple(drawing.GREY + (x - drawing.GREY) // 2 for x in rgb) for colour, rgb in COLOURS.items()}
WORLD = "world.nouns=12 world.three_objects=0 world.train_scenes=400 survey.scenes=400 survey.captions=5"


class Pixels(Clip):
    """A judge without weights: a picture's features are its pixels, all texts are alike."""

    def encode_image(self, pictures: np.ndarray) -> Tensor:
        return normalize(torch.from_numpy(pictures / 255.0 - 0.5).flatten(1), dim=-1)

    def encode_text(self, tokens: Tensor) -> Tensor:
        return normalize(torch.ones(len(tokens), 64 * 64 * 3, dtype=torch.float64), dim=-1)


def survey(folder: Path, colours: dict[str, tuple[int, int, int]]) -> pd.DataFrame:
    """The changed colours of a small world's survey, in which colours look as given."""
    judge = Pixels(nn.Identity(), preprocess=None, tokenize=lambda texts: torch.zeros(len(texts), 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "COLOURS", colours)
        planted = experiment.plant(config.load("smoke", WORLD, PARAMS), folder, experiment.SURVEY)
        frame = pd.DataFrame(measure(judge, read_samples(planted), batch=200))
    return frame[frame.word.isin(list(COLOURS))]


def blue(frame: pd.DataFrame) -> dict[str, float]:
    """How much more a picture changes where blue is the word that is changed, in cosine."""
    frame = frame.assign(blue=(frame.word == "blue").astype(float), change=1 - frame.image_similarity)
    return statistics.mixed_model(frame, "change ~ blue + length", "scene").coefficients["blue"]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Blue stands out from grey twice as much as it would if it were as pale as the other colours."""
    return survey(tmp_path_factory.mktemp("planted"), PALE | {"blue": COLOURS["blue"]})


def test_a_word_whose_change_is_drawn_at_double_size_is_found(planted: pd.DataFrame, tmp_path: Path) -> None:
    plain = blue(survey(tmp_path, PALE))
    assert plain["low"] < 0 < plain["high"]
    assert blue(planted)["low"] > max(plain["high"], 0.02)
    assert len(planted) > 400 and (planted.word == "blue").sum() > 40


def test_no_effect_is_found_where_the_words_are_dealt_out_anew(planted: pd.DataFrame) -> None:
    rng = np.random.default_rng(8)
    dealt = [planted.assign(word=rng.permutation(planted.word)) for _ in range(20)]
    missed = sum(not fit["low"] < 0 < fit["high"] for fit in map(blue, dealt))
    assert missed <= 4  # of 20 intervals of 95 % one misses on average, more than four in one case of 400


@pytest.fixture(scope="module")
def arms() -> Outcomes:
    """Two arms that answer 1,600 scenes alike but for chance, except that the left one knows its blues."""
    rng = np.random.default_rng(9)
    words = rng.permutation(list(COLOURS) * 200)
    easy = rng.random(1600)  # a scene is as easy for the one as for the other
    right = {arm: rng.random(1600) < 0.4 + 0.5 * easy for arm in ("left", "right")}
    right["left"] |= (words == "blue") & (rng.random(1600) < 0.8)
    about = {"sugarcrepe/replace_att": items(np.arange(1600), words.tolist(), 1600)}
    packed = {arm: {"sugarcrepe/replace_att": {"i2t": pack(bits)}} for arm, bits in right.items()}
    return Outcomes({"scenes": 1600, "items": about, "arms": packed})


MEASURE = "sugarcrepe/replace_att/i2t"


def test_what_an_arm_knows_of_one_word_is_found_at_that_word(arms: Outcomes) -> None:
    gains = by_word({1: arms}, "left", "right", MEASURE, list(COLOURS))
    assert max(gains, key=gains.get) == "blue" and gains["blue"] > 0.1
    left, right = (arms.right(arm, MEASURE) for arm in ("left", "right"))
    estimate = statistics.paired_bootstrap(left, right, rng=np.random.default_rng(1))
    assert estimate.low > 0
    assert statistics.permutation_p_value(left, right, rng=np.random.default_rng(1)) < 0.05


def test_no_effect_is_found_between_arms_whose_labels_are_permuted(arms: Outcomes) -> None:
    rng = np.random.default_rng(10)
    left, right = (arms.right(arm, MEASURE) for arm in ("left", "right"))
    missed, small = 0, 0
    for _ in range(200):
        traded = rng.random(1600) < 0.5
        one, other = np.where(traded, right, left), np.where(traded, left, right)
        estimate = statistics.paired_bootstrap(one, other, rng=rng, draws=400)
        missed += not estimate.low <= 0 <= estimate.high
        small += statistics.permutation_p_value(one, other, rng=rng, draws=400) <= 0.05
    # Ten of 200 on average; twenty-two or more in one case of 3,000.
    assert missed < 22 and small < 22
