"""A layer for every variable: below its causes, the long chains first, no layer wider than the sheet."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sdi.graphs import BoolMatrix, causal_order


class Sheet(NamedTuple):
    """How much room there is, all in pixels."""

    width: float = 940.0  # of the variables of one layer; joints of edges may add to it
    gap: float = 26.0  # between two variables
    joint: float = 16.0  # between an edge that passes and what is beside it
    pitch: float = 112.0  # from layer to layer


def layers_of(parents: BoolMatrix, joined: BoolMatrix, widths: Sequence[float], sheet: Sheet) -> list[list[int]]:
    """The layers from top to bottom; variables that are not `joined` to another are in none."""
    order = [v for v in causal_order(parents) if joined[v]]
    below = dict.fromkeys(order, 0)  # length of the longest chain that starts here
    for v in reversed(order):
        below[v] = max((below[int(child)] + 1 for child in np.flatnonzero(parents[:, v])), default=0)
    layers: list[list[int]] = []
    placed: set[int] = set()
    while len(placed) < len(order):
        ready = [v for v in order if v not in placed and all(int(p) in placed for p in np.flatnonzero(parents[v]))]
        layer: list[int] = []
        room = sheet.width
        for v in sorted(ready, key=lambda v: -below[v]):
            if not layer or widths[v] <= room:
                layer.append(v)
                room -= widths[v] + sheet.gap
        layers.append(layer)
        placed.update(layer)
    return _tightened(layers, parents, widths, sheet)


def _tightened(layers: list[list[int]], parents: BoolMatrix, widths: Sequence[float], sheet: Sheet) -> list[list[int]]:
    """The same with shorter edges: a variable with more effects than causes moves down, the others up, where
    there is room."""
    level = {v: k for k, layer in enumerate(layers) for v in layer}
    room = [sheet.width - sum(widths[v] + sheet.gap for v in layer) for layer in layers]
    for _ in range(4):
        for v in sorted(level, key=lambda v: -level[v]):
            causes, effects = np.flatnonzero(parents[v]), np.flatnonzero(parents[:, v])
            lowest = min((level[int(e)] for e in effects), default=len(layers)) - 1
            highest = max((level[int(c)] for c in causes), default=-1) + 1
            if len(effects) == len(causes):
                continue
            down = len(effects) > len(causes)
            choices = range(lowest, level[v], -1) if down else range(highest, level[v])
            for choice in choices:
                if room[choice] >= widths[v] + sheet.gap:
                    room[level[v]] += widths[v] + sheet.gap
                    room[choice] -= widths[v] + sheet.gap
                    level[v] = choice
                    break
    moved = [[v for v in level if level[v] == k] for k in range(len(layers))]
    return [layer for layer in moved if layer]
