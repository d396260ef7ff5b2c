"""Phase 2, scores: what a parent set is worth, by the marginal likelihood of the rows given it.

A table has a Dirichlet prior: BDeu, so many equivalent samples spread over its cells, and weighed beside it others that
expect weaker effects (`Prior`). The rows of all environments that left a variable alone share one table; each
environment that touched it has a table of its own, on the same parents (a soft intervention) or on none (a hard one),
both equally likely.

Legend: M variables, E environments, S parent sets of a family, r states of its variable.
"""

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import Block, Counts, Family

Touched: TypeAlias = frozenset[int]  # environments in which one variable was touched
Vector: TypeAlias = NDArray[np.float64]
FEW = 4096  # counts below it are looked up
LIKELY = 0.25  # an edge beforehand, at most: with few variables a weak prior would let chance decide
MANY_ROWS = 32  # of a table: with more of them its equivalent samples grow
KEPT = 64  # counts of environments, and ...
ANSWERS = 1024  # ... answers for other targets, that are remembered for each variable


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


class _Seen:
    """What is not zero among the counts of a family: to what was never seen no score adds anything."""

    def __init__(self, family: Family, counts: Counts) -> None:
        self.size = len(family.sets)
        self.cells = np.flatnonzero(counts)
        self.in_cell, self.cell_set = counts[self.cells], family.of_row[self.cells // family.states]
        totals = counts.reshape(-1, family.states).sum(axis=1)
        self.rows = np.flatnonzero(totals)
        self.in_row, self.row_set = totals[self.rows], family.of_row[self.rows]

    def summed(self, of_cells: Vector, of_rows: Vector) -> Vector:
        """Log marginal likelihood of each set, from the logs of what rose in every cell and every row ``[S]``."""
        inside = np.bincount(self.cell_set, of_cells, minlength=self.size)
        return np.asarray(inside - np.bincount(self.row_set, of_rows, minlength=self.size), np.float64)


class Bdeu:
    """Log marginal likelihood of the rows behind some counts under each parent set of a family ``[S]``."""

    def __init__(self, family: Family, sample_size: float) -> None:
        self.family = family
        prior = sample_size / family.combinations
        self.row, self.cell = _Rising(prior), _Rising(prior / family.states)

    def __call__(self, counts: Counts, seen: _Seen | None = None) -> Vector:
        seen = seen or _Seen(self.family, counts)
        return seen.summed(self.cell(seen.in_cell, seen.cell_set), self.row(seen.in_row, seen.row_set))


class Likelihood:
    """The same, for tables that extend one another; what they are around is fitted to all rows there are."""

    def __init__(self, family: Family, prior: Prior, counts: Counts) -> None:
        self.family, self.prior = family, prior
        if not prior.extending:
            self.plain = Bdeu(family, prior.sizes[0])
            return
        tables = counts.reshape(-1, family.states)
        self.rows = np.flatnonzero(tables.any(axis=1))  # to what was never seen no score adds anything
        row, state = np.nonzero(tables[self.rows])
        self.cells = self.rows[row] * family.states + state
        self.row_set = family.of_row[self.rows]
        self.cell_set = self.row_set[row]
        self.base = np.array([0, *(base for base, _ in family.bases)])
        self.under_cells, self.cells_above = _of_bases(self.cell_set, self.base)
        self.under_rows, self.rows_above = _of_bases(self.row_set, self.base)
        centre, fitted = _centres(family, self.rows, tables[self.rows].astype(np.float64))
        share, sizes = _row_shares(family, prior.shares)[self.rows], prior.scaled(family.combinations)
        self.around = sizes[:, self.cell_set] * (centre[row, state] * share[row])
        self.itself = sizes[:, self.cells_above] * (fitted[row, state] * share[row])[self.under_cells]
        self.mass = sizes[:, self.row_set] * share
        self.mass_under = sizes[:, self.rows_above] * share[self.under_rows]
        self.nothing = self._raised(np.zeros(len(self.cells)), np.zeros(len(self.rows)))

    def __call__(self, counts: Counts) -> Vector:
        if not self.prior.extending:
            return self.plain(counts)
        tables = counts.reshape(-1, self.family.states)
        changed = self._raised(counts[self.cells].astype(np.float64), tables[self.rows].sum(axis=1))
        result = average(list(changed - self.nothing))
        result[0] = float(bdeu_alone(tables[0], self.prior.sizes[0]))
        for s, base in enumerate(self.base[1:].tolist(), start=1):
            result[s] += result[base]
        return result

    def _raised(self, n: Vector, totals: Vector) -> Vector:
        """What the added parent of each set makes of these counts, up to a constant, by sample size ``[., S]``."""
        parts = (
            (1, self.cell_set, n, self.around),
            (-1, self.row_set, totals, self.mass),
            (-1, self.cells_above, n[self.under_cells], self.itself),
            (1, self.rows_above, totals[self.under_rows], self.mass_under),
        )
        found = np.zeros((len(self.prior.sizes), len(self.family.sets)))
        for sign, of_set, count, prior in parts:
            for k, each in enumerate(prior):
                found[k] += sign * np.bincount(of_set, gammaln(count + each), minlength=len(self.family.sets))
        return found


def _of_bases(of_set: NDArray[np.intp], base: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each set but the first all places of the set that it extends, and the set for which they are there."""
    first = np.searchsorted(of_set, np.arange(len(base) + 1))
    spans = [np.arange(first[b], first[b + 1]) for b in base[1:]]
    return np.concatenate([*spans, []]).astype(np.intp), np.repeat(np.arange(1, len(base)), [len(s) for s in spans])


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


def own_table(soft: Vector, hard: Vector | float) -> Vector:
    """Of an environment that touched the variable: its parents were kept or dropped, who knows."""
    return np.asarray(np.logaddexp(soft, hard) - np.log(2.0))


def own_size(sample_size: float) -> float:
    """Equivalent sample size of the table of an environment that touched a variable: small, for a new mechanism must
    be plainly new before it is believed."""
    return min(sample_size, 1.0)


class Scores:
    """The score of every parent set of one variable in one block, for any environments that touched it; remembered."""

    def __init__(self, family: Family, block: Block, prior: Prior, counts: Counts | None = None) -> None:
        self.family, self.block = family, block
        self._all = family.count(block) if counts is None else counts
        self._score, self._own_score = Likelihood(family, prior, self._all), Bdeu(family, own_size(prior.sizes[0]))
        self._known: dict[Touched, Vector] = {}
        self._own: dict[int, tuple[Counts, Vector]] = {}

    def __call__(self, touched: Touched) -> Vector:
        """Log marginal likelihood of the block's rows of this variable under each parent set ``[S]``."""
        if touched not in self._known:
            if len(self._known) >= ANSWERS:
                self._known.pop(next(iter(self._known)))
            pooled, own = self._all, np.zeros(len(self.family.sets))
            for e in sorted(touched):
                counts, score = self._apart(e)
                pooled, own = pooled - counts, own + score
            self._known[touched] = self._score(pooled) + own
        return self._known[touched]

    def _apart(self, environment: int) -> tuple[Counts, Vector]:
        """Counts in one environment, and their score as tables of their own."""
        if environment not in self._own:
            if len(self._own) >= KEPT:
                self._own.pop(next(iter(self._own)))
            counts = self.family.count(self.block, self.block.part(environment))
            soft = self._own_score(counts)
            self._own[environment] = counts, own_table(soft, float(soft[0]))
        return self._own[environment]


def prior_odds(size: int, expected_parents: float) -> float:
    """Log odds of an edge beforehand, so that a variable has `expected_parents` of them; at most one edge in four."""
    share = min(expected_parents / max(size - 1, 1), LIKELY)
    return float(np.log(share) - np.log1p(-share))


def set_priors(family: Family, odds: float, required: Mapping[int, bool] | NDArray[np.bool_]) -> Vector:
    """Log prior of each parent set, up to a constant; -inf for one without a required parent ``[S]``."""
    lacking = ~family.members[:, [bool(required[j]) for j in family.candidates]].all(axis=1)
    return np.where(lacking, -np.inf, family.members.sum(axis=1) * odds)


def graph_score(
    block: Block,
    parents: NDArray[np.bool_],
    touched: NDArray[np.bool_],
    cardinalities: tuple[int, ...],
    odds: float,
    prior: Prior,
) -> float:
    """Log posterior of one graph ``[M, M]`` and targets ``[E, M]``, up to a constant: any graph, however large."""
    total = 0.0
    for i, row in enumerate(parents):
        members = tuple(np.flatnonzero(row).tolist())
        family = _growing(i, members, cardinalities, block, prior)
        scores = Scores(family, block, prior)(frozenset(np.flatnonzero(touched[:, i]).tolist()))
        total += float(scores[-1]) + odds * len(members)
    return total


def _growing(
    child: int, members: tuple[int, ...], cardinalities: tuple[int, ...], block: Block, prior: Prior
) -> Family:
    """A family that leads to these parents, from the best one on by the one that adds most."""
    family = Family(child, members, ((),), cardinalities, ())
    for size in range(1, len(members) + 1):
        last = family.sets[-1]
        grown = [tuple(sorted((*last, k))) for k in range(len(members)) if k not in last]
        each = Family(
            child,
            members,
            (*family.sets, *grown),
            cardinalities,
            (*(family.extends or ()), *(len(family.sets) - 1 for _ in grown)),
        )
        counts = each.count(block)
        best = int(np.argmax(Likelihood(each, prior, counts)(counts)[size:]))
        family = Family(child, members, (*family.sets, grown[best]), cardinalities, (*(family.extends or ()), size - 1))
    return family
