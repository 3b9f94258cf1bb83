"""Readers of published benchmarks against small files of each format, and SugarCrepe's own."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from reader_files import pictures, rules, shown, write
from real_data import DATA, needs_data

from slipform_core.benchmarks import READERS
from slipform_core.benchmarks.aro import SYMMETRIC
from slipform_core.benchmarks.collect import Collector
from slipform_core.benchmarks.items import Benchmark, Photo
from slipform_core.benchmarks.valse import PIECES
from slipform_core.benchmarks.vl_checklist import _groups as groups
from slipform_core.evaluation.averages import named_averages
from slipform_core.metrics import counts_for_macro, macro_of
from slipform_core.mistakes import Mistake
from slipform_core.sources import photographs


@needs_data
def test_sugarcrepe_is_read_in_part_where_pictures_are_missing_and_refused_else() -> None:
    for name, count in (("sugarcrepe", 426), ("scpp", 279)):
        read = READERS[name](DATA, partial=True)
        assert sum(map(len, read.subsets.values())) == count
        assert {Path(photo.place).parent.name for photo in read.pictures} == {"val2017"}
        assert all(Path(photo.place).is_file() for photo in read.pictures)
        with pytest.raises(Mistake, match=r"items: missing picture; the first would be .*\.jpg; --partial"):
            READERS[name](DATA)


@needs_data
def test_sugarcrepe_has_as_many_distinct_texts_and_pictures_as_counted_by_hand(monkeypatch) -> None:
    monkeypatch.setattr(photographs, "exists", lambda place: True)
    one, other = READERS["sugarcrepe"](DATA), READERS["scpp"](DATA)
    assert (len(one.texts), len(one.pictures)) == (11_844, 1_560)
    assert len({*one.texts, *other.texts}) == 18_372
    assert len({*one.pictures, *other.pictures}) == 1_560
    assert not one.left_out and not other.left_out
    path = DATA / "sugarcrepe/swap_obj.json"
    by_hand = [
        ((item["filename"],), (item["caption"], item["negative_caption"]))
        for item in json.loads(path.read_text()).values()
    ]
    read = shown(one)["swap_obj"]
    assert [((Path(place).name,), texts) for ((place,), texts) in read] == by_hand


def winoground(data: Path, count: int = 400) -> list[dict]:
    pictures(data / "winoground/images", "ex_0_img_0.png", "ex_0_img_1.png")
    items = [
        {"id": n, "image_0": "ex_0_img_0", "image_1": "ex_0_img_1", "tag": "Object"}
        | {"caption_0": f"{n} on a dog", "caption_1": f"a dog on {n}"}
        for n in range(count)
    ]
    write(data / "winoground/examples.jsonl", items)
    return items


def test_winoground_is_one_subset_of_two_pictures_and_two_captions(tmp_path) -> None:
    items = winoground(tmp_path)
    read = READERS["winoground"](tmp_path)
    places = tuple(str(tmp_path / f"winoground/images/ex_0_img_{n}.png") for n in (0, 1))
    assert shown(read) == {"all": [(places, (item["caption_0"], item["caption_1"])) for item in items]}
    assert rules(read) == {"winoground"}
    assert "image" in read.protocol and not read.left_out


def test_winoground_is_read_as_the_hub_lays_it_out(tmp_path) -> None:
    winoground(tmp_path)
    folder = tmp_path / "winoground"
    (folder / "data/images").mkdir(parents=True)
    (folder / "examples.jsonl").rename(folder / "data/examples.jsonl")
    (folder / "images").rename(folder / "data/images/images")
    read = READERS["winoground"](tmp_path)
    assert read.pictures[0].place == str(folder / "data/images/images/ex_0_img_0.png")


def test_another_number_of_items_is_refused_unless_partial(tmp_path) -> None:
    winoground(tmp_path, count=399)
    with pytest.raises(Mistake, match="all has 399 items, published 400; --partial"):
        READERS["winoground"](tmp_path)
    assert len(READERS["winoground"](tmp_path, partial=True).subsets["winoground/all"]) == 399


def test_winoground_counts_in_the_macro_average_as_the_worlds_does() -> None:
    scores = {f"sugarcrepe/{kind}/i2t": 0.6 for kind in ("add_obj", "swap_att")}
    scores |= {"scpp/swap_obj/itt": 0.2, "scpp/swap_obj/tot": 0.4}
    scores |= {"winoground/all/text": 0.1, "winoground/all/image": 0.2, "winoground/all/group": 0.3}
    assert macro_of(scores) == pytest.approx((0.6 + 0.3 + 0.2) / 3)
    assert counts_for_macro("winoground/all/text") and counts_for_macro("winoground/swap_obj/text")
    assert not counts_for_macro("sugarcrepe/all/i2t")


def relation(image: str, name: str, one: str, other: str, box=(1, 2, 30, 20)) -> dict:
    item = {"image_id": 1, "image_path": image, "relation_name": name}
    item |= dict(zip(("bbox_x", "bbox_y", "bbox_w", "bbox_h"), box, strict=True))
    said = "the {} is {} the {}"
    return item | {
        "true_caption": said.format(one, name, other),
        "false_caption": said.format(other, name, one),
    }


RELATIONS = [
    relation("1.jpg", "to the left of", "dog", "cat"),
    relation("1.jpg", "near", "dog", "cat"),
    relation("2.jpg", "on", "dog", "mat", box=(0, 0, 40, 40)),
    relation("1.jpg", "near", "cat", "dog"),  # says the opposite of the second
    relation("1.jpg", "to the left of", "dog", "cat"),
    relation("1.jpg", "on", "cat", "mat", box=(5, 5, 6, 7)),
]


def test_a_relation_is_a_subset_and_the_symmetric_ones_are_others(tmp_path) -> None:
    write(tmp_path / "aro/visual_genome_relation.json", RELATIONS)
    pictures(tmp_path / "aro/images", "1.jpg", "2.jpg")
    with pytest.raises(Mistake, match="aro_relation: it has 6 items, published 23,937"):
        READERS["aro_relation"](tmp_path)
    read = READERS["aro_relation"](tmp_path, partial=True)
    one, two = (str(tmp_path / f"aro/images/{n}.jpg") for n in (1, 2))
    box = (1, 2, 31, 22)
    left = (((one, box),), ("the dog is to the left of the cat", "the cat is to the left of the dog"))
    near = ("the dog is near the cat", "the cat is near the dog")
    assert shown(read) == {
        "to_the_left_of": [left, left],
        "others": [(((one, box),), near), (((one, box),), near[::-1])],
        "on": [
            (((two, (0, 0, 40, 40)),), ("the dog is on the mat", "the mat is on the dog")),
            (((one, (5, 5, 11, 12)),), ("the cat is on the mat", "the mat is on the cat")),
        ],
    }
    assert rules(read) == {"choice"} and not read.left_out
    assert read.groups == {"authors_macro": ("on", "to_the_left_of")}
    assert "2 items say the opposite of another" in read.protocol
    # the two boxes of a picture are drawn together
    assert read.subsets["aro_relation/on"].clusters.tolist() == [1, 0]
    assert read.subsets["aro_relation/others"].clusters.tolist() == [0, 0]


def test_the_symmetric_relations_are_those_of_the_notebook() -> None:
    """By the hash of the notebook's list, one a line."""
    names = [name for line in SYMMETRIC.read_text().splitlines() for name in line.split(", ")]
    assert len(names) == 157
    found = hashlib.sha256("\n".join(names).encode()).hexdigest()
    assert found == "f4653c4618cdad79ba6728aee32ac7e0b19832b507228f7c97991d86b1ccd74c"


