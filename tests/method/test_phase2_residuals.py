"""What networks have left: an exact oracle for the evidence, and what it must and must not say of simulated rows."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from sdi.method.neural import phase2_residuals
from sdi.method.neural.learner import Weights
from sdi.method.neural.phase2_residuals import (
    VARIANCES,
    Left,
    Networks,
    Sample,
    _effect,
    _evidence,
    _turn,
    ask,
    left_over,
)

Numbers = NDArray[np.floating]
HIDDEN = 8
ANY_PRICE = 1e9


# ------------------------------------------------------------------------------------------------- the evidence


def covariances(seed: int, rows: int = 4, columns: int = 3) -> tuple[Numbers, Numbers, Numbers]:
    """Sums, and the covariance of their rows and columns under chance."""
    rng = np.random.default_rng(seed)
    half, other = rng.normal(size=(rows, rows)), rng.normal(size=(columns, columns))
    rest = 200 * (half @ half.T + np.eye(rows))
    spread = other @ other.T + np.eye(columns)
    sums = np.linalg.cholesky(rest) @ rng.normal(size=(rows, columns)) @ np.linalg.cholesky(spread).T
    return 1.5 * sums, rest, spread


def by_densities(sums: Numbers, rest: Numbers, spread: Numbers) -> Numbers:
    """Log density of the sums with effects of each variance, less that under chance: no axes are turned."""
    chance = np.kron(rest, spread)
    flat = sums.ravel()
    null = multivariate_normal(np.zeros(flat.size), chance).logpdf(flat)
    return np.array(
        [multivariate_normal(np.zeros(flat.size), chance + v * chance @ chance).logpdf(flat) - null for v in VARIANCES]
    )


@pytest.mark.parametrize("seed", range(5))
def test_evidence_is_the_best_ratio_of_two_normal_densities(seed: int) -> None:
    """An effect B with independent entries shifts the mean of the sums by rest B spread."""
    expected = by_densities(*covariances(seed))
    nats, variance = _evidence(_turn(*covariances(seed)))
    assert nats == pytest.approx(max(0.0, expected.max()), abs=1e-6)
    if nats:
        assert variance == VARIANCES[expected.argmax()]


@pytest.mark.parametrize("seed", range(3))
def test_effect_is_the_posterior_mean(seed: int) -> None:
    sums, rest, spread = covariances(seed)
    chance, variance = np.kron(rest, spread), 0.01
    expected = np.linalg.solve(chance + np.eye(len(chance)) / variance, sums.ravel())
    np.testing.assert_allclose(_effect(_turn(sums, rest, spread), variance).ravel(), expected, rtol=1e-6)


# ------------------------------------------------------------------------------- networks that know nothing yet


def ignorant(cardinalities: tuple[int, ...], rows: Numbers) -> Weights:
    """Networks that expect every variable as often as it occurs, whoever its parents are."""
    m, n = len(cardinalities), max(cardinalities)
    b1 = np.full((m, n), -1e9, np.float32)
    for i, size in enumerate(cardinalities):
        b1[i, :size] = np.log(np.maximum(np.bincount(rows[:, i], minlength=size), 1e-3) / len(rows))
    zeros: Any = (np.zeros((m, m, n, HIDDEN)), np.zeros((m, HIDDEN)), np.zeros((m, HIDDEN, n)))
    return Weights(*(np.asarray(each, np.float32) for each in zeros), b1)


def left_alone(rows: Numbers) -> Sample:
    size = len(rows)
    return Sample(rows, np.ones(size, np.float32), np.zeros(size, np.intp), np.zeros(rows.shape, np.float32))


def asked(sample: Sample, cardinalities: tuple[int, ...], parents: Any = None, price: float = ANY_PRICE) -> Left:
    m = len(cardinalities)
    believed = np.zeros((m, m), bool) if parents is None else np.asarray(parents, bool)
    untouched = sample.rows[sample.environment == 0]
    weights = ignorant(cardinalities, untouched)
    networks = Networks(weights, cardinalities, believed, np.full((m, m), price))
    return left_over(networks, sample, ~np.eye(m, dtype=bool))


def chain(count: int, rng: np.random.Generator, strength: float = 0.6, uniform: int | None = None) -> Numbers:
    """Rows of 0 -> 1 -> 2, four states each; `uniform` is what was made uniform."""
    rows = np.empty((count, 3), np.int64)
    for i in range(3):
        logits = np.tile(np.linspace(0.3, -0.3, 4), (count, 1))
        if i:
            logits += strength * np.cos(np.pi * (rows[:, i - 1 : i] - np.arange(4)) / 4)
        powers = np.exp(np.zeros((count, 4)) if i == uniform else logits)
        shares = np.cumsum(powers / powers.sum(axis=1, keepdims=True), axis=1)
        rows[:, i] = np.minimum((rng.random((count, 1)) > shares).sum(axis=1), 3)
    return rows


def test_independent_variables_leave_nothing() -> None:
    """Of 600 pairs hardly any reaches 4 nats, where an edge has to bring more than that."""
    found = []
    for seed in range(50):
        rows = np.random.default_rng(seed).integers(0, 5, (400, 4))
        found.append(asked(left_alone(rows), (5,) * 4).apart[~np.eye(4, dtype=bool)])
    assert np.mean(found) < 0.3
    assert np.mean(np.concatenate(found) > 4) < 0.01


def test_effects_that_networks_have_not_learnt_are_found() -> None:
    left = asked(left_alone(chain(4_000, np.random.default_rng(1))), (4,) * 3).apart
    assert left[1, 0] > 20
    assert left[2, 1] > 20


def test_what_goes_together_through_a_believed_parent_is_no_effect() -> None:
    """Even if the network knows nothing yet of what that parent does."""
    sample = left_alone(chain(4_000, np.random.default_rng(1), strength=1.5))
    parents = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert asked(sample, (4,) * 3).apart[2, 0] > 10
    assert asked(sample, (4,) * 3, parents).apart[2, 0] < 4


def test_a_pair_without_other_parents_says_the_same_both_ways() -> None:
    left = asked(left_alone(chain(3_000, np.random.default_rng(2))), (4,) * 3).apart
    np.testing.assert_allclose(left, left.T, rtol=0.02, atol=0.1)


def touched_sample(seed: int, target: int) -> Sample:
    """Half of the rows from the world left alone, half from an environment that made `target` uniform."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([chain(3_000, rng, 1.5), chain(500, rng, 1.5, uniform=target)])
    environment = np.repeat([0, 1], [3_000, 500])
    touched = (environment[:, None] == 1) & (np.arange(3) == target)
    return Sample(rows, np.ones(len(rows), np.float32), environment, touched.astype(np.float32))


