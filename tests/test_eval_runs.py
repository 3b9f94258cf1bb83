"""`slipform eval`: scores against a loop over items, encoder calls counted, models that cheat or break."""

import json
import os
import re
import shutil
import weakref
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from real_data import DATA, needs_data
from safetensors.torch import load_file, save_file
from small_clip import TEXT, VISION, small_clip
from test_leaks import planted
from test_main import call

import slipform_core.torchvision_import  # noqa: F401, before open_clip
from slipform_core import outcomes
from slipform_core.__main__ import BENCHMARKS
from slipform_core.benchmarks import READERS, Photo, own
from slipform_core.evaluating import (
    Asked,
    evaluate_models,
    long_table,
    names_of,
    read,
    request,
    wide_table,
    write_tables,
)
from slipform_core.evaluation import Encoder, averages, score
from slipform_core.evaluation.blind import blind
from slipform_core.evaluation.chance import chance_warning
from slipform_core.mistakes import Mistake
from slipform_core.models import Clip, open_checkpoint, save_open_clip
from slipform_core.records import Score
from slipform_core.sources import photographs

FIELDS = ("filename", "caption", "negative_caption")


@dataclass(frozen=True)
class Rule(Clip):
    """A model whose texts are functions of their words, pictures of their first pixel; it counts calls."""

    of_text: object = None
    seen: Counter = field(default_factory=Counter)

    def encode_text(self, texts):
        self.seen["texts"] += len(texts)
        return torch.stack([self.of_text(text) for text in texts]).float()

    def encode_pixels(self, pixels):
        self.seen["pictures"] += len(pixels)
        return torch.nn.functional.normalize(pixels[:, :, 0, 0] + torch.tensor([1.0, 0, 0]), dim=-1)


class Texts(list):
    """Texts in the place of their tokens, of a context that none of them fills."""

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), 10_000


def rule(of_text) -> Rule:
    def transform(picture):
        return torch.tensor(np.asarray(picture.resize((2, 2)))).permute(2, 0, 1) / 2550

    return Rule(torch.nn.Linear(1, 1), None, Texts, None, transform, of_text=of_text)


def at(angle: float) -> torch.Tensor:
    return torch.tensor([np.cos(angle), np.sin(angle), 0.0])


@pytest.fixture
def stand_ins(monkeypatch):
    """A picture of its own for every place, whether or not there is one."""

    def content(place):
        stream, name = BytesIO(), int(Path(place).stem)
        pixels = np.full((40, 40, 3), [name >> 16 & 255, name >> 8 & 255, name & 255], dtype=np.uint8)
        Image.fromarray(pixels).save(stream, format="PNG")
        return stream.getvalue()

    monkeypatch.setattr(photographs, "content", content)
    monkeypatch.setattr(photographs, "exists", lambda place: True)


@needs_data
def test_scores_on_real_pictures_are_those_of_an_item_by_item_loop(tmp_path: Path) -> None:
    """Pillow, open_clip's transform and both towers at all 77 tokens, one at a time."""
    clip = small_clip(tmp_path, "eval-loop")
    encoder = Encoder(clip, batch=7)

    def picture(name: str) -> torch.Tensor:
        shown = Image.open(DATA / "coco/val2017" / name).convert("RGB")
        return clip.model.encode_image(clip.transform(shown)[None], normalize=True)[0].double()

    def text(said: str) -> torch.Tensor:
        return clip.model.encode_text(clip.tokenize([said]), normalize=True)[0].double()

    for name, folder in (("sugarcrepe", "sugarcrepe"), ("scpp", "scpp")):
        benchmark = READERS[name](DATA, partial=True)
        found = score(benchmark, encoder.pictures(benchmark.pictures), encoder.texts(benchmark.texts))
        compared = 0
        for path in sorted((DATA / folder).glob("*.json")):
            rows = json.loads(path.read_text())
            expected = {"i2t": [], "itt": [], "tot": []}
            with torch.no_grad():
                for row in rows.values() if isinstance(rows, dict) else rows:
                    if not (DATA / "coco/val2017" / row["filename"]).is_file():
                        continue
                    shown, own = picture(row["filename"]), text(row["caption"])
                    foil = text(row["negative_caption"])
                    if name == "sugarcrepe":
                        expected["i2t"].append(bool(shown @ own > shown @ foil))
                    else:
                        other = text(row["caption2"])
                        expected["itt"].append(bool(min(shown @ own, shown @ other) > shown @ foil))
                        expected["tot"].append(bool(own @ other > max(own @ foil, other @ foil)))
            right = found.outcomes[f"{name}/{path.stem}"]
            assert {metric: bits.tolist() for metric, bits in right.items()} == {
                metric: bits for metric, bits in expected.items() if bits
            }
            compared += len(next(iter(right.values())))
        assert compared == {"sugarcrepe": 426, "scpp": 279}[name]