def test_a_pair_of_attributes_counts_from_25_items_on(tmp_path) -> None:
    def item(one: str, other: str, number: int) -> dict:
        said = relation("1.jpg", "and", f"{one} {number}", other)
        del said["relation_name"]
        return said | {"attributes": [one, other]}

    pairs = [("light blue", "wet", 25), ("wet", "light blue", 24), ("red", "old", 26)]
    items = [item(one, other, n) for one, other, count in pairs for n in range(count)]
    write(tmp_path / "aro/visual_genome_attribution.json", items)
    pictures(tmp_path / "aro/images", "1.jpg")
    read = READERS["aro_attribution"](tmp_path, partial=True)
    counted = {key: len(items) for key, items in read.subsets.items()}
    assert counted == {
        "aro_attribution/light_blue-wet": 25,
        "aro_attribution/others": 24,
        "aro_attribution/red-old": 26,
    }
    assert read.groups == {"authors_macro": ("light_blue-wet", "red-old")}
    with pytest.raises(Mistake, match="it has 75 items, published 28,748"):
        READERS["aro_attribution"](tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bbox_w": 0}, r"item 0 has the box \[1, 2, 0, 20\], expected x, y"),
        ({"bbox_x": 1.5}, r"item 0 has the box \[1.5, 2, 30, 20\]"),
        ({"relation_name": None}, "item 0 has None where a relation or a pair"),
        ({"image_path": ""}, "item 0 has '' where the name of a picture is expected"),
    ],
)
def test_a_faulty_item_of_aro_is_named(change, says, tmp_path) -> None:
    write(tmp_path / "aro/visual_genome_relation.json", [RELATIONS[0] | change])
    with pytest.raises(Mistake, match=f"visual_genome_relation.json: {says}"):
        READERS["aro_relation"](tmp_path, partial=True)


