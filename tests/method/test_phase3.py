"""Phase 3: the estimators against every configuration of three variables, the penalties, and what stays untouched."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from sdi.method.beliefs import Clamp, Knowledge, edge_probabilities
from sdi.method.neural.learner import draw_configurations
from sdi.method.neural.phase2_score import Scores
from sdi.method.neural.phase3_update import (
    Structure,
    initial_structure,
    paper_gradient,
    penalty,
    ratio_gradient,
    update,
)
from sdi.method.settings import Settings

BATCH = 7
OFF_DIAGONAL = ~np.eye(3, dtype=bool)
NAMES = ("A", "B", "C")
SETTINGS = Settings.paper(
    batch=BATCH,
    estimator="ratio",
    belief_rate=0.05,
    belief_betas=(0.1, 0.999),
    belief_start=0.1,
    belief_limit=5.0,
    sparsity=0.1,
    acyclicity=0.5,
)
Numbers = NDArray[np.float64]


def changed(**changes: Any) -> Settings:
    return Settings(**{**vars(SETTINGS), **changes})


# -------------------------------------------------------------------------------- all configurations of a row

# The log-likelihood (of one row of data) of variable i is an arbitrary table over what its network may look at:
# TABLE[i, 2 * first + second], with first and second the entries of row i of a configuration off the diagonal.
TABLE = np.random.default_rng(108).normal(-1.5, 0.7, (3, 4))
GAMMA = np.random.default_rng(4).normal(0, 1, (3, 3))
PROBABILITIES: Numbers = np.where(OFF_DIAGONAL, 1 / (1 + np.exp(-GAMMA)), 0)
ROWS = np.array([(0, 0), (0, 1), (1, 0), (1, 1)], float)  # of a configuration, off the diagonal


def weight_of_rows(gamma: Numbers, i: int) -> Numbers:
    """How probable each of the four rows is for variable i."""
    p = 1 / (1 + np.exp(-gamma[i, OFF_DIAGONAL[i]]))
    return np.prod(np.where(ROWS == 1, p, 1 - p), axis=1)


def derivative(f: Any, gamma: Numbers = GAMMA, step: float = 1e-5) -> Numbers:
    """Central differences of f(gamma) for every entry."""
    result = np.zeros_like(gamma)
    for at in np.ndindex(gamma.shape):
        change = np.zeros_like(gamma)
        change[at] = step
        result[at] = (f(gamma + change) - f(gamma - change)) / (2 * step)
    return result


def expected_log_likelihood(gamma: Numbers) -> float:
    return sum(float(weight_of_rows(gamma, i) @ TABLE[i]) for i in range(3))


def log_expected_likelihood(gamma: Numbers) -> float:
    return sum(float(np.log(weight_of_rows(gamma, i) @ np.exp(TABLE[i]))) for i in range(3))


def scores_of(batches: int, configurations: int, tables: Numbers = TABLE[None], seed: int = 0) -> Scores:
    """Scores under tables that batches take in turn."""
    c = (np.random.default_rng(seed).random((batches, configurations, 3, 3)) < PROBABILITIES).astype(int)
    which = np.stack([2 * c[..., i, (i == 0) * 1] + c[..., i, 2 - (i == 2)] for i in range(3)], axis=-1)  # [S, C, M]
    turn = np.arange(batches)[:, None, None] % len(tables)
    return Scores(jnp.asarray(c, jnp.float32), jnp.asarray(BATCH * tables[turn, np.arange(3), which], jnp.float32))


def gradient_of(estimator: Any, scores: Scores) -> Numbers:
    return np.asarray(jax.jit(estimator, static_argnums=2)(scores, jnp.asarray(PROBABILITIES), BATCH), np.float64)


def error_of(draws: int, configurations: int, tables: Numbers = TABLE[None]) -> tuple[Numbers, Numbers]:
    """By listing all ways to draw `configurations` rows: E[D W] / E[W] and its standard error after `draws` of them,

    where D is the sum of p - c over the rows and W the product of their likelihoods.
    """
    mean, error = np.zeros((3, 3)), np.zeros((3, 3))
    for i in range(3):
        p = PROBABILITIES[i, OFF_DIAGONAL[i]]
        ways = np.array(list(itertools.product(range(4), repeat=configurations)))  # [K, C]
        share = np.prod(weight_of_rows(GAMMA, i)[ways], axis=1) / len(tables)
        difference = (p - ROWS[ways]).sum(axis=1)  # [K, 2]
        weight = np.exp(tables[:, i][:, ways].sum(axis=-1))  # [T, K]
        total = np.sum(share * weight)
        value = np.einsum("k,tk,kj->j", share, weight, difference) / total
        spread = np.einsum("k,tk,kj->j", share, weight**2, (difference - value) ** 2)
        mean[i, OFF_DIAGONAL[i]] = value
        error[i, OFF_DIAGONAL[i]] = np.sqrt(spread / draws) / total
    return mean, error


# ----------------------------------------------------------------------------------------------- estimators
# All limits below are compared at 5 standard errors for 6 entries: each fails by chance once in 290,000 runs.


def test_ratio_gradient_is_that_of_the_log_of_the_expected_likelihood() -> None:
    """E[(p - c) L] / E[L] = -d log E[L] / d gamma, the oracle being differences of the sum over all configurations."""
    expected, error = error_of(200_000, 1)
    np.testing.assert_allclose(expected, -derivative(log_expected_likelihood), atol=1e-9)
    found = gradient_of(ratio_gradient, scores_of(1, 200_000))
    assert error.max() < 0.003, "the test is sharp enough to see a wrong value"
    assert np.abs(expected[OFF_DIAGONAL]).min() > 0.05
    assert (np.abs(found - expected) <= 5 * error).all()


def test_ratio_gradient_is_the_mean_over_batches() -> None:
    """With the same draws cut into batches of 2,000 the bias of a ratio is far below its error."""
    expected, error = error_of(200_000, 1)
    found = gradient_of(ratio_gradient, scores_of(100, 2000))
    assert (np.abs(found - expected) <= 5 * error + 1e-3).all()


def test_paper_gradient_is_that_of_the_ratio_times_the_configurations_of_a_batch() -> None:
    """Over many batches, its softmax of sums is E[D W] / E[W], which factorises into C_S times the ratio."""
    expected, error = error_of(200_000, 3)
    np.testing.assert_allclose(expected, -3 * derivative(log_expected_likelihood), atol=1e-9)
    found = gradient_of(paper_gradient, scores_of(200_000, 3))
    assert error.max() < 0.02
    assert (np.abs(found - expected) <= 5 * error).all()


def test_batches_that_are_easy_at_all_weigh_more_in_the_paper_and_not_in_the_ratio() -> None:
    """Half of the batches are easier by 1 nat a row whatever the configuration, the other half prefer the opposite."""
    tables = np.stack([TABLE + 1, -3 - TABLE])
    expected, error = error_of(200_000, 3, tables)
    found = gradient_of(paper_gradient, scores_of(200_000, 3, tables))
    assert (np.abs(found - expected) <= 5 * error).all()
    of_each = [error_of(1, 1, table[None])[0] for table in tables]
    ratio = gradient_of(ratio_gradient, scores_of(20, 20_000, tables))
    np.testing.assert_allclose(ratio, np.mean(of_each, axis=0), atol=0.01)
    assert np.abs(expected / 3 - ratio).max() > 0.05, "the two differ by more than their scale"


def test_ratio_gradient_does_not_change_with_what_is_common_to_a_batch() -> None:
    scores = scores_of(4, 25)
    shifted = scores._replace(log_likelihood=scores.log_likelihood + BATCH * jnp.arange(4.0)[:, None, None])
    np.testing.assert_allclose(gradient_of(ratio_gradient, scores), gradient_of(ratio_gradient, shifted), atol=1e-6)
    assert np.abs(gradient_of(paper_gradient, scores) - gradient_of(paper_gradient, shifted)).max() > 0.1


@pytest.mark.parametrize("estimator", [ratio_gradient, paper_gradient])
def test_estimators_descend_where_the_expected_log_likelihood_ascends(estimator: Any) -> None:
    """Sign included, for all six edges: a step against the gradient makes what was seen more likely."""
    right = -np.sign(derivative(expected_log_likelihood)[OFF_DIAGONAL])
    assert (np.abs(right) == 1).all()
    batches, configurations = (1, 200_000) if estimator is ratio_gradient else (200_000, 3)
    found = gradient_of(estimator, scores_of(batches, configurations))
    assert (np.sign(found[OFF_DIAGONAL]) == right).all()
    assert expected_log_likelihood(GAMMA - 0.1 * found) > expected_log_likelihood(GAMMA)


def literal_gradient(scores: Scores, probabilities: jax.Array, batch: int) -> jax.Array:
    """Equation 2 as it is printed, with L the log-likelihood: the weight of a draw is NLL_k / sum_k NLL_k."""
    weight = scores.log_likelihood / scores.log_likelihood.sum(axis=1, keepdims=True)
    return jnp.einsum("scij,sci->ij", probabilities - scores.configurations, weight) / len(weight)


def test_weights_that_are_literal_log_likelihoods_move_every_belief_the_wrong_way() -> None:
    """In the limit they are +d E[log L] / d gamma over E[-log L]: descending on it makes what was seen less likely."""
    found = gradient_of(literal_gradient, scores_of(1, 200_000))
    means = np.array([weight_of_rows(GAMMA, i) @ -TABLE[i] for i in range(3)])
    ascent = derivative(expected_log_likelihood)
    np.testing.assert_allclose(found, ascent / means[:, None], atol=0.005)
    assert (np.sign(found[OFF_DIAGONAL]) == np.sign(ascent[OFF_DIAGONAL])).all()
    assert expected_log_likelihood(GAMMA - 0.1 * found) < expected_log_likelihood(GAMMA)


def test_useful_edge_gains_belief_by_likelihood_and_loses_it_by_literal_log_likelihood() -> None:
    useful = np.full((1, 3, 4), -1.5)
    useful[0, 1] = (-1.5, -1.5, -0.5, -0.5)  # variable 1 is better predicted where it may look at variable 0
    scores = scores_of(10, 2000, useful)
    for estimator, sign in ((ratio_gradient, 1), (paper_gradient, 1), (literal_gradient, -1)):
        assert sign * (-gradient_of(estimator, scores)[1, 0]) > 0.01


# ------------------------------------------------------------------------------------------------ penalties

OPEN = Knowledge().clamp(NAMES)


def plain_penalty(gamma: Numbers, clamp: Clamp, sparsity: float, acyclicity: float) -> float:
    p = np.where(clamp.open, 1 / (1 + np.exp(-gamma)), clamp.value)
    pairs = sum(float(np.cosh(p[i, j] * p[j, i])) for i in range(3) for j in range(i))
    return sparsity * float(p.sum()) + acyclicity * pairs


@pytest.mark.parametrize(("sparsity", "acyclicity"), [(0.1, 0.5), (0.0, 0.5), (0.1, 0.0), (0.0, 0.0), (2.0, 3.0)])
@pytest.mark.parametrize("knowledge", [Knowledge(), Knowledge(required=[("A", "B")], forbidden=[("A", "C")])])
def test_penalty_and_its_gradient_are_those_of_the_formula(
    sparsity: float, acyclicity: float, knowledge: Knowledge
) -> None:
    clamp, settings = knowledge.clamp(NAMES), changed(sparsity=sparsity, acyclicity=acyclicity)
    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(penalty)(jnp.asarray(GAMMA), clamp, settings)
        value, gradient = float(value), np.asarray(gradient)
    assert value == pytest.approx(plain_penalty(GAMMA, clamp, sparsity, acyclicity), abs=1e-6)
    expected = derivative(lambda gamma: plain_penalty(gamma, clamp, sparsity, acyclicity))
    np.testing.assert_allclose(gradient, expected, atol=1e-6)
    assert (gradient[~clamp.open] == 0).all()


def test_each_penalty_can_be_off() -> None:
    def gradient(**changes: float) -> Numbers:
        return np.asarray(jax.grad(penalty)(jnp.asarray(GAMMA), OPEN, changed(**changes)))

    assert (gradient(sparsity=0.0, acyclicity=0.0) == 0).all()
    alone = [gradient(sparsity=0.1, acyclicity=0.0), gradient(sparsity=0.0, acyclicity=0.5)]
    assert all((each[OFF_DIAGONAL] > 0).all() for each in alone)
    np.testing.assert_allclose(sum(alone), gradient(sparsity=0.1, acyclicity=0.5), atol=1e-6)
    p = PROBABILITIES[OFF_DIAGONAL]
    np.testing.assert_allclose(alone[0][OFF_DIAGONAL], 0.1 * p * (1 - p), atol=1e-6)


# --------------------------------------------------------------------------------------------------- update


def structure_of(settings: Settings = SETTINGS, updates: int = 2) -> Structure:
    """Beliefs and an optimiser that have moved already, so that there is something to leave alone."""
    structure = initial_structure(jax.random.key(0), 3, settings)
    for k in range(updates):
        structure = update(structure, scores_of(4, 25, seed=k), jnp.zeros(3), OPEN, settings)
    return structure


def bits(tree: Any, i: int) -> list[bytes]:
    return [np.asarray(leaf)[i].tobytes() for leaf in jax.tree.leaves(tree)]


@pytest.mark.parametrize("estimator", ["ratio", "paper"])
@pytest.mark.parametrize("target", [(0,), (1,), (2,), (0, 2), ()])
def test_row_of_the_target_and_its_optimiser_stay_as_they_were(estimator: str, target: tuple[int, ...]) -> None:
    settings = changed(estimator=estimator)
    before = structure_of(settings)
    touched = jnp.asarray(np.isin(np.arange(3), target).astype(np.float32))
    after = update(before, scores_of(4, 25, seed=9), touched, OPEN, settings)
    for i in range(3):
        if i in target:
            assert bits(before, i) == bits(after, i), "to the last bit, moments and step count included"
        else:
            assert (np.asarray(after.gamma)[i, OFF_DIAGONAL[i]] != np.asarray(before.gamma)[i, OFF_DIAGONAL[i]]).all()
            assert all(old != new for old, new in zip(bits(before, i), bits(after, i), strict=True))


def test_other_rows_move_as_if_the_target_were_not_there() -> None:
    before, scores = structure_of(), scores_of(4, 25, seed=9)
    alone = update(before, scores, jnp.array([0.0, 1.0, 0.0]), OPEN, SETTINGS)
    noise = scores._replace(log_likelihood=scores.log_likelihood.at[:, :, 1].set(0.0))
    blinded = update(before, noise, jnp.array([0.0, 1.0, 0.0]), OPEN, SETTINGS)
    for i in range(3):
        assert bits(alone, i) == bits(blinded, i)


@pytest.mark.parametrize("estimator", ["ratio", "paper"])
def test_updates_find_the_one_useful_edge(estimator: str) -> None:
    """Both penalties off: the belief in it rises by every update, whatever else does."""
    useful = np.full((1, 3, 4), -1.5)
    useful[0, 1] = (-4.5, -4.5, -0.5, -0.5)
    settings = changed(estimator=estimator, sparsity=0.0, acyclicity=0.0)
    structure = initial_structure(jax.random.key(0), 3, settings)
    start = float(structure.gamma[1, 0])
    for k in range(10):
        structure = update(structure, scores_of(20, 25, useful, seed=k), jnp.zeros(3), OPEN, settings)
    assert float(structure.gamma[1, 0]) > start + 0.2


def test_logits_stay_within_their_limit() -> None:
    settings = changed(belief_rate=1.0, belief_limit=1.5)
    structure = structure_of(settings, updates=6)
    assert np.abs(structure.gamma).max() == 1.5


# ---------------------------------------------------------------------------------------------------- clamp

KNOWN = Knowledge(required=[("A", "B")], forbidden=[("A", "C"), ("C", "B")]).clamp(NAMES)


def test_forbidden_edge_is_never_drawn_and_required_one_always_in_a_million_draws() -> None:
    gamma = jnp.full((3, 3), 5.0).at[1, 0].set(-5.0)  # against what is known, as strongly as it gets
    drawn = draw_configurations(jax.random.key(0), edge_probabilities(gamma, KNOWN), (10**6,))
    never, always = ~KNOWN.open & (KNOWN.value == 0), ~KNOWN.open & (KNOWN.value == 1)
    total = np.asarray(drawn).sum(axis=0, dtype=np.float64)
    assert never.sum() == 6, "the diagonal, the two that are forbidden and the reverse of the one required"
    assert (total[never] == 0).all()
    assert (total[always] == 10**6).all()
    assert always.sum() == 1
    assert ((total[KNOWN.open] > 0) & (total[KNOWN.open] < 10**6)).all()


def test_logits_of_what_is_known_make_no_difference() -> None:
    scores, target = scores_of(4, 25, seed=2), jnp.zeros(3)
    plain = structure_of()
    wild = plain._replace(gamma=jnp.where(KNOWN.open, plain.gamma, 4.5 * (-1.0) ** jnp.arange(9.0).reshape(3, 3)))
    assert (edge_probabilities(plain.gamma, KNOWN) == edge_probabilities(wild.gamma, KNOWN)).all()
    one, other = (update(each, scores, target, KNOWN, SETTINGS) for each in (plain, wild))
    assert (one.gamma == other.gamma)[KNOWN.open].all()
    assert (np.asarray(one.gamma) != np.asarray(plain.gamma))[KNOWN.open].all()
    probabilities = np.asarray(edge_probabilities(other.gamma, KNOWN))
    assert (probabilities[~KNOWN.open] == KNOWN.value[~KNOWN.open]).all()
