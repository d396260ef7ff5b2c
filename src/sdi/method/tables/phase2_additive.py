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

VARIANCES = (0.03, 0.1, 0.3, 1.0, 3.0)  # of shifts beforehand, equally likely: weak effects and strong ones
FITTED = 0.3  # that by which they are fitted ...
LEVEL = 3.0  # ... and that of the log-odds that they shift
LONGEST = 2.0  # step of a shift
FIRMEST = 1e6  # rows of data that a row of a fit may weigh, at most; one at least
TINY = 1e-12  # no share is less: what was never seen may yet be
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
    summed: Linear  # if effects of all parents add up
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

    A fit starts from that of one parent less, so that few `sweeps` will do. Of a first parent shifts say nothing that a
    table does not.
    """
    start = extend(sums, base_set, base_row, set_of_row, sizes, value)
    sums, summed = add_up(counts, start, sweeps)
    if len(start.parents) == 1:
        return Step(sums, summed, summed, (counts + around) / (counts.sum(axis=0) + 1))
    pushed = push(counts, around, start, min(sweeps, 2))
    gain = np.bincount(set_of_row, (counts * (pushed.logs - np.log(around))).sum(axis=0), minlength=len(sizes))
    around = np.where((gain > pushed.cost)[set_of_row], np.exp(pushed.logs), around)
    return Step(sums, summed, pushed, fitted_with(counts, around, set_of_row))


def add_up(counts: Vector, start: Sums, sweeps: int) -> tuple[Sums, Linear]:
    """Shifts of all parents that suit these `counts` ``[r, R]``, from those that are given."""
    set_of_row, level, parents = start
    totals, (states, sets) = counts.sum(axis=0), level.shape
    groups = [_groups(each, set_of_row) for each in parents]
    shifts = [each.shifts for each in parents]
    seen = [_sums(counts, group, each.shape[1]) for group, each in zip(groups, shifts, strict=True)]
    overall = _sums(counts, set_of_row, sets)
    logs = level.take(set_of_row, axis=1)
    for group, each in zip(groups, shifts, strict=True):
        logs += each.take(group, axis=1)
    shares = _shares(logs)
    for _ in range(sweeps if len(parents) > 1 else 1):
        for k in reversed(range(len(parents))):  # first the one that is new
            change = _change(seen[k], totals, shares, groups[k], shifts[k], FITTED)
            shifts[k], shares = shifts[k] + change, _shifted(shares, change, groups[k])
        change = _change(overall, totals, shares, set_of_row, level, LEVEL)
        level, shares = level + change, _shifted(shares, change, set_of_row)
    informed = totals * shares * (1 - shares)
    free = (1 - 1 / states) * np.log1p(LEVEL * _sums(informed, set_of_row, sets)).sum(axis=0)
    costs = np.tile(((level**2).sum(axis=0) / LEVEL + free) / 2, (len(VARIANCES), 1))  # [V, S]
    for parent, group, now in zip(parents, groups, shifts, strict=True):
        costs += _costs(_sums(informed, group, now.shape[1]), now, parent.sizes)
    fitted = tuple(parent._replace(shifts=now) for parent, now in zip(parents, shifts, strict=True))
    return Sums(set_of_row, level, fitted), Linear(np.log(shares), _of_all(costs))


def push(counts: Vector, around: Vector, start: Sums, sweeps: int) -> Linear:
    """Shifts of the last parent alone, of tables with these shares ``[r, R]``."""
    set_of_row, _, parents = start
    totals, new = counts.sum(axis=0), parents[-1]
    group, shifts, shares = _groups(new, set_of_row), np.zeros_like(new.shifts), around
    seen = _sums(counts, group, shifts.shape[1])
    for _ in range(sweeps):
        change = _change(seen, totals, shares, group, shifts, FITTED)
        shifts, shares = shifts + change, _shifted(shares, change, group)
    information = _sums(totals * shares * (1 - shares), group, shifts.shape[1])
    return Linear(np.log(shares), _of_all(_costs(information, shifts, new.sizes)))


def fitted_with(counts: Vector, around: Vector, set_of_row: Places) -> Vector:
    """Shares of states in each row, as they are expected and as they were seen ``[r, R]``.

    The more the rows of a table scatter around what is expected, the less that counts.
    """
    totals, sets = counts.sum(axis=0), int(set_of_row.max(initial=0)) + 1
    there = totals > 0
    expected = np.where(there, totals * around, 1.0)
    square = ((counts - expected) ** 2 / np.maximum(expected, 1 / FIRMEST)).sum(axis=0) / max(len(counts) - 1, 1)
    beyond = np.bincount(set_of_row, np.where(there, square - 1, 0.0), minlength=sets)
    more = np.bincount(set_of_row, np.maximum(totals - 1, 0), minlength=sets)
    firm = np.clip(more / np.maximum(beyond, 1 / FIRMEST) - 1, 1.0, FIRMEST)[set_of_row]
    return np.asarray((counts + firm * around) / (totals + firm))


def _groups(parent: Parent, set_of_row: Places) -> Places:
    """The value of a parent in each row, among those in all sets."""
    return np.asarray(_first(parent.sizes)[set_of_row] + parent.value)


def _first(sizes: Places) -> Places:
    return np.asarray(np.cumsum(sizes) - sizes)


def _sums(values: Vector, group: Places, groups: int) -> Vector:
    return np.array([np.bincount(group, each, minlength=groups) for each in values])


def _shares(logs: Vector) -> Vector:
    powers = np.exp(logs)
    powers /= powers.sum(axis=0)
    return np.asarray(np.maximum(powers, TINY))


def _shifted(shares: Vector, change: Vector, group: Places) -> Vector:
    powers = np.exp(change).take(group, axis=1)
    powers *= shares
    powers /= powers.sum(axis=0)
    return np.asarray(np.maximum(powers, TINY, out=powers))


def _change(seen: Vector, totals: Vector, shares: Vector, group: Places, shifts: Vector, variance: float) -> Vector:
    """A step of Newton's method for the shifts of one parent; those of all states say one thing twice over."""
    expected = totals * shares
    slope = _sums(expected * (1 - shares), group, shifts.shape[1]) / max(1 - 1 / len(shares), 0.5)
    beyond = seen - _sums(expected, group, shifts.shape[1]) - shifts / variance
    return np.asarray(np.clip(beyond / (slope + 1 / variance), -LONGEST, LONGEST))


def _costs(information: Vector, shifts: Vector, sizes: Places) -> Vector:
    """What shifts of a parent cost, for each variance ``[V, S]``: one state and one value follow from the others."""
    set_of = np.repeat(np.arange(len(sizes)), sizes)
    free, against = ((1 - 1 / sizes) * (1 - 1 / len(shifts)))[set_of], (shifts**2).sum(axis=0)
    each = [against / variance + free * np.log1p(variance * information).sum(axis=0) for variance in VARIANCES]
    return np.array([np.bincount(set_of, one / 2, minlength=len(sizes)) for one in each])


def _of_all(costs: Vector) -> Vector:
    """What to pay if all variances are equally likely ``[S]``."""
    least = costs.min(axis=0)
    return np.asarray(least - np.log(np.exp(least - costs).mean(axis=0)))
