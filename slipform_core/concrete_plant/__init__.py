"""ConcretePlant: captions in, audited hard negatives and counts of what was rejected out.

keywords -> target word by concreteness -> rewritten caption -> audit -> edited picture -> shard.
"""

from .parts import Rejection, rejections
from .pictures import PictureStage
from .plant import ConcretePlant, PlantReport, report, texts_report
from .texts import SWAP, TextStage

__all__ = [
    "SWAP",
    "ConcretePlant",
    "PictureStage",
    "PlantReport",
    "Rejection",
    "TextStage",
    "rejections",
    "report",
    "texts_report",
]
