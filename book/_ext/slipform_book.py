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

RUN = os.environ.get("SLIPFORM_RUN", "build/runs/mini")


def table(header: list[str], rows: list[list[list[nodes.Node]]], widths: list[int], kind: str) -> nodes.table:
    """A docutils table; a cell is a list of inline nodes."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in widths), cols=len(widths))
    for wrapper, lines in ((nodes.thead, [[[nodes.Text(text)] for text in header]]), (nodes.tbody, rows)):
        group += wrapper("", *(nodes.row("", *(_entry(cell) for cell in line)) for line in lines))
    return nodes.table("", group, classes=[kind])


def _entry(cell: list[nodes.Node]) -> nodes.entry:
    return nodes.entry("", nodes.paragraph("", "", *cell))


class ResultRole(SphinxRole):
    """{result}`composition:base/swap_obj/i2t/value|.2f` is that number of this run, in that format."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        reference, _, form = self.text.partition("|")
        try:
            text = format(tables.open_run(RUN)[reference], form)
        except (results.MissingResult, TypeError, ValueError) as error:
            return [], [self.inliner.reporter.error(f"result {self.text!r}: {error}", line=self.lineno)]
        experiment, _, path = reference.partition(":")
        shown = f"{experiment}.json: {path.replace('/', ' / ')}"
        return [nodes.abbreviation("", text, explanation=shown, classes=["result"])], []


class Claims(SphinxDirective):
    """The ledger of book/claims.yml with verdicts computed from this run's results."""

    def run(self) -> list[nodes.Node]:
        ledger = Path(self.env.srcdir) / "book" / "claims.yml"
        self.env.note_dependency(str(ledger))
        run, rows = tables.open_run(RUN), []
        try:
            for claim in claims.load(ledger):
                outcome = claims.judge(claim, run)
                mark = nodes.inline(
                    "", outcome.verdict, classes=["verdict", outcome.verdict.replace(" ", "-")]
                )
                basis = f" ({outcome.basis})" if outcome.basis else ""
                cells = [claim.statement, claim.stated_by, claim.reported, outcome.ours + basis]
                rows.append([*([nodes.Text(text)] for text in cells), [mark]])
        except (results.MissingResult, TypeError, ValueError) as error:
            return [self.state.document.reporter.error(f"claims: {error}", line=self.lineno)]
        header = ["Statement", "Stated by", "Reported", "Ours, computed here", "Verdict"]
        return [table(header, rows, [34, 12, 20, 24, 10], "claims")]


class NotRun(SphinxDirective):
    """A box round what only the paper's scale can show: its numbers are not ours."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        box = nodes.admonition("", nodes.title("", "Not run by us"), classes=["not-run"])
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class Remake(SphinxDirective):
    """How to make the figure above again: the notebook's command, and the run's."""

    def run(self) -> list[nodes.Node]:
        name = Path(self.env.docname).name
        notebook = f"slipform notebook notebooks/{name}.py --out build/{name}.ipynb -p run {RUN}"
        command = f"make RUN={Path(RUN).name}"
        text = [nodes.Text("Remake this figure: "), nodes.literal("", notebook)]
        text += [nodes.Text("; the whole run: "), nodes.literal("", command)]
        return [nodes.paragraph("", "", *text, classes=["remake"])]


class Statistics(SphinxDirective):
    """When each notebook was executed, for how long and with which parameters, from papermill's metadata."""

    def run(self) -> list[nodes.Node]:
        rows = []
        for path in sorted((Path(self.env.srcdir) / "notebooks").glob("*.ipynb")):
            self.env.note_dependency(str(path))
            made = json.loads(path.read_text())["metadata"]["papermill"]
            parameters = ", ".join(f"{name} = {value!r}" for name, value in made["parameters"].items())
            cells = [
                path.stem,
                f"{made['duration']:.1f}",
                made["start_time"][:16].replace("T", " "),
                parameters,
            ]
            rows.append([[nodes.Text(text)] for text in cells])
        return [
            table(
                ["Notebook", "Seconds", "Executed (UTC)", "Parameters"], rows, [25, 10, 20, 45], "statistics"
            )
        ]


class Provenance(SphinxDirective):
    """How each results file of this run was made: command, seconds, machine, versions."""

    def run(self) -> list[nodes.Node]:
        run, rows = tables.open_run(RUN), []
        for path in sorted((run.folder / "results" / run.profile).glob("*.json")):
            made = run.result(path.stem).made
            versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
            cells = [path.stem, f"{made['seconds']:.1f}", made["fingerprint"], made["command"], versions]
            rows.append([[nodes.Text(text)] for text in cells])
        header = ["Results file", "Seconds", "Fingerprint", "Command", "Versions"]
        return [table(header, rows, [12, 8, 12, 34, 34], "statistics")]


def copy_mathjax(app: Sphinx) -> None:
    """Put the one file of MathJax that draws SVG beside the pages, with its licence: pages work from file://."""
    package = Path(importlib.util.find_spec("mathjax").submodule_search_locations[0], "static", "mathjax")
    target = Path(app.outdir, "_static", "mathjax")
    target.mkdir(parents=True, exist_ok=True)
    for source in (package / "es5" / "tex-svg.js", package / "LICENSE"):
        shutil.copyfile(source, target / source.name)


def drop_font_preloads(app: Sphinx, exception: Exception | None) -> None:
    """Take the theme's font preloads out of the pages: from file:// browsers refuse them, with an error each."""
    if exception is None and app.builder.format == "html":
        for page in Path(app.outdir).glob("**/*.html"):
            page.write_text(re.sub(r'<link rel="preload" as="font"[^>]*>\s*', "", page.read_text()))


def count_pages(app: Sphinx, exception: Exception | None) -> None:
    """Each entry of the table of contents is a page on disk, or the build has failed."""
    if exception is None and app.builder.format == "html":
        pages = parse_toc_yaml(app.config.external_toc_path)
        missing = [page for page in pages if not Path(app.outdir, f"{page}.html").is_file()]
        if missing:
            raise ExtensionError(
                f"pages of the table of contents that were not written: {', '.join(missing)}"
            )


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("result", ResultRole())
    for name, directive in {
        "claims": Claims,
        "not-run": NotRun,
        "remake": Remake,
        "statistics": Statistics,
        "provenance": Provenance,
    }.items():
        app.add_directive(name, directive)
    app.connect("builder-inited", copy_mathjax)
    app.connect("build-finished", drop_font_preloads)
    app.connect("build-finished", count_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
