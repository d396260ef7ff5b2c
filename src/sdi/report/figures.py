"""The figures: graph.png, graph.svg, beliefs.png and training.png, the same bytes for the same content."""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from sdi.graphs import causal_order
from sdi.report.content import THRESHOLD, Content
from sdi.report.drawing import Drawing, drawing
from sdi.report.embedded import history
from sdi.report.text import cut, shown

INK, MUTED, FAINT, ACCENT, TARGET, TARGET_SOFT = "#17202b", "#566372", "#8995a3", "#1d5fc4", "#ad5200", "#fdf1e2"
DOTS, MOST_PIXELS = 150, 9_000  # per inch, and across
MOST_NAMES = 120  # beside a matrix; more of them cannot be read


def graph_png(content: Content) -> bytes:
    """The graph in layers, as pixels."""
    return _rendered(lambda: _graph(content), FigureCanvasAgg)


def graph_svg(content: Content) -> bytes:
    """The graph in layers, as lines and text."""
    return _rendered(lambda: _graph(content), FigureCanvasSVG)


def beliefs_png(content: Content) -> bytes:
    """The probability of every edge, causes first."""
    return _rendered(lambda: _beliefs(content), FigureCanvasAgg)


def training_png(content: Content) -> bytes | None:
    """How the beliefs formed; None where there are no records of it."""
    recorded = history(content)
    if recorded is None or not (recorded["lines"] or recorded["others"]):
        return None
    return _rendered(lambda: _training(content, recorded), FigureCanvasAgg)


# --------------------------------------------------------------------------------------------------- files


@contextmanager
def _own_style() -> Iterator[None]:
    """Matplotlib as it comes, whatever the user's own settings say (some would hand names to LaTeX)."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update({"svg.hashsalt": "sdi", "svg.fonttype": "none", "font.family": ["DejaVu Sans"]})
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # drawn as a box; the SVG holds the text itself
        yield


def _rendered(make: Callable[[], Figure], canvas: "type[FigureCanvasAgg] | type[FigureCanvasSVG]") -> bytes:
    """The bytes of a figure, without a date or the name of a program in them."""
    with _own_style():
        figure, buffer = make(), io.BytesIO()
        canvas(figure)
        if canvas is FigureCanvasSVG:
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        else:
            dots = min(DOTS, MOST_PIXELS / max(figure.get_size_inches()))
            figure.savefig(buffer, format="png", dpi=dots, metadata={"Software": None})
    return buffer.getvalue()


# --------------------------------------------------------------------------------------------------- graph


def _graph(content: Content) -> Figure:
    made = drawing(content, faint=False)
    width, height = made.layout.width, made.layout.height
    figure = Figure(figsize=(width / 72, height / 72), facecolor="white")  # one unit is one point
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, width), ylim=(height, 0))
    edges = content.edges
    _draw_edges(axes, made, content, edges)
    _draw_nodes(axes, made, alone=set(range(len(content.names))) - {v for edge in edges for v in edge})
    return figure


def _draw_edges(axes: Axes, made: Drawing, content: Content, edges: list[tuple[int, int]]) -> None:
    for cause, effect in edges:
        curve, spot = made.edges[cause, effect]
        p = float(content.probabilities[effect, cause])
        path = Path(curve, [Path.MOVETO] + [Path.CURVE4] * (len(curve) - 1))
        style: dict[str, Any] = {"linewidth": 0.8 + 2.2 * p * p, "color": ACCENT, "alpha": 0.45 + 0.55 * p}
        axes.add_patch(
            FancyArrowPatch(path=path, arrowstyle="-|>,head_length=0.7,head_width=0.3", mutation_scale=10, **style)
        )
        if len(edges) <= 40:
            _text(
                axes, *spot, f"{p:.2f}", size=8, color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1}
            )


def _draw_nodes(axes: Axes, made: Drawing, alone: set[int]) -> None:
    for v, (label, mark, box) in enumerate(zip(made.labels, made.marks, made.layout.boxes, strict=True)):
        axes.add_patch(
            FancyBboxPatch(
                (box.x - box.width / 2, box.y - box.height / 2),
                box.width,
                box.height,
                boxstyle="round,pad=0,rounding_size=9",
                facecolor=TARGET_SOFT if mark else "white",
                edgecolor=TARGET if mark else FAINT if v in alone else MUTED,
                linestyle="--" if v in alone else "-",
                linewidth=1.4,
                zorder=3,
            )
        )
        _text(axes, box.x, box.y - (8 if mark else 0), label, size=10.5, color=INK, weight="bold", zorder=4)
        if mark:
            _text(axes, box.x, box.y + 12, mark, size=8.5, color=TARGET, zorder=4)


def _text(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    axes.text(x, y, text, ha="center", va="center", parse_math=False, **style)  # a name may hold dollar signs


# ------------------------------------------------------------------------------------------------ matrices


def _beliefs(content: Content) -> Figure:
    order = list(causal_order(np.asarray(content.parents)))
    size = len(order)
    cell = 0.34 if size <= 15 else 0.24 if size <= 60 else 0.1
    side = max(2.2, cell * size)
    figure = Figure(figsize=(side + 2.6, side + 1.9), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    image = axes.imshow(np.asarray(content.probabilities)[np.ix_(order, order)], cmap="Blues", vmin=0, vmax=1)
    for i, j in np.argwhere(np.asarray(content.parents)[np.ix_(order, order)]):
        frame = Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=TARGET, linewidth=1.4)
        axes.add_patch(frame)
    labels = [cut(shown(content.names[v]), 22) for v in order] if size <= MOST_NAMES else []
    plain: dict[str, Any] = {"parse_math": False, "fontsize": 9 if size <= 30 else 7}
    axes.set_xticks(range(len(labels)), labels, rotation=60, ha="right", rotation_mode="anchor", **plain)
    axes.set_yticks(range(len(labels)), labels, **plain)
    axes.set(xlabel="cause", ylabel="effect")
    axes.set_title(cut(shown(content.title), 60), parse_math=False, fontsize=11)
    figure.colorbar(image, ax=axes, label="probability of the edge (framed: in the graph)", shrink=0.8)
    return figure


def _training(content: Content, recorded: dict[str, Any]) -> Figure:
    parts = [*(["beliefs"] if recorded["lines"] else []), *recorded["others"]]
    heights = [2.2 if part == "beliefs" else 1.0 for part in parts]
    figure = Figure(figsize=(8, 1.7 * sum(heights) + 0.6), layout="constrained", facecolor="white")
    column = figure.subplots(len(parts), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, part in zip(column, parts, strict=True):
        axes.spines[["top", "right"]].set_visible(False)
        if part != "beliefs":
            values = [np.nan if value is None else value for value in part["values"]]
            axes.plot(recorded["iterations"], values, color=ACCENT, linewidth=1.5)
            axes.set_title(part["label"], fontsize=9, color=MUTED, loc="left")
            continue
        for line in reversed(recorded["lines"]):
            inside = content.parents[line["effect"], line["cause"]]
            style: dict[str, Any] = {"color": ACCENT if inside else FAINT, "alpha": 0.8 if inside else 0.4}
            axes.plot(recorded["iterations"], line["values"], linewidth=1.4 if inside else 0.9, **style)
        axes.axhline(THRESHOLD, color=MUTED, linewidth=0.8, linestyle="--")
        axes.set(ylim=(-0.02, 1.02), ylabel="probability")
        axes.set_title("Every edge that was believed at some time (in colour: in the graph)", fontsize=9, loc="left")
    column[-1].set_xlabel("iteration")
    column[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure
