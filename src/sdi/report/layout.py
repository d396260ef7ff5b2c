"""Where a graph is drawn: variables in layers, causes above effects, and few crossings.

Three steps, as in the drawings of Sugiyama: a layer for every variable, an order within the layers, and places that
keep the order. Edges that pass a layer get a joint in it, so that they run around the variables there.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.report.crossings import Net, busiest, net_of, ordered
from sdi.report.layers import Sheet, layers_of

Point: TypeAlias = tuple[float, float]

MARGIN = 14.0
SETTLE = 40  # rounds in which places move towards their neighbours


class Box(NamedTuple):
    """A variable on the sheet, by its centre."""

    x: float
    y: float
    width: float
    height: float


class Layout(NamedTuple):
    """The size of the sheet, the place of every variable, and the joints of every edge (cause, effect)."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    joints: dict[tuple[int, int], tuple[Point, ...]]


def layered(parents: BoolMatrix, sizes: Sequence[Point], sheet: Sheet) -> Layout:
    """The layout of an acyclic ``parents[child, parent]`` whose variables have these widths and heights.

    Variables without an edge stand below the others. The same graph gives the same places.
    """
    widths = [width for width, _ in sizes]
    joined = np.asarray(parents.any(axis=0) | parents.any(axis=1))
    layers = layers_of(parents, joined, widths, sheet)
    net = net_of(layers, parents, widths, sheet)
    order = ordered(net)
    sheet = sheet._replace(pitch=sheet.pitch + min(60.0, 2.0 * max(0, busiest(order, net))))
    xs = _places(order, net)
    tallest = max(height for _, height in sizes)
    bottom = sheet.pitch * (len(order) - 1) + tallest + (22 if not joined.all() else 0) if order else 0.0
    right = max((xs[v] + net.widths[v] / 2 for v in range(len(xs)) if v in net.level), default=0.0)
    boxes = {
        v: Box(xs[v] + MARGIN, _down(net.level[v], tallest, sheet), *sizes[v]) for v in np.flatnonzero(joined).tolist()
    }
    loose, bottom = _rows(np.flatnonzero(~joined), sizes, max(right, min(sheet.width, 620.0)), sheet, bottom)
    boxes.update(loose)
    joints = {
        edge: tuple((xs[v] + MARGIN, _down(net.level[v], tallest, sheet)) for v in between)
        for edge, between in net.joints.items()
    }
    ends = [box.x + box.width / 2 for box in boxes.values()] + [x for points in joints.values() for x, _ in points]
    return Layout(max(ends) + MARGIN, bottom + 2 * MARGIN, tuple(boxes[v] for v in range(len(sizes))), joints)


def _down(level: int, tallest: float, sheet: Sheet) -> float:
    return MARGIN + tallest / 2 + sheet.pitch * level


# ------------------------------------------------------------------------------------------------- places


def _places(order: list[list[int]], net: Net) -> list[float]:
    """Across: everything as near to what it is joined to as order and widths allow; long edges run straight."""
    xs = [0.0] * len(net.widths)
    offsets = []
    for layer in order:
        edges = [0.0, *accumulate(net.widths[v] for v in layer)]
        offsets.append([right - net.widths[v] / 2 for v, right in zip(layer, edges[1:], strict=True)])
        for v, offset in zip(layer, offsets[-1], strict=True):
            xs[v] = offset - edges[-1] / 2
    pulls = [_pulls(v, net) for v in range(len(xs))]
    for sweep in range(SETTLE):
        levels = range(len(order)) if sweep % 2 == 0 else range(len(order) - 1, -1, -1)
        for k in levels:
            weights = [sum(pulls[v].values()) for v in order[k]]
            wanted = [sum(xs[u] * pull for u, pull in pulls[v].items()) for v in order[k]]
            free = [x / w - offset for x, w, offset in zip(wanted, weights, offsets[k], strict=True)]
            for v, x, offset in zip(order[k], _nondecreasing(free, weights), offsets[k], strict=True):
                xs[v] = x + offset
    left = min((xs[v] - net.widths[v] / 2 for layer in order for v in layer), default=0.0)
    return [x - left for x in xs]


def _pulls(v: int, net: Net) -> dict[int, float]:
    """How strongly each neighbour draws `v` to its own place; joints draw each other most, to stay in line."""
    return {u: (1.0, 3.0, 10.0)[(u >= net.variables) + (v >= net.variables)] for u in (*net.above[v], *net.below[v])}


def _nondecreasing(values: list[float], weights: list[float]) -> list[float]:
    """The nearest nondecreasing sequence in weighted least squares, by pooling neighbours that are out of order."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, length
    for value, weight in zip(values, weights, strict=True):
        mean, total, length = value, weight, 1
        while pools and pools[-1][0] >= mean:
            before = pools.pop()
            mean = (before[0] * before[1] + mean * total) / (before[1] + total)
            total, length = before[1] + total, before[2] + length
        pools.append((mean, total, length))
    return [mean for mean, _, length in pools for _ in range(length)]


def _rows(
    loose: NDArray[np.intp], sizes: Sequence[Point], across: float, sheet: Sheet, top: float
) -> tuple[dict[int, Box], float]:
    """Variables without an edge, in rows of at most `across`; and where the sheet ends."""
    boxes: dict[int, Box] = {}
    x, y, pitch = 0.0, top, max((sizes[v][1] for v in loose), default=0.0) + 18
    for v in loose.tolist():
        width, height = sizes[v]
        if x and x + width > across:
            x, y = 0.0, y + pitch
        boxes[v] = Box(MARGIN + x + width / 2, MARGIN + y + pitch / 2, width, height)
        x += width + sheet.gap
    return boxes, y + pitch if boxes else top
