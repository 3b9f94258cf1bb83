"""How good hard negatives are, by readers who do not know which set a negative is from.

`draw` takes as many negatives of each set by a fixed seed, with an edited picture or without, shuffles
them, and writes pages to read and a key. `tally` counts the verdicts of readers by set, with intervals, how
often readers agree, and what text alone gives away. Verdicts are CSV files of 0 and 1,
`item,grammatical,false,one_place,sensible`; what is kept names records, and holds no caption or picture.
"""

import argparse
import base64
import csv
import html
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from slipform_core.audit import audit
from slipform_core.changes import marked
from slipform_core.concrete_plant.parts import part_paths, read_part
from slipform_core.files import write_text
from slipform_core.probes import text_probe
from slipform_core.records import HardNegative
from slipform_core.sources import BadPicture
from slipform_core.sources.photographs import read

QUESTIONS = ("grammatical", "false", "one_place", "sensible")
SIDE, ON_A_PAGE, SEED = 280, 20, 20_261_130
STYLE = """body { font: 15px/1.35 sans-serif; margin: 8px; display: grid; gap: 8px;
grid-template-columns: repeat(5, 1fr); } article { border: 1px solid #999; padding: 4px; }
img { width: 100%; } p { margin: 2px 0; } mark { background: #ffd98a; }"""


def records(out: Path) -> Iterator[HardNegative]:
    """All hard negatives of a run's text stage."""
    for path in part_paths(out).values():
        yield from (record for _, record in read_part(path).kept)


def draw(sets: dict[str, tuple[Path, Path]], count: int, folder: Path) -> None:
    """Write page-00.html and so on, and key.json, of `count` negatives of each set whose picture is there."""
    rng = np.random.default_rng(SEED)
    items = []
    for name, (out, images) in sets.items():
        found = sorted(records(out), key=lambda record: record.record_id)
        shown = (found[row] for row in rng.permutation(len(found)))
        taken = 0
        for record in shown:
            try:
                picture = read(str(images / record.image_id), SIDE)
            except BadPicture:
                continue
            items.append((name, record, picture))
            taken += 1
            if taken == count:
                break
    items = [items[row] for row in rng.permutation(len(items))]
    key = [{"set": name, "record": record.record_id} for name, record, _ in items]
    write_text(folder / "key.json", json.dumps(key, indent=0))
    for start in range(0, len(items), ON_A_PAGE):
        shown = "".join(
            _item(start + k, *item[1:]) for k, item in enumerate(items[start : start + ON_A_PAGE])
        )
        page = f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{shown}"
        write_text(folder / f"page-{start // ON_A_PAGE:02d}.html", page)


def _item(number: int, record: HardNegative, picture) -> str:
    stream = io.BytesIO()
    picture.save(stream, format="JPEG", quality=85)
    image = base64.b64encode(stream.getvalue()).decode()
    _, negative = marked(record.caption, record.negative_caption)
    text = " ".join(f"<mark>{html.escape(w)}</mark>" if new else html.escape(w) for new, w in negative)
    own = html.escape(record.caption)
    shown = f'<img src="data:image/jpeg;base64,{image}">'
    return f"<article>{shown}<p><b>{number}</b> {text}</p><p>({own})</p></article>"


def tally(sets: dict[str, Path], key: Path, verdicts: Sequence[Path]) -> dict:
    """Of each set the share of items of which each question is answered yes, with 95 % Wilson intervals."""
    items = json.loads(key.read_text())
    readers = {path.stem: _verdicts(path, len(items)) for path in verdicts}
    answers = np.stack(list(readers.values())).mean(axis=0)  # (items, questions), the mean of the readers
    of = np.array([item["set"] for item in items])
    values = {}
    for name, out in sets.items():
        mine = answers[of == name]
        kept = list(records(out))
        groups = np.unique([record.image_id for record in kept], return_inverse=True)[1]
        own, negative = ([getattr(r, f) for r in kept] for f in ("caption", "negative_caption"))
        values[name] = {
            "items": len(mine),
            **{question: _share(mine[:, column]) for column, question in enumerate(QUESTIONS)},
            "all four": _share((mine > 0.5).all(axis=1)),
            "records": len(kept),
            "audited": float(
                np.mean([audit(r.caption, r.keyword, r.negative_caption) is None for r in kept])
            ),
            "text probe": text_probe(own, negative, groups.tolist(), seed=SEED),
        }
    pairs = [(one, other) for one in readers for other in readers if one < other]
    agreement = {
        f"{one} and {other}": {
            question: round(float((readers[one][:, column] == readers[other][:, column]).mean()), 3)
            for column, question in enumerate(QUESTIONS)
        }
        for one, other in pairs
    }
    return {"sets": values, "readers": list(readers), "agreement": agreement, "seed": SEED}


def _verdicts(path: Path, count: int) -> np.ndarray:
    with path.open(newline="") as stream:
        rows = {
            int(row["item"]): [int(row[question]) for question in QUESTIONS] for row in csv.DictReader(stream)
        }
    if sorted(rows) != list(range(count)):
        raise SystemExit(f"{path} has verdicts of {len(rows)} items; the key has {count}")
    return np.array([rows[item] for item in range(count)])


def _share(yes: np.ndarray) -> dict[str, float]:
    interval = binomtest(round(float(yes.sum())), len(yes)).proportion_ci(method="wilson")
    return {
        "share": round(float(yes.mean()), 4),
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("draw", "tally"))
    parser.add_argument("--set", nargs=3, action="append", metavar=("NAME", "OUT", "IMAGES"), required=True)
    parser.add_argument("--count", type=int, default=100, help="negatives of a set")
    parser.add_argument("--folder", type=Path, required=True, help="where pages and key.json are")
    parser.add_argument("--verdicts", type=Path, nargs="*", default=[], help="a CSV file a reader")
    parser.add_argument("--out", type=Path, help="a results file")
    options = parser.parse_args()
    if options.what == "draw":
        draw(
            {name: (Path(out), Path(images)) for name, out, images in options.set},
            options.count,
            options.folder,
        )
    else:
        from report import publish

        outs = {name: Path(out) for name, out, _ in options.set}
        publish(tally(outs, options.folder / "key.json", options.verdicts), options.out)
