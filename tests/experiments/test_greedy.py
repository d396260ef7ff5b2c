"""Greedy search: against the enumerated optimum, against the score of the truth, and its moves one by one."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from experiments.methods.bdeu import InterventionalBDeu
from experiments.methods.greedy import _moves, climb, random_start, run
from test_bdeu import all_dags, random_dataset

from sdi import freeze, graph, named_world


def acyclic(parents: np.ndarray[Any, np.dtype[np.bool_]]) -> bool:
    return nx.is_directed_acyclic_graph(nx.from_numpy_array(parents, create_using=nx.DiGraph))


@pytest.mark.parametrize("seed", range(4))
def test_search_finds_the_best_of_all_dags_on_four_variables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    world = named_world("random4:4", rng=rng, categories=3)
    dataset, targets = freeze(world, observational=150, environments=4, rows=60, rng=rng)
    score = InterventionalBDeu(dataset, targets)
    best = max(score.total(parents) for parents in all_dags(4))
    found = run(dataset, targets, seed, restarts=20)
    assert found.score == pytest.approx(best)
    assert score.total(found.parents) == pytest.approx(found.score)
    assert acyclic(found.parents)


@pytest.mark.parametrize("name", ["asia", "sachs"])
@pytest.mark.parametrize("seed", range(3))
def test_graph_found_never_scores_below_the_truth(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    world = named_world(name, rng=rng, temperature=2)
    size = len(world.names)
    dataset, targets = freeze(world, observational=1000, environments=size, rows=200, rng=rng)
    found = run(dataset, targets, seed, restarts=20)
    truth = InterventionalBDeu(dataset, targets).total(world.graph.parents)
    assert found.score >= truth - 1e-6
    assert found.score == found.summits.max()


def test_moves_that_would_close_a_cycle_are_not_offered() -> None:
    """Against trying each move and looking for a cycle."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        parents = random_start(6, rng, 5)
        single, turn = _moves(parents, np.zeros((6, 6)) + np.where(np.eye(6, dtype=bool), -np.inf, 0), 5)
        for child in range(6):
            for parent in set(range(6)) - {child}:
                flipped = parents.copy()
                flipped[child, parent] ^= True
                assert (single[child, parent] == 0) == acyclic(flipped)
                turned = parents.copy()
                turned[child, parent], turned[parent, child] = False, True
                assert (turn[child, parent] == 0) == (bool(parents[child, parent]) and acyclic(turned))


def test_gain_of_turning_is_what_the_score_gains() -> None:
    """A summit is one: no legal move of any kind raises the score."""
    dataset = random_dataset(4, np.random.default_rng(5), environments=2)
    score = InterventionalBDeu(dataset, [(0,), (3,)])
    summit = climb(score, graph("full4").parents, 3)
    top = score.total(summit)
    for child in range(4):
        for parent in set(range(4)) - {child}:
            flipped, turned = summit.copy(), summit.copy()
            flipped[child, parent] ^= True
            turned[child, parent], turned[parent, child] = False, True
            for moved in (flipped, *([turned] if summit[child, parent] else [])):
                assert not acyclic(moved) or score.total(moved) <= top + 1e-9


def test_limit_on_parents_is_kept() -> None:
    rng = np.random.default_rng(0)
    world = named_world("collider5", rng=rng, categories=3)
    dataset, targets = freeze(world, observational=3000, environments=5, rows=500, rng=rng)
    assert run(dataset, targets, max_parents=4).parents.sum(axis=1).max() > 1
    assert run(dataset, targets, max_parents=1).parents.sum(axis=1).max() == 1


def test_same_seed_gives_the_same_climbs_and_another_seed_others() -> None:
    rng = np.random.default_rng(1)
    world = named_world("asia", rng=rng, temperature=2)
    dataset, targets = freeze(world, observational=1000, environments=8, rows=200, rng=rng)
    summits = [run(dataset, targets, seed, restarts=9).summits.round(6).tolist() for seed in (1, 1, 2)]
    assert len(set(summits[0])) > 1
    assert summits[0] == summits[1] != summits[2]


def test_unknown_targets_and_negative_restarts_are_refused() -> None:
    dataset = random_dataset(3, np.random.default_rng(0), environments=1)
    with pytest.raises(ValueError, match="target of environment 'e1' is not known"):
        run(dataset)
    with pytest.raises(ValueError, match="at least 0; got -1"):
        run(dataset, [(0,)], restarts=-1)
