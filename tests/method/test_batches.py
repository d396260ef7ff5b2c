"""Batches: rows merged by combination or not, the batch is drawn from the same distribution."""

import itertools
from typing import Any

import jax
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, multinomial

from sdi.method.neural.batches import Pool, draw_batch, pool

CARDINALITIES = (2, 3)
CELLS = 6


def rows_of(n: int, seed: int = 0) -> NDArray[np.uint8]:
    """Rows of two dependent variables; the combination (0, 2) never occurs."""
    cells = np.array([(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)], np.uint8)
    return cells[np.random.default_rng(seed).choice(5, n, p=(0.4, 0.1, 0.2, 0.05, 0.25))]


def cell(rows: Any) -> NDArray[np.int64]:
    return np.asarray(rows)[..., 0].astype(np.int64) * 3 + np.asarray(rows)[..., 1]


def unmerged(rows: NDArray[np.uint8], length: int) -> Pool:
    """The pool of the same rows where combinations are too many to be merged."""
    return pool(rows, (1000, 1000), 8, length)


def shares(made: Pool, size: int, draws: int, seed: int = 0) -> NDArray[np.float64]:
    """Of each draw, the share of the batch that falls on each combination ``[draws, CELLS]``."""
    batches = jax.jit(jax.vmap(lambda key: draw_batch(key, made, size)))(jax.random.split(jax.random.key(seed), draws))
    result = np.zeros((draws, CELLS))
    np.add.at(result, (np.arange(draws)[:, None], cell(batches.rows)), np.asarray(batches.share, np.float64))
    return result


POOLS = {
    "merged": lambda rows: pool(rows, CARDINALITIES, 8),
    "one by one": lambda rows: unmerged(rows, len(rows)),
    "one by one, padded": lambda rows: unmerged(rows, 2 * len(rows)),
    "fewer rows than a batch": lambda rows: unmerged(rows[:5], 7),
}


def test_few_combinations_are_merged_and_many_are_not() -> None:
    rows = rows_of(100)
    assert len(pool(rows, CARDINALITIES, CELLS + 1, 100).rows) == CELLS
    assert len(pool(rows, CARDINALITIES, CELLS, 100).rows) == 100


def test_cardinalities_whose_product_overflows_are_not_merged() -> None:
    made = pool(np.zeros((10, 40), np.int32), (10_000,) * 40, 256)
    assert made.rows.shape == (10, 40)


def test_merged_pool_counts_every_combination_exactly() -> None:
    rows = rows_of(1000)
    made = pool(rows, CARDINALITIES, 8)
    expected = np.bincount(cell(rows), minlength=CELLS) / 1000
    found = np.zeros(CELLS)
    found[cell(made.rows)] = np.diff(np.asarray(made.cumulative, np.float64), prepend=0)
    np.testing.assert_allclose(found, expected, atol=1e-7)
    assert len(np.unique(cell(made.rows))) == CELLS


@pytest.mark.parametrize("how", POOLS)
def test_every_batch_has_the_mean_and_variance_of_draws_with_replacement(how: str) -> None:
    """Exact values of the multinomial; 4,000 batches, 5 standard errors: fails by chance once in 70,000 runs."""
    rows, size, draws = rows_of(60), 8, 4000
    taken = rows[:5] if how == "fewer rows than a batch" else rows
    expected = np.bincount(cell(taken), minlength=CELLS) / len(taken)
    found = shares(POOLS[how](rows), size, draws)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    variance = expected * (1 - expected) / size
    assert (np.abs(found.mean(axis=0) - expected) <= 5 * np.sqrt(variance / draws) + 1e-7).all()
    fourth = np.mean((found - expected) ** 4, axis=0)  # its own spread, as far as it can be seen
    assert (np.abs(found.var(axis=0) - variance) <= 5 * np.sqrt(fourth / draws) + 1e-7).all()


@pytest.mark.parametrize("how", ["merged", "one by one", "one by one, padded"])
def test_counts_of_a_batch_follow_the_multinomial_exactly(how: str) -> None:
    """All outcomes of a batch of 8, chi-square, at an error rate of 1 in 100,000."""
    rows, size, draws = rows_of(60), 8, 20_000
    expected = np.bincount(cell(rows), minlength=CELLS) / len(rows)
    counts = np.rint(shares(POOLS[how](rows), size, draws, seed=1) * size).astype(int)
    assert (counts[:, 2] == 0).all(), "the combination that never occurs"
    outcomes = [each for each in itertools.product(range(size + 1), repeat=CELLS) if sum(each) == size and not each[2]]
    probability = multinomial.pmf(outcomes, size, expected)
    index = {outcome: k for k, outcome in enumerate(outcomes)}
    seen = np.bincount([index[tuple(row)] for row in counts.tolist()], minlength=len(outcomes))
    common = probability * draws >= 5  # the usual rule; all rare outcomes make up one more class
    observed = [*seen[common], seen[~common].sum()]
    predicted = [*(probability[common] * draws), probability[~common].sum() * draws]
    assert chisquare(observed, np.array(predicted) * draws / sum(predicted)).pvalue > 1e-5


@pytest.mark.parametrize(("rows", "length", "size"), [(300, 1000, 256), (1, 1000, 256), (999, 1000, 10), (20, 50, 256)])
def test_padding_is_never_drawn(rows: int, length: int, size: int) -> None:
    """The rows are all ones and the padding is not: not one of a million rows may come from there."""
    made = pool(np.ones((rows, 3), np.uint8), (9, 9, 9), min(size, 256), length)
    assert len(made.rows) == length
    keys = jax.random.split(jax.random.key(0), 10**6 // size)
    _, weight = jax.lax.scan(lambda _, key: (0, of_padding(draw_batch(key, made, size))), 0, keys)
    assert (np.asarray(weight) == 0).all()


def of_padding(batch: Any) -> jax.Array:
    """The share of a batch that is not made of ones."""
    return (batch.share * (batch.rows != 1).any(axis=1)).sum()


def test_padding_makes_no_difference_to_what_is_drawn() -> None:
    rows, key = rows_of(100), jax.random.key(3)
    plain, padded = (draw_batch(key, unmerged(rows, length), 64) for length in (100, 400))
    assert (np.asarray(plain.rows) == np.asarray(padded.rows)).all()
