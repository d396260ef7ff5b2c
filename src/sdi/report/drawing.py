"""The drawing of a graph: labels, boxes and curves, shared by the page and the figures."""

from typing import NamedTuple

import numpy as np

from sdi.graphs import BoolMatrix
from sdi.report.content import THRESHOLD, Content
from sdi.report.curves import LABEL, Drawn, Edge, at, drawn
from sdi.report.layers import Sheet
from sdi.report.layout import MARGIN, Layout, layered
from sdi.report.text import cut, shown, units

FAINTEST = 0.05  # edges that are believed less are never drawn
MOST = 3_000  # edges that are drawn at all, the most believed first
WIDE = Sheet()
NARROW = Sheet(width=330.0, gap=14.0, joint=12.0, pitch=100.0)  # for a phone held upright
LETTER, SMALL_LETTER = 7.7, 6.3  # pixels of a letter in a name, and in the line below it
NAME, MARK = 20, 20  # letters of a name and of the line below it, at most


class Drawing(NamedTuple):
    """What is drawn, in pixels."""

    labels: tuple[str, ...]
    marks: tuple[str, ...]  # what touched the variable; "" where nothing did
    layout: Layout
    edges: dict[Edge, Drawn]  # (cause, effect), those of the graph first


def drawing(content: Content, sheet: Sheet = WIDE, *, faint: bool = True) -> Drawing:
    """The graph of `content` in layers; with `faint` also every other edge that is worth a line."""
    letters = NAME if sheet is WIDE else 14
    labels = tuple(cut(shown(name), letters) for name in content.names)
    marks = tuple(_mark(content.touched(v), letters) for v in range(len(labels)))
    layout = layered(np.asarray(content.parents), [_size(*pair) for pair in zip(labels, marks, strict=True)], sheet)
    edges = drawn(layout, _others(content) if faint else ())
    likely = np.asarray(content.probabilities) > (0.0 if sheet is WIDE else THRESHOLD)
    return _with_room(Drawing(labels, marks, layout, edges), likely)


def _with_room(made: Drawing, likely: BoolMatrix) -> Drawing:
    """The same on a sheet that holds all `likely` lines: those that run back up swing out beyond the boxes."""
    lines = [line for (cause, effect), line in made.edges.items() if likely[effect, cause]]
    if not lines:
        return made
    reach = np.concatenate([at(line.curve, np.linspace(0, 1, 24)) for line in lines])  # [points, 2]
    labels = np.array([line.label for line in lines])
    right = max(float(reach[:, 0].max()) + MARGIN, float(labels[:, 0].max()) + LABEL[0] / 2)
    down = max(0.0, MARGIN / 2 - float(min(reach[:, 1].min(), labels[:, 1].min() - LABEL[1] / 2)))
    layout, (width, height) = made.layout, made.layout[:2]
    joints = {edge: tuple((x, y + down) for x, y in points) for edge, points in layout.joints.items()}
    boxes = tuple(box._replace(y=box.y + down) for box in layout.boxes)
    edges = {
        edge: Drawn(line.curve + np.array([0.0, down]), (line.label[0], line.label[1] + down))
        for edge, line in made.edges.items()
    }
    return made._replace(layout=Layout(max(width, right), height + down, boxes, joints), edges=edges)


def _mark(environments: list[str], letters: int) -> str:
    """'g0076', or 'g0076 +2' where there are more."""
    if not environments:
        return ""
    more = f" +{len(environments) - 1}" if len(environments) > 1 else ""
    return cut(shown(environments[0]), letters - len(more)) + more


def _size(label: str, mark: str) -> tuple[float, float]:
    wanted = max(units(label) * LETTER, units(mark) * SMALL_LETTER + 14 if mark else 0)
    return max(48.0, wanted + 24), 50.0 if mark else 36.0


def _others(content: Content) -> list[Edge]:
    """Edges outside the graph that are believed a little, the most believed first."""
    beliefs = np.where(content.parents, 0.0, np.asarray(content.probabilities, dtype=float))
    np.fill_diagonal(beliefs, 0.0)
    pairs = [(float(beliefs[i, j]), int(j), int(i)) for i, j in np.argwhere(beliefs >= FAINTEST)]
    return [(j, i) for _, j, i in sorted(pairs, key=lambda pair: (-pair[0], pair[1:]))[:MOST]]
