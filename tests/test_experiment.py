"""The spine from captions to results files, on the smallest profile that passes through everything."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from slipform_core import config, experiment, imbalance, results, stages
from slipform_core.benchmarks import world_benchmark
from slipform_core.config import Experiment
from slipform_core.gradients import hard_negative_share, share_against_batch
from slipform_core.loss import LOSSES, Pairs, contrastive_logits, fermi_dirac_margin
from slipform_core.outcomes import Outcomes
from slipform_core.shards import read_manifest, read_samples

ROOT = Path(__file__).parent.parent
PARAMS = ROOT / "notebooks" / "params"
FILES = (
    "words",
    "negatives",
    "judged",
    "survey",
    "blind",
    "training",
    "outcomes",
    "composition",
    "gradients",
)
ARMS = ("plain", "hc_info_nce", "hc_cement", "swap_info_nce")


def smoke(settings: str = "") -> Experiment:
    return config.load("smoke", settings, PARAMS)


def run(home: Path, settings: str = "", name: str = "smoke") -> None:
    experiment.run(
        smoke(settings),
        folder=home / "build/runs" / name / "results/smoke",
        stages=home / "build/stages",
        jobs=1,
        command="slipform run --profile smoke",
    )


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an undisturbed run of the smoke profile."""
    folder = tmp_path_factory.mktemp("smoke")
    run(folder)
    return folder


def load(home: Path, name: str, run: str = "smoke") -> results.Result:
    return results.load(home / "build/runs" / run / "results/smoke", name)


def fractions(node) -> list[dict]:
    """All scores, standard errors and counts at the leaves."""
    if "value" in node:
        return [node]
    return [leaf for below in node.values() for leaf in fractions(below)]


def test_every_results_file_says_how_it_was_made(home: Path) -> None:
    folder = home / "build/runs/smoke/results/smoke"
    assert {path.name for path in folder.iterdir()} == {f"{name}.json" for name in FILES}
    for name in FILES:
        made = load(home, name).made
        assert Experiment(**made["config"]) == smoke()
        assert made["command"] == "slipform run --profile smoke"
        assert len(made["fingerprint"]) == 12 and made["seconds"] > 0


def test_words_and_negatives_count_what_there_is(home: Path) -> None:
    words = load(home, "words").values
    assert words["captions"] == 48 and 0 < words["covered"] <= words["keywords"]
    assert sum(role["count"] for role in words["roles"].values()) == words["covered"]
    negatives = load(home, "negatives").values
    assert set(negatives) == {"hc", "swap"}
    for choice, found in negatives.items():
        folder = experiment.plant(smoke(), home / "build/stages", choice)
        records = [sample.record for sample in read_samples(folder)]
        assert found["kept"] == len(records) > 16
        assert found["kept"] + sum(found["rejected"].values()) == found["captions"] == 48
        assert found["all"]["count"] == len(records)
        mean = math.fsum(record.keyword.concreteness for record in records) / len(records)
        assert found["all"]["mean"] == pytest.approx(mean, abs=1e-4)
        assert len(read_manifest(folder)) == 3


def test_every_arm_was_trained_as_long_and_on_as_many_pictures(home: Path) -> None:
    training = load(home, "training").values
    assert list(training) == ["base", *ARMS]
    for arm, found in training.items():
        steps = 8 if arm == "base" else 6
        assert found["steps"] == steps and found["pictures"] == 16 * steps
        shares = {"hc_info_nce", "hc_cement", "swap_info_nce"}
        assert ("share" in found["curves"]) == (arm in shares)
        assert found["every"] == 10 and all(len(curve) == 1 for curve in found["curves"].values())
        assert all(map(math.isfinite, found["curves"]["loss"]))


def test_every_arm_has_scores_on_the_same_items(home: Path) -> None:
    composition, outcomes = load(home, "composition").values, Outcomes(load(home, "outcomes").values)
    assert list(composition) == outcomes.arms == ["base", *ARMS]
    benchmark = world_benchmark(smoke())
    for scores in composition.values():
        assert set(scores) == {"sugarcrepe", "scpp", "winoground", "retrieval", "probe", "macro"}
        for name, items in benchmark.subsets.items():
            family, _, subset = name.partition("/")
            counts = {leaf["count"] for metric, leaf in scores[family][subset].items() if metric != "ties"}
            assert counts == {len(items.captions)}
        assert all(0 <= leaf["value"] <= 1 and leaf["stderr"] >= 0 for leaf in fractions(scores))
    assert len({json.dumps(scores) for scores in composition.values()}) > 1