@needs_data
def test_each_unique_picture_and_text_is_encoded_once_over_all_benchmarks(stand_ins, tmp_path: Path) -> None:
    seen = []
    clip = rule(lambda text: at(len(text)))
    for folder in (None, tmp_path):
        encoder = Encoder(clip, batch=512, folder=folder)
        clip.seen.clear()
        for name in ("sugarcrepe", "scpp"):
            benchmark = READERS[name](DATA)
            encoder.pictures(benchmark.pictures), encoder.texts(benchmark.texts)
            seen.append((clip.seen["pictures"], clip.seen["texts"]))
        captions = json.loads((DATA / "coco/annotations/captions_val2017.json").read_text())
        names = {image["id"]: image["file_name"] for image in captions["images"]}
        encoder.pictures([Photo(str(DATA / "coco/val2017" / name)) for name in names.values()])
        encoder.texts([row["caption"] for row in captions["annotations"]])
        seen.append((clip.seen["pictures"], clip.seen["texts"]))
        assert encoder.encoded == {"pictures": clip.seen["pictures"], "texts": clip.seen["texts"]}
    assert seen == 2 * [(1560, 11_844), (1560, 18_372), (5000, 38_834)]
    clip.seen.clear()
    again = Encoder(clip, batch=512, folder=tmp_path)
    for name in ("sugarcrepe", "scpp"):
        again.pictures(READERS[name](DATA).pictures), again.texts(READERS[name](DATA).texts)
    assert not clip.seen


@needs_data
@pytest.mark.parametrize(
    ("of_text", "micro", "ties"),
    [
        (lambda text: at(0.001 * len(text.split())), 0.445, 2 * (0.674 - 0.445)),
        (lambda text: at(0.5), 0.0, 1.0),
    ],
    ids=["shorter", "constant"],
)
def test_a_model_of_shorter_captions_scores_as_the_blind_rule_and_a_constant_one_nothing(
    of_text, micro, ties, stand_ins
) -> None:
    benchmark, clip = READERS["sugarcrepe"](DATA), rule(of_text)
    images = np.tile(np.array([[1.0, 0, 0]], dtype=np.float32), (len(benchmark.pictures), 1))
    found = score(benchmark, images, Encoder(clip, batch=4096).texts(benchmark.texts))
    right = np.concatenate([each["i2t"] for each in found.outcomes.values()])
    # the rates are published to a tenth of a percent
    assert len(right) == 7511 and right.mean() == pytest.approx(micro, abs=0.0005)
    tied = sum(each.value * each.count for each in found.scores if each.metric == "ties") / 7511
    assert tied == pytest.approx(ties, abs=0.002)


