"""Phase 2, targets: whether the mechanism of a variable was touched in an environment, given its parents.

An environment that changes sides changes the cells that were seen in it, and no others.

Legend: M variables, E environments, K parents, Z equivalent sample sizes, r states of the child, q combinations of
parents that were seen, c cells that were seen, C those of the table on all parents.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import MOST, Block, Codes
from sdi.method.tables.phase2_additive import Linear, nothing_to_add, one_more
from sdi.method.tables.phase2_likelihood import Prior, Vector, average, either, is_sparse, unless_sparse
from sdi.method.tables.phase2_own import own_likelihoods
from sdi.method.tables.phase2_score import own_prior, own_table

Matrix = NDArray[np.float64]


class Share(NamedTuple):
    """What each environment holds of some counts."""

    environment: Codes  # [.]
    place: Codes  # [.]
    times: Vector  # [.]


class Level(NamedTuple):
    """The table on the first few parents."""

    cells: Codes  # [C] the cell in it of each cell of the table on all parents
    rows: Codes  # [c] the row of each of its cells ...
    states: Codes  # [c] ... and the state of the child there
    length: int  # its rows
    sparse: NDArray[np.bool_]  # [] whether hardly any cell was seen twice
    of_cells: Share
    of_rows: Share


class Expected(NamedTuple):
    """A Dirichlet prior of a table for each equivalent sample size."""

    cells: Matrix  # [Z, c]
    rows: Matrix  # [Z, q]
    nothing: Vector  # [Z] what it makes of a table without counts


class Tables(NamedTuple):
    """The table of a variable on some parents, in all rows and in each environment."""

    counts: Vector  # [C]
    levels: list[Level]  # [K + 1] without parents, with one, with two, ...
    steps: list[list[tuple[int, Expected]]]  # what is added: a level, less the one below it under the same sizes
    linear: list[tuple[Linear, Linear] | None]  # for each step: a shift by the last parent, and shifts by all of them
    own: Vector  # [E] log marginal likelihood of an environment as a table of its own, on the same parents or on none


def environment_tables(
    block: Block,
    child: int,
    parents: tuple[int, ...],
    cardinalities: tuple[int, ...],
    prior: Prior,
    presumed: Iterable[int] = (),
) -> Tables:
    """Counts of what was seen. Parents are in the order in which they extend a table; what tables are around is fitted
    without the environments that are `presumed` to have touched the child."""
    values, states = block.rows[:, list(parents)], cardinalities[child]
    codes, sizes = [np.zeros(len(values), dtype=np.intp)], [1.0]
    for k, j in enumerate(parents):  # never more codes than rows, however many parents
        codes.append(_numbered(codes[-1] * cardinalities[j] + values[:, k])[1])
        sizes.append(min(sizes[-1] * cardinalities[j], MOST))
    different, cell = _numbered(codes[-1] * states + block.rows[:, child])
    some = np.zeros(len(different), dtype=np.intp)
    some[cell] = np.arange(len(cell))  # a row with each cell
    part = np.repeat(np.arange(block.environments + 1), np.diff(block.starts))
    whole = _share(part, cell, block.times)
    counts, touchable = _sums(whole.place, whole.times, len(different)), whole.environment > 0
    inside = Share(whole.environment[touchable] - 1, whole.place[touchable], whole.times[touchable])
    total = float(block.times.sum())
    levels = [_level(code[some] * states + block.rows[some, child], states, inside, total) for code in codes]
    own, alone = own_prior(prior), block.environments
    hard = _alone(levels[0], _flat(levels[0], states, own.sizes[0]), alone)
    if prior.extending:
        given = _Given(values[some].astype(np.intp), parents, cardinalities, sizes)
        gone = np.isin(whole.environment - 1, list(presumed)) & touchable
        left = counts - _sums(whole.place[gone], whole.times[gone], len(different))
        steps, linear = _extending(left, levels, given, states, prior)
        soft = own_likelihoods(block, child, parents, cardinalities, own)
    else:
        steps, linear = [[(len(parents), _flat(levels[-1], states, prior.sizes[0] / sizes[-1]))]], [None]
        soft = _alone(levels[-1], _flat(levels[-1], states, own.sizes[0] / sizes[-1]), alone)
    return Tables(counts, levels, steps, linear, own_table(soft, hard))


def _sums(place: Codes, values: Vector, length: int) -> Vector:
    """Of values at the same place ``[length]``."""
    return np.bincount(place, values, minlength=length).astype(np.float64, copy=False)


def _share(environment: Codes, place: Codes, times: Vector) -> Share:
    """Added up where environment and place are the same."""
    most = int(place.max(initial=0)) + 1
    different, which = _numbered(environment * most + place)
    return Share(different // most, different % most, _sums(which, times, len(different)))


def _level(cell: Codes, states: int, inside: Share, total: float) -> Level:
    """The table to whose cells these belong; `cell` is the row of each times the states of the child plus its own."""
    different, cells = _numbered(cell)
    rows = different // states
    of_cells = _share(inside.environment, cells[inside.place], inside.times)
    of_rows = _share(of_cells.environment, rows[of_cells.place], of_cells.times)
    length, sparse = int(rows.max(initial=-1)) + 1, is_sparse(total, len(different))
    return Level(cells, rows, different % states, length, sparse, of_cells, of_rows)


def _flat(level: Level, states: int, row: float) -> Expected:
    """The same for each cell, so much for each row."""
    return _expected(np.full((1, len(level.rows)), row / states), np.full((1, level.length), row))


def _expected(cells: Matrix, rows: Matrix) -> Expected:
    cells, rows = np.maximum(cells, 1 / MOST), np.maximum(rows, 1 / MOST)  # of hundreds of parents the share may be 0
    return Expected(cells, rows, gammaln(cells).sum(axis=1) - gammaln(rows).sum(axis=1))


class _Given(NamedTuple):
    """Parents, in the order in which they extend a table."""

    values: Codes  # [C, K] in each cell of the table on all of them
    parents: tuple[int, ...]
    cardinalities: tuple[int, ...]
    sizes: list[float]  # [K + 1] combinations of the first few, seen or not


def _extending(
    counts: Vector, levels: list[Level], given: _Given, states: int, prior: Prior
) -> tuple[list[list[tuple[int, Expected]]], list[tuple[Linear, Linear] | None]]:
    """Each table around the one below it, and what shifts make of it, fitted to these counts."""
    environments = int(levels[0].of_cells.environment.max(initial=-1)) + 1
    steps = [[(0, _flat(levels[0], states, prior.sizes[0]))]]
    linear: list[tuple[Linear, Linear] | None] = [None]
    mass, sums = np.ones(len(counts)), nothing_to_add(states)
    shares = (_table(levels[0], counts, states) + 1 / states) / (counts.sum() + 1)  # [r, q]
    alone, _ = _both_sides(counts, levels, steps, linear, np.zeros(environments))
    beside = (
        float((_table(levels[0], counts, states) * np.log(shares)).sum()) - alone
    )  # what shifts cost is beside that
    for k, (under, level) in enumerate(pairwise(levels), start=1):
        one = np.empty(level.length, np.intp)
        one[level.rows[level.cells]] = np.arange(len(counts))  # [q] a cell of the last table in each row
        j, here = given.parents[k - 1], (level.states, level.rows)
        before, mass = mass, mass * prior.shares[j][given.values[:, k - 1]]
        around, scale = shares[:, under.rows[under.cells[one]]], prior.scaled(given.sizes[k])[:, None]
        below = _around(under, shares[under.states, under.rows], before, scale)
        steps.append([(k, _around(level, around[here], mass, scale)), (k - 1, below)])
        table, only = _table(level, counts, states), np.zeros(level.length, np.intp)
        if not prior.adds_up(given.sizes[k], states):
            shares = (table + around) / (table.sum(axis=0) + 1)
            linear.append(None)
            continue
        base, values = np.zeros(1, np.intp), given.values[one, k - 1]
        row_below = under.rows[under.cells[one]]
        size = np.array([given.cardinalities[j]])
        step = one_more(table, around, sums, base, row_below, only, size, values, prior.sweeps)
        sums, shares = step.sums, step.shares
        pushed, summed = step.pushed.at(here), step.summed.at(here)
        so_far, _ = _both_sides(counts, levels, steps[:-1], linear, np.zeros(environments))
        seen = _sums(level.cells, counts, len(level.rows))
        # It extends what was fitted to these counts: of them it is worth what that is and what it gains, less its cost.
        cost = float(seen @ np.log(around[here])) - so_far + pushed.cost
        linear.append((pushed._replace(cost=np.asarray(cost)), summed._replace(cost=summed.cost + beside)))
    return steps, linear


def _table(level: Level, counts: Vector, states: int) -> Matrix:
    """Counts of the cells of the last table, as those of a level ``[r, q]``."""
    place = level.states[level.cells] * level.length + level.rows[level.cells]
    return _sums(place, counts, states * level.length).reshape(states, -1)


def _around(level: Level, centre: Vector, share: Vector, sizes: Matrix) -> Expected:
    """A prior that expects each cell to have its `centre` of a row; `share` is of the row of each of the last cells."""
    of_cells, of_rows = np.empty(len(level.rows)), np.empty(level.length)
    of_cells[level.cells] = share
    of_rows[level.rows] = of_cells
    return _expected(sizes * (of_cells * centre), sizes * of_rows)


def _numbered(code: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Different codes in their order, and which of them each is; by counting where that is faster than by sorting."""
    if not len(code) or code.max() > 4 * len(code):
        different, which = np.unique(code, return_inverse=True)
        return different, which
    seen = np.bincount(code) > 0
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[code]


