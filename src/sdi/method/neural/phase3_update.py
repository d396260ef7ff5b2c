"""Phase 3: turn scores into better beliefs."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from sdi.method.beliefs import Clamp, edge_probabilities
from sdi.method.neural.phase2_score import Scores
from sdi.method.settings import Settings


class Structure(NamedTuple):
    """The structural parameters and, for each row of them, its own optimiser."""

    gamma: jax.Array  # [M, M]
    moments: optax.OptState  # every leaf [M, ...]


def _optimiser(settings: Settings) -> optax.GradientTransformation:
    return optax.adam(settings.belief_rate, *settings.belief_betas)


def initial_structure(key: jax.Array, size: int, settings: Settings) -> Structure:
    """Every open edge believed at about 0.5."""
    start = settings.belief_start
    gamma = jax.random.uniform(key, (size, size), minval=-start, maxval=start)
    return Structure(gamma, jax.vmap(_optimiser(settings).init)(gamma))


def ratio_gradient(scores: Scores, probabilities: jax.Array, batch: int) -> jax.Array:
    """g_ij = sum_k (p_ij - c_ij^k) L_i^k / sum_k L_i^k with L_i^k the likelihood of variable i under draw k.

    NOTE Read with L the log-likelihood, Equation 2 has the wrong sign; in its source (Bengio et al. 2019) L is the
    likelihood, so that the weights are a softmax of the log-likelihood over the draws of one batch. It is taken per
    row (the geometric mean over the batch): with that of 256 rows at once, one draw takes all the weight.
    """
    weight = jax.nn.softmax(scores.log_likelihood / batch, axis=1)  # [S, C, M]
    return jnp.einsum("scij,sci->ij", probabilities - scores.configurations, weight) / len(weight)


def paper_gradient(scores: Scores, probabilities: jax.Array, batch: int) -> jax.Array:
    """As Algorithm 1 sums it: over the configurations of a batch first, then a softmax over the batches."""
    difference = (probabilities - scores.configurations).sum(axis=1)  # [S, M, M]
    weight = jax.nn.softmax(scores.log_likelihood.sum(axis=1) / batch, axis=0)  # [S, M]
    return jnp.einsum("sij,si->ij", difference, weight)


ESTIMATORS: dict[str, Callable[[Scores, jax.Array, int], jax.Array]] = {
    "ratio": ratio_gradient,
    "paper": paper_gradient,
}


def acyclicity(p: jax.Array) -> jax.Array:
    """sum_{i>j} cosh(p_ij p_ji)"""
    return jnp.tril(jnp.cosh(p * p.T), k=-1).sum()


def penalty(gamma: jax.Array, clamp: Clamp, settings: Settings) -> jax.Array:
    """lambda_sparse sum p_ij + lambda_DAG sum_{i>j} cosh(p_ij p_ji)"""
    p = edge_probabilities(gamma, clamp)
    return settings.sparsity * p.sum() + settings.acyclicity * acyclicity(p)


@partial(jax.jit, static_argnames="settings")
def update(structure: Structure, scores: Scores, target: jax.Array, clamp: Clamp, settings: Settings) -> Structure:
    """One step of Adam on gamma. The rows of the target, and their moments, stay exactly as they were."""
    gamma, moments = structure
    gradient = ESTIMATORS[settings.estimator](scores, edge_probabilities(gamma, clamp), settings.batch)
    gradient += jax.grad(penalty)(gamma, clamp, settings)
    change, stepped = jax.vmap(_optimiser(settings).update)(jnp.where(clamp.open, gradient, 0.0), moments)
    moved = jnp.clip(gamma + change, -settings.belief_limit, settings.belief_limit)
    touched = target > 0.5  # [M]

    def keep(old: jax.Array, new: jax.Array) -> jax.Array:
        return jnp.where(touched.reshape(-1, *[1] * (new.ndim - 1)), old, new)

    return jax.tree.map(keep, structure, Structure(moved, stepped))
