"""What an experiment refuses before any work, and what its stages' names depend on."""

import ast
from pathlib import Path

import pytest

from slipform_core import config, experiment, stages
from slipform_core.config import ConfigError, Experiment
from slipform_core.experiment import arms, measurements, negatives, shares

PARAMS = Path(__file__).parent.parent / "notebooks" / "params"
PARTS = (negatives, arms, measurements, shares)


def smoke(settings: str = "") -> Experiment:
    return config.load("smoke", settings, PARAMS)


def run(given: Experiment, folder: Path) -> None:
    experiment.run(given, folder=folder / "run", stages=folder / "stages", jobs=1, command="")


@pytest.fixture
def unmade(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages are named and not made."""
    for part in PARTS:
        monkeypatch.setattr(
            part,
            "stage",
            lambda folder, name, *depends, make: folder / f"{name}-{config.fingerprint(*depends)}",
        )


@pytest.mark.parametrize("other", ["arms.hc_cement.margin.high=3", "gradients.batches=3"])
def test_shares_of_another_margin_are_not_those_that_stand(other: str, unmade: None) -> None:
    one, changed = (experiment.gradients(smoke(settings), Path("stages")) for settings in ("", other))
    assert one.name != changed.name


def names(settings: str) -> dict[str, str]:
    """The folders of the stages of an experiment with every kind of arm."""
    given, kept = smoke(settings), Path("stages")
    found = {"base": experiment.pretrain(given, kept), "words": experiment.words(given, kept)}
    found |= {choice: experiment.plant(given, kept, choice) for choice in ("hc", "wo", experiment.SURVEY)}
    found |= {"judged": experiment.judged(given, kept, "hc"), "matched": experiment.matched(given, kept)}
    found |= {arm: experiment.fine_tune(given, kept, arm) for arm in TRAINED}
    found["score"] = experiment.score(given, kept, "plain")
    return {name: path.name for name, path in found.items()}


TRAINED = {"plain", "hc_cement", "wo_cement_shuffled", "hc_matched_info_nce", "hc_info_nce_double"}
PLANTED = {"hc", "wo", "survey"}
BELOW = {"judged", "matched", "score", *TRAINED}


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        ("profile=other", set()),
        ("'selected=[plain]'", set()),
        ("reference.seeds=[1,2]", set()),
        ("arms.hc_cement.margin.high=3", {"hc_cement"}),
        ("arms.hc_info_nce_double.batch=3", {"hc_info_nce_double"}),
        ("train.steps=7", {*TRAINED, "score"}),
        ("matching.bins=4", {"matched", "hc_matched_info_nce"}),
        ("survey.scenes=13", {"survey"}),
        ("plant.top_k=2", {*PLANTED, *BELOW}),
        ("pretrain.seed=6", {"base", *BELOW}),
        ("world.test_scenes=25", {"base", "words", *PLANTED, *BELOW}),
        ("seed=6", {"base", "words", *PLANTED, *BELOW}),
        ("evaluation.items=9", {"score"}),
    ],
)
def test_only_what_depends_on_a_parameter_is_made_again(
    settings: str, changed: set[str], unmade: None
) -> None:
    plain, other = names(""), names(settings)
    assert {name for name in plain if plain[name] != other[name]} == changed


def functions() -> dict[str, ast.FunctionDef]:
    trees = [ast.parse(Path(part.__file__).read_text()) for part in PARTS]
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


def used_by(function: ast.FunctionDef) -> set[str]:
    """The modules of ours that a function and its helpers import, or read of those that the file imports."""
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    helpers = {name for name in read - {function.name} if name.startswith("_") and name in functions()}
    found = {name for name in read if name in ("outcomes", "summaries")}
    for node in ast.walk(function):
        if isinstance(node, ast.ImportFrom) and node.module == "slipform_core":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.removeprefix("slipform_core."))
    own = {f"slipform_core.{name}" for name in found if not name.startswith("experiment")}
    return own.union(*(used_by(functions()[name]) for name in helpers))


def hashed_by(name: str) -> set[str]:
    """The modules whose code is in the name of a stage, through the stages that it stands on too."""
    nodes = [node for node in ast.walk(functions()[name]) if isinstance(node, ast.Call)]
    calls = [node for node in nodes if isinstance(node.func, ast.Name)]
    said = {node.value for node in ast.walk(functions()[name]) if isinstance(node, ast.Constant)}
    named = {text for text in said if isinstance(text, str) and text.startswith("slipform_core.")}
    named |= {module for given in named for module in stages._graph().find_upstream_modules(given)}
    below = ("pretrain", "plant", "fine_tune", "needed_by", "trained", "judged", "matched")
    return named.union(*(hashed_by(call.func.id) for call in calls if call.func.id in below))


STAGES = ["words", "plant", "judged", "matched", "pretrain", "fine_tune", "score", "blind"]
STAGES += ["gradients", "objectives"]


@pytest.mark.parametrize("name", STAGES)
def test_the_name_of_a_stage_depends_on_the_code_that_makes_it(name: str) -> None:
    used = used_by(functions()[f"_{name}"])
    assert used and used <= hashed_by(name)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("plant.rewriter=gramar", ["plant.rewriter = 'gramar'", "grammar"]),
        ("plant.editor=renderer", ["plant.editor = 'renderer'", "render"]),
        ("model=slipform-big", ["model = 'slipform-big'", "slipform-tiny"]),
        ("model=open_clip", ["model = 'open_clip'", "slipform-tiny"]),
        ("arms.plain.loss=cemnt", ["arms.plain.loss = 'cemnt'", "info_nce, cement"]),
        ("pretrain.pictures=64", ["pretrain.pictures", "64", "world.pretrain_scenes = 48"]),
        ("train.pictures=64", ["train.pictures", "64", "world.train_scenes = 48"]),
        ("gradients.pictures=[8,98]", ["gradients.pictures", "49", "world.train_scenes = 48"]),
        ("evaluation.retrieval=25", ["evaluation.retrieval", "25", "world.test_scenes = 24"]),
        ("world.nouns=5000", ["world.nouns", "5000"]),
        ("arms.hc_cement.margin.low=3", ["arms.hc_cement", "low = 3", "high = 2"]),
        ("arms.hc_static_1.margin.value=.inf", ["arms.hc_static_1.margin.value", "finite"]),
        ("'selected=[plain, lane]'", ["selected.1 = 'lane'", "plain, hc_info_nce"]),
        ("gradients.arms=[plain]", ["gradients.arms", "plain", "no margin"]),
        ("gradients.trained=[lane]", ["gradients.trained.0 = 'lane'", "plain, hc_info_nce"]),
        ("survey.scenes=7", ["gradients.pictures", "8", "survey.scenes = 7"]),
        ("arms.hc_info_nce.loss=degla", ["arms.hc_info_nce", "degla", "train.ema"]),
        ("arms.hc_info_nce.loss=hard_positives", ["arms.hc_info_nce", "paraphrases"]),
        ("arms.hc_info_nce.loss=tsvlc 'arms.hc_info_nce.settings={wieght: 2}'", ["'wieght'", "weight"]),
        ("'arms.hc_info_nce.settings={margin: 2}'", ["arms.hc_info_nce", "info_nce has no setting 'margin'"]),
        ("survey.scenes=49", ["survey.scenes", "49", "world.train_scenes = 48"]),
        ("evaluation.probe=49", ["evaluation.probe", "49", "world.train_scenes = 48"]),
        ("'selected=[hc_info_nce_double]' arms.hc_info_nce_double.batch=7", ["train.pictures", "56", "48"]),
    ],
)
def test_what_cannot_end_well_is_refused_before_any_work(
    settings: str, says: list[str], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as refused:
        run(smoke(settings), tmp_path)
    assert all(part in str(refused.value) for part in says), refused.value
    assert not list(tmp_path.iterdir())


def test_an_arm_cannot_take_the_name_of_the_base(tmp_path: Path) -> None:
    arms = smoke().arms
    named = smoke().model_copy(update={"arms": arms | {"base": arms["plain"]}})
    with pytest.raises(ConfigError, match=r"arms\.base"):
        run(named, tmp_path)


def test_arms_with_negatives_alone_need_half_the_pictures() -> None:
    experiment.check(smoke("train.pictures=96 'selected=[hc_info_nce]'"))
    with pytest.raises(ConfigError, match="needs 49 scenes"):
        experiment.check(smoke("train.pictures=98 'selected=[hc_info_nce]'"))
