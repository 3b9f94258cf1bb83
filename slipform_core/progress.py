"""Progress bars that stay readable when several processes work and when the output is a file."""

import sys
import threading
from typing import Any

from tqdm import tqdm

# Each process has a line of its own; tqdm's lock between processes is left behind by one that is ended.
tqdm.set_lock(threading.RLock())

position = 0  # the line of this process's bars, set by the executor in its workers


def bar(**settings: Any) -> tqdm:
    """A tqdm bar on this process's line; in a log file it speaks twice a minute."""
    if not settings.get("disable"):
        settings.pop("disable", None)  # said, it would win over TQDM_DISABLE
    interval = 0.5 if sys.stderr.isatty() else 30
    return tqdm(position=position, mininterval=interval, miniters=1, dynamic_ncols=True, **settings)