def foil(image: str, votes: int, caption="a dog", foil="a cat") -> dict:
    mturk = {"foil": 3 - votes, "caption": votes, "other": 0}
    return {"image_file": image, "caption": caption, "foil": foil, "dataset": "COCO", "mturk": mturk}


PLACES = {
    "existence": "visual7w/images/v7w_1.jpg",
    "plurals": "coco/val2017/000000000001.jpg",
    "counting-hard": "visual7w/images/v7w_2.jpg",
    "counting-small-quant": "visual7w/images/v7w_1.jpg",
    "counting-adversarial": "visual7w/images/v7w_2.jpg",
    "relations": "coco/val2017/000000000001.jpg",
    "action-replacement": "swig/images_512/exercising_255.jpg",
    "actant-swap": "swig/images_512/exercising_255.jpg",
    "coreference-standard": "coco/train2014/COCO_train2014_000000000003.jpg",
    "coreference-hard": "visdial/VisualDialog_val2018/VisualDialog_val2018_000000000004.jpg",
    "foil-it": "coco-val2014/val2014/COCO_val2014_000000000005.jpg",
}


def valse(data: Path) -> dict[str, dict]:
    """A piece each with items of 3, 2, 1 and 0 votes, pictures where each data set has them."""
    pictures(data, *PLACES.values())
    files = {}
    for piece, place in PLACES.items():
        items = {
            f"{piece}_{n}": foil(Path(place).name, n, f"{piece} {n}", f"no {piece}") for n in (3, 0, 2, 1)
        }
        files[piece] = items
        write(data / f"valse/data/{piece}.json", items)
    return files


def test_valse_has_the_items_that_two_annotators_found_valid(tmp_path) -> None:
    valse(tmp_path)
    read = READERS["valse"](tmp_path)
    assert shown(read) == {
        piece: [((str(tmp_path / place),), (f"{piece} {n}", f"no {piece}")) for n in (3, 2)]
        for piece, place in PLACES.items()
    }
    assert rules(read) == {"choice"} and not read.left_out and tuple(PLACES) == PIECES
    assert {name: len(pieces) for name, pieces in read.groups.items()} == {
        "counting": 3,
        "actions": 2,
        "coreference": 2,
    }


def test_two_items_that_contradict_each_other_are_left_out_and_counted(tmp_path) -> None:
    files = valse(tmp_path)
    name = files["relations"]["relations_3"]["image_file"]
    items = [
        foil(name, 3, "a dog", "a cat"),
        foil(name, 3, "a cat", "a dog"),
        foil(name, 3, "a pig", "a dog"),
    ]
    items.append(items[-1])
    write(tmp_path / "valse/data/relations.json", dict(enumerate(items)))
    with pytest.raises(Mistake, match="valse: 2 items: contradicted by another item; --partial"):
        READERS["valse"](tmp_path)
    read = READERS["valse"](tmp_path, partial=True)
    # what is there twice counts twice and is encoded once
    assert [texts for _, texts in shown(read)["relations"]] == 2 * [("a pig", "a dog")]
    assert read.texts.count("a pig") == 1
    assert read.left_out == Counter({"contradicted by another item": 2})


