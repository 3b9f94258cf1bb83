"""torchvision's way of a picture to a square, as CLIP's own preprocessing has it."""

import slipform_core.torchvision_import  # noqa: F401, I001, before torchvision
from PIL import Image
from torchvision.transforms import CenterCrop, Compose, InterpolationMode, Resize


def resized(picture: Image.Image, side: int) -> Image.Image:
    return Compose([Resize(side, InterpolationMode.BICUBIC), CenterCrop(side)])(picture)
