"""Sphinx extension of the book: numbers from results files, the claims ledger, boxes, statistics, MathJax.

A missing value is an error of the page that asks for it, and the book is built with -W: it stops the build.
"""

import importlib.util
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx_external_toc.parsing import parse_toc_yaml

from slipform_core import claims, results, tables

# What the Makefile says: the folder of the run that the book is about, and the command that makes it again.
RUN = os.environ.get("SLIPFORM_RUN", "build/runs/mini")
AGAIN = os.environ.get("SLIPFORM_AGAIN", "make")
WRONG = (results.MissingResult, TypeError, ValueError)

Cell = str | list[nodes.Node]


def table(kind: str, columns: dict[str, int], rows: list[list[Cell]]) -> nodes.table:
    """A docutils table: columns by name with their relative widths, cells as text or inline nodes."""
    group = nodes.tgroup("", cols=len(columns))
    group += [nodes.colspec(colwidth=width) for width in columns.values()]
    for part, lines in ((nodes.thead, [list(columns)]), (nodes.tbody, rows)):
        group += part("", *(nodes.row("", *(_entry(cell) for cell in line)) for line in lines))
    return nodes.table("", group, classes=["ledger", kind, "colwidths-given"])


def _entry(cell: Cell) -> nodes.entry:
    content = [nodes.Text(cell)] if isinstance(cell, str) else cell
    return nodes.entry("", nodes.paragraph("", "", *content))


class ResultRole(SphinxRole):
    """{result}`composition:base/swap_obj/i2t/value|.2f` is that number of this run, in that format."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        reference, _, form = self.text.partition("|")
        try:
            text = format(tables.open_run(RUN)[reference], form)
        except WRONG as error:
            return [], [self.inliner.reporter.error(f"result {self.text!r}: {error}", line=self.lineno)]
        experiment, _, path = reference.partition(":")
        shown = f"{experiment}.json: {path.replace('/', ' / ')}"
        return [nodes.abbreviation("", text, explanation=shown, classes=["result"])], []


class Claims(SphinxDirective):
    """The ledger of book/claims.yml with verdicts computed from this run's results."""

    def run(self) -> list[nodes.Node]:
        ledger = Path(self.env.srcdir) / "book" / "claims.yml"
        try:
            run = tables.open_run(RUN)
            rows = [self._row(claim, claims.judge(claim, run)) for claim in claims.load(ledger)]
        except WRONG as error:
            return [self.state.document.reporter.error(f"claims: {error}", line=self.lineno)]
        columns = {"Statement": 30, "Stated by": 11, "Reported": 20, "Ours, computed here": 25, "Verdict": 14}
        return [table("claims", columns, rows)]

    def _row(self, claim: claims.Claim, outcome: claims.Outcome) -> list[Cell]:
        kind = outcome.verdict.replace(" ", "-")
        check = nodes.inline("", f"{outcome.basis}, {claim.check.name}", classes=["check"])
        verdict = nodes.inline("", outcome.verdict, classes=["verdict", kind])
        statement, reported = (self.parse_inline(text)[0] for text in (claim.statement, claim.reported))
        return [statement, claim.stated_by, reported, [nodes.Text(outcome.ours + " "), check], [verdict]]


class NotRun(SphinxDirective):
    """A box round what only the paper's scale can show: its numbers are not ours."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        box = nodes.admonition("", nodes.title("", "Not run by us"), classes=["not-run"])
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class Remake(SphinxDirective):
    """How to make the figure or table above again: this page's notebook, or the whole run."""

    def run(self) -> list[nodes.Node]:
        name = Path(self.env.docname).name
        notebook = f".venv/bin/slipform notebook notebooks/{name}.py --out build/{name}.ipynb -p run {RUN}"
        text = [nodes.Text("Make it again: "), nodes.literal("", notebook)]
        text += [nodes.Text(" or the whole run: "), nodes.literal("", AGAIN)]
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
        return [table("statistics", columns, rows)]


class Provenance(SphinxDirective):
    """How the results files of this run were made; one table, as they are made together."""

    def run(self) -> list[nodes.Node]:
        try:
            run = tables.open_run(RUN)
        except results.MissingResult as error:
            return [self.state.document.reporter.error(f"provenance: {error}", line=self.lineno)]
        names = sorted(path.stem for path in (run.folder / "results" / run.profile).glob("*.json"))
        made: dict[str, list[str]] = {}
        for name in names:
            made.setdefault(json.dumps(run.result(name).made), []).append(f"{name}.json")
        columns = {"What": 20, "How": 80}
        return [
            table("provenance", columns, self._rows(json.loads(how), files)) for how, files in made.items()
        ]

    def _rows(self, made: dict[str, Any], files: list[str]) -> list[list[Cell]]:
        listed = {key: ", ".join(f"{k} {v}" for k, v in made[key].items()) for key in ("versions", "machine")}
        return [
            ["files", ", ".join(files)],
            ["command", [nodes.literal("", made["command"])]],
            ["seconds", f"{made['seconds']:.1f}, without the stages that stood from before"],
            ["fingerprint", [nodes.literal("", made["fingerprint"])]],
            ["versions", listed["versions"]],
            ["machine", listed["machine"]],
        ]


def copy_mathjax(app: Sphinx) -> None:
    """Put the one file of MathJax that draws SVG beside the pages, with its licence."""
    package = Path(importlib.util.find_spec("mathjax").submodule_search_locations[0], "static", "mathjax")
    target = Path(app.outdir, "_static", "mathjax")
    target.mkdir(parents=True, exist_ok=True)
    for source in (package / "es5" / "tex-svg.js", package / "LICENSE"):
        shutil.copyfile(source, target / source.name)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Take the theme's font preloads out, and see that each entry of the table of contents is a page.

    Browsers refuse those preloads from file://, with an error on the console each.
    """
    if exception is not None or app.builder.format != "html":
        return
    pages = [Path(app.outdir, f"{name}.html") for name in parse_toc_yaml(app.config.external_toc_path)]
    missing = [str(page) for page in pages if not page.is_file()]
    if missing:
        raise ExtensionError(f"in the table of contents, but not written: {', '.join(missing)}")
    for page in Path(app.outdir).glob("**/*.html"):
        page.write_text(re.sub(r'<link rel="preload" as="font"[^>]*>\s*', "", page.read_text()))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("result", ResultRole())
    app.add_directive("claims", Claims)
    app.add_directive("not-run", NotRun)
    app.add_directive("remake", Remake)
    app.add_directive("statistics", Statistics)
    app.add_directive("provenance", Provenance)
    app.connect("builder-inited", copy_mathjax)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
