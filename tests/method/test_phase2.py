"""Phase 2 against sums over all rows and all configurations of three variables."""

import itertools
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from sdi.method.neural.batches import pool
from sdi.method.neural.learner import NEVER, Weights, log_likelihood
from sdi.method.neural.phase1_fit import fit, unfitted
from sdi.method.neural.phase2_score import Scores, score
from sdi.method.neural.phase2_targets import PREDICTIONS, predict_target, surprise
from sdi.method.settings import Settings

CARDINALITIES = (2, 3, 2)
PROBABILITIES = np.array([[0, 0.3, 0.8], [0.6, 0, 0.1], [1.0, 0.5, 0]])  # one edge is sure
SETTINGS = Settings.paper(
    batch=64,
    fit_steps=400,
    fit_rate=0.02,
    prediction_batches=800,
    prediction_configurations=6,
    scoring_batches=40,
    scoring_configurations=25,
    targets="deterioration",
)


@cache
def weights_of(seed: int = 0) -> Weights:
    """Networks far from uniform, so that rows and configurations differ."""
    rng = np.random.default_rng(seed)
    shapes = ((3, 3, 3, 12), (3, 12), (3, 12, 3), (3, 3))
    w0, b0, w1, b1 = (rng.normal(0, 0.8, shape).astype(np.float32) for shape in shapes)
    b1[np.arange(3) >= np.array(CARDINALITIES)[:, None]] = NEVER
    return Weights(*map(jnp.asarray, (w0, b0, w1, b1)))


