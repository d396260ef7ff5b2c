"""Pictures for docs/which_method.md: every seed as a faint point, the mean as a line or a full marker.

Colours are those of Okabe and Ito, told apart by readers who are blind to red or green; no colour stands alone.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import mean, median
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator

from experiments.comparison.figures import COLUMNS, FASTEST, MARKERS
from experiments.comparison.registry import METHODS
from experiments.comparison.sweeps import OURS, Place, Sweep, edges
from experiments.comparison.tables import Line

BLUE, VERMILLION, BLACK = "#0072B2", "#D55E00", "#000000"
OTHERS = ("#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442", "#999999")
FAINT = 0.3
ERRORS = (0, 1, 2, 5, 10, 20, 50, 100)  # marks on an axis that is linear up to 1 and logarithmic from there on


class Look(NamedTuple):
    """How one of ours is drawn along a sweep."""

    color: str
    style: str
    marker: str
    width: float
    strength: float  # 1 covers what lies beneath
    aside: float  # of the points, so that those of one method do not hide those of another


LOOKS = {  # the default lies under the others, broad and pale: which of them it follows can be seen
    "sdi_default": Look(BLACK, "-", "D", 7.0, 0.25, 0.0),
    "sdi_tables": Look(BLUE, "-", "o", 1.8, 1.0, -1.0),
    "sdi_neural": Look(VERMILLION, "--", "s", 1.8, 1.0, 1.0),
}


def along(panels: Sequence[tuple[Sweep, Sequence[Place]]]) -> Figure:
    """One panel a sweep: Hamming distance of our methods."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(5.2 * len(panels) + 0.6, 4.2), squeeze=False, layout="constrained"
    )
    for axis, (sweep, places) in zip(axes.flat, panels, strict=True):
        axis.set_xlabel(sweep.label)
        axis.set_ylabel("Hamming distance (edges)")
        if sweep.log:
            axis.set_xscale("log")
        for method, look in LOOKS.items():
            _follow(axis, method, look, places, sweep.log)
        xs = [place.x for place in places]
        axis.plot(xs, [edges(place.source) for place in places], color=BLACK, linestyle=":", linewidth=1)
        axis.xaxis.set_major_locator(FixedLocator(xs))
        axis.xaxis.set_major_formatter(FixedFormatter([f"{x:,g}" if x < 1e4 else f"{x:,.0f}" for x in xs]))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_ylim(bottom=-0.5)
    handles = [plt.Line2D([], [], markersize=4, **_stroke(look)) for look in LOOKS.values()]
    handles.append(plt.Line2D([], [], color=BLACK, linestyle=":", linewidth=1))
    names = [*(OURS[method] for method in LOOKS), "no edge found"]
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _follow(axis: Any, method: str, look: Look, places: Sequence[Place], log: bool) -> None:
    found = [(place.x, list(place.errors(method).values())) for place in places if place.errors(method)]
    step = min((b.x - a.x for a, b in pairwise(places)), default=1.0)
    for x, errors in found:
        aside = x * 1.06**look.aside if log else x + 0.06 * step * look.aside
        axis.plot([aside] * len(errors), errors, look.marker, color=look.color, alpha=FAINT, markersize=6, mew=0)
    means = [(x, mean(errors)) for x, errors in found]
    if means:
        axis.plot(*zip(*means, strict=True), markersize=4, gid=method, **_stroke(look))


def _stroke(look: Look) -> dict[str, Any]:
    return {
        "color": look.color,
        "linestyle": look.style,
        "linewidth": look.width,
        "marker": look.marker,
        "alpha": look.strength,
    }


def against_time(panels: Mapping[str, Sequence[Line]]) -> Figure:
    """One panel a case: of each method its mean Hamming distance and median CPU seconds, and every seed."""
    wide, high = min(len(panels), COLUMNS), -(-len(panels) // COLUMNS)
    figure, axes = plt.subplots(high, wide, figsize=(4.2 * wide + 2, 3.6 * high), squeeze=False, layout="constrained")
    looks: dict[str, dict[str, Any]] = {}
    seconds = [each for lines in panels.values() for line in lines for each in line.numbers("cpu_seconds")]
    for axis, (name, lines) in zip(axes.flat, panels.items(), strict=False):
        axis.set_title(name)
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_yscale("symlog", linthresh=1)
        axis.set_xlabel("CPU seconds")
        axis.set_ylabel("Hamming distance (edges)")
        for line in lines:
            look = looks.setdefault(line.method, marker_of(line))
            _scatter(axis, line, look)
        axis.set_xlim(max(min(seconds), FASTEST) / 2, max(seconds) * 2)  # the same for all: time can be compared
        worst = max(each for line in lines for each in line.numbers("hamming"))
        axis.set_ylim(-0.3, max(1.5, 1.5 * worst))
        axis.yaxis.set_major_locator(FixedLocator(ERRORS))
        axis.yaxis.set_major_formatter(FixedFormatter([str(each) for each in ERRORS]))
        axis.yaxis.set_minor_locator(NullLocator())
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    handles = [plt.Line2D([], [], linestyle="", **look) for look in looks.values()]
    figure.legend(handles, list(looks), loc="outside right center", fontsize=8)
    return figure


def _scatter(axis: Any, line: Line, look: dict[str, Any]) -> None:
    seconds, errors = line.numbers("cpu_seconds"), line.numbers("hamming")
    if not seconds or not errors:
        return
    seconds = [max(each, FASTEST) for each in seconds]
    faint = look | {"markeredgecolor": "none", "markersize": 5}
    axis.plot(seconds, errors, linestyle="", alpha=FAINT, **faint)
    axis.plot(median(seconds), mean(errors), linestyle="", gid=line.method, **look)


def marker_of(line: Line) -> dict[str, Any]:
    """The shape says what a method is told, the colour which of these it is; ours have a black edge."""
    method, told = line.method, line.rows[0]["told"]
    alike = [name for name, each in METHODS.items() if each.told == told and name not in OURS]
    own = {"sdi_tables": BLUE, "sdi_neural": VERMILLION, "sdi_default": BLACK}
    color = own.get(method) or OTHERS[alike.index(method) if method in alike else -1]
    ours = method in METHODS and METHODS[method].ours
    return {"marker": MARKERS[told], "color": color, "markersize": 8, "markeredgecolor": BLACK if ours else "none"}