def test_outcomes_are_what_the_scores_count(home: Path) -> None:
    composition, outcomes = load(home, "composition").values, Outcomes(load(home, "outcomes").values)
    for arm in outcomes.arms:
        for reference in outcomes.references():
            node = composition[arm]
            for key in reference.split("/"):
                node = node[key]
            right, scenes = outcomes.column(arm, reference)
            assert right.mean() == pytest.approx(node["value"]) and len(right) == len(scenes) == node["count"]


def test_shares_are_measured_for_each_choice_loss_and_size(home: Path) -> None:
    gradients = load(home, "gradients").values
    assert gradients["batches"] == 2
    assert set(gradients["shares"]) == {"hc", "swap"}
    for losses in gradients["shares"].values():
        assert set(losses) == {"info_nce", "hc_cement"}
        for curve in losses.values():
            assert list(curve) == ["8", "16"]
            assert all(0 < point["mean"] < 1 for point in curve.values())
            assert curve["8"]["mean"] > curve["16"]["mean"]


def test_shares_are_those_of_features_made_one_at_a_time(home: Path) -> None:
    kept = home / "build/stages"
    clip = experiment.load(smoke(), kept, "base")
    firsts = {}
    for sample in read_samples(experiment.plant(smoke(), kept, "swap")):
        firsts.setdefault(sample.record.image_id, sample)
    rows = []
    with torch.no_grad():
        for sample in firsts.values():
            texts = clip.tokenize([sample.record.caption, sample.record.negative_caption])
            image, negative = (
                clip.encode_image(np.array([p]))[0] for p in (sample.picture, sample.negative_picture)
            )
            rows.append((image, clip.encode_text(texts[:1])[0], negative, clip.encode_text(texts[1:])[0]))
    margin = fermi_dirac_margin(low=-2, high=2, midpoint=4, width=0.15)
    measured = load(home, "gradients").values["shares"]["swap"]
    for name, given in {"info_nce": None, "hc_cement": margin}.items():
        words = torch.tensor([s.record.keyword.concreteness for s in firsts.values()])
        pool = Pairs(*map(torch.stack, zip(*rows, strict=True)), concreteness=words)
        expected = share_against_batch(
            pool,
            lambda pairs, m=given: hard_negative_share(contrastive_logits(pairs, clip.logit_scale.item(), m)),
            pictures=[8, 16],
            batches=2,
            generator=torch.Generator().manual_seed(smoke().seed),
        )
        for share in expected:
            found = measured[name][str(share.pictures)]
            assert found == pytest.approx({"mean": share.mean, "stderr": share.stderr}, rel=1e-3)


def test_the_paraphrase_of_a_caption_is_the_picture_s_next(home: Path) -> None:
    kept = home / "build/stages"
    clip, folder = experiment.load(smoke(), kept, "base"), experiment.plant(smoke(), kept, experiment.SURVEY)
    pool = imbalance.embedded(clip, folder, batch=5)
    texts: dict[str, list[str]] = {}
    for sample in read_samples(folder):
        texts.setdefault(sample.record.image_id, []).append(sample.record.caption)
    assert len(pool.image) == len(texts) and max(map(len, texts.values())) > 1
    with torch.no_grad():
        expected = clip.encode_text(clip.tokenize([said[min(1, len(said) - 1)] for said in texts.values()]))
    torch.testing.assert_close(pool.positive_text, expected, atol=1e-5, rtol=0)


def test_every_objective_has_a_share_at_fixed_and_at_trained_features(home: Path) -> None:
    gradients = load(home, "gradients").values
    assert set(gradients["objectives"]) == {"base", "hc_info_nce", "hc_cement"}
    for by_objective in gradients["objectives"].values():
        assert {*LOSSES, "neg_clip + margin", "triplet_clip + margin", "dcl + margin"} == set(by_objective)
        assert all(0 < point["mean"] < 1 for curve in by_objective.values() for point in curve.values())
    base = gradients["objectives"]["base"]
    assert base["tsvlc"]["16"]["mean"] > base["neg_clip"]["16"]["mean"]


