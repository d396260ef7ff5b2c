"""Phase 2, likelihood: the marginal likelihood of counts under a prior, for all parent sets of a family at once.

Legend: M variables, S parent sets of a family, r states of its variable.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import Block, Counts, Family

Vector: TypeAlias = NDArray[np.float64]
FEW = 4096  # counts below it are looked up
MANY_ROWS = 32  # of a table: with more of them its equivalent samples grow


@lru_cache(maxsize=1024)
def _rising(prior: float) -> Vector:
    """log Gamma(n + prior) - log Gamma(prior) for every n below FEW."""
    return np.asarray(gammaln(np.arange(FEW) + prior) - gammaln(prior))


class _Rising:
    """log Gamma(n + prior) - log Gamma(prior) for many n at once, where priors are few."""

    def __init__(self, priors: Vector) -> None:
        self.different, self.which = np.unique(priors, return_inverse=True)
        self.known = np.concatenate([_rising(float(prior)) for prior in self.different])

    def __call__(self, n: NDArray[np.intp], of: NDArray[np.intp]) -> Vector:
        """For counts `n` under the priors at the places `of`."""
        which = self.which[of]
        result = self.known[which * FEW + np.minimum(n, FEW - 1)]
        many = np.flatnonzero(n >= FEW)
        if len(many):
            prior = self.different[which[many]]
            result[many] = gammaln(n[many] + prior) - gammaln(prior)
        return result


class Prior(NamedTuple):
    """What is believed of a table before its rows are seen.

    BDeu expects causes to have a strong effect: in each row of the table anew, any distribution of the child will do.
    An effect that is real and weak would have to pay for that, and so would a strong one for each weak one beside it.
    So a table may instead extend that of one parent less, as a Dirichlet around it: with few equivalent samples it
    differs at will, with many hardly. Each number is as likely as the others. For a table of many rows it is larger:
    what matters is how many samples there are for each.
    """

    sizes: tuple[float, ...]  # equivalent samples; a single one is BDeu
    shares: tuple[Vector, ...] = ()  # of each state of each variable among all rows of the block

    @property
    def extending(self) -> bool:
        return len(self.sizes) > 1

    def scaled(self, combinations: NDArray[np.intp] | int) -> Vector:
        """Equivalent samples of tables with so many rows, for each size ``[., ...]``."""
        return np.multiply.outer(np.array(self.sizes), np.maximum(1.0, np.asarray(combinations) / MANY_ROWS))


def prior_of(block: Block, cardinalities: Sequence[int], sample_size: float, strengths: int) -> Prior:
    """So many equivalent sample sizes, each ten times the one before."""
    shares = [
        np.bincount(block.rows[:, i], block.times, minlength=states) + 1.0 / states
        for i, states in enumerate(cardinalities)
    ]
    sizes = tuple(sample_size * 10.0**k for k in range(strengths))
    return Prior(sizes, tuple(each / each.sum() for each in shares))


def log_rising(n: Vector | Counts, prior: Vector | float) -> Vector:
    """log Gamma(n + prior) - log Gamma(prior)."""
    return np.asarray(gammaln(n + prior) - gammaln(prior))


def average(scores: Sequence[Vector]) -> Vector:
    """Log of the mean of likelihoods, given their logs."""
    top = np.max(scores, axis=0)
    return np.asarray(top + np.log(np.mean([np.exp(each - top) for each in scores], axis=0)))


class Bdeu:
    """Log marginal likelihood of the rows behind some counts under each parent set of a family ``[S]``."""

    def __init__(self, family: Family, sample_size: float) -> None:
        self.family = family
        prior = sample_size / family.combinations
        self.row, self.cell = _Rising(prior), _Rising(prior / family.states)

    def __call__(self, counts: Counts) -> Vector:
        family, size = self.family, len(self.family.sets)
        seen = np.flatnonzero(counts)  # what was never seen adds nothing
        of_cell = family.of_row[seen // family.states]
        totals = counts.reshape(-1, family.states).sum(axis=1)
        rows = np.flatnonzero(totals)
        of_row = family.of_row[rows]
        inside = np.bincount(of_cell, self.cell(counts[seen], of_cell), minlength=size)
        return np.asarray(inside - np.bincount(of_row, self.row(totals[rows], of_row), minlength=size), np.float64)


class Likelihood:
    """The same, for tables that extend one another; what they are around is fitted to all rows there are.

    Made for the sets from `first` on, it only knows what these add to those that they extend.
    """

    def __init__(self, family: Family, prior: Prior, counts: Counts, first: int = 0) -> None:
        self.family, self.prior = family, prior
        if not prior.extending:
            self.plain = Bdeu(family, prior.sizes[0])
            return
        tables = counts.reshape(-1, family.states)
        self.rows = np.flatnonzero(tables.any(axis=1))  # to what was never seen no score adds anything
        row, state = np.nonzero(tables[self.rows])
        self.cells = self.rows[row] * family.states + state
        row_set, self.base = family.of_row[self.rows], np.array([0, *(base for base, _ in family.bases)])
        cell_set = row_set[row]
        self.of_cells, self.of_rows = (slice(int(np.searchsorted(each, first)), None) for each in (cell_set, row_set))
        self.cell_set, self.row_set = cell_set[self.of_cells], row_set[self.of_rows]
        self.under_cells, self.cells_above = _of_bases(cell_set, self.base, first)
        self.under_rows, self.rows_above = _of_bases(row_set, self.base, first)
        centre, fitted = _centres(family, self.rows, tables[self.rows].astype(np.float64))
        share, sizes = _row_shares(family, prior.shares)[self.rows], prior.scaled(family.combinations)
        self.around = sizes[:, self.cell_set] * (centre[row, state] * share[row])[self.of_cells]
        self.itself = sizes[:, self.cells_above] * (fitted[row, state] * share[row])[self.under_cells]
        self.mass = sizes[:, self.row_set] * share[self.of_rows]
        self.mass_under = sizes[:, self.rows_above] * share[self.under_rows]
        self.nothing = self._raised(np.zeros(len(self.cells)), np.zeros(len(self.rows)))

    def __call__(self, counts: Counts) -> Vector:
        if not self.prior.extending:
            return self.plain(counts)
        result = self.added(counts)
        result[0] = float(bdeu_alone(counts[: self.family.states], self.prior.sizes[0]))
        for s, base in enumerate(self.base[1:].tolist(), start=1):
            result[s] += result[base]
        return result

    def added(self, counts: Counts) -> Vector:
        """What each set adds to the one that it extends ``[S]``."""
        totals = counts.reshape(-1, self.family.states)[self.rows].sum(axis=1)
        return average(list(self._raised(counts[self.cells].astype(np.float64), totals) - self.nothing))

    def _raised(self, n: Vector, totals: Vector) -> Vector:
        """What the added parent of each set makes of these counts, up to a constant, by sample size ``[., S]``."""
        parts = (
            (1, self.cell_set, n[self.of_cells], self.around),
            (-1, self.row_set, totals[self.of_rows], self.mass),
            (-1, self.cells_above, n[self.under_cells], self.itself),
            (1, self.rows_above, totals[self.under_rows], self.mass_under),
        )
        found = np.zeros((len(self.prior.sizes), len(self.family.sets)))
        for sign, of_set, count, prior in parts:
            for k, each in enumerate(prior):
                found[k] += sign * np.bincount(of_set, gammaln(count + each), minlength=len(self.family.sets))
        return found


def _of_bases(
    of_set: NDArray[np.intp], base: NDArray[np.intp], first: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each set from `first` on all places of the set that it extends, and the set for which they are there."""
    start, here = np.searchsorted(of_set, np.arange(len(base) + 1)), np.arange(max(first, 1), len(base))
    spans = [np.arange(start[b], start[b + 1]) for b in base[here]]
    return np.concatenate([*spans, []]).astype(np.intp), np.repeat(here, [len(s) for s in spans])


