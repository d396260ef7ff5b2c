"""Datasets: frozen from a simulated world, read from a table, and every reason why a table is refused."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdi.worlds.dataset import OBSERVATIONAL, Dataset, FiniteEnvironment, freeze
from sdi.worlds.from_table import dataset_from_table
from sdi.worlds.named import named_world
from sdi.worlds.simulated import Interventions


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def world_of(name: str = "asia", **how: Any) -> Any:
    return named_world(name, rng=generator(), temperature=2, interventions=Interventions(**how))


# -------------------------------------------------------------------------------------------------- freeze


def test_frozen_world_has_the_rows_and_environments_asked_for() -> None:
    dataset, targets = freeze(world_of(), observational=300, environments=11, rows=70, rng=generator())
    assert len(dataset.observational) == 300
    assert [len(environment.rows) for environment in dataset.environments] == [70] * 11
    assert [environment.name for environment in dataset.environments] == [f"e{k}" for k in range(1, 12)]
    assert len(targets) == 11


@pytest.mark.parametrize(
    ("environments", "at_once"), [(1, 1), (7, 1), (8, 1), (16, 1), (20, 1), (4, 2), (10, 3), (9, 5), (3, 8)]
)
def test_frozen_targets_touch_every_variable_as_often_as_any_other(environments: int, at_once: int) -> None:
    """Give or take one, whatever the seed."""
    for seed in range(20):
        world = world_of(at_once=at_once)
        _, targets = freeze(world, observational=10, environments=environments, rows=10, rng=generator(seed))
        assert all(len(set(target)) == at_once for target in targets)
        counts = np.bincount(np.concatenate(targets), minlength=8)
        assert counts.max() - counts.min() <= 1


def test_frozen_targets_come_in_no_fixed_order() -> None:
    orders = {
        freeze(world_of(), observational=10, environments=8, rows=10, rng=generator(seed)).targets for seed in range(20)
    }
    assert len(orders) > 15


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (0.25, 3), (0.5, 6), (1.0, 12)])
def test_frozen_share_of_environments_is_untouched(share: float, expected: int) -> None:
    world = world_of(untouched=share)
    _, targets = freeze(world, observational=10, environments=12, rows=10, rng=generator())
    assert sum(target == () for target in targets) == expected


def test_frozen_target_is_what_was_really_changed() -> None:
    """A pinned variable is constant in its environment, and no other is in any (each takes both values often)."""
    world = named_world("chain5", rng=generator(3), interventions=Interventions(kind="pinned", at_once=2))
    dataset, targets = freeze(world, observational=10, environments=10, rows=2000, rng=generator())
    for environment, target in zip(dataset.environments, targets, strict=True):
        constant = np.flatnonzero((environment.rows == environment.rows[0]).all(axis=0))
        assert tuple(constant.tolist()) == target


@pytest.mark.parametrize("known", [False, True])
def test_frozen_targets_are_declared_only_where_known(known: bool) -> None:
    dataset, targets = freeze(world_of(known=known), observational=10, environments=9, rows=10, rng=generator())
    assert [environment.target for environment in dataset.environments] == [t if known else None for t in targets]


def test_frozen_environments_are_limited_like_those_they_come_from() -> None:
    dataset, _ = freeze(world_of(limit=20), observational=50, environments=3, rows=70, rng=generator())
    assert [len(environment.rows) for environment in dataset.environments] == [20] * 3
    assert len(dataset.observational) == 50


def test_same_seed_freezes_the_same_dataset() -> None:
    first, again, other = (
        freeze(world_of(), observational=50, environments=4, rows=20, rng=generator(seed)) for seed in (1, 1, 2)
    )
    assert first.targets == again.targets
    assert first.dataset.frame().equals(again.dataset.frame())
    assert not first.dataset.frame().equals(other.dataset.frame())


def test_dataset_without_environments_can_be_looked_at_but_not_intervened_upon() -> None:
    dataset, targets = freeze(world_of(), observational=50, environments=0, rows=20, rng=generator())
    assert targets == ()
    assert len(dataset.observe(50, generator())) == 50
    with pytest.raises(ValueError, match="this dataset has observational rows only: no environment to learn from"):
        dataset.intervene(generator())


@pytest.mark.parametrize(("observational", "rows"), [(0, 10), (10, 0), (-5, 10)])
def test_freezing_no_rows_is_an_error(observational: int, rows: int) -> None:
    with pytest.raises(ValueError, match="expected a number of rows, at least 1"):
        freeze(world_of(), observational=observational, environments=2, rows=rows, rng=generator())


def test_rows_are_drawn_from_a_dataset_without_replacement() -> None:
    codes = np.stack(np.unravel_index(np.arange(100), (10, 10)), axis=1)
    states = (tuple("abcdefghij"),) * 2
    dataset = Dataset(("A", "B"), states, codes, (FiniteEnvironment("e", codes[:50]),))
    some = dataset.observe(80, generator())
    assert len({tuple(row) for row in some.tolist()}) == 80
    assert sorted(dataset.observe(1000, generator()).tolist()) == codes.tolist()
    assert sorted(dataset.environments[0].observe(50, generator()).tolist()) == codes[:50].tolist()


# --------------------------------------------------------------------------------------------- the round trip


def codes_by_name(dataset: Dataset) -> dict[str, list[list[str]]]:
    parts = {OBSERVATIONAL: dataset.observational} | {e.name: e.rows for e in dataset.environments}
    return {
        name: [[dataset.states[j][code] for j, code in enumerate(row)] for row in rows.tolist()]
        for name, rows in parts.items()
    }


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("name", ["asia", "survey", "jungle8"])
def test_frame_makes_the_round_trip(name: str, text: bool) -> None:
    dataset, _ = freeze(world_of(name), observational=400, environments=12, rows=60, rng=generator())
    frame = dataset.frame()
    again = dataset_from_table(frame.astype(str) if text else frame, "environment")
    assert again.names == dataset.names
    assert [e.name for e in again.environments] == [e.name for e in dataset.environments]
    assert codes_by_name(again) == codes_by_name(dataset)
    if not text:  # categories keep their order, which plain text cannot tell
        assert again.states == dataset.states
        assert again.observational.dtype == dataset.observational.dtype
        assert (again.observational == dataset.observational).all()


def test_frame_has_category_names_and_the_environment() -> None:
    dataset, _ = freeze(world_of(), observational=40, environments=2, rows=30, rng=generator())
    frame = dataset.frame("where")
    assert list(frame.columns) == [*dataset.names, "where"]
    assert frame["where"].tolist() == ["observational"] * 40 + ["e1"] * 30 + ["e2"] * 30
    assert set(frame["smoke"].unique()) == {"yes", "no"}
    assert frame["smoke"].iloc[0] == dataset.states[2][dataset.observational[0, 2]]


def test_frame_refuses_an_environment_column_that_is_a_variable() -> None:
    dataset, _ = freeze(world_of(), observational=40, environments=2, rows=30, rng=generator())
    with pytest.raises(ValueError, match="'smoke' is a variable; name the environment column differently"):
        dataset.frame("smoke")


def test_frame_refuses_two_meanings_of_observational() -> None:
    dataset = dataset_from_table(table(), "environment", observational="e1")
    with pytest.raises(ValueError, match="an environment that was not left alone is called 'observational'; rename it"):
        dataset.frame()


# ---------------------------------------------------------------------------------------------- from a table


def table(**columns: Any) -> pd.DataFrame:
    """60 rows: 20 left alone, 20 of e1 and 20 of e2; A and B have two values each."""
    rng = generator(1)
    plain = {"A": rng.integers(2, size=60), "B": np.tile(["x", "y"], 30)}
    return pd.DataFrame({**plain, "environment": np.repeat(["observational", "e1", "e2"], 20), **columns})


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (None, [None, None]),
        ({}, [None, None]),
        ({"e1": "A", "e2": "B"}, [(0,), (1,)]),
        ({"e1": "B"}, [(1,), None]),
        ({"e1": ["B", "A"], "e2": None}, [(0, 1), None]),
        ({"e1": (), "e2": ["A"]}, [(), (0,)]),
    ],
)
def test_targets_may_be_known_unknown_or_mixed(targets: Any, expected: list[Any]) -> None:
    dataset = dataset_from_table(table(), "environment", targets=targets)
    assert [environment.target for environment in dataset.environments] == expected


@pytest.mark.parametrize(
    ("observational", "left_alone", "others"),
    [
        ("observational", 20, ["e1", "e2"]),
        ("e1", 20, ["observational", "e2"]),
        (["observational", "e2"], 40, ["e1"]),
        (("e1", "e2", "observational"), 60, []),
    ],
)
def test_any_environment_may_be_the_observational_one(observational: Any, left_alone: int, others: list[str]) -> None:
    dataset = dataset_from_table(table(), "environment", observational=observational)
    assert len(dataset.observational) == left_alone
    assert [environment.name for environment in dataset.environments] == others


def test_naming_an_observational_environment_twice_counts_its_rows_once() -> None:
    assert len(dataset_from_table(table(), "environment", observational=["e1", "e1"]).observational) == 20


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Categorical])
def test_environment_may_be_given_apart_from_the_table(kind: Any) -> None:
    frame = table().sample(frac=1, random_state=1)  # the index is out of order, and means nothing
    apart = dataset_from_table(frame.drop(columns="environment"), kind(frame["environment"].tolist()))
    assert codes_by_name(apart) == codes_by_name(dataset_from_table(frame, "environment"))


def test_environment_labels_may_be_numbers() -> None:
    labels = np.repeat([0, 1, 2], 20)
    dataset = dataset_from_table(table(environment=labels), "environment", observational="0", targets={"2": "A"})
    assert [(e.name, e.target) for e in dataset.environments] == [("1", None), ("2", (0,))]


@pytest.mark.parametrize(
    ("column", "states"),
    [
        (np.tile([3, 1, 2], 20), ("1", "2", "3")),
        (np.tile([2.0, 10.0], 30), ("2", "10")),
        (np.tile([True, False], 30), ("False", "True")),
        (np.tile(["b", "a"], 30), ("a", "b")),
        (np.array(["b", "a"] * 30, dtype=object), ("a", "b")),
        (pd.Categorical(["low", "high"] * 30, ["low", "middle", "high"]), ("low", "high")),
        (np.arange(60) // 2, tuple(str(k) for k in range(30))),
    ],
)
def test_columns_of_any_kind_become_categories_in_their_order(column: Any, states: tuple[str, ...]) -> None:
    dataset = dataset_from_table(table(C=column), "environment")
    assert dataset.names == ("A", "B", "C")
    assert dataset.states[2] == states
    values = [dataset.states[2][code] for code in np.concatenate([dataset.observational[:, 2]])]
    assert values == [str(int(v)) if isinstance(v, float) else str(v) for v in np.asarray(column)[:20].tolist()]


def test_more_categories_than_a_byte_holds_are_kept_apart() -> None:
    frame = pd.DataFrame({"A": np.tile(np.arange(300), 4), "B": np.arange(1200) % 2})
    dataset = dataset_from_table(frame, ["observational"] * 600 + ["e1"] * 600)
    assert dataset.cardinalities == (300, 2)
    assert dataset.observational[:300, 0].tolist() == list(range(300))


TOO_FEW = "environment 'e9' has too few rows: 9, at least 10 are needed; merge or drop it"


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({}, {"environment": "envronment"}, "unknown environment column 'envronment'; did you mean 'environment'?"),
        ({}, {"environment": ["e1"] * 59}, "got 59 environment labels for 60 rows; give one for each row"),
        ({}, {"observational": "control"}, "unknown observational environment 'control'; found: observational, e1, e2"),
        ({}, {"observational": "observatinal"}, "did you mean 'observational'?"),
        ({}, {"observational": "control"}, "say which environments were left alone"),
        ({}, {"observational": ()}, "no observational rows; name at least one environment that was left alone"),
        (
            {},
            {"targets": {"e3": "A"}},
            "unknown environment 'e3'; found: observational, e1, e2; correct it in the targets",
        ),
        ({}, {"targets": {"e1": "C"}}, "unknown target of 'e1': variable 'C'; found: A, B"),
        ({}, {"targets": {"e1": ["A", "environment"]}}, "unknown target of 'e1': variable 'environment'"),
        (
            {},
            {"targets": {"observational": "A"}},
            "'observational' was left alone and has the target A; it can be one of the two only",
        ),
        ({"environment": ["observational"] * 51 + ["e9"] * 9}, {}, TOO_FEW),
        ({"environment": ["observational"] * 9 + ["e1"] * 51}, {}, "environment 'observational' has too few rows: 9"),
        ({"environment": [None] * 3 + ["observational"] * 57}, {}, "the environment is missing in 3 rows"),
        ({"C": [None, np.nan] + [1.0] * 58}, {}, "column 'C' holds 2 missing values; drop or fill them first"),
        ({"C": [None] * 60}, {}, "column 'C' holds 60 missing values"),
        ({"C": ["same"] * 60}, {}, "column 'C' holds one value only ('same'); drop it"),
        ({"C": [0.5, 1.0] * 30}, {}, "column 'C' holds fractions; cut it into categories first, with bins"),
        ({"C": [np.inf, 1.0] * 30}, {}, "column 'C' holds 30 infinities; replace them"),
        ({"C": range(60)}, {}, "column 'C' has a different value in every row; it looks like an identifier: drop it"),
    ],
)
def test_table_is_refused_for_a_reason(columns: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        dataset_from_table(table(**columns), **{"environment": "environment", **options})


def test_every_problem_is_listed_at_once() -> None:
    with pytest.raises(ValueError, match=r"'C' holds 60 missing.*; column 'D' holds one value") as caught:
        dataset_from_table(table(C=[None] * 60, D=[1] * 60), "environment")
    assert str(caught.value).count(";") == 3
    with pytest.raises(ValueError, match=r"'control'.*'e7'.*'Z'"):
        dataset_from_table(table(), "environment", observational="control", targets={"e7": "A", "e1": "Z"})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame(np.eye(20), columns=["A"] * 20), "column 'A' occurs more than once; rename or drop one of them"),
        (pd.DataFrame({"A": [0, 1] * 10}), "expected at least 2 variables, got 1; every column but the environment"),
        (pd.DataFrame({1: [0, 1] * 10, "1": [0, 1] * 10}), "column '1' occurs more than once"),
        (pd.DataFrame(index=range(20)), "expected at least 2 variables, got 0"),
    ],
)
def test_columns_must_be_different_variables(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        dataset_from_table(frame, ["observational"] * 20)


def test_empty_table_is_refused() -> None:
    with pytest.raises(ValueError, match="expected rows, got an empty table"):
        dataset_from_table(table().iloc[:0], "environment")


# ----------------------------------------------------------------------------------------- a dataset by hand


CODES = np.array([[0, 1], [1, 2]] * 5)


@pytest.mark.parametrize(
    ("observational", "environments", "message"),
    [
        (CODES[:0], (), "no observational rows: at least one environment must be the system left alone"),
        (CODES[:, :1], (), "observational: expected rows of 2 columns, got an array of (10, 1)"),
        (CODES[:, 0], (), "observational: expected rows of 2 columns, got an array of (10,)"),
        (CODES + 1, (), "observational: a code lies outside 0 .. cardinality - 1 of its variable"),
        (CODES - 1, (), "observational: a code lies outside"),
        (CODES, (FiniteEnvironment("e1", CODES[:, :1]),), "e1: expected rows of 2 columns, got an array of (10, 1)"),
        (CODES, (FiniteEnvironment("e1", 3 * CODES),), "e1: a code lies outside 0 .. cardinality - 1"),
        (CODES, (FiniteEnvironment("e1", CODES[:0]),), "e1: no rows"),
        (CODES, (FiniteEnvironment("e1", CODES, (2,)),), "environment 'e1': target (2,) is no variable"),
        (CODES, (FiniteEnvironment("e1", CODES, (-1,)),), "environment 'e1': target (-1,) is no variable"),
        (CODES, (FiniteEnvironment("e1", CODES),) * 2, "environment 'e1' occurs more than once"),
    ],
)
def test_dataset_by_hand_is_checked(observational: Any, environments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Dataset(("A", "B"), (("no", "yes"), ("low", "middle", "high")), observational, environments)
