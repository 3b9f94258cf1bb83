"""This run: its numbers in prose, how it was made, and how to make it again."""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from slipform_book.parts import WRONG, Cell, FromResults, listed, table
from slipform_core import tables


class ResultRole(SphinxRole):
    """{result}`composition:base/macro/value|.2f` is that number of this run, in that format.

    An arm that this run does not train, though its parameters have it, is a dash.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        reference, _, form = self.text.partition("|")
        try:
            text, shown = self._read(reference, form)
        except WRONG as error:
            return [], [self.inliner.reporter.error(f"result {self.text!r}: {error}", line=self.lineno)]
        return [nodes.abbreviation("", text, explanation=shown, classes=["result"])], []

    def _read(self, reference: str, form: str) -> tuple[str, str]:
        """The number and where it is from."""
        run = tables.open_run(self.config.slipform_run)
        experiment, _, path = reference.partition(":")
        arm = path.partition("/")[0]
        result = run.result(experiment)
        if arm not in result.values and arm in result.made.get("config", {}).get("arms", {}):
            return tables.NONE, f"this run does not train {arm}"
        return format(run[reference], form), f"{experiment}.json: {path.replace('/', ' / ')}"


class Remake(SphinxDirective):
    """How to make the figure or table above again: this page's notebook, or the whole run."""

    def run(self) -> list[nodes.Node]:
        name, run = Path(self.env.docname).name, self.config.slipform_run
        notebook = f".venv/bin/slipform notebook notebooks/{name}.py --out build/{name}.ipynb -p run {run}"
        text = [nodes.Text("Make it again: "), nodes.literal("", notebook)]
        text += [nodes.Text(" or the whole run: "), nodes.literal("", self.config.slipform_again)]
        return [nodes.paragraph("", "", *text, classes=["remake"])]


class Statistics(SphinxDirective):
    """When each notebook was executed, for how long and with which parameters, from papermill's metadata."""

    def run(self) -> list[nodes.Node]:
        rows = []
        for path in sorted((Path(self.env.srcdir) / "notebooks").glob("*.ipynb")):
            made = json.loads(path.read_text())["metadata"]["papermill"]
            parameters = ", ".join(f"{name} = {value!r}" for name, value in made["parameters"].items())
            when = made["start_time"][:16].replace("T", " ")
            rows.append([path.stem, f"{made['duration']:.1f}", when, [nodes.literal("", parameters)]])
        columns = {"Notebook": 24, "Seconds": 12, "Executed (UTC)": 26, "Parameters": 38}
        return [table("ledger statistics", columns, rows)]


class Provenance(FromResults):
    """How the results files of this run were made; one table, as they are made together."""

    def shown(self) -> list[nodes.Node]:
        run = self.open_run()
        made: dict[str, list[str]] = {}
        for name in sorted(path.stem for path in run.folder.glob("*.json")):
            made.setdefault(json.dumps(run.result(name).made), []).append(f"{name}.json")
        columns = {"What": 20, "How": 80}
        return [
            table("ledger provenance", columns, self._rows(json.loads(how), files))
            for how, files in made.items()
        ]

    def _rows(self, made: dict[str, Any], files: list[str]) -> list[list[Cell]]:
        return [
            ["files", ", ".join(files)],
            ["command", [nodes.literal("", made["command"])]],
            ["seconds", f"{made['seconds']:.1f}, without the stages that stood from before"],
            ["fingerprint", [nodes.literal("", made["fingerprint"])]],
            ["versions", listed(made["versions"])],
            ["machine", listed(made["machine"])],
        ]
