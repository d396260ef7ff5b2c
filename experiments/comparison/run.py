"""Goes through cases and methods, and adds a row for each as it comes: measures, or how it failed."""

import math
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.comparison.data import Case, Simulated, Source, make, save
from experiments.comparison.isolate import Outcome, isolated
from experiments.comparison.measure import measure
from experiments.comparison.raw import append, read
from experiments.comparison.registry import Method, method_version, missing
from experiments.comparison.result import from_json

Row = dict[str, Any]
LABELS = ("world", "observational", "per_variable", "rows", "kind", "categories", "temperature", "redrawn", "seed")
COLUMNS = (
    *LABELS,
    *("digest", "method", "told", "version", "status", "shd", "hamming", "shd_worst", "hamming_worst", "shd_cpdag"),
    *("edges", "undirected", "auroc", "target_accuracy", "cpu_seconds", "process_cpu_seconds", "peak_mb"),
    *("limit_seconds", "limit_gb", "note"),
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one method may use up on one case."""

    seconds: float = 600.0  # of CPU
    memory_gb: float = 8.0  # of address space, of which libraries reserve more than they touch
    wall_factor: float = 3.0  # what sleeps is stopped after so many times that, by the clock on the wall


DEFAULT_LIMITS = Limits()


def compare(
    source: Source,
    methods: Mapping[str, Method],
    seeds: Iterable[int],
    path: Path,
    *,
    limits: Limits = DEFAULT_LIMITS,
    again: bool = False,
) -> Iterable[Row]:
    """Run every method on the rows of every seed; yields what was done, skips what `path` holds already.

    `again` repeats what failed.
    """
    for seed in seeds:
        case = make(source, seed)
        with tempfile.TemporaryDirectory() as name:
            rows = Path(name) / "rows.npz"
            save(rows, case.dataset)
            for method_name, method in methods.items():
                version = method_version(method)  # each time: a file may change while others are waited for
                if is_done(read(path), case, (method_name, version), limits, again):
                    continue
                outcome = _outcome(Path(name), rows, case, method, source, limits)
                row = to_row(case, method_name, method, outcome, limits) | {"version": version}
                append(path, row, COLUMNS)
                yield row


def is_done(rows: list[Row], case: Case, method: tuple[str, str], limits: Limits, again: bool) -> bool:
    """Whether a method, by name and version, met the same rows before.

    With more time or memory, one that failed for want of it may pass.
    """
    key = (case.digest, str(case.labels["seed"]), *method)
    for row in rows:
        if (row["digest"], row["seed"], row["method"], row["version"]) != key:
            continue
        if row["status"] == "ok":
            return True
        wanting = {"timeout": ("limit_seconds", limits.seconds), "memory": ("limit_gb", limits.memory_gb)}
        column, now = wanting.get(row["status"], ("limit_seconds", -math.inf))
        if not again and now <= float(row[column]):
            return True
    return False


def _outcome(folder: Path, rows: Path, case: Case, method: Method, source: Source, limits: Limits) -> Outcome:
    absent = missing(method)
    if absent:
        return Outcome("failed", {}, f"{absent} is not installed; run make baselines", 0.0, 0.0)
    if method.told == "targets known" and case.targets is None:
        return Outcome("failed", {}, "needs targets, and nobody has said what they are", 0.0, 0.0)
    task: Row = {
        "call": method.call,
        "loads": method.loads,
        "options": method.options,
        "told": method.told,
        "seed": case.labels["seed"],
        "seconds": limits.seconds,
        "memory_gb": limits.memory_gb,
        "targets": case.targets if method.told == "targets known" else None,
    }
    if isinstance(source, Simulated) and source.redrawn and method.endless:
        task["redrawn"] = {name: value for name, value in case.labels.items() if name != "seed"}
    return isolated(folder, rows, task, limits.wall_factor * limits.seconds)


def to_row(case: Case, name: str, method: Method, outcome: Outcome, limits: Limits) -> Row:
    """The outcome as a row of the results."""
    row: Row = {
        **case.labels,
        "digest": case.digest,
        "method": name,
        "told": method.told,
        "status": outcome.status,
        "process_cpu_seconds": round(outcome.process_cpu_seconds, 2),
        "peak_mb": round(outcome.peak_mb),
        "limit_seconds": limits.seconds,
        "limit_gb": limits.memory_gb,
        "note": outcome.message,
    }
    if outcome.status == "ok":
        result = from_json(outcome.answer)
        targets = None if case.labels["redrawn"] and method.endless else case.targets
        row |= measure(result, case.truth, None if method.told == "targets known" else targets)
        row |= {"cpu_seconds": round(outcome.answer["cpu_seconds"], 3), "note": result.note}
    return row
