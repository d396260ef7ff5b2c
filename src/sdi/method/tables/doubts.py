"""Which variables of a graph tables may be wrong about: then networks are asked.

Legend: M variables.
"""

import numpy as np

from sdi.graphs import BoolMatrix, descendants
from sdi.method.tables.phase2_scatter import together
from sdi.method.tables.prepare import Prepared
from sdi.method.tables.problem import Problem

MANY_PARENTS = 5  # a table of so many is mostly empty
PLAINLY = 3.0  # standard deviations by which rows of a table scatter around effects that add up
FEW_ROWS = 20  # for each number that a table holds ...
FEW_ADDED = 5  # ... and for each shift, where effects may add up
CLEARLY = 20.0  # standard deviations of a G-statistic


def strained_by(problem: Problem, prepared: Prepared, parents: BoolMatrix, finite: bool) -> BoolMatrix:
    """Variables with too few rows for one parent more, or a clear dependence on others than their parents ``[M]``.

    Where effects may add up, a parent more has only as many numbers as it has values; else it multiplies the table, and
    with many parents that is mostly empty. In a world without end tables are slow where causes are many.
    """
    cardinalities = np.array(problem.families[0].cardinalities, dtype=float)
    usual = np.median(cardinalities)
    numbers = np.where(parents, cardinalities[None, :], 1.0).prod(axis=1) * (cardinalities - 1) * usual
    adding_up = np.full(len(parents), finite and problem.priors[0].extending)
    adding_up &= problem.priors[0].adds_up(numbers / (cardinalities - 1), cardinalities)
    rows = min(float(block.times.sum()) for block in problem.blocks)
    too_large = np.isin(np.arange(len(parents)), prepared.too_large)
    many = (parents.sum(axis=1) >= MANY_PARENTS) & ~adding_up
    added = (np.where(parents, cardinalities[None, :] - 1, 0.0).sum(axis=1) + usual - 1) * (cardinalities - 1)
    strained = too_large | many | (np.where(adding_up, added * FEW_ADDED, numbers * FEW_ROWS) > rows)
    later = descendants(parents)  # [M, M] of whom each is a cause, itself included
    for i in np.flatnonzero(~strained).tolist():
        beyond = prepared.alone.dependence(i, tuple(np.flatnonzero(parents[i]).tolist()))
        strained[i] = bool((beyond[~later[i]] > CLEARLY).any())
    return np.asarray(strained)


def crowded_by(problem: Problem, prepared: Prepared, parents: BoolMatrix, strained: BoolMatrix) -> BoolMatrix:
    """Variables with many parents that do more together than one by one, which a table can hardly learn ``[M]``."""
    cardinalities, prior = problem.families[0].cardinalities, problem.priors[0]
    seen, found = (prepared.alone.rows, prepared.alone.times), np.zeros(len(parents), bool)
    for i in np.flatnonzero((parents.sum(axis=1) >= MANY_PARENTS) & ~strained).tolist():
        mine = tuple(np.flatnonzero(parents[i]).tolist())
        found[i] = together(seen, i, mine, cardinalities, prior.sweeps) > PLAINLY
    return found
