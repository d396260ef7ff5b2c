"""One graph out of all that were drawn, and causes that another one stands in for."""

import numpy as np

import sdi
from sdi.graphs import find_cycle
from sdi.method.auto import initial_state, wants_networks
from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings
from sdi.method.tables import iterate as tables
from sdi.method.tables.phase1_count import Family, make_block
from sdi.method.tables.phase1_overlooked import overlooked, stand_ins
from sdi.method.tables.phase1_screen import Screen
from sdi.method.tables.phase2_likelihood import prior_of
from sdi.method.tables.phase3_conclude import better_off, one_graph
from sdi.method.tables.phase3_sample import Walk
from sdi.method.tables.prepare import prepare
from sdi.worlds.dataset import Dataset

SETTINGS = Settings(method="tables", chains=2, sweeps=20)


def walk_at(rows: np.ndarray, *edges: tuple[int, int]) -> Walk:
    """Of variables with two states, at the graph with these edges (cause, effect)."""
    size = rows.shape[1]
    clamp = Knowledge().clamp(tuple("ABCDEFGH"[:size]))
    rng = np.random.default_rng(0)
    problem = prepare([make_block(rows, [])], [[]], (2,) * size, clamp, SETTINGS, rng, rng).problem
    return Walk(problem, graph_of(size, *edges), problem.no_targets(), rng)


def graph_of(size: int, *edges: tuple[int, int]) -> np.ndarray:
    graph = np.zeros((size, size), bool)
    for cause, effect in edges:
        graph[effect, cause] = True
    return graph


def copies(size: int, count: int = 500) -> np.ndarray:
    """Each variable is nearly the one before."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (count, size)).astype(np.uint8)
    for j in range(1, size):
        rows[:, j] = np.where(rng.random(count) < 0.9, rows[:, j - 1], rows[:, j])
    return rows


def few_environments(name: str, categories: int) -> Dataset:
    rng = np.random.default_rng(3)
    world = sdi.named_world(name, rng=rng, categories=categories)
    return sdi.freeze(world, observational=1000, environments=3, rows=100, rng=rng).dataset


LINKS = graph_of(3, (0, 1), (1, 2)) | graph_of(3, (0, 1), (1, 2)).T


def test_link_of_open_direction_is_kept() -> None:
    walk = walk_at(copies(3), (0, 1), (1, 2))
    nothing = graph_of(3)
    assert better_off(nothing, walk).tolist() == [False, True, True]
    found = one_graph(nothing, [walk], walk.rng)
    assert np.array_equal(found | found.T, LINKS)


def test_likely_graph_that_is_as_good_is_left_alone() -> None:
    walk = walk_at(copies(3), (0, 1), (1, 2))
    other = graph_of(3, (2, 1), (1, 0))  # the same independences
    assert np.array_equal(one_graph(other, [walk], walk.rng), other)


def test_what_is_taken_over_closes_no_cycle() -> None:
    walk = walk_at(copies(4), (0, 1), (1, 2), (2, 3))
    likely = graph_of(4, (3, 2), (2, 1))  # A has lost its link; together with A -> B -> C -> D some would be cycles
    found = one_graph(likely, [walk], walk.rng)
    assert find_cycle(found) is None
    assert not better_off(found, walk).any()


def test_graph_of_a_run_is_that_of_its_state_and_likely_edges_beside_it_are_named() -> None:
    world = few_environments("chain4", categories=2)
    found = sdi.discover(world, SETTINGS)
    *_, (state, _) = tables.iterate(world, SETTINGS)
    assert np.array_equal(found.parents, state.graph)
    assert find_cycle(found.parents) is None
    likely = found.probabilities > 0.5
    assert {(found.names[j], found.names[i]) for i, j in np.argwhere(likely & ~found.parents)} == set(found.removed)


def test_stand_in_is_another_set_nearly_as_good_that_lacks_a_parent_that_counts() -> None:
    sets = ((), (0,), (1,), (2,), (0, 1), (1, 2))
    family = Family(5, (0, 1, 2), sets, (2,) * 6)
    parents = np.isin(np.arange(6), [2])  # the function of the other two
    weights = np.array([0.0, 40.0, 40.0, 500.0, 490.0, 495.0])
    assert stand_ins(family, parents, weights) == [((0, 1), 10.0)]
    weights[4] = 400.0
    assert stand_ins(family, parents, weights) == []
    assert stand_ins(family, np.zeros(6, bool), np.zeros(6)) == []


def test_third_cause_is_found_beside_two_that_a_function_of_them_stands_in_for() -> None:
    """An allele is that of the mother's mother or father as a switch says: beside the mother's genotype, the switch
    tells nothing."""
    a, b, both, switch, child = range(5)
    rows = np.random.default_rng(0).integers(0, 2, (3000, 5)).astype(np.uint8)
    rows[:, both] = rows[:, a] + rows[:, b]
    rows[:, child] = np.where(rows[:, switch] == 1, rows[:, a], rows[:, b])
    cards = (2, 2, 3, 2, 2)
    block = make_block(rows, [])
    screen = Screen(block, cards, prior_of(block, cards, SETTINGS.sample_size, SETTINGS.strengths))
    sets = ((), (0,), (1,), (2,), (0, 1))
    families = [Family(i, (), ((),), cards) for i in range(4)] + [Family(child, (a, b, both), sets, cards)]

    def asked(of_alleles: float) -> bool:
        weights = np.array([0.0, 300.0, 300.0, 1000.0, of_alleles])
        given = screen, families, graph_of(5, (both, child)), np.zeros((0, 5), bool), [np.zeros(5) for _ in range(5)]
        clamp = Knowledge().clamp(tuple("abcde"))
        return child in overlooked(*given, clamp, 0, 0.0, lambda i: weights if i == child else np.zeros(1))

    assert asked(of_alleles=990.0)
    assert not asked(of_alleles=500.0)


def test_networks_are_asked_where_chains_are_far_apart() -> None:
    world = few_environments("chain3", categories=3)
    begun = initial_state(world, SETTINGS, 0)
    calm = begun.tables._replace(iteration=3, stable=2.0, r_hat=1.0)
    assert not wants_networks(begun._replace(tables=calm), SETTINGS)
    apart = calm._replace(stable=0.0, r_hat=50.0)
    assert tables.stop_reason(apart, SETTINGS) == "apart"
    assert wants_networks(begun._replace(tables=apart), SETTINGS)
