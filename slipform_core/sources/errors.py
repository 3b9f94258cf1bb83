"""What a user may have got wrong about a source."""


class SourceError(ValueError):
    """A source that cannot be read: one line that names what was found and what is expected."""
