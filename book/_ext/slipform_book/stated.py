"""What others stated: the claims ledger, what they reported, and the box round what is not ours."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from slipform_book.parts import Cell, FromResults, badge, box, small, table
from slipform_core import claims, comparisons, tables

NOT_RUN = "Not run by us"


class Claims(FromResults):
    """The ledger of book/claims, or one topic (a file) of it, with verdicts computed here and now."""

    optional_arguments = 1
    final_argument_whitespace = True

    def shown(self) -> list[nodes.Node]:
        ledger, run = claims.load(self.beside("claims")), self.open_run()
        if self.arguments:
            topics = list(dict.fromkeys(claim.topic for claim in ledger))
            if self.arguments[0] not in topics:
                raise ValueError(f"no topic {self.arguments[0]!r}; the topics are: {', '.join(topics)}")
            ledger = [claim for claim in ledger if claim.topic == self.arguments[0]]
        evidence = claims.Evidence(
            run, comparisons.open_reference(self.config.slipform_reference, run.profile)
        )
        rows = [self._row(claim, claims.judge(claim, evidence)) for claim in ledger]
        columns = {"Statement": 30, "Stated by": 11, "Reported": 20, "Ours, computed here": 25, "Verdict": 14}
        return [table("ledger claims", columns, rows)]

    def _row(self, claim: claims.Claim, outcome: claims.Outcome) -> list[Cell]:
        check = small(f"{outcome.basis}, {claim.check.name}")
        statement, reported = (self.inline(text) for text in (claim.statement, claim.reported))
        ours = [nodes.Text(outcome.ours + " "), check]
        return [statement, claim.stated_by, reported, ours, [badge(outcome.verdict)]]


class NotRun(SphinxDirective):
    """A box round what only the paper's scale can show: its numbers are not ours."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        around = box(NOT_RUN, "not-run")
        self.state.nested_parse(self.content, self.content_offset, around)
        return [around]


class ReportedTable(FromResults):
    """{reported} TABLE is that table of book/reported.yml, in a box, with who stated it."""

    required_arguments = 1

    def shown(self) -> list[nodes.Node]:
        path, name = self.beside("reported.yml"), self.arguments[0]
        known = tables.reported(path)
        if name not in known:
            raise ValueError(f"no table {name!r} in {path}; there are: {', '.join(known)}")
        given = known[name]
        rows = [[row, *(self._cell(given.stated(row, of)) for of in given.columns)] for row in given.rows]
        columns = {"": 2} | dict.fromkeys(given.columns, 1)
        about = nodes.paragraph("", f"{given.about}, {given.unit}. Stated by: {given.stated_by}.")
        return [box(NOT_RUN, "not-run", about, table("reported", columns, rows))]

    def _cell(self, stated: tables.Stated | None) -> str:
        return tables.NONE if stated is None else stated.text
