"""Phase 3, places: one graph and one set of targets, and what each variable may choose from there.

Legend: M variables, E environments, S parent sets of a family, K its candidates.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.tables.problem import Problem

Array = NDArray[np.float64]
TINY = 1e-300  # in place of no chance at all
FAINT = 1e-100  # chances beside the best that are still exact
REMEMBERED = 32  # answers to what a variable may choose from: walks that are cold ask the same over and over


class Place(NamedTuple):
    """Where a walk is."""

    choice: list[int]
    children: list[int]
    touched: list[BoolMatrix]
    weights: list[Array]
    turnable: NDArray[np.intp]


class Turn(NamedTuple):
    """What a variable has to choose from, for the next time that nothing has changed."""

    weights: Array  # log posterior of each parent set [S] ...
    coldness: float
    forbidden: int  # candidates that come of it, as bits
    total: Array  # the chances of the sets, added up [S]
    share: Array  # how likely each candidate is a parent [K]


class Odds(NamedTuple):
    """What the parent sets of a variable are worth, be they possible or not."""

    weights: Array  # log posterior of each parent set [S] ...
    coldness: float
    top: float  # the highest
    chances: Array  # beside it [S]
    among: dict[tuple[int, int], tuple[Array, float]]  # the same without some candidates and with others, as bits


class Ceiling(NamedTuple):
    """What they add up to: no draw can weigh more."""

    odds: Odds
    with_each: Array  # of those with each candidate [K] ...
    without_each: Array  # ... and without it


class Standing:
    """A graph and targets. Mutable, for they change thousands of times a second."""

    def __init__(self, problem: Problem, parents: BoolMatrix, touched: Sequence[BoolMatrix]) -> None:
        self.problem = problem
        self.choice = problem.choices(parents)
        self.touched = [each.copy() for each in touched]  # of each block [E, M]
        self._children = [0] * len(problem.families)  # as bits
        for i, s in enumerate(self.choice):
            self._link(i, s)
        turnable = [len(problem.turnable(i, s)) for i, s in enumerate(self.choice)]
        self._turnable = np.array(turnable)  # edges to each variable that may be turned round
        self._weights = [problem.weights(i, self.touched) for i in range(len(problem.families))]
        self.begin()

    def begin(self) -> None:
        """At the posterior itself; nothing is known yet of what may be chosen from here."""
        self.coldness = 1.0  # by which log posteriors are multiplied
        self._turns: dict[int, Turn] = {}
        self._odds: dict[int, Odds] = {}
        self._ceilings: dict[int, Ceiling] = {}

    @property
    def parents(self) -> BoolMatrix:
        result = np.zeros((len(self.choice), len(self.choice)), dtype=bool)
        for i, family in enumerate(self.problem.families):
            result[i, [family.candidates[k] for k in family.sets[self.choice[i]]]] = True
        return result

    @property
    def score(self) -> float:
        """Log posterior of graph and targets, up to a constant."""
        of_graph = sum(float(weights[s]) for weights, s in zip(self._weights, self.choice, strict=True))
        return of_graph + self.problem.targets_prior(self.touched)

    def worth(self, i: int) -> float:
        """What the parents and targets of one variable add to it."""
        return float(self._weights[i][self.choice[i]])

    def place(self) -> Place:
        touched = [each.copy() for each in self.touched]
        return Place(self.choice.copy(), self._children.copy(), touched, self._weights.copy(), self._turnable.copy())

    def go_to(self, place: Place) -> None:
        self.choice, self._children = place.choice.copy(), place.children.copy()
        self.touched, self._weights = [each.copy() for each in place.touched], place.weights.copy()
        self._turnable = place.turnable.copy()

    def adopt(self, other: Self, i: int) -> None:
        """Parents and targets of a variable as another walk has them, be there a cycle or not."""
        self._choose(i, other.choice[i])
        self._weights[i] = other._weights[i]
        for mine, its in zip(self.touched, other.touched, strict=True):
            mine[:, i] = its[:, i]

    def take(self, other: Self, variables: Sequence[int]) -> bool:
        """Parents and targets of these variables as another walk has them; nothing, if that would make a cycle."""
        before = self.place()
        for i in variables:
            self.adopt(other, i)
        if any(self.below(i) >> i & 1 for i in variables):
            self.go_to(before)
            return False
        return True

    @property
    def edges(self) -> int:
        """How many may be turned round."""
        return int(self._turnable.sum())

    def edge(self, place: int) -> tuple[int, int]:
        """One of those that may be turned round, as (effect, cause)."""
        up_to = self._turnable.cumsum()
        i = int(up_to.searchsorted(place, side="right"))
        return i, self.problem.turnable(i, self.choice[i])[place - int(up_to[i])]  # from the end, as it were

    def neighbours(self, i: int) -> list[int]:
        """Parents and children."""
        return [*self._causes(i), *self._effects(i)]

    def _causes(self, i: int) -> list[int]:
        family = self.problem.families[i]
        return [family.candidates[k] for k in family.sets[self.choice[i]]]

    def _effects(self, i: int) -> list[int]:
        bits, found = self._children[i], []
        while bits:
            low = bits & -bits
            found.append(low.bit_length() - 1)
            bits ^= low
        return found

    # ------------------------------------------------------------------------------------- what there is to choose

    def _worth(self, i: int, j: int) -> float:
        return float(self._weights[i][self.choice[i]] + self._weights[j][self.choice[j]])

    def _turn(self, i: int) -> Turn:
        forbidden = self.problem.local_mask(i, self.below(i))
        known = self._turns.get(i)
        if known and known.weights is self._weights[i] and known[1:3] == (self.coldness, forbidden):
            return known
        chances, _ = self._possible(i, forbidden)
        total = np.cumsum(chances)
        share = np.asarray(chances @ self.problem.families[i].members / total[-1])
        self._turns[i] = Turn(self._weights[i], self.coldness, forbidden, total, share)
        return self._turns[i]

    def _odds_of(self, i: int) -> Odds:
        known = self._odds.get(i)
        if known and known.weights is self._weights[i] and known.coldness == self.coldness:
            return known
        weights = self._weights[i] * self.coldness
        top = float(weights.max())
        self._odds[i] = Odds(self._weights[i], self.coldness, top, np.exp(weights - top), {})
        return self._odds[i]

    def _ceiling(self, i: int) -> Ceiling:
        known, odds = self._ceilings.get(i), self._odds_of(i)
        if known and known.odds is odds:
            return known
        members = self.problem.families[i].members
        each = (odds.top + np.log(np.maximum(odds.chances @ part, TINY)) for part in (members, ~members))
        self._ceilings[i] = Ceiling(odds, *each)
        return self._ceilings[i]

    def _possible(self, i: int, forbidden: int | None = None, *, member: int | None = None) -> tuple[Array, float]:
        """Chances of parent sets without `forbidden` candidates (descendants, unless others are named) and with
        `member` ``[S]``, all zero if there is none, and the log weight of a chance of one."""
        if forbidden is None:
            forbidden = self.problem.local_mask(i, self.below(i))
        odds = self._odds_of(i)
        needed = 0 if member is None else self.problem.local_mask(i, 1 << member)
        if not forbidden and not needed:
            return odds.chances, odds.top
        known = odds.among.get((forbidden, needed))
        if known is None:
            if len(odds.among) == REMEMBERED:
                odds.among.clear()
            known = odds.among[forbidden, needed] = self._among(i, odds, forbidden, needed)
        return known

    def _among(self, i: int, odds: Odds, forbidden: int, needed: int) -> tuple[Array, float]:
        masks = self.problem.families[i].masks
        if forbidden & needed:
            return np.zeros(len(masks)), -np.inf
        fits = masks & np.uint64(forbidden | needed) == np.uint64(needed)
        chances = odds.chances * fits
        if chances.max() > FAINT:
            return chances, odds.top
        weights = np.where(fits, self._weights[i] * self.coldness, -np.inf)
        top = float(weights.max())
        return (chances, top) if top == -np.inf else (np.exp(weights - top), top)

    def _allowed(self, i: int, forbidden: int) -> Array:
        """Log weight of each parent set, -inf if it holds one of these candidates ``[S]``."""
        weights = self._weights[i] * self.coldness
        return (
            np.where(self.problem.families[i].masks & np.uint64(forbidden), -np.inf, weights) if forbidden else weights
        )

    # ------------------------------------------------------------------------------------------------ to choose

    def _settle(self, i: int, j: int, sets: tuple[int | None, int | None]) -> None:
        """Both at once: on the way from one graph to another there may be a cycle."""
        self._choose(i, sets[0])
        self._choose(j, sets[1])

    def _choose(self, i: int, s: int | None) -> None:
        """Give i another parent set; None leaves it with none but the required ones for a moment."""
        family, old = self.problem.families[i], self.choice[i]
        if old >= 0:
            for k in family.sets[old][self.problem.required[i] :]:
                self._children[family.candidates[k]] &= ~(1 << i)
        self.choice[i] = -1 if s is None else s
        self._turnable[i] = 0 if s is None else len(self.problem.turnable(i, s))
        if s is not None:
            self._link(i, s)

    def _link(self, i: int, s: int) -> None:
        family = self.problem.families[i]
        for k in family.sets[s]:
            self._children[family.candidates[k]] |= 1 << i

    def below(self, i: int) -> int:
        """What comes of it, as bits; i itself if it lies on a cycle."""
        children, found, todo = self._children, 0, self._children[i]
        while todo:
            low = todo & -todo
            found |= low
            todo = (todo | children[low.bit_length() - 1]) & ~found
        return found

    def above(self, i: int) -> int:
        """Where it comes from, as bits."""
        found, todo = 0, self._causes(i)
        while todo:
            j = todo.pop()
            if not found >> j & 1:
                found |= 1 << j
                todo += self._causes(j)
        return found
