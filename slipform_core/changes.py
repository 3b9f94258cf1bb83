"""What two captions do not share."""

import difflib

WORD = r"[\w'-]+"  # what counts as a word, wherever words of captions are compared

Run = tuple[bool, str]  # whether the words are the caption's alone, and the words


def marked(one: str, other: str) -> tuple[list[Run], list[Run]]:
    """Both captions as runs of words, each shared or not."""
    words = one.split(), other.split()
    sides: tuple[list[Run], list[Run]] = ([], [])
    for kind, *ends in difflib.SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, text, (start, end) in zip(sides, words, (ends[:2], ends[2:]), strict=True):
            if end > start:
                side.append((kind != "equal", " ".join(text[start:end])))
    return sides
