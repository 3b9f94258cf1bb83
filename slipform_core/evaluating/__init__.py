"""`slipform eval`: any models over any benchmarks, into results files and tables."""

from .request import Request, names_of, read, run
from .runs import Asked, evaluate_models
from .shown import TABLES, long_table, print_tables, wide_table, write_tables

__all__ = [
    "TABLES",
    "Asked",
    "Request",
    "evaluate_models",
    "long_table",
    "names_of",
    "print_tables",
    "read",
    "run",
    "wide_table",
    "write_tables",
]
