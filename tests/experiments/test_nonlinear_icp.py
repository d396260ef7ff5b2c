"""Nonlinear ICP: its level where a set is invariant, its power where it is not, and toys with a known answer."""

from typing import Any

import numpy as np
import pytest
from experiments.methods.nonlinear_icp import ENOUGH, MODELS, Scene, _no_covariance, _others, candidates, forest, run
from scipy.stats import binom, chi2, kstest
from sklearn.ensemble import RandomForestClassifier

from sdi import Dataset
from sdi.worlds.dataset import FiniteEnvironment

Rows = np.ndarray[Any, np.dtype[np.int64]]


def draw(tables: Rows | Any, rng: np.random.Generator) -> Rows:
    """A class for each row of probabilities ``[n, N]``."""
    return (rng.random((len(tables), 1)) > np.cumsum(tables, axis=1)[:, :-1]).sum(axis=1)


def two_causes(rng: np.random.Generator, rows: int, environments: int) -> tuple[Rows, Rows]:
    """X0, X1 -> X2, three states each; every environment draws the causes differently, none touches X2."""
    environment = np.repeat(np.arange(environments), rows)
    causes = [rng.dirichlet(np.ones(3), environments)[environment] for _ in range(2)]
    a, b = (draw(tables, rng) for tables in causes)
    mechanism = rng.dirichlet(np.full(3, 0.7), (3, 3))
    return np.stack([a, b, draw(mechanism[a, b], rng)], axis=1), environment


TARGETS = [(0,), (1,), (2,)]


def linear_toy(seed: int, rows: int = 800) -> Dataset:
    """A -> B -> C in the manner of Peters, Bühlmann & Meinshausen (2016): linear with noise, each shifted in turn.

    Every value is rounded before it is passed on, so that B given A is invariant after rounding too.
    """
    rng = np.random.default_rng(seed)

    def rounded(values: Any) -> Any:
        return np.clip(np.round(values), 0, 3).astype(np.int64)

    def sample(*shifts: float) -> Rows:
        a = rounded(1 + shifts[0] + rng.normal(size=rows))
        b = rounded(0.8 * a + shifts[1] + 0.7 * rng.normal(size=rows))
        return np.stack([a, b, rounded(0.8 * b + shifts[2] + 0.7 * rng.normal(size=rows))], axis=1)

    made = tuple(FiniteEnvironment(f"e{k}", sample(*np.eye(3)[k])) for k in range(3))
    return Dataset(("A", "B", "C"), (("0", "1", "2", "3"),) * 3, sample(0.0, 0.0, 0.0), made)


# ---------------------------------------------------------------------------------------------- level and power


@pytest.mark.parametrize(("model", "repeats"), [("logistic", 100), ("forest", 25)])
def test_invariant_set_is_rejected_no_more_often_than_the_level_says(model: str, repeats: int) -> None:
    found = []
    for seed in range(repeats):
        rows, environment = two_causes(np.random.default_rng(seed), 150, 3)
        found.append(Scene(rows, environment, (3, 3, 3), model, seed).test(2, (0, 1)))
    for level in (0.05, 0.2):
        assert (np.array(found) < level).sum() <= binom.ppf(0.995, repeats, level)
    assert (np.array(found) < 0.5).sum() >= binom.ppf(0.005, repeats, 0.2)  # not so shy that it would never reject


def test_p_value_of_one_environment_is_uniform_where_nothing_depends_on_it() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        classes = np.eye(3)[rng.integers(3, size=300)]
        here = rng.random(300) < 0.4
        every = np.ones(300, dtype=np.int64)
        found.append(_no_covariance(classes - 1 / 3, (here - 0.4)[:, None], np.full((1, 3), 40.0), every)[0])
    assert kstest(found, "uniform").pvalue > 0.01


