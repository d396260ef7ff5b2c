"""Batches: rows drawn with replacement, each distinct row evaluated once where there are few of them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sdi.worlds.world import Rows


class Pool(NamedTuple):
    """Rows to draw from, padded to a common length so that one compilation serves all environments.

    Where all combinations of categories together are fewer than the rows of a batch, `rows` are those combinations
    and `cumulative` says how often each occurred: a batch is then the whole pool with weights, not a choice of rows.
    """

    rows: jax.Array | Rows  # [R, M]
    cumulative: jax.Array | np.ndarray  # [R], share of the draws that fall on this row or an earlier one


class Batch(NamedTuple):
    """Rows ``[B, M]`` and the share of the batch that each makes up ``[B]``."""

    rows: jax.Array
    share: jax.Array


def pool(rows: Rows, cardinalities: tuple[int, ...], batch: int, length: int | None = None) -> Pool:
    """A pool of `rows`, of the given `length` or as long as it needs to be."""
    combinations = int(np.prod([float(size) for size in cardinalities]).clip(max=2.0**31))
    if combinations < batch:
        radix = np.cumprod([1, *cardinalities[:-1]])
        counts = np.bincount(rows @ radix, minlength=combinations)
        every = (np.arange(combinations)[:, None] // radix % np.array(cardinalities)).astype(rows.dtype)
        return Pool(every, (np.cumsum(counts) / len(rows)).astype(np.float32))
    padded = np.zeros((length or len(rows), rows.shape[1]), rows.dtype)
    padded[: len(rows)] = rows
    return Pool(padded, np.minimum(np.arange(1, len(padded) + 1) / len(rows), 1).astype(np.float32))


def draw_batch(key: jax.Array, pool: Pool, size: int) -> Batch:
    """`size` rows with replacement; the same in distribution whether or not rows are merged."""
    position = jnp.searchsorted(pool.cumulative, jax.random.uniform(key, (size,)), side="right")
    if len(pool.rows) < size:
        return Batch(jnp.asarray(pool.rows), jnp.bincount(position, length=len(pool.rows)) / size)
    return Batch(jnp.asarray(pool.rows)[position], jnp.full(size, 1 / size))
