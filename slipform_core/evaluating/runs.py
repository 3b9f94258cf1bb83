"""`slipform eval`: models over benchmarks, each result with its protocol, and how it was made."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np

from slipform_core import outcomes, results
from slipform_core.benchmarks import Benchmark, without
from slipform_core.classification import Classified, LabelledSet, MultiLabelSet
from slipform_core.config import fingerprint
from slipform_core.evaluation import Encoder, Evaluation, score
from slipform_core.evaluation.averages import Right, averages, differences, differences_of_pictures
from slipform_core.evaluation.blind import BLIND, Baseline, blind
from slipform_core.evaluation.chance import chance_warning
from slipform_core.evaluation.encoding import UnreadablePictures
from slipform_core.evaluation.leaks import Leaks, find_leaks, read_trained
from slipform_core.evaluation.lens import Changed, changes, lens
from slipform_core.metrics import macro_of
from slipform_core.mistakes import BadPicture, Mistake
from slipform_core.models import Clip, activation
from slipform_core.records import Score
from slipform_core.stages import code

SEED = 0  # of the bootstrap

UNREADABLE = "picture that cannot be read"


class Task(NamedTuple):
    """A classifier of an encoder's features, and the set that it is tested on."""

    run: Callable[[Encoder], Classified]
    given: LabelledSet | MultiLabelSet


class _Found(NamedTuple):
    """What a model has right, by benchmark and by task."""

    evaluations: dict[str, Evaluation]
    classified: dict[str, Right]


@dataclass(frozen=True)
class Asked:
    """What models are scored on, and beside their scores.

    tasks: classifiers of an encoder's features, by name. baselines: that see no picture. trained:
    ConcreteBatch folders, whose pictures should not be tested on. partial: whether items of pictures that
    cannot be read are left out. features: the folder where what was encoded is kept.
    """

    benchmarks: Sequence[Benchmark] = ()
    tasks: Mapping[str, Task] = field(default_factory=dict)
    batch: int = 64
    features: Path | None = None
    baselines: Mapping[str, Baseline] = field(default_factory=lambda: BLIND)
    trained: Sequence[Path] = ()
    partial: bool = False

    @cached_property
    def blind(self) -> dict[str, list[Score]]:
        """The scores of the baselines by benchmark."""
        return {benchmark.name: blind(benchmark, self.baselines) for benchmark in self.benchmarks}

    @cached_property
    def leaks(self) -> dict[str, Leaks]:
        """By benchmark and task, which of its pictures were trained on."""
        if not self.trained:
            return {}
        trained = read_trained(self.trained)
        tested = {id(task.given.test): task.given.test for task in self.tasks.values()}
        of_sets = {key: find_leaks(trained, (shown for shown, _ in pairs)) for key, pairs in tested.items()}
        of_benchmarks = {each.name: find_leaks(trained, each.pictures) for each in self.benchmarks}
        return of_benchmarks | {name: of_sets[id(task.given.test)] for name, task in self.tasks.items()}

    @cached_property
    def changes(self) -> dict[str, dict[str, Changed]]:
        """What the items of each benchmark change."""
        return {each.name: changes(each) for each in self.benchmarks}


def evaluate_models(
    models: Mapping[str, Callable[[], Clip]],
    asked: Asked,
    *,
    out: Path,
    command: str,
    config: Mapping[str, Any],
) -> Iterator[results.Result]:
    """Score models one after the other; each has its results file in `out` before the next is loaded.

    models: by name, what loads each. config: how, for the file. From the second model on, each is also
    compared with the first, on the same items. UnreadablePictures where pictures cannot be read, unless the
    first model's are left out.
    """
    base: _Found | None = None
    for name, load in models.items():
        started = time.monotonic()
        encoder = Encoder(load(), folder=asked.features, batch=asked.batch)
        # Probes first: features before the projection bring those after it, which others may ask for.
        classified = _classify(name, encoder, asked)
        asked = _readable(encoder, asked, narrow=asked.partial and base is None)
        values, found = _evaluate(name, encoder, asked, classified)
        del encoder  # and its model, before the next is loaded
        if base:
            values["differences"] = {"to": next(iter(models))} | _differences(asked, found, base)
        base = base or found
        made = results.provenance(
            command=command,
            config=dict(config),
            fingerprint=fingerprint(dict(config), values["model"]["fingerprint"]),
            code=code("slipform_core.evaluating"),
            seconds=time.monotonic() - started,
        )
        result = results.Result(name, "eval", values, made)
        results.write(out, result)
        yield result


def _differences(asked: Asked, found: _Found, base: _Found) -> dict[str, Any]:
    of_benchmarks = {
        each.name: differences(each, found.evaluations[each.name], base.evaluations[each.name], _rng())
        for each in asked.benchmarks
    }
    of_tasks = {
        name: {
            task.given.name: differences_of_pictures(found.classified[name], base.classified[name], _rng())
        }
        for name, task in asked.tasks.items()
    }
    return plain(of_benchmarks | of_tasks)


