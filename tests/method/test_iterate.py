"""Algorithm 1 as a whole: repeatable, resumable, limited, blind to the truth, and right on an easy world."""

import json
import math
from itertools import islice
from typing import Any

import jax
import numpy as np
import pytest

from sdi.graphs import graph
from sdi.method.beliefs import Knowledge
from sdi.method.discover import Discovery, discover, run
from sdi.method.neural.iterate import LITTLE, Info, State, _calm, _doubted, initial_state, iterate, stop_reason
from sdi.method.neural.phase3_evidence import unweighed
from sdi.method.settings import Settings
from sdi.worlds.dataset import freeze
from sdi.worlds.neural import neural_world
from sdi.worlds.simulated import Interventions, true_target

# One record for most tests here: JAX compiles once for each. No value is left to a default that may change.
TINY = Settings.paper(
    iterations=4,
    batch=16,
    fit_steps=10,
    interventions=4,
    prediction_batches=2,
    prediction_configurations=2,
    scoring_batches=2,
    scoring_configurations=3,
    rows_per_intervention=40,
    observational_rows=100,
    all_interventions=10,
    belief_rate=0.05,
    dropout=True,
    targets="deterioration",
    estimator="ratio",
    margin=0.05,
    patience=10,
    seconds=1000.0,
)


def changed(**changes: Any) -> Settings:
    return Settings(**{**vars(TINY), **changes})


def world_of(categories: Any = 2, *, redrawn: bool = False, name: str = "chain3", seed: int = 0, **how: Any) -> Any:
    interventions = Interventions(**how)
    rng = np.random.default_rng(seed)
    return neural_world(graph(name), categories, rng=rng, redrawn=redrawn, interventions=interventions)


def finite(**how: Any) -> Any:
    return freeze(world_of(**how), observational=80, environments=5, rows=30, rng=np.random.default_rng(0))


def bits(state: State) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state)]


def last(steps: Any) -> tuple[State, Info]:
    return list(steps)[-1]


# --------------------------------------------------------------------------------------- repeating and resuming


def test_same_seed_gives_the_same_bits_and_another_seed_does_not() -> None:
    first, again, other = (last(iterate(world_of(), TINY, seed=seed))[0] for seed in (1, 1, 2))
    assert bits(first) == bits(again)
    assert (np.asarray(first.structure.gamma) != np.asarray(other.structure.gamma)).all()


@pytest.mark.parametrize("make", [world_of, lambda: world_of(redrawn=True), lambda: finite().dataset])
def test_going_on_from_a_state_equals_never_having_stopped(make: Any) -> None:
    """From every state in between, bit for bit, as if the process had been another one."""
    states = [state for state, _ in iterate(make(), TINY, seed=3)]
    assert [state.iteration for state in states] == [1, 2, 3]
    for k, state in enumerate(states[:-1]):
        stored = jax.tree.map(lambda leaf: np.asarray(leaf) if hasattr(leaf, "shape") else leaf, state)
        rest = [reached for reached, _ in iterate(make(), TINY, seed=3, state=stored)]
        assert [bits(each) for each in rest] == [bits(each) for each in states[k + 1 :]]


def test_state_at_its_end_goes_no_further() -> None:
    state, _ = last(iterate(world_of(), TINY, seed=3))
    assert list(iterate(world_of(), TINY, seed=3, state=state)) == []


def test_redrawn_world_and_fixed_one_are_not_the_same_run() -> None:
    fixed, redrawn = (last(iterate(world_of(redrawn=each), TINY))[0] for each in (False, True))
    assert bits(fixed) != bits(redrawn)


# ------------------------------------------------------------------------------------------------- variants


@pytest.mark.parametrize(
    ("targets", "estimator", "dropout"),
    [
        ("deterioration", "ratio", True),
        ("likelihood", "paper", True),
        ("random", "ratio", False),
        ("ignored", "paper", False),
        ("known", "paper", True),
    ],
)
def test_every_variant_runs(targets: str, estimator: str, dropout: bool) -> None:
    settings = changed(targets=targets, estimator=estimator, dropout=dropout)
    steps = list(islice(iterate(world_of(redrawn=True, known=targets == "known"), settings), 2))
    assert [reached.interventions for reached, _ in steps] == [4, 8]
    for _, info in steps:
        assert info.probabilities.shape == (3, 3)
        assert ((info.probabilities > 0) & (info.probabilities < 1) | np.eye(3, dtype=bool)).all()
        assert (np.diagonal(info.probabilities) == 0).all()
        assert np.isfinite(info.loss)
        assert set(info.targets.sum(axis=1)) == ({0} if targets == "ignored" else {1})
        if targets == "known":
            assert [np.flatnonzero(row).tolist() for row in info.targets] == [
                list(true_target(environment)) for environment in info.environments
            ]
        assert len(info.environments) == len(info.targets) == 4


