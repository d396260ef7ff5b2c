"""Phase 3: one graph out of all that were drawn.

Legend: M variables.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from sdi.graphs import BoolMatrix, find_cycle
from sdi.method.tables.phase3_sample import Walk
from sdi.method.tables.phase3_search import climb

CLEARLY = 10.0  # nats by which hardly any draw is below another


def one_graph(likely: BoolMatrix, walks: Sequence[Walk], rng: np.random.Generator) -> BoolMatrix:
    """The edges that are `likely`; where these are clearly worse than the best graph that walks have led to, the edges
    of that graph ``[M, M]``.

    Where edges may as well point the other way, or one cause may as well stand in for another, neither may be likely
    though one of them is certain. A graph without both was never drawn, and predicts badly.
    """
    best = max(walks, key=lambda walk: walk.score).copy()
    best.rng = rng
    if not better_off(likely, best).any():
        return likely
    climb(best)
    taken, there = better_off(likely, best), best.parents
    while True:
        graph = np.where(taken[:, None], there, likely)
        cycle = find_cycle(graph)
        if cycle is None:
            return graph
        taken[cycle] = True  # not all of them were, for in the best graph there is no cycle


def better_off(likely: BoolMatrix, walk: Walk) -> NDArray[np.bool_]:
    """Variables that are clearly better off where the walk is, those whose edges differ together being one group: what
    one end of a turned edge loses the other end gains ``[M]``."""
    there = walk.parents
    differs = likely != there
    changed = np.flatnonzero(differs.any(axis=1))
    sets = walk.problem.choices(likely)
    gains = [walk.worth(i) - walk.problem.weights(i, walk.touched)[sets[i]] for i in changed.tolist()]
    count, group = connected_components((differs | differs.T)[np.ix_(changed, changed)], directed=False)
    found = np.zeros(len(likely), bool)
    found[changed] = (np.bincount(group, gains, minlength=count) > CLEARLY)[group]
    return found
