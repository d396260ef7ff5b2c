"""Phase 2, scores: what a parent set is worth, by the marginal likelihood of the rows given it.

A table has a Dirichlet prior: BDeu, so many equivalent samples spread over its cells, and weighed beside it others that
expect weaker effects (`Prior`). The rows of all environments that left a variable alone share one table; each
environment that touched it has a table of its own, on the same parents (a soft intervention) or on none (a hard one),
both equally likely.

Legend: M variables, E environments, S parent sets of a family, r states of its variable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.phase1_count import Block, Counts, Family
from sdi.method.tables.phase2_likelihood import Likelihood, Prior, Vector
from sdi.method.tables.shelf import Shelf, new_owner

Touched: TypeAlias = frozenset[int]  # environments in which one variable was touched
EVERY_SUBSET = 6  # parents whose subsets are all looked at when one graph is scored
LIKELY = 0.25  # an edge beforehand, at most: with few variables a weak prior would let chance decide


def own_table(soft: Vector, hard: Vector | float) -> Vector:
    """Of an environment that touched the variable: its parents were kept or dropped, who knows."""
    return np.asarray(np.logaddexp(soft, hard) - np.log(2.0))


def own_prior(prior: Prior) -> Prior:
    """That of tables of an environment that touched the variable: they are tables like any others, of smaller sample
    sizes, for a new mechanism must be plainly new before it is believed."""
    smaller = min(prior.sizes[0], 1.0) / prior.sizes[0]
    return prior._replace(sizes=tuple(size * smaller for size in prior.sizes), rows=prior.own_rows)


class Scores:
    """The score of every parent set of one variable in one block, for any environments that touched it.

    If given, `counts` are of all rows and `shared` are the scores if it was touched nowhere. What tables are around is
    fitted without the environments that are `presumed` to have touched it. What it makes of them lies on a shelf: with
    many variables there is no room for all.
    """

    def __init__(
        self,
        family: Family,
        block: Block,
        prior: Prior,
        counts: Counts | None = None,
        shared: Vector | None = None,
        shelf: Shelf | None = None,
        presumed: Touched = frozenset(),
    ) -> None:
        self.family, self.block, self.prior, self.owner, self.presumed = family, block, prior, new_owner(), presumed
        self._shared, self._shelf = shared, Shelf() if shelf is None else shelf  # one without things is no less one
        if counts is not None:
            self._shelf.put((self.owner, "counts"), counts)

    def __call__(self, touched: Touched) -> Vector:
        """Log marginal likelihood of the block's rows of this variable under each parent set ``[S]``."""
        if not touched and self._shared is not None:
            return self._shared
        return self._shelf.get((self.owner, touched), lambda: self._scored(touched))

    def _scored(self, touched: Touched) -> Vector:
        pooled, own = self._counts().copy(), np.zeros(len(self.family.sets))
        for e in sorted(touched):
            cells, counts, score = self._part(e)
            pooled[cells] -= counts
            own = own + score
        return self._likelihood()(pooled) + own

    def _part(self, environment: int) -> tuple[NDArray[np.intp], Counts, Vector]:
        return self._shelf.get((self.owner, environment), lambda: self._apart(environment))

    def _apart(self, environment: int) -> tuple[NDArray[np.intp], Counts, Vector]:
        """Cells that were seen in one environment, their counts, and the score of tables of its own."""
        family = self._shelf.get((self.owner, "own"), lambda: replace(self.family))
        counts = family.count(self.block, self.block.part(environment))
        soft = Likelihood(family, own_prior(self.prior), counts).whole
        cells = np.flatnonzero(counts)
        return cells, counts[cells], own_table(soft, float(soft[0]))

    def _counts(self) -> Counts:
        return self._shelf.get((self.owner, "counts"), lambda: self.family.count(self.block))

    def _likelihood(self) -> Likelihood:
        """It has the family to itself: what that has worked out about its tables goes when it goes."""
        return self._shelf.get((self.owner, "likelihood"), self._fitted)

    def _fitted(self) -> Likelihood:
        counts = left = self._counts()
        if self.presumed:
            left = counts.copy()
            for e in self.presumed:
                cells, its, _ = self._part(e)
                left[cells] -= its
        return Likelihood(replace(self.family), self.prior, counts, left=left)


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
        hit = frozenset(np.flatnonzero(touched[:, i]).tolist())
        total += float(Scores(family, block, prior, presumed=hit)(hit)[-1]) + odds * len(members)
    return total


def _growing(
    child: int, members: tuple[int, ...], cardinalities: tuple[int, ...], block: Block, prior: Prior
) -> Family:
    """A family that leads to these parents, as searches have them: by all their subsets, each of which extends the best
    with one less. What is added last matters; of many parents each is therefore the one that adds most."""
    family = Family(child, members, ((),), cardinalities, ())
    every = len(members) <= EVERY_SUBSET
    for size in range(1, len(members) + 1):
        worth = Likelihood(family, prior, family.count(block)).whole
        there = {each: s for s, each in enumerate(family.sets) if len(each) == size - 1}
        grown = list(combinations(range(len(members)), size))
        bases = [[there[rest] for rest in combinations(each, size - 1) if rest in there] for each in grown]
        larger = _with(
            family, [(each, max(of, key=worth.item)) for each, of in zip(grown, bases, strict=True) if of], block
        )
        if not every:
            best = int(np.argmax(Likelihood(larger, prior, larger.count(block)).whole[size:]))
            larger = _with(family, [(larger.sets[size + best], size - 1)], block)
        family = larger
    return family


def _with(family: Family, added: Sequence[tuple[tuple[int, ...], int]], block: Block) -> Family:
    """More sets, each with the place of the one that it extends."""
    sets, extends = (*family.sets, *(each for each, _ in added)), (*(family.extends or ()), *(s for _, s in added))
    return replace(family, sets=sets, extends=extends).for_rows([block])
