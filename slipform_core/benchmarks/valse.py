"""VALSE: captions and foils by linguistic phenomenon, those that annotators found valid."""

from pathlib import Path

from slipform_core.benchmarks.collect import Collector, entries, fields
from slipform_core.benchmarks.items import Benchmark
from slipform_core.benchmarks.pictures import SWIG, VISDIAL, VISUAL7W, Pictures, coco
from slipform_core.mistakes import Mistake
from slipform_core.sources.places import first

PIECES = (
    "existence",
    "plurals",
    "counting-hard",
    "counting-small-quant",
    "counting-adversarial",
    "relations",
    "action-replacement",
    "actant-swap",
    "coreference-standard",
    "coreference-hard",
    "foil-it",
)
GROUPS = {
    kind: tuple(piece for piece in PIECES if piece.startswith(start))
    for kind, start in (("counting", "counting-"), ("actions", "act"), ("coreference", "coreference-"))
}
VALID = 2  # of three annotators, who chose the caption and not the foil
# The names of these collections are apart, so that a name is enough to find a picture.
FOLDERS = (*coco("val2017", "train2017", "val2014", "train2014"), *VISUAL7W, *SWIG, *VISDIAL)
FETCH = "it is at https://github.com/Heidelberg-NLP/VALSE"
PROTOCOL = (
    "VALSE (arXiv 2112.07566): the pairwise ranking accuracy acc_r, right iff the picture's cosine with the "
    "caption is strictly greater than with the foil; only items of which at least two of three annotators "
    "chose the caption and not the foil"
)


def valse(data: Path, *, partial: bool = False) -> Benchmark:
    """A subset for each piece, of {id: {image_file, caption, foil, mturk: {caption: votes}}}.

    How many valid items a piece has is not asserted.
    """
    folder = first(data, ("valse", "VALSE"), FETCH)
    pictures, collect = Pictures(data, FOLDERS), Collector("valse")
    for piece in PIECES:
        path = first(folder, (f"{piece}.json", f"data/{piece}.json"), FETCH)
        for key, item in entries(path):
            name, *captions, votes = fields(path, key, item, ("image_file", "caption", "foil", "mturk"))
            (chosen,) = fields(path, f"{key}, mturk", votes, ("caption",))
            if not isinstance(chosen, int):
                raise Mistake(f"{path}: item {key}, mturk has {chosen!r} votes for the caption")
            if chosen >= VALID:
                collect.add(piece, [pictures.photo(path, key, name)], captions, rule="choice")
    return collect.benchmark(protocol=PROTOCOL, partial=partial, groups=GROUPS)
