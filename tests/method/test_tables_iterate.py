"""The tables method as a whole: repeatable, resumable, blind to names and order, obedient, limited, honest."""

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from sdi.graphs import find_cycle, variable_names
from sdi.method.beliefs import Clamp, Knowledge
from sdi.method.discover import conclude, discover, run
from sdi.method.settings import Settings
from sdi.method.tables.diagnostics import agreement
from sdi.method.tables.iterate import (
    Info,
    Seen,
    State,
    believed,
    decided,
    initial_state,
    iterate,
    stop_reason,
)
from sdi.method.tables.prepare import prepare
from sdi.worlds.dataset import Dataset, FiniteEnvironment, Frozen, freeze
from sdi.worlds.named import named_world
from sdi.worlds.simulated import Interventions, SimulatedWorld
from sdi.worlds.world import Rows

TINY = Settings(
    method="tables",
    iterations=3,
    interventions=4,
    rows_per_intervention=100,
    observational_rows=400,
    chains=2,
    sweeps=8,
    agreement=0.0,  # never reached, unless a test says otherwise
)


def changed(**changes: Any) -> Settings:
    return Settings(**{**vars(TINY), **changes})


def world_of(name: str = "chain3", seed: int = 1, *, redrawn: bool = False, **how: Any) -> SimulatedWorld:
    rng = np.random.default_rng(seed)
    return named_world(name, rng=rng, redrawn=redrawn, interventions=Interventions(**how))


@cache
def strong(**how: Any) -> Frozen:
    """A chain of four with three categories, well told: each variable touched at least once."""
    world = named_world("chain4", rng=np.random.default_rng(1), categories=3, interventions=Interventions(**how))
    return freeze(world, observational=1500, environments=6, rows=300, rng=np.random.default_rng(1))


def weak(declared: Sequence[tuple[int, ...] | None] = (None, None, None), seed: int = 0) -> Dataset:
    """Four variables of which each seldom copies the one before: much stays open."""
    rng = np.random.default_rng(seed)

    def draw(n: int) -> Rows:
        rows = rng.integers(0, 2, (n, 4)).astype(np.uint8)
        for i in range(1, 4):
            copies = rng.random(n) < 0.25
            rows[copies, i] = rows[copies, i - 1]
        return rows

    environments = tuple(FiniteEnvironment(f"e{k}", draw(30), target) for k, target in enumerate(declared))
    return Dataset(variable_names(4), (("no", "yes"),) * 4, draw(120), environments)


def bits(state: State) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in state]


def last(steps: Any) -> tuple[State, Info]:
    return list(steps)[-1]


CHAIN = np.eye(4, k=-1, dtype=bool)
WORLDS = {"finite": weak, "fixed": world_of, "redrawn": lambda: world_of(redrawn=True)}


@pytest.fixture(params=list(WORLDS))
def make(request: pytest.FixtureRequest) -> Any:
    return WORLDS[request.param]


# --------------------------------------------------------------------------------------- repeating and resuming


def test_same_seed_gives_the_same_bits_and_another_seed_does_not(make: Any) -> None:
    first, again, other = (last(iterate(make(), TINY, seed=seed))[0] for seed in (1, 1, 2))
    assert bits(first) == bits(again)
    assert bits(first) != bits(other)


def test_going_on_from_a_state_equals_never_having_stopped(make: Any) -> None:
    states = [state for state, _ in iterate(make(), TINY, seed=3)]
    assert [state.iteration for state in states] == [1, 2, 3]
    for k, state in enumerate(states[:-1]):
        rest = [reached for reached, _ in iterate(make(), TINY, seed=3, state=state)]
        assert [bits(each) for each in rest] == [bits(each) for each in states[k + 1 :]]


def test_state_at_its_end_goes_no_further(make: Any) -> None:
    state, _ = last(iterate(make(), TINY, seed=3))
    assert stop_reason(state, TINY) is not None
    assert list(iterate(make(), TINY, seed=3, state=state)) == []


