"""The scikit-learn-shaped front door: its conventions, names kept to the end, and every table it refuses."""

import re
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import sdi
from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings

TINY = Settings.paper(
    iterations=4,
    batch=16,
    fit_steps=10,
    interventions=4,
    prediction_batches=2,
    prediction_configurations=2,
    scoring_batches=2,
    scoring_configurations=3,
    rows_per_intervention=40,
    observational_rows=100,
    all_interventions=10,
    belief_rate=0.05,
    dropout=True,
    targets="deterioration",
    estimator="ratio",
    margin=0.05,
    patience=10,
    seconds=1000.0,
)
COLUMNS = ("rain", "wet", "slip")


def table_of(columns: Any = COLUMNS, environment: Any = "day") -> pd.DataFrame:
    """A chain of three: 100 days left alone, 30 with the first touched and 30 with the second."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 160)
    second = first ^ (rng.random(160) < 0.1)
    second[130:] = rng.integers(0, 2, 30)
    third = second ^ (rng.random(160) < 0.1)
    table = pd.DataFrame(np.stack([first, second, third], axis=1).astype(int), columns=list(columns))
    table[environment] = ["observational"] * 100 + ["sprinkler"] * 30 + ["roof"] * 30
    return table


def fitted(table: Any = None, **arguments: Any) -> sdi.SDI:
    table = table_of() if table is None else table
    return sdi.SDI(TINY, seed=1).fit(table, **{"environment": "day", **arguments})


# ----------------------------------------------------------------------------------------------- conventions


def test_parameters_are_those_of_the_constructor() -> None:
    known = Knowledge(forbidden=[("slip", "rain")])
    estimator = sdi.SDI(TINY, known, seed=7)
    assert isinstance(estimator, BaseEstimator)
    assert estimator.get_params() == {"settings": TINY, "knowledge": known, "seed": 7}
    assert sdi.SDI().get_params() == {"settings": None, "knowledge": None, "seed": 0}


def test_parameters_can_be_set() -> None:
    estimator = sdi.SDI()
    assert estimator.set_params(seed=3, settings=TINY) is estimator
    assert (estimator.seed, estimator.settings) == (3, TINY)
    with pytest.raises(ValueError, match="Invalid parameter 'sed'"):
        estimator.set_params(sed=3)


def test_clone_has_the_parameters_and_not_the_fit() -> None:
    original = fitted()
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert hasattr(original, "graph_")
    assert not hasattr(copy, "graph_")


def test_fit_returns_itself_and_leaves_parameters_and_table_alone() -> None:
    table, estimator = table_of(), sdi.SDI(TINY, seed=1)
    before = table.copy()
    assert estimator.fit(table, environment="day") is estimator
    assert estimator.get_params() == {"settings": TINY, "knowledge": None, "seed": 1}
    pd.testing.assert_frame_equal(table, before)


def test_before_fit_there_are_no_edges() -> None:
    estimator = sdi.SDI(TINY)
    assert not [name for name in vars(estimator) if name.endswith("_")]
    with pytest.raises(NotFittedError, match="not fitted yet"):
        estimator.edges()


def test_same_seed_fits_the_same_and_another_does_not() -> None:
    first, again, other = (sdi.SDI(TINY, seed=s).fit(table_of(), environment="day") for s in (1, 1, 2))
    pd.testing.assert_frame_equal(first.edge_probabilities_, again.edge_probabilities_)
    assert not first.edge_probabilities_.equals(other.edge_probabilities_)


# --------------------------------------------------------------------------------------------------- results


def test_tables_run_from_causes_down_to_effects_across() -> None:
    """A required edge tells the orientation: rain -> wet, and only that, is in row rain."""
    known = Knowledge(required=[("rain", "wet")], only=[])
    found = sdi.SDI(TINY, known).fit(table_of(), environment="day")
    assert found.adjacency_.loc["rain", "wet"]
    assert found.adjacency_.to_numpy().sum() == 1
    assert found.edge_probabilities_.loc["rain", "wet"] == 1
    assert found.edge_probabilities_.loc["wet", "rain"] == 0
    assert (found.adjacency_.index.name, found.adjacency_.columns.name) == ("cause", "effect")
    assert list(found.graph_.edges) == [("rain", "wet")]
    assert found.edges() == [("rain", "wet", 1.0)]


def test_graph_is_acyclic_with_the_probability_of_every_edge() -> None:
    found = fitted()
    assert isinstance(found.graph_, nx.DiGraph)
    assert nx.is_directed_acyclic_graph(found.graph_)
    assert set(found.graph_.nodes) == set(COLUMNS)
    assert {(a, b) for a in COLUMNS for b in COLUMNS if found.adjacency_.loc[a, b]} == set(found.graph_.edges)
    for cause, effect, data in found.graph_.edges(data=True):
        assert data == {"probability": pytest.approx(found.edge_probabilities_.loc[cause, effect])}


def test_edges_are_listed_from_the_most_believed() -> None:
    lists = [sdi.SDI(TINY, seed=seed).fit(table_of(), environment="day").edges() for seed in range(8)]
    assert max(map(len, lists)) > 1
    for edges in lists:
        believed = [probability for _, _, probability in edges]
        assert believed == sorted(believed, reverse=True)


def test_targets_have_a_row_for_each_environment_that_was_touched() -> None:
    found = fitted()
    assert list(found.targets_.index) == ["sprinkler", "roof"]
    assert list(found.targets_.columns) == list(COLUMNS)
    assert (found.targets_.index.name, found.targets_.columns.name) == ("environment", "variable")
    assert ((found.targets_ >= 0) & (found.targets_ <= 1)).all(axis=None)


def test_declared_targets_are_the_targets_found() -> None:
    found = fitted(targets={"sprinkler": "wet", "roof": ["rain", "slip"]})
    assert found.targets_.loc["sprinkler"].tolist() == [0, 1, 0]
    assert found.targets_.loc["roof"].tolist() == [1, 0, 1]


def test_environments_left_alone_can_be_named() -> None:
    found = fitted(observational=["roof", "observational"])
    assert list(found.targets_.index) == ["sprinkler"]


# ------------------------------------------------------------------------------------------- names and inputs


@pytest.mark.parametrize(
    "columns",
    [
        ("rain", "wet", "slip"),
        ("a->b", "x, y", "{z}"),
        ("größe", "温度", " "),
        ("", "None", "probability"),
        ("cause", "effect", "environment"),
        (1, 2.5, ("a", "b")),
    ],
)
def test_names_of_columns_are_kept_to_the_end(columns: tuple[Any, ...]) -> None:
    names = [str(column) for column in columns]
    table = pd.DataFrame({column: table_of()[plain] for column, plain in zip(columns, COLUMNS, strict=True)})
    found = fitted(table, environment=table_of()["day"].tolist())
    assert found.feature_names_in_.tolist() == names
    assert found.n_features_in_ == 3
    assert list(found.adjacency_.index) == list(found.adjacency_.columns) == names
    assert list(found.edge_probabilities_.index) == list(found.targets_.columns) == names
    assert list(found.graph_.nodes) == names
    assert {name for edge in found.edges() for name in edge[:2]} <= set(names)
    assert (found.edge_probabilities_.to_numpy() == fitted().edge_probabilities_.to_numpy()).all()


@pytest.mark.parametrize("convert", [lambda table: table.to_numpy(), lambda table: table.to_numpy().tolist()])
def test_array_is_accepted_and_its_columns_get_names(convert: Any) -> None:
    table = table_of()
    found = fitted(convert(table[list(COLUMNS)]), environment=table["day"].to_numpy())
    assert found.feature_names_in_.tolist() == ["X1", "X2", "X3"]
    assert (found.edge_probabilities_.to_numpy() == fitted().edge_probabilities_.to_numpy()).all()


def test_values_may_be_words_or_categories() -> None:
    words = table_of().replace({column: {0: "no", 1: "yes"} for column in COLUMNS})
    for table in (words, words.astype("category")):
        assert (fitted(table).edge_probabilities_.to_numpy() == fitted().edge_probabilities_.to_numpy()).all()


def test_columns_are_prepared_as_in_a_dataset() -> None:
    """Numbers cut in the middle, an identifier dropped and a row left out: the table it would have been by hand."""
    table = table_of()
    raw = table.assign(rain=table["rain"] + np.linspace(0, 0.5, 160), id=range(160), wet=table["wet"].astype(object))
    raw.loc[3, "wet"] = None
    found = fitted(raw, bins={"rain": "2:uniform"}, missing="drop", drop="id")
    assert found.feature_names_in_.tolist() == list(COLUMNS)
    by_hand = fitted(table.drop(index=3))
    assert (found.edge_probabilities_.to_numpy() == by_hand.edge_probabilities_.to_numpy()).all()


# ---------------------------------------------------------------------------------------------------- errors


def with_column(name: str, values: Any) -> pd.DataFrame:
    table = table_of()
    table[name] = values
    return table


ERRORS = {
    "missing values": (with_column("wet", [None] * 3 + [1.0] * 100 + [0.0] * 57), {}, "'wet' holds 3 missing values"),
    "constant column": (with_column("wet", 1), {}, "column 'wet' holds one value only (1); drop it"),
    "one value per row": (with_column("wet", range(160)), {}, "column 'wet' has a different value in every row"),
    "fractions": (with_column("wet", np.linspace(0, 1, 160)), {}, "column 'wet' holds fractions"),
    "too few rows": (table_of().iloc[:133], {}, "environment 'roof' has too few rows: 3, at least 10 are needed"),
    "unknown environment column": (
        table_of(),
        {"environment": "dya"},
        "unknown environment column 'dya'; did you mean 'day'?",
    ),
    "too few labels": (table_of(), {"environment": ["a"] * 7}, "got 7 environment labels for 160 rows"),
    "no observational rows": (
        table_of().iloc[100:],
        {},
        "unknown observational environment 'observational'; found: sprinkler, roof; say which",
    ),
    "nothing named observational": (table_of(), {"observational": []}, "no observational rows; name at least one"),
    "observational misspelt": (table_of(), {"observational": "rof"}, "did you mean 'roof'?"),
    "target that is no variable": (
        table_of(),
        {"targets": {"roof": "weet"}},
        "target of 'roof': variable 'weet'; did you mean 'wet'?",
    ),
    "target of an unknown environment": (
        table_of(),
        {"targets": {"sprinklr": "wet"}},
        "unknown environment 'sprinklr'; did you mean 'sprinkler'?",
    ),
    "target of what was left alone": (
        table_of(),
        {"targets": {"observational": "wet"}},
        "environment 'observational' was left alone",
    ),
    "one variable": (table_of()[["wet", "day"]], {}, "expected at least 2 variables, got 1"),
    "no rows": (table_of().iloc[:0], {}, "expected rows, got an empty table"),
    "one dimension": (np.zeros(20), {"environment": ["a"] * 20}, "expected a table of rows and columns, got an array"),
    "observational only": (table_of().iloc[:100], {}, "observational rows only: no environment to learn from"),
}


@pytest.mark.parametrize(("table", "arguments", "message"), ERRORS.values(), ids=ERRORS)
def test_table_that_cannot_be_used_is_refused_with_the_reason(
    table: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        fitted(table, **arguments)


def test_unknown_variable_in_the_knowledge_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match="unknown variable 'rian' in the edge rian -> wet; did you mean 'rain'"):
        sdi.SDI(TINY, Knowledge(required=[("rian", "wet")])).fit(table_of(), environment="day")


def test_environment_must_be_given() -> None:
    with pytest.raises(TypeError, match="environment"):
        sdi.SDI(TINY).fit(table_of())  # type: ignore[call-arg]
