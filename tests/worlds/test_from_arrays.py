"""Arrays and masks become the dataset that a table with the same rows becomes."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sdi
from sdi.worlds.dataset import Dataset
from sdi.worlds.from_table import dataset_from_table

ROWS = np.random.default_rng(0).integers(3, size=(80, 3))
PARTS = np.split(ROWS, 4)
MASKS = np.repeat([[0, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]], 20, axis=0)


def assert_same(one: Dataset, other: Dataset) -> None:
    assert (one.names, one.states) == (other.names, other.states)
    np.testing.assert_array_equal(one.observational, other.observational)
    assert [environment.target for environment in one.environments] == [e.target for e in other.environments]
    for ours, theirs in zip(one.environments, other.environments, strict=True):
        np.testing.assert_array_equal(ours.rows, theirs.rows)


@pytest.fixture
def oracle() -> Dataset:
    frame = pd.DataFrame(ROWS, columns=["X1", "X2", "X3"])
    labels = ["o"] * 20 + ["a"] * 20 + ["b"] * 20 + ["o"] * 20
    return dataset_from_table(frame, labels, observational="o", targets={"a": "X1", "b": ["X2", "X3"]})


@pytest.mark.parametrize("targets", [[[], [0], [1, 2], []], [(), ["X1"], ["X3", "X2"], ()], [[], [0], ["X3", 1], []]])
def test_arrays_with_targets_are_environments(oracle: Dataset, targets: Any) -> None:
    made = sdi.dataset_from_arrays(PARTS, targets)
    assert_same(made, oracle)
    assert [environment.name for environment in made.environments] == ["e2", "e3"]


def test_target_that_is_unknown_stays_so() -> None:
    made = sdi.dataset_from_arrays(PARTS, [[], None, [2], None], names=["a", "b", "c"])
    assert made.names == ("a", "b", "c")
    assert [environment.target for environment in made.environments] == [None, (2,), None]


@pytest.mark.parametrize("kind", [bool, int, float])
def test_rows_with_the_same_mask_are_an_environment(oracle: Dataset, kind: type) -> None:
    assert_same(sdi.dataset_from_masks(ROWS, MASKS.astype(kind)), oracle)
    assert_same(sdi.dataset_from_masks(pd.DataFrame(ROWS, columns=["X1", "X2", "X3"]), MASKS.astype(kind)), oracle)


def test_masks_tell_the_targets_of_environments_that_are_given() -> None:
    labels = np.repeat([7, 8, 9, 5], 20).tolist()
    made = sdi.dataset_from_masks(ROWS, MASKS, environment=labels)
    assert [(e.name, e.target) for e in made.environments] == [("8", (0,)), ("9", (1, 2))]
    assert len(made.observational) == 40


def test_numbers_in_arrays_are_cut_as_in_tables() -> None:
    parts = [part + 0.25 for part in PARTS]
    made = sdi.dataset_from_arrays(parts, [[], [0], [1, 2], []], bins=2)
    assert made.cardinalities == (2, 2, 2)
    assert_same(sdi.dataset_from_masks(ROWS + 0.25, MASKS, bins=2), made)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((PARTS, [[]]), "expected the targets of every array, got 4 arrays and 1 targets"),
        (([], []), "got 0 arrays and 0 targets"),
        ((PARTS, [[], [0], [1], [3]]), "array 3: expected targets from 0 to 2, got 3; they count from 0"),
        ((PARTS, [[], [0], [1], [-1]]), "array 3: expected targets from 0 to 2, got -1"),
        ((PARTS, [[], [0], [1], ["X4"]]), "unknown target of 'e4': variable 'X4'; found: X1, X2, X3"),
        (([ROWS, ROWS[:, :2]], [[], [0]]), "expected arrays with a column for every variable, got 2 and 3 columns"),
        (([ROWS[:, 0]], [[]]), "array 0: expected rows and columns, got an array of shape (80,)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        sdi.dataset_from_arrays(*arguments)


@pytest.mark.parametrize(
    ("masks", "options", "message"),
    [
        (MASKS[:, :2], {}, "expected a mask for every row and column, (80, 3), got an array of (80, 2)"),
        (MASKS * 2, {}, "expected masks of true and false, or 1 and 0; got other values"),
        (MASKS, {"names": ["a"]}, "rows: expected a name for each of 3 columns, got 1"),
        (MASKS, {"environment": [1] * 80}, "environment '1' has rows with different targets"),
    ],
)
def test_masks_that_do_not_fit_are_refused(masks: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        sdi.dataset_from_masks(ROWS, masks, **options)
