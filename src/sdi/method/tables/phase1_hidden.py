"""Phase 1: parents that add nothing among all rows, and may be parents all the same.

What was touched may depend on a parent that had no effect before: then the parent adds nothing elsewhere, and without
it the environment seems to have touched nothing at all. And the effect of a parent may be weaker than a table can
afford; where effects add up it may still pay.

Legend: M variables, E environments.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Clamp
from sdi.method.tables.phase1_count import Block, Family
from sdi.method.tables.phase1_screen import Screen
from sdi.method.tables.phase2_likelihood import is_sparse
from sdi.method.tables.phase3_sample import MOST
from sdi.method.tables.problem import Problem

CLEAR = 6.0  # nats that such a parent and its environment add together
NO_CHANCE = 5.0  # standard deviations


def hidden(
    problem: Problem, screen: Screen, parents: BoolMatrix, everywhere: Sequence[BoolMatrix], clamp: Clamp
) -> BoolMatrix:
    """For each variable the parent that would add most by the rows of environments that touched it, or of one in
    which nothing seems to have been touched, if it was ``[M, M]``. Of the first block."""
    touched, block = everywhere[0], problem.blocks[0]
    size, found = len(parents), np.zeros(parents.shape, bool)
    idle = np.flatnonzero(problem.open_targets[0] & ~touched.any(axis=1)).tolist()
    idle = idle if len(idle) * size <= MOST else []
    own = {e: _Own(block, e, screen, problem) for e in {*idle, *np.flatnonzero(touched.any(axis=1)).tolist()}}
    for i, s in enumerate(problem.choices(parents)):
        hit, added = np.flatnonzero(touched[:, i]).tolist(), np.full(size, -np.inf)
        worth = problem.weights(i, everywhere)
        for t in {s, 0}:  # beside the parents there are, and in their place: these may stand in for it
            given = problem.families[i].order(t)
            beside, ratios = screen.gains(i, given, touched[:, i]), problem.ratios(0, i, t, touched[:, i])
            more = beside + sum(own[e].gains(i, given) for e in hit)
            for e in idle:
                more = np.maximum(more, beside + own[e].gains(i, given) + ratios[e])
            added = np.maximum(added, np.where(beside < CLEAR, more, -np.inf) - (worth[s] - worth[t]))
        added = np.where(clamp.open[i] & ~parents[i], added, -np.inf)
        k = int(np.argmax(added))
        found[i, k] = added[k] > CLEAR
    return found


def faint(screen: Screen, families: Sequence[Family], parents: BoolMatrix, clamp: Clamp) -> BoolMatrix:
    """Who, of those that are no candidates, most clearly goes with each variable beside its parents ``[M, M]``."""
    found = np.zeros(parents.shape, bool)
    for i, family in enumerate(families):
        given, states = tuple(np.flatnonzero(parents[i]).tolist()), screen.cardinalities
        combinations = states[list(given)].prod(dtype=float) * states
        possible = clamp.open[i] & screen.prior.adds_up(combinations, int(states[i]))
        possible[list(family.candidates)] = False
        clear = np.where(possible, screen.dependence(i, given), -np.inf)
        k = int(np.argmax(clear))
        found[i, k] = clear[k] > NO_CHANCE
    return found


class _Own:
    """The rows of one environment by themselves."""

    def __init__(self, block: Block, environment: int, screen: Screen, problem: Problem) -> None:
        part = block.part(environment)
        its = Block(block.rows[part], block.times[part], np.array([0, part.stop - part.start]))
        self.rows, self.states = float(its.times.sum()), screen.cardinalities
        self.screen = Screen(its, tuple(self.states.tolist()), problem.priors[0])

    def gains(self, i: int, given: tuple[int, ...]) -> NDArray[np.float64]:
        """Nats that each variable would add to these parents, none where there are too few rows to say ``[M]``."""
        cells = self.states[[i, *given]].prod(dtype=float) * self.states
        return np.where(is_sparse(self.rows, cells), 0.0, self.screen.gains(i, given))
