"""Phase 2, likelihood: what the tables of a family are around, fitted to all rows there are.

Legend: S parent sets of a family, c cells of their tables that were seen, q rows of them that were, r states of the
child.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.phase1_count import Counts, Family
from sdi.method.tables.phase2_additive import Linear, Sums, nothing_to_add, one_more

DENSE = 16  # codes of which one in so many is there are looked up
Places = NDArray[np.intp]


class Fitted:
    """Each table around that which it extends: of what was seen in a table the same was seen in that.

    Effects may add up where `adding` says so. Of sets before `first` only those are looked at which the others extend.
    """

    def __init__(
        self,
        family: Family,
        cells: Places,
        rows: Places,
        counts: Counts,
        totals: Counts,
        adding: NDArray[np.bool_],
        sweeps: int,
        first: int,
    ) -> None:
        self.family, self.rows, self.sweeps, states = family, rows, sweeps, family.states
        place = family.of_cell[cells]
        row, self.state = np.divmod(place, states)
        among = places_of(rows, len(totals))
        self.row = among[row]  # [c] among those seen
        below = find(place, family.base_row[row] * states + self.state)
        seen, total = counts[cells], totals[row]
        self.centre = np.full(len(cells), 1 / states)  # [c] the share of its row that a cell has beforehand, ...
        self.share = (seen + self.centre) / (total + 1)  # [c] ... and what that comes to with its counts
        self.summed, self.pushed = (  # what shifts make of them; it costs inf where it is not looked at
            Linear(np.zeros(len(cells)), np.full(len(family.sets), np.inf)) for _ in range(2)
        )
        self.extended = Linear(np.zeros(len(cells)), np.zeros(len(family.sets)))  # what the latter push
        self._shares = np.zeros((states, len(rows)))  # [r, q] the same as share, of whole rows
        self._shares[:, :1] = (counts[:states, None] + 1 / states) / (totals[0] + 1)  # no row, no column
        self.level = float(counts[:states] @ np.log(self._shares[:, 0])) if len(rows) else 0.0  # of no parents
        self._table = np.zeros((states, len(rows)))  # [r, q]
        self._table[self.state, self.row] = seen
        self._base_row = among[family.base_row[rows]]  # [q]
        self._row_place, self._set_place = np.zeros(len(rows), np.intp), np.zeros(len(family.sets), np.intp)
        sums, wanted = nothing_to_add(states), _wanted(family, adding, first)
        lengths = [len(each) for each in family.sets]  # they are sorted by it
        levels = np.searchsorted(lengths, np.arange(1, lengths[-1] + 2)).tolist()
        for start, stop in itertools.pairwise(levels):
            here = slice(*np.searchsorted(place, family.first_row[[start, stop]] * states))
            self.centre[here] = self.share[below[here]]
            self.share[here] = (seen[here] + self.centre[here]) / (total[here] + 1)
            sets = start + np.flatnonzero(wanted[start:stop])
            if len(sets):
                sums = self._shift(sums, sets, slice(start, stop), here)

    def _shift(self, sums: Sums, sets: Places, level: slice, cells: slice) -> Sums:
        """Of these sets, all of one size, whose tables lie among these cells."""
        family, rows = self.family, slice(*np.searchsorted(self.rows, self.family.first_row[[level.start, level.stop]]))
        chosen, set_of_row = np.zeros(len(family.sets), bool), family.of_row[self.rows[rows]]
        chosen[sets] = True
        some = rows.start + np.flatnonzero(chosen[set_of_row])
        self._set_place[sets], self._row_place[some] = np.arange(len(sets)), np.arange(len(some))
        bases = [family.bases[s - 1] for s in sets.tolist()]
        sizes = np.array([family.cardinalities[family.candidates[added]] for _, added in bases], np.intp)
        base_row = self._base_row[some]
        around = self._shares[:, base_row]
        step = one_more(
            self._table[:, some],
            around,
            sums,
            self._set_place[[base for base, _ in bases]],
            self._row_place[base_row],
            self._set_place[set_of_row[some - rows.start]],
            sizes,
            family.added_value[self.rows[some]],
            self.sweeps,
        )
        self._shares[:, some] = step.shares
        mine = cells.start + np.flatnonzero(chosen[family.of_row[self.rows[self.row[cells]]]])
        at = self.state[mine], self._row_place[self.row[mine]]
        self.share[mine], self.extended.logs[mine] = step.shares[at], np.log(around[at])
        for linear, found in ((self.summed, step.summed), (self.pushed, step.pushed)):
            linear.logs[mine], linear.cost[sets] = found.logs[at], found.cost
        return step.sums


def places_of(some: Places, many: int) -> Places:
    """Where each of so many numbers stands among `some` of them; of the others nothing is said."""
    result = np.zeros(many, np.intp)
    result[some] = np.arange(len(some))
    return result


def find(codes: Places, wanted: Places) -> Places:
    """Where each of the `wanted` stands among codes that ascend; by looking it up where that is faster."""
    if not len(codes) or codes[-1] > DENSE * len(codes):
        return np.searchsorted(codes, wanted)
    return places_of(codes, int(codes[-1]) + 1)[wanted]


def _wanted(family: Family, adding: NDArray[np.bool_], first: int) -> NDArray[np.bool_]:
    """Sets whose parents may add up: those from `first` on that are `adding`, and what they extend."""
    wanted = adding.copy()
    wanted[:first] = False
    for s in range(len(wanted) - 1, 0, -1):
        if wanted[s]:
            wanted[family.bases[s - 1][0]] = True
    return wanted
