"""Phase 2, doubts: whether parents do more together than each does by itself.

Where effects add up, a table scatters around the shifts of its parents only as chance has it.

Legend: R rows of the table that were seen, r states of the child.
"""

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.phase2_additive import add_up, extend, nothing_to_add
from sdi.worlds.world import Rows

RARE = 1e-6  # no share counts as less: one row there would say everything


def together(
    seen: tuple[Rows, NDArray[np.float64]],
    child: int,
    parents: tuple[int, ...],
    cardinalities: tuple[int, ...],
    sweeps: int,
) -> float:
    """By how many standard deviations rows scatter more around shifts of all parents than they would by chance.

    Each row was `seen` so many times.
    """
    (rows, times), states = seen, cardinalities[child]
    code, sums = np.zeros(len(rows), np.intp), nothing_to_add(states)
    result, only, fitted = 0.0, np.zeros(1, np.intp), 1
    for j in parents:
        before, fitted = code, fitted + cardinalities[j] - 1
        different, one, code = np.unique(before * cardinalities[j] + rows[:, j], return_index=True, return_inverse=True)
        place = rows[:, child].astype(np.intp) * len(different) + code
        counts = np.bincount(place, times, minlength=states * len(different)).reshape(states, -1).astype(np.float64)
        size, value = np.array([cardinalities[j]]), different % cardinalities[j]
        none = np.zeros(len(different), np.intp)
        sums, summed = add_up(counts, extend(sums, only, before[one], none, size, value), sweeps)
        result = _beyond_chance(counts, np.exp(summed.logs), fitted)
    return result


def _beyond_chance(counts: NDArray[np.float64], shares: NDArray[np.float64], fitted: int) -> float:
    """Pearson's statistic less what is expected of it, in its standard deviations, for these shares ``[r, R]``; so many
    of the rows might have been fitted."""
    totals, shares, free = counts.sum(axis=0), np.maximum(shares, RARE), len(counts) - 1
    square = ((counts - totals * shares) ** 2 / (totals * shares)).sum(axis=0)
    rare = (1 / shares).sum(axis=0) - len(counts) ** 2 - 2 * free  # few rows of rare states scatter more
    variance = (2 * free + rare / totals).sum()
    return float((square.sum() - free * max(len(totals) - fitted, 0)) / np.sqrt(max(variance, 1.0)))
