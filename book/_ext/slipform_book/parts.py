"""What the directives share: where results are, tables, boxes, and an error that is the page's."""

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from slipform_core import results, tables

WRONG = (results.MissingResult, OSError, TypeError, ValueError)

Cell = str | list[nodes.Node]


class FromResults(SphinxDirective):
    """A directive made of results: what is missing or malformed is an error of the page that asks for it."""

    def run(self) -> list[nodes.Node]:
        try:
            return self.shown()
        except WRONG as error:
            return [self.state.document.reporter.error(f"{self.name}: {error}", line=self.lineno)]

    def shown(self) -> list[nodes.Node]:
        raise NotImplementedError

    def beside(self, name: str) -> Path:
        """A file of the book's folder."""
        return Path(self.env.srcdir) / "book" / name

    def open_run(self) -> tables.Run:
        return tables.open_run(self.config.slipform_run)

    def inline(self, text: str) -> list[nodes.Node]:
        """Text with its markup, mathematics for instance, as inline nodes."""
        return self.parse_inline(text)[0]


def table(kind: str, columns: dict[str, int], rows: list[list[Cell]]) -> nodes.table:
    """A docutils table: columns by name with their relative widths, cells as text or inline nodes."""
    group = nodes.tgroup("", cols=len(columns))
    group += [nodes.colspec(colwidth=width) for width in columns.values()]
    for part, lines in ((nodes.thead, [list(columns)]), (nodes.tbody, rows)):
        group += part("", *(nodes.row("", *(_entry(cell) for cell in line)) for line in lines))
    return nodes.table("", group, classes=[*kind.split(), "colwidths-given"])


def _entry(cell: Cell) -> nodes.entry:
    content = [nodes.Text(cell)] if isinstance(cell, str) else cell
    return nodes.entry("", nodes.paragraph("", "", *content))


def box(title: str, kind: str, *content: nodes.Node) -> nodes.admonition:
    return nodes.admonition("", nodes.title("", title), *content, classes=[kind])


def badge(verdict: str) -> nodes.inline:
    return nodes.inline("", verdict, classes=["verdict", verdict.replace(" ", "-")])


def small(text: str, kind: str = "check") -> nodes.inline:
    """A line of its own under what a cell says."""
    return nodes.inline("", text, classes=[kind])


def listed(fields: dict[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items())