def test_state_has_the_same_shapes_from_the_beginning_to_the_end(make: Any) -> None:
    """But for the number of environments: that is what a checkpoint is checked against."""
    world = make()
    begun = initial_state(world, TINY, 0)
    for state, _ in iterate(world, TINY):
        for before, after in zip(begun, state, strict=True):
            assert np.asarray(before).dtype == np.asarray(after).dtype
            assert np.asarray(before).shape[1:] == np.asarray(after).shape[1:]
            assert type(before) is type(after)


# --------------------------------------------------------------------------------------- names, order, categories


def permuted(dataset: Dataset, order: Sequence[int], rng: np.random.Generator) -> Dataset:
    """Variables in another order, categories renamed, rows shuffled; environments as they were."""
    renamed = [rng.permutation(size).astype(np.uint8) for size in dataset.cardinalities]

    def moved(rows: Rows) -> Rows:
        return np.stack([renamed[j][rows[:, j]] for j in order], axis=1)[rng.permutation(len(rows))]

    return Dataset(
        tuple(dataset.names[j] for j in order),
        tuple(dataset.states[j] for j in order),
        moved(dataset.observational),
        tuple(FiniteEnvironment(each.name, moved(each.rows), each.target) for each in dataset.environments),
    )


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_another_order_of_variables_permutes_what_is_found(order: tuple[int, ...]) -> None:
    dataset, truth = strong()
    settings = Settings(method="tables")
    found = discover(dataset, settings)
    moved = discover(permuted(dataset, order, np.random.default_rng(2)), settings)
    np.testing.assert_allclose(moved.probabilities, found.probabilities[np.ix_(order, order)], atol=0.02)
    np.testing.assert_array_equal(moved.parents, CHAIN[np.ix_(order, order)])
    np.testing.assert_allclose(moved.targets, found.targets[:, list(order)], atol=0.02)
    assert [(int(row.argmax()),) for row in found.targets] == list(truth)
    assert (found.targets.max(axis=1) > 0.9).all()


def test_weak_beliefs_are_the_same_within_the_error_of_sampling() -> None:
    settings = Settings(method="tables", sweeps=400)
    dataset, order = weak(), [2, 0, 3, 1]
    found, moved = (discover(each, settings) for each in (dataset, permuted(dataset, order, np.random.default_rng(2))))
    assert ((found.probabilities > 0.1) & (found.probabilities < 0.9)).sum() >= 4
    np.testing.assert_allclose(moved.probabilities, found.probabilities[np.ix_(order, order)], atol=0.1)
    np.testing.assert_allclose(moved.targets, found.targets[:, order], atol=0.1)


def test_environments_in_another_order_have_their_targets_in_that_order() -> None:
    dataset, truth = strong()
    turned = Dataset(dataset.names, dataset.states, dataset.observational, dataset.environments[::-1])
    found = discover(turned, Settings(method="tables"))
    assert found.environments == tuple(each.name for each in turned.environments)
    assert [(int(row.argmax()),) for row in found.targets] == list(truth[::-1])


# ------------------------------------------------------------------------------------------------- redrawn worlds


@pytest.mark.parametrize("strengths", [1, 3])
def test_scores_of_redraws_add_up(strengths: int) -> None:
    """The posterior of a parent set after three redraws is that of each alone, its prior counted once.

    Which table a pair extends is chosen by all redraws together, and may be another in each alone; so are the parents
    by which it is judged which environments tables had better not be fitted to.
    """
    world, clamp = world_of(redrawn=True), Knowledge().clamp("abc")
    settings = changed(expected_parents=0.5, strengths=strengths)
    seen = Seen(world, settings, seed=0)
    assert all(seen.look(k) for k in range(3))
    assert (len(seen.blocks), [len(each) for each in seen.environments], seen.interventions) == (3, [4, 4, 4], 12)

    def problem_of(which: slice) -> Any:
        rng = np.random.default_rng(0)
        return prepare(seen.blocks[which], seen.targets[which], world.cardinalities, clamp, settings, rng, rng).problem

    together, alone = problem_of(slice(None)), [problem_of(slice(b, b + 1)) for b in range(3)]
    rng = np.random.default_rng(1)
    touched = [np.eye(3, dtype=bool)[rng.integers(3, size=4)] for _ in range(3)]
    for i in range(3):
        everywhere = [
            s
            for s in range(len(together.families[i].sets))
            if all(extends_alike(each, together, i, s) for each in alone)
        ]
        assert len(everywhere) >= 3  # all but the pair, if need be
        for s in everywhere:
            members = problem_set(together, i, s)
            total = -2 * len(members) * np.log(1 / 3)  # a quarter of an edge from each of the two others
            for each, hit in zip(alone, touched, strict=True):
                total += each.weights(i, [hit])[place_of(each, i, members)]
            exact = strengths == 1
            assert together.weights(i, touched)[s] == pytest.approx(total, rel=1e-10 if exact else 1e-5)