def test_known_targets_that_are_not_declared_are_an_error_with_a_remedy() -> None:
    with pytest.raises(ValueError, match=r"targets='known', but environment .* does not declare its target; d"):
        next(iterate(finite().dataset, changed(targets="known", estimator="paper")))


def test_declared_targets_are_used_and_others_predicted() -> None:
    dataset, truth = finite(known=True)
    _, info = last(iterate(dataset, TINY))
    index = {environment: e for e, environment in enumerate(dataset.environments)}
    for environment, found in zip(info.environments, info.targets, strict=True):
        assert tuple(np.flatnonzero(found).tolist()) == truth[index[environment]]


def test_several_targets_and_none_can_be_declared() -> None:
    for how, touched in (({"at_once": 2}, 2), ({"untouched": 1.0}, 0)):
        _, info = next(iterate(world_of(known=True, **how), TINY))
        assert set(info.targets.sum(axis=1)) == {touched}


def test_targets_of_a_finite_world_are_kept_for_each_of_its_environments() -> None:
    """What the latest visits said, on average; nothing is said of an environment that was never visited."""
    dataset = finite().dataset
    expected = np.zeros((5, 3))
    for reached, info in iterate(dataset, TINY):
        for e, environment in enumerate(dataset.environments):
            visits = [found for each, found in zip(info.environments, info.targets, strict=True) if each is environment]
            expected[e] = np.mean(visits, axis=0) if visits else expected[e]
        np.testing.assert_allclose(reached.targets, expected, atol=1e-6)
    assert expected.any()


# ----------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("reached", "reason"),
    [
        ({}, None),
        ({"iteration": 3}, None),
        ({"iteration": 4}, "iterations"),
        ({"stable": 10}, "settled"),
        ({"stable": 9}, None),
        ({"interventions": 9}, None),
        ({"interventions": 10}, "interventions"),
        ({"stable": 10, "iteration": 4}, "settled"),
    ],
)
def test_method_stops_by_its_own_rules(reached: dict[str, int], reason: str | None) -> None:
    assert stop_reason(initial_state(world_of(), TINY, 0)._replace(**reached), TINY) == reason


@pytest.mark.parametrize(
    ("estimator", "undecided", "steady", "doubted", "finite", "iterations"),
    [
        ("flips", 0, True, False, True, 10),
        ("flips", 0, True, False, False, 7),  # new rows say more than the same ones again
        ("flips", 0, True, True, False, 15),  # but an edge that has brought little may be about to go
        ("flips", 1, True, False, True, 15),
        ("flips", 1, False, False, True, 30),
        ("flips", 1, True, False, False, None),
        ("ratio", 0, False, False, False, 10),
        ("ratio", 0, False, False, True, 10),
        ("ratio", 1, True, False, True, None),
    ],
)
def test_iterations_without_change_until_a_run_settles(
    estimator: Any, undecided: int, steady: bool, doubted: bool, finite: bool, iterations: int | None
) -> None:
    targets = "likelihood-ratio" if estimator == "flips" else "deterioration"
    calm = _calm(undecided, steady, doubted, finite, Settings(estimator=estimator, targets=targets, patience=10))
    assert (math.ceil(10 / calm - 1e-9) if calm else None) == iterations


def test_parent_that_has_brought_little_is_shown_half_of_the_time_at_most() -> None:
    clamp = Knowledge(required=[("a", "c")]).clamp("abc")
    beliefs = np.array([[0, 0.2, 0.9], [0.99, 0, 0.4], [1.0, 0.99, 0]], np.float32)
    brought = np.array([[0, 0, 2 * LITTLE], [LITTLE / 2, 0, 0], [0, LITTLE / 2, 0]], np.float32)
    structure = unweighed(3, Settings())
    structure = structure._replace(evidence=structure.evidence._replace(existence=brought))
    shown = np.asarray(_doubted(beliefs, structure, clamp))
    np.testing.assert_allclose(shown, [[0, 0.2, 0.9], [0.5, 0, 0.4], [1.0, 0.5, 0]])
    assert (np.asarray(_doubted(beliefs, initial_state(world_of(), TINY, 0).structure, clamp)) == beliefs).all()


def test_limit_on_interventions_is_never_exceeded() -> None:
    infos = [info for _, info in iterate(world_of(), TINY)]
    assert [info.interventions for info in infos] == [4, 8, 10]
    assert len(infos[-1].environments) == 2


def test_limit_on_seconds_ends_a_run_after_the_iteration_that_passes_it() -> None:
    unlimited, late = (list(run(world_of(), TINY, Knowledge(), 0, spent=spent)) for spent in (0.0, 2000.0))
    assert [len(unlimited), len(late)] == [3, 1]
    assert late[0].record["seconds"] > 2000


# ---------------------------------------------------------------------------------------------- the contract


