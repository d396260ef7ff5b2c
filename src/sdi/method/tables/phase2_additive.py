"""Phase 2, likelihood: parents whose effects add up, as log-odds.

A table learns each of its rows anew, which is dear where there are many. Most causes push their effect one way or
another whatever the other causes are: then a shift of log-odds for each value of a parent says it all. So a table may
have shifts for all of its parents (`add_up`), or be that of one parent less, shifted by the last (`push`). Shifts are
fitted to all rows, as the mode of their posterior, and pay for what they were free to fit as in Laplace's method.

Legend: R rows of tables that were seen, S sets of parents of one size, G values of a parent in all of these sets, r
states of the child, V variances.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.phase2_shifts import costs_of, fit_all, fit_last, fitted_with

VARIANCES = (0.1, 0.3, 1.0, 3.0)  # of shifts beforehand, equally likely: weak effects and strong ones
Vector = NDArray[np.float64]
Places = NDArray[np.intp]


class Parent(NamedTuple):
    """One parent of each set."""

    sizes: Places  # [S] how many values it has
    value: Places  # [R] that in each row
    shifts: Vector  # [r, G]


class Sums(NamedTuple):
    """What there is to add up, for sets of one size."""

    set_of_row: Places  # [R]
    level: Vector  # [r, S] log-odds before they are shifted
    parents: tuple[Parent, ...]


class Linear(NamedTuple):
    """Log likelihood that is a sum over rows of data, less a cost."""

    logs: Vector  # [r, R] of a row of data in each cell
    cost: Vector  # [S]

    def at(self, cells: tuple[Places, Places]) -> "Linear":
        """For these cells alone."""
        return Linear(self.logs[cells], self.cost)


class Step(NamedTuple):
    """Tables with one parent more."""

    sums: Sums
    summed: Linear  # if effects of all parents add up; the cost is beside that of a table without parents
    pushed: Linear  # if that of the last is alike in all rows; the cost is beside that of the table that is extended
    shares: Vector  # [r, R] what is expected of those that extend these


def nothing_to_add(states: int, sets: int = 1) -> Sums:
    """Sets without parents: a row each."""
    return Sums(np.arange(sets), np.zeros((states, sets)), ())


def extend(sums: Sums, base_set: Places, base_row: Places, set_of_row: Places, sizes: Places, value: Places) -> Sums:
    """Sets of one parent more: the set and the row that each set and row extends, and values of the new parent."""
    kept = []
    for parent in sums.parents:
        some = parent.sizes[base_set]
        place = np.repeat(_first(parent.sizes)[base_set] - _first(some), some) + np.arange(some.sum())
        kept.append(Parent(some, parent.value[base_row], parent.shifts[:, place]))
    new = Parent(sizes, value, np.zeros((len(sums.level), int(sizes.sum()))))
    return Sums(set_of_row, sums.level[:, base_set], (*kept, new))


def one_more(
    counts: Vector,
    around: Vector,
    sums: Sums,
    base_set: Places,
    base_row: Places,
    set_of_row: Places,
    sizes: Places,
    value: Places,
    sweeps: int,
) -> Step:
    """The tables of some `counts` ``[r, R]`` that extend others, whose shares are `around` each row ``[r, R]``.

    A fit starts from that of one parent less, so that few `sweeps` will do.
    """
    counts, around = np.ascontiguousarray(counts), np.ascontiguousarray(around)
    start = extend(sums, base_set, base_row, set_of_row, sizes, value)
    sums, summed = add_up(counts, start, sweeps)
    pushed = push(counts, around, start, sweeps)
    gain = np.bincount(set_of_row, (counts * (pushed.logs - np.log(around))).sum(axis=0), minlength=len(sizes))
    around = np.where((gain > pushed.cost)[set_of_row], np.exp(pushed.logs), around)
    return Step(sums, summed, pushed, fitted_with(counts, around, set_of_row, len(sizes)))


def add_up(counts: Vector, start: Sums, sweeps: int) -> tuple[Sums, Linear]:
    """Shifts of all parents that suit these `counts` ``[r, R]``, from those that are given. What they shift has its
    price without parents too; it is not part of the cost."""
    set_of_row, level, parents = start.set_of_row, start.level.copy(), start.parents
    starts = np.cumsum([0, *(each.shifts.shape[1] for each in parents)])
    firsts = np.array([begin + _first(each.sizes) for begin, each in zip(starts[:-1], parents, strict=True)])
    values, sizes = np.array([each.value for each in parents]), np.array([each.sizes for each in parents])
    shifts = np.concatenate([each.shifts for each in parents], axis=1)
    shares = fit_all(counts, _ends(start), level, values, firsts, sizes, shifts, sweeps)
    fitted = [np.ascontiguousarray(each) for each in np.split(shifts, starts[1:-1], axis=1)]
    costs = np.zeros((len(VARIANCES), level.shape[1]))
    for parent, now in zip(parents, fitted, strict=True):
        costs += costs_of(counts, shares, _groups(parent, set_of_row), now, parent.sizes, np.array(VARIANCES))
    moved = tuple(parent._replace(shifts=now) for parent, now in zip(parents, fitted, strict=True))
    return Sums(set_of_row, level, moved), Linear(np.log(shares), _of_all(costs))


def push(counts: Vector, around: Vector, start: Sums, sweeps: int) -> Linear:
    """Shifts of the last parent alone, of tables with these shares ``[r, R]``."""
    new = start.parents[-1]
    shifts, shares = np.zeros_like(new.shifts), around.copy()
    fit_last(counts, shares, _ends(start), new.value, new.sizes, shifts, sweeps)
    costs = costs_of(counts, shares, _groups(new, start.set_of_row), shifts, new.sizes, np.array(VARIANCES))
    return Linear(np.log(shares), _of_all(costs))


def _groups(parent: Parent, set_of_row: Places) -> Places:
    """The value of a parent in each row, among those in all sets."""
    return np.asarray(_first(parent.sizes)[set_of_row] + parent.value)


def _ends(sums: Sums) -> Places:
    """Where the rows of each set begin, and the end of all ``[S + 1]``."""
    return np.searchsorted(sums.set_of_row, np.arange(sums.level.shape[1] + 1))


def _first(sizes: Places) -> Places:
    return np.asarray(np.cumsum(sizes) - sizes)


def _of_all(costs: Vector) -> Vector:
    """What to pay if all variances are equally likely ``[S]``."""
    least = costs.min(axis=0)
    return np.asarray(least - np.log(np.exp(least - costs).mean(axis=0)))
