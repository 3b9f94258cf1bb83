"""The datasets by name.

A checksum is here only where others published it: those of COCO and of Karpathy's splits are TensorFlow
Datasets' (url_checksums/coco_captions.txt), Flickr8k's are torch for R's, SugarCrepe++'s were published for
this revision of the hub's copy, and three of SugarCrepe's seven for this commit. For the other four none was
found.
"""

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path

from slipform_core.datasets import counting
from slipform_core.datasets.errors import DataError
from slipform_core.datasets.kinds import Dataset, File, Found, Subject
from slipform_core.datasets.layout import KARPATHY_LEAK, LEAK

COCO = "http://images.cocodataset.org"
KARPATHY = "https://cs.stanford.edu/people/karpathy/deepimagesent/caption_datasets.zip"
FLICKR8K = "https://github.com/jbrownlee/Datasets/releases/download/Flickr8k"
SUGARCREPE = (
    "https://raw.githubusercontent.com/RAIVNLab/sugar-crepe/0047054b243992f0fad63d6f64f7544862daf846/data"
)
SUGARCREPE_PP = "https://huggingface.co/datasets/Aman-J/SugarCrepe_pp/resolve/dea2a1b6f9e1069c609f676aa55ec61e9b65fb61/data"

PHOTOGRAPHS = "the pictures belong to Flickr users, each under a licence of its own: https://cocodataset.org/#termsofuse"
TESTED = "the pictures are COCO's: `slipform data fetch coco-val2017`"

FLICKR30K = Subject(
    "dataset_flickr30k.json",
    counting.karpathy,
    {"all pictures": 31_014, "train pictures": 29_000, "test pictures": 1_000, "test captions": 5_000},
)


ADDED = {"add_obj": 2_062, "add_att": 692}
REPLACED_AND_SWAPPED = {
    "replace_obj": 1_652,
    "replace_att": 788,
    "replace_rel": 1_406,
    "swap_obj": 245,
    "swap_att": 666,
}


def _items(
    count: Callable[[Path, str], Mapping[str, Found]], expected: Mapping[str, int]
) -> tuple[Subject, ...]:
    return tuple(Subject(f"{kind}.json", count, {"items": items}) for kind, items in expected.items())


def _captions(year: str, pictures: int, captions: int) -> Subject:
    expected = {"pictures": pictures, "captions": captions}
    return Subject(f"captions_{year}.json", counting.coco_captions, expected)


def _photographs(year: str, count: int, checksum: str, size: int, *notes: str) -> Dataset:
    return Dataset(
        title=f"COCO's pictures, {year}",
        terms=PHOTOGRAPHS,
        files=(File(f"{COCO}/zips/{year}.zip", f"sha256:{checksum}", size, unpack="."),),
        subjects=(Subject(year, counting.coco_pictures, {"pictures": count}),),
        notes=notes,
    )