class Watched:
    """Lets through the names of the contract; any other fails the test."""

    def __init__(self, inside: Any, allowed: tuple[str, ...], wrapped: dict[int, Any]) -> None:
        self._hidden = inside, allowed, wrapped

    def __getattribute__(self, name: str) -> Any:
        inside, allowed, wrapped = object.__getattribute__(self, "_hidden")
        assert name in allowed, f"the method asked for {name!r}, which is not in the contract"

        def watch_environment(environment: Any) -> Any:
            return wrapped.setdefault(id(environment), Watched(environment, ENVIRONMENT, wrapped))

        def redraw(rng: np.random.Generator) -> Any:
            drawn = inside.redraw(rng)
            return self if drawn is inside else Watched(drawn, WORLD, wrapped)

        if name == "redraw":
            return redraw
        if name == "intervene":
            return lambda rng: watch_environment(inside.intervene(rng))
        if name == "environments":
            return tuple(map(watch_environment, inside.environments))
        return getattr(inside, name)


WORLD = ("names", "cardinalities", "environments", "observe", "intervene", "redraw")
ENVIRONMENT = ("name", "target", "observe")


@pytest.mark.parametrize("make", [world_of, lambda: world_of(redrawn=True), lambda: finite().dataset])
def test_method_touches_nothing_outside_the_contract(make: Any) -> None:
    """Not the graph, not the mechanisms, not what was really touched; and what it finds is the same."""
    watched, bare = (discover(each, TINY, seed=4) for each in (Watched(make(), WORLD, {}), make()))
    assert (watched.probabilities == bare.probabilities).all()
    assert (watched.targets == bare.targets).all()
    with pytest.raises(AssertionError, match="'graph', which is not in the contract"):
        Watched(make(), WORLD, {}).graph  # noqa: B018


# -------------------------------------------------------------------------------------------------- discover


def test_discovery_says_what_was_found() -> None:
    dataset = finite().dataset
    found = discover(dataset, TINY, seed=1)
    state, _ = last(iterate(dataset, TINY, seed=1))
    assert found.names == dataset.names
    assert found.environments == ("e1", "e2", "e3", "e4", "e5")
    assert (found.targets == state.targets).all()
    assert (found.reason, found.settled) == ("interventions", False)
    assert (found.iterations, found.interventions) == (3, 10)
    assert set(found.graph.nodes) == set(dataset.names)
    assert {(a, b) for a, b in found.graph.edges} == {
        (found.names[j], found.names[i]) for i, j in np.argwhere(found.parents)
    }
    for cause, effect, data in found.graph.edges(data=True):
        i, j = found.names.index(effect), found.names.index(cause)
        assert data["probability"] == pytest.approx(found.probabilities[i, j])


def test_history_has_a_record_of_every_iteration_and_is_plain_json() -> None:
    found = discover(world_of(), TINY)
    again = json.loads(json.dumps(found.history))
    assert [record["iteration"] for record in again] == [1, 2, 3]
    assert [record["interventions"] for record in again] == [4, 8, 10]
    np.testing.assert_allclose(again[-1]["probabilities"], found.probabilities, atol=1e-4)


def test_discovery_obeys_what_is_known() -> None:
    known = Knowledge(required=(("C", "A") for _ in range(1)), forbidden=[("A", "B")])
    found = discover(world_of(), TINY, known)
    a, b, c = range(3)
    assert [found.probabilities[a, c], found.probabilities[c, a], found.probabilities[b, a]] == [1, 0, 0]
    assert found.graph.has_edge("C", "A")
    assert not found.graph.has_edge("A", "B")


def test_knowledge_about_unknown_variables_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValueError, match="unknown variable 'Z'"):
        discover(world_of(), TINY, Knowledge(required=[("A", "Z")]))


def easy() -> Discovery:
    """A chain of four to six categories (too many rows to merge), 9 environments of 1,000 rows, targets known."""
    world = world_of((5, 4, 6), seed=2, known=True)
    dataset = freeze(world, observational=5000, environments=9, rows=1000, rng=np.random.default_rng(2)).dataset
    settings = Settings.paper(
        iterations=150,
        batch=64,
        fit_steps=100,
        interventions=50,
        scoring_batches=2,
        scoring_configurations=25,
        rows_per_intervention=1000,
        observational_rows=5000,
        fit_rate=0.01,
        belief_rate=0.05,
        sparsity=0.02,
        acyclicity=0.1,
        targets="known",
        estimator="ratio",
        margin=0.05,
        patience=3,
    )
    return discover(dataset, settings)


def test_easy_world_is_settled_by_the_methods_own_rule_and_is_right() -> None:
    found = easy()
    assert found.settled
    assert found.iterations < 150
    assert (found.parents == graph("chain3").parents).all()
    assert found.removed == ()
    decided = (found.probabilities < 0.05) | (found.probabilities > 0.95)
    assert decided.all()
    assert [record["undecided"] for record in found.history[-3:]] == [0, 0, 0]
