"""Phase 2, third part: what networks have left of a variable, and who could still tell something about it.

Networks learn a weak effect late, and from few rows hardly at all; what they gain by an edge then says nothing. What
they leave can be asked directly. Take the residuals of a variable, one for each of its categories, and add them up by
the categories of another: under chance the sums are near zero by a known amount. Every row counts that left the
mechanism alone, also those that networks were fitted to, as they were fitted without the edge in question.

Residuals that networks leave because they do not yet know the parents well must not speak for others that merely go
together with the parents. So sums are taken of what the parents, one by one, do not tell about the other variable.

What speaks for a direction: environments that touched the cause, where its effect is as it was; and rows that touched
neither end, where one of them has parents that explain it better than the other is explained.

Legend: M variables, N largest number of categories, R rows, K columns of a one-hot coding.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.neural.learner import SLOPE, Weights
from sdi.worlds.world import Rows

MOST_ROWS = 20_000  # that are looked at first: where there are more, networks know most by themselves ...
FAINT = 2.0, 30.0  # ... and only what these say so faintly is asked of all of them
FEWEST = 5.0  # rows of a cell of sums, or nothing is known of its distribution
VARIANCES = np.geomspace(1e-4, 1.0, 17)  # of shifts of log-odds: from what nobody can see to what networks know
RIDGE = 1e-3  # rows; keeps categories that were never seen from dividing by zero

Matrix = NDArray[np.floating[Any]]


class Sample(NamedTuple):
    """Rows, how many of each there are, whence, and the probability that each variable was touched there."""

    rows: Rows  # [R, M]
    copies: NDArray[np.float32]  # [R]
    environment: NDArray[np.intp]  # [R]; 0 was left alone
    touched: NDArray[np.float32]  # [R, M]; what is all but excluded is 0

    def at_most(self, most: int, rng: np.random.Generator) -> "Sample":
        """All of it, or so many of its rows: those that something was touched in first, for these tell directions."""
        if len(self.rows) <= most:
            return self
        first = np.lexsort((rng.random(len(self.rows)), self.environment == 0))
        chosen = np.sort(first[:most])
        return Sample(self.rows[chosen], self.copies[chosen], self.environment[chosen], self.touched[chosen])


class Networks(NamedTuple):
    """What is asked: networks, and the parents that each of them is believed to have.

    An environment that touched the cause says no more for it than the `price` of the effect as a parent of the new
    mechanism, which would explain it just as well.
    """

    weights: Weights
    cardinalities: tuple[int, ...]
    parents: BoolMatrix  # [M, M]
    price: NDArray[np.floating]  # [M, M]


class Left(NamedTuple):
    """Nats for edges ``[M, M]`` in what networks have left."""

    apart: NDArray[np.float32] | jax.Array  # where neither end was touched
    touched: NDArray[np.float32] | jax.Array  # where the cause was
    asked: BoolMatrix | jax.Array  # the others were not looked at


def nothing_asked(size: int) -> Left:
    nothing = np.zeros((size, size), np.float32)
    return Left(nothing, nothing, nothing > 0)


def ask(networks: Networks, sample: Sample, asked: BoolMatrix, rng: np.random.Generator) -> Left:
    """What speaks for every edge that is `asked` about, as `left_over` has it: in some of many rows, and where it is
    faint there in all of them."""
    some = sample.at_most(MOST_ROWS, rng)
    found = left_over(networks, some, asked)
    faint = asked & (found.apart > FAINT[0]) & (found.apart < FAINT[1])
    if len(some.rows) == len(sample.rows) or not faint.any():
        return found
    faint = (faint | faint.T) & asked
    whole = left_over(networks, sample, faint)
    return Left(np.where(faint, whole.apart, found.apart), np.where(faint, whole.touched, found.touched), asked)


def left_over(networks: Networks, sample: Sample, asked: BoolMatrix) -> Left:
    """What speaks for every edge that is `asked` about, given the other parents that are believed."""
    weights, cardinalities, parents, price = networks
    apart, touched = np.zeros((2, *asked.shape), np.float32)
    columns = _Columns(sample, cardinalities)
    each = [tuple(np.asarray(leaf)[i] for leaf in weights) for i in range(len(parents))]
    for i in np.flatnonzero(asked.any(axis=1)):
        variable = _Variable(int(i), each[i], columns, parents[i])
        for j in np.flatnonzero(asked[i]):
            apart[i, j], touched[i, j] = variable.edge_from(int(j), float(price[i, j]))
    return Left(apart, touched, asked)


class _Columns:
    """A sample as columns: a constant and one for each category of each variable, and how they go together."""

    def __init__(self, sample: Sample, cardinalities: tuple[int, ...]) -> None:
        self.sample = sample
        starts = 1 + np.cumsum([0, *cardinalities])
        self.place = [np.arange(a, b) for a, b in pairwise(starts)]
        self.design = np.zeros((len(sample.rows), starts[-1]), np.float32)  # [R, K]
        self.design[:, 0] = 1
        np.put_along_axis(self.design, starts[:-1] + sample.rows.astype(np.intp), 1, axis=1)
        self._all = self._products(slice(None), sample.copies)

    def gram(self, i: int) -> Matrix:
        """Products of all columns over the rows that left i alone ``[K, K]``; most rows did, so the others are less."""
        changed = np.flatnonzero(self.sample.touched[:, i])
        weight = (self.sample.copies * self.sample.touched[:, i])[changed]
        lost = self._products(changed, weight.astype(np.float64))  # sums of whole numbers are exact, these would not be
        return self._all - lost + RIDGE * np.eye(len(lost))

    def _products(self, which: NDArray[np.intp] | slice, weight: Matrix) -> Matrix:
        chosen = self.design[which]
        return np.asarray(chosen.T @ (weight[:, None] * chosen), np.float64)


class _Fit(NamedTuple):
    """A network given some parents: what it expects, and sums of what it leaves."""

    expected: NDArray[np.float32]  # [R, N]
    residual: Matrix  # [R, N], as often as the row counts
    sums: Matrix  # [K, N]
    spread: Matrix  # [N, N], covariance of the residuals of a row
    known: NDArray[np.intp]  # columns of the parents
    explained: Matrix  # [.., K], what these tell about all columns
    correction: Matrix  # [.., N], and about the sums


class _Variable:
    """One variable, its network, and how much each row counts for it."""

    def __init__(
        self, i: int, network: tuple[NDArray[np.float32], ...], columns: _Columns, parents: NDArray[np.bool_]
    ) -> None:
        self.network, self.columns, self.parents = network, columns, parents
        self.weight = columns.sample.copies * (1 - columns.sample.touched[:, i])
        self.value = columns.design[:, columns.place[i]]
        self.gram = columns.gram(i)
        self.hidden = sum((self._shown(int(j)) for j in np.flatnonzero(parents)), np.zeros_like(network[1]))
        self.whole = self._fit(None)

    def edge_from(self, j: int, price: float) -> tuple[float, float]:
        """Nats for the edge from j, in rows that left j alone and in those that did not."""
        fit = self._fit(j) if self.parents[j] else self.whole
        own, design, sample = self.columns.place[j], self.columns.design, self.columns.sample
        beyond = self.gram[np.ix_(own, fit.known)]
        rest = self.gram[np.ix_(own, own)] - beyond @ fit.explained[:, own]
        sums = fit.sums[own] - beyond @ fit.correction
        there = np.flatnonzero((sample.touched[:, j] > 0.5) & (self.weight > 0))
        if not len(there):
            return _evidence(_turn(sums, rest, fit.spread))[0], 0.0
        # First the rows that left the cause alone; then the effect that these tell is tried on those that did not.
        column = design[np.ix_(there, own)] - design[np.ix_(there, fit.known)] @ fit.explained[:, own]
        sums = sums - column.T @ fit.residual[there]
        rest = rest - column.T @ (self.weight[there, None] * column)
        turned = _turn(sums, rest, fit.spread)
        nats, variance = _evidence(turned)
        shift = column @ _effect(turned, variance)
        share = np.log((fit.expected[there] * np.exp(shift)).sum(axis=1))
        gain = self.weight[there] * ((shift * self.value[there]).sum(axis=1) - share)
        return nats, float(np.minimum(np.bincount(sample.environment[there], gain), price).sum())

    def _fit(self, without: int | None) -> _Fit:
        """The network given its parents, all of them or but one."""
        given = [int(j) for j in np.flatnonzero(self.parents) if j != without]
        expected = self._expected(self.hidden if without is None else self.hidden - self._shown(without))
        residual = self.weight[:, None] * (self.value - expected)
        sums = (self.columns.design.T @ residual).astype(np.float64)
        spread = np.diag(self.weight @ expected) - expected.T @ (self.weight[:, None] * expected)
        known = np.concatenate([[0], *(self.columns.place[j] for j in given)]).astype(np.intp)
        solved = np.linalg.solve(self.gram[np.ix_(known, known)], np.c_[self.gram[known], sums[known]])
        columns = len(self.gram)
        spread = spread.astype(np.float64) / self.weight.sum()
        return _Fit(expected, residual, sums, spread, known, solved[:, :columns], solved[:, columns:])

    def _shown(self, j: int) -> NDArray[np.float32]:
        """What the network makes of one parent ``[R, H]``."""
        return np.asarray(self.network[0][j][self.columns.sample.rows[:, j]])

    def _expected(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the network expects of the variable ``[R, N]``."""
        _, b0, w1, b1 = self.network
        categories = self.value.shape[1]
        hidden = np.broadcast_to(hidden + b0, (len(self.value), len(b0)))
        logits = np.maximum(hidden, SLOPE * hidden) @ w1[:, :categories] + b1[:categories]
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class _Turned(NamedTuple):
    """Sums turned to the axes of their covariance, where they are independent. Those of few rows are left out."""

    sums: Matrix
    variance: Matrix  # under chance; 0 where it is left out
    row_axes: Matrix
    column_axes: Matrix


