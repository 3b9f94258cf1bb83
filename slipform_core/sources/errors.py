"""What a user may have got wrong about a source."""

from slipform_core.mistakes import Mistake


class SourceError(Mistake):
    """A source that cannot be read: one line that names what was found and what is expected."""
