"""A page that shows what a run of ConcretePlant made and what it rejected: one file, readable offline."""

from .draw import draw_samples
from .page import write_page

__all__ = ["draw_samples", "write_page"]
