"""Neural worlds: the distribution that their mechanisms are drawn from."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from sdi.graphs import graph
from sdi.worlds.neural import MLP, neural_world
from sdi.worlds.world import Rows

FALSE_ALARM = 1e-9  # of a test with random numbers, over the choice of its seed


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_direct_evaluation_draws_the_same_rows_as_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows() -> Rows:
        return neural_world(graph("full4"), [5, 2, 7, 3], rng=generator(21)).observe(20_000, generator(22))

    tabulated = rows()
    monkeypatch.setattr("sdi.worlds.neural.LARGEST_TABLE", 0)
    assert (rows() == tabulated).all()


def mechanisms_of(name: str, categories: Any, seed: int = 23) -> list[MLP]:
    world = neural_world(graph(name), categories, rng=generator(seed))
    return [mechanism for mechanism in world.mechanisms if isinstance(mechanism, MLP)]


@pytest.mark.parametrize(
    ("name", "categories", "hidden"),
    [("chain3", 2, 12), ("chain3", 10, 40), ("chain13", 2, 52), ("chain3", [2, 5, 3], 20)],
)
def test_hidden_layer_has_four_units_per_variable_or_category(name: str, categories: Any, hidden: int) -> None:
    for mlp in mechanisms_of(name, categories):
        assert mlp.b0.shape == (hidden,)
        assert mlp.w1.shape == (hidden, mlp.cardinality)
        assert all(weights.shape[1] == hidden for weights in mlp.w0)


def test_weights_are_orthogonal_with_gain_two_and_a_half() -> None:
    for mlp in mechanisms_of("full5", [2, 3, 4, 2, 3]):
        assert np.allclose(mlp.w1.T @ mlp.w1, 6.25 * np.eye(mlp.cardinality))
        if mlp.w0:  # fewer inputs than hidden units: inputs are orthogonal to each other, across parents too
            stacked = np.concatenate(mlp.w0)
            assert np.allclose(stacked @ stacked.T, 6.25 * np.eye(len(stacked)))


def test_weights_of_more_inputs_than_hidden_units_are_orthogonal_the_other_way() -> None:
    """All 130 inputs have 52 orthogonal columns; without the variable's own 10, all but 10 directions are as long."""
    stretches = np.linalg.svd(np.concatenate(mechanisms_of("full13", 10)[-1].w0), compute_uv=False)
    assert stretches.max() < 2.5 + 1e-9
    assert np.isclose(stretches, 2.5).sum() >= 42


def test_weights_have_no_preferred_sign() -> None:
    rng = generator(24)
    mlp = mechanisms_of("chain3", 2)[1]
    entries = np.array([mlp.redrawn(rng).w1[0, 0] for _ in range(500)])
    assert stats.ttest_1samp(entries, 0).pvalue > FALSE_ALARM
    assert stats.binomtest(int((entries > 0).sum()), len(entries)).pvalue > FALSE_ALARM


def test_biases_are_uniform_within_their_bound() -> None:
    biases = np.concatenate([np.append(mlp.b0, mlp.b1) for mlp in mechanisms_of("chain20", 2)])
    assert 1.08 < np.abs(biases).max() <= 1.1  # 1,640 numbers: all of them smaller in one of 10^13 draws
    assert stats.kstest(biases, stats.uniform(-1.1, 2.2).cdf).pvalue > FALSE_ALARM


def test_soft_intervention_draws_another_mlp_of_the_same_shape() -> None:
    mlp = mechanisms_of("full4", [5, 2, 7, 3])[-1]
    other = mlp.redrawn(generator(25))
    assert other.shape == mlp.shape
    assert [weights.shape for weights in other.w0] == [weights.shape for weights in mlp.w0]
    assert not np.isclose(other.b0, mlp.b0).any()
    assert not np.isclose(other.w0[0], mlp.w0[0]).any()


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (1, "a variable needs at least 2 categories; got 1"),
        ([2, 1, 2], "a variable needs at least 2 categories; got 1"),
        ([2, 2], "got 2 numbers of categories for 3 variables; give one or 3"),
    ],
)
def test_impossible_categories_are_refused(categories: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        neural_world(graph("chain3"), categories, rng=generator())
