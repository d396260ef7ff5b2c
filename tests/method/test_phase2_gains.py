"""What an edge is worth: flips against two evaluations each, their mean against the derivative by enumeration."""

import itertools
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from sdi.method.neural.learner import NEVER, Weights, draw_configurations, log_likelihood
from sdi.method.neural.phase2_gains import BLOCK, LARGEST_GAIN, Gains, draw_gains, flip_gains, gains
from sdi.method.settings import Settings

CARDINALITIES = (2, 4, 3)
OFF_DIAGONAL = ~np.eye(3, dtype=bool)
SHARES = np.array([[0, 1, 2], [3, 0, 2], [2, 1, 0]])  # beliefs in quarters, so that whole numbers of draws match them
BELIEFS = SHARES / 4
SURE = np.array([[0, 1, 0], [0, 0, 0], [1, 1, 0]], np.float32)
FLIPS, DRAWS = Settings(), Settings(estimator="draws", scoring_configurations=8)
Numbers = NDArray[np.float64]
flip = jax.jit(flip_gains)
PADDED = 120  # rows of every evaluation by brute force, so that one compilation serves all


@jax.jit
def evaluate(weights: Weights, rows: jax.Array, configurations: jax.Array) -> jax.Array:
    """log p(x_i) of all rows under each of some configurations ``[C, M, B]``."""
    return jax.vmap(lambda each: log_likelihood(weights, rows, each))(configurations)


def padded(rows: NDArray[Any]) -> NDArray[Any]:
    return np.pad(rows, [(0, PADDED - len(rows)), (0, 0)])


@cache
def weights_of(scale: float = 0.8) -> Weights:
    """Networks far from uniform, so that every edge of every network matters."""
    rng = np.random.default_rng(0)
    w0, b0, w1, b1 = (rng.normal(0, scale, shape) for shape in ((3, 3, 4, 6), (3, 6), (3, 6, 4), (3, 4)))
    b1[np.arange(4) >= np.array(CARDINALITIES)[:, None]] = NEVER
    return Weights(*(jnp.asarray(each, jnp.float32) for each in (w0, b0, w1, b1)))


def rows_of(n: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, CARDINALITIES, (n, 3)).astype(np.uint8)


def every_configuration() -> Numbers:
    """All 64 of three variables."""
    configurations = np.zeros((64, 3, 3))
    configurations[:, OFF_DIAGONAL] = list(itertools.product((0.0, 1.0), repeat=6))
    return configurations


def chance(beliefs: Numbers) -> Numbers:
    """How probable each of them is; any beliefs will do, so that this can be differentiated."""
    each = np.where(every_configuration() == 1, beliefs, 1 - beliefs)
    return np.prod(each[:, OFF_DIAGONAL], axis=1)


def under_each(rows: NDArray[Any]) -> Numbers:
    """log p(x_i) of every row under each of the 64 ``[64, M, B]``."""
    fit = evaluate(weights_of(), padded(rows), jnp.asarray(every_configuration()))
    return np.asarray(fit, np.float64)[:, :, : len(rows)]


def derivative(rows: NDArray[Any], beliefs: Numbers) -> Numbers:
    """d E_C[log p(x_i)] / d P_ij for every row ``[M, B, M]``, by differences, which are exact: it is linear in each."""
    fit, result = under_each(rows), np.zeros((3, len(rows), 3))
    for i, j in np.argwhere(OFF_DIAGONAL):
        step = 0.1 * np.outer(np.arange(3) == i, np.arange(3) == j)
        result[i, :, j] = (chance(beliefs + step) - chance(beliefs - step)) @ fit[:, i] / 0.2
    return result


def by_brute_force(rows: NDArray[Any], configurations: Numbers, scale: float = 0.8) -> Numbers:
    """Two evaluations of the likelihood for each edge; one configuration for each row, or one for all ``[M, M]``."""
    each = np.broadcast_to(configurations, (len(rows), 3, 3))
    filled = np.pad(each, [(0, PADDED - len(rows)), (0, 0), (0, 0)])
    result = np.empty((3, len(rows), 3))
    for i, j in itertools.product(range(3), repeat=2):
        pair = np.stack([filled, filled])
        pair[:, :, i, j] = np.array([[1], [0]])
        fit = np.asarray(evaluate(weights_of(scale), padded(rows), jnp.asarray(pair)))[:, i, : len(rows)]
        result[i, :, j] = fit[0] - fit[1]
    return result


