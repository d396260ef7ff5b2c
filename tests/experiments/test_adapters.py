"""The adapters on a small example with strong effects: A and B are causes of C, and each was set by chance once."""

from typing import Any

import numpy as np
import pytest
from experiments.comparison.registry import METHODS, chosen, method_version
from experiments.comparison.result import Result
from experiments.methods import dag_gnn, notears, pc, ut_igsp
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

import sdi
from sdi.worlds.dataset import FiniteEnvironment

TRUTH = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 0]], dtype=bool)
foreign = pytest.mark.filterwarnings("ignore")  # what other packages warn of is theirs to mend


def rows(size: int, touched: int | None, rng: np.random.Generator) -> NDArray[np.integer]:
    a, b = rng.random(size) < (0.8 if touched == 0 else 0.4), rng.random(size) < (0.2 if touched == 1 else 0.6)
    count = a.astype(int) + b + (rng.random(size) < 0.1)
    c = rng.integers(0, 4, size) if touched == 2 else count
    return np.stack([a, b, c], axis=1).astype(np.uint8)


@pytest.fixture(scope="module")
def dataset() -> sdi.Dataset:
    rng = np.random.default_rng(5)
    environments = tuple(FiniteEnvironment(f"e{i}", rows(800, i, rng), (i,)) for i in range(3))
    states = (("0", "1"), ("0", "1"), ("0", "1", "2", "3"))
    return sdi.Dataset(("A", "B", "C"), states, rows(2_000, None, rng), environments)


def call(name: str, dataset: sdi.Dataset, **changes: Any) -> Result:
    import importlib

    method = METHODS[name]
    module, _, function = method.call.partition(":")
    return getattr(importlib.import_module(module), function)(dataset, seed=1, seconds=60, **method.options | changes)


@foreign
@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("gies", "gies"),
        ("pc", "causallearn"),
        ("ges", "causallearn"),
        ("ut_igsp", "graphical_model_learning"),
        ("icp_known", "causalicp"),
        ("notears_codes", "castle"),
        ("greedy", "scipy"),
        ("eaton_murphy", "scipy"),
    ],
)
def test_causes_are_found(name: str, package: str, dataset: sdi.Dataset) -> None:
    pytest.importorskip(package, reason="needs the extra baselines: make baselines")
    assert (call(name, dataset).graph == TRUTH).all()


@foreign
@pytest.mark.parametrize(("name", "package"), [("ut_igsp", "graphical_model_learning"), ("eaton_murphy", "scipy")])
def test_targets_are_named(name: str, package: str, dataset: sdi.Dataset) -> None:
    pytest.importorskip(package, reason="needs the extra baselines: make baselines")
    assert call(name, dataset).targets == ((0,), (1,), (2,))


@foreign
def test_icp_that_does_not_know_the_targets_rejects_every_set(dataset: sdi.Dataset) -> None:
    pytest.importorskip("causalicp", reason="needs the extra baselines: make baselines")
    from experiments.comparison.data import told

    found = call("icp", told(dataset, None))
    assert not found.graph.any()
    assert found.note == "no invariant set for 3 of 3 variables"


@foreign
@pytest.mark.parametrize("name", ["dag_gnn_codes", "dag_gnn_one_hot"])
def test_dag_gnn_takes_numbers_and_vectors(name: str, dataset: sdi.Dataset) -> None:
    pytest.importorskip("castle", reason="needs the extra baselines: make baselines")
    found = call(name, dataset, epochs=1, rounds=1).graph
    assert found.shape == (3, 3)
    assert not found.diagonal().any()


@foreign
def test_batches_of_dag_gnn_that_are_made_once_train_as_those_made_in_every_epoch(dataset: sdi.Dataset) -> None:
    castle = pytest.importorskip("castle.algorithms", reason="needs the extra baselines: make baselines")
    data, found = dataset.observational[:300].astype(float), []
    for kind in (castle.DAG_GNN, dag_gnn.learner()):
        model = kind(seed=3, epochs=3, k_max_iter=2)
        model.learn(data)
        found.append(model.encoder.adj_A.detach().numpy())
    assert np.abs(found[0]).max() > 0.01
    assert np.array_equal(*found)


def test_g_test_agrees_with_the_likelihood_ratio_test_of_each_stratum() -> None:
    rng = np.random.default_rng(2)
    x, y, z = rng.integers(0, 3, 400), rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    y = np.where(rng.random(400) < 0.1, x > 1, y)
    statistic = freedom = 0.0
    for value in (0, 1):
        table = np.array([[((x == a) & (y == b) & (z == value)).sum() for b in (0, 1)] for a in (0, 1, 2)])
        found = chi2_contingency(table, correction=False, lambda_="log-likelihood")
        statistic, freedom = statistic + found.statistic, freedom + found.dof
    from scipy.stats import chi2

    assert ut_igsp.g_test(x, y, z[:, None]) == pytest.approx(chi2.sf(statistic, freedom))


def test_g_test_without_anything_to_compare_says_nothing() -> None:
    assert ut_igsp.g_test(np.zeros(9, int), np.arange(9) % 2, np.zeros((9, 0), int)) == 1.0


def test_one_hot_columns_leave_out_the_first_category(dataset: sdi.Dataset) -> None:
    columns, owner = notears.columns_of(dataset, "one-hot")
    assert owner.tolist() == [0, 1, 2, 2, 2]
    assert (columns[:, 3] == (dataset.observational[:, 2] == 2)).all()


def test_weights_of_columns_become_those_of_variables() -> None:
    weights = np.zeros((3, 3))
    weights[2, 0], weights[1, 0], weights[2, 1] = 0.4, 0.9, 5.0
    assert notears.by_variable(weights, np.array([0, 1, 1])).tolist() == [[0, 0], [0.9, 0]]


def test_weaker_edge_that_closes_a_cycle_is_dropped() -> None:
    found = notears.strongest_dag(np.array([[0, 0.5, 0.1], [0.8, 0, 0], [0, 0.4, 0]]))
    assert found.tolist() == [[False, False, False], [True, False, False], [False, True, False]]


def test_end_marks_become_parents() -> None:
    marks = np.array([[0, -1, -1], [1, 0, 0], [-1, 0, 0]])  # 0 -> 1, 0 - 2
    assert pc.parents_of(marks).tolist() == [[False, False, True], [True, False, False], [True, False, False]]


def test_unknown_method_is_told_the_choices() -> None:
    with pytest.raises(ValueError, match=r"unknown method 'gis'; choose from .*gies"):
        chosen("pc,gis")


def test_every_method_has_a_version_of_its_own() -> None:
    versions = [method_version(method).rpartition(" ")[2] for method in METHODS.values()]
    assert len(set(versions[:4])) == 4  # the codings of one program are told apart
    assert all(len(version) == 8 for version in versions)
