"""Phase 2 with many variables: the few of them in each environment that are worth a likelihood ratio.

A network errs in some way on rows of the world left alone. A variable is strange in an environment where its network
errs otherwise, on the whole or for some value of a parent it may have.

Legend: M variables, K columns of each, E environments, R rows of each, N categories, T suspects.
"""

from functools import partial
from typing import TypeAlias

import jax
import jax.numpy as jnp

from sdi.method.neural.batches import Pool
from sdi.method.neural.candidates import narrow, pick
from sdi.method.neural.learner import SLOPE, Weights

Network: TypeAlias = tuple[Weights, jax.Array, jax.Array, jax.Array]  # its chances and inputs [K], and whose it is
COMPARED = 4_096  # rows of the world left alone


@partial(jax.jit, static_argnames="count")
def strangest(
    weights: Weights,
    observed: Pool,
    rows: jax.Array,
    real: jax.Array,
    probabilities: jax.Array,
    columns: jax.Array,
    count: int,
) -> jax.Array:
    """The `count` variables with the strangest errors in each environment ``[E, T]``."""
    usual = jnp.asarray(observed.rows)[:COMPARED]

    def of_variable(network: Network) -> jax.Array:
        before, counted, _ = _errors(network, usual, jnp.ones(len(usual)))
        bias = before / jnp.maximum(counted, 1)[:, None]

        def of_environment(drawn: tuple[jax.Array, jax.Array]) -> jax.Array:
            errors, counted, variance = _errors(network, *drawn)
            square = (errors - counted[:, None] * bias) ** 2 / (variance + 1) - (variance > 0)
            each = square.sum(axis=1)  # on the whole, then for each value of each parent
            return jnp.maximum(each[0], each[1:].reshape(columns.shape[1], -1).sum(axis=1).max())

        return jax.lax.map(of_environment, (rows, real))

    m = len(columns)
    networks = (narrow(weights, columns), pick(probabilities, columns), columns, jnp.arange(m))
    strange = jax.lax.map(of_variable, networks)  # [M, E]
    return jax.lax.top_k(strange.T, min(count, m))[1]


def _errors(network: Network, rows: jax.Array, real: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Sums of errors, rows and variances, over all rows and those with each value of each parent ``[1 + KN, ...]``.

    Parents count as far as they are believed in, for no draw of them is needed to tell the strange from the usual.
    """
    own, chances, inputs, variable = network
    n = own.b1.shape[0]
    seen = jax.nn.one_hot(rows[:, inputs], n)  # [R, K, N]
    w0 = (own.w0 * chances[:, None, None]).reshape(-1, own.w0.shape[-1])
    hidden = jax.nn.leaky_relu(seen.reshape(len(rows), -1) @ w0 + own.b0, SLOPE)
    predicted = jax.nn.softmax(hidden @ own.w1 + own.b1)  # [R, N]
    error = (jax.nn.one_hot(rows[:, variable], n) - predicted) * real[:, None]
    others = (seen * (inputs != variable)[:, None]).reshape(len(rows), -1)  # its own values would explain it all
    groups = jnp.concatenate([jnp.ones((len(rows), 1)), others], axis=1).T  # [1 + KN, R]
    return groups @ error, groups @ real, groups @ (predicted * (1 - predicted) * real[:, None])
