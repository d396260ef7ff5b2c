"""Tables of counts for phase 2: how likely rows are under a table that was seen before, or under a new one.

Legend: M variables, R rows, T combinations of parents, N categories.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln

from sdi.method.neural.batches import Pool

LARGEST_TABLE = 64  # combinations of parents up to which there is a table
LARGE = 8.0  # counts from which Stirling's series is exact to float32


class Tables(NamedTuple):
    """Of each variable, where its parents put a row in the table, and what was observed there."""

    stride: jax.Array  # [M, M], 0 for those that are no parents
    fits: jax.Array  # [M], not larger than the largest; the rest is meaningless otherwise
    cells: jax.Array  # [M], combinations times categories less one
    counts: jax.Array  # [M, T, N]


def tables_of(parents: jax.Array, states: jax.Array, most: int, observed: Pool, size: jax.Array | float) -> Tables:
    """The tables of `parents` ``[M, M]`` in the `size` rows behind `observed`; at `most` so many `states` ``[M]``."""
    sizes = jnp.where(parents, states, 1).astype(jnp.float32)  # float: the product may be huge
    reached = jnp.cumprod(sizes, axis=1)  # [M, M]
    stride = jnp.where(parents, reached / sizes, 0.0)
    fits = reached[:, -1] <= LARGEST_TABLE
    rows = jnp.asarray(observed.rows)
    weight = jnp.diff(jnp.asarray(observed.cumulative), prepend=0.0) * size

    def one(drawn: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        stride, fits, own = drawn
        return jax.lax.cond(
            fits,
            lambda: count(rows, rows[:, own], stride, weight, most),
            lambda: jnp.zeros((LARGEST_TABLE, most)),
        )

    counts = jax.lax.map(one, (stride, fits, jnp.arange(len(states))))
    return Tables(stride, fits, reached[:, -1] * (states - 1), counts)


def count(rows: jax.Array, values: jax.Array, stride: jax.Array, weight: jax.Array, most: int) -> jax.Array:
    """How much weight falls on each combination of parents and each value ``[T, N]``."""
    position = (rows @ stride).astype(jnp.int32)
    cells = jax.ops.segment_sum(weight, position * most + values.astype(jnp.int32), LARGEST_TABLE * most)
    return cells.reshape(LARGEST_TABLE, most)


def log_marginal(counts: jax.Array, before: jax.Array, exists: jax.Array) -> jax.Array:
    """Log-likelihood of `counts` ``[..., T, N]`` after those `before`: Dirichlet, one count for each to begin with."""
    prior = jnp.where(exists, 1 + before, 0.0)
    each = jnp.where(exists, log_rising(jnp.where(exists, prior, 1.0), counts), 0.0)
    return each.sum(axis=(-2, -1)) - log_rising(prior.sum(axis=-1), counts.sum(axis=-1)).sum(axis=-1)


def log_rising(a: jax.Array, n: jax.Array) -> jax.Array:
    """log Gamma(a + n) / Gamma(a): without the loss of digits that the difference of two large numbers brings."""
    large = jnp.maximum(a, LARGE)
    series = n * jnp.log(large) + (large + n - 0.5) * jnp.log1p(n / large) - n + (1 / (large + n) - 1 / large) / 12
    small = jnp.minimum(a, LARGE)
    return jnp.where(a > LARGE, series, gammaln(small + n) - gammaln(small))
