"""Phase 2, likelihood: shifts of log-odds, fitted to the tables of many parent sets, one parent at a time.

Each parent takes a step of Newton's method, and shares of states move with it. Shifts of all parents lie side by side;
`group` says which of them moves a row.

Legend: R rows of tables that were seen, S sets of parents of one size, K parents of each, G values of all parents in
all of these sets, r states of the child, V variances.
"""

from math import exp, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.compiled import compiled

FITTED = 3.0  # variance of shifts by which they are fitted ...
LEVEL = 3.0  # ... and that of the log-odds that they shift
LONGEST = 2.0  # step of a shift
ENOUGH = 0.05  # nats: a sweep that gains less is the last
CHANCE = 2.0  # standard deviations of Pearson's statistic that rows may scatter for no reason
FIRMEST = 1e6  # rows of data that a row of a fit may weigh, at most; one at least
TINY = 1e-12  # no share is less: what was never seen may yet be
Vector = NDArray[np.float64]
Places = NDArray[np.intp]


@compiled
def fit_all(
    counts: Vector,
    ends: Places,
    level: Vector,
    values: Places,
    firsts: Places,
    sizes: Places,
    shifts: Vector,
    sweeps: int,
) -> Vector:
    """Shares of states ``[r, R]`` if effects of all parents add up; `level` ``[r, S]`` and `shifts` ``[r, G]`` move
    there from where they are. Rows of set s are those from `ends[s]` to `ends[s + 1]`; its parent k, with the `values`
    ``[K, R]``, has its `sizes[k, s]` shifts from `firsts[k, s]` on."""
    (states, rows), none = counts.shape, np.zeros(counts.shape[1], np.intp)
    shares = np.empty((states, rows))
    for s in range(len(ends) - 1):
        start, stop = ends[s], ends[s + 1]
        seen, share, totals = _of_set(counts, start, stop)
        for row in range(stop - start):
            whole = 0.0
            for x in range(states):
                power = level[x, s]
                for k in range(len(values)):
                    power += shifts[x, firsts[k, s] + values[k, start + row]]
                share[row, x] = exp(power)
                whole += share[row, x]
            for x in range(states):
                share[row, x] = max(share[row, x] / whole, TINY)
        for _ in range(sweeps):
            gained = 0.0
            for k in range(len(values) - 1, -1, -1):  # first the one that is new
                part = firsts[k, s], sizes[k, s]
                gained += _step(seen, totals, share, values[k, start:stop], shifts, part, FITTED)
            gained += _step(seen, totals, share, none[start:stop], level, (s, 1), LEVEL)
            if gained < ENOUGH:
                break
        for row in range(stop - start):
            for x in range(states):
                shares[x, start + row] = share[row, x]
    return shares


@compiled
def fit_last(
    counts: Vector, shares: Vector, ends: Places, value: Places, sizes: Places, shifts: Vector, sweeps: int
) -> None:
    """Shifts ``[r, G]`` of one parent alone, from 0; `shares` ``[r, R]`` move with them."""
    states, first = len(counts), 0
    for s in range(len(ends) - 1):
        start, stop = ends[s], ends[s + 1]
        seen, share, totals = _of_set(counts, start, stop)
        for row in range(stop - start):
            for x in range(states):
                share[row, x] = shares[x, start + row]
        for _ in range(sweeps):
            if _step(seen, totals, share, value[start:stop], shifts, (first, sizes[s]), FITTED) < ENOUGH:
                break
        for row in range(stop - start):
            for x in range(states):
                shares[x, start + row] = share[row, x]
        first += sizes[s]


@compiled
def _of_set(counts: Vector, start: int, stop: int) -> tuple[Vector, Vector, Vector]:
    """Counts of one set, the states of a row side by side ``[R, r]``, room for its shares, and its totals ``[R]``."""
    seen, totals = np.empty((stop - start, len(counts))), np.zeros(stop - start)
    for row in range(stop - start):
        for x in range(len(counts)):
            seen[row, x] = counts[x, start + row]
            totals[row] += seen[row, x]
    return seen, np.empty(seen.shape), totals


@compiled
def _totals(counts: Vector) -> Vector:
    states, rows = counts.shape
    result = np.zeros(rows)
    for x in range(states):
        for row in range(rows):
            result[row] += counts[x, row]
    return result