def touch_ratios(tables: Tables, touched: NDArray[np.bool_]) -> Vector:
    """log P(rows | touched in e) - log P(rows | left alone in e), for each e, all others as `touched` says ``[E]``."""
    mine = tables.levels[-1].of_cells
    taken = _sums(mine.place, mine.times * touched[mine.environment], len(tables.counts))
    pooled = tables.counts - taken  # of all that left it alone
    given = tables.levels, tables.steps, tables.linear
    shared, other = _both_sides(pooled, *given, np.where(touched, 1.0, -1.0))
    return np.asarray(np.where(touched, shared - other, other - shared) + tables.own)


def _both_sides(
    pooled: Vector,
    levels: list[Level],
    steps: list[list[tuple[int, Expected]]],
    linear: list[tuple[Linear, Linear] | None],
    sign: Vector,
) -> tuple[float, Vector]:
    """Log marginal likelihood of these counts, and of those with each environment changing sides ``[E]``."""
    shared, other = 0.0, np.zeros(len(sign))
    for step, shifts in zip(steps, linear, strict=True):
        found = [_worth(pooled, levels[k], expected, sign) for k, expected in step]
        value, each = found[0]
        if len(found) > 1:
            known = levels[step[0][0]].sparse, shifts is not None
            value, each = unless_sparse(value - found[1][0], *known), unless_sparse(each - found[1][1], *known)
        if shifts is None:
            shared, other = shared + float(average(list(value))), other + average(list(each))
            continue
        (pushed, moved), (summed, turned) = (_linear(pooled, levels[step[0][0]], one, sign) for one in shifts)
        extended = average([*(shared + value), np.array(pushed)])
        shared = float(either(extended, np.array(summed)))
        other = either(average([*(other + each), moved]), turned)
    return shared, other


