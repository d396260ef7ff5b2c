"""Pictures of the comparison: error against CPU seconds, and error along a sweep."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter

from experiments.comparison.registry import METHODS
from experiments.comparison.tables import Line

MARKERS = {"observational rows only": "s", "targets unknown": "o", "targets known": "^"}
COLUMNS = 3
FASTEST = 1e-3  # CPU seconds: below it the clock says little


def error_against_time(path: Path, panels: Mapping[str, Sequence[Line]]) -> Path:
    """One panel a case, one point a method: its mean Hamming distance and its median CPU seconds."""
    count = len(panels)
    wide, high = min(count, COLUMNS), -(-count // COLUMNS)
    figure, axes = plt.subplots(high, wide, figsize=(4.2 * wide + 2, 3.6 * high), squeeze=False, layout="constrained")
    for axis in axes.flat[count:]:
        axis.set_axis_off()
    looks: dict[str, dict[str, Any]] = {}
    for axis, (name, lines) in zip(axes.flat, panels.items(), strict=False):
        axis.set_title(name)
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel("CPU seconds")
        axis.set_ylabel("mean Hamming distance")
        for line in lines:
            seconds, errors = line.numbers("cpu_seconds"), line.numbers("hamming")
            if seconds and errors:
                look = looks.setdefault(line.method, _look(line))
                axis.plot(max(median(seconds), FASTEST), mean(errors), **look)
        axis.set_ylim(bottom=-0.5)
    figure.legend(
        [plt.Line2D([], [], **look) for look in looks.values()], looks, loc="outside right center", fontsize=8
    )
    return saved(figure, path)


def _look(line: Line) -> dict[str, Any]:
    """The marker says what a method is told, its edge whether it is ours, and its colour which it is."""
    place = list(METHODS).index(line.method) if line.method in METHODS else len(METHODS)
    return {
        "marker": MARKERS[line.rows[0]["told"]],
        "linestyle": "",
        "color": plt.get_cmap("tab20")(place % 20),
        "markersize": 8,
        "markeredgecolor": "black" if _ours(line.method) else "none",
        "alpha": 0.85,
    }


def _ours(method: str) -> bool:
    return method in METHODS and bool(METHODS[method].ours)


def error_along(path: Path, cases: Mapping[str, Sequence[Line]], label: str) -> Path:
    """One line a method: its mean Hamming distance in each case of a sweep."""
    figure, axis = plt.subplots(figsize=(7.5, 5), layout="constrained")
    places = {name: k for k, name in enumerate(cases)}
    for method in dict.fromkeys(line.method for lines in cases.values() for line in lines):
        points = [
            (places[name], mean(line.numbers("hamming")))
            for name, lines in cases.items()
            for line in lines
            if line.method == method and line.numbers("hamming")
        ]
        if points:
            axis.plot(*zip(*points, strict=True), marker=".", label=method, linewidth=2.5 if _ours(method) else 1.2)
    axis.set_xticks(list(places.values()), list(places))
    axis.set_xlabel(label)
    axis.set_ylabel("mean Hamming distance")
    figure.legend(loc="outside right center", fontsize=8)
    return saved(figure, path)


def saved(figure: plt.Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
