"""A page that shows what a run of ConcretePlant made and what it rejected: one file, readable offline."""

from .page import write_page

__all__ = ["write_page"]