def test_the_arms_differ_and_start_from_the_base(home: Path) -> None:
    folders = [experiment.trained(smoke(), home / "build/stages", arm) for arm in ("base", *ARMS)]
    assert len({(folder / "weights.safetensors").read_bytes() for folder in folders}) == 5
    logs = [json.loads((folder / "log.jsonl").read_text().splitlines()[0]) for folder in folders]
    base_scale = json.loads((folders[0] / "log.jsonl").read_text().splitlines()[-1])["scale"]
    assert all(log["scale"] == pytest.approx(base_scale, rel=1e-3) for log in logs[1:])
    by_arm = dict(zip(("base", *ARMS), logs, strict=True))
    # The same first batch at the same weights: the margin alone makes the losses and the shares differ.
    assert by_arm["hc_cement"]["share"] > by_arm["hc_info_nce"]["share"]
    assert by_arm["hc_cement"]["loss"] > by_arm["hc_info_nce"]["loss"]


@pytest.fixture(scope="module")
def beside(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the run's stages, for more arms."""
    return shutil.copytree(home / "build/stages", tmp_path_factory.mktemp("beside") / "stages")


@pytest.mark.parametrize("name", sorted(LOSSES.keys() - {"hard_positives"}))
def test_every_objective_trains_an_arm_and_is_watched(name: str, beside: Path) -> None:
    settings = f"arms.hc_info_nce.loss={name} train.steps=3 train.evaluate_every=2"
    settings += " train.ema=0.9" if name == "degla" else ""
    settings += " 'arms.hc_info_nce.margin={kind: static, value: 1}'" if name == "cement" else ""
    given = smoke(settings)
    experiment.check(given)
    folder = experiment.fine_tune(given, beside, "hc_info_nce")
    log, watched = ((folder / f"{kind}.jsonl").read_text().splitlines() for kind in ("log", "evaluations"))
    assert len(log) == 3 and [json.loads(line)["step"] for line in watched] == [0, 2]
    assert all(0 <= json.loads(line)["accuracy"] < 1 for line in watched)
    assert (folder / "objective.safetensors").is_file() == (name in ("ce_clip", "sig_lip"))
    assert (folder / "average.safetensors").is_file() == (name == "degla")


def snapshot(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_a_second_run_makes_nothing_again(home: Path) -> None:
    before, values = snapshot(home / "build/stages"), load(home, "composition").values
    run(home, name="second")
    assert snapshot(home / "build/stages") == before
    assert load(home, "composition", "second").values == values


def command(home: Path) -> subprocess.Popen:
    """`slipform run --profile smoke` in a folder of its own."""
    (home / "notebooks").mkdir(exist_ok=True)
    if not (home / "notebooks/params").exists():
        (home / "notebooks/params").symlink_to(PARAMS)
    environment = os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    words = [sys.executable, "-m", "slipform_core", "run", "--profile", "smoke"]
    return subprocess.Popen(words, cwd=home, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_run_that_is_killed_ends_as_if_undisturbed(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "build/stages"
    killed = command(tmp_path)
    end = time.monotonic() + 300
    # In the middle of the second arm: the base, the negatives and an arm stand, three arms are to come.
    while not list(kept.glob("arm-hc_info_nce-*/log.jsonl")):
        assert killed.poll() is None, killed.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "build/runs/smoke/results").exists()
    stood = {path.parent.name: path.stat().st_mtime_ns for path in kept.glob("*/done.json")}
    assert any(name.startswith("base") for name in stood) and any(
        name.startswith("arm-plain") for name in stood
    )
    again = command(tmp_path)
    _, said = again.communicate(timeout=300)
    assert again.returncode == 0, said
    assert "base" not in said and "plain" not in said and "hc_cement: 100%" in said
    for name in ("composition", "gradients", "words"):
        assert load(tmp_path, name).values == load(home, name).values, name
    ended = {path.parent.name: path.stat().st_mtime_ns for path in kept.glob("*/done.json")}
    assert stood.items() <= ended.items()
    assert set(ended) == {path.parent.name for path in (home / "build/stages").glob("*/done.json")}


def test_stages_that_were_made_say_how_long_it_took(home: Path) -> None:
    for folder in (home / "build/stages").iterdir():
        assert stages.seconds(folder) >= 0
    training = load(home, "training").values
    assert all(found["seconds"] >= 0 for found in training.values())
