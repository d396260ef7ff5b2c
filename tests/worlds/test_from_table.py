"""From a table to a dataset: bins, missing values, columns, targets in rows, and what is said about each."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdi.worlds.dataset import Dataset
from sdi.worlds.findings import Finding
from sdi.worlds.from_table import dataset_from_table, inspect_table

ENVIRONMENT = np.repeat(["observational", "e1", "e2"], 100)


def table(**columns: Any) -> pd.DataFrame:
    """300 rows, 100 in each of three environments; A and B have two values each."""
    rng = np.random.default_rng(1)
    plain = {"A": rng.integers(2, size=300), "B": np.tile(["x", "y"], 150)}
    return pd.DataFrame({**plain, **columns, "environment": ENVIRONMENT})


def findings(**options: Any) -> list[Finding]:
    columns = {name: options.pop(name) for name in list(options) if name.isupper()}
    return list(inspect_table(table(**columns), "environment", **options).findings)


def column_of(dataset: Dataset, name: str) -> list[str]:
    """The states of a variable over all rows, those left alone first."""
    j = dataset.names.index(name)
    rows = np.concatenate([dataset.observational, *(e.rows for e in dataset.environments)])
    return [dataset.states[j][code] for code in rows[:, j]]


# ----------------------------------------------------------------------------------------------------- bins


def test_numbers_are_cut_over_all_rows_together() -> None:
    values = np.arange(300) + 0.5  # each environment lies in a bin of its own
    dataset = dataset_from_table(table(C=values), "environment", bins=3)
    assert dataset.states[2] == ("<100", "100..200", ">=200")
    assert column_of(dataset, "C") == ["<100"] * 100 + ["100..200"] * 100 + [">=200"] * 100


def test_rule_for_all_is_for_numbers_that_are_more_than_the_bins() -> None:
    columns = {"C": np.tile([0.5, 1, 2], 100), "D": np.arange(300), "E": np.tile([True, False], 150)}
    dataset = dataset_from_table(table(**columns), "environment", bins=3)
    assert dict(zip(dataset.names, dataset.states, strict=True)) == {
        "A": ("0", "1"),
        "B": ("x", "y"),
        "C": ("0.5", "1", "2"),
        "D": ("<100", "100..200", ">=200"),
        "E": ("False", "True"),
    }


def test_columns_may_have_rules_of_their_own() -> None:
    numbers = np.geomspace(1, 1000, 300)
    frame = table(C=numbers, D=numbers, E=np.tile(np.arange(6), 50))
    dataset = dataset_from_table(frame, "environment", bins=["2", "C=3:uniform:log", "E=none"])
    assert dataset.cardinalities[2:] == (3, 2, 6)
    assert [column_of(dataset, "C").count(state) for state in dataset.states[2]] == [100, 100, 100]


def test_logarithm_changes_no_quantile() -> None:
    numbers = np.random.default_rng(0).lognormal(size=300)
    plain, scaled = (dataset_from_table(table(C=numbers), "environment", bins=rule) for rule in ("3", "3:log"))
    assert column_of(plain, "C") == column_of(scaled, "C")


# ------------------------------------------------------------------------------------------- missing values

HOLES = [None, *["x", "y"] * 149, None]


def test_missing_values_are_refused_with_their_number() -> None:
    with pytest.raises(
        ValueError, match=r"^column 'C' holds 2 missing values; drop or fill them first, or set missing"
    ):
        dataset_from_table(table(C=HOLES), "environment")


def test_rows_with_missing_values_can_be_dropped() -> None:
    inspection = inspect_table(table(C=HOLES), "environment", missing="drop")
    dataset = inspection.dataset()
    assert (inspection.rows, inspection.dropped) == (298, 2)
    assert inspection.columns[2].missing == 2
    assert len(dataset.observational) == 99
    assert [len(environment.rows) for environment in dataset.environments] == [100, 99]
    assert column_of(dataset, "C") == HOLES[1:-1]


def test_missing_values_can_be_a_category() -> None:
    dataset = dataset_from_table(table(C=HOLES, D=[np.nan, *range(299)]), "environment", missing="category", bins=2)
    assert dataset.states[2] == ("x", "y", "(missing)")
    assert column_of(dataset, "C") == [value or "(missing)" for value in HOLES]
    assert dataset.states[3] == ("<149", ">=149", "(missing)")
    assert column_of(dataset, "D")[:2] == ["(missing)", "<149"]


def test_rows_without_environment_are_dropped_with_the_others() -> None:
    frame = table()
    frame["environment"] = [None, *ENVIRONMENT[1:]]
    assert len(dataset_from_table(frame, "environment", missing="drop").observational) == 99
    for way in ("refuse", "category"):
        with pytest.raises(ValueError, match="the environment is missing in 1 rows; fill them in or drop the rows"):
            dataset_from_table(frame, "environment", missing=way)  # type: ignore[arg-type]


def test_environment_that_lost_all_its_rows_is_none_any_more() -> None:
    frame = table(C=[*["x", "y"] * 50, *[None] * 100, *["x", "y"] * 50])
    assert [e.name for e in dataset_from_table(frame, "environment", missing="drop").environments] == ["e2"]


# --------------------------------------------------------------------------------------------------- columns


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"drop": "C"}, ("A", "B", "D,E")),
        ({"drop": ["C", "A"]}, ("B", "D,E")),
        ({"drop": "A, C"}, ("B", "D,E")),
        ({"drop": "D,E"}, ("A", "B", "C")),
        ({"keep": "B,A"}, ("A", "B")),
        ({"keep": ["D,E", "A"]}, ("A", "D,E")),
        ({"keep": "A,B,C", "drop": "B"}, ("A", "C")),
    ],
)
def test_columns_are_chosen_by_name(options: Any, names: tuple[str, ...]) -> None:
    frame = table(**{"C": np.tile([1, 2], 150), "D,E": np.tile([1, 2, 3], 100)})
    assert dataset_from_table(frame, "environment", **options).names == names


def test_dropped_column_may_hold_anything() -> None:
    assert dataset_from_table(table(C=range(300), D=[None] * 300), "environment", drop="C,D").names == ("A", "B")


@pytest.mark.parametrize(
    ("column", "states"),
    [
        (pd.array([2, 1, None] * 100, dtype="Int64"), ("1", "2", "(missing)")),
        (pd.array([True, False, None] * 100, dtype="boolean"), ("False", "True", "(missing)")),
        (pd.array(["b", "a", None] * 100, dtype="string"), ("a", "b", "(missing)")),
        (pd.Categorical(["b", "a", None] * 100, ["b", "a"]), ("b", "a", "(missing)")),
        (np.array([True, False, None] * 100, dtype=object), ("False", "True", "(missing)")),
        (pd.to_datetime(["2020-01-02", "2020-01-01", None] * 100).date, ("2020-01-01", "2020-01-02", "(missing)")),
        (np.array([2**60, 2**60 + 1] * 150), (str(2**60), str(2**60 + 1))),
        (pd.Series([(1, 2), (3, 4)] * 150), ("(1, 2)", "(3, 4)")),
    ],
)
def test_columns_of_every_type_are_categories(column: Any, states: tuple[str, ...]) -> None:
    assert dataset_from_table(table(C=column), "environment", missing="category").states[2] == states


# ------------------------------------------------------------------------------------------ targets in rows


@pytest.mark.parametrize(
    ("cells", "base", "targets"),
    [
        (np.repeat([0, 2, 1], 100), 1, {"do(B)": (1,), "do(A)": (0,)}),
        (np.repeat([0.0, 2.0, 1.0], 100), "1", {"do(B)": (1,), "do(A)": (0,)}),
        (np.repeat(["0", "2", "1,2"], 100), 1, {"do(B)": (1,), "do(A, B)": (0, 1)}),
        (np.repeat(["", "1", "0;1"], 100), 0, {"do(B)": (1,), "do(A, B)": (0, 1)}),
        (np.repeat([np.nan, 1, 0], 100), "0", {"do(B)": (1,), "do(A)": (0,)}),
        (np.repeat(["", "B", "B, A"], 100), "names", {"do(B)": (1,), "do(A, B)": (0, 1)}),
    ],
)
def test_target_column_alone_makes_the_environments(cells: Any, base: Any, targets: dict[str, Any]) -> None:
    """INT stands first and counts no variable itself."""
    frame = pd.concat([pd.Series(cells, name="INT"), table().drop(columns="environment")], axis="columns")
    dataset = dataset_from_table(frame, target_column="INT", target_base=base)
    assert dataset.names == ("A", "B")
    assert {environment.name: environment.target for environment in dataset.environments} == targets
    assert len(dataset.observational) == 100


def test_target_column_counts_columns_that_are_dropped() -> None:
    frame = table(C=np.tile([1, 2, 3], 100), INT=np.repeat([0, 3, 3], 100)).drop(columns="environment")
    dataset = dataset_from_table(frame, target_column="INT", target_base=1, drop="A")
    assert [(e.name, e.target) for e in dataset.environments] == [("do(C)", (1,))]


def test_target_column_tells_the_targets_of_environments() -> None:
    frame = table(INT=np.repeat(["", "A", ""], 100)).replace({"environment": {"observational": "plain"}})
    dataset = dataset_from_table(frame, "environment", target_column="INT", target_base="names")
    assert [(e.name, e.target) for e in dataset.environments] == [("e1", (0,))]
    assert len(dataset.observational) == 200
    one = dataset_from_table(
        frame, "environment", observational="plain", target_column="INT", target_base="names", targets={"e1": "A"}
    )
    assert [(e.name, e.target) for e in one.environments] == [("e1", (0,)), ("e2", ())]


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        ([1] * 300, {}, "expected the base of the target column, one of 0, 1, names, got None"),
        ([1] * 300, {"target_base": 2}, "one of 0, 1, names, got 2"),
        ([3] * 300, {"target_base": 1}, "expected targets from 1 (A) to 2 (B), counted in the order of the columns"),
        ([2] * 300, {"target_base": 0}, "expected targets from 0 (A) to 1 (B), counted"),
        ([-1] * 300, {"target_base": 0}, "and an empty cell where nothing was touched; got '-1': check the base"),
        ([0.5] * 300, {"target_base": 0}, "got '0.5'"),
        ([None] * 300, {"target_base": 1}, "with base 1 expected 0 where nothing was touched; fill it in"),
        (["Bb"] * 300, {"target_base": "names"}, "unknown target 'Bb'; did you mean 'B'?"),
        ([1, 2] * 150, {"target_base": 1, "environment": "environment"}, "has rows with different targets (A and B)"),
        (
            np.repeat([0, 1, 2], 100),
            {"target_base": 1, "environment": "environment", "targets": {"e1": "B"}},
            "environment 'e1': expected the target of its rows (A), got B; give the target once",
        ),
        ([1] * 300, {"target_base": 1, "target_column": "ITN"}, "unknown target column 'ITN'; did you mean 'INT'?"),
        ([1] * 300, {"target_column": None}, "which column names the environment of a row? found: A, B, INT"),
    ],
)
def test_targets_that_cannot_be_are_refused(cells: Any, options: dict[str, Any], message: str) -> None:
    frame = table(INT=cells)
    if "environment" not in options:
        frame = frame.drop(columns="environment")
    with pytest.raises(ValueError, match=re.escape(message)):
        dataset_from_table(frame, **{"target_column": "INT", **options})


# -------------------------------------------------------------------------------------------------- findings

WORDS = [f"word {k}" for k in range(300)]
NUMBERS = [f"{k},5" for k in range(60)] * 5


@pytest.mark.parametrize(
    ("options", "severity", "text"),
    [
        ({"C": [0.5, 1] * 150}, "error", "column 'C' holds fractions; cut it into categories first, with bins"),
        (
            {"C": [0.5, 1] * 150, "D": [0.5, 1] * 150},
            "error",
            "2 columns hold fractions ('C', 'D'); cut them into categories first, with bins",
        ),
        ({"C": [np.inf, *range(299)], "bins": 3}, "error", "column 'C' holds 1 infinities; replace them or drop"),
        (
            {"C": np.arange(300.0), "bins": "3:uniform:log"},
            "error",
            "'C' holds 1 values of zero or less; cut it without",
        ),
        ({"C": range(300)}, "error", "a different value in every row; it looks like an identifier: drop it, or cut it"),
        ({"C": WORDS}, "error", "column 'C' has a different value in every row; it looks like an identifier: drop it"),
        (
            {
                "C": ["a", *WORDS[1:-1], "a"],
            },
            "error",
            "column 'C' has 299 different values in 300 rows; it looks",
        ),
        ({"C": NUMBERS}, "error", "column 'C' holds numbers as text, such as '0,5'; save them as numbers"),
        (
            {"C": ["n/a", *NUMBERS[1:]]},
            "error",
            "column 'C' mixes numbers and text: 60 different numbers, and 'n/a'; correct such cells",
        ),
        ({"C": [1, "1", "a"] * 100}, "error", "column 'C' mixes types: numbers and text; make all its values of one"),
        ({"C": [1.5, "a"] * 150}, "error", "column 'C' mixes types: numbers and text"),
        ({"C": pd.Categorical([1, "1"] * 150)}, "error", "column 'C' mixes types: several values that are written '1'"),
        ({"C": pd.Series([[1], [2]] * 150)}, "error", "column 'C' mixes types: lists; make all its values of one type"),
        ({"C": [None] * 300, "missing": "category"}, "error", "column 'C' holds nothing but missing values; drop it"),
        ({"C": [None] * 300, "missing": "drop"}, "error", "every row has a missing value; drop the columns that miss"),
        ({"C": ["s"] * 300}, "error", "column 'C' holds one value only ('s'); drop it"),
        ({"bins": {"B": 3}}, "error", "column 'B' holds text, which cannot be cut into bins; leave it out of bins"),
        ({"C": WORDS[:60] * 5}, "warning", "column 'C' has 60 categories; merge rare ones, or expect little certainty"),
        ({"C": [*range(60)] * 5}, "warning", "column 'C' has 60 categories; merge rare ones, or cut it with bins, or"),
        (
            {"C": [0] * 280 + [*range(1, 21)], "bins": 3},
            "warning",
            "column 'C' repeats some numbers so often that 3 bins are too many; cut into 2 quantile bins at 0.5",
        ),
        (
            {"C": [*range(299), 10**6], "bins": "3:uniform"},
            "warning",
            "'C' leaves so wide gaps between its numbers that",
        ),
        ({"C": [None] * 200 + ["x", "y"] * 50, "missing": "drop"}, "warning", "200 missing values; their rows are"),
        ({"C": range(300), "bins": 3}, "note", "column 'C' holds 300 different numbers; cut into 3 quantile bins at"),
        ({"bins": 3}, "note", "column 'A' holds 2 different numbers; they stay categories, since 3 bins would hold no"),
        ({"C": HOLES, "missing": "drop"}, "note", "column 'C' holds 2 missing values; their rows are dropped"),
        ({"C": HOLES, "missing": "category"}, "note", "'C' holds 2 missing values; they are a category of their own"),
        ({"observational": "e11"}, "error", "unknown observational environment 'e11'; did you mean 'e1'? found: "),
    ],
)
def test_finding_has_its_severity_and_its_remedy(options: dict[str, Any], severity: str, text: str) -> None:
    found = findings(**options)
    assert [finding.severity for finding in found if text in str(finding)] == [severity], found


def test_column_of_ten_thousand_categories_is_refused() -> None:
    frame = pd.DataFrame({"A": np.tile([0, 1], 20_000), "C": [f"c{k % 10_000}" for k in range(40_000)]})
    with pytest.raises(ValueError, match=r"^column 'C' has 10000 categories, and 1000 are the most; drop it or merge"):
        dataset_from_table(frame, ["observational"] * 40_000)


@pytest.mark.parametrize(("sizes", "severity"), [((200, 1), "error"), ((200, 9), "error"), ((200, 49), "warning")])
def test_small_environment_is_found(sizes: tuple[int, int], severity: str) -> None:
    labels = np.repeat(["observational", "e"], sizes)
    found = inspect_table(table()[["A", "B"]].iloc[: sum(sizes)], labels.tolist()).findings
    assert [(finding.severity, "environment 'e' has" in finding.what) for finding in found] == [(severity, True)]


def test_many_small_environments_are_told_in_a_few_lines() -> None:
    found = inspect_table(table()[["A", "B"]], [k % 60 for k in range(300)], observational="0").findings
    assert len(found) == 6
    assert str(found[-1]).startswith("55 more environments have too few rows; is this the column")


def test_good_table_has_nothing_to_say() -> None:
    assert findings() == []


def test_errors_found_are_the_words_of_the_refusal() -> None:
    frame = table(C=[0.5, 1] * 150, D=[None] * 300)
    inspection = inspect_table(frame, "environment", observational="none")
    errors = "; ".join(str(finding) for finding in inspection.findings)
    assert len(inspection.findings) == 3
    with pytest.raises(ValueError, match=f"^{re.escape(errors)}$"):
        dataset_from_table(frame, "environment", observational="none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": "Bb"}, "unknown column to drop 'Bb'; did you mean 'B'? found: A, B"),
        ({"keep": ["A", "environment"]}, "unknown column to keep 'environment'; found: A, B"),
        ({"bins": {"C": 3}}, "unknown column in bins 'C'; found: A, B"),
        ({"bins": "x"}, "bins: expected N"),
        ({"keep": "A"}, "expected at least 2 variables, got 1"),
        ({"missing": "fill"}, "unknown way with missing values 'fill'; choose from refuse, drop, category"),
    ],
)
def test_option_that_makes_no_sense_is_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        dataset_from_table(table(), "environment", **options)


def test_table_is_left_as_it_was() -> None:
    frame = table(C=[np.nan, *range(299)])
    before = frame.copy(deep=True)
    dataset_from_table(frame, "environment", bins=3, missing="drop", drop="A")
    pd.testing.assert_frame_equal(frame, before)
