"""Runs one py:percent notebook with parameters: papermill, plus what a build needs of it.

The executed notebook carries a content key (source, parameters, what it needs), so that a touched but
unchanged file is not run again; a failed one is kept beside it as `<name>.failed.ipynb`.
"""

import ast
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from slipform_core import config

PACKAGE = Path(__file__).parent
START_SECONDS = 120
CELL_SECONDS = 600

# A header may name a kernel that is not here: it is left out, for it does not matter.
HEADER = re.compile(r"\A# ---\n(?:#.*\n)*?# ---\n")

# The kernel is the running interpreter's own, draws into the page, and prints no progress bars.
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
ENVIRONMENT = {
    "JUPYTER_PATH": str(Path(sys.prefix) / "share" / "jupyter"),
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "TQDM_DISABLE": "1",
}


class NotebookError(RuntimeError):
    """A notebook that cannot be run as asked, or that failed, in one line."""


def run(notebook: Path, out: Path, parameters: Mapping[str, str], needs: Iterable[Path] = ()) -> bool:
    """Run `notebook` into `out` and tell whether that was needed; values of `parameters` are YAML.

    `needs` are files and folders whose content the outcome depends on, besides the package itself.
    Raises NotebookError with one line when a parameter is unknown or of another type than its default, or
    when a cell fails, runs for more than CELL_SECONDS or loses its kernel: then no `out` is left.
    """
    import jupytext

    if not notebook.is_file():
        raise NotebookError(f"no notebook {notebook}")
    text = notebook.read_text()
    source = jupytext.reads(HEADER.sub("", text), fmt="py:percent")
    values = typed(defaults(source, notebook), parameters, notebook)
    key = config.fingerprint(text, values, contents([PACKAGE, *needs]))
    if key == _key(out):
        out.touch()
        return False
    source.metadata["kernelspec"] = KERNEL
    source.metadata["slipform"] = {"key": key}
    _execute(source, notebook, out, values)
    return True


def defaults(source: Any, notebook: Path) -> dict[str, Any]:
    """The parameters of a notebook with their defaults: the assignments of its cell tagged `parameters`."""
    cells = [cell.source for cell in source.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        raise NotebookError(f"{notebook}: {len(cells)} cells are tagged 'parameters', one is needed")
    assignments = [node for node in ast.parse(cells[0]).body if isinstance(node, ast.Assign)]
    try:
        return {node.targets[0].id: ast.literal_eval(node.value) for node in assignments}
    except (AttributeError, ValueError):
        raise NotebookError(f"{notebook}: its parameters cell must assign plain values to names") from None


def typed(known: Mapping[str, Any], given: Mapping[str, str], notebook: Path) -> dict[str, Any]:
    """The given values as the types of the defaults: text stays as it is, everything else is read as YAML."""
    values = {}
    for name, text in given.items():
        if name not in known:
            raise NotebookError(f"{notebook} has no parameter {name!r}; its parameters: {', '.join(known)}")
        kind = type(known[name])
        try:
            values[name] = text if kind is str else TypeAdapter(kind).validate_python(yaml.safe_load(text))
        except (ValidationError, yaml.YAMLError):
            wanted = f"{kind.__name__} such as {known[name]!r}"
            raise NotebookError(f"{notebook}: parameter {name} = {text!r} is no {wanted}") from None
    return values


def contents(paths: Iterable[Path]) -> dict[str, str]:
    """A hash of each file that `paths` name or hold, bytecode left out."""
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file() and file.suffix != ".pyc"
    }


def _key(out: Path) -> str | None:
    try:
        return json.loads(out.read_text())["metadata"]["slipform"]["key"]
    except (OSError, ValueError, KeyError):
        return None


def _execute(source: Any, notebook: Path, out: Path, values: Mapping[str, Any]) -> None:
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    partial, failed = out.with_suffix(".partial.ipynb"), out.with_suffix(".failed.ipynb")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        _papermill(source, partial, values)
    except papermill.PapermillExecutionError as error:
        reason = f"cell {error.exec_count}: {error.ename}: {error.evalue}"
    except (DeadKernelError, CellTimeoutError, RuntimeError) as error:
        reason = str(error)
    else:
        partial.replace(out)
        failed.unlink(missing_ok=True)
        return
    out.unlink(missing_ok=True)
    if partial.is_file():
        partial.replace(failed)
    first = (reason.strip().splitlines() or ["the kernel ended"])[0]
    raise NotebookError(f"{notebook} failed: {first} (see {failed})")


@contextmanager
def _environment() -> Iterator[None]:
    """The kernel's environment is that of this process, for as long as the kernel runs."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ |= ENVIRONMENT
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def _papermill(source: Any, out: Path, values: Mapping[str, Any]) -> None:
    import papermill
    from traitlets.config import Config

    # Sockets in a folder of its own: no port, and no file, for two starting kernels to fight over.
    with _environment(), tempfile.TemporaryDirectory() as sockets:
        executed = papermill.execute_notebook(
            source,
            out,
            parameters=dict(values),
            kernel_name=KERNEL["name"],
            progress_bar=False,
            start_timeout=START_SECONDS,
            execution_timeout=CELL_SECONDS,
            config=Config(KernelManager={"transport": "ipc", "ip": f"{sockets}/kernel"}),
            extra_arguments=["--log-level=CRITICAL"],
        )
    for cell in executed.cells:
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.metadata["tags"].append("remove-cell")
    papermill.iorw.write_ipynb(executed, str(out))
