"""The `slipform` command: thin, each command calls one room; a user's mistake is one line and exit code 2."""

import os
import shlex
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from slipform_core import config, notebooks, results
from slipform_core.mistakes import BadPicture, Mistake

RUNS = Path("build/runs")
REFERENCE = Path("results")
STAGES = Path("build/stages")
DATA = Path("data")
MISTAKES = (Mistake, BadPicture, results.MissingResult, notebooks.NotebookError, FloatingPointError, OSError)

BENCHMARKS = (
    "Repeatable: sugarcrepe, scpp, winoground, aro_relation, aro_attribution, coco_order, flickr30k_order, "
    "valse, cola, vl_checklist, coco_retrieval, flickr30k_retrieval, val2017_retrieval, flickr8k_retrieval; "
    "the first two unless said."
)

ITEMS = "Your own: .json, .jsonl or .csv of image, caption, negative_caption (book/remake.md); repeatable."
USUAL = ("sugarcrepe", "scpp")
SETS = (
    "Repeatable: imagenet, a set of torchvision such as cifar10, vtab-NAME by clip-benchmark, or a folder "
    "with a folder a class."
)

THREADS = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Concreteness-aware hard negatives for CLIP: run the experiment and its notebooks.",
    epilog='Example: slipform run --profile mini --settings "train.steps=1500 train.seed=3" --run longer',
)

Profile = Annotated[str, typer.Option(help="A file of notebooks/params, without .yml.")]
Settings = Annotated[str, typer.Option(help='Changes on top, such as "train.steps=400 train.seed=3".')]
Run = Annotated[str, typer.Option(help="The name of the folder in build/runs; the profile's by default.")]
Needs = Annotated[list[Path], typer.Option(help="A file or folder the outcome depends on; repeatable.")]
Jobs = Annotated[int, typer.Option(min=1, help="Arms trained at a time.")]


@app.callback()
def share(context: typer.Context) -> None:
    # Before torch loads: processes that share cores are many times slower with two spinning threads each than
    # one. Evaluation is a single process.
    for name, value in THREADS.items() if context.invoked_subcommand != "eval" else ():
        os.environ.setdefault(name, value)


@app.command()
def run(profile: Profile = "mini", settings: Settings = "", run: Run = "", jobs: Jobs = 1) -> None:
    """Run an experiment from captions to results files; finished stages are kept and not run again."""
    experiment = config.load(profile, settings)
    check(run or profile)
    from slipform_core import experiment as spine

    folder = RUNS / (run or profile) / "results" / experiment.profile
    spine.run(experiment, folder=folder, stages=STAGES, jobs=jobs, command=_command())


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

    Its loss can be another one: --settings "arms.hc_info_nce.loss=tsvlc train.evaluate_every=100".
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


data = typer.Typer(no_args_is_help=True, help="Public data: fetch it with checksums, count what is there.")
app.add_typer(data, name="data")


@data.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Such as coco-captions, karpathy, flickr8k.")],
    to: Annotated[Path | None, typer.Option(help="The folder; data/NAME by default.")] = None,
) -> None:
    """Download a public data set, going on where a killed fetch was; gated ones say where to ask."""
    from slipform_core import datasets

    datasets.fetch(name, to or DATA / name)


@data.command("check")
def check_data(
    name: Annotated[str, typer.Argument(help="As of `fetch`.")],
    folder: Annotated[Path | None, typer.Argument(help="Where it lies; data/NAME by default.")] = None,
) -> None:
    """Count what a folder holds against what was published; exit code 1 where something is missing."""
    from slipform_core import datasets

    lines = datasets.check(name, folder or DATA / name)
    print("\n".join(map(str, lines)))
    raise typer.Exit(not all(line.ok for line in lines))


@app.command()
def plant(
    path: Annotated[Path, typer.Argument(help="Captions with pictures: a file or a folder, see --kind.")],
    out: Annotated[Path, typer.Option(help="The folder to write; a run that was killed goes on in it.")],
    kind: Annotated[str, typer.Option(help="coco, karpathy, flickr, table, folder, webdataset.")] = "",
    split: Annotated[
        str, typer.Option(help="Of karpathy (train2014 of COCO by default) and flickr (train).")
    ] = "",
    images: Annotated[Path | None, typer.Option(help="Folder of the pictures; PATH's by default.")] = None,
    picture_column: Annotated[str, typer.Option(help="Of a table; guessed by its name.")] = "",
    caption_column: Annotated[str, typer.Option(help="Of a table; guessed by its name.")] = "",
    profile: Annotated[str, typer.Option(help="A recipe of notebooks/params/plant, without .yml.")] = "photo",
    settings: Annotated[str, typer.Option(help='Changes on top, such as "choose=lc seed=3".')] = "",
    stage: Annotated[str, typer.Option(help="all, text, or pictures of texts that are made.")] = "all",
    limit: Annotated[int | None, typer.Option(min=1, help="The first captions only.")] = None,
    part: Annotated[str, typer.Option(help="This process's share, such as 2/8 of eight processes.")] = "1/1",
    shown: Annotated[int, typer.Option(min=0, help="Hard negatives on the page of samples.")] = 24,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Look at everything, write nothing.")] = False,
) -> None:
    """Make hard negatives of your own captions and pictures, and a page that shows them.

    Example: slipform plant captions.csv --out build/mine --settings "choose=hc"
    """
    recipe = config.load_recipe(profile, settings)
    from slipform_core import planting, samples, sources

    stages, share = planting.stages(stage), planting.share(part)
    planting.check(recipe, stages)
    columns = {"picture_column": picture_column, "caption_column": caption_column}
    source = sources.photos(path, kind=kind, split=split, images=images, **columns)
    print(source)
    made = planting.Planting(recipe, source, out)
    if dry_run:
        print(planting.outlook(made))
        return
    started = time.monotonic()
    report = made.run(stages, share, limit)
    seconds = time.monotonic() - started
    planting.note(made, report, source=str(path), command=_command(), seconds=seconds)
    page = samples.write_page(report, recipe=recipe, source=str(path), count=shown)
    print(f"{report}\nsamples: {page}")


