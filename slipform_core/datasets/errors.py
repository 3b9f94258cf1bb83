"""What may be wrong with data that is fetched or checked."""

from slipform_core.mistakes import Mistake


class DataError(Mistake):
    """One line that names what was found and what is expected."""
