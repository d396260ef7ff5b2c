"""Phase 2, likelihood: the marginal likelihood of counts under a prior, for all parent sets of a family at once.

Legend: M variables, S parent sets of a family, r states of its variable, Z equivalent sample sizes.
"""

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import Block, Counts, Family
from sdi.method.tables.phase2_additive import Linear
from sdi.method.tables.phase2_fitted import Fitted, places_of
from sdi.method.tables.phase2_rising import changed_sums, sums_of_rising

Vector: TypeAlias = NDArray[np.float64]
FEW = 4096  # counts below it are looked up
MANY_ROWS = 32  # of a table: with more of them its equivalent samples grow
HOPELESS = 1e6  # nats that something is worth less
FEW_VARIABLES = 14  # a world of no more is small: all others are candidates of each, and large tables are affordable
SUMMED = 20_000  # cells of a table up to which effects may add up, ...
SEEN = 700_000  # ... or, where variables are few, rows of data times states, which is all that can be there of it, for
# each of the variables by which it may be extended: what it takes to look at one after the other
TWICE = 2.0  # rows of data for each cell that was seen: with fewer a table has nothing to say by itself


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
    sweeps: int = 12  # over the shifts of a table; without any, tables have none
    rows: float = np.inf  # of data that a table holds at most, if what is there of it is to count and not its size, ...
    own_rows: float = np.inf  # ... and that of one environment

    @property
    def extending(self) -> bool:
        return len(self.sizes) > 1

    def adds_up(self, combinations: Vector | float, states: int | Vector) -> NDArray[np.bool_]:
        """Whether effects may add up in tables with so many rows: small ones, or those of which little is there."""
        small = np.less_equal(np.multiply(combinations, states), SUMMED)
        others = max(len(self.shares) - 1, 1)
        little = np.less_equal(self.rows * others * np.asarray(states), SEEN)
        return np.asarray(small | little) & (self.sweeps > 0 and self.extending)

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
    prior = Prior(sizes, tuple(each / each.sum() for each in shares))
    if len(cardinalities) > FEW_VARIABLES:
        return prior
    own = max((float(block.times[block.part(e)].sum()) for e in range(block.environments)), default=0.0)
    return prior._replace(rows=float(block.times.sum()), own_rows=own)


def log_rising(n: Vector | Counts, prior: Vector | float) -> Vector:
    """log Gamma(n + prior) - log Gamma(prior)."""
    return np.asarray(gammaln(n + prior) - gammaln(prior))


def average(scores: Sequence[Vector]) -> Vector:
    """Log of the mean of likelihoods, given their logs."""
    each, top = np.asarray(scores), np.max(scores, axis=0)
    return np.asarray(top + np.log(np.exp(each - top).sum(axis=0) / np.isfinite(each).sum(axis=0)))


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


class _Part(NamedTuple):
    """Some counts under a prior for each sample size, added up for each of several sets.

    What all rows come to is worked out once: of fewer rows only the counts that differ have to be looked at.
    """

    place: NDArray[np.intp]  # [.] among counts
    of: NDArray[np.intp]  # [.] set
    sizes: Vector  # [Z, sets] of the prior of a table, ...
    mass: Vector  # [.] and of each place its share of that
    n: Vector  # all counts, and ...
    whole: Vector  # ... what they come to [Z, sets]

    def __call__(self, n: Vector) -> Vector:
        """log Gamma(n + prior) - log Gamma(prior), added up ``[Z, sets]``."""
        return changed_sums(n, self.n, self.place, self.of, self.sizes, self.mass, self.whole)


def _part(place: NDArray[np.intp], of: NDArray[np.intp], sizes: Vector, mass: Vector, n: Vector) -> _Part:
    sizes = np.ascontiguousarray(sizes)
    return _Part(place, of, sizes, mass, n, sums_of_rising(n, place, of, sizes, mass))


