"""Phase 1: count. How often each value of a variable was seen with each combination of its possible parents.

All parent sets that are considered for a variable form a `Family`. Their tables lie one after the other in one flat
array, so that a pass over the rows fills them all.

Legend: R rows, M variables, E environments, S parent sets of a family, K candidate parents, r states of its variable.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.compiled import compiled
from sdi.worlds.world import Rows

WHOLE = 20_000  # cells up to which a table is there as a whole; a larger one has only cells that were seen
MOST = 1e300  # combinations of parents that a number can say
AT_A_TIME = 150_000  # numbers that a pass holds at once: they fit a cache, which is a third faster than not
Codes = NDArray[np.intp]
Counts = NDArray[np.int64]


class Block(NamedTuple):
    """Rows of one draw of the mechanisms: those of the system left alone, then those of each environment."""

    rows: Rows  # [R, M], different ones
    times: NDArray[np.float64]  # [R] how often each was seen
    starts: NDArray[np.intp]  # [E + 2] where the rows left alone begin, and those of each environment, and the end

    @property
    def environments(self) -> int:
        return len(self.starts) - 2

    def part(self, environment: int) -> slice:
        """Where the rows of an environment lie."""
        return slice(int(self.starts[environment + 1]), int(self.starts[environment + 2]))


def make_block(observed: Rows, environments: Sequence[Rows]) -> Block:
    """Rows that were seen many times are kept once, with their number, where that saves half of them."""
    merged = [_merge(rows) for rows in (observed, *environments)]
    starts = np.cumsum([0, *(len(rows) for rows, _ in merged)])
    return Block(np.concatenate([rows for rows, _ in merged]), np.concatenate([n for _, n in merged]), starts)


def _merge(rows: Rows) -> tuple[Rows, NDArray[np.float64]]:
    different, times = np.unique(rows, axis=0, return_counts=True)
    if 2 * len(different) > len(rows):
        return rows, np.ones(len(rows))
    return different.astype(rows.dtype), times.astype(np.float64)


def pooled(block: Block, columns: Sequence[int], cardinalities: Sequence[int]) -> Block:
    """The rows of all environments as one, and once each if they differ in none of these columns.

    Of a few variables there are few combinations: what is counted over and over is worth putting together first.
    """
    if np.prod([cardinalities[j] for j in columns], dtype=float) >= 2.0**62:
        return block
    code = np.zeros(len(block.rows), dtype=np.int64)
    for j in columns:
        code = code * cardinalities[j] + block.rows[:, j]
    _, some, which = np.unique(code, return_index=True, return_inverse=True)
    if 2 * len(some) > len(code):
        return block
    times = np.bincount(which, block.times, minlength=len(some)).astype(np.float64)
    return Block(block.rows[some], times, np.array([0, len(some)]))


class Seen(NamedTuple):
    """What was seen of a large table: never more than there are rows, however many combinations there might be."""

    rows: Codes  # [.] ascending: a row of the table that it extends, times the states of the added parent, plus its own
    cells: Codes  # [.] ascending: a place among those, times the states of the child, plus its own


@dataclass(frozen=True, eq=False)
class Family:
    """A variable, and the parent sets that are considered for it: the empty one first, then by their size.

    Of each set but the empty one, some set with one member less is there too: that which it extends. Any that is
    there will do, unless `extends` names those.
    """

    child: int
    candidates: tuple[int, ...]  # [K]
    sets: tuple[tuple[int, ...], ...]  # [S] each as positions among the candidates, ascending
    cardinalities: tuple[int, ...]  # of all variables
    extends: tuple[int, ...] | None = None  # [S - 1] the place of the set that each but the first extends
    seen: tuple[Seen | None, ...] = ()  # [S] or fewer, of tables that are not there as a whole; see `for_rows`

    @property
    def states(self) -> int:
        return self.cardinalities[self.child]

    @cached_property
    def members(self) -> NDArray[np.bool_]:
        """Which candidates are in which set ``[S, K]``."""
        result = np.zeros((len(self.sets), len(self.candidates)), dtype=bool)
        for row, each in zip(result, self.sets, strict=True):
            row[list(each)] = True
        return result

    @cached_property
    def masks(self) -> NDArray[np.uint64]:
        """The same as bits ``[S]``."""
        bits = np.uint64(1) << np.arange(len(self.candidates), dtype=np.uint64)
        return (self.members * bits).sum(axis=1, dtype=np.uint64)

    @cached_property
    def combinations(self) -> NDArray[np.float64]:
        """Combinations of parents in each set, seen or not ``[S]``; there may be more than an integer holds."""
        sizes = np.array([float(self.cardinalities[j]) for j in self.candidates])
        with np.errstate(over="ignore"):
            return np.minimum([sizes[list(each)].prod() for each in self.sets], MOST)

    @cached_property
    def _large(self) -> dict[int, Seen]:
        """The tables that are not there as a whole."""
        return {s: each for s, each in enumerate(self.seen) if each is not None}

    @cached_property
    def first_row(self) -> NDArray[np.intp]:
        """Where each table begins, in rows of tables ``[S + 1]``."""
        lengths = self.combinations.copy()
        lengths[list(self._large)] = [len(each.rows) for each in self._large.values()]
        return np.concatenate([[0], np.cumsum(lengths.astype(np.intp))])

    @cached_property
    def first_cell(self) -> NDArray[np.intp]:
        """Where each table begins, in cells ``[S + 1]``."""
        lengths = np.diff(self.first_row) * self.states
        lengths[list(self._large)] = [len(each.cells) for each in self._large.values()]
        return np.concatenate([[0], np.cumsum(lengths)])

    @cached_property
    def of_row(self) -> NDArray[np.intp]:
        """The set to which each row of all tables belongs."""
        return np.repeat(np.arange(len(self.sets)), np.diff(self.first_row))

    @cached_property
    def of_cell(self) -> Codes:
        """For each cell of all tables its row, times the states of the child, plus its own: ascending."""
        if not self._large:
            return np.arange(self.first_cell[-1])
        whole = (np.arange(cells) for cells in np.diff(self.first_cell).tolist())
        inside = [self._large[s].cells if s in self._large else each for s, each in enumerate(whole)]
        return np.concatenate(inside) + np.repeat(self.first_row[:-1] * self.states, np.diff(self.first_cell))

    @cached_property
    def _start(self) -> Codes:
        """The first cell of each row: every row has one."""
        rows = np.arange(self.first_row[-1])
        return np.searchsorted(self.of_cell, rows * self.states) if self._large else rows * self.states

    def totals(self, counts: Counts) -> Counts:
        """Counts of each row of all tables, given those of its cells."""
        return np.add.reduceat(counts, self._start)

    @cached_property
    def bases(self) -> list[tuple[int, int]]:
        """For each set but the first: a set that it extends, and by what. That fixes the order of its cells."""
        if self.extends is not None:
            pairs = zip(self.extends, self.sets[1:], strict=True)
            return [(base, next(k for k in each if k not in self.sets[base])) for base, each in pairs]
        place = {each: s for s, each in enumerate(self.sets)}
        found = []
        for each in self.sets[1:]:
            rests = (((*each[:k], *each[k + 1 :]), added) for k, added in reversed(list(enumerate(each))))
            found.append(next((place[rest], added) for rest, added in rests if rest in place))
        return found

    @cached_property
    def base_row(self) -> NDArray[np.intp]:
        """For each row of all tables, the row of the table that it extends: the same parents but for the added one."""
        sizes = [self.cardinalities[j] for j in self.candidates]
        rows = [np.zeros(1, dtype=np.intp)]
        for s, (base, added) in enumerate(self.bases, start=1):
            there = self._large[s].rows if s in self._large else np.arange(int(self.combinations[s]))
            rows.append(self.first_row[base] + there // sizes[added])
        return np.concatenate(rows)

    @cached_property
    def added_value(self) -> NDArray[np.intp]:
        """For each row of all tables, the value of the parent that was added last."""
        sizes = [self.cardinalities[j] for j in self.candidates]
        values = [np.zeros(1, dtype=np.intp)]
        for s, (_, added) in enumerate(self.bases, start=1):
            there = self._large[s].rows if s in self._large else np.arange(int(self.combinations[s]))
            values.append(there % sizes[added])
        return np.concatenate(values)

    def order(self, s: int) -> tuple[int, ...]:
        """The parents in a set, in the order in which they were added."""
        added: list[int] = []
        while s:
            s, one = self.bases[s - 1]
            added.append(self.candidates[one])
        return tuple(reversed(added))

    @cached_property
    def _levels(self) -> list[tuple[Codes, Codes]]:
        """The same, for all sets of a size at once."""
        levels: dict[int, list[tuple[int, int]]] = {}
        for each, base in zip(self.sets[1:], self.bases, strict=True):
            levels.setdefault(len(each), []).append(base)
        return [(np.array(level)[:, 0], np.array(level)[:, 1]) for _, level in sorted(levels.items())]

    def for_rows(self, blocks: Sequence[Block]) -> "Family":
        """The same with its large tables as these rows need them; no others can be counted. What is known stays."""
        seen = list(self.seen)
        for s in range(len(seen), len(self.sets)):
            if s == 0 or self.combinations[s] * self.states <= WHOLE:
                seen.append(None)
                continue
            base, added = self.bases[s - 1]
            child = np.concatenate([block.rows[:, self.child] for block in blocks])
            value = np.concatenate([block.rows[:, self.candidates[added]] for block in blocks])
            before = np.concatenate([_places(self, seen, base, block.rows) for block in blocks])
            rows, which = np.unique(before * self.cardinalities[self.candidates[added]] + value, return_inverse=True)
            seen.append(Seen(rows, np.unique(which * self.states + child)))
        return replace(self, seen=tuple(seen) if any(seen) else ())

    def cells(self, rows: Rows) -> NDArray[np.signedinteger]:
        """The cell of every table in which each row lies ``[S, R]``."""
        kind = np.int64 if self._large else np.int32  # half the memory of wider ones, so much faster
        values = rows[:, list(self.candidates)].T.astype(kind)  # [K, R]
        sizes = np.array([self.cardinalities[j] for j in self.candidates], dtype=kind)
        codes = np.zeros((len(self.sets), len(rows)), dtype=kind)
        at = 1
        for base, added in self._levels:
            here = slice(at, at + len(base))
            np.multiply(codes[base], sizes[added, None], out=codes[here])
            codes[here] += values[added]
            for s in (s for s in self._large if here.start <= s < here.stop):
                codes[s] = np.searchsorted(self._large[s].rows, codes[s])
            at = here.stop
        codes *= self.states
        codes += rows[:, self.child].astype(kind)
        for s, each in self._large.items():
            codes[s] = np.searchsorted(each.cells, codes[s])
        codes += self.first_cell[:-1, None].astype(kind)
        return codes

    def count(self, block: Block, where: slice = slice(None), first: int = 0) -> Counts:
        """Counts of the cells of all tables from that of set `first` on; those of a row lie side by side."""
        start = int(self.first_cell[first])
        length = int(self.first_cell[-1]) - start
        counts = np.zeros(length, dtype=np.int64)
        if not self._large:
            bases = np.array(self.bases, np.intp).reshape(-1, 2)
            columns, sizes = np.array(self.candidates, np.intp), np.array(self.cardinalities, np.intp)
            starts = self.first_cell[:-1] - start
            part = block.rows[where], block.times[where]
            add_counts(*part, self.child, columns, sizes, bases, starts, first, counts)
            return counts
        for rows, times in _pieces(block, where, max(1, AT_A_TIME // len(self.sets))):
            cells = self.cells(rows)[first:]
            cells -= start
            weights = None if (times == 1).all() else np.broadcast_to(times, cells.shape).ravel()
            counts += np.bincount(cells.ravel(), weights, minlength=length).astype(np.int64)  # exact: below 2^53
        return counts


@compiled
def add_counts(
    rows: Rows,
    times: NDArray[np.float64],
    child: int,
    candidates: Codes,
    cardinalities: Codes,
    bases: Codes,
    starts: Codes,
    first: int,
    counts: Counts,
) -> None:
    """To the cells of all tables from that of set `first` on, whose cells begin at `starts` ``[S]``; `bases`
    ``[S - 1, 2]`` has the set that each but the first extends, and by which candidate."""
    row_of, states = np.zeros(len(starts), np.intp), cardinalities[child]
    for r in range(len(rows)):
        for s in range(1, len(starts)):
            j = candidates[bases[s - 1, 1]]
            row_of[s] = row_of[bases[s - 1, 0]] * cardinalities[j] + rows[r, j]
        for s in range(first, len(starts)):
            counts[starts[s] + row_of[s] * states + rows[r, child]] += int(times[r])


def _places(family: Family, seen: Sequence[Seen | None], s: int, rows: Rows) -> Codes:
    """The row of the table of set s in which each row of data lies ``[R]``."""
    if s == 0:
        return np.zeros(len(rows), dtype=np.intp)
    base, added = family.bases[s - 1]
    j = family.candidates[added]
    code = _places(family, seen, base, rows) * family.cardinalities[j] + rows[:, j]
    known = seen[s]
    return code if known is None else np.searchsorted(known.rows, code)


def _pieces(block: Block, where: slice, length: int) -> Iterator[tuple[Rows, NDArray[np.float64]]]:
    start, stop, _ = where.indices(len(block.rows))
    for at in range(start, stop, length):
        here = slice(at, min(at + length, stop))
        yield block.rows[here], block.times[here]
