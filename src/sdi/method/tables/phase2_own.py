"""Phase 2, targets: what the rows of each environment are worth as those of a mechanism of their own.

Tables that extend one another, as for all rows together, but one for each environment and fitted to its rows alone.

Legend: E environments, R rows of tables that were seen in them, r states of the child, Z equivalent sample sizes.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import MOST, Block
from sdi.method.tables.phase2_additive import nothing_to_add, one_more
from sdi.method.tables.phase2_likelihood import (
    Prior,
    Vector,
    average,
    bdeu_alone,
    either,
    is_sparse,
    unless_sparse,
)

Places = NDArray[np.intp]


def own_likelihoods(
    block: Block, child: int, parents: tuple[int, ...], cardinalities: tuple[int, ...], prior: Prior
) -> Vector:
    """Log marginal likelihood of each environment ``[E]``; parents are in the order in which they extend a table."""
    touchable, states, environments = slice(int(block.starts[1]), None), cardinalities[child], block.environments
    rows, times = block.rows[touchable].astype(np.intp), block.times[touchable]
    environment = np.repeat(np.arange(environments), np.diff(block.starts[1:]))
    code, row_set, combinations = environment, np.arange(environments), 1.0
    table = _table(code, rows[:, child], times, environments, states)  # [r, R]
    result = bdeu_alone(table.T, prior.sizes[0])
    shares, mass = (table + 1 / states) / (table.sum(axis=0) + 1), np.ones(environments)
    beside = result - (table * np.log(shares)).sum(axis=0)  # what shifts of all parents cost is beside that
    alone = table.sum(axis=0)
    each, sums = np.arange(environments), nothing_to_add(states, environments)
    for j in parents:
        different, one, refined = np.unique(
            code * cardinalities[j] + rows[:, j], return_index=True, return_inverse=True
        )
        base, value, before, under = (
            *(different // cardinalities[j], different % cardinalities[j]),
            *(table, (shares, mass, row_set)),
        )
        code, row_set, combinations = refined, environment[one], min(combinations * cardinalities[j], MOST)
        table = _table(code, rows[:, child], times, len(different), states)
        around, mass = shares[:, base], mass[base] * prior.shares[j][value]
        scale = prior.scaled(combinations)
        ahead = _around(table, around, mass, row_set, scale, environments)
        ahead -= _around(before, *under, scale, environments)
        cells = np.bincount(row_set, (table > 0).sum(axis=0), minlength=environments)
        shifted = bool(prior.adds_up(combinations, states))
        ahead = unless_sparse(ahead, is_sparse(alone, cells), shifted)
        if not shifted:
            shares, result = (table + around) / (table.sum(axis=0) + 1), result + average(list(ahead))
            continue
        only = np.full(environments, cardinalities[j])
        step = one_more(table, around, sums, each, base, row_set, only, value, prior.sweeps)
        sums, shares = step.sums, step.shares
        gained, summed = (
            np.bincount(row_set, (table * logs).sum(axis=0), minlength=environments) - one.cost
            for one, logs in ((step.pushed, step.pushed.logs - np.log(around)), (step.summed, step.summed.logs))
        )
        result = either(result + average([*ahead, gained]), summed + beside)
    return result


def _table(code: Places, values: NDArray[np.integer], times: Vector, rows: int, states: int) -> Vector:
    return np.bincount(values * rows + code, times, minlength=states * rows).reshape(states, rows).astype(np.float64)


def _around(table: Vector, shares: Vector, mass: Vector, row_set: Places, sizes: Vector, sets: int) -> Vector:
    """Log marginal likelihood of tables around these shares, of rows with so much of each sample size ``[Z, E]``."""
    states, rows = np.nonzero(table)  # what was never seen adds nothing
    n, totals, found = table[states, rows], table.sum(axis=0), []
    for size in sizes:
        of_rows = np.maximum(size * mass, 1 / MOST)
        of_cells = np.maximum(of_rows[rows] * shares[states, rows], 1 / MOST)
        inside = np.bincount(row_set[rows], gammaln(n + of_cells) - gammaln(of_cells), minlength=sets)
        found.append(inside - np.bincount(row_set, gammaln(totals + of_rows) - gammaln(of_rows), minlength=sets))
    return np.array(found)
