"""Phase 2, targets: whether the mechanism of a variable was touched in an environment, given its parents.

Legend: M variables, E environments, r states of a variable, q combinations of its parents that were seen.
"""

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.phase1_count import Block
from sdi.method.tables.phase2_likelihood import Prior, Vector, average, bdeu_alone, log_rising
from sdi.method.tables.phase2_score import own_size, own_table

Matrix = NDArray[np.float64]
PIECE = 4_000_000  # cells of all environments that are held at once


class Level(NamedTuple):
    """The first parents of a table, up to one: a table of its own."""

    starts: NDArray[np.intp]  # [q'] where each of their combinations begins among those of all parents
    shares: Vector  # [q', 1] how often each would be seen if parents were independent
    centre: Matrix  # [q', r] what is expected beforehand, fitted to all rows without the last of them
    before: Matrix  # [q'', r] the same for those without it, fitted to all rows
    before_shares: Vector  # [q'', 1]
    combinations: int  # of these parents, seen or not


class Tables(NamedTuple):
    """The table of a variable on some parents, in the rows left alone and in each environment."""

    counts: Matrix  # [1 + E, q, r]
    combinations: int  # of the parents, seen or not
    levels: list[Level]  # [K] with one, two, ... parents


def environment_tables(
    block: Block, child: int, parents: tuple[int, ...], cardinalities: tuple[int, ...], prior: Prior
) -> Tables:
    """Counts of the combinations that were seen. Parents are in the order in which they extend a table."""
    values = block.rows[:, list(parents)]
    code = np.zeros(len(values), dtype=np.intp)
    above = []  # for each combination of the first parents, that without the last of them
    for k, j in enumerate(parents):  # never more codes than rows, however many parents
        different, code = _numbered(code * cardinalities[j] + values[:, k])
        above.append(different // cardinalities[j])
    q = int(code.max()) + 1 if len(code) else 1
    states = cardinalities[child]
    of_part = np.repeat(np.arange(block.environments + 1), np.diff(block.starts))
    cells = (of_part * q + code) * states + block.rows[:, child]
    counts = np.bincount(cells, block.times, minlength=(block.environments + 1) * q * states)
    shaped = counts.reshape(block.environments + 1, q, states).astype(np.float64)
    chances = [prior.shares[j] for j in parents] if prior.extending else []
    some = np.zeros(q, dtype=np.intp)
    some[code] = np.arange(len(code))  # a row with each combination
    shares = [each[values[some, k], None] for k, each in enumerate(chances)]
    sizes = [cardinalities[j] for j in parents]
    return Tables(shaped, prod(sizes), _levels(shaped.sum(axis=0), above, shares, sizes))


def _numbered(code: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Different codes in their order, and which of them each is; by counting where that is faster than by sorting."""
    if not len(code) or code.max() > 4 * len(code):
        different, which = np.unique(code, return_inverse=True)
        return different, which
    seen = np.bincount(code) > 0
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[code]


def _levels(counts: Matrix, above: list[NDArray[np.intp]], shares: list[Vector], sizes: list[int]) -> list[Level]:
    """Combinations are sorted by the first parent, then the second: those that share the first few lie together."""
    starts = [np.arange(len(counts))]
    for each in above[:0:-1]:
        starts.append(starts[-1][np.unique(each, return_index=True)[1]])
    alone = counts.sum(axis=0, keepdims=True)
    fitted, share = (alone + 1 / counts.shape[1]) / (alone.sum() + 1), np.ones((1, 1))
    levels: list[Level] = []
    for start, up, one in zip(reversed(starts), above, shares, strict=False):
        here, centre, before = np.add.reduceat(counts, start, axis=0), fitted[up], (fitted, share)
        share = share[up] * one[start]
        levels.append(Level(start, share, centre, *before, prod(sizes[: len(levels) + 1])))
        fitted = (here + centre) / (here.sum(axis=1, keepdims=True) + 1)
    return levels


def touch_ratios(tables: Tables, touched: NDArray[np.bool_], prior: Prior) -> Vector:
    """log P(rows | touched in e) - log P(rows | left alone in e), for each e, all others as `touched` says ``[E]``."""
    environments = tables.counts[1:]  # [E, q, r]
    pooled = tables.counts.sum(axis=0) - environments[touched].sum(axis=0)  # of all that left it alone
    shared, other = float(_likelihood(pooled, tables, prior)), np.empty(len(environments))
    step = max(1, PIECE // max(pooled.size, 1))
    for at in range(0, len(environments), step):  # each changes sides
        here, sign = environments[at : at + step], np.where(touched[at : at + step], 1.0, -1.0)
        other[at : at + step] = _likelihood(pooled + sign[:, None, None] * here, tables, prior)
    own = _own(environments, tables.combinations, own_size(prior.sizes[0]))
    return np.asarray(np.where(touched, shared - other, other - shared) + own)


def _likelihood(counts: Matrix, tables: Tables, prior: Prior) -> Vector:
    """Log marginal likelihood of tables ``[..., q, r]``, each on its own."""
    if not prior.extending:
        return _bdeu(counts, tables.combinations, prior.sizes[0])
    before = counts.sum(axis=-2, keepdims=True)
    result = bdeu_alone(before[..., 0, :], prior.sizes[0])
    for level in tables.levels:
        here, found = np.add.reduceat(counts, level.starts, axis=-2), []
        for size in prior.scaled(level.combinations).tolist():
            around, mass = size * level.shares, size * level.before_shares
            added = _rise(here, around * level.centre, around[:, 0])
            found.append(added - _rise(before, mass * level.before, mass[:, 0]))
        result, before = result + average(found), here
    return result


def _bdeu(counts: Matrix, combinations: int, sample_size: float) -> Vector:
    row = sample_size / combinations
    return _rise(counts, np.array([[row / counts.shape[-1]]]), np.array([row]))


def _rise(counts: Matrix, cell: Matrix, row: Vector) -> Vector:
    """Under a Dirichlet prior with these parameters ``[q, r]``, the sums of its rows given too ``[q]``."""
    inside = log_rising(counts, cell).sum(axis=(-1, -2))
    return np.asarray(inside - log_rising(counts.sum(axis=-1), row).sum(axis=-1))


def _own(counts: Matrix, combinations: int, sample_size: float) -> Vector:
    """Score of a table of its own for each environment, on the same parents or on none."""
    soft, hard = _bdeu(counts, combinations, sample_size), _bdeu(counts.sum(axis=1, keepdims=True), 1, sample_size)
    return own_table(soft, hard)
