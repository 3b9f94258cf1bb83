"""Classification by frozen features: zero-shot, linear probes, COCO's objects; strict, with the protocol."""

from slipform_core.classification.coco import coco_objects
from slipform_core.classification.folders import imagenet, labelled_folder
from slipform_core.classification.labels import LabelledSet, MultiLabelSet
from slipform_core.classification.linear_probe import linear_probe
from slipform_core.classification.multi_label import multi_label_probe
from slipform_core.classification.regression import PROBES, Probe
from slipform_core.classification.scoring import Classified
from slipform_core.classification.sets import SETS, labelled_set
from slipform_core.classification.torchvision_sets import torchvision_set
from slipform_core.classification.vtab import vtab_task
from slipform_core.classification.zero_shot import zero_shot

__all__ = [
    "PROBES",
    "SETS",
    "Classified",
    "LabelledSet",
    "MultiLabelSet",
    "Probe",
    "coco_objects",
    "imagenet",
    "labelled_folder",
    "labelled_set",
    "linear_probe",
    "multi_label_probe",
    "torchvision_set",
    "vtab_task",
    "zero_shot",
]
