"""What two captions do not share."""

import difflib
import re

WORD = r"[\w'-]+"  # what counts as a word, wherever words of captions are compared

Run = tuple[bool, str]  # whether the words are the caption's alone, and the words


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return re.findall(WORD, text.lower())


def marked(one: str, other: str) -> tuple[list[Run], list[Run]]:
    """Both captions as runs of words, each shared or not."""
    split = one.split(), other.split()
    sides: tuple[list[Run], list[Run]] = ([], [])
    for kind, *ends in difflib.SequenceMatcher(None, *split, autojunk=False).get_opcodes():
        for side, text, (start, end) in zip(sides, split, (ends[:2], ends[2:]), strict=True):
            if end > start:
                side.append((kind != "equal", " ".join(text[start:end])))
    return sides