@pytest.mark.parametrize("model", MODELS)
def test_set_that_lacks_a_cause_is_rejected(model: str) -> None:
    rejected = []
    for seed in range(6):
        rows, environment = two_causes(np.random.default_rng(seed), 600, 4)
        rejected.append(Scene(rows, environment, (3, 3, 3), model, seed).test(2, (0,)) < 0.05)
    assert sum(rejected) >= 5


@pytest.mark.parametrize("model", MODELS)
def test_model_predicts_the_share_of_each_class_among_rows_that_look_alike(model: str) -> None:
    rows, environment = two_causes(np.random.default_rng(0), 3000, 2)
    scene = Scene(rows, environment, (3, 3, 3), model, 0)
    look = scene._look((0, 1))
    predicted = scene._predicted(look.cell, look.features, rows[:, 2], 3)[look.cell, rows[:, 2]]
    for a, b in np.ndindex(3, 3):
        alike = (rows[:, 0] == a) & (rows[:, 1] == b)
        share = np.bincount(rows[alike, 2], minlength=3) / alike.sum()
        np.testing.assert_allclose(predicted[alike].mean(axis=0), share, atol=0.03)


# ------------------------------------------------------------------------------------- rows that look alike


def test_rows_counted_by_kind_are_as_good_as_rows_one_by_one() -> None:
    rng = np.random.default_rng(0)
    residuals, centred = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    counts, expected = rng.integers(1, 5, 40), np.array([[30.0, 20.0, 9.0], [3.0, 30.0, 20.0]])
    together = _no_covariance(residuals, centred, expected, counts)
    each = np.repeat(np.arange(40), counts)
    single = _no_covariance(residuals[each], centred[each], expected, np.ones(len(each), dtype=np.int64))
    np.testing.assert_allclose(together, single)
    for e, used in enumerate(([1, 2], [2])):  # not the most common class, none that is too rare
        products = residuals[each][:, used] * centred[each, e, None]
        total = products.sum(axis=0)
        statistic = total @ np.linalg.inv(products.T @ products) @ total
        assert together[e] == pytest.approx(chi2.sf(statistic, len(used)))


def counted(rows: Rows, scene: Scene) -> tuple[Any, Any]:
    """What the cells of the two causes look like, and their rows of each class of the effect."""
    look = scene._look((0, 1))
    return look.features, np.bincount(look.cell * 3 + rows[:, 2], minlength=3 * len(look.features)).reshape(-1, 3)


def test_share_of_the_other_rows_leaves_each_row_out() -> None:
    assert _others(np.array([[3, 1], [0, 5]]))[0].tolist() == [[2 / 3, 1 / 3], [1, 0]]
    assert _others(np.array([[3, 1], [0, 5]]))[1, 1].tolist() == [0, 1]


@pytest.mark.parametrize(("size", "grown", "within"), [(1500, False, 0.003), (100, True, 0.03)])
def test_forest_is_close_to_what_scikit_learn_grows(size: int, grown: bool, within: float) -> None:
    rows, environment = two_causes(np.random.default_rng(5), size, 2)
    scene = Scene(rows, environment, (3, 3, 3), "forest", 0)
    features, counts = counted(rows, scene)
    assert (counts.sum(axis=1).min() < ENOUGH) == grown  # else no tree is grown
    other = RandomForestClassifier(300, min_samples_leaf=5, max_features=None, oob_score=True, random_state=0)
    cell = scene._look((0, 1)).cell
    expected = other.fit(features[cell], rows[:, 2]).oob_decision_function_
    assert np.abs(forest(features, counts, 0)[cell, rows[:, 2]] - expected).mean() < within
    assert expected.std(axis=0).mean() > 0.1  # there is something to be close to


