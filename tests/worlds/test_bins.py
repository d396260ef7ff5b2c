"""Bins: the grammar of rules, and cuts that are what they say."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdi.worlds.bins import Bins, Rule, bins_from, edges_of, labels_of


@pytest.mark.parametrize(
    ("text", "bins"),
    [
        (None, Bins()),
        (3, Bins(Rule(3))),
        ("3", Bins(Rule(3))),
        ("3:quantile", Bins(Rule(3, "quantile"))),
        ("4:uniform", Bins(Rule(4, "uniform"))),
        ("4:uniform:log", Bins(Rule(4, "uniform", True))),
        ("4:log:uniform", Bins(Rule(4, "uniform", True))),
        ("none", Bins()),
        (["3", "PKC=4", "a=b=5:uniform", "x:y=2", "z=none"], None),
        ({"PKC": 4, "a=b": "5:uniform", "x:y": "2", "z": None}, None),
    ],
)
def test_rules_are_given_for_all_columns_or_by_name(text: Any, bins: Bins | None) -> None:
    named = {"PKC": Rule(4), "a=b": Rule(5, "uniform"), "x:y": Rule(2), "z": None}
    expected = bins or Bins(Rule(3) if isinstance(text, list) else None, named)
    assert bins_from(text) == expected


def test_rule_for_a_column_goes_before_that_for_all() -> None:
    bins = bins_from(["3", "PKC=4", "Raf=none"])
    assert [bins.rule(name) for name in ("PKC", "Raf", "Mek")] == [Rule(4), None, Rule(3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1", "with N from 2 to 256, such as 3 or 4:uniform:log, or none; got '1'"),
        ("257", "got '257'"),
        ("three", "got 'three'"),
        ("", "got ''"),
        ("PKC=", "got ''"),
        ("3.5", "got '3.5'"),
        ("-3", "got '-3'"),
        ("3:even", "got '3:even'"),
        ("3:log:log", "got '3:log:log'"),
        ("3:uniform:quantile", "got '3:uniform:quantile'"),
        ("none:log", "got 'none:log'"),
        (["3", "4"], "expected one rule for all columns, got two"),
        (["A=3", "A=4"], "expected one rule for column 'A', got two"),
    ],
)
def test_other_rules_are_refused(text: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        bins_from(text)


def cut(values: Any, rule: Rule) -> tuple[tuple[float, ...], list[int]]:
    """The edges, and how many values each bin holds."""
    ordered, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    edges = edges_of(ordered, counts, rule)
    return edges, np.bincount(np.searchsorted(edges, np.asarray(values), side="right")).tolist()


def test_quantile_bins_of_different_numbers_hold_as_many_rows_each() -> None:
    values = np.random.default_rng(0).lognormal(size=999)
    edges, sizes = cut(values, Rule(3))
    assert sizes == [333] * 3
    np.testing.assert_allclose(edges, np.quantile(values, [1 / 3, 2 / 3]), rtol=0.02)


def test_uniform_bins_are_those_of_pandas() -> None:
    values = np.random.default_rng(0).lognormal(size=999)
    for log in (False, True):
        oracle = pd.cut(np.log(values) if log else values, 4, labels=False)
        assert cut(values, Rule(4, "uniform", log))[1] == np.bincount(oracle).tolist()


@pytest.mark.parametrize(
    ("values", "rule", "edges", "sizes"),
    [
        ([0] * 90 + [1.5, 2.5, 3.5, 4, 5] * 2, Rule(3), (0.8,), [90, 10]),
        ([9] * 90 + [1.5, 2.5, 3.5, 4, 5] * 2, Rule(3), (7.0,), [10, 90]),
        ([1, 2, 3, 100], Rule(5, "uniform"), (20.0,), [3, 1]),
        ([1, 10, 100, 1000], Rule(4, "uniform"), (300.0,), [3, 1]),
        ([1, 10, 100, 1000], Rule(4, "uniform", True), (6.0, 30.0, 200.0), [1, 1, 1, 1]),
        ([-2, -1, 1, 2], Rule(2), (0.0,), [2, 2]),
    ],
)
def test_bin_that_would_be_empty_is_left_out(values: Any, rule: Rule, edges: Any, sizes: list[int]) -> None:
    assert cut(values, rule) == (edges, sizes)


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=40, unique=True),
    st.integers(2, 9),
    st.sampled_from(["quantile", "uniform"]),
)
def test_no_bin_is_empty_and_edges_rise(values: list[float], count: int, how: Any) -> None:
    edges, sizes = cut(values, Rule(count, how))
    assert 1 <= len(edges) < count
    assert all(sizes)
    assert list(edges) == sorted(set(edges))


def test_edge_has_no_more_digits_than_it_needs() -> None:
    values = np.array([1.23456, 1.34567, 7.654321, 7.7654321])
    assert cut(values, Rule(2))[0] == (4.0,)
    assert cut(values[:2], Rule(2))[0] == (1.3,)


def test_labels_say_where_the_bins_begin_and_end() -> None:
    assert labels_of((4.5, 100.0)) == ("<4.5", "4.5..100", ">=100")
    assert labels_of((-0.5,)) == ("<-0.5", ">=-0.5")
