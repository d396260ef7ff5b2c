"""The learner: one masked MLP per variable, and the log-likelihood of every variable under a configuration.

Legend: M variables, N largest number of categories, H hidden units, B rows. ``configuration[i, j]`` is 1 where the
network of variable i may look at variable j. The variable whose network it is comes first in every array.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

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
    orthogonal = jax.nn.initializers.orthogonal()
    keys = jax.random.split(key, (4, m))
    w0 = jax.vmap(lambda k: orthogonal(k, (h, m * n)).T.reshape(m, n, h))(keys[0])
    w1 = jax.vmap(lambda k: orthogonal(k, (n, h)).T)(keys[1])
    b0 = jax.vmap(lambda k: jax.random.uniform(k, (h,), minval=-0.1, maxval=0.1))(keys[2])
    b1 = jax.vmap(lambda k: jax.random.uniform(k, (n,), minval=-0.1, maxval=0.1))(keys[3])
    exists = jnp.arange(n) < jnp.asarray(cardinalities)[:, None]  # [M, N]
    return Weights(w0, b0, w1, jnp.where(exists, b1, NEVER))


def hidden_layer(weights: Weights, rows: jax.Array, configuration: jax.Array) -> jax.Array:
    """What the networks make of the parents they may look at ``[M, B, H]``.

    `rows` are codes ``[B, M]``; `configuration` is ``[M, M]`` for all rows or ``[B, M, M]`` with one for each.
    """
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


def log_likelihood(weights: Weights, rows: jax.Array, configuration: jax.Array) -> jax.Array:
    """log P(x_i | x_parents(i)) for every variable and row ``[M, B]``; arguments as for `hidden_layer`."""
    logits = jnp.einsum("ibh,ihn->ibn", hidden_layer(weights, rows, configuration), weights.w1)
    values = jax.nn.one_hot(rows.T, weights.b1.shape[1])  # [M, B, N]
    return jnp.sum(jax.nn.log_softmax(logits + weights.b1[:, None]) * values, axis=-1)


def draw_configurations(key: jax.Array, probabilities: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """C ~ Bernoulli(probabilities) ``[*shape, M, M]``; a probability of 0 is never drawn, of 1 always."""
    uniform = jax.random.uniform(key, (*shape, *probabilities.shape))
    return (uniform < probabilities).astype(jnp.float32)
