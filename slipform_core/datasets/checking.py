"""Checking: what a folder holds, counted, beside what it should hold."""

from dataclasses import dataclass
from pathlib import Path

from slipform_core.datasets.errors import DataError
from slipform_core.datasets.kinds import Found, Subject
from slipform_core.datasets.registry import named


@dataclass(frozen=True)
class Line:
    """One count of a check and what was expected; without an expected count, a note."""

    what: str
    found: int | None = None
    expected: int | None = None
    detail: str = ""

    @property
    def ok(self) -> bool:
        return self.found == self.expected

    def __str__(self) -> str:
        if self.expected is None:
            return f"note    {self.what}"
        counted = "not counted" if self.found is None else f"{self.found:,}"
        expected = "" if self.ok else f", expected {self.expected:,}"
        detail = f" ({self.detail})" if self.detail else ""
        return f"{'ok' if self.ok else 'FAILED':<8}{self.what}: {counted}{expected}{detail}"


def check(name: str, folder: Path) -> list[Line]:
    """Every count of a dataset, also after one that is wrong, then its notes.

    All is well if every line is ok. Raises DataError for an unknown dataset and a folder that is not there.
    """
    dataset = named(name)
    if not folder.is_dir():
        way = dataset.gated or f"`slipform data fetch {name} --to {{folder}}` makes it"
        raise DataError(f"{folder} is no folder: {way.format(folder=folder)}")
    lines = [line for subject in dataset.subjects for line in _lines(subject, folder)]
    return lines + [Line(note) for note in dataset.notes]


def _lines(subject: Subject, folder: Path) -> list[Line]:
    import zipfile

    import ijson

    found, otherwise = {}, Found(0)
    try:
        found = subject.count(folder, subject.name)
    except DataError as error:
        otherwise = (None, str(error))
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        RecursionError,
        ijson.JSONError,
        zipfile.BadZipFile,
    ) as error:
        otherwise = (None, f"cannot be read: {type(error).__name__}: {' '.join(str(error).split())}")
    lines = []
    for what, expected in subject.expected.items():
        count, detail = found.get(what, otherwise)
        lines.append(Line(f"{subject.name}: {what}", count, expected, detail))
    return lines
