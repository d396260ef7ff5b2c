"""Phase 2, scores: what a parent set is worth, by the marginal likelihood of the rows given it.

A table has a Dirichlet prior: BDeu, so many equivalent samples spread over its cells, and weighed beside it others that
expect weaker effects (`Prior`). The rows of all environments that left a variable alone share one table; each
environment that touched it has a table of its own, on the same parents (a soft intervention) or on none (a hard one),
both equally likely.

Legend: M variables, E environments, S parent sets of a family, r states of its variable.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.phase1_count import Block, Counts, Family
from sdi.method.tables.phase2_likelihood import Bdeu, Likelihood, Prior, Vector

Touched: TypeAlias = frozenset[int]  # environments in which one variable was touched
LIKELY = 0.25  # an edge beforehand, at most: with few variables a weak prior would let chance decide
KEPT = 64  # counts of environments, and ...
ANSWERS = 1024  # ... answers for other targets, that are remembered for each variable


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
        self._own: dict[int, tuple[NDArray[np.intp], Counts, Vector]] = {}

    def __call__(self, touched: Touched) -> Vector:
        """Log marginal likelihood of the block's rows of this variable under each parent set ``[S]``."""
        if touched not in self._known:
            if len(self._known) >= ANSWERS:
                self._known.pop(next(iter(self._known)))
            pooled, own = self._all.copy(), np.zeros(len(self.family.sets))
            for e in sorted(touched):
                cells, counts, score = self._apart(e)
                pooled[cells] -= counts
                own = own + score
            self._known[touched] = self._score(pooled) + own
        return self._known[touched]

    def _apart(self, environment: int) -> tuple[NDArray[np.intp], Counts, Vector]:
        """Cells that were seen in one environment, their counts, and the score of tables of its own."""
        if environment not in self._own:
            if len(self._own) >= KEPT:
                self._own.pop(next(iter(self._own)))
            counts = self.family.count(self.block, self.block.part(environment))
            soft = self._own_score(counts)
            cells = np.flatnonzero(counts)
            self._own[environment] = cells, counts[cells], own_table(soft, float(soft[0]))
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
            family.seen,
        ).for_rows([block])
        counts = each.count(block)
        best = int(np.argmax(Likelihood(each, prior, counts)(counts)[size:]))
        known = each.seen[:size] + each.seen[size + best : size + best + 1]
        extends = (*(family.extends or ()), size - 1)
        family = Family(child, members, (*family.sets, grown[best]), cardinalities, extends, known)
    return family