# ------------------------------------------------------------------------------------------------------- flips


def test_gain_of_a_flip_is_the_difference_of_two_likelihoods() -> None:
    """For every edge and row, each under a configuration of its own."""
    rows = rows_of(40)
    configurations = np.random.default_rng(1).integers(0, 2, (40, 3, 3)) * OFF_DIAGONAL.astype(float)
    expected = by_brute_force(rows, configurations)
    np.testing.assert_allclose(flip(weights_of(), rows, jnp.asarray(configurations)), expected, atol=1e-5)
    assert (np.abs(expected).max(axis=1)[OFF_DIAGONAL] > 0.5).all(), "every edge matters somewhere"


def test_gain_of_an_edge_does_not_depend_on_whether_it_is_there_now() -> None:
    rows, configurations = rows_of(20), np.zeros((2, 20, 3, 3), np.float32)
    configurations[:, :, 0, 2] = 1
    configurations[1, :, 0, 1] = 1
    without, with_it = (flip(weights_of(), rows, jnp.asarray(each)) for each in configurations)
    np.testing.assert_allclose(without[0, :, 1], with_it[0, :, 1], atol=1e-5)
    assert np.abs(without[0, :, 2] - with_it[0, :, 2]).max() > 0.1, "that of another edge does"


def test_mean_gain_of_flips_is_the_derivative_of_the_expected_log_likelihood() -> None:
    """Over all 64 configurations, each as often as it is believed; only float errors remain."""
    rows = rows_of(12)
    each = flip(weights_of(), np.tile(rows, (64, 1)), jnp.asarray(np.repeat(every_configuration(), 12, axis=0)))
    mean = np.einsum("c,icbj->ibj", chance(BELIEFS), np.asarray(each).reshape(3, 64, 12, 3))
    expected = derivative(rows, BELIEFS)
    np.testing.assert_allclose(
        mean.transpose(0, 2, 1)[OFF_DIAGONAL], expected.transpose(0, 2, 1)[OFF_DIAGONAL], atol=1e-5
    )
    assert np.abs(expected).max() > 0.5


@pytest.mark.parametrize("settings", [FLIPS, DRAWS], ids=["flips", "draws"])
def test_gains_of_many_rows_are_the_derivative_within_chance(settings: Settings) -> None:
    """20,000 copies of each of two rows; 5 standard errors over blocks, 12 numbers: fails once in 100,000 seeds.

    Shared draws have long tails: over 25 seeds one edge was up to 5.5 of its own standard errors away, unbiased.
    """
    rows = rows_of(2, seed=3)
    many = jnp.asarray(np.repeat(rows[:, None], BLOCK, axis=1).repeat(400, axis=0))  # each block its own environment
    found = gains(weights_of(), many, jnp.ones(many.shape[:2]), jnp.asarray(BELIEFS), jax.random.key(0), settings)
    mean = np.asarray(found.total).reshape(2, 400, 3, 3) / BLOCK
    expected = derivative(rows, BELIEFS).transpose(1, 0, 2)
    if settings.estimator == "draws":  # where all eight agree about an edge, it counts nothing
        expected = expected * (1 - BELIEFS**8 - (1 - BELIEFS) ** 8)
    error = mean.std(axis=1) / np.sqrt(400)
    assert error.max() < 0.06, "the test is sharp enough to see a wrong mean"
    most = 5 if settings.estimator == "flips" else 9
    assert (np.abs(mean.mean(axis=1) - expected)[:, OFF_DIAGONAL] <= most * error[:, OFF_DIAGONAL] + 1e-5).all()


# ------------------------------------------------------------------------------------------------------- draws


def test_draws_of_every_configuration_give_the_derivative() -> None:
    """Each of the 64 as often as it is believed, 4,096 in all; only float errors remain."""
    rows = rows_of(6)
    times = np.rint(chance(BELIEFS) * 4**6).astype(int)
    assert times.sum() == 4**6
    found = draw_gains(weights_of(), rows, jnp.asarray(np.repeat(every_configuration(), times, axis=0)))
    expected = derivative(rows, BELIEFS)
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-4)