@needs_data
def test_a_random_model_is_at_chance(stand_ins) -> None:
    rng = np.random.default_rng(0)
    for name, chance in (("sugarcrepe", {"i2t": 1 / 2}), ("scpp", {"itt": 1 / 3, "tot": 1 / 3})):
        benchmark = READERS[name](DATA)
        counts = len(benchmark.pictures), len(benchmark.texts)
        images, texts = (rng.normal(size=(count, 64)).astype(np.float32) for count in counts)
        means = averages.averages(benchmark, score(benchmark, images, texts), rng, draws=50)["micro"]
        for metric, expected in chance.items():
            # five standard errors of 4,757 items or more
            assert means[metric].value == pytest.approx(expected, abs=0.035)


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> Path:
    """SugarCrepe in small: data with four subsets of twelve items, and two models as folders beside them."""
    folder = tmp_path_factory.mktemp("task")
    rng = np.random.default_rng(0)
    (folder / "val2017").mkdir()
    (folder / "sugarcrepe").mkdir()
    for number in range(12):
        pixels = rng.integers(256, size=(40, 50, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"val2017/{number:012d}.jpg")
    kinds = ("add_obj", "add_att", "replace_obj", "replace_att", "replace_rel", "swap_obj", "swap_att")
    for kind in kinds:
        items = {
            str(2 * k): dict(zip(FIELDS, (f"{k:012d}.jpg", f"a dog {k}", f"{kind} {k} cat"), strict=True))
            for k in range(12)
        }
        (folder / f"sugarcrepe/{kind}.json").write_text(json.dumps(items))
    config = {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": TEXT}
    for seed, name in enumerate(("one", "other")):
        save_open_clip(small_clip(folder, f"eval-{name}", seed=seed), folder / name, config)
    return folder


def words(task: Path, out: Path, *more: str) -> list[str]:
    features = ["--features", str(out / "features")]
    return ["eval", str(task / "one"), "--data", str(task), "--out", str(out), *features, *more]


def test_one_command_scores_and_compares_models_and_writes_tables(
    task, tmp_path, monkeypatch, capsys
) -> None:
    asked = words(task, tmp_path, str(task / "other"), "-b", "sugarcrepe", "--partial")
    assert call(asked, monkeypatch) == 0
    said = capsys.readouterr().out
    assert "other − one: i2t " in said and "McNemar's p = " in said
    assert "sugarcrepe · 84 items" in said and "macro-7" in said and "a tie is wrong" in said
    one, other = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "other"))
    values = one["values"]["benchmarks"]["sugarcrepe"]
    assert values["items"] == dict.fromkeys(values["items"], 12) and len(values["items"]) == 7
    assert one["values"]["model"]["activation"] == "GELU"
    assert one["values"]["model"]["encoded now"] == {"pictures": 12, "texts": 12 + 84}
    assert one["made"]["config"]["precision"] == "float32" and "differences" not in one["values"]
    blind = values["blind"]["micro"]
    assert blind["i2t, shorter caption (words), ties at half"]["count"] == 84
    assert values["lens"]["sugarcrepe/i2t"]["trend"]["all"]["count"] <= 84
    bits = {}
    for name, file in (("one", one), ("other", other)):
        right = file["values"]["benchmarks"]["sugarcrepe"]["right"].values()
        bits[name] = np.concatenate([outcomes.unpack(each["i2t"], 12) for each in right])
    micro = values["averages"]["micro"]["i2t"]
    assert micro["value"] == pytest.approx(bits["one"].mean())
    assert micro["low"] < micro["value"] < micro["high"]
    compared = other["values"]["differences"]["sugarcrepe"]["micro"]["i2t"]
    assert other["values"]["differences"]["to"] == "one"
    assert compared["value"] == pytest.approx(bits["other"].mean() - bits["one"].mean())
    assert compared["only_left"] == (bits["other"] & ~bits["one"]).sum()
    assert {path.name for path in tmp_path.glob("scores.*")} == {"scores.csv", "scores.md", "scores.tex"}
    assert "macro-7" in (tmp_path / "scores.md").read_text()
    assert call(asked, monkeypatch) == 0
    again = json.loads((tmp_path / "one.json").read_text())["values"]
    assert again["model"]["encoded now"] == {"pictures": 0, "texts": 0}
    assert again["benchmarks"] == one["values"]["benchmarks"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["-b", "sugarcrep"], "unknown benchmark 'sugarcrep'; the benchmarks are: sugarcrepe, scpp"),
        (["--items", "nowhere.csv"], "nowhere.csv does not exist"),
        (
            ["-b", "sugarcrepe", "--partial", "--trained", "tests"],
            "tests has no shards: --trained",
        ),
        (["-b", "sugarcrepe", "--partial", "--device", "cudo"], "device 'cudo'"),
        (["ViT-B-32:openai", "-b", "sugarcrepe", "--partial"], "'ViT-B-32' has GELU, and 'openai'"),
        (["-b", "scpp"], "has none of: sugarcrepe-pp, scpp; `slipform data fetch sugarcrepe-pp`"),
        (["-b", "sugarcrepe"], "add_obj has 12 items, published 2,062"),
        (["-b", "sugarcrepe", "--partial", "--precision", "fp16"], "unknown precision 'fp16'"),
        (["nowhere/model", "-b", "sugarcrepe", "--partial"], "open_clip has no 'nowhere/model'"),
    ],
)
def test_a_mistake_is_one_line(more, says, task, tmp_path, monkeypatch, capsys) -> None:
    assert call(words(task, tmp_path, *more), monkeypatch) == 2
    [said] = capsys.readouterr().err.splitlines()
    assert says in said


def scored(models, task, out):
    asked = Asked(read(["sugarcrepe"], task, partial=True))
    return list(evaluate_models(models, asked, out=out, command="", config={}))


