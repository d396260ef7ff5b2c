"""Phase 1: what each variable tells about another, on its own or beside the parents that the other has by then.

With many variables only those that tell most become candidates. All pairs are counted at once, as a product of
matrices or row by row.

Legend: R rows, M variables, V states of all variables together, q combinations of parents, r states of the child.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import Block
from sdi.method.tables.phase2_likelihood import Prior, average, log_rising

LARGEST_TABLE = 2_000  # cells that are seen with all states of the others at once ...
BY_PRODUCT = 80  # ... as a product of matrices, or, with so many numbers for each variable, row by row
AT_A_TIME = 4_000_000  # cells and states that are held at once
LARGEST_SCREEN = 120_000_000  # numbers in the matrix of all rows and states; of more rows only as many are looked at
Array = NDArray[np.float64]


class Screen:
    """What each variable tells about another, beside some parents. Looks at rows of one block."""

    def __init__(self, block: Block, cardinalities: tuple[int, ...], prior: Prior) -> None:
        self.cardinalities, self.prior = np.array(cardinalities), prior
        self.shares = np.concatenate(prior.shares)  # [V]
        self.first = np.concatenate([[0], np.cumsum(self.cardinalities)])
        keep = max(1, LARGEST_SCREEN // int(self.first[-1]))
        step = max(1, -(-len(block.rows) // keep))
        self.rows, self.times = block.rows[::step], block.times[::step]
        self.part = np.repeat(np.arange(block.environments + 1), np.diff(block.starts))[::step]  # 0 is left alone
        self.seen = np.zeros((len(self.rows), int(self.first[-1])), dtype=np.float32)  # [R, V]
        for j in range(len(cardinalities)):
            self.seen[np.arange(len(self.rows)), self.first[j] + self.rows[:, j]] = 1

    def gains(self, child: int, parents: Sequence[int] = (), touched: NDArray[np.bool_] | None = None) -> Array:
        """Nats that each variable would add as one more parent, in the marginal likelihood of the child ``[M]``.

        Without the rows of environments that `touched` the child, if it is known which did ``[E]``.
        Of parents with more combinations than can be held at once, only the first few are taken into account.
        """
        tables, alone, q = self._counts(child, parents, touched)
        if self.prior.extending:
            result = self._extending(tables, alone, q)
        else:
            before = self._score(alone[:, :, None], np.array([float(q)]))
            with_each = self._score(tables, np.repeat(q * self.cardinalities, self.cardinalities))
            result = np.add.reduceat(with_each, self.first[:-1]) - before[0]
        result[[child, *parents]] = -np.inf
        return result

    def _extending(self, tables: Array, alone: Array, q: int) -> Array:
        """The same for tables that extend one another; parents are combined equally often beforehand ``[M]``."""
        totals, share = alone.sum(axis=1, keepdims=True), 1 / len(alone)
        pooled = alone.sum(axis=0)
        fitted = (alone + (pooled + 1 / len(pooled)) / (pooled.sum() + 1)) / (totals + 1)  # [q, r]
        of_each, found = tables.sum(axis=1), []  # [q, V]
        different, which = np.unique(q * self.cardinalities, return_inverse=True)
        for sizes in self.prior.scaled(different) * share:
            mass = np.repeat(sizes[which], self.cardinalities) * self.shares  # [V]
            inside = log_rising(tables, fitted[:, :, None] * mass).sum(axis=(0, 1))
            around = inside - log_rising(of_each, mass).sum(axis=0)
            before = [log_rising(alone, one * fitted).sum() - log_rising(totals, one).sum() for one in sizes.tolist()]
            found.append(np.add.reduceat(around, self.first[:-1]) - np.array(before)[which])
        return average(found)

    def dependence(self, child: int, parents: Sequence[int] = ()) -> Array:
        """How many standard deviations the G-statistic of each variable lies above chance, given the parents ``[M]``.

        It asks for no table that holds: what is clear here and brings no gain there is beyond what tables can afford.
        """
        tables, alone, _ = self._counts(child, parents)
        of_other, of_both = tables.sum(axis=1, keepdims=True), alone.sum(axis=1)[:, None, None]
        expected = alone[:, :, None] * of_other / np.maximum(of_both, 1)
        seen = tables > 0
        terms = np.where(seen, tables * np.log(np.where(seen, tables, 1) / np.where(seen, expected, 1)), 0.0)
        statistic = 2 * np.add.reduceat(terms.sum(axis=(0, 1)), self.first[:-1])
        states = (alone > 0).sum(axis=1)  # [q]
        others = np.add.reduceat((of_other[:, 0] > 0).astype(float), self.first[:-1], axis=1)  # [q, M]
        freedom = np.maximum((np.maximum(states - 1, 0)[:, None] * np.maximum(others - 1, 0)).sum(axis=0), 1)
        result = (statistic - freedom) / np.sqrt(2 * freedom)
        result[[child, *parents]] = -np.inf
        return np.asarray(result)

    def _counts(
        self, child: int, parents: Sequence[int], touched: NDArray[np.bool_] | None = None
    ) -> tuple[Array, Array, int]:
        """Counts with every state of every variable ``[q, r, V]``, without ``[q, r]``, and how many q might be."""
        states, given = int(self.cardinalities[child]), list(parents)
        while given and np.prod(self.cardinalities[given], dtype=float) * states > LARGEST_TABLE:
            given.pop()
        code = np.zeros(len(self.rows), dtype=np.intp)
        for j in given:
            code = code * self.cardinalities[j] + self.rows[:, j]
        different, code = np.unique(code, return_inverse=True)
        times = self.times if touched is None else np.where(np.append(False, touched)[self.part], 0.0, self.times)
        counts = self._pairs(code * states + self.rows[:, child], len(different) * states, times)
        own = counts[:, self.first[child] : self.first[child + 1]].sum(axis=1)  # each row once, by its own state
        q = int(np.prod(self.cardinalities[given], dtype=np.int64))
        return counts.reshape(len(different), states, -1), own.reshape(len(different), states), q

    def _pairs(self, cell: NDArray[np.intp], length: int, times: Array) -> Array:
        """How often each of so many cells was seen with each state of every variable ``[length, V]``."""
        width, many = self.seen.shape[1], len(self.cardinalities)
        if length * width < BY_PRODUCT * many:
            cells = np.zeros((len(cell), length), dtype=np.float32)
            cells[np.arange(len(cell)), cell] = times
            return np.asarray(cells.T @ self.seen, np.float64)
        counts, step = np.zeros(length * width), max(1, AT_A_TIME // many)
        for at in range(0, len(cell), step):
            here = slice(at, at + step)
            places = cell[here, None] * width + self.rows[here] + self.first[:-1]
            counts += np.bincount(places.ravel(), np.repeat(times[here], many), minlength=len(counts))
        return counts.reshape(length, width)

    def _score(self, tables: Array, combinations: Array) -> Array:
        """Log marginal likelihood of tables ``[q, r, V]`` that have so many rows each ``[V]``."""
        row = self.prior.sizes[0] / combinations
        cell = row / tables.shape[1]
        inside = np.where(tables > 0, gammaln(tables + cell) - gammaln(cell), 0.0).sum(axis=(0, 1))
        totals = tables.sum(axis=1)
        return np.asarray(inside - np.where(totals > 0, gammaln(totals + row) - gammaln(row), 0.0).sum(axis=0))
