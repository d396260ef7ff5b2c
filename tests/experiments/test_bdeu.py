"""Interventional BDeu: against factorials worked out by hand, against itself on equivalent graphs, and its errors."""

import math
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from experiments.methods.bdeu import InterventionalBDeu, known_targets, local_score

from sdi import Dataset, freeze, named_world
from sdi.worlds.dataset import FiniteEnvironment


def dataset_of(observational: list[list[int]], *environments: list[list[int]], states: int = 2) -> Dataset:
    """Variables A, B ... of that many states each."""
    size = len(observational[0])
    made = tuple(FiniteEnvironment(f"e{k}", np.array(rows)) for k, rows in enumerate(environments, start=1))
    return Dataset(tuple("ABCDE"[:size]), (tuple("xyz"[:states]),) * size, np.array(observational), made)


def random_dataset(size: int, rng: np.random.Generator, environments: int = 0, states: int = 3) -> Dataset:
    rows = [rng.integers(states, size=(40, size)).tolist() for _ in range(environments + 1)]
    return dataset_of(*rows, states=states)


def all_dags(size: int) -> list[np.ndarray[Any, np.dtype[np.bool_]]]:
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    found = []
    for bits in product((False, True), repeat=len(pairs)):
        parents = np.zeros((size, size), dtype=bool)
        for pair, bit in zip(pairs, bits, strict=True):
            parents[pair] = bit
        if nx.is_directed_acyclic_graph(nx.from_numpy_array(parents, create_using=nx.DiGraph)):
            found.append(parents)
    return found


# --------------------------------------------------------------------------------------------- worked by hand

# Equivalent sample size 4, two binary variables. B given A: 4 / 2 = 2 pseudo rows per value of A, 1 per cell, so a
# table with counts (a, b) has the likelihood a! b! / (a + b + 1)!. B alone: 4 pseudo rows, 2 per cell, so (a, b) has
# 3! (a + 1)! (b + 1)! / (a + b + 3)!.
SEEN = [[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]]  # B given A = 0: (2, 1), given A = 1: (0, 2)
LEFT_ALONE = [[0, 0], [1, 0]]  # an environment that touched A: pooled for B they make (3, 1) and (1, 2)
TOUCHED = [[0, 1], [1, 0], [1, 0]]  # an environment that touched B: (0, 1) and (2, 0)
BY_HAND = {
    # (3! 1! / 5!) (1! 2! / 4!) = (6 / 120) (2 / 24) = 1 / 240, and (0! 1! / 2!) (2! 0! / 3!) = 1/2 * 1/3 = 1 / 6
    ((0,), "own-table"): 1 / 1440,
    ((0,), "leave-out"): 1 / 240,
    # pooled B: (4, 3) has 3! 5! 4! / 10! = 17280 / 3628800 = 1 / 210; touched B: (2, 1) has 3! 3! 2! / 6! = 1 / 10
    ((), "own-table"): 1 / 2100,
    ((), "leave-out"): 1 / 210,
}


@pytest.mark.parametrize(("parents", "touched"), BY_HAND)
def test_score_is_the_one_worked_out_by_hand(parents: tuple[int, ...], touched: Any) -> None:
    dataset = dataset_of(SEEN, LEFT_ALONE, TOUCHED)
    found = local_score(dataset, 1, parents, [(0,), (1,)], 4.0, touched=touched)
    assert found == pytest.approx(math.log(BY_HAND[parents, touched]), rel=1e-12)


def test_two_environments_that_touched_the_child_have_two_tables() -> None:
    """(1, 0) and (0, 1) apart: 1/2 each. Together (1, 1) would be 1/5 with 4 pseudo rows, where apart gives 1/4."""
    dataset = dataset_of([[0]], [[0]], [[1]])
    alone = local_score(dataset, 0, (), [(), ()], 4.0)  # pooled (2, 1): 3! 3! 2! / 6! = 1 / 10
    apart = local_score(dataset, 0, (), [(0,), (0,)], 4.0)  # (1, 0), (1, 0), (0, 1): 1 / 8
    assert [alone, apart] == pytest.approx([math.log(1 / 10), math.log(1 / 8)], rel=1e-12)


# ------------------------------------------------------------------------------------------------- properties