def test_missing_pictures_and_texts_are_counted_and_the_first_is_named(tmp_path) -> None:
    files = valse(tmp_path)
    items = files["foil-it"] | {"x": foil("COCO_val2014_000000000009.jpg", 3), "y": foil("z.jpg", 2)}
    items |= {"empty": foil("z.jpg", 2, caption=" "), "none": foil("z.jpg", 2, foil=None)}
    write(tmp_path / "valse/data/foil-it.json", items)
    with pytest.raises(Mistake) as caught:
        READERS["valse"](tmp_path)
    said = str(caught.value)
    assert "2 items: missing picture" in said and "2 items: no text" in said and "\n" not in said
    assert "COCO_val2014_000000000009.jpg; --partial" in said
    read = READERS["valse"](tmp_path, partial=True)
    assert read.left_out == Counter({"missing picture": 2, "no text": 2})
    assert len(read.subsets["valse/foil-it"]) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": ', "existence.json is no JSON"),
        ("3", "existence.json holds int, expected a list or an object of items"),
        ('{"a": []}', "existence.json: item a is list, expected an object"),
        ('{"a": {"image_file": "v7w_1.jpg", "foil": "b"}}', "existence.json: item a lacks caption, mturk"),
        (
            '{"a": {"image_file": "v7w_1.jpg", "foil": "b", "caption": "c", "mturk": {}}}',
            "existence.json: item a, mturk lacks caption",
        ),
        (
            '{"a": {"image_file": "v7w_1.jpg", "foil": "b", "caption": "c", "mturk": {"caption": "3"}}}',
            "existence.json: item a, mturk has '3' votes",
        ),
        (
            '{"a": {"image_file": 7, "foil": "b", "caption": "c", "mturk": {"caption": 3}}}',
            "existence.json: item a has 7 where the name of a picture is expected",
        ),
    ],
)
def test_a_malformed_file_is_one_line_that_names_file_and_item(text, says, tmp_path) -> None:
    valse(tmp_path)
    (tmp_path / "valse/data/existence.json").write_text(text)
    with pytest.raises(Mistake, match=says) as caught:
        READERS["valse"](tmp_path, partial=True)
    assert "\n" not in str(caught.value)


ADDRESS = "https://cs-people.bu.edu/array/data/vg_gqa_images/"


def test_cola_has_two_pictures_by_address_and_the_caption_of_each(tmp_path) -> None:
    items = [[f"{ADDRESS}1.jpg", f"red {n}", f"{ADDRESS}2.jpg", f"blue {n}"] for n in range(210)]
    path = write(tmp_path / "cola/data/COLA_multiobjects_matching_benchmark.json", items)
    pictures(tmp_path / "cola/images", "1.jpg", "2.jpg")
    read = READERS["cola"](tmp_path)
    places = tuple(str(tmp_path / f"cola/images/{n}.jpg") for n in (1, 2))
    assert shown(read) == {"all": [(places, (f"red {n}", f"blue {n}")) for n in range(210)]}
    assert rules(read) == {"winoground"} and "image" in read.protocol
    # an item the other way round is the same; with captions or pictures exchanged it is the opposite
    (one, red, two, blue) = items[0]
    for other, contradicted in (
        ([two, blue, one, red], 0),
        ([one, blue, two, red], 2),
        ([two, red, one, blue], 2),
    ):
        write(path, [*items, other])
        left_out = READERS["cola"](tmp_path, partial=True).left_out
        assert left_out == +Counter({"contradicted by another item": contradicted})
    write(path, items[:209] + [items[209][:3]])
    with pytest.raises(
        Mistake, match=r"benchmark.json: item 209 is not \[picture, caption, picture, caption\]"
    ):
        READERS["cola"](tmp_path)


def corpus(data: Path, name: str, file: str, root: str, items: list) -> None:
    path = data / f"vl_checklist/corpus/v1/{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'ANNO_PATH: "vl-checklist/data/{file}"\nIMG_ROOT: "{root}"\nTYPE: "TUPLE_JSON"')
    write(data / f"vl_checklist/data/{file}", items)


def checklist(data: Path) -> None:
    def item(place: str, true: str, false: str, *more: str) -> list:
        return [place, {"POS": [true, *more], "NEG": [false, "never read"]}]

    colours = [
        item("VG_100K/1.jpg", "white shirt", "black shirt", "clean shirt"),
        item("VG_100K/1.jpg", "black shirt", "white shirt"),
        item("VG_100K_2/2.jpg", "red bus", "blue bus"),
    ]
    corpus(data, "Attribute/color/vg", "Attribute/vg/color.json", "vg/", colours)
    swig = [item("exercising_255.jpg", "man exercises", "man eats")]
    corpus(data, "Relation/action/swig", "Relation/swig_action.json", "swig/", swig)
    hake = [item("pic/a.jpg", "person push bicycle", "person push sink")]
    corpus(data, "Object/Location/center/hake", "Object/hake/center.json", "hake/", hake)
    pictures(data, "vg/VG_100K/1.jpg", "vg/VG_100K_2/2.jpg", "swig/exercising_255.jpg", "hake/pic/a.jpg")


