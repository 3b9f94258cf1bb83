"""What a user asks of `slipform eval`, made into models and benchmarks."""

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial as bound
from pathlib import Path

from slipform_core import progress
from slipform_core.benchmarks import READERS, Benchmark, own
from slipform_core.classification import (
    PROBES,
    LabelledSet,
    coco_objects,
    labelled_set,
    linear_probe,
    multi_label_probe,
    zero_shot,
)
from slipform_core.evaluating.runs import Asked, Task, evaluate_models, plain
from slipform_core.evaluating.shown import INDEX, remove_tables, write_tables
from slipform_core.evaluation.blind import BLIND, language_model
from slipform_core.mistakes import Mistake
from slipform_core.models import check_checkpoint, open_checkpoint
from slipform_core.results import Result, load
from slipform_core.shards import intact, read_manifest


@dataclass(frozen=True)
class Request:
    """The options of `slipform eval`; see its help."""

    models: Sequence[str]
    benchmarks: Sequence[str]
    items: Sequence[Path]
    zero_shot: Sequence[str]
    templates: Sequence[str]
    probe: Sequence[str]
    probe_as: str
    shots: int | None
    coco_objects: bool
    data: Path
    images: Path | None
    trained: Sequence[Path]
    language_model: str
    features: Path | None
    device: str
    precision: str
    batch: int
    partial: bool


def names_of(models: Sequence[str]) -> list[str]:
    """What users said of models, as names of files, as long as it takes to tell them apart.

    None is called as a column of the tables. Mistake where a model is said twice.
    """
    if len(set(models)) < len(models):
        raise Mistake(f"a model is said twice: {', '.join(models)}")
    # The end of a path says least in common, "epoch_5.pt" of all trainings.
    said = [
        re.split(r"[/=]", str(Path(model).resolve()) if Path(model).is_dir() else model) for model in models
    ]
    for length in range(1, max(map(len, said)) + 1):
        names = [re.sub(r"[^\w.-]+", "-", "-".join(parts[-length:])).strip("-") for parts in said]
        if len(set(names)) == len(names) and not {*names} & {*INDEX}:
            return names
    raise Mistake(f"models go by one name: {', '.join(models)}")


def run(request: Request, *, out: Path, command: str) -> list[Result]:
    """Score the models, and write their results and tables.

    Everything that can be wrong is looked at before the first is loaded, but for what is in pictures and
    weights. After an error there are the results and tables of the models that were done.
    """
    for folder in filter(None, (out, request.features)):
        _check_place(folder)
    if request.templates and not request.zero_shot:
        raise Mistake("--template is of --zero-shot, which is not said")
    if request.shots and not request.probe:
        raise Mistake("--shots is of --probe, which is not said")
    names = names_of(request.models)
    _check_earlier(out, names, request.models)
    where = {"device": request.device, "precision": request.precision}
    notes = {
        name: check_checkpoint(model, **where) for name, model in zip(names, request.models, strict=True)
    }
    for name, said in notes.items():
        for note in said:
            print(f"{name}: {note}", file=sys.stderr)
    for folder in request.trained:
        _check_shards(folder)
    asked = _asked(request)
    opened = bound(open_checkpoint, **where)
    models = {name: bound(opened, model) for name, model in zip(names, request.models, strict=True)}
    config = plain(asdict(request)) | {"notes": notes}
    remove_tables(out)
    done: list[Result] = []
    try:
        for result in evaluate_models(models, asked, out=out, command=command, config=config):
            done.append(result)  # noqa: PERF402, what was done before an error is kept
    finally:
        if done:
            write_tables(done, out)
    return done


def _check_place(folder: Path) -> None:
    """Before hours of work: Mistake where a folder cannot be made or written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Mistake(f"{folder} is no folder to write to: {error.strerror}") from None


def _check_earlier(out: Path, names: Iterable[str], models: Iterable[str]) -> None:
    """Mistake where the result of another model that goes by the same name would be replaced."""
    for name, model in zip(names, models, strict=True):
        path = out / f"{name}.json"
        if path.exists():
            try:
                before = load(out, name).made["config"]["models"]
            except (ValueError, TypeError, KeyError):
                raise Mistake(f"{path} is no result of slipform eval: say another --out") from None
            if model not in before:
                raise Mistake(f"{path} is of {', '.join(before)}, not of {model}: say another --out")


def _check_shards(folder: Path) -> None:
    try:
        shards = read_manifest(folder)
    except (ValueError, TypeError) as error:
        raise Mistake(f"{folder}: its manifest is none of slipform plant, {error}") from None
    if not shards:
        raise Mistake(f"{folder} has no shards: --trained is a folder that slipform plant made")
    for shard in progress.bar(iterable=shards, desc="shards", unit="shard"):
        if not intact(folder, shard):
            raise Mistake(f"{folder / shard.name} is missing, or other than its manifest says")


def _distinct(names: Iterable[str]) -> None:
    """Two of one name would be one result."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise Mistake(f"two things to score on are called {twice[0]!r}: rename a file or folder")


def _asked(request: Request) -> Asked:
    mine = [own(path, images=request.images, partial=request.partial) for path in request.items]
    benchmarks = [*read(request.benchmarks, request.data, partial=request.partial), *mine]
    _distinct(each.name for each in benchmarks)
    baselines = dict(BLIND)
    if request.language_model:
        baselines["language model"] = language_model(request.language_model, request.device)
    return Asked(
        benchmarks,
        tasks=_tasks(request),
        batch=request.batch,
        features=request.features,
        baselines=baselines,
        trained=request.trained,
        partial=request.partial,
    )


def read(names: Iterable[str], data: Path, *, partial: bool) -> list[Benchmark]:
    """The benchmarks of these names; Mistake before anything is encoded."""
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in READERS:
            raise Mistake(f"unknown benchmark {name!r}; the benchmarks are: {', '.join(READERS)}")
    return [READERS[name](data, partial=partial) for name in names]


def _tasks(request: Request) -> dict[str, Task]:
    if request.probe_as not in PROBES:
        raise Mistake(f"unknown probe {request.probe_as!r}; the choices are: {', '.join(PROBES)}")
    probe = replace(PROBES[request.probe_as], shots=request.shots)

    def labelled(name: str) -> LabelledSet:
        return labelled_set(name, request.data, partial=request.partial)

    tasks: dict[str, Task] = {}
    sets = {name: labelled(name) for name in dict.fromkeys([*request.probe, *request.zero_shot])}
    _distinct(given.name for given in sets.values())
    for given in map(sets.get, dict.fromkeys(request.probe)):
        given.training()  # a set without any is a mistake to hear of now
        tasks[f"linear probe of {given.name}"] = Task(bound(linear_probe, given=given, probe=probe), given)
    if request.coco_objects:
        objects = coco_objects(request.data, partial=request.partial)
        tasks["probe of COCO's objects"] = Task(bound(multi_label_probe, given=objects), objects)
    for given in map(sets.get, dict.fromkeys(request.zero_shot)):
        if request.templates:
            given = replace(given, templates=tuple(request.templates), prompts="--template")
        tasks[f"zero-shot {given.name}"] = Task(bound(zero_shot, given=given), given)
    return tasks
