"""The reference run: seed by seed, resumed, made again when something changed; and what is read from it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from slipform_core import comparisons, config, outcomes, results
from slipform_core.comparisons import Reference
from slipform_core.config import Experiment
from slipform_core.experiment import reference as reference_run
from slipform_core.metrics import COLUMNS, SUBSETS, macro_of
from slipform_core.results import Result
from slipform_core.tables import Run

PARAMS = Path(__file__).parent.parent / "notebooks" / "params"


def small() -> Experiment:
    """The smoke profile with two arms, and selected fewer than there are."""
    given = config.load("smoke", "'selected=[plain]'", PARAMS)
    arms = {name: given.arms[name] for name in ("plain", "hc_cement")}
    gradients = given.gradients.model_copy(update={"trained": ["hc_cement"]})
    return given.model_copy(update={"arms": arms, "gradients": gradients})


def run(folder: Path, seeds: list[int]) -> None:
    reference_run.reference(
        small(), seeds=seeds, settings="a=1", root=folder / "results", stages=folder / "stages", jobs=1
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    run(folder, [6, 7])
    return folder


def test_each_seed_has_all_arms_and_a_world_of_its_own(home: Path) -> None:
    found = Reference.open(home / "results", "smoke")
    assert found.seeds == [6, 7] and found.arms == ["base", "plain", "hc_cement"]
    first, second = (run.result("composition") for run in found.runs.values())
    assert first.values != second.values
    for seed, made in found.made.items():
        assert {
            part["seed"] for part in (made["config"], *map(made["config"].get, ("pretrain", "train")))
        } == {seed}
        assert made["command"] == f"slipform reference --profile smoke --seed {seed} --settings a=1"


def test_a_seed_that_stands_is_not_run_again(home: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(reference_run, "run", lambda *_, **__: pytest.fail("it was run again"))
    run(home, [6, 7])
    assert capsys.readouterr().out.count("stands in") == 2


@pytest.mark.parametrize("change", ["code", "parameter", "nothing there", "a file of another"])
def test_a_seed_whose_results_are_not_those_of_this_experiment_is_run_again(
    change: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, folder = small().with_seed(6), tmp_path / "seed-6"
    folder.mkdir()
    for path in (home / "results/smoke/seed-6").iterdir():
        (folder / path.name).write_text(path.read_text())
    assert reference_run.stands(folder, given)
    if change == "code":
        monkeypatch.setattr(reference_run, "results_fingerprint", lambda _: "000000000000")
    elif change == "parameter":
        given = given.model_copy(update={"model": "another"})
    elif change == "nothing there":
        folder = tmp_path / "seed-8"
    else:
        (folder / "composition.json").write_text((home / "results/smoke/seed-7/composition.json").read_text())
    assert not reference_run.stands(folder, given)


def test_a_seed_that_is_killed_while_it_writes_leaves_the_old_results(
    home: Path, tmp_path: Path, monkeypatch
) -> None:
    def die(_, *, folder: Path, **__) -> None:
        folder.mkdir(parents=True)
        (folder / "words.json").write_text("half")
        raise KeyboardInterrupt

    old = tmp_path / "results/smoke/seed-6"
    old.mkdir(parents=True)
    path = old / "composition.json"
    path.write_text((home / "results/smoke/seed-7/composition.json").read_text())
    monkeypatch.setattr(reference_run, "run", die)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, [6])
    assert [file.name for file in old.iterdir()] == ["composition.json"]
    assert comparisons.open_reference(tmp_path / "results", "smoke") is None


RNG = np.random.default_rng(5)
SEEDS = (3, 4, 5)
SCENES = 50


def write(folder: Path, seed: int) -> None:
    """A seed's results: two arms with random outcomes of every column of the macro average."""
    subsets = {f"{name}/{kind}": COLUMNS[name] for name, kinds in SUBSETS.items() for kind in kinds}
    words = RNG.choice(["red", "blue"], SCENES).tolist()
    bits = {
        arm: {
            key: {metric: RNG.random(SCENES) < rate for metric in metrics} for key, metrics in subsets.items()
        }
        for arm, rate in (("plain", 0.5), ("hc", 0.7))
    }
    composition: dict = {}
    for arm, found in bits.items():
        tree = composition.setdefault(arm, {})
        means = {f"{key}/{m}": right.mean() for key, of in found.items() for m, right in of.items()}
        for reference, mean in means.items():
            name, kind, metric = reference.split("/")
            tree.setdefault(name, {}).setdefault(kind, {})[metric] = {"value": float(mean)}
        tree["macro"] = {"value": macro_of(means)}
    about = {key: outcomes.items(np.arange(SCENES), words, SCENES) for key in subsets}
    arms = {
        arm: {key: {m: outcomes.pack(right) for m, right in of.items()} for key, of in found.items()}
        for arm, found in bits.items()
    }
    packed = {"scenes": SCENES, "items": about, "arms": arms}
    for name, values in {"composition": composition, "outcomes": packed}.items():
        results.write(folder / f"seed-{seed}", Result(name, "tiny", values, {"code": "c", "seconds": 1.0}))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    folder = tmp_path_factory.mktemp("tiny")
    for seed in SEEDS:
        write(folder / "tiny", seed)
    return Reference.open(folder, "tiny")


