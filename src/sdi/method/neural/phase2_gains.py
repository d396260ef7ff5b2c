"""Phase 2 of the default: what each edge is worth on each row, by flipping it and nothing else.

E_C[log p(x_i | x_C)] is linear in every belief P_ij; its derivative is the mean of log p(x_i | c_ij = 1) -
log p(x_i | c_ij = 0) over the other entries of the row. Both terms are evaluated on the same sample and the same rest,
for every j. The first layer is a sum over parents, so that a flip adds or takes away one column W0[i, j, x_j].

Legend: M variables, B rows, H hidden units, E environments, R rows of each.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sdi.method.neural.candidates import narrow, pick, spread
from sdi.method.neural.learner import SLOPE, Weights, draw_configurations, log_likelihood
from sdi.method.settings import Settings

BLOCK = 50  # rows at a time: what a flip needs then stays in cache
SMALL_BLOCK = 25  # the same where there are many variables
LARGEST_GAIN = 5.0  # nats; no single row may say more, however sure a network is of what it has never seen


class Gains(NamedTuple):
    """What each edge brought in each environment, in nats."""

    total: jax.Array  # [E, M, M], summed over its rows
    square: jax.Array  # [E, M, M], the same of the squares
    rows: jax.Array  # [E], how many there were


def flip_gains(weights: Weights, rows: jax.Array, configuration: jax.Array) -> jax.Array:
    """log p(x_i | c_ij = 1) - log p(x_i | c_ij = 0) for rows ``[B, M]`` under ``[B, M, M]``: ``[M, B, M]``."""
    return jax.vmap(flips_of, in_axes=(0, 1, 1, None))(weights, configuration, rows, rows)


def flips_of(own: Weights, mask: jax.Array, value: jax.Array, seen: jax.Array) -> jax.Array:
    """The same of one network, whose inputs are `seen` ``[B, K]`` under the mask ``[B, K]``."""
    columns = own.w0[jnp.arange(seen.shape[1]), seen]  # [B, K, H]
    now = own.b0 + jnp.einsum("bj,bjh->bh", mask, columns)
    flipped = now[:, None] + (1 - 2 * mask)[..., None] * columns  # [B, K, H]
    both = jnp.concatenate([now[:, None], flipped], axis=1)
    logits = jax.nn.leaky_relu(both, SLOPE) @ own.w1 + own.b1  # [B, 1 + K, N]
    chosen = jnp.take_along_axis(logits, value[:, None, None].astype(jnp.int32), axis=2)[..., 0]
    fit = chosen - jax.nn.logsumexp(logits, axis=-1)
    return (2 * mask - 1) * (fit[:, :1] - fit[:, 1:])


def draw_gains(weights: Weights, rows: jax.Array, configurations: jax.Array) -> jax.Array:
    """The same from configurations ``[K, M, M]`` that all rows share: the mean with an edge minus that without."""
    fit = jax.vmap(lambda c: log_likelihood(weights, rows, c))(configurations)  # [K, M, B]
    share = configurations / jnp.maximum(configurations.sum(axis=0), 1)
    other = (1 - configurations) / jnp.maximum((1 - configurations).sum(axis=0), 1)
    seen = (configurations.max(axis=0) > 0) & (configurations.min(axis=0) < 1)  # both ways, or there is no difference
    return jnp.einsum("kib,kij->ibj", fit, jnp.where(seen, share - other, 0.0))


@partial(jax.jit, static_argnames="settings")
def gains(
    weights: Weights, rows: jax.Array, real: jax.Array, probabilities: jax.Array, key: jax.Array, settings: Settings
) -> Gains:
    """What each edge is worth on the rows ``[E, R, M]`` of each environment; `real` is 0 for padding ``[E, R]``."""
    size, (length, m) = len(rows), rows.shape[1:]
    blocks = -(-length // BLOCK)
    padding = [(0, 0), (0, blocks * BLOCK - length)]
    rows = jnp.pad(rows, [*padding, (0, 0)]).reshape(size * blocks, BLOCK, m)
    real = jnp.pad(real, padding).reshape(size * blocks, BLOCK)

    def of_block(drawn: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        rows, real, key = drawn
        if settings.estimator == "flips":
            each = flip_gains(weights, rows, draw_configurations(key, probabilities, (BLOCK,)))  # [M, B, M]
        else:
            shared = draw_configurations(key, probabilities, (settings.scoring_configurations,))
            each = draw_gains(weights, rows, shared)
        each = jnp.clip(each, -LARGEST_GAIN, LARGEST_GAIN)
        return jnp.einsum("ibj,b->ij", each, real), jnp.einsum("ibj,b->ij", each**2, real)

    sums = jax.lax.map(of_block, (rows, real, jax.random.split(key, len(rows))))
    total, square = (each.reshape(size, blocks, m, m).sum(axis=1) for each in sums)
    return Gains(total, square, real.reshape(size, -1).sum(axis=1))


@jax.jit
def gains_by_network(
    weights: Weights, rows: jax.Array, real: jax.Array, probabilities: jax.Array, columns: jax.Array, key: jax.Array
) -> Gains:
    """The same for the parents in `columns` ``[M, K]`` alone, 0 for others: one network after another.

    With many variables one network and its flips fill the cache; all networks at once take four times as long.
    """
    size, (length, m) = len(rows), rows.shape[1:]
    blocks = -(-length // SMALL_BLOCK)
    padding = [(0, 0), (0, blocks * SMALL_BLOCK - length)]
    flat = jnp.pad(rows, [*padding, (0, 0)]).reshape(size * blocks, SMALL_BLOCK, m)
    weight = jnp.pad(real, padding).reshape(size * blocks, SMALL_BLOCK)

    def of_network(drawn: Any) -> jax.Array:
        own, chances, inputs, variable, key = drawn
        masks = draw_configurations(key, chances, flat.shape[:2])

        def of_block(drawn: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
            rows, real, mask = drawn
            each = jnp.clip(flips_of(own, mask, rows[:, variable], rows[:, inputs]), -LARGEST_GAIN, LARGEST_GAIN)
            return jnp.stack([real @ each, real @ each**2])

        sums = jax.lax.map(of_block, (flat, weight, masks))  # [E * blocks, 2, K]
        return sums.reshape(size, blocks, 2, -1).sum(axis=1)

    networks = (narrow(weights, columns), pick(probabilities, columns), columns, jnp.arange(m))
    sums = jax.lax.map(of_network, (*networks, jax.random.split(key, m)))  # [M, E, 2, K]
    total, square = (spread(each, columns) for each in sums.transpose(2, 1, 0, 3))
    return Gains(total, square, real.sum(axis=1))
