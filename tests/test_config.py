"""An experiment's parameters: unknown keys, wrong values, quoting, and what a fingerprint sees."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from slipform_core.config import ConfigError, Experiment, fingerprint, load
from slipform_core.config.sections import Section

PARAMS = Path(__file__).parent.parent / "notebooks" / "params"
PROFILES = sorted(path.stem for path in PARAMS.glob("*.yml"))


def smoke(settings: str = "") -> Experiment:
    return load("smoke", settings, PARAMS)


def refusal(settings: str) -> str:
    with pytest.raises(ConfigError) as refused:
        smoke(settings)
    return str(refused.value)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_loads_under_its_own_name(profile: str) -> None:
    assert load(profile, folder=PARAMS).profile == profile


def test_smoke_has_the_arms_of_mini_so_that_every_page_can_be_made_from_it() -> None:
    assert smoke().arms == load("mini", folder=PARAMS).arms


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("train.stepz=3", ["'train.stepz'", "did you mean 'steps'", "checkpoint_every"]),
        ("trian.steps=3", ["'trian.steps'", "did you mean 'train'"]),
        ("arms.hc_cemnt.loss=cement", ["did you mean 'hc_cement'"]),
        ("seed.x=3", ["'seed.x'", "no parts"]),
        ("train.steps", ["'train.steps'", "section.key=value"]),
        ("train.steps=", ["train.steps = None", "integer"]),
        ("'train.steps=3", ["'train.steps=3", "quotation"]),
        ("train.steps=[", ["train.steps=[", "node content"]),
        ("train={steps:3}", ["unknown parameter 'train.steps:3'", "did you mean 'steps'"]),
    ],
)
def test_a_setting_that_cannot_be_read_is_named_with_the_nearest_name(settings: str, says: list[str]) -> None:
    message = refusal(settings)
    assert all(part in message for part in says), message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("settings", "parameter", "value", "rule"),
    [
        ("train.steps=0", "train.steps", "0", "greater than or equal to 1"),
        ("train.steps=1.5", "train.steps", "1.5", "integer"),
        ("train.steps=many", "train.steps", "'many'", "integer"),
        ("train.steps=true", "train.steps", "True", "not true or false"),
        ("train.pictures=7", "train.pictures", "7", "multiple of 2"),
        ("train.learning_rate=0", "train.learning_rate", "0", "greater than 0"),
        ("train.learning_rate=.inf", "train.learning_rate", "inf", "finite"),
        ("train.seed=-1", "train.seed", "-1", "greater than or equal to 0"),
        ("seed=-1", "seed", "-1", "greater than or equal to 0"),
        ("world.nouns=11", "world.nouns", "11", "12"),
        ("world.side=65", "world.side", "65", "multiple of 16"),
        ("world.three_objects=1.1", "world.three_objects", "1.1", "less than or equal to 1"),
        ("plant.captions_per_scene=6", "plant.captions_per_scene", "6", "5"),
        ("arms.plain.negatives=hd", "arms.plain.negatives", "'hd'", "'hc', 'lc', 'wo', 'swap'"),
        (
            "arms.hc_cement.margin.kind=fermi",
            "arms.hc_cement.margin",
            "fermi",
            "'reversed', 'mean', 'static'",
        ),
        ("arms.hc_static_1.margin.value=one", "arms.hc_static_1.margin.value", "'one'", "a valid number"),
        ("arms.hc_info_nce.concreteness=shuffled", "arms.hc_info_nce", "'shuffled'", "there is none"),
        ("arms.hc_info_nce_double.batch=0", "arms.hc_info_nce_double.batch", "0", "greater than 0"),
        ("reference.seeds=[1]", "reference.seeds", "[1]", "at least 2"),
        ("arms.hc_cement.margin.width=0", "arms.hc_cement.margin.width", "0", "greater than 0"),
        ("arms.hc_cement.margin.low=.nan", "arms.hc_cement.margin.low", "nan", "finite"),
        ("'gradients.pictures=[8, 15]'", "gradients.pictures.1", "15", "multiple of 2"),
        ("arms.hc_cement.loss=tsvlc", "arms.hc_cement", "'tsvlc'", "has no margin; these have: cement"),
        ("arms.hc_info_nce.loss=cement", "arms.hc_info_nce", "'cement'", "and none is given"),
        ("arms.plain.loss=clic", "arms.plain", "'clic'", "clic needs negatives"),
        ("'arms.hc_info_nce.settings={gamma: big}'", "arms.hc_info_nce.settings.gamma", "'big'", "number"),
        ("gradients.batches=1", "gradients.batches", "1", "greater than or equal to 2"),
        ("arms.hc_cement.negatives=null", "arms.hc_cement", "None", "cement needs negatives"),
    ],
)
def test_a_wrong_value_names_the_parameter_the_value_and_the_rule(
    settings: str, parameter: str, value: str, rule: str
) -> None:
    message = refusal(settings)
    assert message.startswith(f"{parameter} = "), message
    assert value in message and rule in message, message


def test_an_unknown_profile_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown profile 'mimi'; the profiles are: .*mini.*smoke"):
        load("mimi", folder=PARAMS)
    with pytest.raises(ConfigError, match="none in"):
        load("mini", folder=tmp_path)


def write(folder: Path, change: Any) -> Path:
    """The smoke profile as a file of `folder`, its tree changed in place by `change`."""
    tree = yaml.safe_load((PARAMS / "smoke.yml").read_text())
    tree["arms"] = yaml.safe_load((PARAMS / tree["arms"]).read_text())
    change(tree)
    (folder / "own.yml").write_text(yaml.safe_dump(tree))
    return folder


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tree: tree["train"].update(stepz=tree["train"].pop("steps")), "'train.stepz'.*'steps'"),
        (lambda tree: tree["arms"]["hc_cement"].update(margn=1), "'arms.hc_cement.margn'.*'margin'"),
        (lambda tree: tree.update(wrold=tree.pop("world")), "'wrold'.*'world'"),
        (lambda tree: tree["train"].pop("steps"), "train.steps.*no default"),
        (lambda tree: tree.clear(), "profile.*no default"),
    ],
)
def test_a_profile_with_a_key_too_many_or_too_few_is_refused_by_name(
    change: Any, says: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=says) as refused:
        load("own", folder=write(tmp_path, change))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "just words", "train: [", "a: b: c"])
def test_a_profile_that_is_no_mapping_is_refused_by_its_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "own.yml").write_text(text)
    with pytest.raises(ConfigError, match="own.yml") as refused:
        load("own", folder=tmp_path)
    assert "\n" not in str(refused.value)


def test_settings_are_read_as_yaml_and_quoted_as_in_a_shell() -> None:
    curve = {"kind": "reversed", "low": 0, "high": 1, "midpoint": 3, "width": 0.5}
    margin = "'arms.hc_cement.margin={kind: reversed, low: 0, high: 1, midpoint: 3, width: 0.5}'"
    changed = smoke(f"train.steps=9 {margin} train.learning_rate=1e-3 gradients.pictures=[4,6] profile='a b'")
    assert changed.train.steps == 9
    assert changed.arms["hc_cement"].margin.model_dump() == curve
    assert changed.train.learning_rate == 0.001  # YAML alone reads 1e-3 as a string
    assert changed.gradients.pictures == [4, 6]
    assert changed.profile == "a b"
    assert changed.model_copy(update={"profile": "smoke"}) == smoke(
        f'{margin} "gradients.pictures=[4, 6]" train.learning_rate=0.001 train.steps=9'
    )


def test_the_last_of_two_settings_counts_and_a_name_may_repeat_on_the_way(tmp_path: Path) -> None:
    assert smoke("seed=1 seed=2").seed == 2
    folder = write(tmp_path, lambda tree: tree["arms"].update(a=tree["arms"].pop("plain")))
    with pytest.raises(ConfigError, match="'a' is not among loss, negatives"):
        load("own", "arms.a.a=3", folder)
    assert load("own", "arms.a.negatives=lc", folder).arms["a"].negatives == "lc"


def test_arms_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    folder = write(tmp_path, lambda tree: tree.update(arms="arms.yml"))
    with pytest.raises(ConfigError, match="arms = 'arms.yml' is no file of"):
        load("own", folder=folder)
    (folder / "arms.yml").write_text("plain: {negatives: null, loss: info_nce}")
    assert list(load("own", folder=folder).arms) == ["plain"]


def test_a_setting_changes_one_arm_alone() -> None:
    changed, plain = smoke("arms.hc_cement.margin.high=3").arms, smoke().arms
    assert {name for name in plain if changed[name] != plain[name]} == {"hc_cement"}


def test_an_arm_may_average_its_weights_and_then_it_alone() -> None:
    experiment = load("mini", "arms.hc_degla.batch=0.5")
    assert experiment.training("hc_degla").ema == 0.9996
    assert experiment.training("hc_degla").pictures == experiment.train.pictures / 2
    assert experiment.training("hc_neg_clip") == experiment.train and experiment.train.ema is None


@pytest.mark.parametrize(("batch", "pictures"), [(None, 16), (0.25, 4), (2, 32)])
def test_an_arm_with_a_batch_of_its_own_sees_as_many_pictures(batch: float | None, pictures: int) -> None:
    experiment = smoke("train.steps=40 train.warmup=8" + (f" arms.plain.batch={batch}" if batch else ""))
    own, train = experiment.training("plain"), experiment.train
    assert own.pictures == pictures
    assert own.steps * own.pictures == train.steps * train.pictures
    assert own.warmup * own.pictures == train.warmup * train.pictures
    assert own.learning_rate**2 / own.pictures == pytest.approx(train.learning_rate**2 / train.pictures)


@pytest.mark.parametrize(
    ("selected", "choices"),
    [
        ("[plain]", []),
        ("[hc_cement, swap_info_nce]", ["hc", "swap"]),
        ("[wo_cement_shuffled]", ["wo"]),
        ("[lc_matched_info_nce]", ["hc", "lc", "wo"]),
    ],
)
def test_negatives_are_made_for_the_selected_arms_alone(selected: str, choices: list[str]) -> None:
    assert smoke(f"'selected={selected}'").choices == choices


def test_a_seed_of_the_reference_run_is_the_seed_of_everything() -> None:
    seeded = smoke().with_seed(6)
    assert seeded.selected == list(smoke().arms)
    assert seeded == smoke("seed=6 pretrain.seed=6 train.seed=6").model_copy(
        update={"selected": seeded.selected}
    )


def test_an_experiment_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        smoke().train.steps = 3


def test_nothing_that_decides_a_result_has_a_default() -> None:
    def optional(section: type[BaseModel]) -> set[str]:
        return {name for name, field in section.model_fields.items() if not field.is_required()}

    # What is left out of an arm is not a default: it has no margin, own concreteness, batch and average as
    # `train` has them, and the settings of its loss are those of the loss.
    # And a training without these is in the weights' precision, of whole batches, with nothing beside it.
    sections = Section.__subclasses__()
    found = {f"{section.__name__}.{name}" for section in sections for name in optional(section)}
    beside = {f"Training.{name}" for name in ("precision", "compile", "chunk", "ema", "evaluate_every")}
    beside.add("SdxlTurbo.compile")
    assert found == {"Arm.margin", "Arm.concreteness", "Arm.batch", "Arm.settings", "Arm.ema"} | beside


def leaves(node: Any, path: tuple = ()) -> list[tuple]:
    if isinstance(node, dict):
        return [leaf for key, value in node.items() for leaf in leaves(value, (*path, key))]
    return [path]


def changed_at(tree: dict, path: tuple) -> dict:
    key, *rest = path
    old = tree[key]
    new = changed_at(old, tuple(rest)) if rest else [*old, 2] if isinstance(old, list) else f"{old}, another"
    return {**tree, key: new}


def test_the_fingerprint_changes_with_every_field_and_with_nothing_else() -> None:
    plain = smoke().model_dump()
    paths = leaves(plain)
    assert len(paths) > 40
    prints = {fingerprint(changed_at(plain, path)) for path in paths} | {fingerprint(smoke())}
    assert len(prints) == len(paths) + 1
    assert fingerprint(plain) == fingerprint(smoke()) == fingerprint(smoke("train.steps=6"))
    assert fingerprint(dict(reversed(plain.items()))) == fingerprint(plain)


def test_the_fingerprint_tells_where_one_part_ends() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc") != fingerprint("abc")
    assert fingerprint(smoke().train) != fingerprint(smoke().pretrain)
    assert len(fingerprint(math.pi)) == 12