def test_vl_checklist_has_a_subset_by_path_of_first_texts(tmp_path) -> None:
    checklist(tmp_path)
    read = READERS["vl_checklist"](tmp_path)
    one = (str(tmp_path / "vg/VG_100K/1.jpg"),)
    assert shown(read) == {
        "Attribute_color_vg": [
            (one, ("white shirt", "black shirt")),
            (one, ("black shirt", "white shirt")),
            ((str(tmp_path / "vg/VG_100K_2/2.jpg"),), ("red bus", "blue bus")),
        ],
        "Object_Location_center_hake": [
            ((str(tmp_path / "hake/pic/a.jpg"),), ("person push bicycle", "person push sink"))
        ],
        "Relation_action_swig": [
            ((str(tmp_path / "swig/exercising_255.jpg"),), ("man exercises", "man eats"))
        ],
    }
    assert rules(read) == {"choice"} and not read.left_out
    assert "2 items say the opposite of another" in read.protocol
    assert read.groups == {
        "Attribute": ("Attribute_color",),
        "Object": ("Object_Location_center",),
        "Relation": ("Relation_action",),
        "Attribute_color": ("Attribute_color_vg",),
        "Relation_action": ("Relation_action_swig",),
        "Object_Location_center": ("Object_Location_center_hake",),
    }


def test_vl_checklist_weighs_files_data_sets_and_aspects_as_its_authors() -> None:
    """Against the three loops of their radar.py, and the means of their thirteen aspects."""
    aspects = {}
    for name in (
        "Size_large",
        "Size_medium",
        "Size_small",
        "Location_center",
        "Location_mid",
        "Location_margin",
    ):
        swig = [f"Object_{name}_swig_{part}" for part in ("agent", "destination", "item", "tool")]
        vg = [f"Object_{name}_vg_{part}" for part in ("obj", "subj")]
        aspects[f"Object_{name}"] = {"vg": vg, "swig": swig, "hake": [f"Object_{name}_hake"]}
    for name in ("color", "material", "action", "size", "state"):
        aspects[f"Attribute_{name}"] = {of: [f"Attribute_{name}_{of}"] for of in ("vg", "vaw")}
    aspects["Relation_action"] = {of: [f"Relation_action_{of}"] for of in ("vg", "swig", "hake")}
    aspects["Relation_spatial"] = {"vg": ["Relation_spatial_vg"]}
    files = [file for sets in aspects.values() for of in sets.values() for file in of]
    assert len(files) == 56
    given = Benchmark("own", [], (), {f"own/{file}": None for file in files}, groups=groups(sorted(files)))
    rng = np.random.default_rng(0)
    scores = {file: rng.random() for file in files}
    expected = {
        aspect: np.mean([np.mean([scores[file] for file in of]) for of in sets.values()])
        for aspect, sets in aspects.items()
    }
    for kind in ("Object", "Attribute", "Relation"):
        expected[kind] = np.mean([value for name, value in expected.items() if name.startswith(f"{kind}_")])
    found = {
        name.partition(" (")[0]: sum(weight * scores[key[4:]] for key, weight in average.weights.items())
        for name, average in named_averages(given).items()
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert {"Object (mean of 6)", "Attribute (mean of 5)", "Relation (mean of 2)"} <= named_averages(
        given
    ).keys()


def test_where_authors_have_a_macro_there_is_no_other() -> None:
    given = Benchmark(
        "aro", [], (), dict.fromkeys(("aro/a", "aro/b", "aro/others")), groups={"authors_macro": ("a", "b")}
    )
    averages = named_averages(given)
    assert averages.keys() == {"micro", "authors_macro (mean of 2)"}
    assert averages["authors_macro (mean of 2)"].weights == {"aro/a": 0.5, "aro/b": 0.5}
    partial = Benchmark("aro", [], (), dict.fromkeys(("aro/a", "aro/others")), groups=given.groups)
    assert named_averages(partial).keys() == {"micro"}


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (["VG_100K/1.jpg"], "color.json: item 0 is not"),
        (["VG_100K/1.jpg", {"POS": ["a"]}], "color.json: item 0 lacks NEG"),
        (["VG_100K/1.jpg", {"POS": ["a"], "NEG": []}], "1 items: no text"),
        ([None, {"POS": ["a"], "NEG": ["b"]}], "color.json: item 0 has None where the name"),
    ],
)
def test_a_faulty_item_of_vl_checklist_is_named_or_counted(item, says, tmp_path) -> None:
    checklist(tmp_path)
    write(tmp_path / "vl_checklist/data/Attribute/vg/color.json", [item])
    with pytest.raises(Mistake, match=says):
        READERS["vl_checklist"](tmp_path)


