"""Rows of the results as tables: every seed shown, the worst and the mean beside them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import mean, median
from typing import NamedTuple

from experiments.comparison.registry import METHODS
from experiments.comparison.run import LABELS

Row = dict[str, str]
Case = tuple[str, ...]  # the labels of a row without its seed
SETTING = tuple(name for name in LABELS if name != "seed")
FAILED = {"timeout": "t", "memory": "m", "failed": "x"}  # in place of a number


class Line(NamedTuple):
    """One method on one case, all seeds."""

    method: str
    rows: list[Row]  # by seed

    @property
    def good(self) -> list[Row]:
        return [row for row in self.rows if row["status"] == "ok"]

    @property
    def complete(self) -> bool:
        return len(self.good) == len(self.rows)

    def numbers(self, column: str) -> list[float]:
        return [float(row[column]) for row in self.good if row.get(column) not in ("", None)]

    def mean(self, column: str) -> float | None:
        found = self.numbers(column)
        return mean(found) if found else None


def latest(rows: Iterable[Row]) -> list[Row]:
    """The last row of each method on each case and seed: an earlier one is an older version or a failure repeated."""
    found = {}
    for row in rows:
        found[(*(row[name] for name in LABELS), row["digest"], row["method"])] = row
    return list(found.values())


def by_case(rows: Iterable[Row]) -> dict[Case, list[Line]]:
    """The lines of each case, methods in the order of the registry."""
    grouped: dict[Case, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in latest(rows):
        grouped[tuple(row[name] for name in SETTING)][row["method"]].append(row)
    order = list(METHODS)
    place = {name: k for k, name in enumerate(order)}
    return {
        case: [
            Line(name, sorted(lines[name], key=lambda row: int(row["seed"])))
            for name in sorted(lines, key=lambda name: place.get(name, len(order)))
        ]
        for case, lines in grouped.items()
    }


def described(case: Case) -> str:
    """A case in words."""
    row = dict(zip(SETTING, case, strict=True))
    words = [f"{row['observational']} observational rows", f"{row['per_variable']} environments for each variable"]
    words += [f"{row['rows']} rows each", row["kind"], f"{row['categories']} categories"]
    if row["temperature"]:
        words.append(f"temperature {row['temperature']}")
    return f"{row['world']} ({', '.join(words)}{', redrawn' if row['redrawn'] == 'True' else ''})"


HEADER = (
    *("method", "told", "Hamming by seed", "worst", "mean", "SHD by seed", "mean", "undirected", "AUROC", "targets"),
    *("CPU s", "MB", "failures"),
)


def cells(line: Line) -> tuple[str, ...]:
    """One line of the table."""
    hamming, seconds = line.numbers("hamming"), line.numbers("cpu_seconds")
    failures = [f"seed {row['seed']}: {row['status']} ({row['note']})" for row in line.rows if row["status"] != "ok"]
    undirected = line.mean("undirected")
    return (
        line.method,
        line.rows[0]["told"],
        " ".join(row["hamming"] if row["status"] == "ok" else FAILED[row["status"]] for row in line.rows),
        f"{max(hamming):.0f}" if hamming and line.complete else "-",
        _rounded(line.mean("hamming")),
        " ".join(row["shd"] if row["status"] == "ok" else FAILED[row["status"]] for row in line.rows),
        _rounded(line.mean("shd")),
        _rounded(undirected) if undirected else "",
        _rounded(line.mean("auroc"), 3),
        _rounded(line.mean("target_accuracy"), 2),
        (f"{median(seconds):.2f}" if median(seconds) < 1 else f"{median(seconds):.0f}") if seconds else "-",
        str(max(round(float(row["peak_mb"])) for row in line.rows)),
        "; ".join(dict.fromkeys(failures)),
    )


def _rounded(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def summary(rows: Iterable[Row]) -> str:
    """A table for every case."""
    parts = []
    for case, lines in by_case(rows).items():
        parts.append(f"{described(case)}\n\n{markdown(HEADER, map(cells, lines))}")
    return "\n\n".join(parts)
