"""What a report says of a run: taken from a discovery, compared with a published network."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdi.method.discover import Discovery
from sdi.report import Condition, Content, Reference, agreement, content_from
from sdi.report.embedded import embedded
from sdi.report.text import cut, shown, units
from sdi.worlds.dataset import Dataset, FiniteEnvironment
from sdi.worlds.named import named_world

Maker = Callable[..., Content]


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    rows = np.zeros((20, 2), dtype=np.uint8)
    rows[::2] = 1
    environments = (FiniteEnvironment("cold", rows[:12], None), FiniteEnvironment("hot", rows[:15], (1,)))
    return Dataset(("A", "B"), (("no", "yes"), ("0", "1")), rows, environments)


@pytest.fixture(scope="module")
def found() -> Discovery:
    return Discovery(
        names=("A", "B"),
        probabilities=np.array([[0, 0.6], [0.9, 0]], np.float32),
        parents=np.array([[False, False], [True, False]]),
        removed=(("B", "A"),),
        environments=("cold", "hot"),
        targets=np.array([[0.8, 0.1], [0, 1]], np.float32),
        reason="settled",
        iterations=7,
        interventions=112,
        history=({"iteration": 1, "seconds": 1.5}, {"iteration": 2, "seconds": 3.5}),
    )


def test_content_of_a_dataset_tells_rows_targets_states_and_time(dataset: Dataset, found: Discovery) -> None:
    content = content_from(found, dataset, title="t", settings={}, seed=3, command="c", versions={"sdi": "1"})
    assert content.environments == (Condition("cold", 12, None), Condition("hot", 15, ("B",)))
    assert content.observational == 20
    assert content.states == (("no", "yes"), ("0", "1"))
    assert content.edges == [(0, 1)]
    assert content.touched(0) == ["cold"]
    assert content.reason == "the beliefs had settled"
    assert (content.seconds, content.iterations, content.lasting) == (3.5, 7, True)
    data = embedded(content)
    assert data["removed"] == [(1, 0)]
    assert dict(data["facts"]) == {
        **{"variables": "2", "edges": "1", "environments": "2", "rows": "47", "time": "3.5 s", "seed": "3"}
    }


def test_environments_of_a_simulated_world_are_said_to_be_the_last_ones(found: Discovery) -> None:
    world = named_world("A->B", rng=np.random.default_rng(0))
    content = content_from(found, world, title="t", settings={}, seed=0, command="c", versions={})
    assert not content.lasting
    assert content.observational is None
    data = embedded(content)
    assert "those of the last one" in data["targets_hint"]
    assert dict(data["facts"])["interventions"] == "112"
    assert "rows" not in dict(data["facts"])


def test_agreement_sorts_every_edge_into_one_group() -> None:
    found = [("a", "b"), ("c", "b"), ("a", "d")]
    published = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "z"), ("a", "b")]
    result = agreement(found, published, ["a", "b", "c", "d"])
    assert result.agreeing == (("a", "b"),)
    assert result.reversed == (("b", "c"),)
    assert result.missed == (("c", "d"),)
    assert result.extra == (("a", "d"),)
    assert result.elsewhere == (("a", "z"),)


def test_targets_are_compared_with_those_that_are_known(make: Maker) -> None:
    targets = np.array([[0.9, 0, 0], [0.9, 0.9, 0], [0, 0, 0], [0.9, 0, 0]])
    reference = Reference("R", (), {"e1": ("X1",), "e2": ("X1",), "e3": ("X1",), "e4": ("X1", "X2"), "other": ("X1",)})
    data = embedded(make(3, 2, 4, targets=targets, reference=reference))["reference"]
    assert [(row[0], row[3]) for row in data["targets"]] == [
        ("e1", "found"),
        ("e2", "found, with others"),
        ("e3", "missed"),
        ("e4", "found in part"),
    ]


@pytest.mark.parametrize(
    ("method", "phrase"),
    [("neural", "not calibrated posterior probabilities"), ("tables", "posterior probabilities under the model")],
)
def test_meaning_of_the_numbers_follows_the_method(make: Maker, method: str, phrase: str) -> None:
    texts = dict(embedded(make(method=method))["meaning"])
    assert phrase in texts["Probabilities of edges"]
    assert "Shares of 10 refits" in texts
    assert "Shares of 10 refits" not in dict(embedded(make(method=method, bootstrap=None))["meaning"])


def test_lines_over_time_are_the_beliefs_of_the_records(make: Maker) -> None:
    content = make(6, 8)
    lines = embedded(content)["history"]["lines"]
    assert {(line["cause"], line["effect"]) for line in lines} >= set(content.edges)
    first = lines[0]
    expected = [record["probabilities"][first["effect"]][first["cause"]] for record in content.history]
    np.testing.assert_allclose(first["values"], expected, atol=1e-3)


def test_too_many_lines_are_counted_and_not_drawn(make: Maker) -> None:
    content = make(20, 100)
    history = embedded(content)["history"]
    assert len(history["lines"]) == 60
    assert f"Of {len(content.edges)} edges that rose above one half at some time, 60 are drawn." in history["hint"]


def test_long_histories_are_thinned_but_keep_both_ends(make: Maker) -> None:
    history = tuple({"iteration": k, "loss": 1.0} for k in range(1, 5001))
    iterations = embedded(make(history=history))["history"]["iterations"]
    assert len(iterations) <= 160
    assert (iterations[0], iterations[-1]) == (1, 5000)


def test_numbers_that_are_none_leave_gaps(make: Maker) -> None:
    history = tuple({"iteration": k, "loss": value} for k, value in enumerate((1.0, float("nan"), None, 2.0), start=1))
    (other,) = embedded(make(history=history))["history"]["others"]
    assert other["values"] == [1.0, None, None, 2.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probabilities": np.zeros((2, 2))}, r"expected probabilities\[child, parent\] over the 5 names, got shape"),
        (
            {"parents": np.zeros((5, 4), bool)},
            r"expected parents\[child, parent\] over the 5 names, got shape \(5, 4\)",
        ),
        ({"targets": np.zeros((2, 5))}, r"expected targets over 3 environments and 5 names, got shape \(2, 5\)"),
        ({"states": (("a",),)}, r"expected states of 5 variables, got 1"),
        ({"cardinalities": (2, 2)}, r"expected cardinalities of 5 variables, got 2"),
    ],
)
def test_what_does_not_fit_together_is_refused(make: Maker, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain", "plain"),
        ("a\nb\t\x00\x1b", "a\\nb\\t\\x00\\x1b"),
        ("\u202eabc\u2028", "\\u202eabc\\u2028"),
        ("\ud800", "\\ud800"),
        ("می‌خواهم", "می‌خواهم"),
        ("<b>&\"'", "<b>&\"'"),
        ("é日🙂", "é日🙂"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(name: str, text: str) -> None:
    assert shown(name) == text


def test_names_are_cut_to_their_room() -> None:
    assert cut("short", 5) == "short"
    assert cut("longer name", 8) == "longer…"
    assert units(cut("日本語の変数", 7)) <= 7
