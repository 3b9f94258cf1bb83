"""A stage's output is a folder named by what it depends on, made once and kept until that changes."""

import ast
import hashlib
import inspect
import io
import json
import time
import tokenize
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from slipform_core.config import fingerprint
from slipform_core.files import write_text

PACKAGE = __package__
DONE = "done.json"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def _graph():
    import grimp

    return grimp.build_graph(PACKAGE, cache_dir=None)


@cache
def code(*modules: str) -> str:
    """Twelve hex digits of the modules, of what they import of ours, and of the data files they name.

    Comments and docstrings do not count.
    """
    graph = _graph()
    every = {*modules}.union(*(graph.find_upstream_modules(module) for module in modules))
    digest = hashlib.sha256()
    for name in sorted(every):
        for path in _files(Path(find_spec(name).origin)):
            text = path.read_text()
            digest.update(f"{name}/{path.name}{working(text) if path.suffix == '.py' else text}".encode())
    return digest.hexdigest()[:12]


def working(text: str) -> str:
    """A module's text without what changes no result: comments, docstrings and empty lines."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            said = node.body[0]
            lines[said.lineno - 1 : said.end_lineno] = [""] * (said.end_lineno - said.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _files(module: Path) -> list[Path]:
    """A module's file, and the data files beside it that it names, alone or by their folder."""
    text = module.read_text()
    beside = (path for kind in ("*.csv", "*.json", "*.yml") for path in sorted(module.parent.rglob(kind)))
    return [module, *(path for path in beside if path.relative_to(module.parent).parts[0] in text)]


def stage(folder: Path, name: str, *depends: Any, make: Callable[[Path], None]) -> Path:
    """The folder `<name>-<fingerprint>`, made by `make(folder)` unless it stands.

    The fingerprint is of `depends` and of the module that `make` is written in, without what that imports.
    `make` may find what a killed run left and go on from there. Two processes that want the same stage wait
    for each other.
    """
    from filelock import FileLock

    recipe = working(Path(inspect.getfile(getattr(make, "func", make))).read_text())
    path = folder / f"{name}-{fingerprint(recipe, *depends)}"
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
