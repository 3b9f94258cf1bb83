"""The real data beside the project, which tests of it need."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "shared/data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the real data of ../shared/data is not here")