def test_a_missing_picture_is_refused_or_counted(task, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(photographs, "exists", lambda place: "000005" not in place and Path(place).exists())
    assert call(words(task, tmp_path, "-b", "sugarcrepe"), monkeypatch) == 2
    said = capsys.readouterr().err
    assert "7 items: missing picture; the first would be" in said and "000000000005.jpg" in said
    assert call(words(task, tmp_path, "-b", "sugarcrepe", "--partial"), monkeypatch) == 0
    assert "77 items · 7 left out: missing picture" in capsys.readouterr().out


def test_a_damaged_picture_and_a_model_of_nan_are_one_line(task, tmp_path, monkeypatch, capsys) -> None:
    whole = photographs.as_stored
    monkeypatch.setattr(photographs, "as_stored", lambda data: whole(data[:200]))
    assert call(words(task, tmp_path, "-b", "sugarcrepe", "--partial"), monkeypatch) == 2
    said = capsys.readouterr().err
    assert "12 pictures cannot be read, the first: damaged picture: " in said and "nothing is left" in said
    monkeypatch.setattr(photographs, "as_stored", whole)
    broken = {"broken": lambda: rule(lambda text: at(np.nan))}
    with pytest.raises(Mistake, match=r"model broken: sugarcrepe: .* is NaN"):
        scored(broken, task, tmp_path)


def test_tables_hold_every_number_and_the_papers_macro(task, tmp_path) -> None:
    models = {name: partial(open_checkpoint, str(task / name)) for name in ("one", "other")}
    found = scored(models, task, tmp_path)
    table = long_table(found)
    baselines = table["model"].str.startswith("blind: ")
    assert (~baselines).sum() == 2 * (7 * 2 + 5) and baselines.sum() == (7 + 1) * 3 * 2
    row = table[(table["subset"] == "swap_obj") & (table["metric"] == "i2t") & (table["model"] == "other")]
    assert row["value"].item() == found[1]["benchmarks/sugarcrepe/scores/swap_obj/i2t/value"]
    wide = wide_table(found)
    shown = wide.loc[("sugarcrepe", "swap_obj", "i2t"), "other"]
    assert shown.startswith(f"{100 * row['value'].item():.2f} ± ")
    assert "ties" not in wide.index.get_level_values("metric")
    found[0].values["macro"] = 0.5
    assert wide_table(found).loc[("all", "the paper's macro", ""), "one"] == "50.00"
    assert (tmp_path / "scores.tex") in write_tables(found, tmp_path)
    latex = (tmp_path / "scores.tex").read_text()
    assert latex.startswith("% \\usepackage{booktabs}\n") and r"\toprule" in latex and r"swap\_obj" in latex
    assert not re.search(r"(?<!\\)[_%]", latex.partition("\n")[2])


def test_models_are_named_by_what_was_said_of_them_and_two_of_one_name_are_refused(tmp_path) -> None:
    (tmp_path / "mine").mkdir()
    said = [
        "ViT-B-32-quickgelu:openai",
        str(tmp_path / "mine"),
        "ViT-B-32=build/run/epoch_3.pt",
        "hf-hub:a/b",
    ]
    assert names_of(said) == ["ViT-B-32-quickgelu-openai", "mine", "epoch_3.pt", "b"]
    same = ["ViT-B-32=logs/a/epoch_5.pt", "ViT-B-32=logs/b/epoch_5.pt", "ViT-B-32"]
    assert names_of(same) == ["a-epoch_5.pt", "b-epoch_5.pt", "ViT-B-32"]
    assert names_of(["logs/subset", "ViT-B-32"]) == ["logs-subset", "ViT-B-32"]  # no column of the tables
    with pytest.raises(Mistake, match="a model is said twice: ViT-B-32, ViT-B-32"):
        names_of(["ViT-B-32", "ViT-B-32"])


def test_the_help_names_every_benchmark() -> None:
    assert set(re.findall(r"[a-z0-9_]+(?=[,;])", BENCHMARKS.partition(": ")[2])) == set(READERS)


@pytest.fixture(scope="module")
def flowers(tmp_path_factory) -> Path:
    """Two classes told apart by their colour, as a folder a class."""
    folder, rng = tmp_path_factory.mktemp("flowers"), np.random.default_rng(0)
    for part, count in (("train", 12), ("test", 6)):
        for name, colour in (("rose", [200, 40, 60]), ("bluebell", [40, 60, 200])):
            (folder / part / name).mkdir(parents=True)
            for number in range(count):
                pixels = np.clip(rng.normal(colour, 20, (40, 40, 3)), 0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / part / name / f"{number}.png")
    return folder


def test_sets_of_classes_are_scored_zero_shot_and_by_probes(
    flowers, task, tmp_path, monkeypatch, capsys
) -> None:
    more = ["--zero-shot", str(flowers), "--probe", str(flowers), "--probe-as", "clip", "--batch-size", "5"]
    assert call(words(task, tmp_path, *more), monkeypatch) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "zero-shot" in said and "before the projection" in said
    values = json.loads((tmp_path / "one.json").read_text())["values"]
    probe, zero = values["benchmarks"].values()
    [scores] = probe["scores"].values()
    # a colour that fills the picture is told by any features
    assert scores["top1"]["value"] == 1.0 and scores["top1"]["count"] == 12
    [right], [scores] = zero["right"].values(), zero["scores"].values()
    assert scores["top1"]["value"] == pytest.approx(outcomes.unpack(right["top1"], 12).mean())
    assert values["model"]["encoded now"] == {"pictures": 24 + 12, "texts": 2}
    assert values["macro"] is None
    assert call(words(task, tmp_path, "--probe", str(flowers), "--shots", "3"), monkeypatch) == 0
    few = json.loads((tmp_path / "one.json").read_text())["values"]["benchmarks"]
    assert few[f"linear probe of {flowers.name}"]["protocol"]["train_pictures"] == 2 * 3


def test_models_are_compared_on_sets_of_classes_and_their_pictures_are_looked_for_in_the_training(
    flowers, task, tmp_path, monkeypatch, capsys
) -> None:
    with Image.open(flowers / "test/rose/3.png") as picture:
        rows = [("seen.jpg", None, None, picture.convert("RGB"), Image.new("RGB", (40, 40)))]
    more = ["--zero-shot", str(flowers), "--template", "the {} colour"]
    more += ["--trained", str(planted(tmp_path / "batch", rows))]
    assert call(words(task, tmp_path, str(task / "other"), *more), monkeypatch) == 0
    said = capsys.readouterr().out
    assert "other − one: top1 " in said
    assert "by name: 0" in said and "by sight: 1 (3.png is seen.jpg)" in said
    name, subset = f"zero-shot {flowers.name}", f"zero-shot/{flowers.name}"
    one, other = (
        json.loads((tmp_path / f"{model}.json").read_text())["values"] for model in ("one", "other")
    )
    assert one["benchmarks"][name]["protocol"]["templates"] == ["the {} colour"]
    assert one["benchmarks"][name]["leaks"].startswith("1 of 12 test pictures are among 2 trained on")
    found = other["differences"][name][flowers.name]["top1"]
    bits = [outcomes.unpack(each["benchmarks"][name]["right"][subset]["top1"], 12) for each in (other, one)]
    assert found["value"] == pytest.approx(bits[0].mean() - bits[1].mean())
    assert (found["only_left"], found["only_right"]) == (
        (bits[0] & ~bits[1]).sum(),
        (bits[1] & ~bits[0]).sum(),
    )
    assert found["low"] <= found["value"] <= found["high"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            ["--zero-shot", "imagenett"],
            "no set of pictures and no folder 'imagenett'; the sets are: imagenet",
        ),
        (
            ["--probe", "{flowers}", "--probe-as", "linear"],
            "unknown probe 'linear'; the choices are: plain",
        ),
        (["--zero-shot", "{flowers}", "--template", "a photo"], "the template 'a photo' has no {} where"),
        (["--zero-shot", "cifar10"], "torchvision has no CIFAR10: `python -c"),
        (["--coco-objects"], "instances"),
    ],
)
def test_a_mistake_about_classes_is_one_line(
    more, says, flowers, task, tmp_path, monkeypatch, capsys
) -> None:
    more = [word.format(flowers=flowers) for word in more]
    assert call(words(task, tmp_path, *more), monkeypatch) == 2
    [said] = capsys.readouterr().err.splitlines()
    assert says in said and not list(tmp_path.glob("*.json"))


