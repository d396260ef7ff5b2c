"""Greedy search over DAGs with an interventional BDeu and known targets.

Source: hill climbing by the single edge that helps most (add, remove, turn), as in Heckerman, Geiger & Chickering
(1995), with the score of `experiments.methods.bdeu`. The first climb starts at the empty graph, the others at
random sparse DAGs; the best summit is returned. Categories are nominal: codes are only counted. The targets must be
known, and are what turns edges within an equivalence class.

A climb keeps one number per ordered pair, what flipping parent j of child i would gain: adding and removing are flips,
turning an edge is two. A move changes one or two rows of it, and families are scored once over all climbs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.methods.bdeu import InterventionalBDeu, Targets, Touched
from sdi import Dataset

LEAST_GAIN = 1e-9  # below it a gain is rounding, and turning an edge to and fro would never end


class Summit(NamedTuple):
    """The best graph ``parents[child, parent]``, its score, and the score of every summit that was reached."""

    parents: NDArray[np.bool_]
    score: float
    summits: NDArray[np.float64]


def run(
    dataset: Dataset,
    targets: Targets | None = None,
    seed: int = 0,
    *,
    restarts: int = 10,
    max_parents: int | None = None,
    equivalent_sample_size: float = 1.0,
    touched: Touched = "own-table",
) -> Summit:
    """The best graph of ``1 + restarts`` climbs; targets not given are those that the dataset declares."""
    if restarts < 0:
        raise ValueError(f"restarts is a number of further climbs, at least 0; got {restarts}")
    score = InterventionalBDeu(dataset, targets, equivalent_sample_size=equivalent_sample_size, touched=touched)
    limit = score.p - 1 if max_parents is None else max_parents
    rng = np.random.default_rng(seed)
    starts = [np.zeros((score.p, score.p), dtype=bool), *(random_start(score.p, rng, limit) for _ in range(restarts))]
    found = [climb(score, start, limit) for start in starts]
    totals = np.array([score.total(parents) for parents in found])
    best = int(totals.argmax())
    return Summit(found[best], float(totals[best]), totals)


def climb(score: InterventionalBDeu, start: NDArray[np.bool_], max_parents: int) -> NDArray[np.bool_]:
    """The graph that no single added, removed or turned edge improves, uphill from `start`."""
    parents = start.copy()
    gains = np.array([_gains_of_flips(score, parents, child) for child in range(len(parents))])  # [child, parent]
    while True:
        single, turn = _moves(parents, gains, max_parents)
        if max(single.max(), turn.max()) < LEAST_GAIN:
            return parents
        turning = bool(turn.max() > single.max())
        child, parent = np.unravel_index((turn if turning else single).argmax(), parents.shape)
        parents[child, parent] ^= True
        if turning:
            parents[parent, child] = True
        for changed in (child, parent) if turning else (child,):
            gains[changed] = _gains_of_flips(score, parents, int(changed))


def _gains_of_flips(score: InterventionalBDeu, parents: NDArray[np.bool_], child: int) -> NDArray[np.float64]:
    """What adding or taking away each parent of `child` would gain ``[M]``."""
    present = set(np.flatnonzero(parents[child]).tolist())
    now = score.local_score(child, present)
    others = (parent for parent in range(len(parents)) if parent != child)
    flipped = {parent: score.local_score(child, present ^ {parent}) - now for parent in others}
    return np.array([flipped.get(parent, -np.inf) for parent in range(len(parents))])


def _moves(
    parents: NDArray[np.bool_], gains: NDArray[np.float64], max_parents: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gains ``[child, parent]`` of flipping an edge and of turning it round, -inf where that is not allowed."""
    room = (parents.sum(axis=1) < max_parents)[:, None]  # [child, 1]
    descends = _descendants(parents)  # [descendant, ancestor]
    single = np.where(parents | (~descends.T & room), gains, -np.inf)
    detour = (descends.astype(np.int32) @ parents.astype(np.int32)) > 0  # a way from parent to child beside the edge
    turn = np.where(parents & ~detour & room.T, gains + gains.T, -np.inf)
    return single, turn


def _descendants(parents: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """``[i, j]``: there is a directed path of at least one edge from j to i."""
    reached = parents.astype(np.float32)
    for _ in range(int(np.ceil(np.log2(max(len(parents), 2))))):  # paths double in length each time
        reached = ((reached + reached @ reached) > 0).astype(np.float32)
    return reached > 0


def random_start(size: int, rng: np.random.Generator, max_parents: int) -> NDArray[np.bool_]:
    """A DAG in random causal order in which each variable has 0 to 2 parents among those before it."""
    order, parents = rng.permutation(size), np.zeros((size, size), dtype=bool)
    for place, child in enumerate(order):
        count = min(int(rng.integers(3)), place, max_parents)
        parents[child, rng.choice(order[:place], count, replace=False) if count else []] = True
    return parents
