"""The caption in what a chat model answered."""

import json
import re

_FENCE = re.compile(r"```\w*[ \t]*\n?(.*?)\n?[ \t]*```", re.DOTALL)
_LABEL = re.compile(
    r"(?:the )?(?:answer|output|(?:new |rewritten |negative )?caption)[ \t]*:\s*", re.IGNORECASE
)
_QUOTES = ('""', "''", "“”", "‘’", "«»", "``", "„“")


def read_answer(text: str) -> str:
    """The caption in an answer: without thoughts, a code fence, a label such as "Answer:", or quotes.

    Thoughts that do not end leave an empty answer. Several lines stay, for the audit to refuse.
    """
    text = text.rpartition("</think>")[2]  # some templates open the thoughts themselves
    if "<think>" in text:
        return ""
    text = text.strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1].strip()
    text = _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
    # An escape may spell half a character, which nothing after this could encode.
    return _unquoted(text).strip().encode("utf-8", "replace").decode()


def _unquoted(text: str) -> str:
    if text.startswith(('"', "{")):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            value = value.get("caption")
        if isinstance(value, str):
            return value
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        quoted = len(text) > 1 and text.startswith(opening) and text.endswith(closing)
        if quoted and opening not in inner and closing not in inner:
            return inner
    return text
