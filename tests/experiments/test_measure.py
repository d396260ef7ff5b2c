"""Distances of graphs that leave edges without a direction, against enumeration of whole equivalence classes."""

from collections import defaultdict
from itertools import combinations, permutations, product

import numpy as np
import pytest
from experiments.comparison.measure import cpdag, measure, oriented
from experiments.comparison.result import Result, from_json, to_json
from numpy.typing import NDArray

Matrix = NDArray[np.bool_]


def all_dags(size: int) -> list[Matrix]:
    pairs = list(combinations(range(size), 2))
    found = {}
    for order in permutations(range(size)):
        for bits in product((False, True), repeat=len(pairs)):
            parents = np.zeros((size, size), dtype=bool)
            for (a, b), bit in zip(pairs, bits, strict=True):
                parents[order[b], order[a]] = bit
            found[parents.tobytes()] = parents
    return list(found.values())


def signature(parents: Matrix) -> tuple[bytes, frozenset[tuple[int, int, int]]]:
    """Skeleton and v-structures, which name an equivalence class (Verma & Pearl)."""
    linked = parents | parents.T
    meets = frozenset(
        (child, a, b)
        for child in range(len(parents))
        for a, b in combinations(np.flatnonzero(parents[child]).tolist(), 2)
        if not linked[a, b]
    )
    return linked.tobytes(), meets


@pytest.mark.parametrize(("size", "dags", "classes"), [(3, 25, 11), (4, 543, 185)])
def test_cpdag_is_the_union_of_its_class(size: int, dags: int, classes: int) -> None:
    members = defaultdict(list)
    for parents in all_dags(size):
        members[signature(parents)].append(parents)
    assert (sum(map(len, members.values())), len(members)) == (dags, classes)
    for group in members.values():
        union = np.logical_or.reduce(group)
        assert all((cpdag(parents) == union).all() for parents in group)


CHAIN = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)  # 0 -> 1 -> 2


def test_undirected_edges_count_in_the_best_case_and_in_the_worst() -> None:
    found = measure(Result(parents=CHAIN | CHAIN.T, partial=True), CHAIN, None)
    assert (found["shd"], found["hamming"]) == (0, 0)
    assert (found["shd_worst"], found["hamming_worst"]) == (2, 4)
    assert (found["edges"], found["undirected"], found["shd_cpdag"]) == (2, 2, 0)


def test_undirected_edge_where_there_is_none_is_one_false_edge() -> None:
    extra = CHAIN.copy()
    extra[0, 2] = extra[2, 0] = True
    found = measure(Result(parents=extra, partial=True), CHAIN, None)
    assert (found["shd"], found["hamming"], found["hamming_worst"]) == (1, 1, 1)


def test_two_claims_against_each_other_are_no_undirected_edge() -> None:
    found = measure(Result(parents=CHAIN | CHAIN.T), CHAIN, None)
    assert (found["hamming"], found["hamming_worst"], found["undirected"]) == (2, 2, 0)


def test_direction_that_was_found_is_kept() -> None:
    assert (oriented(CHAIN.T, CHAIN) == CHAIN.T).all()


def test_targets_that_nobody_knows_are_not_counted() -> None:
    result = Result(parents=CHAIN, targets=((0,), (1,), (2,)))
    assert measure(result, CHAIN, ((0,), None, ()))["target_accuracy"] == 0.5


def test_what_is_not_known_is_not_measured() -> None:
    found = measure(Result(parents=CHAIN), None, None)
    assert set(found) == {"edges", "undirected"}


def test_result_survives_json() -> None:
    result = Result(probabilities=np.array([[0.0, 0.7], [0.2, 0.0]]), partial=True, targets=((1,), ()), note="n")
    again = from_json(to_json(result))
    assert again.graph.tolist() == [[False, True], [False, False]]
    assert (again.targets, again.partial, again.note) == (((1,), ()), True, "n")


def test_result_without_a_graph_is_an_error() -> None:
    with pytest.raises(ValueError, match="parents or probabilities"):
        to_json(Result(note="nothing"))
