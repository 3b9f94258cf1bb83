"""Public data by name: fetched with checksums, counted on disk; what is gated says where to ask."""

from .checking import Line, check
from .errors import DataError
from .fetching import fetch
from .kinds import Dataset, File
from .registry import DATASETS, named

__all__ = ["DATASETS", "DataError", "Dataset", "File", "Line", "check", "fetch", "named"]
