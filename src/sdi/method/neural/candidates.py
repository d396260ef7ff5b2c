"""Candidates: the few parents, environments and targets that one iteration looks at where there are many variables.

Work grows with the square of the variables, what there is to find with their number. So from some size on an iteration
looks at every parent that is still believed possible and, in turn, at some of those that are not; nothing is given up
for good. Closed pairs are never looked at.

Legend: M variables, K columns of each, E environments, T suspects in each.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.neural.learner import Weights

LARGE = 16  # variables; where there are fewer, all pairs cost little more than some
POSSIBLE = 0.02  # a parent more probable than this is always looked at
WIDTHS = (8, 16, 32)  # columns; few sizes, for each is compiled for
WORTHWHILE = 2 / 3  # share of all columns above which it is all of them
SPARE = 2  # columns at least that are left for those no longer believed possible
LOOK_AGAIN = 5  # every fifth time, an environment is looked at as if for the first
SUSPECTS = 8  # variables looked at as targets of an environment, half of them in turn

Columns = NDArray[np.int32]


class Part(NamedTuple):
    """What an iteration looks at: inputs of each network, environments, and variables that may be their targets."""

    columns: Columns  # [M, K]; a variable's own number, which its network never sees, fills what is left over
    visited: NDArray[np.intp]  # [Q], none where a world makes new ones without end
    suspects: NDArray[np.int32] | None  # [Q, T]; None is to be found afresh

    @property
    def inputs(self) -> Columns | None:
        """The columns, None if they are all."""
        return None if self.columns.shape[0] == self.columns.shape[1] else self.columns


def candidate_columns(probabilities: NDArray[np.floating], open_: BoolMatrix, turn: int) -> Columns | None:
    """The columns of every row that iteration `turn` looks at ``[M, K]``; None is all of them."""
    m = len(probabilities)
    possible = probabilities > POSSIBLE
    other = open_ & ~possible
    needed = (possible.sum(axis=1) + np.minimum(other.sum(axis=1), SPARE)).max()
    width = next((each for each in WIDTHS if needed <= each), m)
    if m < LARGE or width > WORTHWHILE * m:
        return None
    columns = np.repeat(np.arange(m, dtype=np.int32)[:, None], width, axis=1)
    for row, sure, rest in zip(columns, possible, other, strict=True):
        first, others = np.flatnonzero(sure), np.flatnonzero(rest)
        free = min(width - len(first), len(others))
        following = np.roll(others, -turn * free)[:free]
        chosen = np.sort(np.concatenate([first, following]))
        row[: len(chosen)] = chosen
    return columns


def environments_in_turn(count: int, limit: int, turn: int) -> NDArray[np.intp]:
    """Which of `count` environments iteration `turn` visits: parts of one size, at most `limit`, spread over all."""
    parts = rounds(count, limit)
    spread = np.argsort(np.arange(count) % parts, kind="stable")  # neighbours may share a target
    size = -(-count // parts)
    return np.sort(spread[(turn % parts * size + np.arange(size)) % count])


def rounds(count: int, limit: int) -> int:
    """Iterations until every environment was visited."""
    return -(-count // limit)


def suspects(found: NDArray[np.floating], turn: int) -> NDArray[np.int32]:
    """The variables most probably touched, and some others in turn ``[E, T]``, given what was `found` ``[E, M]``."""
    m, half = found.shape[1], SUSPECTS // 2
    ranked = np.argsort(-found, axis=1, kind="stable")
    others = np.sort(ranked[:, half:], axis=1)
    in_turn = np.roll(others, -turn * half, axis=1)[:, : SUSPECTS - half]
    return np.concatenate([ranked[:, :half], in_turn], axis=1).astype(np.int32)[:, :m]


def narrow(tree: Weights, columns: jax.Array) -> Weights:
    """The networks with these inputs alone ``w0 [M, K, N, H]``."""
    return tree._replace(w0=tree.w0[jnp.arange(len(columns))[:, None], columns])


def widen(narrowed: Weights, columns: jax.Array, full: Weights) -> Weights:
    """The networks again with all inputs; those left out are as they were."""
    return narrowed._replace(w0=full.w0.at[jnp.arange(len(columns))[:, None], columns].set(narrowed.w0))


def pick(matrix: jax.Array, columns: jax.Array) -> jax.Array:
    """The chosen columns of each row ``[M, K]``."""
    return jnp.take_along_axis(matrix, columns, axis=1)


def spread(values: jax.Array, columns: jax.Array) -> jax.Array:
    """Values ``[..., M, K]`` at their places ``[..., M, M]``, 0 elsewhere."""
    m = len(columns)
    place = jnp.arange(m)[:, None], columns
    return jnp.zeros((*values.shape[:-1], m)).at[(..., *place)].set(values)


def looked_at(columns: Columns) -> BoolMatrix:
    """Which pairs these are ``[M, M]``."""
    result = np.zeros((len(columns), len(columns)), dtype=bool)
    np.put_along_axis(result, columns, values=True, axis=1)
    return result


def choose(
    probabilities: NDArray[np.floating], open_: BoolMatrix, found: NDArray[np.floating], limit: int, turn: int
) -> Part | None:
    """What iteration `turn` looks at; None where there are few variables, and so little to leave out.

    `found` is what is believed of the targets of all environments ``[E, M]``, none of them where a world makes new
    ones without end; at most `limit` are visited.
    """
    m = len(probabilities)
    if m < LARGE:
        return None
    every = np.arange(m, dtype=np.int32)
    columns = candidate_columns(probabilities, open_, turn)
    columns = np.tile(every, (m, 1)) if columns is None else columns
    if not len(found):
        return Part(columns, np.arange(0), None)
    visited = environments_in_turn(len(found), limit, turn)
    past = turn // rounds(len(found), limit)  # times that each was visited before
    if past % LOOK_AGAIN == 0:
        return Part(columns, visited, None)
    return Part(columns, visited, suspects(found[visited], past))
