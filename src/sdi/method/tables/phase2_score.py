"""Phase 2, scores: what a parent set is worth, by the marginal likelihood of the rows given it.

A table has a Dirichlet prior (BDeu: so many equivalent samples, spread over its cells). The rows of all environments
that left a variable alone share one table; each environment that touched it has a table of its own, on the same parents
(a soft intervention) or on none (a hard one), both equally likely.

Legend: M variables, E environments, S parent sets of a family, r states of its variable.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi.method.tables.phase1_count import Block, Counts, Family

Touched: TypeAlias = frozenset[int]  # environments in which one variable was touched
Vector: TypeAlias = NDArray[np.float64]
FEW = 4096  # counts below it are looked up
KEPT = 64  # answers for other targets that are remembered for each variable


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


def own_table(soft: Vector, hard: float) -> Vector:
    """Of an environment that touched the variable: its parents were kept or dropped, who knows."""
    return np.logaddexp(soft, hard) - np.log(2.0)


def own_size(sample_size: float) -> float:
    """Equivalent sample size of the table of an environment that touched a variable: small, for a new mechanism must
    be plainly new before it is believed."""
    return min(sample_size, 1.0)


class Scores:
    """The score of every parent set of one variable in one block, for any environments that touched it; remembered."""

    def __init__(self, family: Family, block: Block, sample_size: float, counts: Counts | None = None) -> None:
        self.family, self.block = family, block
        self._score, self._own_score = Bdeu(family, sample_size), Bdeu(family, own_size(sample_size))
        self._all = family.count(block) if counts is None else counts
        self._known: dict[Touched, Vector] = {}
        self._own: dict[int, tuple[Counts, Vector]] = {}

    def __call__(self, touched: Touched) -> Vector:
        """Log marginal likelihood of the block's rows of this variable under each parent set ``[S]``."""
        if touched not in self._known:
            if len(self._known) >= KEPT:
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
    """Log odds of an edge beforehand, so that a variable has `expected_parents` of them; never above even."""
    share = min(expected_parents / max(size - 1, 1), 0.5)
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
    sample_size: float = 1.0,
) -> float:
    """Log posterior of one graph ``[M, M]`` and targets ``[E, M]``, up to a constant: any graph, however large."""
    total = 0.0
    for i, row in enumerate(parents):
        members = tuple(np.flatnonzero(row).tolist())
        sets = tuple(tuple(range(k)) for k in range(len(members) + 1))
        family = Family(i, members, sets, cardinalities)
        scores = Scores(family, block, sample_size)(frozenset(np.flatnonzero(touched[:, i]).tolist()))
        total += float(scores[-1]) + odds * len(members)
    return total
