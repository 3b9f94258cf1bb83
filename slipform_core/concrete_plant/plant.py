"""The two stages as one pipeline."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slipform_core import shards
from slipform_core.concrete_plant.parts import WHOLE, Share, head, part_paths
from slipform_core.concrete_plant.pictures import PictureStage
from slipform_core.concrete_plant.texts import TextStage
from slipform_core.concreteness import Norms
from slipform_core.editors import Editor
from slipform_core.records import Caption
from slipform_core.rewriters import Rewriter
from slipform_core.sources import world


@dataclass(frozen=True)
class PlantReport:
    """What a run made: hard negatives kept, captions rejected by reason, and where they are.

    pictures: whether the kept have been through the picture stage.
    """

    kept: int
    rejected: Counter[str]
    folder: Path
    pictures: bool = True

    @property
    def read(self) -> int:
        """How many captions there were."""
        return self.kept + self.rejected.total()

    def __str__(self) -> str:
        lines = [f"{self.kept:,} hard negatives of {self.read:,} captions in {self.folder}"]
        return "\n".join(lines + [f"  {count:>9,} {why}" for why, count in self.rejected.most_common()])


class ConcretePlant:
    """The pipeline for one choice of the target word: a text stage and a picture stage.

    See `TextStage` and `PictureStage` for the settings.
    """

    def __init__(
        self,
        *,
        norms: Norms,
        choose: str,
        rewriter: Rewriter,
        editor: Editor,
        picture: Callable[[Caption], np.ndarray] = world.picture,
        top_k: int = 3,
        attempts: int = 8,
        seed: int = 0,
        batch: int = 1,
        side: int | None = None,
        quality: int | None = None,
    ):
        self.texts = TextStage(
            norms=norms, choose=choose, rewriter=rewriter, top_k=top_k, attempts=attempts, seed=seed
        )
        self.pictures = PictureStage(editor=editor, picture=picture, batch=batch, side=side, quality=quality)

    def run(
        self, captions: Iterable[Caption], *, out: Path, shard_captions: int = 1000, share: Share = WHOLE
    ) -> PlantReport:
        """Make the hard negatives of all captions, `shard_captions` a shard; what stands is kept."""
        self.texts.run(captions, out, shard_captions, share)
        self.pictures.run(out, share)
        return report(out)


def report(out: Path) -> PlantReport:
    """What both stages made in a folder, as its manifest says."""
    made = shards.read_manifest(out)
    return PlantReport(sum(shard.records for shard in made), shards.rejections(made), out)


def texts_report(out: Path) -> PlantReport:
    """What the text stage made in a folder."""
    kept, rejected = 0, Counter()
    for path in part_paths(out).values():
        part = head(path)
        rejected += Counter(part["rejected"])
        kept += part["captions"] - sum(part["rejected"].values())
    return PlantReport(kept, rejected, out, pictures=False)
