"""Phase 1: parents that matter in one environment alone.

What was touched may depend on a parent that had no effect before. Among all rows the parent then adds nothing, and
without it the environment seems to have touched nothing at all.

Legend: M variables, E environments.
"""

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Clamp
from sdi.method.tables.phase1_count import Block
from sdi.method.tables.phase1_screen import Screen
from sdi.method.tables.phase2_likelihood import is_sparse
from sdi.method.tables.problem import Problem

MOST = 5_000  # variables in idle environments that are looked at: of more it is too dear
CLEAR = 6.0  # nats that such a parent and its environment add together


def hidden(problem: Problem, screen: Screen, parents: BoolMatrix, touched: BoolMatrix, clamp: Clamp) -> BoolMatrix:
    """For each variable the parent that would add most by the rows of environments that touched it, or of one in
    which nothing seems to have been touched, if it was ``[M, M]``. Of the first block."""
    size, block, found = len(parents), problem.blocks[0], np.zeros(parents.shape, bool)
    idle = np.flatnonzero(problem.open_targets[0] & ~touched.any(axis=1)).tolist()
    idle = idle if len(idle) * size <= MOST else []
    own = {e: _Own(block, e, screen, problem) for e in {*idle, *np.flatnonzero(touched.any(axis=1)).tolist()}}
    for i, s in enumerate(problem.choices(parents)):
        given, ratios = tuple(np.flatnonzero(parents[i]).tolist()), problem.ratios(0, i, s, touched[:, i])
        beside = screen.gains(i, given, touched[:, i])
        added = beside + sum(own[e].gains(i, given) for e in np.flatnonzero(touched[:, i]).tolist())
        for e in idle:
            added = np.maximum(added, beside + own[e].gains(i, given) + ratios[e])
        added = np.where(clamp.open[i] & (beside < CLEAR), added, -np.inf)
        k = int(np.argmax(added))
        found[i, k] = added[k] > CLEAR
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
