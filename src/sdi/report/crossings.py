"""An order within layers such that few edges cross, found by going down and up until nothing more is gained."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sdi.graphs import BoolMatrix
from sdi.report.layers import Sheet

SWEEPS = 24  # down and up again, in search of fewer crossings


class Net(NamedTuple):
    """Variables and joints, numbered on, with edges between neighbouring layers only."""

    layers: list[list[int]]
    level: dict[int, int]
    widths: list[float]  # of the space that each takes, gaps included
    above: list[list[int]]
    below: list[list[int]]
    joints: dict[tuple[int, int], list[int]]
    variables: int


def net_of(layers: list[list[int]], parents: BoolMatrix, widths: Sequence[float], sheet: Sheet) -> Net:
    level = {v: k for k, layer in enumerate(layers) for v in layer}
    rows = [list(layer) for layer in layers]
    spaces = [width + sheet.gap for width in widths]
    above: list[list[int]] = [[] for _ in widths]
    below: list[list[int]] = [[] for _ in widths]
    joints: dict[tuple[int, int], list[int]] = {}
    for cause, effect in np.argwhere(parents.T).tolist():
        between = []
        for k in range(level[cause] + 1, level[effect]):
            between.append(len(spaces))
            level[len(spaces)] = k
            rows[k].append(len(spaces))
            spaces.append(sheet.joint)
            above.append([])
            below.append([])
        joints[cause, effect] = between
        path = [cause, *between, effect]
        for upper, lower in pairwise(path):
            below[upper].append(lower)
            above[lower].append(upper)
    return Net(rows, level, spaces, above, below, joints, len(widths))


def ordered(net: Net) -> list[list[int]]:
    """The layers in the order with the fewest crossings that was met."""
    order = [list(layer) for layer in net.layers]
    best, fewest = order, crossings(order, net)
    sweeps = SWEEPS if len(net.widths) < 1_500 else 4  # a drawing of that size is beyond reading anyway
    for sweep in range(sweeps):
        order = [list(layer) for layer in order]
        levels = range(1, len(order)) if sweep % 2 == 0 else range(len(order) - 2, -1, -1)
        for k in levels:
            neighbours, fixed = (net.above, order[k - 1]) if sweep % 2 == 0 else (net.below, order[k + 1])
            _by_centre(order[k], neighbours, fixed)
        if len(net.widths) < 600:
            _exchange(order, net)
        count = crossings(order, net)
        if count < fewest:
            best, fewest = order, count
        if fewest == 0:
            break
    return best


def _by_centre(layer: list[int], neighbours: list[list[int]], fixed: list[int]) -> None:
    """Sort `layer` by the mean position of what each is joined to; what is joined to nothing keeps its place."""
    position = {v: float(k) for k, v in enumerate(fixed)}
    share = len(fixed) / max(len(layer), 1)
    key = {
        v: sum(position[u] for u in neighbours[v]) / len(neighbours[v]) if neighbours[v] else k * share
        for k, v in enumerate(layer)
    }
    layer.sort(key=key.__getitem__)


def _exchange(order: list[list[int]], net: Net) -> None:
    """Swap neighbours wherever that undoes crossings."""
    for _ in range(6):
        swapped = False
        for k, layer in enumerate(order):
            sides = []
            if k > 0:
                sides.append((net.above, {v: i for i, v in enumerate(order[k - 1])}))
            if k + 1 < len(order):
                sides.append((net.below, {v: i for i, v in enumerate(order[k + 1])}))
            for i in range(len(layer) - 1):
                left, right = layer[i], layer[i + 1]
                gain = 0
                for neighbours, position in sides:
                    for a in neighbours[left]:
                        for b in neighbours[right]:
                            gain += (position[a] > position[b]) - (position[a] < position[b])
                if gain > 0:
                    layer[i], layer[i + 1] = right, left
                    swapped = True
        if not swapped:
            return


def busiest(order: list[list[int]], net: Net) -> int:
    """How many edges more than a dozen run between two neighbouring layers, at most."""
    return max((sum(len(net.below[v]) for v in layer) - 12 for layer in order), default=0)


def crossings(order: list[list[int]], net: Net) -> int:
    total = 0
    for upper, lower in pairwise(order):
        position = {v: k for k, v in enumerate(lower)}
        ends = [(k, position[w]) for k, v in enumerate(upper) for w in net.below[v]]
        if ends:
            a, b = np.array(ends).T
            total += int(((a[:, None] < a) & (b[:, None] > b)).sum())
    return total
