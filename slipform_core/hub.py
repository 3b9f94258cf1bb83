"""Models that lie in a folder, or on the hub by a name; what is wrong with either is one line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")
ADVICE = "give a folder as save_pretrained writes it, or a name on the hub"


def is_folder(model: str) -> bool:
    return Path(model).is_dir()


def check(model: str, revision: str = "", advice: str = ADVICE) -> None:
    """Raise FileNotFoundError for what is neither a folder nor a name, ValueError for a folder's revision.

    The hub is not asked.
    """
    if not is_folder(model) and not NAME.fullmatch(model):
        raise FileNotFoundError(f"there is no folder {model!r}: {advice}")
    if is_folder(model) and revision:
        raise ValueError(f"{model!r} is a folder, which has no revision {revision!r}")


@contextmanager
def loading(model: str, advice: str = ADVICE) -> Iterator[None]:
    """Makes a model that cannot be loaded a FileNotFoundError of one line that names it."""
    try:
        yield
    except (OSError, ValueError) as error:
        fetch = "" if is_folder(model) else f"; `hf download {model}` fetches it from a network"
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        message = f"cannot load the model {model!r}: {advice}{fetch} ({reason})"
        raise FileNotFoundError(message) from error
