"""A stage's output is a folder named by what it depends on, made once and kept until that changes."""

import hashlib
import json
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from slipform_core.config import fingerprint
from slipform_core.files import write_text

PACKAGE = __package__
DONE = "done.json"


@cache
def _graph():
    import grimp

    return grimp.build_graph(PACKAGE, cache_dir=None)


@cache
def code(module: str) -> str:
    """Twelve hex digits that change when a module, or one of ours that it imports, does; data files count
    too.
    """
    modules = {module, *_graph().find_upstream_modules(module)}
    digest = hashlib.sha256()
    for name in sorted(modules):
        source = Path(find_spec(name).origin)
        data = sorted(source.parent.glob("*.[cj]s*")) if source.name == "__init__.py" else []
        for path in [source, *data]:
            digest.update(f"{name}/{path.name}".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def stage(folder: Path, name: str, *depends: Any, make: Callable[[Path], None]) -> Path:
    """The folder `<name>-<fingerprint of depends>`, made by `make(folder)` unless it stands.

    `make` may find what a killed run left and go on from there. Two processes that want the same stage wait
    for each other.
    """
    from filelock import FileLock

    path = folder / f"{name}-{fingerprint(*depends)}"
    path.mkdir(parents=True, exist_ok=True)
    with FileLock(path / ".lock"):
        if not (path / DONE).is_file():
            started = time.monotonic()
            make(path)
            write_text(path / DONE, json.dumps({"seconds": round(time.monotonic() - started, 1)}))
    return path


def seconds(path: Path) -> float:
    """How long a finished stage took, its last go if it was resumed."""
    return json.loads((path / DONE).read_text())["seconds"]