def test_what_is_kept_for_the_next_child_changes_no_p_value() -> None:
    rows, environment = two_causes(np.random.default_rng(5), 100, 3)  # some cells are small, so that trees are grown
    kept = Scene(rows, environment, (3, 3, 3), "forest", 0)
    assert kept.test(0, (1,)) == kept.test(0, (1,))
    for child, chosen in ((2, (1,)), (2, (0, 1)), (2, ()), (0, ())):
        kept.test(1, (0,)), kept.test(1, (0, 2))
        assert kept.test(child, chosen) == Scene(rows, environment, (3, 3, 3), "forest", 0).test(child, chosen)


def test_sets_of_too_many_cells_are_not_tested() -> None:
    dataset = linear_toy(0)  # four states each: two others combine in 16 ways
    assert run(dataset, model="logistic", max_cells=16).tested[2] == 4
    assert run(dataset, model="logistic", max_cells=15).tested[2] == 3


# --------------------------------------------------------------------------------------------------------- toys


@pytest.mark.parametrize("model", MODELS)
def test_parents_of_the_linear_toy_are_found_when_targets_are_known(model: str) -> None:
    found = run(linear_toy(0), TARGETS, model=model)
    expected = np.zeros((3, 3), dtype=bool)
    expected[1, 0] = expected[2, 1] = True
    assert np.array_equal(found.parents, expected)
    assert found.p_values[expected].max() < 0.05 < found.p_values[~expected].min()


def test_empty_set_is_accepted_for_a_root_and_ends_its_tests() -> None:
    found = run(linear_toy(1), TARGETS, model="logistic")
    assert (found.accepted[0], found.tested[0]) == (1, 1)
    assert (found.p_values[0] > 0.05).all()


def test_variable_touched_in_an_unknown_environment_has_no_invariant_set() -> None:
    """And no parents, where known targets leave that environment out."""
    dataset = linear_toy(0)
    unknown, known = run(dataset, model="logistic"), run(dataset, TARGETS, model="logistic")
    assert unknown.accepted[2] == 0 < known.accepted[2]
    assert not unknown.parents[2].any()
    assert (unknown.p_values[2] == 1).all()


def test_shifts_of_the_cause_alone_do_not_tell_it_from_its_own_cause() -> None:
    """C given A and C given B are both invariant while nobody touches B, and nothing is in both {A} and {B}."""
    dataset = linear_toy(0)
    first = Dataset(dataset.names, dataset.states, dataset.observational, dataset.environments[:1])
    found = run(first, TARGETS[:1], model="logistic")
    assert not found.parents[2].any()
    assert found.parents[1].tolist() == [True, False, False]


def test_forest_gives_the_same_answer_for_the_same_seed() -> None:
    rows, environment = two_causes(np.random.default_rng(5), 100, 2)
    seen = counted(rows, Scene(rows, environment, (3, 3, 3), "forest", 0))
    assert np.array_equal(forest(*seen, 1), forest(*seen, 1))
    assert not np.array_equal(forest(*seen, 1), forest(*seen, 2))


def test_best_predictors_are_the_candidates() -> None:
    rng = np.random.default_rng(0)
    cause = rng.integers(3, size=500)
    noise = rng.integers(3, size=(500, 4))
    rows = np.column_stack([noise[:, :2], cause, noise[:, 2:], (cause + (rng.random(500) < 0.2)) % 3])
    scene = Scene(rows, np.zeros(500, dtype=np.int64), (3,) * 6, "logistic", 0)
    assert candidates(scene, 5, 1) == [2]
    assert candidates(scene, 5, 9) == [0, 1, 2, 3, 4]


def test_observational_rows_alone_reject_nothing() -> None:
    dataset = linear_toy(0)
    alone = Dataset(dataset.names, dataset.states, dataset.observational, ())
    found = run(alone, [])
    assert not found.parents.any()
    assert found.accepted.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"model": "oracle"}, "choose from forest, logistic"),
        ({"alpha": 1.0}, "between 0 and 1; got 1.0"),
        ({"targets": [(0,)]}, "each of the 3 environments, got 1"),
    ],
)
def test_error_says_what_is_wrong(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(linear_toy(0, rows=10), **how)
