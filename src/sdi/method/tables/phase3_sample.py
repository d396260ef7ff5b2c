"""Phase 3: graphs and targets drawn from their posterior.

A `Walk` holds one graph and one set of targets, and changes them. The parents of a variable are drawn anew from all
that are possible. An edge is turned round, with new parents for both its ends (a move of Grzegorczyk and Husmeier,
2008). The target of an environment is drawn anew. Two variables change places as targets, with new parents for both.
Each move leaves the posterior as it is; made colder, they climb.

Legend: M variables, E environments, S parent sets of a family.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.tables.problem import Problem

Array = NDArray[np.float64]
Cell = tuple[int, int]  # a block and one of its environments


class Place(NamedTuple):
    """Where a walk is."""

    choice: list[int]
    children: list[int]
    touched: list[BoolMatrix]
    weights: list[Array]


class Walk:
    """A graph and targets on their way. Mutable, for it takes thousands of steps a second."""

    def __init__(self, problem: Problem, parents: BoolMatrix, touched: Sequence[BoolMatrix], rng: np.random.Generator):
        self.problem, self.rng = problem, rng
        self.coldness = 1.0  # 1 samples the posterior; below it moves more freely, far above it only climbs
        self.choice = problem.choices(parents)
        self.touched = [each.copy() for each in touched]  # of each block [E, M]
        self._children = [0] * len(problem.families)  # as bits
        for i, s in enumerate(self.choice):
            self._link(i, s)
        self._edges: list[tuple[int, int]] | None = None
        self._weights = [problem.weights(i, self.touched) for i in range(len(problem.families))]

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

    def place(self) -> Place:
        return Place(
            self.choice.copy(), self._children.copy(), [each.copy() for each in self.touched], self._weights.copy()
        )

    def go_to(self, place: Place) -> None:
        self._edges = None
        self.choice, self._children = place.choice.copy(), place.children.copy()
        self.touched, self._weights = [each.copy() for each in place.touched], place.weights.copy()

    def edges(self, among: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """Those that may be turned round, as (effect, cause); of these effects only, if given."""
        if among is not None:
            return [(i, j) for i in among for j in self.problem.turnable(i, self.choice[i])]
        if self._edges is None:
            self._edges = [(i, j) for i, s in enumerate(self.choice) for j in self.problem.turnable(i, s)]
        return self._edges

    def neighbours(self, i: int) -> list[int]:
        """Parents and children."""
        family = self.problem.families[i]
        bits, found = self._children[i], [family.candidates[k] for k in family.sets[self.choice[i]]]
        while bits:
            low = bits & -bits
            found.append(low.bit_length() - 1)
            bits ^= low
        return found

    # ---------------------------------------------------------------------------------------------------- moves

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
        if self.problem.pairs:
            for k in self.rng.integers(len(self.problem.pairs), size=max(2, size // 16)).tolist():
                i, j = self.problem.pairs[k]
                cells = self.differing(i, j)
                if cells:
                    self.exchange(i, j, cells if self.rng.random() < 0.5 else [cells[self.rng.integers(len(cells))]])
        return probabilities

    def draw_parents(self, i: int) -> Array:
        """New parents for variable i; the chance that each candidate had ``[K]``."""
        chances = np.exp(self._possible(i))  # the largest is 1
        total = np.cumsum(chances)
        s = int(np.searchsorted(total, self.rng.random() * total[-1], side="right"))
        if s != self.choice[i]:
            self._choose(i, s)
            self._edges = None
        return np.asarray(chances @ self.problem.families[i].members / total[-1])

    def reverse(self, among: Sequence[int] | None = None) -> None:
        """Turn one edge round, both ends with new parents, or leave it; of these effects only, if given."""
        edges = self.edges(among)
        if not edges:
            return
        i, j = edges[int(self.rng.integers(len(edges)))]
        before, worth = (self.choice[i], self.choice[j]), self._worth(i, j)
        self._choose(i, None)
        self._choose(j, None)
        new_j, forward = self._draw(self._possible(j, member=i, absolute=True))
        _, back = self._draw(self._possible(i, member=j, absolute=True))
        if new_j is None:
            self._settle(i, j, before)
            return
        self._choose(j, new_j)
        new_i, forward_rest = self._draw(self._possible(i, absolute=True))
        self._choose(j, None)
        self._choose(i, before[0])
        _, back_rest = self._draw(self._possible(j, absolute=True))
        self._settle(i, j, (new_i, new_j))
        now = len(edges) + self._turned(i, j, (new_i, new_j), among) - self._turned(i, j, before, among)
        ratio = forward + forward_rest - back - back_rest + np.log(len(edges) / max(now, 1))
        if self._accepts(ratio, self._worth(i, j) - worth):
            self._edges = None
        else:
            self._settle(i, j, before)

    def draw_targets(self, among: Sequence[int] | None = None, climb: bool = False) -> bool:
        """Every undeclared target once (with `climb` the likeliest one); whether any changed.

        With `among`, only environments that touched nothing but these variables, and only these as their targets.
        """
        changed = False
        inside = np.ones(len(self.choice), bool) if among is None else np.isin(np.arange(len(self.choice)), among)
        for b, touched in enumerate(self.touched):
            todo = np.flatnonzero(self.problem.open_targets[b] & ~touched[:, ~inside].any(axis=1))
            if not len(todo):
                continue
            ratios = np.full((len(touched), len(self.choice)), -np.inf)
            for i in np.flatnonzero(inside).tolist():
                ratios[:, i] = self.problem.ratios(b, i, self.choice[i], touched[:, i])
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

    def exchange(self, i: int, j: int, cells: Iterable[Cell]) -> bool:
        """Let i and j change places as targets in these environments, with new parents for both; whether they did.

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
        if self._accepts(forward - back, self._worth(i, j) - worth):
            self._edges = None
            return True
        for b, e in cells:
            self.touched[b][e, pair] = self.touched[b][e, pair[::-1]]
        self._weights[i], self._weights[j] = weights
        self._settle(i, j, before)
        return False

    # ---------------------------------------------------------------------------------------------- their parts

    def _accepts(self, log_ratio: float, higher: float) -> bool:
        """As Metropolis and Hastings say; a walk that climbs goes uphill, whatever there was to choose from."""
        return higher > 1e-9 if self.coldness > 1 else bool(np.log(self.rng.random()) < log_ratio)

    def _turned(self, i: int, j: int, sets: tuple[int | None, int | None], among: Sequence[int] | None) -> int:
        """How many edges to i and j may be turned round if these are their parent sets."""
        counted = ((k, s) for k, s in zip((i, j), sets, strict=True) if s is not None and (among is None or k in among))
        return sum(len(self.problem.turnable(k, s)) for k, s in counted)

    def _worth(self, i: int, j: int) -> float:
        return float(self._weights[i][self.choice[i]] + self._weights[j][self.choice[j]])

    def _renew(self, i: int, j: int, given: tuple[int, int] | None = None) -> float:
        """New parents for i, then for j (or those `given`); the log weight of all that were possible."""
        self._choose(i, None)
        self._choose(j, None)
        drawn, total = self._draw(self._possible(i, absolute=True))
        self._choose(i, drawn if given is None else given[0])
        drawn, rest = self._draw(self._possible(j, absolute=True))
        self._choose(j, drawn if given is None else given[1])
        return total + rest

    def _possible(self, i: int, *, member: int | None = None, absolute: bool = False) -> Array:
        """Log weight of each parent set, -inf if it holds a descendant or lacks `member`; the largest is 0 ``[S]``."""
        weights = self._weights[i] * self.coldness
        masks = self.problem.families[i].masks
        forbidden = self.problem.local_mask(i, self._descendants(i))
        if forbidden:
            weights = np.where(masks & np.uint64(forbidden), -np.inf, weights)
        if member is not None:
            weights = np.where(masks & np.uint64(self.problem.local_mask(i, 1 << member)), weights, -np.inf)
        return weights if absolute else weights - weights.max()

    def _draw(self, weights: Array) -> tuple[int | None, float]:
        """One of them, and the log of their sum; None if there is none."""
        top = weights.max()
        if top == -np.inf:
            return None, -np.inf
        total = np.cumsum(np.exp(weights - top))
        s = int(np.searchsorted(total, self.rng.random() * total[-1], side="right"))
        return s, float(top + np.log(total[-1]))

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
        if s is not None:
            self._link(i, s)

    def _link(self, i: int, s: int) -> None:
        family = self.problem.families[i]
        for k in family.sets[s]:
            self._children[family.candidates[k]] |= 1 << i

    def _descendants(self, i: int) -> int:
        """As bits."""
        children, found, todo = self._children, 0, self._children[i]
        while todo:
            low = todo & -todo
            found |= low
            todo = (todo | children[low.bit_length() - 1]) & ~found
        return found
