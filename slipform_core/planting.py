"""Hard negatives of photographs by a recipe: its parts put together, run, and looked at before they run."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from slipform_core import hub, results
from slipform_core.concrete_plant import PictureStage, PlantReport, TextStage, report, texts_report
from slipform_core.concrete_plant.parts import WHOLE, Share
from slipform_core.concreteness import Norms, extract_keywords_batch
from slipform_core.config import Recipe, fingerprint
from slipform_core.editors import Editor
from slipform_core.files import write_text
from slipform_core.mistakes import Mistake
from slipform_core.records import Caption
from slipform_core.rewriters import Rewriter, SwapWords
from slipform_core.sources import BadPicture, PhotoSource
from slipform_core.stages import code

STAGES = ("text", "pictures")
CAPTIONS, PICTURES = 2000, 50  # that a dry run looks at
INDEX, RECIPE = "index", "recipe.json"
SPEED = ("device", "batch", "compile")  # settings that change no record, or only by rounding
NOTE = "plant"


class Planting:
    """A recipe for a source, with its parts made when a stage needs them: one large model at a time."""

    def __init__(self, recipe: Recipe, source: PhotoSource, out: Path):
        self.recipe, self.source, self.out = recipe, source, out

    @cached_property
    def norms(self) -> Norms:
        return Norms.load(self.recipe.norms)

    def run(
        self, stages: Sequence[str] = STAGES, share: Share = WHOLE, limit: int | None = None
    ) -> PlantReport:
        """Run the stages over the source's captions, the first `limit` of them; what stands is kept.

        Raises a Mistake, before any work, where another process is at work on the same share of the folder,
        where the folder is another recipe's or has more captions, and where none of the pictures is there.
        """
        if "pictures" in stages:
            self.source.check_pictures()
        self.out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.out / f".part-{share.index + 1}-of-{share.count}.lock", timeout=0)
        try:
            with lock:
                self._claim(limit)
                return self._run(stages, share, limit)
        except Timeout:
            raise Mistake(f"another process is at work on this part of {self.out}") from None

    def _run(self, stages: Sequence[str], share: Share, limit: int | None) -> PlantReport:
        if "text" in stages:
            captions = islice(self.source.captions(), limit)
            expected = min(limit or len(self.source), len(self.source))
            self.texts(self.rewriter()).run(captions, self.out, self.recipe.shard_captions, share, expected)
        if "pictures" in stages:
            self.pictures().run(self.out, share)
        return report(self.out) if "pictures" in stages else texts_report(self.out)

    def _claim(self, limit: int | None) -> None:
        """A folder is of one recipe: what took days is not lost to a changed word, nor counted under it."""
        path, mine = self.out / RECIPE, _deciding(self.recipe)
        theirs = json.loads(path.read_text()) if path.is_file() else mine
        for name, value in mine.items():
            if theirs.get(name) != value:
                raise Mistake(
                    f"{self.out} was made with {name} = {theirs.get(name)!r}, and the recipe has {value!r}: "
                    "take another --out"
                )
        made = texts_report(self.out).read
        if limit and limit < made:
            raise Mistake(f"{self.out} has {made:,} captions, more than --limit {limit}: take another --out")
        write_text(path, json.dumps(mine, indent=1))

    def texts(self, rewriter: Rewriter) -> TextStage:
        recipe = self.recipe
        return TextStage(
            norms=self.norms,
            choose=recipe.choose,
            rewriter=rewriter,
            top_k=recipe.top_k,
            attempts=recipe.attempts,
            seed=recipe.seed,
        )

    def pictures(self) -> PictureStage:
        recipe, editor = self.recipe, self._editor()
        side = editor.side or recipe.side

        def picture(caption: Caption) -> np.ndarray:
            return np.asarray(self.source.picture(caption.image_id, side))

        batch = recipe.editor.batch
        return PictureStage(
            editor=editor, picture=picture, batch=batch, side=recipe.side, quality=recipe.quality
        )

    def rewriter(self) -> Rewriter:
        if self.recipe.rewriter.kind == "qwen":
            return _qwen(self.recipe)
        return SwapWords() if self.recipe.choose == "swap" else self._lexical()

    def _lexical(self) -> Rewriter:
        from slipform_core.rewriters.lexical import Candidates, Fluency, LexicalRewriter, Lexicon
        from slipform_core.sentences import encoder

        settings = self.recipe.rewriter
        lexicon = Lexicon(self.source.captions, len(self.source), self.norms)
        fluency = Fluency(settings.fluency) if settings.fluency else None
        return LexicalRewriter(
            Candidates(lexicon, encoder(settings.encoder), self.source.of_picture), fluency
        )

    def _editor(self) -> Editor:
        return self._retrieve() if self.recipe.editor.kind == "retrieve" else self._sdxl_turbo()

    def _retrieve(self) -> Editor:
        from slipform_core.editors.retrieve import CaptionIndex, RetrieveEditor
        from slipform_core.sentences import encoder

        encode = encoder(self.recipe.editor.encoder)
        has = cache(self.source.has)
        captions = (caption for caption in self.source.captions() if has(caption.image_id))
        index = CaptionIndex(captions, encode, self.out / INDEX)
        return RetrieveEditor(index, encode, self.source.picture)

    def _sdxl_turbo(self) -> Editor:
        from slipform_core.editors.sdxl_turbo import SdxlTurboEditor

        settings = self.recipe.editor.model_dump(exclude={"kind", "compile"})
        return SdxlTurboEditor(**settings, compile=bool(self.recipe.editor.compile))


def _deciding(recipe: Recipe) -> dict[str, Any]:
    """The settings of a recipe that decide what is made, such as "editor.steps"."""
    settings = {}
    for name, value in recipe.model_dump(exclude={"profile"}).items():
        parts = {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {}
        settings |= parts or {name: value}
    return {name: value for name, value in settings.items() if name.rpartition(".")[2] not in SPEED}


def _qwen(recipe: Recipe) -> Rewriter:
    from slipform_core.rewriters.qwen import QwenRewriter

    return QwenRewriter(**recipe.rewriter.model_dump(exclude={"kind"}))


def check(recipe: Recipe, stages: Sequence[str] = STAGES) -> None:
    """Raise a Mistake for settings that would stop one of the stages before its first record.

    No model is loaded.
    """
    parts = {"text": recipe.rewriter, "pictures": recipe.editor}
    try:
        for part in (parts[stage] for stage in stages):
            given = part.model_dump(include={"encoder", "fluency", "vae"})
            for model in filter(None, given.values()):
                hub.check(model)
            if part.kind == "qwen":
                _qwen(recipe)
            if part.kind == "sdxl-turbo":
                from slipform_core.editors.sdxl_turbo import checks

                checks.check(**part.model_dump(include={"steps", "strength", "side", "batch", "dtype"}))
                hub.check(part.model, part.revision)
        for stage in stages:
            _check_device(getattr(parts[stage], "device", "cpu"))
    except ValueError as error:
        raise Mistake(str(error)) from None


def _check_device(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        if not torch.cuda.is_available():
            raise ValueError(
                f"device is {device!r}, and torch finds no GPU here: device=cpu is slow but works"
            )


def stages(name: str) -> Sequence[str]:
    """Which stages "all", "text" or "pictures" means."""
    if name not in ("all", *STAGES):
        raise Mistake(f"unknown stage {name!r}; the choices are: all, {', '.join(STAGES)}")
    return STAGES if name == "all" else (name,)


def share(text: str) -> Share:
    """The share that "2/8" means, the second of eight."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise Mistake(f"part {text!r} is not like 2/8: which of how many, from 1 on")
    return Share(int(found[1]) - 1, int(found[2]))