def test_draws_are_unbiased_where_they_hold_an_edge_both_ways() -> None:
    """4,000 times 4 configurations, 5 standard errors."""
    rows = rows_of(3)
    drawn = draw_configurations(jax.random.key(1), jnp.asarray(BELIEFS), (4000, 4))
    each = np.asarray(jax.jit(jax.vmap(lambda some: draw_gains(weights_of(), rows, some)))(drawn), np.float64)
    seen = (np.ptp(np.asarray(drawn), axis=1) > 0)[:, :, None, :]  # [4000, M, 1, M]
    count = seen.sum(axis=0)
    mean = (each * seen).sum(axis=0) / np.maximum(count, 1)
    error = np.sqrt((((each - mean) * seen) ** 2).sum(axis=0)) / np.maximum(count, 1)
    assert (np.abs(mean - derivative(rows, BELIEFS)) <= 5 * error).all()
    assert error.max() < 0.05, "the test is sharp enough to see a wrong mean"


def test_edge_on_which_all_draws_agree_is_worth_nothing() -> None:
    configurations = np.tile(SURE, (5, 1, 1))
    configurations[2, 1, 0] = 1  # the only one in doubt
    found = np.asarray(draw_gains(weights_of(), rows_of(9), jnp.asarray(configurations)))
    assert (np.abs(found).max(axis=1) > 0).tolist() == [[False] * 3, [True, False, False], [False] * 3]


# -------------------------------------------------------------------------------------------- sums over blocks

LENGTH = 2 * BLOCK + 20


def summed(
    rows: NDArray[Any], real: Any = None, scale: float = 0.8, beliefs: Any = SURE, how: Settings = FLIPS
) -> Gains:
    given = np.ones(rows.shape[:2]) if real is None else real
    beliefs, given = jnp.asarray(beliefs, jnp.float32), jnp.asarray(given, jnp.float32)
    return gains(weights_of(scale), jnp.asarray(rows), given, beliefs, jax.random.key(0), how)


@pytest.mark.parametrize("length", [BLOCK, LENGTH])
def test_blocks_add_up_to_the_sum_over_all_rows(length: int) -> None:
    rows = rows_of(2 * length, seed=length).reshape(2, length, 3)
    found = summed(rows)
    for e in range(2):
        each = by_brute_force(rows[e], SURE)
        assert np.abs(each).max() < LARGEST_GAIN
        np.testing.assert_allclose(found.total[e], each.sum(axis=1), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(found.square[e], (each**2).sum(axis=1), rtol=1e-4, atol=1e-3)
    assert found.rows.tolist() == [length, length]


@pytest.mark.parametrize("settings", [FLIPS, DRAWS], ids=["flips", "draws"])
def test_padding_has_no_effect(settings: Settings) -> None:
    """Bit for bit, whatever stands in it; an environment may be shorter than another by more than a block."""
    counts = (BLOCK + 3, 7)
    real = np.arange(LENGTH) < np.array(counts)[:, None]
    rows = rows_of(2 * LENGTH).reshape(2, LENGTH, 3)
    zeros, ones = (np.where(real[..., None], rows, filling).astype(np.uint8) for filling in (0, 1))
    first, second = (summed(each, real, beliefs=BELIEFS, how=settings) for each in (zeros, ones))
    for ours, theirs in zip(first, second, strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
    assert first.rows.tolist() == list(counts)


def test_padded_environment_counts_its_real_rows_alone() -> None:
    rows, real = rows_of(2 * LENGTH).reshape(2, LENGTH, 3), np.arange(LENGTH) < np.array([[11], [BLOCK + 1]])
    found = summed(rows, real)
    for e, count in enumerate((11, BLOCK + 1)):
        each = by_brute_force(rows[e, :count], SURE)
        np.testing.assert_allclose(found.total[e], each.sum(axis=1), rtol=1e-4, atol=1e-3)


def test_no_row_says_more_than_the_largest_gain() -> None:
    rows = rows_of(2 * LENGTH).reshape(2, LENGTH, 3)
    found = summed(rows, scale=3.0)
    for e in range(2):
        each = by_brute_force(rows[e], SURE, scale=3.0)
        limited = np.clip(each, -LARGEST_GAIN, LARGEST_GAIN)
        assert 0.2 < (each != limited).mean() < 0.8, "some would, some would not"
        np.testing.assert_allclose(found.total[e], limited.sum(axis=1), rtol=1e-4, atol=1e-2)
        np.testing.assert_allclose(found.square[e], (limited**2).sum(axis=1), rtol=1e-4, atol=1e-2)