def _worth(pooled: Vector, level: Level, expected: Expected, sign: Vector) -> tuple[Vector, Matrix]:
    """Log marginal likelihood of a table for each sample size, and with each environment changing sides."""
    cells = _sums(level.cells, pooled, len(level.rows))
    rows = _sums(level.rows, cells, level.length)
    of_cells, moved_cells = _raised(cells, expected.cells, level.of_cells, sign)
    of_rows, moved_rows = _raised(rows, expected.rows, level.of_rows, sign)
    shared = of_cells - of_rows - expected.nothing
    return shared, shared[:, None] + moved_cells - moved_rows


def _linear(pooled: Vector, level: Level, one: Linear, sign: Vector) -> tuple[float, Vector]:
    """The same where each row of a cell is worth as much as any other."""
    change = level.of_cells
    moved = sign[change.environment] * change.times * one.logs[change.place]
    shared = float(_sums(level.cells, pooled, len(level.rows)) @ one.logs) - float(one.cost[0])
    return shared, shared + _sums(change.environment, moved, len(sign))


def _raised(counts: Vector, prior: Matrix, share: Share, sign: Vector) -> tuple[Vector, Matrix]:
    """The sum of log Gamma for each sample size, and what each environment changes in it by changing sides."""
    whole = gammaln(counts + prior)  # [Z, .]
    after = (counts[share.place] + sign[share.environment] * share.times) + prior[:, share.place]
    change = gammaln(after) - whole[:, share.place]
    moved = [_sums(share.environment, each, len(sign)) for each in change]
    return whole.sum(axis=1), np.array(moved)


def _alone(level: Level, expected: Expected, environments: int) -> Vector:
    """Log marginal likelihood of each environment as a table of its own ``[E]``."""
    result = np.zeros(environments)
    for share, prior, sign in ((level.of_cells, expected.cells, 1), (level.of_rows, expected.rows, -1)):
        before = prior[0, share.place]
        risen = gammaln(share.times + before) - gammaln(before)
        result += sign * _sums(share.environment, risen, environments)
    return result