def note(planting: Planting, report: PlantReport, *, source: str, command: str, seconds: float) -> None:
    """Write plant.json, a results file, into a run's folder: what it read and made, and how."""
    recipe = planting.recipe.model_dump()
    made = results.provenance(
        command=command,
        config=recipe | {"source": source},
        fingerprint=fingerprint(recipe),
        code=code("slipform_core.planting"),
        seconds=seconds,
    )
    values = {
        "captions": report.read,
        "pictures": planting.source.pictures,
        "faults of the source": dict(planting.source.faults),
        "kept": report.kept,
        "rejected": dict(report.rejected.most_common()),
    }
    results.write(planting.out, results.Result(NOTE, planting.recipe.profile, values, made))


@dataclass(frozen=True)
class Outlook:
    """What a dry run saw: of so many captions, their mean concreteness, how many have a word to change by its
    role, and what is wrong with the pictures that it opened."""

    captions: int
    concreteness: float
    roles: Counter[str]
    opened: int
    faults: Counter[str]

    def __str__(self) -> str:
        roles = ", ".join(f"{count:,} {role}" for role, count in self.roles.most_common()) or "none"
        faults = ", ".join(f"{count} {fault}" for fault, count in self.faults.items()) or "none damaged"
        return (
            f"the first {self.captions:,} captions have a mean concreteness of {self.concreteness:.2f}\n"
            f"{self.roles.total():,} of them have a word to change: {roles}\n"
            f"of {self.opened} pictures: {faults}\nnothing was written"
        )


def outlook(planting: Planting) -> Outlook:
    """Look at the words of the source's first captions and at some pictures; nothing is loaded or written."""
    captions = list(islice(planting.source.captions(), CAPTIONS))
    keywords = extract_keywords_batch([caption.text for caption in captions], planting.norms)
    stage = planting.texts(SwapWords())  # a rewriter is not asked
    targets = (stage.target(*pair, attempt=0) for pair in zip(captions, keywords, strict=True))
    roles = Counter(target.role for target in targets if target)
    faults: Counter[str] = Counter()
    images = list(dict.fromkeys(caption.image_id for caption in captions))[:PICTURES]
    for image_id in images:
        try:
            planting.source.picture(image_id, planting.recipe.side)
        except BadPicture as bad:
            faults[str(bad)] += 1
    average = float(np.nanmean([planting.norms.average(caption.text) for caption in captions]))
    return Outlook(len(captions), average, roles, len(images), faults)
