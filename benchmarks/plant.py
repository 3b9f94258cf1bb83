"""The stages of `slipform plant` with the light tools: captions a second of each.

`OMP_NUM_THREADS=1 python benchmarks/plant.py --source ../shared/data/flickr8k --limit 3000`.
"""

import argparse
import tempfile
from itertools import islice
from pathlib import Path
from time import perf_counter

from report import publish, ratio

from slipform_core.concrete_plant.parts import Dropped
from slipform_core.concrete_plant.texts import TextStage
from slipform_core.concreteness import extract_keywords_batch
from slipform_core.config import Experiment, load, load_recipe
from slipform_core.planting import Planting
from slipform_core.sources import PhotoSource, WorldSource, photos, write_photos


def made_up(folder: Path) -> Path:
    """Pictures of the embedded world as files, with their captions."""
    experiment: Experiment = load("mini")
    return write_photos(WorldSource(experiment), "train", 400, folder)


def measure(source: PhotoSource, limit: int, rounds: int) -> dict:
    recipe = load_recipe("photo")
    captions = list(islice(source.captions(), limit))
    texts = [caption.text for caption in captions]
    seconds: dict[str, list[float]] = {"keywords": [], "text stage": [], "picture stage": []}
    with tempfile.TemporaryDirectory() as folder:
        planting = Planting(recipe, source, Path(folder))
        stage: TextStage = planting.texts(planting.rewriter())
        pictures = planting.pictures()
        stage.part(captions[:100]), extract_keywords_batch(texts[:100], planting.norms)
        for index in range(rounds):
            block, said = captions[index::rounds], texts[index::rounds]
            start = perf_counter()
            extract_keywords_batch(said, planting.norms)
            middle = perf_counter()
            part = stage.part(block)
            end = perf_counter()
            for _ in pictures.samples(part.kept, Dropped()):
                pass
            last = perf_counter()
            for name, took in zip(seconds, (middle - start, end - middle, last - end), strict=True):
                seconds[name].append(took)
    return {
        "captions": len(captions),
        **{f"captions a second, {name}": round(len(captions) / sum(took)) for name, took in seconds.items()},
        "text stage over its keywords": ratio(seconds["text stage"], seconds["keywords"]),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--source", type=Path, help="captions with pictures; else some of the embedded world")
    parser.add_argument("--limit", type=int, default=1500, help="captions at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a results file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        publish(
            measure(photos(options.source or made_up(Path(made))), options.limit, options.rounds), options.out
        )
