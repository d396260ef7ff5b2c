"""Algorithm 1: fit, intervene, find the target, score, update; round and round."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdi.method.beliefs import Clamp, Decided, Knowledge, decide, edge_probabilities, is_decided
from sdi.method.neural.batches import Pool
from sdi.method.neural.batches import pool as make_pool
from sdi.method.neural.candidates import LOOK_AGAIN, Part, choose
from sdi.method.neural.descend import descend
from sdi.method.neural.learner import initial_weights
from sdi.method.neural.phase1_fit import Fitted, fit, unfitted
from sdi.method.neural.phase3_evidence import Weighed, unweighed
from sdi.method.neural.phase3_update import Structure, initial_structure
from sdi.method.neural.scene import Learnt, Scene
from sdi.method.neural.weigh import weigh
from sdi.method.settings import Settings
from sdi.worlds.world import Environment, World

EVIDENCE = ("flips", "draws")  # estimators whose beliefs follow the evidence; the others descend a gradient
PATIENT = 1 / 3  # how much an iteration counts towards a stop that leaves some beliefs undecided ...
STEADY = 2 / 3  # ... and how much if none of them moved by more than the margin
CONFIRMED = 1.5  # the same where all are decided and all rows were new, if every edge has brought much ...
DOUBTED = 2 / 3  # ... and if one has not
LITTLE = 100.0  # nats over about ten iterations: networks that are not quite right make up half of that
# Where rows are the same every time:
LATE = 12  # iterations after which networks know their parents well enough, calm or not
HOVER = 0.2  # beliefs further than this from 0 and 1 may change sides without being news
RIPE = 9  # times that networks should have seen each row by the time that the graph is calm
CLEAR = 0.02  # targets as sure as this are not looked for again while the graph is calm, but for every fifth time


class State(NamedTuple):
    """All that the next iteration needs, besides what was given: a checkpoint is this and nothing more."""

    iteration: int
    interventions: int
    stable: float  # iterations since a belief was last undecided or changed sides, each by what it counts (`_calm`)
    fitted: Fitted
    structure: Structure | Weighed
    targets: NDArray[np.float32]  # [E, M] of a finite world's environments, else [Q, M] of the last iteration's
    begun: int = 0  # iterations that do not count towards the limit: those before there were more rows

    def with_more_rows(self) -> "State":
        """What is known stays; it has to settle again, and has as many iterations for that as if it began."""
        return self._replace(stable=0.0, begun=self.iteration)


class Info(NamedTuple):
    """What one iteration did, for those who watch."""

    iteration: int
    interventions: int
    probabilities: NDArray[np.float32]  # [M, M]
    undecided: int  # open edges whose belief is not within the margin
    loss: float  # -log-likelihood of a row at the end of phase 1
    environments: tuple[Environment, ...]  # those of this iteration ...
    targets: NDArray[np.float32]  # ... and the probability that each variable was touched in them [Q, M]


def initial_state(world: World, settings: Settings, seed: int, start: NDArray[np.float32] | None = None) -> State:
    """Before the first iteration: random networks, beliefs near 0.5, or leaning as `start` does where it is not nan."""
    to_weights, to_structure = jax.random.split(jax.random.key(seed))
    size = len(world.names)
    weights = initial_weights(to_weights, world.cardinalities, settings.hidden)
    if settings.estimator in EVIDENCE:
        structure: Structure | Weighed = unweighed(size, settings, start)
    else:
        structure = initial_structure(to_structure, size, settings)
    return State(
        0, 0, 0.0, unfitted(weights, settings), structure, np.zeros((len(world.environments), size), np.float32)
    )


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


def believed(state: State, clamp: Clamp) -> jax.Array:
    """The probability of every edge ``[child, parent]``."""
    structure = state.structure
    return edge_probabilities(structure.gamma, clamp, structure.precedes if isinstance(structure, Weighed) else 1.0)


def concluded(state: State, clamp: Clamp) -> Decided:
    """One graph, and likely edges that are not in it."""
    return decide(np.asarray(believed(state, clamp)))


def stop_reason(state: State, settings: Settings) -> str | None:
    """Why there is no further iteration; None if there is one. Never looks at the truth."""
    if state.stable >= settings.patience:
        return "settled"
    if state.iteration - state.begun >= settings.iterations:
        return "iterations"
    if settings.all_interventions is not None and state.interventions >= settings.all_interventions:
        return "interventions"
    return None


class Look(NamedTuple):
    """What an iteration sees of the world left alone, and the random numbers it goes on with."""

    world: World
    rows: int
    observed: Pool
    again: bool  # the mechanisms are those of the iteration before
    interventions: int
    rng: np.random.Generator  # for the world
    to_fit: jax.Array
    to_learn: jax.Array


def look(state: State, world: World, settings: Settings, seed: int) -> Look:
    """The world of the next iteration, observed. Nothing but the seed and the number of the iteration is random."""
    rng = np.random.default_rng([seed, state.iteration])
    to_fit, to_learn = jax.random.split(jax.random.fold_in(jax.random.key(seed), state.iteration + 1))
    studied = world.redraw(rng)
    rows = studied.observe(settings.observational_rows or settings.fit_steps * settings.batch, rng)
    observed = make_pool(rows, studied.cardinalities, settings.batch)
    count = min(settings.interventions or max(16, 2 * len(studied.names)), _left(state, settings))
    again = state.iteration > 0 and studied is world
    return Look(studied, len(rows), observed, again, count, rng, to_fit, to_learn)


def _iteration(state: State, world: World, settings: Settings, clamp: Clamp, seed: int) -> tuple[State, Info]:
    """One pass through the outer loop of Algorithm 1."""
    seen = look(state, world, settings, seed)
    before = believed(state, clamp)
    earlier = None  # where the rows are the same every time, what was believed when they were last fitted
    if seen.world.environments and isinstance(state.structure, Weighed):
        earlier = state.structure.evidence.beliefs
    again = seen.again and (earlier is None or not _unripe(state, seen, settings))
    part = _part(state, seen, before, clamp, settings)
    shown = before if seen.world.environments else _doubted(before, state.structure, clamp)
    fitted, loss = fit(  # phase 1
        *(state.fitted, seen.observed, shown, seen.to_fit, settings, float(seen.rows), again, earlier),
        part and part.inputs,
    )
    known = None if earlier is None else _clear_targets(state, seen, part)
    ripe = state.stable >= 1 or state.iteration >= LATE
    scene = Scene(seen.world, fitted.weights, seen.observed, float(seen.rows), before, clamp, known, part, ripe)
    learn: Any = weigh if settings.estimator in EVIDENCE else descend  # phases 2 and 3
    learnt = learn(state.structure, scene, seen.interventions, seen.rng, seen.to_learn, settings)
    return conclude(state, fitted, float(loss), learnt, seen.world, clamp, settings)


def _doubted(beliefs: jax.Array, structure: Structure | Weighed, clamp: Clamp) -> jax.Array:
    """Beliefs by which parents are shown to networks whose rows are new every time ``[M, M]``.

    A parent that has brought little is shown half of the time at most, however much it is believed: networks that
    always see it come to rely on it, and what they then lose without it would confirm it.
    """
    return jnp.where(_little(structure, clamp), jnp.minimum(beliefs, 0.5), beliefs)


def _little(structure: Structure | Weighed, clamp: Clamp) -> jax.Array:
    """Open edges that have brought little ``[M, M]``; none where beliefs do not follow evidence."""
    if not isinstance(structure, Weighed):
        return jnp.zeros_like(clamp.open)
    return jnp.logical_and(clamp.open, structure.evidence.existence < LITTLE)


def _unripe(state: State, seen: Look, settings: Settings) -> bool:
    """The graph is calm, but networks have seen little of the rows, and most of that under other beliefs."""
    shown = int(state.fitted.moments.count) * settings.batch
    return state.stable >= 1 and shown < RIPE * seen.rows


def _part(state: State, seen: Look, before: jax.Array, clamp: Clamp, settings: Settings) -> Part | None:
    """What this iteration looks at, where that is not all."""
    if settings.estimator != "flips":  # the others cannot tell one pair from the rest
        return None
    found = state.targets[: len(seen.world.environments)]
    return choose(np.asarray(before), clamp.open, found, seen.interventions, state.iteration)


def _clear_targets(state: State, seen: Look, part: Part | None) -> NDArray[np.float32] | None:
    """What was found the last time, if the same rows under much the same beliefs would hardly say anything else."""
    found = state.targets
    if part is not None and part.suspects is not None:
        found = found[part.visited]
    elif len(seen.world.environments) > seen.interventions or state.iteration % LOOK_AGAIN == 0:
        return None
    return found if state.stable >= 1 and (np.minimum(found, 1 - found) < CLEAR).all() else None


def conclude(
    state: State, fitted: Fitted, loss: float, learnt: Learnt, world: World, clamp: Clamp, settings: Settings
) -> tuple[State, Info]:
    """The state after an iteration, and what there is to say of it."""
    structure, visited, found = learnt
    done = state._replace(
        iteration=state.iteration + 1,
        interventions=state.interventions + len(visited),
        fitted=fitted,
        structure=structure,
        targets=_remember(state.targets, world, visited, found),
    )
    before, after = np.asarray(believed(state, clamp)), np.asarray(believed(done, clamp))
    undecided = int((~is_decided(after, clamp, settings.margin)).sum())
    changed = decide(after).parents != decide(before).parents
    same = not changed.any()
    steady = bool(np.abs(after - before).max() < settings.margin)
    finite = bool(world.environments)
    doubted = bool((decide(after).parents & np.asarray(_little(structure, clamp))).any())
    calm = _calm(undecided, steady, doubted, finite, settings)
    # On a finite table, neither news nor rest:
    hovers = finite and settings.estimator in EVIDENCE and not (changed & is_decided(before, clamp, HOVER)).any()
    done = done._replace(stable=state.stable + calm if same and calm else state.stable if hovers else 0.0)
    return done, Info(done.iteration, done.interventions, after, undecided, loss, visited, found)


def _calm(undecided: int, steady: bool, doubted: bool, finite: bool, settings: Settings) -> float:
    """How much an iteration that left the graph as it was counts towards a stop.

    Where every row there will ever be has been seen, beliefs between yes and no may be all that these rows can say;
    not so while they descend a gradient: then they are still on their way. `doubted` is a graph with an edge that has
    brought little: what speaks for it may still be melting away.
    """
    if settings.estimator not in EVIDENCE:
        return 0.0 if undecided else 1.0
    if undecided:
        return 0.0 if not finite else STEADY if steady else PATIENT
    return 1.0 if finite else DOUBTED if doubted else CONFIRMED


def _left(state: State, settings: Settings) -> int:
    """Interventions that the limit on all of them still allows."""
    return 2**31 if settings.all_interventions is None else settings.all_interventions - state.interventions


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
