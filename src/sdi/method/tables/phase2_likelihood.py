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

    def scaled(self, combinations: Vector | float) -> Vector:
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
        of_cell = family.of_row[family.of_cell[seen] // family.states]
        totals = family.totals(counts)
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
        totals = family.totals(counts)
        self.cells, self.rows = np.flatnonzero(counts), np.flatnonzero(totals)  # what was never seen adds nothing
        row = np.searchsorted(self.rows, family.of_cell[self.cells] // family.states)
        row_set, self.base = family.of_row[self.rows], np.array([0, *(base for base, _ in family.bases)])
        cell_set, sizes = row_set[row], prior.scaled(family.combinations)
        self.of_cells, self.of_rows = (slice(int(np.searchsorted(each, first)), None) for each in (cell_set, row_set))
        self.cell_set, self.row_set = cell_set[self.of_cells], row_set[self.of_rows]
        self.alike = _alike(self.base, sizes[0], first)
        self.under_cells, self.cells_above = _spans(cell_set, self.base[self.alike.first])
        self.under_rows, self.rows_above = _spans(row_set, self.base[self.alike.first])
        centre, fitted = _centres(family, self.cells, counts[self.cells], totals[self.rows][row])
        share, below = _row_shares(family, prior.shares)[self.rows], sizes[:, self.alike.first]
        self.around = sizes[:, self.cell_set] * (centre * share[row])[self.of_cells]
        self.itself = below[:, self.cells_above] * (fitted * share[row])[self.under_cells]
        self.mass = sizes[:, self.row_set] * share[self.of_rows]
        self.mass_under = below[:, self.rows_above] * share[self.under_rows]
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
        totals = self.family.totals(counts)[self.rows]
        return average(list(self._raised(counts[self.cells].astype(np.float64), totals) - self.nothing))

    def _raised(self, n: Vector, totals: Vector | Counts) -> Vector:
        """What the added parent of each set makes of these counts, up to a constant, by sample size ``[., S]``."""
        sets, alike = len(self.family.sets), self.alike
        found = np.zeros((len(self.prior.sizes), sets))
        for k in range(len(found)):
            cells, rows = gammaln(n[self.of_cells] + self.around[k]), gammaln(totals[self.of_rows] + self.mass[k])
            found[k] += np.bincount(self.cell_set, cells, minlength=sets)
            found[k] -= np.bincount(self.row_set, rows, minlength=sets)
            cells, rows = (
                gammaln(n[self.under_cells] + self.itself[k]),
                gammaln(totals[self.under_rows] + self.mass_under[k]),
            )
            found[k][alike.here] -= np.bincount(self.cells_above, cells, minlength=len(alike.first))[alike.which]
            found[k][alike.here] += np.bincount(self.rows_above, rows, minlength=len(alike.first))[alike.which]
        return found


class _Alike(NamedTuple):
    """Sets that extend the same one under the same prior: of what lies below them they make the same."""

    here: slice  # these sets
    which: NDArray[np.intp]  # [.] the kind of each
    first: NDArray[np.intp]  # [.] a set of each kind


def _alike(base: NDArray[np.intp], sizes: Vector, first: int) -> _Alike:
    """Kinds of all sets from `first` on but the empty one."""
    here, kinds = slice(max(first, 1), len(base)), {}  # type: ignore[var-annotated]
    pairs = zip(base[here].tolist(), sizes[here].tolist(), strict=True)
    which = np.array([kinds.setdefault(pair, len(kinds)) for pair in pairs], dtype=np.intp)
    return _Alike(here, which, np.unique(which, return_index=True)[1] + here.start)


def _spans(of_set: NDArray[np.intp], sets: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All places of each of these sets, one set after the other, and for which of them each is there."""
    spans = [np.arange(*ends) for ends in np.stack([np.searchsorted(of_set, sets + k) for k in (0, 1)], 1).tolist()]
    return np.concatenate([*spans, []]).astype(np.intp), np.repeat(np.arange(len(sets)), [len(s) for s in spans])


def _centres(family: Family, cells: NDArray[np.intp], seen: Counts, totals: Counts) -> tuple[Vector, Vector]:
    """The share of its row that each cell is expected to have beforehand, and what that comes to with its counts.

    Of what was seen in a table the same was seen in that which it extends.
    """
    place = family.of_cell[cells]
    row, state = np.divmod(place, family.states)
    below = np.searchsorted(place, family.base_row[row] * family.states + state)
    centre = np.full(len(cells), 1 / family.states)
    fitted = (seen + centre) / (totals + 1)
    lengths = [len(each) for each in family.sets]  # they are sorted by it
    levels = family.first_cell[np.searchsorted(lengths, np.arange(1, lengths[-1] + 2))]
    for start, stop in itertools.pairwise(np.searchsorted(cells, levels).tolist()):
        centre[start:stop] = fitted[below[start:stop]]
        fitted[start:stop] = (seen[start:stop] + centre[start:stop]) / (totals[start:stop] + 1)
    return centre, fitted


def bdeu_alone(counts: NDArray[np.float64] | Counts, sample_size: float) -> Vector:
    """Log marginal likelihood of tables without parents ``[..., r]``."""
    cell, totals = np.asarray(sample_size / counts.shape[-1]), counts.sum(axis=-1)
    return np.asarray(log_rising(counts, cell).sum(axis=-1) - log_rising(totals, np.asarray(sample_size)))


def _row_shares(family: Family, shares: Sequence[Vector]) -> Vector:
    """How often each combination of parents would be seen if they were independent; one by one for all tables."""
    each = [np.ones(1)]
    for s, (base, added) in enumerate(family.bases, start=1):
        seen = family.seen[s] if s < len(family.seen) else None
        both = np.multiply.outer(each[base], shares[family.candidates[added]]).ravel()
        each.append(both if seen is None else both[seen.rows])
    return np.concatenate(each)
