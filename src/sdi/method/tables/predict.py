"""What tables predict: the probability of each value given its parents, after counting some rows.

Legend: R rows, M variables, q combinations of parents, r states of a variable.
"""

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.tables.phase1_count import MOST, make_block
from sdi.method.tables.phase2_additive import nothing_to_add, one_more
from sdi.method.tables.phase2_likelihood import (
    Prior,
    Vector,
    bdeu_alone,
    is_sparse,
    log_rising,
    prior_of,
    unless_sparse,
)
from sdi.worlds.world import Rows


def log_predictive(
    train: Rows,
    test: Rows,
    parents: BoolMatrix,
    cardinalities: tuple[int, ...],
    sample_size: float,
    strengths: int = 1,
) -> NDArray[np.float64]:
    """log P(value | its parents, the rows of `train`) of every value of `test` ``[R, M]``."""
    prior = prior_of(make_block(train, []), cardinalities, sample_size, strengths)
    result = np.empty(test.shape)
    for i in range(len(cardinalities)):
        members = np.flatnonzero(parents[i]).tolist()
        predict = _extending if prior.extending else _plain
        chances = predict(train, test, i, members, cardinalities, prior)
        result[:, i] = np.log(chances[np.arange(len(test)), test[:, i]])
    return result


def _plain(
    train: Rows, test: Rows, child: int, members: list[int], cardinalities: tuple[int, ...], prior: Prior
) -> Vector:
    """By one table under BDeu ``[R, r]``."""
    code = np.zeros(len(train) + len(test), dtype=np.int64)
    for j in members:
        code = _refined(code, np.concatenate([train[:, j], test[:, j]]), cardinalities[j])
    counts = _counts(code[: len(train)], train[:, child], int(code.max()) + 1, cardinalities[child])
    of_test, row = (
        counts[code[len(train) :]],
        prior.sizes[0] / float(np.prod([float(cardinalities[j]) for j in members])),
    )
    return np.asarray((of_test + row / cardinalities[child]) / (of_test.sum(axis=1, keepdims=True) + row))


def _extending(
    train: Rows, test: Rows, child: int, members: list[int], cardinalities: tuple[int, ...], prior: Prior
) -> Vector:
    """By tables that extend one another, parents that tell more on their own first ``[R, r]``.

    Each account of the last parent weighs as much as it explains the rows that were counted.
    """
    states, both = cardinalities[child], np.concatenate([train, test])
    code, q, combinations = np.zeros(len(both), dtype=np.int64), 1, 1.0
    counts = _counts(code[: len(train)], train[:, child], 1, states)
    shares = (counts + 1 / states) / (counts.sum(axis=1, keepdims=True) + 1)  # [q, r]
    chances = np.repeat((counts + prior.sizes[0] / states) / (counts.sum() + prior.sizes[0]), len(test), axis=0)
    explained, mass, sums = float(bdeu_alone(counts[0], prior.sizes[0])), np.ones(1), nothing_to_add(states)
    beside = explained - float((counts * np.log(shares)).sum())  # what shifts cost is beside that
    for j in sorted(members, key=lambda j: -_told(train, child, j, cardinalities)):
        before, under, above = counts, (mass, shares), code
        code = _refined(code, both[:, j], cardinalities[j])
        q, combinations = int(code.max()) + 1, min(combinations * cardinalities[j], MOST)
        one = np.zeros(q, dtype=np.int64)
        one[code] = np.arange(len(code))  # a row with each combination
        counts, of_test = _counts(code[: len(train)], train[:, child], q, states), code[len(train) :]
        centre, mass = shares[above[one]], mass[above[one]] * prior.shares[j][both[one, j]]
        worth, guesses = [], []
        for size in prior.scaled(np.array(combinations)).tolist():
            worth.append(_rise(counts, size * mass, centre) - _rise(before, size * under[0], under[1]))
            rows = size * mass[of_test, None]
            guesses.append((counts[of_test] + rows * chances) / (counts[of_test].sum(axis=1, keepdims=True) + rows))
        step, shifted = None, bool(prior.adds_up(combinations, states))
        worth = unless_sparse(np.array(worth), is_sparse(counts.sum(), int(np.count_nonzero(counts))), shifted).tolist()
        if shifted:
            base, only, size_of = np.zeros(1, np.intp), np.zeros(q, np.intp), np.array([cardinalities[j]])
            given = above[one].astype(np.intp), only, size_of, both[one, j].astype(np.intp), prior.sweeps
            step = one_more(counts.T, centre.T, sums, base, *given)
            sums = step.sums
        if step is None:
            chances, explained = _weighed(guesses, worth, explained)
            shares = (counts + centre) / (counts.sum(axis=1, keepdims=True) + 1)
            continue
        gained = step.pushed.logs - np.log(centre.T)
        pushed = float((counts.T * gained).sum() - step.pushed.cost[0])
        summed = float((counts.T * step.summed.logs).sum() - step.summed.cost[0]) + beside
        moved = chances * np.exp(gained.T[of_test])
        guesses.append(moved / moved.sum(axis=1, keepdims=True))
        extended, so_far = _weighed(guesses, [*worth, pushed], explained)
        chances, explained = _weighed([extended, np.exp(step.summed.logs.T[of_test])], [so_far, summed], 0.0)
        shares = step.shares.T
    return chances


def _weighed(guesses: list[Vector], worth: list[float], explained: float) -> tuple[Vector, float]:
    """Their mean by what each is worth, and the log of what all are worth on average beside what was `explained`."""
    weights = np.exp(np.array(worth) - max(worth))
    mean = np.tensordot(weights / weights.sum(), np.array(guesses), 1)
    return mean, explained + max(worth) + float(np.log(weights.mean()))


def _refined(code: NDArray[np.int64], values: Rows, states: int) -> NDArray[np.int64]:
    """Combinations with one parent more, numbered anew: never more than rows."""
    _, refined = np.unique(code * states + values, return_inverse=True)
    return np.asarray(refined, np.int64)


def _counts(code: NDArray[np.int64], values: Rows, q: int, states: int) -> Vector:
    return np.bincount(code * states + values, minlength=q * states).reshape(q, states).astype(np.float64)


def _rise(counts: Vector, mass: Vector, centre: Vector) -> float:
    inside = log_rising(counts, mass[:, None] * centre).sum()
    return float(inside - log_rising(counts.sum(axis=1), mass).sum())


def _told(train: Rows, child: int, parent: int, cardinalities: tuple[int, ...]) -> float:
    """Nats that a parent tells about the child, on its own."""
    counts = _counts(train[:, parent].astype(np.int64), train[:, child], cardinalities[parent], cardinalities[child])
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / max(counts.sum(), 1)
    return float((counts * np.log(np.where(counts > 0, counts, 1) / np.where(counts > 0, expected, 1))).sum())
