"""Phase 2, targets: whether the mechanism of a variable was touched in an environment, given its parents.

An environment that changes sides changes the cells that were seen in it, and no others.

Legend: M variables, E environments, K parents, Z equivalent sample sizes, q combinations of parents that were seen,
c cells that were seen, C those of the table on all parents.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import MOST, Block, Codes
from sdi.method.tables.phase2_likelihood import Prior, Vector, average
from sdi.method.tables.phase2_score import own_size, own_table

Matrix = NDArray[np.float64]


class Share(NamedTuple):
    """What each environment holds of some counts."""

    environment: Codes  # [.]
    place: Codes  # [.]
    times: Vector  # [.]


class Level(NamedTuple):
    """The table on the first few parents."""

    cells: Codes  # [C] the cell in it of each cell of the table on all parents
    rows: Codes  # [c] the row of each of its cells
    length: int  # its rows
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
    own: Vector  # [E] log marginal likelihood of an environment as a table of its own, on the same parents or on none


def environment_tables(
    block: Block, child: int, parents: tuple[int, ...], cardinalities: tuple[int, ...], prior: Prior
) -> Tables:
    """Counts of what was seen. Parents are in the order in which they extend a table."""
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
    levels = [_level(code[some] * states + block.rows[some, child], states, inside) for code in codes]
    if prior.extending:
        shares = [prior.shares[j][values[some, k]] for k, j in enumerate(parents)]
        steps = _extending(counts, levels, shares, states, sizes, prior)
    else:
        steps = [[(len(parents), _flat(levels[-1], states, prior.sizes[0] / sizes[-1]))]]
    soft, hard = (
        _alone(level, _flat(level, states, own_size(prior.sizes[0]) / q), block.environments)
        for level, q in ((levels[-1], sizes[-1]), (levels[0], 1))
    )
    return Tables(counts, levels, steps, own_table(soft, hard))


def _sums(place: Codes, values: Vector, length: int) -> Vector:
    """Of values at the same place ``[length]``."""
    return np.bincount(place, values, minlength=length).astype(np.float64, copy=False)


def _share(environment: Codes, place: Codes, times: Vector) -> Share:
    """Added up where environment and place are the same."""
    most = int(place.max(initial=0)) + 1
    different, which = _numbered(environment * most + place)
    return Share(different // most, different % most, _sums(which, times, len(different)))


def _level(cell: Codes, states: int, inside: Share) -> Level:
    """The table to whose cells these belong; `cell` is the row of each times the states of the child plus its own."""
    different, cells = _numbered(cell)
    rows = different // states
    of_cells = _share(inside.environment, cells[inside.place], inside.times)
    of_rows = _share(of_cells.environment, rows[of_cells.place], of_cells.times)
    return Level(cells, rows, int(rows.max(initial=-1)) + 1, of_cells, of_rows)


def _flat(level: Level, states: int, row: float) -> Expected:
    """The same for each cell, so much for each row."""
    return _expected(np.full((1, len(level.rows)), row / states), np.full((1, level.length), row))


def _expected(cells: Matrix, rows: Matrix) -> Expected:
    cells, rows = np.maximum(cells, 1 / MOST), np.maximum(rows, 1 / MOST)  # of hundreds of parents the share may be 0
    return Expected(cells, rows, gammaln(cells).sum(axis=1) - gammaln(rows).sum(axis=1))


def _extending(
    counts: Vector, levels: list[Level], shares: list[Vector], states: int, sizes: list[float], prior: Prior
) -> list[list[tuple[int, Expected]]]:
    """Each table around the one below it.

    `shares` are of the value of each parent in each cell of the last one, `sizes` the combinations, seen or not.
    """
    steps = [[(0, _flat(levels[0], states, prior.sizes[0]))]]
    centre, share = np.full(len(levels[0].rows), 1 / states), np.ones(len(counts))
    for k, (under, level) in enumerate(pairwise(levels), start=1):
        here = _sums(under.cells, counts, len(under.rows))
        fitted = (here + centre) / (_sums(under.rows, here, under.length)[under.rows] + 1)
        centre, before, share = np.empty(len(level.rows)), share, share * shares[k - 1]
        centre[level.cells] = fitted[under.cells]
        scale = prior.scaled(sizes[k])[:, None]
        steps.append([(k, _around(level, centre, share, scale)), (k - 1, _around(under, fitted, before, scale))])
    return steps


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
    sign, shared, other = np.where(touched, 1.0, -1.0), 0.0, np.zeros(len(touched))
    for step in tables.steps:
        found = [_worth(pooled, tables.levels[k], expected, sign) for k, expected in step]
        value, each = found[0]
        if len(found) > 1:
            value, each = value - found[1][0], each - found[1][1]
        shared += float(average(list(value)))
        other += average(list(each))
    return np.asarray(np.where(touched, shared - other, other - shared) + tables.own)


def _worth(pooled: Vector, level: Level, expected: Expected, sign: Vector) -> tuple[Vector, Matrix]:
    """Log marginal likelihood of a table for each sample size, and with each environment changing sides."""
    cells = _sums(level.cells, pooled, len(level.rows))
    rows = _sums(level.rows, cells, level.length)
    of_cells, moved_cells = _raised(cells, expected.cells, level.of_cells, sign)
    of_rows, moved_rows = _raised(rows, expected.rows, level.of_rows, sign)
    shared = of_cells - of_rows - expected.nothing
    return shared, shared[:, None] + moved_cells - moved_rows


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