class Likelihood:
    """The same, for tables that extend one another, around what is fitted to all rows, or to those `left` alone.

    `whole` is that of the rows it is fitted to. Where that is `known` of the first few sets, what is made is for the
    others alone.
    """

    def __init__(
        self, family: Family, prior: Prior, counts: Counts, known: Vector | None = None, left: Counts | None = None
    ) -> None:
        self.family, self.prior = family, prior
        if not prior.extending:
            self.plain = Bdeu(family, prior.sizes[0])
            self.whole = self.plain(counts)
            return
        left = counts if left is None else left
        if known is None:
            known = bdeu_alone(left[: family.states], prior.sizes[0]).reshape(1)
        first = len(known) if len(known) > 1 else 0
        totals = family.totals(counts)
        self.cells, self.rows = np.flatnonzero(counts), np.flatnonzero(totals)  # what was never seen adds nothing
        self.n, self.totals = counts[self.cells].astype(np.float64), totals[self.rows].astype(np.float64)
        row = places_of(self.rows, len(totals))[family.of_cell[self.cells] // family.states]
        row_set, self.base = family.of_row[self.rows], np.array([0, *(base for base, _ in family.bases)])
        cell_set, sizes = row_set[row], prior.scaled(family.combinations)
        self.alike = _alike(self.base, sizes[0], first)
        adding = prior.adds_up(family.combinations, family.states)
        fit = Fitted(family, self.cells, self.rows, left, family.totals(left), adding, prior.sweeps, first)
        self.cell_set, self.pushed = cell_set, fit.pushed
        self.sparse = is_sparse(counts[: family.states].sum(), np.bincount(cell_set, minlength=len(self.base)))
        self.summed = fit.summed._replace(cost=fit.summed.cost + fit.level - known[0])
        share, below = _row_shares(family, prior.shares)[self.rows], sizes[:, self.alike.first]
        of_cells, of_rows = (np.arange(np.searchsorted(each, first), len(each)) for each in (cell_set, row_set))
        self.of_cells = _part(of_cells, cell_set[of_cells], sizes, (fit.centre * share[row])[of_cells], self.n)
        self.of_rows = _part(of_rows, row_set[of_rows], sizes, share[of_rows], self.totals)
        of_cells, kind = _spans(cell_set, self.base[self.alike.first])
        self.under_cells = _part(of_cells, kind, below, (fit.share * share[row])[of_cells], self.n)
        of_rows, kind = _spans(row_set, self.base[self.alike.first])
        self.under_rows = _part(of_rows, kind, below, share[of_rows], self.totals)

        self.price = self.pushed.cost  # beside what it extends; that includes what was fitted to all rows before it
        self.pushed = self.pushed._replace(cost=np.zeros(len(self.base)))
        self.whole = self._beyond(left, known, self._linear(left, self.pushed) - self._linear(left, fit.extended))

    def __call__(self, counts: Counts) -> Vector:
        if not self.prior.extending:
            return self.plain(counts)
        return self._beyond(counts, bdeu_alone(counts[: self.family.states], self.prior.sizes[0]).reshape(1))

    def _beyond(self, counts: Counts, known: Vector, gained: Vector | None = None) -> Vector:
        """For all sets, of which the first few are `known` ``[S]``.

        Of the rows it is fitted to it is said what shifts have `gained`; then it is found out what they cost in all.
        """
        result, added = np.append(known, np.zeros(len(self.base) - len(known))), self._added(counts)
        ends = np.flatnonzero(np.diff(self.family.members.sum(axis=1), append=len(self.base))) + 1
        summed, pushed = self._linear(counts, self.summed), self._linear(counts, self.pushed)
        for start, stop in itertools.pairwise([len(known), *ends[ends > len(known)].tolist()]):
            here = slice(start, stop)  # sets of one size
            base = result[self.base[here]]
            if gained is not None:
                now = base + gained[here] - self.price[here]
                self.pushed.cost[here] = pushed[here] - now
                pushed[here] = now
            result[here] = either(average([*(base + added[:, here]), pushed[here]]), summed[here])
        return result

    def _added(self, counts: Counts) -> Vector:
        """What each set adds to the one that it extends, as a table around that, for each sample size ``[Z, S]``."""
        n, totals = counts[self.cells].astype(np.float64), self.family.totals(counts)[self.rows].astype(np.float64)
        found = self.of_cells(n) - self.of_rows(totals)
        found[:, self.alike.here] -= (self.under_cells(n) - self.under_rows(totals))[:, self.alike.which]
        return unless_sparse(found, self.sparse, np.isfinite(self.price))

    def _linear(self, counts: Counts, one: Linear) -> Vector:
        return np.bincount(self.cell_set, counts[self.cells] * one.logs, minlength=len(self.base)) - one.cost


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


def is_sparse(rows: Vector | float, cells: Vector | NDArray[np.intp] | int) -> NDArray[np.bool_]:
    """Whether hardly any cell of a table was seen twice."""
    return np.asarray(rows < TWICE * cells)


def unless_sparse(added: Vector, sparse: NDArray[np.bool_], shifted: NDArray[np.bool_] | bool) -> Vector:
    """What tables add to those that they extend for each sample size ``[Z, ...]``, if they are sparse no more than that
    nothing changes.

    Each table is around what was fitted to the very same rows. One with a row for each row of data would only repeat
    them, and seem better than the one it extends, whose rows hold several that differ. Where there are shifts to go by
    instead it is only asked whether the effect may be too weak to be seen, with the largest size.
    """
    capped = np.minimum(added, 0.0)
    capped[:-1] = np.where(shifted, -HOPELESS, capped[:-1])
    return np.where(sparse, capped, added)


def either(extended: Vector, summed: Vector) -> Vector:
    """Log likelihood of tables that extend others or whose parents add up; where they do not, it is -inf."""
    both = np.logaddexp(extended, summed) - np.log(2.0)
    return np.where(np.isfinite(summed), both, extended)


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
