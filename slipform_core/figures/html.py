"""Captions and hard negatives as HTML."""

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from slipform_core.changes import Run, marked

if TYPE_CHECKING:
    import numpy as np

    from slipform_core.records import Keyword
    from slipform_core.shards import Sample


def marked_caption(caption: str, keywords: "Sequence[Keyword]") -> str:
    """A caption as HTML with its keywords marked by role, each with its concreteness below it."""
    parts, end = [], 0
    for word in keywords:
        rating = "not in the norms" if word.concreteness is None else f"{word.concreteness:.2f}"
        parts += [
            html.escape(caption[end : word.start]),
            f'<span class="keyword {word.role}">{html.escape(word.text)}<small>{rating}</small></span>',
        ]
        end = word.end
    roles = "".join(
        f'<span class="keyword {role}">{role}</span> ' for role in ("object", "attribute", "relation")
    )
    return f'<p class="marked-caption">{"".join(parts)}{html.escape(caption[end:])}</p><p>{roles}</p>'


def no_reference(profile: str) -> str:
    """What a page says where the reference run would be, as HTML."""
    return f"<p>No reference run of profile {profile}: <code>make reference</code>.</p>"


def negative_pairs(samples: "Iterable[Sample]") -> str:
    """Hard negatives as HTML: each picture and caption beside the edited ones, with what changed marked."""
    pairs = []
    for sample in samples:
        record = sample.record
        own, negative = map(_marked, marked(record.caption, record.negative_caption))
        sides = [(sample.picture, own), (sample.negative_picture, negative)]
        figures = [
            f"<figure>{_image(pixels)}<figcaption>{text}</figcaption></figure>" for pixels, text in sides
        ]
        rating = f'<p class="rating">c = {record.keyword.concreteness:.2f}</p>'
        pairs.append(f'<div class="pair">{"".join(figures)}{rating}</div>')
    return f'<div class="negative-pairs">{"".join(pairs)}</div>'


def _marked(runs: Sequence[Run]) -> str:
    texts = ((alone, html.escape(words)) for alone, words in runs)
    return " ".join(f"<mark>{words}</mark>" if alone else words for alone, words in texts)


def _image(pixels: "np.ndarray") -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'
