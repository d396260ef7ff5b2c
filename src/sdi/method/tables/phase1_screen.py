"""Phase 1: what each variable tells about another, on its own or beside the parents that the other has by then.

With many variables only those that tell most become candidates. All pairs are counted at once, as a product of
matrices or, where tables are large, a few variables at a time.

Legend: R rows, M variables, V states of all variables together, v of a few, q combinations of parents, r states of
the child.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import Block
from sdi.method.tables.phase2_likelihood import Prior, average, log_rising

LARGEST_TABLE = 2_000  # cells that are seen with all states of the others ...
BY_PRODUCT = 80  # ... as a product of matrices, or, with so many numbers for each variable, row by row
AT_A_TIME = 100_000  # numbers that are counted at once: they fit a cache
REMEMBERED = 3  # answers for a variable
LARGEST_SCREEN = 120_000_000  # numbers in the matrix of all rows and states; of more rows only as many are looked at
Array = NDArray[np.float64]


class _Given(NamedTuple):
    """A child and its parents in the rows that are looked at."""

    rows: NDArray[np.intp]  # [R] which those are
    cell: NDArray[np.intp]  # [R] the combination of parents, times r, plus the state of the child
    times: NDArray[np.float64]  # [R]
    alone: Array  # [q, r] how often each cell was seen
    combinations: int  # that there might be of the parents


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
        self.states = np.ascontiguousarray((self.rows + self.first[:-1]).T.astype(np.int32))  # [M, R] among all V
        self.seen = np.zeros((len(self.rows), int(self.first[-1])), dtype=np.float32)  # [R, V]
        for j in range(len(cardinalities)):
            self.seen[np.arange(len(self.rows)), self.states[j]] = 1
        self._known: dict[tuple[str, int], dict[object, Array]] = {}

    def gains(self, child: int, parents: Sequence[int] = (), touched: NDArray[np.bool_] | None = None) -> Array:
        """Nats that each variable would add as one more parent, in the marginal likelihood of the child ``[M]``.

        Without the rows of environments that `touched` the child, if it is known which did ``[E]``.
        Of parents with more combinations than can be held at once, only the first few are taken into account.
        """
        key = tuple(parents), None if touched is None else touched.tobytes()
        return self._latest("gains", child, key, lambda: self._gains(child, parents, touched))

    def dependence(self, child: int, parents: Sequence[int] = ()) -> Array:
        """How many standard deviations the G-statistic of each variable lies above chance, given the parents ``[M]``.

        It asks for no table that holds: what is clear here and brings no gain there is beyond what tables can afford.
        """
        return self._latest("dependence", child, tuple(parents), lambda: self._dependence(child, parents))

    def _latest(self, what: str, child: int, key: object, make: Callable[[], Array]) -> Array:
        """The last few answers for each variable are remembered: most have the same parents when asked again."""
        known = self._known.setdefault((what, child), {})
        answer = known.pop(key, None)
        known[key] = make() if answer is None else answer
        if len(known) > REMEMBERED:
            del known[next(iter(known))]
        return known[key].copy()

    def _gains(self, child: int, parents: Sequence[int], touched: NDArray[np.bool_] | None) -> Array:
        given, found = self._given(child, parents, touched), []
        for some, tables in self._with_others(given):
            if self.prior.extending:
                found.append(self._extending(tables, given, some))
            else:
                before = self._score(given.alone[:, :, None], np.array([float(given.combinations)]))
                sizes = self.cardinalities[some]
                with_each = self._score(tables, np.repeat(given.combinations * sizes, sizes))
                found.append(np.add.reduceat(with_each, self._starts(some)) - before[0])
        result = np.concatenate(found)
        result[[child, *parents]] = -np.inf
        return result

    def _extending(self, tables: Array, given: _Given, some: slice) -> Array:
        """The same for tables that extend one another; parents are combined equally often beforehand ``[.]``."""
        alone, sizes = given.alone, self.cardinalities[some]
        totals, share = alone.sum(axis=1, keepdims=True), 1 / len(alone)
        pooled = alone.sum(axis=0)
        fitted = (alone + (pooled + 1 / len(pooled)) / (pooled.sum() + 1)) / (totals + 1)  # [q, r]
        of_each, width, found = tables.sum(axis=1), tables.shape[2], []  # [q, v]
        seen = np.flatnonzero(tables)  # what was never seen adds nothing
        place, state = np.divmod(seen, width)
        n, centre = tables.ravel()[seen], fitted.ravel()[place]
        different, which = np.unique(given.combinations * sizes, return_inverse=True)
        shares = self.shares[self.first[some.start] : self.first[some.stop]]
        for scale in self.prior.scaled(different) * share:
            mass = np.repeat(scale[which], sizes) * shares  # [v]
            inside = np.bincount(state, log_rising(n, centre * mass[state]), minlength=width)
            around = inside - log_rising(of_each, mass).sum(axis=0)
            before = [log_rising(alone, one * fitted).sum() - log_rising(totals, one).sum() for one in scale.tolist()]
            found.append(np.add.reduceat(around, self._starts(some)) - np.array(before)[which])
        return average(found)

    def _dependence(self, child: int, parents: Sequence[int]) -> Array:
        given, found = self._given(child, parents), []
        of_both = given.alone.sum(axis=1)[:, None, None]
        states = (given.alone > 0).sum(axis=1)  # [q]
        for some, tables in self._with_others(given):
            of_other = tables.sum(axis=1, keepdims=True)
            expected = given.alone[:, :, None] * of_other / np.maximum(of_both, 1)
            seen = tables > 0
            terms = np.where(seen, tables * np.log(np.where(seen, tables, 1) / np.where(seen, expected, 1)), 0.0)
            statistic = 2 * np.add.reduceat(terms.sum(axis=(0, 1)), self._starts(some))
            others = np.add.reduceat((of_other[:, 0] > 0).astype(float), self._starts(some), axis=1)  # [q, .]
            freedom = np.maximum((np.maximum(states - 1, 0)[:, None] * np.maximum(others - 1, 0)).sum(axis=0), 1)
            found.append((statistic - freedom) / np.sqrt(2 * freedom))
        result = np.concatenate(found)
        result[[child, *parents]] = -np.inf
        return np.asarray(result)

    def _given(self, child: int, parents: Sequence[int], touched: NDArray[np.bool_] | None = None) -> _Given:
        """Of as many of the parents as have a table that can be held."""
        states, given = int(self.cardinalities[child]), list(parents)
        while given and np.prod(self.cardinalities[given], dtype=float) * states > LARGEST_TABLE:
            given.pop()
        left = np.ones(len(self.rows), bool) if touched is None else ~np.append([False], touched)[self.part]
        some = np.flatnonzero(left)
        rows, times = (self.rows, self.times) if left.all() else (self.rows[some], self.times[some])
        code = np.zeros(len(rows), dtype=np.intp)
        for j in given:
            code = code * self.cardinalities[j] + rows[:, j]
        different, code = np.unique(code, return_inverse=True)
        cell = code * states + rows[:, child]
        alone = np.bincount(cell, times, minlength=len(different) * states).astype(np.float64).reshape(-1, states)
        return _Given(some, cell, times, alone, int(np.prod(self.cardinalities[given], dtype=np.int64)))

    def _with_others(self, given: _Given) -> Iterator[tuple[slice, Array]]:
        """Some variables after the others, and how often each cell was seen with each of their states ``[q, r, v]``."""
        length, many, width = given.alone.size, len(self.cardinalities), int(self.first[-1])
        if length * width < BY_PRODUCT * many:
            cells = np.zeros((len(self.rows), length), dtype=np.float32)
            cells[given.rows, given.cell] = given.times
            counts = np.asarray(cells.T @ self.seen, np.float64)
            yield slice(0, many), counts.reshape(*given.alone.shape, width)
            return
        weights = None if (given.times == 1).all() else given.times
        step = max(1, min(AT_A_TIME * many // (length * width), AT_A_TIME * 10 // max(1, len(given.cell))))
        for start in range(0, many, step):
            some = slice(start, min(start + step, many))
            states = self.states[some] if len(given.rows) == len(self.rows) else self.states[some][:, given.rows]
            width = int(self.first[some.stop] - self.first[start])
            places = given.cell * width + (states - int(self.first[start]))
            repeated = None if weights is None else np.tile(weights, len(places))
            counts = np.bincount(places.ravel(), repeated, minlength=length * width).astype(np.float64)
            yield some, counts.reshape(*given.alone.shape, width)

    def _starts(self, some: slice) -> NDArray[np.intp]:
        """Where the states of each of these variables begin among theirs."""
        return np.asarray(self.first[some] - self.first[some.start])

    def _score(self, tables: Array, combinations: Array) -> Array:
        """Log marginal likelihood of tables ``[q, r, v]`` that have so many rows each ``[v]``."""
        row = self.prior.sizes[0] / combinations
        cell = row / tables.shape[1]
        inside = np.where(tables > 0, gammaln(tables + cell) - gammaln(cell), 0.0).sum(axis=(0, 1))
        totals = tables.sum(axis=1)
        return np.asarray(inside - np.where(totals > 0, gammaln(totals + row) - gammaln(row), 0.0).sum(axis=0))
