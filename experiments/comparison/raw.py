"""Raw rows: a CSV that grows by a row at a time, and seeds as they are given on the command line."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def read(path: Path) -> list[dict[str, str]]:
    """All rows so far, in the order in which they came; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: dict[str, Any], columns: Sequence[str] | None = None) -> None:
    """One line in one write, so that two runs side by side do not tear each other's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns or list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def seeds_of(text: str) -> list[int]:
    """1-5 is 1 to 5; 1,3,7 is these."""
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(each) for each in text.split(",")]
