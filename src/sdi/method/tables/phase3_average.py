"""Phase 3: how often each edge and target was seen while chains walked on, and how well they agree.

Legend: M variables, E environments.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.diagnostics import Agreement, agreement
from sdi.method.tables.phase3_sample import Walk


class Walked(NamedTuple):
    """Probabilities of edges and targets, and how well chains agree on them."""

    probabilities: NDArray[np.float64]  # [M, M]
    targets: NDArray[np.float64]  # [E, M]
    agreement: Agreement


def walk_on(walks: list[Walk], draws: int) -> Walked:
    """So many sweeps of every chain after a few that do not count; what was seen in each half of each."""
    half = max(draws // 2, 2)
    moments = []  # of edges and, below them, of targets
    for walk in walks:
        walk.look_around()
        for _ in range(max(draws // 10, 2)):
            walk.sweep()
        moments += [_moments(walk, half) for _ in range(2)]
    means, variances = (np.stack(each) for each in zip(*moments, strict=True))  # [halves, M + E, M]
    size, mean = len(walks[0].choice), means.mean(axis=0)
    return Walked(mean[:size], mean[size:], agreement(means, variances, half))


def _moments(walk: Walk, sweeps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of edges and targets over so many sweeps, of which none is kept ``[M + E, M]``."""
    mean = np.concatenate([walk.sweep(), *walk.touched])
    squares = np.zeros_like(mean)  # of differences from the mean so far, after Welford
    for n in range(2, sweeps + 1):
        off = np.concatenate([walk.sweep(), *walk.touched]) - mean
        mean += off / n
        squares += off * off * ((n - 1) / n)
    return mean, squares / (sweeps - 1)
