"""The `slipform` command: thin, each command calls one room; a user's mistake is one line and exit code 2."""

import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from slipform_core import config, notebooks, results

RUNS = Path("build/runs")
REFERENCE = Path("results")
STAGES = Path("build/stages")
MISTAKES = (config.ConfigError, results.MissingResult, notebooks.NotebookError, FloatingPointError, OSError)

THREADS = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Concreteness-aware hard negatives for CLIP: run the experiment and its notebooks.",
    epilog='Example: slipform run --profile mini --settings "train.steps=400 train.seed=3" --run longer',
)

Profile = Annotated[str, typer.Option(help="A file of notebooks/params, without .yml.")]
Settings = Annotated[str, typer.Option(help='Changes on top, such as "train.steps=400 train.seed=3".')]
Run = Annotated[str, typer.Option(help="The name of the folder in build/runs; the profile's by default.")]
Needs = Annotated[list[Path], typer.Option(help="A file or folder the outcome depends on; repeatable.")]
Jobs = Annotated[int, typer.Option(min=1, help="Arms trained at a time.")]


@app.command()
def run(profile: Profile = "mini", settings: Settings = "", run: Run = "", jobs: Jobs = 1) -> None:
    """Run an experiment from captions to results files; finished stages are kept and not run again."""
    experiment = config.load(profile, settings)
    check(run or profile)
    from slipform_core import experiment as spine

    folder = RUNS / (run or profile) / "results" / experiment.profile
    command = shlex.join(["slipform", *sys.argv[1:]])
    spine.run(experiment, folder=folder, stages=STAGES, jobs=jobs, command=command)


@app.command()
def reference(
    profile: Profile = "mini",
    settings: Settings = "",
    seed: Annotated[
        list[int], typer.Option(help="A seed; repeatable. Those of the profile by default.")
    ] = (),
    jobs: Jobs = 1,
    root: Annotated[Path, typer.Option(help="Results go to <root>/<profile>/seed-<n>.")] = REFERENCE,
) -> None:
    """Run all arms with several seeds, hours of work; a killed run goes on where it was."""
    experiment = config.load(profile, settings)
    check("reference")
    from slipform_core.experiment.reference import reference as run_reference

    seeds = list(seed) or experiment.reference.seeds
    run_reference(experiment, seeds=seeds, settings=settings, root=root, stages=STAGES, jobs=jobs)


@app.command()
def train(
    arm: Annotated[str, typer.Argument(help="An arm of the profile, such as hc_cement.")],
    profile: Profile = "mini",
    settings: Settings = "",
    run: Run = "",
) -> None:
    """Train one arm, alone or with the ranks that torchrun starts; killed, it goes on where it was.

    Its loss can be any that there is: --settings "arms.hc_info_nce.loss=tsvlc train.evaluate_every=100".
    Example: torchrun --standalone --nproc-per-node 2 -m slipform_core train hc_cement
    """
    experiment = config.load(profile, settings)
    if arm not in experiment.arms:
        raise config.ConfigError(f"unknown arm {arm!r}; the arms are: {', '.join(experiment.arms)}")
    from slipform_core import experiment as spine

    spine.check(experiment.model_copy(update={"selected": [arm]}))
    folder = RUNS / (run or profile) / "train" / arm
    spine.train_with_ranks(experiment, STAGES, arm, folder)
    print(f"weights: {folder / 'weights.safetensors'}")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def notebook(
    context: typer.Context,
    notebook: Annotated[Path, typer.Argument(help="A py:percent notebook; then -p NAME VALUE, as YAML.")],
    out: Annotated[Path, typer.Option(help="The executed notebook to write, .ipynb.")],
    needs: Needs = (),
) -> None:
    """Execute a notebook with parameters, unless it stands executed with the same content.

    Example: slipform notebook notebooks/05_gradients.py --out build/gradients.ipynb -p run build/runs/mini
    """
    words = context.args
    if len(words) % 3 or set(words[::3]) - {"-p"}:
        raise notebooks.NotebookError(f"cannot read {shlex.join(words)!r}: a parameter is -p NAME VALUE")
    executed = notebooks.run(notebook, out, dict(zip(words[1::3], words[2::3], strict=True)), needs)
    print(f"{out}: {'executed' if executed else 'unchanged, kept'}")


@app.command()
def check(run: Run = "mini") -> None:
    """See whether everything that a run needs is here, before minutes or hours of work."""
    from slipform_core import concreteness, emoji_world

    folder = RUNS / run
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        print(f"writable: {folder}")
    print(f"OpenMoji: {emoji_world.font_path()}")
    try:
        print(f"norms: {len(concreteness.Norms.load('brysbaert')):,} entries")
        concreteness.load_pipeline()
    except (concreteness.NormsError, concreteness.MissingModel) as missing:
        raise FileNotFoundError(missing) from None
    print("spaCy: the English pipeline loads")


def main() -> None:
    """Entry point: the mistakes that a user can make are one line on stderr and exit code 2."""
    # Before torch loads: processes that share cores are many times slower with two spinning threads each than
    # one.
    for name, value in THREADS.items():
        os.environ.setdefault(name, value)
    try:
        app()
    except MISTAKES as mistake:
        print(f"slipform: {mistake}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
