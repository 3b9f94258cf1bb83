"""Small open_clip models with random weights, of any vision tower."""

import json
from pathlib import Path

import torch

from slipform_core.models import Clip, from_open_clip

VISION = {"image_size": 32, "patch_size": 16, "width": 32, "layers": 2, "head_width": 16}
TEXT = {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2}


def small_clip(folder: Path, name: str = "small", seed: int = 0, **vision) -> Clip:
    """A model with these entries of open_clip's vision_cfg; its configuration is written into the folder."""
    import open_clip

    config = {"embed_dim": 16, "vision_cfg": VISION | vision, "text_cfg": TEXT}
    (folder / f"{name}.json").write_text(json.dumps(config))
    open_clip.add_model_config(folder)
    torch.manual_seed(seed)
    clip = from_open_clip(name)
    clip.model.eval()
    return clip
