"""The learner: one masked MLP per variable, and the log-likelihood of every variable under a configuration.

Legend: M variables, N largest number of categories, H hidden units, B rows. ``configuration[i, j]`` is 1 where the
network of variable i may look at variable j. The variable whose network it is comes first in every array.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

SLOPE = 0.1  # of the LeakyReLU
NEVER = -1e9  # the logit of a category that a variable does not have


class Weights(NamedTuple):
    """All networks at once."""

    w0: jax.Array  # [M, M, N, H] network, input variable, its category, hidden unit
    b0: jax.Array  # [M, H]
    w1: jax.Array  # [M, H, N]
    b1: jax.Array  # [M, N]


def initial_weights(key: jax.Array, cardinalities: Sequence[int], hidden: int | None = None) -> Weights:
    """Orthogonal weights, small biases. Unequal cardinalities are padded here and nowhere else.

    The bias of a category that a variable does not have is so low that its probability, and with it the gradient of
    everything that leads there, is exactly zero: training never moves it.
    """
    m, n = len(cardinalities), max(cardinalities)
    h = hidden or 4 * max(m, n)
    # NumPy: a decomposition that is needed once would take JAX longer to compile than all else at the start.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    w0 = _orthogonal(rng, m, m * n, h).reshape(m, m, n, h)
    w1 = _orthogonal(rng, m, h, n)
    b0, b1 = rng.uniform(-0.1, 0.1, (m, h)), rng.uniform(-0.1, 0.1, (m, n))
    exists = np.arange(n) < np.array(cardinalities)[:, None]  # [M, N]
    return Weights(*(jnp.asarray(each, jnp.float32) for each in (w0, b0, w1, np.where(exists, b1, NEVER))))


def _orthogonal(rng: np.random.Generator, count: int, rows: int, columns: int) -> NDArray[np.float64]:
    """Random matrices with orthonormal rows or columns, whichever are fewer ``[count, rows, columns]``."""
    q, r = np.linalg.qr(rng.standard_normal((count, max(rows, columns), min(rows, columns))))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None]  # makes the draw uniform over orthogonal matrices
    return np.asarray(q if rows >= columns else q.transpose(0, 2, 1))


def hidden_layer(
    weights: Weights, rows: jax.Array, configuration: jax.Array, columns: jax.Array | None = None
) -> jax.Array:
    """What the networks make of the parents they may look at ``[M, B, H]``.

    `rows` are codes ``[B, M]``; `configuration` is ``[M, M]`` for all rows or ``[B, M, M]`` with one for each. With
    `columns` ``[M, K]`` network i has K inputs, the variables ``columns[i]``, and a configuration is ``[B, M, K]``.
    """
    if columns is not None:
        return _hidden_of_some(weights, rows, configuration, columns)
    m, _, n, h = weights.w0.shape
    seen = jax.nn.one_hot(rows, n)  # [B, M, N]
    w0 = weights.w0.reshape(m, m * n, h)
    if configuration.ndim == 2:  # masking the weights instead of the inputs leaves one matrix product for all rows
        masked = weights.w0 * configuration[:, :, None, None]
        hidden = jnp.einsum("bk,ikh->ibh", seen.reshape(-1, m * n), masked.reshape(w0.shape))
    else:
        inputs = seen * configuration.transpose(1, 0, 2)[..., None]  # [M, B, M, N]
        hidden = jnp.einsum("ibk,ikh->ibh", inputs.reshape(m, -1, m * n), w0)
    return jax.nn.leaky_relu(hidden + weights.b0[:, None], SLOPE)


def _hidden_of_some(weights: Weights, rows: jax.Array, configuration: jax.Array, columns: jax.Array) -> jax.Array:
    m, k, n, h = weights.w0.shape
    inputs = jax.nn.one_hot(rows.T[columns], n).transpose(0, 2, 1, 3)  # [M, B, K, N]
    inputs *= configuration.transpose(1, 0, 2)[..., None]
    hidden = jnp.einsum("ibk,ikh->ibh", inputs.reshape(m, -1, k * n), weights.w0.reshape(m, k * n, h))
    return jax.nn.leaky_relu(hidden + weights.b0[:, None], SLOPE)


def log_likelihood(
    weights: Weights, rows: jax.Array, configuration: jax.Array, columns: jax.Array | None = None
) -> jax.Array:
    """log P(x_i | x_parents(i)) for every variable and row ``[M, B]``; arguments as for `hidden_layer`."""
    logits = jnp.einsum("ibh,ihn->ibn", hidden_layer(weights, rows, configuration, columns), weights.w1)
    values = jax.nn.one_hot(rows.T, weights.b1.shape[1])  # [M, B, N]
    return jnp.sum(jax.nn.log_softmax(logits + weights.b1[:, None]) * values, axis=-1)


def draw_configurations(key: jax.Array, probabilities: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """C ~ Bernoulli(probabilities) ``[*shape, M, M]``; a probability of 0 is never drawn, of 1 always."""
    size = math.prod(shape) * probabilities.size
    words = jax.random.bits(key, (-(-size // 2),), jnp.uint32)  # half of one is fine enough, and half the work
    uniform = jax.lax.bitcast_convert_type(words, jnp.uint16).reshape(-1)[:size]
    return (uniform.reshape(*shape, *probabilities.shape) < probabilities * 2.0**16).astype(jnp.float32)