@app.command("eval")
def evaluate(
    models: Annotated[
        list[str], typer.Argument(help="NAME, NAME:PRETRAINED, NAME=FILE, hf-hub:NAME, or a folder.")
    ],
    benchmark: Annotated[list[str], typer.Option("--benchmark", "-b", help=BENCHMARKS)] = (),
    items: Annotated[list[Path], typer.Option(help=ITEMS)] = (),
    zero_shot: Annotated[list[str], typer.Option(help=SETS)] = (),
    template: Annotated[list[str], typer.Option(help="For zero-shot, such as 'a photo of a {}.'")] = (),
    probe: Annotated[list[str], typer.Option(help="The same sets, by a linear probe; repeatable.")] = (),
    probe_as: Annotated[str, typer.Option(help="plain, or clip: CLIP's own protocol.")] = "plain",
    shots: Annotated[int | None, typer.Option(min=1, help="Training pictures a class, for --probe.")] = None,
    coco_objects: Annotated[bool, typer.Option("--coco-objects", help="COCO's objects, by probes.")] = False,
    data: Annotated[
        Path, typer.Option(help="Where benchmarks lie; what `data fetch` lacks, an error says where to get.")
    ] = DATA,
    images: Annotated[Path | None, typer.Option(help="Folder of your items' pictures.")] = None,
    trained: Annotated[list[Path], typer.Option(help="Shards of the training: leaks are looked for.")] = (),
    language_model: Annotated[str, typer.Option(help="A causal one, as another blind baseline.")] = "",
    out: Annotated[
        Path, typer.Option(help="A results file a model, and tables, in place of earlier ones.")
    ] = Path("build/eval"),
    features: Annotated[Path, typer.Option(help="What was encoded, kept.")] = Path("build/features"),
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps.")] = "cpu",
    precision: Annotated[str, typer.Option(help="float32, bfloat16, float16: of the model.")] = "float32",
    batch_size: Annotated[int, typer.Option(min=1, help="Pictures or texts at a time.")] = 64,
    partial: Annotated[
        bool, typer.Option("--partial", help="Score what benchmarks have, and say so.")
    ] = False,
) -> None:
    """Score any CLIP on benchmarks: strictly, with intervals, each picture and text encoded once.

    Models after the first are compared with it, item by item. Said again, a call that was stopped
    encodes only what is missing.

    Example: slipform eval ViT-B-32-quickgelu:openai build/model -b sugarcrepe -b scpp
    """
    from slipform_core import evaluating

    request = evaluating.Request(
        models=models,
        benchmarks=benchmark or (() if items or zero_shot or probe or coco_objects else USUAL),
        items=items,
        zero_shot=zero_shot,
        templates=template,
        probe=probe,
        probe_as=probe_as,
        shots=shots,
        coco_objects=coco_objects,
        data=data,
        images=images,
        trained=trained,
        language_model=language_model,
        features=features,
        device=device,
        precision=precision,
        batch=batch_size,
        partial=partial,
    )
    found = evaluating.run(request, out=out, command=_command())
    evaluating.print_tables(found)
    print("\n".join(f"written: {out / name}" for name in evaluating.TABLES))


@app.command()
def check(run: Run = "mini") -> None:
    """See whether everything that a run needs is here, before minutes or hours of work."""
    from slipform_core import concreteness, emoji_world

    folder = RUNS / run
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        print(f"writable: {folder}")
    print(f"OpenMoji: {emoji_world.font_path()}")
    print(f"norms: {len(concreteness.Norms.load('brysbaert')):,} entries")
    concreteness.load_pipeline()
    print("spaCy: the English pipeline loads")


def _command() -> str:
    return shlex.join(["slipform", *sys.argv[1:]])


def main() -> None:
    """Entry point: the mistakes that a user can make are one line on stderr and exit code 2."""
    try:
        app()
    except MISTAKES as mistake:
        print(f"slipform: {mistake}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
