"""Phase 1: who might be a parent of each variable beside those it has in a graph, and was not looked at.

Legend: M variables, E environments, S parent sets of a family.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Clamp
from sdi.method.tables.phase1_count import Family
from sdi.method.tables.phase1_screen import Screen

SPARE = 3  # that become candidates beside those that are parents or children already
FIRST = 1e12  # more than any gain
CLEAR = 20.0  # nats that a parent adds, whatever an edge costs
ALIKE = 30.0  # nats that are little beside what some parents are worth: a set so far below may be on the right way
STAND_INS = 2  # such sets of a variable that are looked at


def overlooked(
    screen: Screen,
    families: Sequence[Family],
    parents: BoolMatrix,
    touched: BoolMatrix,
    gains: list[NDArray[np.float64]],
    clamp: Clamp,
    turn: int,
    least: float,
    weights: Callable[[int], NDArray[np.float64]] | None = None,
) -> list[int]:
    """Variables with a likely parent that is no candidate: a child, or one that adds more than `least` nats to the
    parents there are. And those with a candidate that clearly adds to them, if nobody has looked at it beside them.

    Whoever adds to other parents that are nearly as good counts too, if `weights` has what each set is worth ``[S]``.
    In their `gains` those that add come first from now on, those of the latest turn before earlier ones.
    """
    found = []
    for i, family in enumerate(families):
        beside = screen.gains(i, tuple(np.flatnonzero(parents[i]).tolist()), touched[:, i])
        beside[~clamp.open[i]] = -np.inf
        unseen = _clearly_missing(family, parents[i], beside)
        for others, behind in stand_ins(family, parents[i], weights(i)) if weights else ():
            more = screen.gains(i, others, touched[:, i]) - behind
            beside = np.where(clamp.open[i] & ~parents[i], np.maximum(beside, more), beside)
        beside[list(family.candidates)] = -np.inf
        added = np.argsort(-beside)[:SPARE]
        gains[i][added] = np.where(beside[added] > least, beside[added] + FIRST * (turn + 1), gains[i][added])
        turned = parents[:, i] & clamp.open[i]
        turned[list(family.candidates)] = False
        if beside.max() > least or turned.any() or unseen:
            found.append(i)
    return found


def stand_ins(
    family: Family, parents: NDArray[np.bool_], weights: NDArray[np.float64]
) -> list[tuple[tuple[int, ...], float]]:
    """Other parents that tell nearly as much as those that count, and how many nats less.

    A function of two causes tells as much about what they do together as both of them. Beside it a third cause adds
    nothing, though beside the two it may add more than anything.
    """
    s = int(np.argmax((family.members == parents[list(family.candidates)]).all(axis=1)))
    place = {each: t for t, each in enumerate(family.sets)}
    found: list[tuple[tuple[int, ...], float]] = []
    for t in np.argsort(-weights, kind="stable").tolist():
        if weights[t] < weights[s] - ALIKE or len(found) == STAND_INS:
            break
        shared = place.get(tuple(k for k in family.sets[s] if k in family.sets[t]))
        if shared not in (s, t) and (shared is None or weights[shared] < weights[s] - CLEAR):
            others = tuple(family.candidates[k] for k in family.sets[t])
            found.append((others, max(float(weights[s] - weights[t]), 0.0)))
    return found


def _clearly_missing(family: Family, parents: NDArray[np.bool_], beside: NDArray[np.float64]) -> bool:
    """Whether some candidate would clearly add to the parents there are, and the set with it is not considered."""
    present = {k for k, j in enumerate(family.candidates) if parents[j]}
    more = [k for k, j in enumerate(family.candidates) if beside[j] > CLEAR]
    return any(tuple(sorted({*present, k})) not in set(family.sets) for k in more)