def extends_alike(one: Any, other: Any, i: int, s: int) -> bool:
    """Whether the parents in a set of one problem are considered in another, and if need be added in the same order."""
    place = place_of(one, i, problem_set(other, i, s))
    plain = not one.priors[0].extending
    return place is not None and (plain or one.families[i].order(place) == other.families[i].order(s))


def place_of(problem: Any, i: int, members: list[int]) -> int | None:
    every = range(len(problem.families[i].sets))
    return next((s for s in every if set(problem_set(problem, i, s)) == set(members)), None)


def problem_set(problem: Any, i: int, s: int) -> list[int]:
    return [problem.families[i].candidates[k] for k in problem.families[i].sets[s]]


def test_fixed_world_gathers_rows_and_a_redrawn_one_blocks() -> None:
    for redrawn in (False, True):
        seen = Seen(world_of(redrawn=redrawn), TINY, seed=0)
        for k in range(3):
            seen.look(k)
        assert len(seen.blocks) == (3 if redrawn else 1)
        assert sum(block.times.sum() for block in seen.blocks) == 3 * (400 + 4 * 100)
        assert sum(block.environments for block in seen.blocks) == 12


def test_finite_world_is_looked_at_once() -> None:
    dataset, seen = weak(), Seen(weak(), TINY, seed=0)
    assert [seen.look(k) for k in range(3)] == [True, False, False]
    assert seen.blocks[0].times.sum() == 120 + 3 * 30 == len(dataset.frame())


def test_redrawn_world_is_found_and_settled() -> None:
    settings = Settings(method="tables", interventions=6, rows_per_intervention=200, observational_rows=1000)
    world = world_of(redrawn=True)
    found = discover(world, settings)
    assert found.settled
    assert found.iterations >= 3, "twice more rows must leave the graph as it was"
    np.testing.assert_array_equal(found.parents, world.graph.parents)
    assert found.targets.shape == (6, 3)
    assert found.environments == tuple(f"{found.iterations}.{k + 1}" for k in range(6))


# ------------------------------------------------------------------------------------- knowledge and declarations


@pytest.mark.parametrize(
    ("known", "sure"),
    [
        (Knowledge(required=[("D", "A")]), {(0, 3): 1, (3, 0): 0}),
        (Knowledge(forbidden=[("A", "B"), ("B", "A")]), {(1, 0): 0, (0, 1): 0}),
        (Knowledge(required=[("C", "B")], forbidden=[("C", "D")]), {(1, 2): 1, (2, 1): 0, (3, 2): 0}),
        (Knowledge(only=[("A", "B")], required=[("C", "D")]), {(3, 2): 1, (2, 3): 0, (0, 1): 0, (2, 0): 0, (1, 3): 0}),
    ],
)
def test_what_is_known_is_enforced_exactly(known: Knowledge, sure: dict[tuple[int, int], int]) -> None:
    for dataset in (weak(), strong().dataset):
        clamp = known.clamp(dataset.names)
        for state, info in iterate(dataset, TINY, known):
            for edge, value in sure.items():
                assert info.probabilities[edge] == believed(state, clamp)[edge] == value
                assert (state.parents[:, edge[0], edge[1]] == value).all()
            assert all(find_cycle(parents) is None for parents in state.parents)