def items_file(folder: Path, subset: str = "all") -> Path:
    folder.mkdir()
    for number in range(3):
        pixels = np.full((28, 28, 3), 60 * number, dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    rows = [f"{number}.png,a dog {number},a cat {number},{subset}" for number in range(3)]
    (folder / "items.csv").write_text("image,caption,negative_caption,subset\n" + "\n".join(rows))
    return folder / "items.csv"


def test_own_items_are_scored_however_small_and_two_files_of_one_name_are_refused(
    task, tmp_path, monkeypatch, capsys
) -> None:
    one, other = (items_file(tmp_path / name) for name in ("a", "b"))
    assert call(words(task, tmp_path, "--items", str(one)), monkeypatch) == 0
    assert "own_items · 3 items" in capsys.readouterr().out
    assert call(words(task, tmp_path, "--items", str(one), "--items", str(other)), monkeypatch) == 2
    assert "two things to score on are called 'own_items'" in capsys.readouterr().err
    assert call(words(task, tmp_path, "--items", str(items_file(tmp_path / "c", "micro"))), monkeypatch) == 2
    assert "'subset' is 'micro', which is what averages are called" in capsys.readouterr().err


def test_an_item_with_fewer_captions_ties_once(tmp_path) -> None:
    """Two captions that tie, beside five of which another is shorter."""
    captions = [["a a", "b b"], ["a a a", "b", "c c", "d d", "e e"]]
    rows = [{"image": "0.png", "captions": texts} for texts in captions]
    (tmp_path / "mixed.json").write_text(json.dumps(rows))
    Image.new("RGB", (40, 40)).save(tmp_path / "0.png")
    benchmark = own(tmp_path / "mixed.json")
    found = {each.metric: each.value for each in blind(benchmark)}
    assert found["i2t, shorter caption (words), ties at half"] == (1 / 2 + 0) / 2
    scores = [Score(benchmark.name, "all", "i2t", value, 1000, 0.01) for value in (0.36, 0.38)]
    # Chance is (1 / 2 + 1 / 5) / 2, and two standard errors are 0.02.
    assert [bool(chance_warning([each], benchmark.subsets)) for each in scores] == [True, False]


def own_items(folder: Path, count: int, **changed) -> Path:
    """Items of pictures of noise, two of which are damaged and whose captions differ in the last word."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(count):
        pixels = np.random.default_rng(number).integers(256, size=(40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
        rows.append({"image": f"{number}.png", "captions": [f"a dog {number}", f"a cat {number}"]} | changed)
    for number in (1, 4):
        path = folder / f"{number}.png"
        path.write_bytes(path.read_bytes()[:300])
    (folder / "items.json").write_text(json.dumps(rows))
    return folder / "items.json"


def test_damaged_pictures_are_named_together_or_left_out_and_nothing_is_encoded_twice(
    task, tmp_path, monkeypatch, capsys
) -> None:
    items = str(own_items(tmp_path / "mine", 6))
    assert call(words(task, tmp_path, "--items", items), monkeypatch) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert (
        "2 pictures cannot be read, the first: damaged picture: " in said
        and "1.png" in said
        and "4.png" in said
    )
    assert call(words(task, tmp_path, str(task / "other"), "--items", items, "--partial"), monkeypatch) == 0
    for name in ("one", "other"):
        values = json.loads((tmp_path / f"{name}.json").read_text())["values"]
        assert values["benchmarks"]["own_items"]["left out"] == {"picture that cannot be read": 2}
        assert values["benchmarks"]["own_items"]["items"] == {"all": 4}
        # Those of the first model were encoded before the damage was known.
        assert values["model"]["encoded now"]["pictures"] == (0 if name == "one" else 4)


def test_texts_that_are_cut_are_said(task, tmp_path, monkeypatch, capsys) -> None:
    long = " ".join(["very"] * 90)
    row = f"0.png,{long} black dog,{long} white dog"
    items = items_file(tmp_path / "long")
    items.write_text("image,caption,negative_caption\n" + row)
    assert call(words(task, tmp_path, "--items", str(items)), monkeypatch) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 of 2 texts are cut, of more than 77 tokens, such as 'very" in said
    assert "100% of the comparisons are ties" in said and "loaded wrongly" not in said


def test_two_models_on_items_of_one_picture_have_no_interval(task, tmp_path, monkeypatch, capsys) -> None:
    items = items_file(tmp_path / "few")
    items.write_text("image,caption,negative_caption\n0.png,a dog,a cat\n")
    assert call(words(task, tmp_path, str(task / "other"), "--items", str(items)), monkeypatch) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "points without an interval, of too few pictures" in said


@pytest.mark.parametrize("each", [1, 2])
def test_averages_of_subsets_of_a_few_pictures_have_no_interval(each, task, tmp_path, monkeypatch) -> None:
    """Of one picture no subset's spread is known; of many of two, most draws lack some subset."""
    items, count = items_file(tmp_path / "few"), 60
    for number in range(count):
        Image.new("RGB", (28, 28), (4 * number, 80, 40)).save(tmp_path / f"few/{number}.png")
    rows = [f"{number}.png,a dog {number},a cat,s{number // each}" for number in range(count)]
    items.write_text("\n".join(["image,caption,negative_caption,subset", *rows]))
    assert call(words(task, tmp_path, str(task / "other"), "--items", str(items)), monkeypatch) == 0
    for path in tmp_path.glob("*.json"):
        values = json.loads(path.read_text())["values"]
        found = values["benchmarks"]["own_items"]
        macro, micro = found["averages"][f"macro-{count // each}"]["i2t"], found["averages"]["micro"]["i2t"]
        assert macro["low"] is None and macro["high"] is None and micro["low"] is not None
        assert macro["value"] == pytest.approx(micro["value"])
        assert (found["scores"]["s0"]["i2t"]["stderr"] is None) == (each == 1)


def test_brackets_in_names_stay_and_tables_are_told_from_earlier_ones(
    task, tmp_path, monkeypatch, capsys
) -> None:
    items = items_file(tmp_path / "named", subset="[red]a|b")
    assert call(words(task, tmp_path, "--items", str(items)), monkeypatch) == 0
    assert "[red]a|b" in capsys.readouterr().out
    assert r"[red]a\|b" in (tmp_path / "scores.md").read_text()
    cut = tmp_path / "cut"
    cut.mkdir()
    for path in (task / "other").iterdir():
        (cut / path.name).write_bytes(path.read_bytes())
    (cut / "open_clip_model.safetensors").write_bytes(b"x" * 100)
    assert call(words(task, tmp_path, str(cut), "--items", str(items)), monkeypatch) == 2
    assert "is no whole safetensors file" in capsys.readouterr().err
    assert (tmp_path / "scores.md").exists(), "what is found before anything is begun removes nothing"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--out", "{file}"], "is no folder to write to: "),
        (["--features", "{file}"], "is no folder to write to: "),
        (["--template", "a {{}}"], "--template is of --zero-shot, which is not said"),
        (["--shots", "3"], "--shots is of --probe, which is not said"),
    ],
)
def test_what_would_fail_at_the_end_fails_at_once(more, says, task, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "file").write_text("")
    items = items_file(tmp_path / "mine")
    more = [word.format(file=tmp_path / "file") for word in more]
    assert call(words(task, tmp_path / "out", "--items", str(items), *more), monkeypatch) == 2
    assert says in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*.json"))