def _classify(name: str, encoder: Encoder, asked: Asked) -> dict[str, Classified]:
    found = {}
    for said, task in asked.tasks.items():
        with _numbers(name, said):
            found[said] = task.run(encoder)
    return found


def _readable(encoder: Encoder, asked: Asked, *, narrow: bool) -> Asked:
    """Encodes all pictures; where some cannot be read, without their items where `narrow`."""
    why: dict[str, str] = {}
    for benchmark in asked.benchmarks:
        try:
            encoder.pictures(benchmark.pictures)
        except UnreadablePictures as some:
            why |= some.why
    if not why:
        return asked
    if not narrow:
        raise UnreadablePictures(why)
    try:
        rest = [without(each, why, UNREADABLE) for each in asked.benchmarks]
    except Mistake as nothing:
        raise Mistake(f"{nothing}; {UnreadablePictures(why)}") from None
    return replace(asked, benchmarks=rest)


def _evaluate(
    name: str, encoder: Encoder, asked: Asked, classified: Mapping[str, Classified]
) -> tuple[dict[str, Any], _Found]:
    clip, found = encoder.clip, {}
    scored = {said: _classified(made, asked.leaks.get(said)) for said, made in classified.items()}
    for benchmark in asked.benchmarks:
        images, texts = encoder.pictures(benchmark.pictures), encoder.texts(benchmark.texts)
        with _numbers(name, benchmark.name):
            found[benchmark.name] = evaluation = score(benchmark, images, texts)
        described = _described(benchmark, evaluation, asked)
        scored[benchmark.name] = described | {"cut": _cut(encoder, benchmark.texts)}
    about = {
        "fingerprint": encoder.fingerprint,
        "activation": activation(clip.model),
        "precision": str(clip.model.logit_scale.dtype).removeprefix("torch."),
        "pixels": f"RGB as the file stores it; {' '.join(str(clip.transform).split())}",
        "weights": sum(weights.numel() for weights in clip.model.parameters()),
        "encoded now": dict(encoder.encoded),
    }
    means = {
        f"{each.benchmark}/{each.subset}/{each.metric}": each.value
        for evaluation in found.values()
        for each in evaluation.scores
    }
    values = {"model": about, "macro": macro_of(means), "benchmarks": scored}
    return values, _Found(found, {said: made.outcomes for said, made in classified.items()})


def _cut(encoder: Encoder, texts: Sequence[str]) -> str | None:
    """What to say of texts that the model does not read to their end."""
    if not (found := encoder.cut(texts)):
        return None
    counted = f"{len(found):,} of {len(texts):,} texts are cut, of more than {encoder.context} tokens"
    return f"{counted}, such as {shorten(found[0], 60)!r}"


@contextmanager
def _numbers(model: str, of: str) -> Iterator[None]:
    """Makes NaN, which scores refuse, a Mistake that names the model."""
    try:
        yield
    except (Mistake, BadPicture):
        raise
    except ValueError as error:
        raise Mistake(f"model {model}: {of}: {' '.join(str(error).split())[:400]}") from None


def _classified(made: Classified, leaks: Leaks | None) -> dict[str, Any]:
    first = made.scores[0]
    return {
        "protocol": made.protocol,
        "leaks": str(leaks) if leaks else None,
        "scores": _by_subset(made.scores),
        "averages": {},
        "blind": {},
        "right": outcomes.pack_all({f"{first.benchmark}/{first.subset}": made.outcomes}),
    }


def _described(benchmark: Benchmark, evaluation: Evaluation, asked: Asked) -> dict[str, Any]:
    leaks = asked.leaks.get(benchmark.name)
    return {
        "protocol": benchmark.protocol,
        "pictures": len(benchmark.pictures),
        "texts": len(benchmark.texts),
        "items": {key.partition("/")[2]: len(items) for key, items in benchmark.subsets.items()},
        "left out": dict(benchmark.left_out),
        "warnings": chance_warning(evaluation.scores, benchmark.subsets),
        "leaks": str(leaks) if leaks else None,
        "scores": _by_subset(evaluation.scores),
        "averages": plain(averages(benchmark, evaluation, _rng())) if benchmark.subsets else {},
        "blind": _by_subset(asked.blind[benchmark.name]),
        "lens": plain(lens(benchmark, evaluation.outcomes, asked.changes[benchmark.name], seed=SEED)),
        "right": outcomes.pack_all(evaluation.outcomes),
    }


def _by_subset(scores: Iterable[Score]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for each in scores:
        numbers = {"value": each.value, "stderr": each.stderr, "count": each.count}
        found.setdefault(each.subset, {})[each.metric] = numbers
    return plain(found)


def _rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def plain(tree: Any) -> Any:
    """Plain values: an undefined number as None, a path as its text."""
    if isinstance(tree, Path):
        return str(tree)
    if hasattr(tree, "_asdict"):
        tree = tree._asdict()
    if isinstance(tree, Mapping):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [plain(value) for value in tree]
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree
