"""A reference run that is made up of one run's results: all arms, to build pages with, without meaning."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from slipform_core import results
from slipform_core.outcomes import pack, unpack
from slipform_core.results import Result

ARMS = Path(__file__).parent.parent / "notebooks/params/arms/paper.yml"
CHOICES = ("hc", "lc", "wo", "swap")


def make_up(run: Path, root: Path, seeds: tuple[int, ...]) -> None:
    """Write `<root>/seed-<n>` from a run's results; arms that it lacks are jittered copies of another."""
    arms = ["base", *yaml.safe_load(ARMS.read_text())]
    files = {path.stem: results.load(run, path.stem) for path in run.glob("*.json")}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        found = {name: copy.deepcopy(dict(result.values)) for name, result in files.items()}
        for name in ("negatives", "judged"):
            found[name] = {choice: found[name].get(choice, found[name]["hc"]) for choice in CHOICES}
        for parts in found["judged"].values():
            parts["abstract"] = parts["all"]  # concrete words have none
        for name, part in (("blind", "negatives"), ("gradients", "shares")):
            found[name][part] = {
                choice: found[name][part].get(choice, found[name][part]["hc"]) for choice in CHOICES
            }
        for name in ("training", "composition"):
            given = found[name]
            found[name] = {arm: copy.deepcopy(given.get(arm, given["hc_info_nce"])) for arm in arms}
        for arm, log in found["training"].items():
            log["steps"] *= 4 if arm.endswith("quarter") else 1
            log["pictures"] *= 2 if arm.endswith("double") else 1
        _jitter(found["composition"], rng)
        items, given = found["outcomes"]["items"], found["outcomes"]["arms"]
        found["outcomes"]["arms"] = {
            arm: _redrawn(given.get(arm, given["hc_info_nce"]), items, rng) for arm in arms
        }
        profile = {"count": 20, "kinds": {"NOUN": 12, "ADJ": 8}, "similarity": 0.7}
        found["matched"] = {choice: {"before": profile, "after": profile} for choice in ("hc", "lc", "wo")}
        for name, values in found.items():
            made = files.get(name, files["words"])
            results.write(root / f"seed-{seed}", Result(name, made.profile, values, made.made))


def _jitter(node: Any, rng: np.random.Generator) -> None:
    for key, below in node.items():
        if key == "value":
            node[key] = float(np.clip(below + rng.normal(0, 0.02), 0, 1))
        elif isinstance(below, dict):
            _jitter(below, rng)


def _redrawn(right: dict[str, dict[str, str]], items: dict[str, Any], rng: np.random.Generator) -> Any:
    def count(subset: str, metric: str) -> int:
        return items[f"{subset}/{metric[:3]}" if subset.startswith("retrieval") else subset]["count"]

    return {
        subset: {
            metric: pack(unpack(bits, count(subset, metric)) ^ (rng.random(count(subset, metric)) < 0.1))
            for metric, bits in metrics.items()
        }
        for subset, metrics in right.items()
    }
