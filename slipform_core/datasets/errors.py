"""What may be wrong with data that is fetched or checked."""


class DataError(ValueError):
    """One line that names what was found and what is expected."""