def test_a_damaged_file_of_features_is_one_line(task, tmp_path, monkeypatch, capsys) -> None:
    items = items_file(tmp_path / "mine")
    assert call(words(task, tmp_path, "--items", str(items)), monkeypatch) == 0
    [path] = (tmp_path / "features").iterdir()
    path.write_bytes(b"nothing of a database" * 100)
    assert call(words(task, tmp_path, "--items", str(items)), monkeypatch) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert str(path) in said and "delete that file" in said


def test_after_an_error_the_tables_are_of_the_models_that_were_done(
    task, tmp_path, monkeypatch, capsys
) -> None:
    items = items_file(tmp_path / "mine")
    (tmp_path / "scores.md").write_text("of an earlier call")
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in (task / "other").iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    weights = load_file(broken / "open_clip_model.safetensors")
    weights["text_projection"] *= float("nan")
    save_file(weights, broken / "open_clip_model.safetensors", metadata={"activation": "GELU"})
    assert call(words(task, tmp_path, str(broken), "--items", str(items)), monkeypatch) == 2
    assert "model broken: own_items: " in capsys.readouterr().err
    table = (tmp_path / "scores.md").read_text()
    assert "one" in table and "broken" not in table and "earlier" not in table
    assert (tmp_path / "one.json").exists() and not (tmp_path / "broken.json").exists()


