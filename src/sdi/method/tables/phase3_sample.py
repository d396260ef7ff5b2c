"""Phase 3: graphs and targets drawn from their posterior.

A `Walk` holds one graph and one set of targets, and changes them. The parents of a variable are drawn anew from all
that are possible. An edge is turned round, with new parents for both its ends (a move of Grzegorczyk and Husmeier,
2008). The target of an environment is drawn anew. Two variables change places as targets, with new parents for both. A
variable becomes a target, or is none any more, with new parents. Each move leaves the posterior as it is; made colder,
they climb.

Legend: M variables, E environments, S parent sets of a family.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from math import log
from typing import Self

import numpy as np

from sdi.graphs import BoolMatrix
from sdi.method.tables.phase3_place import Array, Standing
from sdi.method.tables.problem import Problem

Cell = tuple[int, int]  # a block and one of its environments
UPHILL = 1e-9  # nats
SMALL = 5_000  # cells of all tables of a variable: if there are more, any two seldom change places, for that is dear
MOST = 5_000  # variables in idle environments that are looked at: of more it is too dear
CONFUSED = -10.0  # nats for "touched" below which it is not likely that two targets should change places


class Walk(Standing):
    """A graph and targets on their way. With a `coldness` below 1 it moves more freely, far above it only climbs."""

    def __init__(self, problem: Problem, parents: BoolMatrix, touched: Sequence[BoolMatrix], rng: np.random.Generator):
        super().__init__(problem, parents, touched)
        self.rng = rng
        self.likely = problem.pairs
        self.doubtful: list[tuple[int, Cell]] = []

    def copy(self) -> Self:
        """Another one at the same place: nothing is weighed again."""
        other = copy(self)
        other.go_to(self.place())
        other.begin()
        other.likely, other.doubtful = self.problem.pairs, []
        return other

    def look_around(self) -> None:
        """From now on the pairs that may be confused as things are here change places most often, and only variables
        that may or may not have been touched become targets, or are none any more, with new parents.

        That most others do not is dear to find out. What is tried stays the same however the walk goes on, so that each
        move still leaves the posterior as it is.
        """
        self.likely = [pair for pair in self.problem.pairs if self.confusable(*pair)]
        self.doubtful = [*self.unexplained(), *self.unsure()]

    def sweep(self) -> Array:
        """Each move as often as there are variables, every target once.

        The probability of each edge given all else, as it was when its effect had its turn ``[M, M]``.
        """
        size = len(self.choice)
        probabilities = np.zeros((size, size))
        for i in self.rng.permutation(size).tolist():
            probabilities[i, list(self.problem.families[i].candidates)] = self.draw_parents(i)
            self.reverse()
        self.draw_targets()
        for pairs, often in ((self.likely, max(2, size // 16)), (self.problem.pairs, self._any_pairs())):
            for k in self.rng.integers(len(pairs), size=often).tolist() if pairs else ():
                i, j = pairs[k]
                cells = self.differing(i, j)
                if cells:
                    self.exchange(i, j, cells if self.rng.random() < 0.5 else [cells[self.rng.integers(len(cells))]])
        for _ in range(min(len(self.doubtful), size)):
            self.touch(*self.doubtful[self.rng.integers(len(self.doubtful))])
        return probabilities

    def draw_parents(self, i: int) -> Array:
        """New parents for variable i; the chance that each candidate had ``[K]``."""
        turn = self._turn(i)
        s = int(np.searchsorted(turn.total, self.rng.random() * turn.total[-1], side="right"))
        if s != self.choice[i]:
            self._choose(i, s)
        return turn.share

    def reverse(self) -> None:
        """Turn one edge round, both ends with new parents, or leave it."""
        edges = self.edges
        if not edges:
            return
        i, j = self.edge(int(self.rng.integers(edges)))
        before, worth, chance = (self.choice[i], self.choice[j]), self._worth(i, j), log(1 - self.rng.random())
        turned = self._turned(i, j, before)
        if not self._can_pay(i, j, chance - log(edges / (edges + 1 - turned))):
            return
        self._choose(i, None)
        self._choose(j, None)
        below_i, below_j = self.below(i), self.below(j)  # once one is the other's parent, both come of that one
        either, mask = below_i | below_j, self.problem.local_mask
        new_j, forward = self._draw(self._possible(j, mask(j, below_j), member=i))
        if new_j is None:
            self._settle(i, j, before)
            return
        back = _sum(self._possible(i, mask(i, below_i), member=j))
        new_i, forward_rest = self._draw(self._possible(i, mask(i, either | 1 << j)))
        back_rest = _sum(self._possible(j, mask(j, either | 1 << i)))
        self._settle(i, j, (new_i, new_j))
        now = edges + self._turned(i, j, (new_i, new_j)) - turned
        ratio = forward + forward_rest - back - back_rest + log(edges / max(now, 1))
        if not self._accepts(ratio, self._worth(i, j) - worth, chance):
            self._settle(i, j, before)

    def draw_targets(self, climb: bool = False) -> bool:
        """Every undeclared target once (with `climb` the likeliest one); whether any changed."""
        changed = False
        for b, touched in enumerate(self.touched):
            todo = np.flatnonzero(self.problem.open_targets[b])
            if not len(todo):
                continue
            ratios = np.empty((len(touched), len(self.choice)))
            for i, s in enumerate(self.choice):
                ratios[:, i] = self.problem.ratios(b, i, s, touched[:, i])
            noise = self.problem.target_noise(len(touched), None if climb else self.rng)
            for e in self.rng.permutation(todo).tolist():
                new = self.problem.draw_target(ratios[e], noise[e], self.coldness)
                for i in np.flatnonzero(new != touched[e]).tolist():
                    changed = True
                    touched[e, i] = new[i]
                    self._weights[i] = self.problem.weights(i, self.touched)
                    ratios[:, i] = self.problem.ratios(b, i, self.choice[i], touched[:, i])
        return changed

    def differing(self, i: int, j: int) -> list[Cell]:
        """Environments with an undeclared target that touched one of the two."""
        return [
            (b, int(e))
            for b, touched in enumerate(self.touched)
            for e in np.flatnonzero((touched[:, i] != touched[:, j]) & self.problem.open_targets[b])
        ]

    def confusable(self, i: int, j: int) -> list[Cell]:
        """Where one of two was touched and the other may have been, as things are: elsewhere they are not confused."""
        found = []
        for b, e in self.differing(i, j):
            other = j if self.touched[b][e, i] else i
            if self.problem.ratios(b, other, self.choice[other], self.touched[b][:, other])[e] > CONFUSED:
                found.append((b, e))
        return found

    def exchange(self, i: int, j: int, cells: Iterable[Cell], *, whatever: bool = False) -> bool:
        """Let i and j change places as targets in these environments, with new parents for both; whether they did.
        With `whatever` they do, be it up or down.

        Where an edge points the wrong way a wrong target makes up for it: neither can be mended without the other.
        """
        pair, cells = [i, j], list(cells)  # in this order parents are drawn, there and on the way back
        before, weights = (self.choice[i], self.choice[j]), (self._weights[i], self._weights[j])
        worth = self._worth(i, j)
        back = self._renew(i, j, before)
        for b, e in cells:
            self.touched[b][e, pair] = self.touched[b][e, pair[::-1]]
        for k in pair:
            self._weights[k] = self.problem.weights(k, self.touched)
        forward = self._renew(i, j)
        if whatever or self._accepts(forward - back, self._worth(i, j) - worth, log(1 - self.rng.random())):
            return True
        for b, e in cells:
            self.touched[b][e, pair] = self.touched[b][e, pair[::-1]]
        self._weights[i], self._weights[j] = weights
        self._settle(i, j, before)
        return False

    def touch(self, i: int, cell: Cell) -> bool:
        """Let i be touched in an environment, or no longer, with new parents; whether that was done. Not where another
        has been touched and nothing else may have been.

        A parent that matters in one environment alone is worth nothing before i is a target there, and the target
        nothing without the parent.
        """
        (b, e), before, weights = cell, self.choice[i], self._weights[i]
        if not self.problem.several and self.touched[b][e].any() and not self.touched[b][e, i]:
            return False
        worth = self.worth(i)
        self._choose(i, None)
        back = _sum(self._possible(i))
        self.touched[b][e, i] ^= True
        self._weights[i] = self.problem.weights(i, self.touched)
        new, forward = self._draw(self._possible(i))
        self._choose(i, new)
        odds = self.problem.target_odds if self.touched[b][e, i] else -self.problem.target_odds
        higher = self.worth(i) - worth + odds
        if self._accepts(forward - back + odds * self.coldness, higher, log(1 - self.rng.random())):
            return True
        self.touched[b][e, i] ^= True
        self._weights[i] = weights
        self._choose(i, before)
        return False

    def unexplained(self) -> list[tuple[int, Cell]]:
        """Variables that may have been touched in an environment where nothing seems to have been, if they have one
        more parent; the likeliest first."""
        found: list[tuple[float, int, Cell]] = []
        for b, touched in enumerate(self.touched):
            idle = np.flatnonzero(self.problem.open_targets[b] & ~touched.any(axis=1))
            for i in range(len(self.choice)) if 0 < len(idle) * len(self.choice) <= MOST else ():
                more = self.problem.with_one_more(i, self.choice[i])
                ratios = [self.problem.ratios(b, i, s, touched[:, i])[idle] for s in more]
                best = np.max(ratios, axis=0) if ratios else np.full(len(idle), -np.inf)
                found += [(r, i, (b, e)) for r, e in zip(best.tolist(), idle.tolist(), strict=True) if r > CONFUSED]
        return [(i, cell) for _, i, cell in sorted(found, reverse=True)]

    def unsure(self) -> list[tuple[int, Cell]]:
        """Targets that nobody declared, and that may as well be none."""
        found = []
        for b, touched in enumerate(self.touched):
            for i in np.flatnonzero(touched.any(axis=0)).tolist():
                ratios = self.problem.ratios(b, i, self.choice[i], touched[:, i])
                here = touched[:, i] & self.problem.open_targets[b] & (ratios < -CONFUSED)
                found += [(i, (b, e)) for e in np.flatnonzero(here).tolist()]
        return found

    def put_last(self, i: int) -> bool:
        """Take i away from its effects, each with the best parents left to it, and give i the best of all; whether
        that was higher. If not, nothing has changed.

        Where i comes before several variables that should come before it and are linked themselves, no edge can be
        turned alone: it would close a cycle.
        """
        effects = self._effects(i)
        return bool(effects) and self._rearrange([*((j, 1 << i) for j in effects), (i, 0)])

    def put_first(self, i: int) -> bool:
        """The same with its causes: i without them, each of them with the best parents left to it, and i once more."""
        causes = self._causes(i)
        return bool(causes) and self._rearrange([(i, sum(1 << j for j in causes)), *((j, 0) for j in causes), (i, 0)])

    # ---------------------------------------------------------------------------------------------- their parts

    def _any_pairs(self) -> int:
        """How many pairs, likely or not, change places in a sweep: hardly one ever does, and to see that all their
        tables are weighed again. Drawn, where tables are large; nothing of where the walk is enters."""
        often = max(1, len(self.choice) // 64) * min(1.0, SMALL / self.problem.cells)
        return int(often) if often.is_integer() else int(often + self.rng.random())

    def _rearrange(self, steps: Iterable[tuple[int, int]]) -> bool:
        """The best parents for one variable after another, each time but for some, as bits; back if not higher."""
        before: dict[int, int] = {}  # of those that changed: with many variables most do not
        score = 0.0
        for i, without in steps:
            weights = self._allowed(i, self.problem.local_mask(i, self.below(i) | without))
            s = int(weights.argmax())
            if weights[s] == -np.inf:  # they are required
                break
            if i not in before:
                before[i] = self.choice[i]
                score -= float(self._weights[i][self.choice[i]])
            self._choose(i, s)
        if score + sum(float(self._weights[i][self.choice[i]]) for i in before) > UPHILL:
            return True
        for i, s in before.items():
            self._choose(i, s)
        return False

    def _accepts(self, log_ratio: float, higher: float, chance: float) -> bool:
        """As Metropolis and Hastings say; a walk that climbs goes uphill, whatever there was to choose from."""
        return higher > UPHILL if self.coldness > 1 else chance < log_ratio

    def _can_pay(self, i: int, j: int, chance: float) -> bool:
        """Whether turning j -> i round could be accepted at all: what is drawn weighs no more than all that exists, and
        the way back no less than the sets that are there. Most edges fail this, and no more has to be looked at."""
        of_i, of_j = self.problem.families[i].candidates, self.problem.families[j].candidates
        if i not in of_j:
            return False
        gained = float(self._ceiling(i).without_each[of_i.index(j)] + self._ceiling(j).with_each[of_j.index(i)])
        gained -= self._worth(i, j) * self.coldness
        return gained > UPHILL * self.coldness if self.coldness > 1 else chance < gained

    def _turned(self, i: int, j: int, sets: tuple[int | None, int | None]) -> int:
        """How many edges to i and j may be turned round if these are their parent sets."""
        return sum(len(self.problem.turnable(k, s)) for k, s in zip((i, j), sets, strict=True) if s is not None)

    def _renew(self, i: int, j: int, given: tuple[int, int] | None = None) -> float:
        """New parents for i, then for j (or those `given`); the log weight of all that were possible."""
        self._choose(i, None)
        self._choose(j, None)
        total = 0.0
        for k, known in zip((i, j), given or (None, None), strict=True):
            if known is None:
                drawn, weight = self._draw(self._possible(k))
            else:
                drawn, weight = known, _sum(self._possible(k))
            self._choose(k, drawn)
            total += weight
        return total

    def _draw(self, possible: tuple[Array, float]) -> tuple[int | None, float]:
        """One of those with these chances, and the log of their sum; None if there is none."""
        chances, top = possible
        total = chances.cumsum()
        if not total[-1]:
            return None, -np.inf
        s = int(total.searchsorted(self.rng.random() * total[-1], side="right"))
        return s, top + log(total[-1])


def _sum(possible: tuple[Array, float]) -> float:
    """The log of what these chances add up to."""
    total = float(possible[0].sum())
    return possible[1] + log(total) if total else -np.inf
