"""Phase 1: who might be a parent of each variable beside those it has in a graph, and was not looked at.

Legend: M variables, E environments.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Clamp
from sdi.method.tables.phase1_count import Family
from sdi.method.tables.phase1_screen import Screen

SPARE = 3  # that become candidates beside those that are parents or children already
FIRST = 1e12  # more than any gain
CLEAR = 20.0  # nats that a parent adds, whatever an edge costs


def overlooked(
    screen: Screen,
    families: Sequence[Family],
    parents: BoolMatrix,
    touched: BoolMatrix,
    gains: list[NDArray[np.float64]],
    clamp: Clamp,
    turn: int,
    least: float,
) -> list[int]:
    """Variables with a likely parent that is no candidate: a child, or one that adds more than `least` nats to the
    parents there are. And those with a candidate that clearly adds to them, if nobody has looked at it beside them.

    In their `gains` those that add come first from now on, those of the latest turn before earlier ones.
    """
    found = []
    for i, family in enumerate(families):
        beside = screen.gains(i, tuple(np.flatnonzero(parents[i]).tolist()), touched[:, i])
        beside[~clamp.open[i]] = -np.inf
        unseen = _clearly_missing(family, parents[i], beside)
        beside[list(family.candidates)] = -np.inf
        added = np.argsort(-beside)[:SPARE]
        gains[i][added] = np.where(beside[added] > least, beside[added] + FIRST * (turn + 1), gains[i][added])
        turned = parents[:, i] & clamp.open[i]
        turned[list(family.candidates)] = False
        if beside.max() > least or turned.any() or unseen:
            found.append(i)
    return found


def _clearly_missing(family: Family, parents: NDArray[np.bool_], beside: NDArray[np.float64]) -> bool:
    """Whether some candidate would clearly add to the parents there are, and the set with it is not considered."""
    present = {k for k, j in enumerate(family.candidates) if parents[j]}
    more = [k for k, j in enumerate(family.candidates) if beside[j] > CLEAR]
    return any(tuple(sorted({*present, k})) not in set(family.sets) for k in more)
