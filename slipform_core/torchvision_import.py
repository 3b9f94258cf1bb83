"""Imports torchvision where its compiled operators do not fit the installed torch (pytorch/vision #9077).

A CPU build of torch beside the registry's torchvision stops at "operator torchvision::nms does not exist".
Declaring the two schemas is enough for open_clip, timm and diffusers, which never call them. Beside a
torchvision that works, this module does nothing. Import it before the first of those libraries.
"""

import sys

import torch

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def _import() -> torch.library.Library | None:
    try:
        import torchvision  # noqa: F401
    except RuntimeError as error:
        if "nms" not in str(error):
            raise
    else:
        return None
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    library = torch.library.Library("torchvision", "DEF")
    for schema in SCHEMAS:
        library.define(schema)
    import torchvision  # noqa: F401

    return library


LIBRARY = _import()  # kept, since the schemas live as long as the library object