def read(found: Reference, arm: str, *path: str) -> list[float]:
    """An arm's value of each seed, from the files."""
    values = []
    for seed in SEEDS:
        node = json.loads((found.runs[seed].folder / "composition.json").read_text())["values"][arm]
        for key in path:
            node = node[key]
        values.append(node["value"])
    return values


@pytest.mark.parametrize("path", [("macro",), ("sugarcrepe", "replace_att", "i2t")])
def test_differences_are_students_over_the_seeds_in_pairs(path: tuple[str, ...], found: Reference) -> None:
    left, right = (np.array(read(found, arm, *path)) for arm in ("hc", "plain"))
    given = found.difference("hc", "plain", "/".join(path))
    expected = scipy.stats.ttest_rel(left, right)
    interval = expected.confidence_interval()
    assert given.estimate == pytest.approx(((left - right).mean(), interval.low, interval.high))
    assert given.p == pytest.approx(expected.pvalue)
    assert list(given.by_seed.values()) == pytest.approx(left - right) and list(given.by_seed) == list(SEEDS)


def test_a_family_is_corrected_together(found: Reference) -> None:
    contrasts = {kind: ("hc", "plain", f"sugarcrepe/{kind}/i2t") for kind in SUBSETS["sugarcrepe"]}
    family = comparisons.family(found, contrasts)
    plain = sorted(difference.p for difference, _ in family.values())
    assert min(p for _, p in family.values()) == pytest.approx(min(7 * plain[0], 1))


@pytest.mark.parametrize("measure", ["macro", "scpp/swap_obj/itt"])
def test_a_difference_in_one_run_is_that_of_its_scores(measure: str, found: Reference) -> None:
    run = found.runs[4]
    estimate = comparisons.in_run(run, "hc", "plain", measure, rng=np.random.default_rng(1), draws=300)
    values = [run[f"composition:{arm}/{measure}/value"] for arm in ("hc", "plain")]
    assert estimate.value == pytest.approx(values[0] - values[1])
    assert estimate.low < estimate.value < estimate.high


def test_gains_by_word_are_those_of_the_items_that_change_it(found: Reference) -> None:
    measure, given = "sugarcrepe/replace_att/i2t", found.outcomes()
    gains = comparisons.by_word(given, "hc", "plain", measure, ["red", "green"])
    for place, read in enumerate(given.values()):
        rows = [row for row, word in enumerate(read.words(measure)) if word == "red"]
        left, right = (sum(read.right(arm, measure)[row] for row in rows) for arm in ("hc", "plain"))
        assert gains["red"][place] == pytest.approx((left - right) / len(rows))
    assert np.isnan(gains["green"]).all()


def test_a_reference_run_is_looked_at_when_it_is_whole(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "results/smoke", tmp_path / "smoke")
    (tmp_path / "smoke/seed-7").rename(tmp_path / "smoke/seed-8")
    with pytest.raises(results.MissingResult, match="lacks the seeds 7: make reference"):
        Reference.open(tmp_path, "smoke")
    shutil.copytree(tmp_path / "smoke/seed-8", tmp_path / "smoke/seed-7")
    assert Reference.open(tmp_path, "smoke").seeds == [6, 7, 8]


def test_no_reference_run_is_none_or_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    assert comparisons.open_reference(tmp_path, "tiny") is None
    write(tmp_path / "tiny", 3)
    with pytest.raises(results.MissingResult, match="holds 1 seeds.*make reference"):
        Reference.open(tmp_path, "tiny")
    assert Run(tmp_path / "tiny" / "seed-3").result("composition").profile == "tiny"
