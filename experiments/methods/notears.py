"""NOTEARS (Zheng et al. 2018): a linear DAG by continuous optimisation, on observational rows.

Source: gcastle 1.0.4, `castle.algorithms.Notears`, its defaults (least squares, weights below 0.3 dropped) but for an
L1 penalty of 0.01: at the default of 0.1 columns of zeros and ones give hardly an edge (seen on cancer, asia and sachs
at seeds 11 and 12). Of 4 choices (penalty, columns scaled or not) it is the best on asia by the true graph: other rows
than those reported, but the same network, so its figures there are on the kind side.
It models numbers. Categories are passed in one of two ways, both reported:

codes     each variable is the number of its category, which is arbitrary where there are more than two;
one-hot   each category but the first is a 0/1 column; an edge is as strong as the strongest weight between the
          columns of its ends, and is dropped where it would close a cycle with stronger ones.
"""

import numpy as np
from numpy.typing import NDArray

import sdi
from experiments.comparison.result import Result
from sdi.graphs import find_cycle

THRESHOLD, PENALTY = 0.3, 0.01


def run(dataset: sdi.Dataset, seed: int, seconds: float, coding: str) -> Result:
    from castle.algorithms import Notears

    columns, owner = columns_of(dataset, coding)
    model = Notears(lambda1=PENALTY, w_threshold=THRESHOLD)
    model.learn(columns)
    weights = np.abs(np.asarray(model.weight_causal_matrix)).T  # gcastle has [cause, effect]
    return Result(parents=strongest_dag(by_variable(weights, owner)), note=f"categories as {coding}")


def columns_of(dataset: sdi.Dataset, coding: str) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The observational rows as numbers, and the variable that each column belongs to."""
    rows = dataset.observational
    if coding == "codes":
        return rows.astype(float), np.arange(rows.shape[1])
    pairs = [(j, value) for j, size in enumerate(dataset.cardinalities) for value in range(1, size)]
    columns = np.stack([rows[:, j] == value for j, value in pairs], axis=1)
    return columns.astype(float), np.array([j for j, _ in pairs])


def by_variable(weights: NDArray[np.float64], owner: NDArray[np.intp]) -> NDArray[np.float64]:
    """The strongest weight between the columns of each two variables, [child, parent]."""
    size = int(owner.max()) + 1
    strongest = np.zeros((size, size))
    np.maximum.at(strongest, (owner[:, None], owner[None, :]), weights)
    np.fill_diagonal(strongest, 0)
    return strongest


def strongest_dag(weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Edges above the threshold, strongest first, each unless it would close a cycle."""
    parents = np.zeros(weights.shape, dtype=bool)
    order = sorted(zip(*np.nonzero(weights >= THRESHOLD), strict=True), key=lambda edge: -weights[edge])
    for edge in order:
        parents[edge] = True
        if find_cycle(parents) is not None:
            parents[edge] = False
    return parents