def test_a_touched_cause_still_tells_its_effect_and_a_touched_effect_no_longer_its_cause() -> None:
    cause, effect = (asked(touched_sample(3, target), (4,) * 3) for target in (0, 1))
    assert cause.touched[1, 0] > 10
    assert effect.touched[0, 1] < -10
    assert cause.touched[0, 1] == effect.touched[1, 0] == 0  # nobody touched these causes


def test_a_touched_cause_says_no_more_than_the_price() -> None:
    assert asked(touched_sample(3, 0), (4,) * 3, price=2.0).touched[1, 0] == pytest.approx(2.0)
    whole = asked(touched_sample(3, 1), (4,) * 3).touched[0, 1]
    assert asked(touched_sample(3, 1), (4,) * 3, price=2.0).touched[0, 1] == pytest.approx(whole)


# ---------------------------------------------------------------------------------------------- what must not matter


def test_order_of_rows_does_not_matter_and_counts_stand_for_repeated_rows() -> None:
    sample = touched_sample(5, 0)
    mixed = np.random.default_rng(0).permutation(len(sample.rows))
    expected = asked(sample, (4,) * 3)
    for new, old in zip(asked(Sample(*(each[mixed] for each in sample)), (4,) * 3)[:2], expected[:2], strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-3, atol=1e-2)
    twice = Sample(*(np.concatenate([each, each]) for each in sample))
    counted = sample._replace(copies=2 * sample.copies)
    for new, old in zip(asked(twice, (4,) * 3)[:2], asked(counted, (4,) * 3)[:2], strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-3, atol=1e-2)