def _turn(sums: Matrix, rest: Matrix, spread: Matrix) -> _Turned:
    """Sums whose covariance under chance is `rest` (of their rows) times `spread` (of their columns)."""
    row_variance, row_axes = np.linalg.eigh(rest)
    column_variance, column_axes = np.linalg.eigh(spread)
    variance = np.outer(row_variance, column_variance)
    enough = variance >= FEWEST
    return _Turned(np.where(enough, row_axes.T @ sums @ column_axes, 0.0), variance * enough, row_axes, column_axes)


def _evidence(turned: _Turned) -> tuple[float, float]:
    """Nats for an effect against none, and how large its shifts of log-odds are then: the variance that suits best."""
    signal = VARIANCES[:, None, None] * turned.variance  # how much an effect of that size adds to the variance of sums
    square = turned.sums**2 / np.where(turned.variance > 0, turned.variance, 1.0)
    nats = (square * signal / (1 + signal) - np.log1p(signal)).sum(axis=(1, 2)) / 2
    best = int(np.argmax(nats))
    return max(0.0, float(nats[best])), float(VARIANCES[best])


def _effect(turned: _Turned, variance: float) -> Matrix:
    """The effect itself, if effects are so large: shifts of log-odds ``[of the cause, of the variable]``."""
    return turned.row_axes @ (turned.sums / (turned.variance + 1 / variance)) @ turned.column_axes.T
