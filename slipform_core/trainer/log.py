"""Lines of numbers about a training, one file a kind, cut back to a checkpoint when it is resumed."""

import json
import math
from contextlib import nullcontext
from pathlib import Path

import torch
from torch import Tensor

from slipform_core.files import write_text

Line = dict[str, float | Tensor]


class Log:
    """A JSONL file whose lines have a step; they wait as tensors until `flush` reads them all at once.

    of: what is trained, for messages. writes: only one of the ranks does.
    """

    def __init__(self, path: Path, *, of: str, writes: bool):
        self.path, self.of, self.writes = path, of, writes
        self.waiting: list[Line] = []

    def add(self, line: Line) -> None:
        self.waiting.append(line)

    def flush(self) -> None:
        """Write the lines that wait; FloatingPointError names the first number that is not finite."""
        tensors = [value.detach().double() for line in self.waiting for value in line.values() if _is(value)]
        numbers = iter(torch.stack(tensors).tolist() if tensors else ())
        waiting, self.waiting = self.waiting, []
        with self.path.open("a") if self.writes else nullcontext() as file:
            for line in waiting:
                plain = {key: next(numbers) if _is(value) else value for key, value in line.items()}
                for key, value in plain.items():
                    if not math.isfinite(value):
                        raise FloatingPointError(f"the {key} of {self.of} is {value} at step {line['step']}")
                if file:
                    file.write(json.dumps(plain) + "\n")

    def read(self) -> list[dict[str, float]]:
        """The whole lines of the file; what a kill tore is left out."""
        lines = []
        for text in self.path.read_text().splitlines() if self.path.is_file() else ():
            try:
                lines.append(json.loads(text))
            except json.JSONDecodeError:
                break
        return lines

    def cut(self, before: int) -> None:
        """Keep the lines of the steps below `before`."""
        if self.writes:
            kept = [line for line in self.read() if line["step"] < before]
            write_text(self.path, "".join(json.dumps(line) + "\n" for line in kept))


def _is(value: float | Tensor) -> bool:
    return isinstance(value, Tensor)
