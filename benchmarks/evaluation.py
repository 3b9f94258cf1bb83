"""SugarCrepe by `slipform eval`, against the loop over items that published scripts have; its texts alone.

The loop encodes each item's picture and its two captions, one at a time at all 77 tokens; its time is that of
a sample of items, times their number. Ours encodes every text of the list once, and a sample of the pictures;
the others are extrapolated. Rounds take turns, on one thread:
`OMP_NUM_THREADS=1 python benchmarks/evaluation.py --data data`.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

import torch
from PIL import Image
from report import publish, ratio

from slipform_core.benchmarks import Benchmark, Photo
from slipform_core.benchmarks.sugarcrepe import sugarcrepe, sugarcrepe_pp, val2017
from slipform_core.evaluation import Encoder
from slipform_core.evaluation.blind import HALF, STRICT, blind
from slipform_core.models import Clip, open_checkpoint
from slipform_core.sources import photographs

ITEMS, PICTURES, BATCH = 20, 24, 64  # of a round; at a time


def loop(clip: Clip, rows: Sequence[tuple[str, str, str]]) -> None:
    """Pictures and their two captions, as the scripts take them."""
    with torch.no_grad():
        for place, *captions in rows:
            picture = clip.transform(Image.open(place).convert("RGB"))[None]
            features = [clip.model.encode_image(picture, normalize=True)]
            features += [clip.model.encode_text(clip.tokenize([text]), normalize=True) for text in captions]
            bool(features[0] @ features[1].T > features[0] @ features[2].T)


def measure(clip: Clip, whole: Benchmark, photos: Sequence[Photo], rounds: int) -> dict:
    items = [
        tuple(whole.texts[caption] for caption in captions)
        for subset in whole.subsets.values()
        for captions in subset.captions
    ]
    pictures, encoder = len(whole.pictures), Encoder(clip, batch=BATCH)
    loop(clip, [(photos[0].place, *items[0])])
    encoder.pictures(photos[:1]), encoder.texts(["warm"])
    seconds: dict[str, list[float]] = {"loop": [], "ours": []}
    step = len(items) // (rounds * ITEMS)
    for index in range(rounds):
        sample = items[index * step * ITEMS :: step][:ITEMS]
        shown = photos[1 + index * PICTURES :][:PICTURES]
        start = perf_counter()
        loop(clip, [(photo.place, *texts) for photo, texts in zip(shown, sample, strict=False)])
        middle = perf_counter()
        encoder.pictures(shown)
        between = perf_counter()
        encoder.texts(whole.texts[index::rounds])
        end = perf_counter()
        seconds["loop"].append((middle - start) * len(items) / ITEMS)
        seconds["ours"].append((between - middle) * pictures / len(shown) + (end - between) * rounds)
    return {
        "items": len(items),
        "pictures": pictures,
        "texts": len(whole.texts),
        "items of the loop that were run": rounds * ITEMS,
        "pictures that were encoded": rounds * PICTURES,
        "texts that were encoded": len(whole.texts),
        "minutes, loop": round(sum(seconds["loop"]) / rounds / 60, 1),
        "minutes, ours": round(sum(seconds["ours"]) / rounds / 60, 1),
        "faster": ratio(seconds["loop"], seconds["ours"]),
    }


def texts_alone(benchmarks: Mapping[str, Benchmark]) -> dict[str, dict[str, tuple[float, float]]]:
    """Of each benchmark the baselines' shares of all items: strictly, and with ties at half."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for name, benchmark in benchmarks.items():
        pooled = (each for each in blind(benchmark) if each.subset == "micro")
        means = {each.metric.partition(", ")[2]: each.value for each in pooled}
        rules = dict.fromkeys(rule.rpartition(", ")[0] for rule in means)
        found[name] = {rule: (means[f"{rule}, {STRICT}"], means[f"{rule}, {HALF}"]) for rule in rules}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="SugarCrepe's texts, some pictures")
    parser.add_argument("--model", default="ViT-B-32", help="as of slipform eval")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--out", type=Path, help="a results file")
    options = parser.parse_args()
    there = [Photo(str(path)) for path in sorted(val2017(options.data).glob("*.jpg"))]
    photographs.exists = lambda place: True  # the texts of all items are wanted, whatever pictures are here
    whole = sugarcrepe(options.data)
    values = measure(open_checkpoint(options.model), whole, there, options.rounds)
    texts = {"SugarCrepe": whole, "SugarCrepe++ ITT": sugarcrepe_pp(options.data)}
    publish(values | {"blind": texts_alone(texts)}, options.out)