def every_configuration() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All 64 configurations and how probable each is."""
    drawn = np.array(list(itertools.product((0.0, 1.0), repeat=6)))
    off_diagonal = ~np.eye(3, dtype=bool)
    configurations = np.zeros((64, 3, 3))
    configurations[:, off_diagonal] = drawn
    p = PROBABILITIES[off_diagonal]
    return configurations, np.prod(np.where(drawn == 1, p, 1 - p), axis=1)


def rows_of(n: int = 200) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, CARDINALITIES, (n, 3)).astype(np.uint8)


def of_each(rows: NDArray[np.uint8], configurations: NDArray[Any]) -> NDArray[np.float64]:
    """The log-likelihood of every row under each configuration ``[C, M, R]``."""
    evaluate = jax.jit(jax.vmap(lambda configuration: log_likelihood(weights_of(), rows, configuration)))
    return np.asarray(evaluate(jnp.asarray(configurations)), np.float64)


# ------------------------------------------------------------------------------------------------- surprise


def test_surprise_is_the_mean_over_all_rows_and_configurations() -> None:
    """Rows and configurations are crossed within a batch, so three variances add up; 5 standard errors, 3 variables:
    fails by chance once in 500,000 runs."""
    weights, rows, settings = weights_of(), rows_of(), SETTINGS
    configurations, share = every_configuration()
    nll = -of_each(rows, configurations)  # [64, M, R]
    of_configuration, of_row = nll.mean(axis=2), np.einsum("c,cir->ir", share, nll)  # [64, M], [M, R]
    exact = share @ of_configuration
    by_configuration, by_row = share @ (of_configuration - exact) ** 2, of_row.var(axis=1)
    total = np.einsum("c,cir->i", share, (nll - exact[:, None]) ** 2) / len(rows)
    batches, drawn = settings.prediction_batches, settings.prediction_configurations
    variance = by_row / settings.batch + by_configuration / drawn
    variance += (total - by_row - by_configuration) / (settings.batch * drawn)
    found = surprise(
        weights, pool(rows, CARDINALITIES, settings.batch), jnp.asarray(PROBABILITIES), jax.random.key(2), settings
    )
    error = np.sqrt(variance / batches)
    assert error.max() < 0.02, "the test is sharp enough to see a wrong mean"
    assert (np.abs(found - exact) < 5 * error).all()


def test_surprise_of_one_row_under_a_sure_configuration_is_its_negative_log_likelihood() -> None:
    sure, row = np.array([[0, 1, 0], [0, 0, 0], [1, 1, 0]], float), np.array([[1, 2, 0]], np.uint8)
    found = surprise(weights_of(), pool(row, CARDINALITIES, 64), jnp.asarray(sure), jax.random.key(0), SETTINGS)
    np.testing.assert_allclose(found, -of_each(row, sure[None])[0, :, 0], rtol=1e-5)


# -------------------------------------------------------------------------------------------------- scores


def score_of(rows: NDArray[np.uint8]) -> Scores:
    made = pool(rows, CARDINALITIES, SETTINGS.batch)
    return score(weights_of(), made, jnp.asarray(PROBABILITIES), jax.random.key(1), SETTINGS)


def test_score_of_one_row_is_the_log_likelihood_of_a_batch_of_it_under_each_drawn_configuration() -> None:
    row = np.array([[1, 2, 0]], np.uint8)
    scores = score_of(row)
    assert scores.log_likelihood.shape == (40, 25, 3)
    expected = SETTINGS.batch * of_each(row, np.asarray(scores.configurations).reshape(-1, 3, 3))[:, :, 0]
    np.testing.assert_allclose(scores.log_likelihood.reshape(-1, 3), expected, rtol=1e-5)


def test_configurations_of_a_batch_are_scored_on_the_same_rows() -> None:
    """Two draws of the same configuration in one batch score the same, in two batches they do not."""
    scores = score_of(rows_of())
    rows_seen = [np.asarray(scores.configurations[s, :, 1]) for s in range(40)]
    alike, unlike = 0, set()
    for s, seen in enumerate(rows_seen):
        same = np.flatnonzero((seen == (1, 0, 0)).all(axis=1))
        values = np.asarray(scores.log_likelihood)[s, same, 1]
        alike += len(values) > 1
        unlike |= set(values[:1].tolist())
        assert np.ptp(values) < 1e-3 if len(values) else True
    assert alike > 30
    assert len(unlike) > 30


def test_scored_configurations_are_drawn_from_the_beliefs() -> None:
    """1,000 draws of 9 entries, 5 standard errors; what is sure is drawn always, what is impossible never."""
    drawn = np.asarray(score_of(rows_of()).configurations)
    error = np.sqrt(PROBABILITIES * (1 - PROBABILITIES) / 1000)
    assert (np.abs(drawn.mean(axis=(0, 1)) - PROBABILITIES) <= 5 * error).all()
    assert len(np.unique(drawn.reshape(40, -1), axis=0)) == 40, "each batch draws its own"


# -------------------------------------------------------------------------------------------------- targets


BEFORE, NOW = jnp.array([2.0, 0.5, 0.1]), jnp.array([2.1, 0.4, 0.9])  # 0 is noisy at all times, 2 got worse


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("deterioration", [0, 0, 1]),
        ("likelihood", [1, 0, 0]),
        ("ignored", [0, 0, 0]),
        ("known", [0, 0, 0]),
    ],
)
def test_target_is_predicted_by_the_named_rule(how: str, expected: list[int]) -> None:
    assert PREDICTIONS[how](NOW, BEFORE, jax.random.key(0)).tolist() == expected


def test_random_target_is_uniform_whatever_the_surprise() -> None:
    """3,000 draws, 5 standard errors."""
    chosen = jax.vmap(lambda key: PREDICTIONS["random"](NOW, BEFORE, key))(jax.random.split(jax.random.key(0), 3000))
    assert (np.asarray(chosen).sum(axis=1) == 1).all()
    assert (np.abs(np.asarray(chosen).mean(axis=0) - 1 / 3) < 5 * np.sqrt(2 / 9 / 3000)).all()


def coins(n: int, *, broken: bool, seed: int) -> NDArray[np.uint8]:
    """A fair coin, a die of three sides loaded until it is broken, and a copy of the coin that errs once in ten."""
    rng = np.random.default_rng(seed)
    fair = rng.integers(0, 2, n)
    die = rng.choice(3, n, p=(0.34, 0.33, 0.33))
    copy = fair ^ (rng.random(n) < (0.3 if broken else 0.1))
    return np.stack([fair, die, copy], axis=1).astype(np.uint8)


@cache
def coin_networks() -> tuple[Any, Any, Any]:
    """Networks fitted to the coins left alone, those rows as a pool, and the surprise on them."""
    copies = np.array([[0, 0, 0], [0, 0, 0], [1.0, 0, 0]])  # what depends on what
    left_alone = pool(coins(4000, broken=False, seed=0), CARDINALITIES, SETTINGS.batch)
    (weights, _), _ = fit(
        unfitted(weights_of(), SETTINGS), left_alone, jnp.asarray(copies), jax.random.key(0), SETTINGS
    )
    return weights, copies, surprise(weights, left_alone, jnp.asarray(copies), jax.random.key(1), SETTINGS)


@pytest.mark.parametrize(("how", "expected"), [("deterioration", 2), ("likelihood", 1)])
def test_broken_copy_is_found_by_deterioration_and_missed_by_raw_likelihood(how: str, expected: int) -> None:
    """The die is the hardest to predict before and after; the copy is what was touched."""
    weights, copies, baseline = coin_networks()
    settings = Settings(**{**vars(SETTINGS), "targets": how})
    broken = pool(coins(1000, broken=True, seed=1), CARDINALITIES, SETTINGS.batch)
    found = predict_target(weights, broken, jnp.asarray(copies), baseline, jax.random.key(2), settings)
    assert found.tolist() == np.eye(3)[expected].tolist()
