"""How far a result is from the truth, with one rule for graphs that leave edges without a direction.

An undirected edge of a CPDAG counts in the best case: right where the truth has an edge in either direction, one false
edge where it has none. The worst case, every such edge the wrong way round, is reported beside it, and so is the
distance to the CPDAG of the truth, which is as much as observational rows can tell.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.comparison.data import Targets
from experiments.comparison.result import Result
from sdi import metrics

Matrix = NDArray[np.bool_]  # [child, parent]


def measure(result: Result, truth: Matrix | None, targets: Targets | None) -> dict[str, Any]:
    """Every measure that the result and what is true allow; the others are empty."""
    found = result.graph
    undirected = int((found & found.T).sum()) // 2 if result.partial else 0
    measures: dict[str, Any] = {"edges": int(found.sum()) - undirected, "undirected": undirected}
    if truth is not None:
        best, worst = (oriented(found, way) for way in (truth, truth.T)) if result.partial else (found, found)
        measures |= {"shd": metrics.shd(best, truth), "hamming": metrics.hamming(best, truth)}
        measures |= {"shd_worst": metrics.shd(worst, truth), "hamming_worst": metrics.hamming(worst, truth)}
        if result.partial:
            measures["shd_cpdag"] = metrics.shd(found, cpdag(truth))
        if result.probabilities is not None:
            measures["auroc"] = round(metrics.auroc(result.probabilities, truth), 4)
    if result.targets is not None and targets is not None:
        known = [(guess, true) for guess, true in zip(result.targets, targets, strict=True) if true is not None]
        right = metrics.target_accuracy([guess for guess, _ in known], [true for _, true in known])
        measures["target_accuracy"] = round(right, 4)
    return measures


def oriented(found: Matrix, way: Matrix) -> Matrix:
    """`found` with every undirected edge turned the way that `way` has it, and any one way where it has none."""
    both = found & found.T
    elsewhere = both & ~(way | way.T)
    return (found & ~both) | (both & way) | np.tril(elsewhere)


def cpdag(parents: Matrix) -> Matrix:
    """The class of DAGs that no observation tells from this one: undirected edges go both ways.

    Edges of v-structures keep their direction; then Meek's first three rules, which suffice without prior knowledge.
    """
    linked = parents | parents.T
    directed = np.zeros_like(parents)
    for child in range(len(parents)):
        causes = np.flatnonzero(parents[child])
        for a in causes:
            if any(not linked[a, b] for b in causes if b != a):
                directed[child, a] = True
    while True:
        undirected = linked & ~directed & ~directed.T
        forced = next(((b, a) for a, b in np.argwhere(undirected) if _forced(a, b, directed, undirected, linked)), None)
        if forced is None:
            return directed | undirected
        directed[forced] = True


def _forced(a: int, b: int, directed: Matrix, undirected: Matrix, linked: Matrix) -> bool:
    """Whether a - b must be a -> b."""
    into_a, into_b = directed[a], directed[b]
    if (into_a & ~linked[b]).any():  # c -> a - b, c and b apart: else a new v-structure
        return True
    if (directed[:, a] & into_b).any():  # a -> c -> b: else a cycle
        return True
    between = np.flatnonzero(undirected[a] & into_b)  # a - c -> b
    return any(not linked[c, d] for c in between for d in between if c != d)
