"""Where the rows are the same every time: shorter fits, more decay, targets found once, and a stop that can wait."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sdi.method.beliefs import Knowledge
from sdi.method.neural import iterate as loop
from sdi.method.neural import weigh as phases
from sdi.method.neural.batches import pool
from sdi.method.neural.iterate import State, conclude, initial_state
from sdi.method.neural.learner import initial_weights
from sdi.method.neural.phase1_fit import Fitted, fit, unfitted
from sdi.method.neural.phase3_evidence import unweighed
from sdi.method.neural.scene import Learnt
from sdi.method.settings import Settings
from sdi.worlds.dataset import Dataset, FiniteEnvironment

SIZE = 6
TINY = Settings(method="neural", batch=16, fit_steps=40, refit_steps=40, hidden=8, target_steps=1)


def rows_of(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 2, (n, SIZE)).astype(np.uint8)


def fit_to(probabilities: Any, earlier: Any, *, again: bool, rows: float = 300.0) -> Fitted:
    start = unfitted(initial_weights(jax.random.key(0), (2,) * SIZE, 8), TINY)
    beliefs = jnp.asarray(probabilities, jnp.float32)
    before = None if earlier is None else jnp.asarray(earlier, jnp.float32)
    observed = pool(rows_of(300), (2,) * SIZE, TINY.batch)
    return fit(start, observed, beliefs, jax.random.key(1), TINY, rows, again, before)[0]


def moved_by(change: float) -> Any:
    """Beliefs of which those about one variable differ from 0.5 by `change` in all."""
    beliefs = np.full((SIZE, SIZE), 0.5) * (1 - np.eye(SIZE))
    beliefs[0, 1:] += change / (SIZE - 1)
    return beliefs


# --------------------------------------------------------------------------------------------------------- phase 1


@pytest.mark.parametrize(("change", "steps"), [(0.0, 10), (0.1, 10), (0.5, 20), (1.0, 40), (1.5, 40)])
def test_refit_is_as_long_as_beliefs_have_moved(change: float, steps: int) -> None:
    assert abs(int(fit_to(moved_by(change), moved_by(0), again=True).moments.count) - steps) <= 1


def test_refit_to_many_rows_shows_a_quarter_of_them_at_least() -> None:
    assert int(fit_to(moved_by(0), moved_by(0), again=True, rows=2000.0).moments.count) == 2000 // 4 // 16


def test_refit_is_no_shorter_where_rows_are_new() -> None:
    assert int(fit_to(moved_by(0), None, again=True).moments.count) == 40


def test_network_decays_faster_the_more_parents_it_has() -> None:
    """And one of up to three parents as fast as where rows are new."""
    beliefs = np.tril(np.ones((SIZE, SIZE)), -1)  # variable i has i parents
    plain, finite = fit_to(beliefs, None, again=False), fit_to(beliefs, beliefs, again=False)
    sizes = [np.sqrt((np.asarray(each.weights.w1) ** 2).sum(axis=(1, 2))) for each in (plain, finite)]
    np.testing.assert_allclose(sizes[1][:4], sizes[0][:4], rtol=1e-5)
    assert (sizes[1][4:] < 0.9 * sizes[0][4:]).all()


# --------------------------------------------------------------------------------------------------------- targets


def dataset() -> Dataset:
    environments = tuple(FiniteEnvironment(f"e{k}", rows_of(30, k)) for k in range(SIZE))
    return Dataset(tuple("ABCDEF"), (("0", "1"),) * SIZE, rows_of(300), environments)


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        ({}, False),
        ({"stable": 0.9}, True),
        ({"iteration": 5}, True),
        ({"targets": np.eye(SIZE, dtype=np.float32) * 0.97}, True),
    ],
    ids=["calm and clear", "not calm", "fifth iteration", "not clear"],
)
def test_clear_targets_are_looked_for_again_only_if_need_be(
    changes: dict[str, Any], again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []

    def find(weights: Any, observed: Any, size: Any, rows: Any, *others: Any) -> Any:
        looked.append(rows.shape)
        return jnp.zeros((SIZE, SIZE))

    monkeypatch.setattr(phases, "find_targets", find)
    world = dataset()
    clear = np.eye(SIZE, dtype=np.float32)
    calm = initial_state(world, TINY, 0)._replace(iteration=1, stable=1.0, targets=clear)._replace(**changes)
    state, info = next(iter(loop.iterate(world, TINY, state=calm)))
    assert looked == ([(SIZE, 100, SIZE)] if again else []), "30 rows are padded to 100, not to 500"
    np.testing.assert_array_equal(info.targets, 0 * clear if again else clear)
    np.testing.assert_array_equal(state.targets, info.targets)


@pytest.mark.parametrize(("asked", "for_targets", "for_edges"), [(None, 700, 500), (600, 600, 600)])
def test_edges_are_scored_by_fewer_rows_than_targets_where_variables_are_few(
    asked: int | None, for_targets: int, for_edges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any of the rows, not the first: a table may have been sorted."""
    seen: dict[str, Any] = {}
    names, rows = ("A", "B", "C"), np.sort(rows_of(650, 1)[:, :3], axis=0)
    world = Dataset(names, (("0", "1"),) * 3, rows_of(300)[:, :3], (FiniteEnvironment("e", rows),))

    def find(weights: Any, observed: Any, size: Any, rows: Any, *others: Any) -> Any:
        seen["targets"] = rows.shape[1]
        return jnp.zeros((1, 3))

    def gains(weights: Any, rows: Any, real: Any, *others: Any) -> Any:
        seen["edges"], seen["mean"] = rows.shape[1], float(np.asarray(rows)[0].mean())
        return original(weights, rows, real, *others)

    original = phases.gains
    monkeypatch.setattr(phases, "find_targets", find)
    monkeypatch.setattr(phases, "gains", gains)
    next(iter(loop.iterate(world, replace(TINY, rows_per_intervention=asked))))
    assert (seen["targets"], seen["edges"]) == (for_targets, for_edges)
    assert seen["mean"] == pytest.approx(rows.mean(), abs=0.06)


