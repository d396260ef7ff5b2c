"""Algorithm 1: fit, intervene, find the target, score, update; round and round."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdi.method.beliefs import Clamp, Knowledge, decide, edge_probabilities, is_decided
from sdi.method.neural.batches import Pool
from sdi.method.neural.batches import pool as make_pool
from sdi.method.neural.learner import Weights, initial_weights
from sdi.method.neural.phase1_fit import Fitted, fit, unfitted
from sdi.method.neural.phase2_score import score
from sdi.method.neural.phase2_targets import predict_target, surprise
from sdi.method.neural.phase3_update import Structure, initial_structure, update
from sdi.method.settings import Settings
from sdi.worlds.world import Environment, World


class State(NamedTuple):
    """All that the next iteration needs, besides what was given: a checkpoint is this and nothing more."""

    iteration: int
    interventions: int
    stable: int  # iterations since a belief was last undecided or changed sides
    fitted: Fitted
    structure: Structure
    targets: NDArray[np.float32]  # [E, M] of a finite world's environments, else [Q, M] of the last iteration's


class Info(NamedTuple):
    """What one iteration did, for those who watch."""

    iteration: int
    interventions: int
    probabilities: NDArray[np.float32]  # [M, M]
    undecided: int  # open edges whose belief is not within the margin
    loss: float  # -log-likelihood of a row at the end of phase 1
    environments: tuple[Environment, ...]  # those of this iteration ...
    targets: NDArray[np.float32]  # ... and the probability that each variable was touched in them [Q, M]


def initial_state(world: World, settings: Settings, seed: int) -> State:
    """Before the first iteration: random networks, beliefs near 0.5."""
    to_weights, to_structure = jax.random.split(jax.random.key(seed))
    size = len(world.names)
    weights = initial_weights(to_weights, world.cardinalities, settings.hidden)
    structure = initial_structure(to_structure, size, settings)
    return State(0, 0, 0, unfitted(weights, settings), structure, np.zeros((len(world.environments), size), np.float32))


def iterate(
    world: World,
    settings: Settings | None = None,
    knowledge: Knowledge | None = None,
    seed: int = 0,
    state: State | None = None,
) -> Iterator[tuple[State, Info]]:
    """(State, Info) after every iteration, until the beliefs have settled or a limit is reached.

    The same arguments give the same bits. Given a `state` it goes on from there, exactly as if it had never stopped.
    """
    settings, knowledge = settings or Settings(), knowledge or Knowledge()
    clamp = knowledge.clamp(world.names)
    state = state or initial_state(world, settings, seed)
    while stop_reason(state, settings) is None:
        state, info = _iteration(state, world, settings, clamp, seed)
        yield state, info


def stop_reason(state: State, settings: Settings) -> str | None:
    """Why there is no further iteration; None if there is one. Never looks at the truth."""
    if state.stable >= settings.patience:
        return "settled"
    if state.iteration >= settings.iterations:
        return "iterations"
    if settings.all_interventions is not None and state.interventions >= settings.all_interventions:
        return "interventions"
    return None


def _iteration(state: State, world: World, settings: Settings, clamp: Clamp, seed: int) -> tuple[State, Info]:
    """One pass through the outer loop of Algorithm 1."""
    rng = np.random.default_rng([seed, state.iteration])  # for the world
    key = jax.random.fold_in(jax.random.key(seed), state.iteration + 1)  # for the learner
    to_fit, to_interventions = jax.random.split(key)
    before = edge_probabilities(state.structure.gamma, clamp)

    world = world.redraw(rng)
    observed = _observe(world, settings.observational_rows or settings.fit_steps * settings.batch, world, rng, settings)
    fitted, loss = fit(state.fitted, observed, before, to_fit, settings)  # phase 1

    visited = tuple(world.intervene(rng) for _ in range(settings.interventions))  # phases 2 and 3
    pools = [_observe(each, settings.rows_per_intervention, world, rng, settings) for each in visited]
    given = [_declared(each, settings.targets, len(world.names)) for each in visited]
    structure, found = learn(
        state.structure,
        fitted.weights,
        observed,
        jax.tree.map(lambda *each: np.stack(each), *pools),
        np.stack(given),
        clamp,
        to_interventions,
        settings,
    )

    found, after = np.asarray(found), np.asarray(edge_probabilities(structure.gamma, clamp))
    undecided = int((~is_decided(after, clamp, settings.margin)).sum())
    same = not undecided and bool((decide(after).parents == decide(np.asarray(before)).parents).all())
    done = State(
        iteration=state.iteration + 1,
        interventions=state.interventions + len(visited),
        stable=state.stable + 1 if same else 0,
        fitted=fitted,
        structure=structure,
        targets=_remember(state.targets, world, visited, found),
    )
    return done, Info(done.iteration, done.interventions, after, undecided, float(loss), visited, found)


@partial(jax.jit, static_argnames="settings")
def learn(
    structure: Structure,
    weights: Weights,
    observed: Pool,
    pools: Pool,
    declared: jax.Array,
    clamp: Clamp,
    key: jax.Array,
    settings: Settings,
) -> tuple[Structure, jax.Array]:
    """The inner loop of Algorithm 1: Q interventions; also the targets that were found ``[Q, M]``."""
    to_baseline, to_interventions = jax.random.split(key)
    start = edge_probabilities(structure.gamma, clamp)
    baseline = surprise(weights, observed, start, to_baseline, settings)

    def intervention(structure: Structure, drawn: tuple[Pool, jax.Array, jax.Array]) -> tuple[Structure, jax.Array]:
        pool, given, key = drawn
        to_target, to_score = jax.random.split(key)
        probabilities = edge_probabilities(structure.gamma, clamp)
        guess = predict_target(weights, pool, probabilities, baseline, to_target, settings)  # phase 2
        target = jnp.where(jnp.isnan(given), guess, given)
        scores = score(weights, pool, probabilities, to_score, settings)
        return update(structure, scores, target, clamp, settings), target  # phase 3

    keys = jax.random.split(to_interventions, len(declared))
    return jax.lax.scan(intervention, structure, (pools, declared, keys))


def _observe(source: World | Environment, n: int, world: World, rng: np.random.Generator, settings: Settings) -> Pool:
    return make_pool(source.observe(n, rng), world.cardinalities, settings.batch, n if source is not world else None)


def _declared(environment: Environment, how: str, size: int) -> NDArray[np.float32]:
    """1 for each variable that is declared to be touched and 0 for the others; nan where nothing is declared."""
    if environment.target is not None and how not in ("random", "ignored"):
        return np.isin(np.arange(size), environment.target).astype(np.float32)
    if how == "known":
        raise ValueError(
            f"targets='known', but environment {environment.name!r} does not declare its target; "
            "declare it, or choose targets='deterioration'"
        )
    return np.full(size, np.nan, np.float32)


def _remember(
    targets: NDArray[np.float32], world: World, visited: tuple[Environment, ...], found: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Of each environment of a finite world, what its latest iteration said (the mean over visits)."""
    if not world.environments:
        return found
    targets = targets.copy()
    for e, environment in enumerate(world.environments):
        of_it = [row for each, row in zip(visited, found, strict=True) if each is environment]
        if of_it:
            targets[e] = np.mean(of_it, axis=0)
    return targets
