"""Sphinx extension of the book: numbers from results files, the claims ledger, the reference run, MathJax.

A missing value is an error of the page that asks for it, and the book is built with -W: it stops the build.
Only the reference run may be missing as a whole, which its places then say.
"""

import os
from typing import Any

from sphinx.application import Sphinx

from slipform_book.pages import copy_mathjax, finish
from slipform_book.reference import Contrasts, Plan, ReferenceRun, SeedsRole, Stale
from slipform_book.run import Provenance, Remake, ResultRole, Statistics
from slipform_book.stated import Claims, NotRun, ReportedTable

# What the Makefile says in the environment: the folder of the run that the book is about, the command that
# makes it again, and where reference runs are.
SAID = {"slipform_run": "build/runs/mini", "slipform_again": "make", "slipform_reference": "results"}
ROLES = {"result": ResultRole(), "seeds": SeedsRole()}
DIRECTIVES = {
    "claims": Claims,
    "contrasts": Contrasts,
    "not-run": NotRun,
    "plan": Plan,
    "provenance": Provenance,
    "reference": ReferenceRun,
    "remake": Remake,
    "reported": ReportedTable,
    "stale": Stale,
    "statistics": Statistics,
}


def setup(app: Sphinx) -> dict[str, Any]:
    for name, default in SAID.items():
        app.add_config_value(name, os.environ.get(name.upper(), default), "env", str)
    for name, role in ROLES.items():
        app.add_role(name, role)
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    app.connect("builder-inited", copy_mathjax)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