def test_a_corpus_that_is_no_yaml_or_names_no_file_is_named(tmp_path) -> None:
    checklist(tmp_path)
    config = tmp_path / "vl_checklist/corpus/v1/Attribute/color/vg.yaml"
    for text, says in (("ANNO_PATH: [", "vg.yaml is no YAML"), ("IMG_ROOT: vg/", "vg.yaml.*lacks ANNO_PATH")):
        config.write_text(text)
        with pytest.raises(Mistake, match=says):
            READERS["vl_checklist"](tmp_path)


def test_a_picture_has_one_place_in_all_benchmarks(tmp_path) -> None:
    """Also where each has a copy of its own."""
    checklist(tmp_path)
    valse(tmp_path)
    pictures(tmp_path, "aro/images/1.jpg", "cola/images/1.jpg", "cola/images/9.jpg")
    pictures(tmp_path, "visual-genome/VG_100K_2/1.jpg")
    write(tmp_path / "aro/visual_genome_relation.json", [RELATIONS[0]])
    items = [[f"{ADDRESS}1.jpg", "a", f"{ADDRESS}9.jpg", "b"]]
    write(tmp_path / "cola/COLA_multiobjects_matching_benchmark.json", items)
    foils = {"0": {"filename": "000000000001.jpg", "caption": "a", "negative_caption": "b"}}
    for name in ("add_obj", "add_att", "replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att"):
        write(tmp_path / f"sugarcrepe/{name}.json", foils)
    names = ("vl_checklist", "valse", "aro_relation", "cola", "sugarcrepe")
    read = {name: READERS[name](tmp_path, partial=True) for name in names}
    places = {name: {Path(photo.place).name: photo.place for photo in read[name].pictures} for name in names}
    genome = str(tmp_path / "visual-genome/VG_100K_2/1.jpg")
    assert [places[name]["1.jpg"] for name in ("vl_checklist", "aro_relation", "cola")] == 3 * [genome]
    assert places["cola"]["9.jpg"] == str(tmp_path / "cola/images/9.jpg")
    assert places["valse"]["exercising_255.jpg"] == places["vl_checklist"]["exercising_255.jpg"]
    assert places["valse"]["000000000001.jpg"] == places["sugarcrepe"]["000000000001.jpg"]


@pytest.mark.parametrize("name", READERS)
def test_without_data_a_reader_says_what_is_missing_in_one_line(name, tmp_path) -> None:
    with pytest.raises(Mistake, match=f"{tmp_path} has none of: ") as caught:
        READERS[name](tmp_path)
    assert "\n" not in str(caught.value)


def test_items_of_two_rules_and_a_choice_of_more_captions(tmp_path) -> None:
    pictures(tmp_path, "1.jpg")
    photo = Photo(str(tmp_path / "1.jpg"))
    collect = Collector("mine")
    collect.add("all", [photo], ["a", "b"], rule="choice")
    collect.add("all", [photo], ["a", "c", "d", "e"], rule="choice")
    items = collect.benchmark(protocol="", partial=False).subsets["mine/all"]
    assert items.captions.tolist() == [
        [0, 1, 1, 1],
        [0, 2, 3, 4],
    ]  # again what is there, which asks nothing new
    assert items.captions.dtype == np.intp
    with pytest.raises(Mistake, match="mine has items of two rules, choice and scpp"):
        collect.add("other", [photo], ["a", "b", "c"], rule="scpp")


def test_pictures_that_share_an_item_are_drawn_together_whatever_their_order(tmp_path) -> None:
    pictures(tmp_path, *(f"{number}.jpg" for number in range(7)))
    photo = [Photo(str(tmp_path / f"{number}.jpg")) for number in range(7)]
    for order in (1, -1):
        collect = Collector("mine")
        for number, other in ((0, 6), (1, 6), (2, 3), (4, 5)):
            texts = [f"a {number}", f"a {other} by {number}"]
            collect.add("all", [photo[number], photo[other]][::order], texts[::order], rule="winoground")
        clusters = collect.benchmark(protocol="", partial=False).subsets["mine/all"].clusters.tolist()
        assert clusters[0] == clusters[1] and len(set(clusters)) == 3