def test_everything_else_is_found_beside_what_is_known() -> None:
    """A wrong requirement is kept, and the rest of the chain is still there."""
    found = discover(strong().dataset, Settings(method="tables"), Knowledge(required=[("D", "A")]))
    assert found.graph.has_edge("D", "A")
    assert not found.graph.has_edge("A", "D")
    assert find_cycle(found.parents) is None
    assert (found.parents | found.parents.T)[[0, 1], [1, 2]].all()


@pytest.mark.parametrize("declared", [((1,), None, ()), ((0, 3), (), None), ((), (), ())], ids=str)
def test_declared_targets_are_kept(declared: tuple[tuple[int, ...] | None, ...]) -> None:
    dataset = weak(declared)
    for state, info in iterate(dataset, TINY):
        for row, chains, target in zip(info.targets, state.touched, declared, strict=True):
            if target is not None:
                assert tuple(np.flatnonzero(row == 1)) == target
                assert row.sum() == len(target)
                assert all(tuple(np.flatnonzero(each)) == target for each in chains)


def test_declaration_that_is_wrong_is_believed_all_the_same() -> None:
    dataset, truth = strong()
    wrong = ((truth[0][0] + 1) % 4,)
    first = FiniteEnvironment("e1", dataset.environments[0].rows, wrong)
    told = Dataset(dataset.names, dataset.states, dataset.observational, (first, *dataset.environments[1:]))
    assert tuple(np.flatnonzero(discover(told, TINY).targets[0] == 1)) == wrong


def test_probabilities_of_a_single_target_add_up_to_one_at_most() -> None:
    _, info = last(iterate(weak(), TINY))
    assert (info.targets.sum(axis=1) <= 1 + 1e-6).all()
    assert (info.targets.sum(axis=1) < 1).any()


# ------------------------------------------------------------------------------------------------------- targets


def touched_of(row: Any) -> tuple[int, ...]:
    return tuple(np.flatnonzero(row > 0.5).tolist())


def test_two_touched_at_once_are_both_found() -> None:
    dataset, truth = strong(at_once=2)
    found = discover(dataset, Settings(method="tables", several_targets=True))
    assert {len(target) for target in truth} == {2}
    assert [touched_of(row) for row in found.targets] == [tuple(sorted(target)) for target in truth]
    np.testing.assert_array_equal(found.parents, CHAIN)


@pytest.mark.parametrize("several", [False, True])
def test_environment_in_which_nothing_was_touched_has_no_target(several: bool) -> None:
    dataset, truth = strong(untouched=0.34)
    found = discover(dataset, Settings(method="tables", several_targets=several))
    assert sorted(map(len, truth)) == [0, 0, 1, 1, 1, 1]
    assert [touched_of(row) for row in found.targets] == list(truth)