DATASETS: dict[str, Dataset] = {
    "coco-captions": Dataset(
        title="COCO's captions, 2014 and 2017",
        terms="CC BY 4.0, the COCO Consortium: https://cocodataset.org/#termsofuse",
        files=(
            File(
                f"{COCO}/annotations/annotations_trainval2014.zip",
                "sha256:031296bbc80c45a1d1f76bf9a90ead27e94e99ec629208449507a4917a3bf009",
                252_872_794,
                unpack=".",
            ),
            File(
                f"{COCO}/annotations/annotations_trainval2017.zip",
                "sha256:113a836d90195ee1f884e704da6304dfaaecff1f023f49b6ca93c4aaae470268",
                252_907_541,
                unpack=".",
            ),
        ),
        subjects=(
            _captions("train2014", 82_783, 414_113),
            _captions("val2014", 40_504, 202_654),
            _captions("train2017", 118_287, 591_753),
            _captions("val2017", 5_000, 25_014),
        ),
    ),
    "coco-train2014": _photographs(
        "train2014",
        82_783,
        "ede4087e640bddba550e090eae701092534b554b42b05ac33f0300b984b31775",
        13_510_573_713,
    ),
    "coco-val2014": _photographs(
        "val2014",
        40_504,
        "fe9be816052049c34717e077d9e34aa60814a55679f804cd043e3cbee3b9fde0",
        6_645_013_297,
        LEAK,
    ),
    "coco-val2017": _photographs(
        "val2017",
        5_000,
        "4f7e2ccb2866ec5041993c9cf2a952bbed69647b115d0f74da7ce8f4bef82f05",
        815_585_330,
    ),
    "karpathy": Dataset(
        title="Karpathy's splits of COCO, Flickr8k and Flickr30k, with captions",
        terms="captions of COCO: CC BY 4.0; of Flickr8k and Flickr30k: research and education only",
        files=(
            File(
                KARPATHY,
                "sha256:4cfd70132527b80933105e5829dc9034eaab9573482e2e680abbab6130244817",
                36_745_453,
                unpack=".",
            ),
        ),
        subjects=(
            Subject(
                "dataset_coco.json",
                counting.karpathy,
                {
                    "train pictures": 82_783,
                    "train + restval pictures": 113_287,
                    "val pictures": 5_000,
                    "test pictures": 5_000,
                    "test captions": 25_010,
                },
            ),
            FLICKR30K,
            Subject(
                "dataset_flickr8k.json",
                counting.karpathy,
                {"train pictures": 6_000, "val pictures": 1_000, "test pictures": 1_000},
            ),
        ),
        notes=(KARPATHY_LEAK,),
    ),
    "flickr8k": Dataset(
        title="Flickr8k: pictures, five captions each, splits",
        terms="research and education only; the pictures belong to Flickr users",
        files=(
            File(f"{FLICKR8K}/Flickr8k_text.zip", "md5:bf6c1abcb8e4a833b7f922104de18627", unpack="."),
            File(f"{FLICKR8K}/Flickr8k_Dataset.zip", "md5:f18a1e2920de5bd84dae7cf08ec78978", unpack="."),
        ),
        subjects=(
            Subject("captions", counting.flickr8k_captions, {"pictures": 8_091, "captions": 40_455}),
            Subject("splits", counting.flickr8k_splits, {"train": 6_000, "dev": 1_000, "test": 1_000}),
            Subject("on disk", counting.flickr8k_pictures, {"pictures": 8_091}),
        ),
    ),
    "sugarcrepe": Dataset(
        title="SugarCrepe: captions of COCO's val2017 with hard negatives",
        terms="MIT: https://github.com/RAIVNLab/sugar-crepe",
        files=(
            File(f"{SUGARCREPE}/add_obj.json", size=484_593),
            File(f"{SUGARCREPE}/add_att.json", size=158_863),
            File(
                f"{SUGARCREPE}/replace_obj.json",
                "sha256:9d299600639947e9d15281a9ded1382b376cf4ea088a8d08a1314bfe76e81898",
                361_126,
            ),
            File(f"{SUGARCREPE}/replace_att.json", size=176_843),
            File(f"{SUGARCREPE}/replace_rel.json", size=312_629),
            File(
                f"{SUGARCREPE}/swap_obj.json",
                "sha256:073cdb8e253d053614e80710834d9773b09dbc1dd0a412f6f9492262caa1dcad",
                57_569,
            ),
            File(
                f"{SUGARCREPE}/swap_att.json",
                "sha256:7a7ce04e5c4c80412b48c6f0c1347fb1a2f5d54c0be6aa429b64d390e442f8d0",
                154_665,
            ),
        ),
        subjects=_items(counting.foils, ADDED | REPLACED_AND_SWAPPED),
        notes=(TESTED,),
    ),
    "sugarcrepe-pp": Dataset(
        title="SugarCrepe++: the same with a paraphrase of each caption",
        terms="MIT (its README says CC BY 4.0): https://github.com/Sri-Harsha/scpp",
        files=tuple(
            File(f"{SUGARCREPE_PP}/{kind}.json", f"sha256:{checksum}", size)
            for kind, checksum, size in (
                ("replace_obj", "5c6dc499ec8f511a8aa4ec1b7b5eb0eca90317488abe36ec39573355e2d361ab", 456_601),
                ("replace_att", "6826413592894754eeca02aeebbcbbc8b95a7456998abcc714e71c033ce6fe87", 226_275),
                ("replace_rel", "040fb95d3f0619bf515db60879e99709a87a5e9b4f524ec3403b127243480fd4", 392_738),
                ("swap_obj", "5f33cae824de431a7ecd3c5de6301f689815f9497aa36d96b154bbaf117b201b", 74_611),
                ("swap_att", "450d0fd9fcad3e6f44950dc634e7f901ab1c6d9c60a569ade5ae8ffb3d203ad8", 198_206),
            )
        ),
        subjects=_items(counting.paraphrases, REPLACED_AND_SWAPPED),
        notes=(TESTED,),
    ),
    "winoground": Dataset(
        title="Winoground: pairs of pictures and of captions of the same words",
        terms="Meta's research terms, to be accepted on the hub; pictures of Getty Images",
        subjects=(
            Subject("examples.jsonl", counting.winoground_examples, {"examples": 400}),
            Subject("on disk", counting.winoground_pictures, {"pictures": 800}),
        ),
        gated=(
            "winoground is gated: accept its terms at https://huggingface.co/datasets/facebook/winoground, "
            "log in (`hf auth login`, once `huggingface-cli login`), then `hf download facebook/winoground "
            "--repo-type dataset --local-dir {folder}`; `slipform data check winoground {folder}` verifies it"
        ),
    ),
    "flickr30k": Dataset(
        title="Flickr30k's pictures, with Karpathy's splits and captions",
        terms="research and education only, by request; the pictures belong to Flickr users",
        subjects=(
            FLICKR30K,
            Subject("on disk", counting.flickr30k_pictures, {"pictures": 31_014}),
        ),
        gated=(
            "flickr30k is gated: ask for its pictures by the form at "
            "https://shannon.cs.illinois.edu/DenotationGraph (University of Illinois), unpack them into "
            "{folder}/flickr30k-images, and put dataset_flickr30k.json, which `slipform data fetch karpathy` "
            "has, into {folder}; `slipform data check flickr30k {folder}` verifies both"
        ),
    ),
    "imagenet": Dataset(
        title="ImageNet's validation pictures (ILSVRC 2012)",
        terms="non-commercial research and education only, by registration",
        subjects=(Subject("val", counting.imagenet_pictures, {"pictures": 50_000}),),
        gated=(
            "imagenet is gated: register at https://image-net.org/download.php, and unpack "
            "ILSVRC2012_img_val.tar into {folder}/val; `slipform data check imagenet {folder}` verifies it"
        ),
    ),
}


def named(name: str) -> Dataset:
    """The dataset of a name; DataError with the choices, and the nearest, for another."""
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise DataError(f"unknown dataset {name!r}; the datasets are: {', '.join(DATASETS)}{hint}")
    return DATASETS[name]