def test_equivalent_graphs_have_the_same_score_and_others_do_not() -> None:
    """All 543 DAGs on four variables fall into 185 Markov equivalence classes: same skeleton, same colliders."""
    score = InterventionalBDeu(random_dataset(4, np.random.default_rng(0)))
    classes: dict[tuple[bytes, frozenset[tuple[int, int, int]]], list[float]] = {}
    for parents in all_dags(4):
        linked = parents | parents.T
        colliders = frozenset(
            (i, j, k) for i, j, k in product(range(4), repeat=3) if j < k and parents[i, j] and parents[i, k]
            and not linked[j, k]
        )  # fmt: skip
        classes.setdefault((linked.tobytes(), colliders), []).append(score.total(parents))
    assert len(classes) == 185
    assert all(np.ptp(totals) < 1e-9 for totals in classes.values())
    assert len({round(totals[0], 6) for totals in classes.values()}) == 185


@pytest.mark.parametrize("touched", ["own-table", "leave-out"])
def test_edge_between_variables_touched_together_can_be_turned_and_no_other(touched: Any) -> None:
    dataset = random_dataset(2, np.random.default_rng(1), environments=2)
    forwards, backwards = np.array([[False, False], [True, False]]), np.array([[False, True], [False, False]])
    together = InterventionalBDeu(dataset, [(0, 1), ()], touched=touched)
    assert together.total(forwards) == pytest.approx(together.total(backwards), abs=1e-9)
    apart = InterventionalBDeu(dataset, [(0,), ()], touched=touched)
    assert abs(apart.total(forwards) - apart.total(backwards)) > 1e-3


def test_many_parents_cost_no_more_than_the_rows_there_are() -> None:
    """20 ternary parents have 3.5e9 configurations; those that no row has add nothing."""
    rng = np.random.default_rng(2)
    names = tuple(f"X{i}" for i in range(21))
    dataset = Dataset(names, (("a", "b", "c"),) * 21, rng.integers(3, size=(50, 21)), ())
    # All 50 rows have contexts of their own, so each adds log of 1/3.
    assert local_score(dataset, 0, range(1, 21), []) == pytest.approx(50 * math.log(1 / 3))


def test_order_of_parents_does_not_matter_and_the_cache_gives_what_was_computed() -> None:
    dataset = random_dataset(3, np.random.default_rng(3), environments=1)
    score = InterventionalBDeu(dataset, [(2,)])
    first = score.local_score(2, [0, 1])
    assert score.local_score(2, {1, 0}) == first == local_score(dataset, 2, (1, 0), [(2,)])


def test_declared_targets_are_used_when_none_are_given() -> None:
    rows = np.array([[0], [1]])
    dataset = Dataset(("A",), (("x", "y"),), rows, (FiniteEnvironment("e", rows, (0,)),))
    assert local_score(dataset, 0, (), None) == local_score(dataset, 0, (), [(0,)]) != local_score(dataset, 0, (), [()])


@pytest.mark.parametrize(
    ("targets", "how", "message"),
    [
        (None, {}, "target of environment 'e1' is not known"),
        ([], {}, "each of the 1 environments, got 0"),
        ([(2,)], {}, "target 2 is no variable; they are numbered 0 to 1"),
        ([(0,)], {"touched": "ignore"}, "choose from own-table, leave-out"),
        ([(0,)], {"equivalent_sample_size": 0.0}, "positive number of rows; got 0"),
    ],
)
def test_error_says_what_is_wrong(targets: Any, how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        InterventionalBDeu(dataset_of([[0, 1]], [[1, 1]]), targets, **how)


def test_known_targets_are_plain_integers() -> None:
    assert known_targets(dataset_of([[0, 1]], [[1, 1]]), [(np.int64(1),)]) == ((1,),)  # type: ignore[list-item]


def test_gies_with_this_score_finds_asia() -> None:
    gies = pytest.importorskip("gies")
    world = named_world("asia", rng=np.random.default_rng(1), temperature=2)
    dataset, targets = freeze(world, observational=2000, environments=8, rows=500, rng=np.random.default_rng(1))
    adjacency, total = gies.fit(score := InterventionalBDeu(dataset, targets))
    assert np.array_equal(adjacency.T != 0, world.graph.parents)
    assert total == pytest.approx(score.total(world.graph.parents))