def test_a_set_is_looked_at_once_and_one_without_training_is_no_probe(
    flowers, task, tmp_path, monkeypatch, capsys
) -> None:
    from slipform_core.evaluating import runs

    calls = []
    monkeypatch.setattr(runs, "find_leaks", lambda *given: calls.append(given) or None)
    rows = [("seen.jpg", None, None, Image.new("RGB", (40, 40)), Image.new("RGB", (40, 40)))]
    more = ["--zero-shot", str(flowers), "--probe", str(flowers), "--template", "{} here"]
    more += ["--trained", str(planted(tmp_path / "batch", rows))]
    assert call(words(task, tmp_path, *more), monkeypatch) == 0
    assert len(calls) == 1
    protocol = json.loads((tmp_path / "one.json").read_text())["values"]["benchmarks"]
    assert protocol[f"zero-shot {flowers.name}"]["protocol"]["prompts"] == "--template"
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare/test").symlink_to(flowers / "test")
    assert call(words(task, tmp_path / "out", "--probe", str(tmp_path / "bare")), monkeypatch) == 2
    assert "bare has no training pictures to probe with" in capsys.readouterr().err
    (tmp_path / "bare/train/rose/deeper").mkdir(parents=True)
    shutil.copy(flowers / "train/rose/3.png", tmp_path / "bare/train/rose/deeper")
    assert call(words(task, tmp_path / "out", "--probe", str(tmp_path / "bare")), monkeypatch) == 2
    assert "bare has no training pictures to probe with" in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*.sqlite"))