def _centres(family: Family, rows: NDArray[np.intp], seen: Vector) -> tuple[Vector, Vector]:
    """Around what each row of a table is expected beforehand, and what it comes to with its counts ``[., r]``."""
    of_base, totals = np.searchsorted(rows, family.base_row[rows]), seen.sum(axis=1, keepdims=True)
    centre = np.full(seen.shape, 1 / seen.shape[1])
    fitted = (seen + centre) / (totals + 1)
    lengths = [len(each) for each in family.sets]  # they are sorted by it
    levels = family.first_row[np.searchsorted(lengths, np.arange(1, lengths[-1] + 2))]
    for start, stop in itertools.pairwise(np.searchsorted(rows, levels).tolist()):
        centre[start:stop] = fitted[of_base[start:stop]]
        fitted[start:stop] = (seen[start:stop] + centre[start:stop]) / (totals[start:stop] + 1)
    return centre, fitted


def bdeu_alone(counts: NDArray[np.float64] | Counts, sample_size: float) -> Vector:
    """Log marginal likelihood of tables without parents ``[..., r]``."""
    cell, totals = np.asarray(sample_size / counts.shape[-1]), counts.sum(axis=-1)
    return np.asarray(log_rising(counts, cell).sum(axis=-1) - log_rising(totals, np.asarray(sample_size)))


def _row_shares(family: Family, shares: Sequence[Vector]) -> Vector:
    """How often each combination of parents would be seen if they were independent; one by one for all tables."""
    each = [np.ones(1)]
    for base, added in family.bases:
        each.append(np.multiply.outer(each[base], shares[family.candidates[added]]).ravel())
    return np.concatenate(each)
