"""The reference run: all arms with several seeds, its results committed beside the code."""

import shlex
import shutil
import time
from pathlib import Path

from slipform_core import results
from slipform_core.config import Experiment
from slipform_core.experiment import results_fingerprint, run


def reference(
    experiment: Experiment, *, seeds: list[int], settings: str, root: Path, stages: Path, jobs: int
) -> None:
    """Run all arms with each seed and write `<root>/<profile>/seed-<seed>/`; results that stand are kept.

    settings: the changes that made `experiment` of its profile, for the command that each file names. A
    killed run goes on where it was, seed by seed and stage by stage.
    """
    started = time.monotonic()
    for seed in seeds:
        seeded, folder = experiment.with_seed(seed), root / experiment.profile / f"seed-{seed}"
        if stands(folder, seeded):
            print(f"seed {seed}: stands in {folder}")
            continue
        words = ["slipform", "reference", "--profile", experiment.profile, "--seed", str(seed)]
        command = shlex.join([*words, *(["--settings", settings] if settings else [])])
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        run(seeded, folder=partial, stages=stages, jobs=jobs, command=command)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
        print(f"seed {seed}: written to {folder}, {(time.monotonic() - started) / 3600:.2f} hours so far")


def stands(folder: Path, experiment: Experiment) -> bool:
    """Whether a folder holds the results of just this experiment by just this code."""
    wanted = results_fingerprint(experiment)
    names = [path.stem for path in folder.glob("*.json")]
    return bool(names) and all(results.load(folder, name).made["fingerprint"] == wanted for name in names)
