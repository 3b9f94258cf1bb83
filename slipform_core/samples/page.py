"""The page itself, from a template."""

import base64
import io
from importlib.resources import files
from pathlib import Path

from PIL import Image

from slipform_core.changes import marked
from slipform_core.concrete_plant import PlantReport
from slipform_core.config import Recipe
from slipform_core.files import write_text
from slipform_core.records import HardNegative
from slipform_core.samples.draw import draw_rejections, draw_samples, draw_texts
from slipform_core.shards import Sample

PAGE = "samples.html"
CHOSEN = {
    "hc": "one of the most concrete words of its role, of 4 and more",
    "lc": "one of the least concrete words of its role, below 4",
    "wo": "any word that the norms cover",
    "swap": "two words of one role, exchanged",
}
QUALITY = 80  # of the pictures on the page


def write_page(report: PlantReport, *, recipe: Recipe, source: str, count: int) -> Path:
    """Write samples.html into a run's folder: counts, `count` hard negatives, rejections of each reason."""
    from jinja2 import Environment

    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        (files(__package__) / "page.html").read_text()
    )
    shown = draw_rejections(report.folder, recipe.seed)
    reasons = report.rejected.most_common()
    html = template.render(
        source=source,
        recipe=recipe,
        chosen=CHOSEN[recipe.choose],
        kept=report.kept,
        pictures=report.pictures,
        read=report.read,
        samples=_samples(report, count, recipe.seed),
        rejected=[(reason, number, shown.get(reason, [])) for reason, number in reasons],
    )
    path = report.folder / PAGE
    write_text(path, html)
    return path


def _samples(report: PlantReport, count: int, seed: int) -> list[dict]:
    if not report.pictures:
        return [_texts(record) for record in draw_texts(report.folder, count, seed)]
    return [_shown(sample) for sample in draw_samples(report.folder, count, seed)]


def _shown(sample: Sample) -> dict:
    pictures = {"picture": _jpeg(sample.picture), "negative_picture": _jpeg(sample.negative_picture)}
    return _texts(sample.record) | pictures


def _texts(record: HardNegative) -> dict:
    own, negative = marked(record.caption, record.negative_caption)
    return {"record": record, "own": own, "negative": negative}


def _jpeg(pixels) -> str:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="JPEG", quality=QUALITY)
    return base64.b64encode(stream.getvalue()).decode()
