"""What tables predict: the probability of each value given its parents, after counting some rows."""

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.worlds.world import Rows


def log_predictive(
    train: Rows, test: Rows, parents: BoolMatrix, cardinalities: tuple[int, ...], sample_size: float
) -> NDArray[np.float64]:
    """log P(value | its parents, the rows of `train`) of every value of `test` ``[R, M]``."""
    result = np.empty(test.shape)
    both = np.concatenate([train, test])
    for i, states in enumerate(cardinalities):
        members = np.flatnonzero(parents[i])
        code = np.zeros(len(both), dtype=np.int64)
        for j in members:
            _, code = np.unique(code * cardinalities[j] + both[:, j], return_inverse=True)  # never more than rows
        combinations = float(np.prod([float(cardinalities[j]) for j in members]))
        counts = np.zeros((int(code.max()) + 1, states))
        np.add.at(counts, (code[: len(train)], train[:, i]), 1)
        row = sample_size / combinations
        of_test = counts[code[len(train) :]]
        seen = of_test[np.arange(len(test)), test[:, i]]
        result[:, i] = np.log(seen + row / states) - np.log(of_test.sum(axis=1) + row)
    return result
