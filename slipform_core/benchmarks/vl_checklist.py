"""VL-CheckList: objects, attributes and relations, each with the texts of a picture and false ones."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from slipform_core.benchmarks.collect import Collector, entries, fields
from slipform_core.benchmarks.items import Benchmark
from slipform_core.benchmarks.pictures import SWIG, VISUAL_GENOME, Pictures
from slipform_core.mistakes import Mistake
from slipform_core.sources.places import first

FETCH = "it is at https://github.com/om-ai-lab/VL-CheckList"
ASPECTS = {"Object": 3, "Attribute": 2, "Relation": 2}  # parts of the path that name an aspect of a kind
PROTOCOL = (
    'VL-CheckList (arXiv 2207.00221), its "itc": right iff the picture\'s cosine with the first true text is '
    "strictly greater than with the first false one; all items, where the configurations of the authors and "
    "of others who report it take the first 1,000 of a corpus. As theirs, the mean of a kind is that of its "
    "aspects, of an aspect that of its data sets, of a data set that of its files"
)


def vl_checklist(data: Path, *, partial: bool = False) -> Benchmark:
    """A subset by its path for each corpus/**/*.yaml, of [[picture, {"POS": [text], "NEG": [text]}]]."""
    folder = first(data, ("vl_checklist", "vl-checklist", "VL-CheckList"), FETCH)
    corpus = first(folder, ("corpus/v1", "corpus"), FETCH)
    collect, subsets = Collector("vl_checklist", keep=True), []
    for config in sorted(corpus.rglob("*.yaml")):
        subsets.append(subset := "_".join(config.relative_to(corpus).with_suffix("").parts))
        path, root = _said(config, folder)
        # Names start with a folder of Visual Genome or of SWiG; that of HAKE has several.
        flat = {"vg": VISUAL_GENOME, "swig": SWIG}.get(root.name)
        pictures = Pictures(data, flat or (str(root), f"{folder.name}/{root}"))
        for number, item in entries(path):
            name, texts = _pair(path, number, item)
            if flat and isinstance(name, str):
                name = name.rpartition("/")[2]
            collect.add(subset, [pictures.photo(path, number, name)], texts, rule="choice")
    return collect.benchmark(protocol=PROTOCOL, partial=partial, groups=_groups(subsets))


def _groups(subsets: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What a kind, an aspect and a data set is the mean of, kinds first."""
    groups: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for subset in subsets:
        parts = subset.split("_")
        if aspect := ASPECTS.get(parts[0]):
            # Of one file, data set and subset are one.
            path = ["_".join(parts[:length]) for length in (1, aspect, aspect + 1, len(parts))]
            for group, member in pairwise(dict.fromkeys(path)):
                groups[group][member] = None
    return {group: tuple(groups[group]) for group in sorted(groups, key=lambda group: group.count("_"))}


def _said(config: Path, folder: Path) -> tuple[Path, Path]:
    """The file and the folder of pictures that a corpus names, the file by its path from "data/" on."""
    try:
        tree = yaml.safe_load(config.read_bytes())
    except yaml.YAMLError as error:
        raise Mistake(f"{config} is no YAML: {' '.join(str(error).split())}") from None
    file, root = map(str, fields(config, "of the file", tree, ("ANNO_PATH", "IMG_ROOT")))
    return first(folder, (f"data/{file.rpartition('data/')[2]}",), FETCH), Path(root)


def _pair(path: Path, number: Any, item: Any) -> tuple[Any, list[Any]]:
    """The picture's name, its first true text and its first false one, None where there is none."""
    if not isinstance(item, list) or len(item) != 2:
        raise Mistake(f'{path}: item {number} is not [picture, {{"POS": [...], "NEG": [...]}}]')
    texts = fields(path, number, item[1], ("POS", "NEG"))
    return item[0], [given[0] if isinstance(given, list) and given else None for given in texts]
