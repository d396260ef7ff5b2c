"""Phase 2, targets: whether the mechanism of a variable was touched in an environment, given its parents.

Legend: M variables, E environments, r states of a variable, q combinations of its parents.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import Block
from sdi.method.tables.phase2_score import own_size

Matrix = NDArray[np.float64]
PIECE = 4_000_000  # cells of all environments that are held at once


def environment_counts(block: Block, child: int, parents: tuple[int, ...], cardinalities: tuple[int, ...]) -> Matrix:
    """Counts in the rows left alone and in each environment ``[1 + E, q, r]``; combinations never seen are left out."""
    seen, code = np.zeros(1, dtype=np.intp), np.zeros(len(block.rows), dtype=np.intp)
    for j in parents:
        if len(seen) * cardinalities[j] > 2 * len(code):  # never more codes than rows, however many parents
            seen, code = np.unique(code, return_inverse=True)
        code, seen = code * cardinalities[j] + block.rows[:, j], np.arange(len(seen) * cardinalities[j])
    seen, code = np.unique(code, return_inverse=True)
    states = cardinalities[child]
    of_part = np.repeat(np.arange(block.environments + 1), np.diff(block.starts))
    cells = (of_part * len(seen) + code) * states + block.rows[:, child]
    counts = np.bincount(cells, block.times, minlength=(block.environments + 1) * len(seen) * states)
    return counts.reshape(block.environments + 1, len(seen), states).astype(np.float64)


def touch_ratios(
    counts: Matrix, combinations: int, touched: NDArray[np.bool_], sample_size: float
) -> NDArray[np.float64]:
    """log P(rows | touched in e) - log P(rows | left alone in e), for each e, all others as `touched` says ``[E]``."""
    environments = counts[1:]  # [E, q, r]
    pooled = counts.sum(axis=0) - environments[touched].sum(axis=0)  # of all that left it alone

    def score(table: Matrix, sample_size: float = sample_size) -> NDArray[np.float64]:
        """Log marginal likelihood of tables ``[..., q, r]``, each its own."""
        row = sample_size / combinations
        cell, totals = row / counts.shape[2], table.sum(axis=-1)
        inside = np.where(table > 0, gammaln(table + cell) - gammaln(cell), 0.0).sum(axis=(-1, -2))
        return inside - np.where(totals > 0, gammaln(totals + row) - gammaln(row), 0.0).sum(axis=-1)

    small = own_size(sample_size)
    result = np.empty(len(environments))
    step = max(1, PIECE // max(pooled.size, 1))
    for at in range(0, len(environments), step):
        here = environments[at : at + step]
        gone = touched[at : at + step, None, None]
        without = pooled - np.where(gone, 0.0, here)  # e is not among those that left it alone ...
        result[at : at + step] = score(without) - score(without + here) + _own(here, score(here, small), small)
    return result


def _own(tables: Matrix, soft: NDArray[np.float64], sample_size: float) -> NDArray[np.float64]:
    """Score of a table of its own for each environment, on the same parents or on none."""
    alone = tables.sum(axis=1)  # [E, r]
    cell = sample_size / alone.shape[1]
    hard = (gammaln(alone + cell) - gammaln(cell)).sum(axis=1)
    hard -= gammaln(alone.sum(axis=1) + sample_size) - gammaln(sample_size)
    return np.asarray(np.logaddexp(soft, hard) - np.log(2.0))