def test_a_damaged_picture_of_a_set_of_classes_is_named(flowers, task, tmp_path, monkeypatch, capsys) -> None:
    shutil.copytree(flowers, tmp_path / "mine")
    (tmp_path / "mine/test/rose/2.png").write_bytes(b"")
    assert call(words(task, tmp_path, "--zero-shot", str(tmp_path / "mine"), "--partial"), monkeypatch) == 2
    assert "damaged picture: " in (said := capsys.readouterr().err) and "2.png" in said


def test_a_language_model_is_one_more_blind_baseline_on_the_device(task, tmp_path, monkeypatch) -> None:
    asked = []

    def dogs(*said):
        asked.append(said)
        return lambda texts: [text.count("dog") for text in texts]

    monkeypatch.setattr(request, "language_model", dogs)
    more = ["--items", str(items_file(tmp_path / "mine")), "--language-model", "mine/lm", "--device", "cpu:0"]
    assert call(words(task, tmp_path, *more), monkeypatch) == 0
    assert asked == [("mine/lm", "cpu:0")]
    blind = json.loads((tmp_path / "one.json").read_text())["values"]["benchmarks"]["own_items"]["blind"]
    assert blind["all"]["i2t, language model, strict"]["value"] == 1


def test_the_result_of_another_model_of_the_name_is_not_replaced(task, tmp_path, monkeypatch, capsys) -> None:
    out, items = tmp_path / "out", items_file(tmp_path / "mine")
    assert call(words(task, out, "--items", str(items)), monkeypatch) == 0
    kept = (out / "one.json").read_text()
    shutil.copytree(task / "one", tmp_path / "later/one")
    asked = [word.replace(str(task / "one"), str(tmp_path / "later/one")) for word in words(task, out)]
    assert call([*asked, "--items", str(items)], monkeypatch) == 2
    assert f"one.json is of {task / 'one'}, not of {tmp_path / 'later/one'}" in capsys.readouterr().err
    assert (out / "one.json").read_text() == kept and (out / "scores.md").exists()
    (out / "one.json").write_text("[]")
    assert call(words(task, out, "--items", str(items)), monkeypatch) == 2
    assert "one.json is no result of slipform eval" in capsys.readouterr().err


def test_shards_that_are_damaged_or_not_ours_are_said_at_once(task, tmp_path, monkeypatch, capsys) -> None:
    rows = [("seen.jpg", None, None, Image.new("RGB", (40, 40)), Image.new("RGB", (40, 40)))]
    batch = planted(tmp_path / "batch", rows)
    asked = words(task, tmp_path, "--items", str(items_file(tmp_path / "mine")), "--trained", str(batch))
    [shard] = batch.glob("*.tar")
    shard.write_bytes(shard.read_bytes()[:-10])
    assert call(asked, monkeypatch) == 2
    assert f"{shard} is missing, or other than its manifest says" in capsys.readouterr().err
    (batch / "manifest.jsonl").write_text('{"a": 1}')
    assert call(asked, monkeypatch) == 2
    assert "its manifest is none of slipform plant" in capsys.readouterr().err
    assert not (tmp_path / "one.json").exists() and not list(tmp_path.glob("features/*"))


def test_a_model_is_let_go_before_the_next_is_loaded(task, tmp_path) -> None:
    loaded, alive = [], []

    def load(name: str) -> Clip:
        alive.append(sum(one() is not None for one in loaded))
        clip = open_checkpoint(str(task / name))
        loaded.append(weakref.ref(clip.model))
        return clip

    scored({name: partial(load, name) for name in ("one", "other")}, task, tmp_path)
    assert alive == [0, 0]


def test_evaluation_has_all_cores_and_the_others_share_them(monkeypatch) -> None:
    for word, expected in (("eval", None), ("check", "1")):
        monkeypatch.setattr(os, "environ", os.environ.copy())
        os.environ.pop("OMP_NUM_THREADS", None)
        call([word, "--nonsense"], monkeypatch)
        assert os.environ.get("OMP_NUM_THREADS") == expected