@pytest.mark.parametrize("size", [5, 16])
def test_parent_that_matters_in_one_environment_alone_is_found_with_its_target(size: int) -> None:
    """The environment alone changes nothing that one variable shows, the parent alone adds nothing elsewhere."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 4, (3_000, size)).astype(np.uint8)
    there = rng.integers(0, 4, (500, size)).astype(np.uint8)
    follows = rng.random(500) < 0.7
    there[follows, 0] = there[follows, 1]
    moved = rng.integers(0, 4, (500, size)).astype(np.uint8)
    moved[rng.random(500) < 0.5, 2] = 0
    names = variable_names(size)
    environments = (FiniteEnvironment("there", there), FiniteEnvironment("moved", moved))
    found = discover(Dataset(names, (tuple("wxyz"),) * size, rows, environments), Settings(method="tables"), seed=1)
    assert found.parents.sum() == 1
    assert found.parents[0, 1] or found.parents[1, 0], "which of the two follows the other nobody can tell"
    assert found.targets[0, :2].sum() > 0.99
    assert found.targets[1, 2] > 0.99


@pytest.mark.parametrize("kind", ["uniform", "pinned"])
def test_hard_interventions_are_found(kind: str) -> None:
    """One edge more, from the first to the last, has 2.9 nats by chance where interventions are uniform."""
    dataset, truth = strong(kind=kind)
    found = discover(dataset, Settings(method="tables"))
    assert [touched_of(row) for row in found.targets] == list(truth)
    np.testing.assert_array_equal(found.probabilities > 0.9, CHAIN)


# -------------------------------------------------------------------------------------------- chains that disagree


def test_chains_that_do_not_agree_are_said_to() -> None:
    found = discover(weak(), TINY)
    assert found.reason == "iterations"
    assert found.chains is not None
    assert found.chains[0] > 0
    assert any("chains do not agree" in each and f"R-hat {found.chains[0]:.2f}" in each for each in found.warnings)


def test_chains_that_agree_raise_no_warning() -> None:
    found = discover(strong().dataset, Settings(method="tables"))
    assert found.settled
    assert found.warnings == ()
    assert found.chains is not None
    assert found.chains[0] <= 1.05


def test_each_iteration_over_the_same_rows_walks_twice_as_far() -> None:
    """So that chains agree in the end: effective draws grow."""
    infos = [info for _, info in iterate(weak(), changed(iterations=5, sweeps=20))]
    assert infos[-1].agreement.effective > 2 * infos[0].agreement.effective
    assert infos[-1].agreement.r_hat < infos[0].agreement.r_hat


def test_strained_tables_are_named() -> None:
    """Few rows for each number of a table."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 6, (200, 3)).astype(np.uint8)
    rows[:, 2] = (rows[:, 0] + rows[:, 1]) % 6
    part = FiniteEnvironment("e1", rows[:20])
    dataset = Dataset(("A", "B", "C"), (tuple("abcdef"),) * 3, rows, (part,))
    found = discover(dataset, Settings(method="tables", most_parents=2), Knowledge(required=[("A", "C"), ("B", "C")]))
    assert any("the tables of C are large for these rows" in each for each in found.warnings)


def halves(*chains: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([np.mean(each) for each in chains]), np.array([np.var(each, ddof=1) for each in chains])


def test_r_hat_and_effective_draws_are_those_of_the_textbook() -> None:
    draws = [[0.1, 0.5, 0.3, 0.9], [0.2, 0.7, 0.6, 0.4], [0.8, 0.9, 0.3, 0.6]]
    n, m = 4, 3
    means = [sum(each) / n for each in draws]
    grand = sum(means) / m
    between = n / (m - 1) * sum((each - grand) ** 2 for each in means)
    within = sum(sum((x - mean) ** 2 for x in each) / (n - 1) for each, mean in zip(draws, means, strict=True)) / m
    variance = (n - 1) / n * within + between / n
    found = agreement(*halves(*draws), n)
    assert found.r_hat == pytest.approx((variance / within) ** 0.5)
    assert found.effective == pytest.approx(min(m * n, m * n * variance / between))


def test_chains_that_stand_still_in_different_places_disagree() -> None:
    assert agreement(*halves([0.0] * 9, [0.0] * 9, [1.0] * 9, [1.0] * 9), 9).r_hat > 5
    assert agreement(*halves([0.3] * 9, [0.3] * 9), 9) == (1.0, 18.0)


# --------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("reached", "reason"),
    [
        ({}, None),
        ({"iteration": 2, "r_hat": 2.7}, None),
        ({"iteration": 2, "r_hat": 2.8}, "apart"),
        ({"iteration": 1, "r_hat": 9.0}, None),
        ({"iteration": 2, "r_hat": 9.0, "finite": False}, None),
        ({"iteration": 3}, "iterations"),
        ({"stable": 1.0}, None),
        ({"stable": 2.0}, "settled"),
        ({"interventions": 9}, None),
        ({"interventions": 10}, "interventions"),
        ({"stable": 2.0, "iteration": 3}, "settled"),
    ],
)
def test_method_stops_by_its_own_rules(reached: dict[str, Any], reason: str | None) -> None:
    settings = changed(all_interventions=10, agreement=1.05)
    assert stop_reason(initial_state(weak(), settings, 0)._replace(**reached), settings) == reason