@compiled
def _step(
    counts: Vector,
    totals: Vector,
    shares: Vector,
    value: Places,
    shifts: Vector,
    part: tuple[int, int],
    variance: float,
) -> float:
    """One of Newton's method for the shifts of one parent in one set, whose counts and shares are ``[R, r]``; those of
    all states say one thing twice over. What it gains, in nats, is about what is returned."""
    (first, size), (rows, states) = part, shares.shape
    beyond, slope = np.zeros((size, states)), np.zeros((size, states))
    for row in range(rows):
        g, total = value[row], totals[row]
        for x in range(states):
            expected = total * shares[row, x]
            beyond[g, x] += counts[row, x] - expected
            slope[g, x] += expected * (1 - shares[row, x])
    twice, gained = max(1 - 1 / states, 0.5), 0.0
    for x in range(states):
        for g in range(size):
            uphill = beyond[g, x] - shifts[x, first + g] / variance
            change = uphill / (slope[g, x] / twice + 1 / variance)
            change = min(max(change, -LONGEST), LONGEST)
            shifts[x, first + g] += change
            gained += change * uphill / 2
            beyond[g, x] = exp(change)
    for row in range(rows):
        g, whole = value[row], 0.0
        for x in range(states):
            shares[row, x] *= beyond[g, x]
            whole += shares[row, x]
        rescale = 1 / whole
        for x in range(states):
            shares[row, x] = max(shares[row, x] * rescale, TINY)
    return gained


@compiled
def costs_of(counts: Vector, shares: Vector, group: Places, shifts: Vector, sizes: Places, variances: Vector) -> Vector:
    """What shifts of a parent cost in each set, for each variance ``[V, S]``: half of the log of how much sharper they
    are known than before, and of what they are beside their variance.

    What is alike for all states, or for all values, is no shift: one state and one value follow from the others, and a
    value that nearly all rows have hardly shifts anything. So child and parent might change places.
    """
    (states, rows), totals = counts.shape, _totals(counts)
    information, weight = np.zeros(shifts.shape), np.zeros(shifts.shape[1])
    for row in range(rows):
        weight[group[row]] += totals[row]
    for x in range(states):
        for row in range(rows):
            information[x, group[row]] += totals[row] * shares[x, row] * (1 - shares[x, row])
    result, start = np.zeros((len(variances), len(sizes))), 0
    for s in range(len(sizes)):
        mine = slice(start, start + sizes[s])
        start += sizes[s]
        whole, each = weight[mine].sum(), shifts[:, mine]
        free, overall = (1 - 1 / states) * (1 - 1 / sizes[s]), each.sum() / (states * sizes[s])
        of_state = np.array([each[x].sum() / sizes[s] for x in range(states)])
        for g in range(sizes[s] if free else 0):
            less, of_value = (1 - weight[mine][g] / whole) if whole else 1.0, each[:, g].sum() / states
            for x in range(states):
                square = (each[x, g] - of_state[x] - of_value + overall) ** 2
                known = information[x, mine][g] * less
                for v in range(len(variances)):
                    variance = variances[v] / free
                    firm = _firmness(variance, known / free)
                    result[v, s] += (square * firm + free * log1p(variance * known / free)) / 2
    return result


@compiled
def _firmness(variance: float, known: float) -> float:
    """What the square of a shift costs that was fitted under another variance than this.

    Under a smaller one it would be smaller itself, and fit less well; Laplace's method goes by where it would be. What
    is `known` about it, the curvature of the likelihood, says where that is.
    """
    if variance >= FITTED:
        return 1 / variance
    return (known + 2 / FITTED - variance / FITTED**2) / (1 + variance * known)


@compiled
def fitted_with(counts: Vector, around: Vector, set_of_row: Places, sets: int) -> Vector:
    """Shares of states in each row, as they are expected and as they were seen ``[r, R]``.

    The more the rows of a table scatter around what is expected, beyond what chance would do, the less that counts.
    """
    (states, rows), totals, free = counts.shape, _totals(counts), max(counts.shape[0] - 1, 1)
    beyond, more, chance = np.zeros(sets), np.zeros(sets), np.zeros(sets)
    for row in range(rows):
        if totals[row] == 0:
            continue
        square, inverse = 0.0, 0.0
        for x in range(states):
            expected = totals[row] * around[x, row]
            square += (counts[x, row] - expected) ** 2 / max(expected, 1 / FIRMEST)
            inverse += 1 / max(around[x, row], 1 / FIRMEST)
        s = set_of_row[row]
        beyond[s] += square / free - 1
        more[s] += totals[row] - 1
        chance[s] += (2 * free + max(inverse - states**2 - 2 * free, -2 * free * totals[row]) / totals[row]) / free**2
    result = np.empty(counts.shape)
    for row in range(rows):
        s = set_of_row[row]
        plain = beyond[s] - CHANCE * sqrt(max(chance[s], 0.0))
        firm = min(max(more[s] / max(plain, 1 / FIRMEST) - 1, 1.0), FIRMEST)
        for x in range(states):
            result[x, row] = (counts[x, row] + firm * around[x, row]) / (totals[row] + firm)
    return result