def test_names_of_categories_do_not_matter() -> None:
    sample = touched_sample(6, 0)
    renamed = sample._replace(rows=np.array([2, 0, 3, 1])[sample.rows])
    for new, old in zip(asked(renamed, (4,) * 3)[:2], asked(sample, (4,) * 3)[:2], strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-3, atol=1e-2)


def test_relabelled_variables_permute_the_result() -> None:
    sample, order = touched_sample(7, 0), np.array([2, 0, 1])
    moved = sample._replace(rows=sample.rows[:, order], touched=sample.touched[:, order])
    for new, old in zip(asked(moved, (4,) * 3)[:2], asked(sample, (4,) * 3)[:2], strict=True):
        np.testing.assert_allclose(new, old[np.ix_(order, order)], rtol=1e-3, atol=1e-2)


def test_states_that_never_occur_and_unequal_cardinalities_are_no_trouble() -> None:
    rows = chain(2_000, np.random.default_rng(8))
    rows[:, 1] = np.minimum(rows[:, 1], 1)
    left = asked(left_alone(rows), (6, 2, 4))
    assert np.isfinite(left.apart).all()
    assert left.apart[1, 0] > 5


def test_only_what_is_asked_is_answered() -> None:
    sample = left_alone(chain(2_000, np.random.default_rng(9)))
    question = np.zeros((3, 3), bool)
    question[1, 0] = True
    left = left_over(
        Networks(ignorant((4,) * 3, sample.rows), (4,) * 3, np.zeros((3, 3), bool), np.ones((3, 3))), sample, question
    )
    assert (left.apart > 0).sum() == 1
    np.testing.assert_array_equal(left.asked, question)


def test_a_sample_is_no_larger_than_it_may_be_and_keeps_what_was_touched() -> None:
    sample = touched_sample(10, 1)
    changed = int((sample.environment > 0).sum())
    some = sample.at_most(changed + 100, np.random.default_rng(0))
    assert len(some.rows) == len(some.touched) == len(some.environment) == len(some.copies) == changed + 100
    np.testing.assert_array_equal(some.rows[some.environment > 0], sample.rows[sample.environment > 0])
    fewer = sample.at_most(changed // 2, np.random.default_rng(0))
    assert len(fewer.rows) == changed // 2
    assert fewer.environment.all()
    assert sample.at_most(10_000, np.random.default_rng(0)) is sample


def test_what_some_rows_say_faintly_is_asked_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 0 -> 1 -> 2 a third of the rows say much about one edge, little about the other, nothing about 0 and 2."""
    rng = np.random.default_rng(12)
    rows = chain(6_000, rng, strength=0.6)
    rows[:, 2] = np.where(rng.random(6_000) < 0.5, rng.integers(0, 4, 6_000), rows[:, 2])
    sample, question = left_alone(rows), ~np.eye(3, dtype=bool)
    networks = Networks(ignorant((4,) * 3, rows), (4,) * 3, np.zeros((3, 3), bool), np.ones((3, 3)))
    monkeypatch.setattr(phase2_residuals, "MOST_ROWS", 2_000)
    some = left_over(networks, sample.at_most(2_000, np.random.default_rng(5)), question)
    whole = left_over(networks, sample, question)
    found = ask(networks, sample, question, np.random.default_rng(5))
    assert 2.0 < some.apart[2, 1] < 30 < some.apart[1, 0]
    assert some.apart[2, 0] < 2.0
    assert found.apart[2, 1] == pytest.approx(whole.apart[2, 1])
    assert found.apart[1, 2] == pytest.approx(whole.apart[1, 2]), "and the other way round"
    assert (found.apart[1, 0], found.apart[2, 0]) == (some.apart[1, 0], some.apart[2, 0])
    np.testing.assert_array_equal(found.asked, question)
