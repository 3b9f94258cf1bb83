"""What the benchmarks share: turns that alternate, ratios with their spread, a file that says on what."""

import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import torch


def take_turns(
    contestants: Mapping[str, Callable[[], Any]], rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each contestant in each round, after one that does not count; the order turns around."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for index in range(rounds):
        turns = list(contestants.items())
        for name, run in turns if index % 2 else reversed(turns):
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return seconds


def ratio(over: list[float], under: list[float]) -> dict[str, float]:
    """The median of the rounds' ratios, the lowest and the highest."""
    ratios = [a / b for a, b in zip(over, under, strict=True)]
    return {
        "median": round(statistics.median(ratios), 3),
        "lowest": round(min(ratios), 3),
        "highest": round(max(ratios), 3),
    }


def publish(values: Mapping[str, Any], out: Path | None) -> None:
    """Print the values, and write them with the machine and the command."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{os.cpu_count()} CPU cores"
    made = {
        "command": " ".join(["python", *sys.argv]),
        "date": date.today().isoformat(),
        "device": device,
        "system": f"{platform.system()} {platform.machine()}",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    text = json.dumps({"made": made, "values": values}, indent=1)
    print(text)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = out.with_name(out.name + ".partial")
        partial.write_text(text + "\n")
        partial.replace(out)