@pytest.mark.parametrize(
    ("changes", "settings", "asked"),
    [
        ({"stable": 1.0}, {}, True),
        ({"iteration": 12}, {}, True),
        ({}, {}, False),
        ({"stable": 1.0}, {"estimator": "draws"}, False),
    ],
    ids=["calm", "late", "neither", "drawn configurations"],
)
def test_what_networks_leave_is_asked_once_they_are_ripe(
    changes: dict[str, Any], settings: dict[str, Any], asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 rows left alone and 30 of each environment, each with what was found to be touched there."""
    samples = []

    def ask(networks: Any, sample: Any, *others: Any) -> Any:
        samples.append(sample)
        return original(networks, sample, *others)

    original = phases.ask
    monkeypatch.setattr(phases, "ask", ask)
    monkeypatch.setattr(phases, "find_targets", lambda *given: jnp.eye(SIZE) * 0.99 + 0.001)
    world, how = dataset(), replace(TINY, **settings)
    doubtful = np.full((SIZE, SIZE), 0.5, np.float32)
    before = initial_state(world, how, 0)._replace(iteration=1, targets=doubtful)._replace(**changes)
    next(iter(loop.iterate(world, how, state=before)))
    assert len(samples) == asked
    for sample in samples:
        assert sample.copies.sum() == pytest.approx(300 + 30 * SIZE)
        changed = sample.environment > 0
        assert not sample.touched[~changed].any()
        expected = np.eye(SIZE)[sample.environment[changed] - 1]
        np.testing.assert_allclose(sample.touched[changed], expected * 0.991, rtol=1e-5)


# ------------------------------------------------------------------------------------------------------------ stop


def believing(state: State, probability: float) -> State:
    structure: Any = state.structure
    gamma = jnp.full((SIZE, SIZE), np.log(probability / (1 - probability)))
    return state._replace(structure=structure._replace(gamma=gamma, precedes=jnp.ones((SIZE, SIZE))))


@pytest.mark.parametrize(
    ("rows", "moved", "updates", "asked", "again"),
    [
        (50_000, 0.0, 4, True, False),
        (50_000, 0.0, 6, True, True),  # every third time
        (50_000, 0.2, 4, True, True),  # a belief has moved
        (50_000, 0.0, 4, False, True),  # there is no answer yet
        (20_000, 0.0, 4, True, True),  # few rows are soon asked
    ],
)
def test_many_rows_are_asked_again_when_a_belief_has_moved_or_some_time_has_passed(
    rows: float, moved: float, updates: int, asked: bool, again: bool
) -> None:
    evidence = unweighed(SIZE, TINY).evidence
    left = evidence.left._replace(asked=np.full((SIZE, SIZE), asked))
    evidence = evidence._replace(left=left, updates=jnp.asarray(float(updates)), beliefs=jnp.asarray(moved_by(0)))
    structure = unweighed(SIZE, TINY)._replace(evidence=evidence)
    beliefs = jnp.asarray(moved_by(moved * (SIZE - 1)))
    assert phases._may_be_left(structure, rows, beliefs, TINY) is not again


@pytest.mark.parametrize(
    ("before", "after", "stable"),
    [
        (0.99, 0.98, 4 + 1.0),
        (0.70, 0.69, 4 + 2 / 3),
        (0.70, 0.60, 4 + 1 / 3),
        (0.55, 0.45, 4.0),
        (0.90, 0.30, 0.0),
        (0.10, 0.98, 0.0),
    ],
    ids=["decided", "steady", "moving", "hovering", "news", "decided otherwise"],
)
def test_iteration_counts_towards_the_stop_by_what_happened_in_it(before: float, after: float, stable: float) -> None:
    world = dataset()
    clamp = Knowledge(only=[("A", "B")]).clamp(world.names)
    start = believing(initial_state(world, TINY, 0)._replace(stable=4.0), before)
    learnt = Learnt(believing(start, after).structure, (), np.zeros((0, SIZE), np.float32))
    state, _ = conclude(start, start.fitted, 0.0, learnt, world, clamp, TINY)
    assert state.stable == pytest.approx(stable)
