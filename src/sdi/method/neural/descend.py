"""Phases 2 and 3 of the paper, one intervention after another: target, scores, a step of Adam on the beliefs."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdi.method.beliefs import Clamp, edge_probabilities
from sdi.method.neural.batches import Pool
from sdi.method.neural.batches import pool as make_pool
from sdi.method.neural.learner import Weights
from sdi.method.neural.phase2_score import score
from sdi.method.neural.phase2_targets import predict_target, surprise
from sdi.method.neural.phase3_update import Structure, update
from sdi.method.neural.scene import Learnt, Scene, declared
from sdi.method.settings import Settings
from sdi.worlds.world import Environment, World


class Gathered(NamedTuple):
    """The environments of an iteration, their rows, and what they declare of their targets."""

    visited: tuple[Environment, ...]
    pools: Pool  # every leaf [Q, ...]
    given: NDArray[np.float32]  # [Q, M]


def gather(world: World, count: int, rng: np.random.Generator, settings: Settings) -> Gathered:
    """`count` interventions. They do not depend on beliefs, so all can be made before the first is learnt from."""
    limit = settings.rows_of_each(len(world.names))
    visited = tuple(world.intervene(rng) for _ in range(count))
    pools = [make_pool(each.observe(limit, rng), world.cardinalities, settings.batch, limit) for each in visited]
    stacked = jax.tree.map(lambda *each: np.stack(each), *pools)
    return Gathered(visited, stacked, declared(visited, settings.targets, len(world.names)))


def descend(
    structure: Structure, scene: Scene, count: int, rng: np.random.Generator, key: jax.Array, settings: Settings
) -> Learnt:
    """`count` interventions, one after another."""
    visited, pools, given = gather(scene.world, count, rng, settings)
    structure, found = learn(structure, scene.weights, scene.observed, pools, given, scene.clamp, key, settings)
    return Learnt(structure, visited, np.asarray(found))


@partial(jax.jit, static_argnames="settings")
def learn(
    structure: Structure,
    weights: Weights,
    observed: Pool,
    pools: Pool,
    given: jax.Array,
    clamp: Clamp,
    key: jax.Array,
    settings: Settings,
) -> tuple[Structure, jax.Array]:
    """The inner loop of Algorithm 1: Q interventions; also the targets that were found ``[Q, M]``."""
    to_baseline, to_interventions = jax.random.split(key)
    start = edge_probabilities(structure.gamma, clamp)
    baseline = surprise(weights, observed, start, to_baseline, settings)

    def intervention(structure: Structure, drawn: tuple[Pool, jax.Array, jax.Array]) -> tuple[Structure, jax.Array]:
        pool, told, key = drawn
        to_target, to_score = jax.random.split(key)
        probabilities = edge_probabilities(structure.gamma, clamp)
        guess = predict_target(weights, pool, probabilities, baseline, to_target, settings)  # phase 2
        target = jnp.where(jnp.isnan(told), guess, told)
        scores = score(weights, pool, probabilities, to_score, settings)
        return update(structure, scores, target, clamp, settings), target  # phase 3

    keys = jax.random.split(to_interventions, len(given))
    return jax.lax.scan(intervention, structure, (pools, given, keys))