def test_limit_on_iterations_ends_a_run(make: Any) -> None:
    assert last(iterate(make(), changed(iterations=1)))[0].iteration == 1


def test_limit_on_all_interventions_ends_a_run() -> None:
    infos = [
        info for _, info in iterate(world_of(redrawn=True), changed(all_interventions=8, iterations=9, margin=0.01))
    ]
    assert [info.interventions for info in infos] == [4, 8]


def test_limit_on_all_interventions_is_never_exceeded() -> None:
    infos = [info for _, info in iterate(world_of(redrawn=True), changed(all_interventions=6, iterations=9))]
    assert infos[-1].interventions <= 6


def test_limit_on_seconds_ends_a_run_after_the_iteration_that_passes_it() -> None:
    settings = changed(seconds=1000.0)
    unlimited, late = (list(run(weak(), settings, Knowledge(), 0, spent=spent)) for spent in (0.0, 2000.0))
    assert [len(unlimited), len(late)] == [3, 1]
    assert conclude(weak(), late[-1].state, settings, Knowledge()).reason == "seconds"


@pytest.mark.parametrize(("most", "known"), [(1, Knowledge()), (2, Knowledge(required=[("A", "D")]))])
def test_no_variable_has_more_parents_than_it_may(most: int, known: Knowledge) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (3000, 4)).astype(np.uint8)
    rows[:, 3] = rng.random(3000) < 1 / (1 + np.exp(4.5 - 3.0 * rows[:, :3].sum(axis=1)))
    dataset = Dataset(variable_names(4), (("no", "yes"),) * 4, rows, (FiniteEnvironment("e1", rows[:300]),))
    found = discover(dataset, Settings(method="tables", most_parents=most, iterations=2), known)
    assert found.parents.sum(axis=1).max() == most


# -------------------------------------------------------------------------------------------- what others build on


def test_beliefs_are_handed_on_where_they_are_decided_and_no_table_is_strained() -> None:
    clamp: Clamp = Knowledge(required=[("A", "B")]).clamp("ABC")
    probabilities = np.array([[0, 0, 0.99], [0.3, 0, 0.5], [0.01, 0.02, 0]], np.float32)
    state = initial_state(world_of(), TINY, 0)._replace(probabilities=probabilities)
    nan = np.nan
    np.testing.assert_array_equal(
        decided(state, clamp, TINY),
        np.array([[0, 0, 0.99], [1, 0, nan], [0.01, 0.02, 0]], np.float32),
    )
    strained = state._replace(strained=np.array([False, False, True]))
    np.testing.assert_array_equal(
        decided(strained, clamp, TINY), np.array([[0, 0, nan], [1, 0, nan], [nan, nan, nan]], np.float32)
    )


def test_history_says_how_well_chains_agree() -> None:
    found = discover(weak(), TINY)
    assert [record["iteration"] for record in found.history] == [1, 2, 3]
    infos = [info for _, info in iterate(weak(), TINY)]
    assert [record["r_hat"] for record in found.history] == [round(info.agreement.r_hat, 4) for info in infos]
    assert found.history[-1]["r_hat"] == pytest.approx(found.chains[0], abs=1e-4)  # type: ignore[index]


def test_every_way_of_naming_targets_runs() -> None:
    """Tables have but one way of finding those that are not declared."""
    one, other = (last(iterate(weak(), changed(targets=each)))[0] for each in ("deterioration", TINY.targets))
    assert bits(one) == bits(other)


def test_single_variable_is_no_trouble() -> None:
    rows = np.zeros((30, 1), np.uint8)
    rows[::3] = 1
    dataset = Dataset(("A",), (("no", "yes"),), rows, (FiniteEnvironment("e1", rows[:12] ^ 1),))
    found = discover(dataset, TINY)
    assert found.probabilities.tolist() == [[0]]
    assert found.targets.shape == (1, 1)


def test_chains_start_from_graphs_without_cycles(make: Any) -> None:
    for state, _ in itertools.islice(iterate(make(), TINY), 2):
        assert state.parents.shape[0] == 2
        assert all(find_cycle(parents) is None for parents in state.parents)
