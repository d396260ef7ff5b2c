"""Phases 2 and 3 of the default, all environments at once: targets, gains, and beliefs that follow the evidence."""

import jax
import jax.numpy as jnp
import numpy as np

from sdi.method.neural.batches import Pool
from sdi.method.neural.candidates import Part, looked_at
from sdi.method.neural.phase2_gains import gains, gains_by_network
from sdi.method.neural.phase2_residuals import MOST_ROWS, Networks, Sample, ask, nothing_asked
from sdi.method.neural.phase2_targets import find_targets
from sdi.method.neural.phase3_evidence import Weighed, follow, in_doubt, price_of
from sdi.method.neural.scene import Learnt, Scene, declared
from sdi.method.settings import Settings
from sdi.worlds.world import Environment, Rows, World

ROUND = 100  # lengths of environments are rounded up to a multiple of this many rows
SELDOM = 3  # iterations in which many rows are asked once what networks leave, while no belief moves
FACT = 0.02  # a belief this close to 0 or 1 counts as a fact when edges are scored


def weigh(
    structure: Weighed, scene: Scene, count: int, rng: np.random.Generator, key: jax.Array, settings: Settings
) -> Learnt:
    """`count` environments, or all there are."""
    world, weights, observed, size, probabilities, clamp, known, part, ripe = scene
    to_target, to_gains, to_order = jax.random.split(key, 3)
    visited = _environments(world, count, rng, part)
    most = settings.rows_of_each(len(world.names))
    parts = [each.observe(most, rng) for each in visited]
    rows, real = _padded(parts, _length(parts, world, most))
    scored = (rows, real)
    if rows.shape[1] > settings.rows_scored:
        scored = _padded([_some(each, settings.rows_scored, rng) for each in parts], settings.rows_scored)
    # What is all but decided is taken as decided: one chance in 500, times thousands of rows, would outweigh the rest.
    sharp = _rounded(probabilities)
    if known is None:
        guess = find_targets(weights, observed, size, rows, real, sharp, to_target, settings, part)
    else:
        guess = jnp.asarray(known)
    given = declared(visited, settings.targets, len(world.names))
    touched = jnp.where(jnp.isnan(given), guess, given)
    if part is None:
        worth, looked = gains(weights, *scored, sharp, to_gains, settings), None
    else:
        worth = gains_by_network(weights, *scored, sharp, part.columns, to_gains)
        looked = looked_at(part.columns)
    fresh = not world.environments
    share = 1.0 if fresh else len(world.environments) / len(visited)
    free = jnp.asarray(world.cardinalities) - 1
    left = nothing_asked(len(world.names))
    if ripe and not fresh and settings.estimator == "flips" and _may_be_left(structure, size, probabilities, settings):
        left = structure.evidence.left
    elif ripe and not fresh and settings.estimator == "flips":
        sample = _sample(observed, size, rows, real, touched)
        asked = np.asarray(clamp.open & in_doubt(structure, settings))
        believed = np.asarray(probabilities > 0.5)
        networks = Networks(weights, world.cardinalities, believed, np.asarray(price_of(free, settings)))
        left = ask(networks, sample, asked, rng)
    structure = follow(
        *(structure, worth, touched, probabilities, share, free, clamp, to_order, settings, fresh, looked, left)
    )
    return Learnt(structure, visited, np.asarray(touched))


def _may_be_left(structure: Weighed, size: float, probabilities: jax.Array, settings: Settings) -> bool:
    """Whether what was left the last time will do: of many rows, to ask takes as long as all else, and networks hardly
    change any more."""
    evidence = structure.evidence
    if size <= MOST_ROWS or not np.asarray(evidence.left.asked).any() or int(evidence.updates) % SELDOM == 0:
        return False
    return float(np.abs(np.asarray(probabilities - evidence.beliefs)).max()) < settings.margin


def _sample(observed: Pool, size: float, rows: jax.Array, real: jax.Array, touched: jax.Array) -> Sample:
    """Rows of the world left alone, and those of environments with what they touched."""
    counts = np.rint(np.diff(np.asarray(observed.cumulative), prepend=0.0) * size).astype(np.float32)
    there = np.asarray(real) > 0  # [E, R]
    seen = np.asarray(observed.rows)
    environment = np.concatenate([np.zeros(len(seen), np.intp), 1 + np.nonzero(there)[0]])
    by = np.where(touched < FACT, 0, touched).astype(np.float32)
    return Sample(
        np.concatenate([seen, np.asarray(rows)[there]]),
        np.concatenate([counts, np.ones(there.sum(), np.float32)]),
        environment,
        np.concatenate([np.zeros((1, seen.shape[1]), np.float32), by])[environment],
    )


@jax.jit
def _rounded(probabilities: jax.Array) -> jax.Array:
    return jnp.where(probabilities < FACT, 0.0, jnp.where(probabilities > 1 - FACT, 1.0, probabilities))


def _environments(world: World, count: int, rng: np.random.Generator, part: Part | None) -> tuple[Environment, ...]:
    """As many as asked for: new ones, or different ones of those that there are."""
    if not world.environments:
        return tuple(world.intervene(rng) for _ in range(count))
    if len(world.environments) <= count:
        return world.environments
    if part is not None:
        return tuple(world.environments[k] for k in part.visited)
    return tuple(world.environments[k] for k in sorted(rng.choice(len(world.environments), count, replace=False)))


def _length(parts: list[Rows], world: World, most: int) -> int:
    """One length for all iterations, so one compilation; on a finite table no longer than it need be, or hardly."""
    if not world.environments:
        return most
    return min(most, ROUND * -(-max(map(len, parts)) // ROUND))


def _some(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    return rows if len(rows) <= most else rows[rng.choice(len(rows), most, replace=False)]


def _padded(parts: list[Rows], length: int) -> tuple[jax.Array, jax.Array]:
    """Rows ``[E, R, M]`` and 1 for each that is real ``[E, R]``."""
    rows = np.zeros((len(parts), length, parts[0].shape[1]), parts[0].dtype)
    real = np.zeros((len(parts), length), np.float32)
    for e, part in enumerate(parts):
        rows[e, : len(part)], real[e, : len(part)] = part, 1
    return jnp.asarray(rows), jnp.asarray(real)
