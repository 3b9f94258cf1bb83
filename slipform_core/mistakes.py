"""What a user may have got wrong."""


class Mistake(ValueError):
    """One line that names the value and what would be right; shown without a traceback."""


class BadPicture(ValueError):
    """A picture that cannot be used; the message is the reason that is counted."""
