"""The tables method against exact enumeration of all graphs and all targets."""

import itertools
from collections import Counter
from math import exp, lgamma, log, prod

import numpy as np
import pytest

from sdi.graphs import find_cycle
from sdi.method.beliefs import Clamp, Knowledge
from sdi.method.settings import Settings
from sdi.method.tables.phase1_count import make_block
from sdi.method.tables.phase3_sample import Walk
from sdi.method.tables.prepare import prepare
from sdi.method.tables.problem import Problem


def all_dags(size: int) -> list[np.ndarray]:
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    graphs = []
    for bits in itertools.product([False, True], repeat=len(pairs)):
        parents = np.zeros((size, size), bool)
        for (i, j), bit in zip(pairs, bits, strict=True):
            parents[i, j] = bit
        if find_cycle(parents) is None:
            graphs.append(parents)
    return graphs


def marginal(rows: np.ndarray, child: int, parents: list[int], cards: tuple[int, ...], alpha: float = 1.0) -> float:
    """Dirichlet-multinomial log marginal likelihood, by the book and by loops."""
    q = int(np.prod([cards[j] for j in parents]))
    tables: dict[tuple, list[int]] = {}
    for row in rows:
        tables.setdefault(tuple(row[j] for j in parents), [0] * cards[child])[row[child]] += 1
    total = 0.0
    for counts in tables.values():
        total += lgamma(alpha / q) - lgamma(alpha / q + sum(counts))
        total += sum(lgamma(alpha / q / cards[child] + n) - lgamma(alpha / q / cards[child]) for n in counts)
    return total


MANY_ROWS = 32  # of a table: with more of them its equivalent samples grow


class Extending:
    """Log marginal likelihood of tables that extend one another, by the book and by loops.

    What they are around is fitted to all rows of a block, those of touched environments among them.
    """

    def __init__(self, everything: np.ndarray, cards: tuple[int, ...], sizes: tuple[float, ...]) -> None:
        self.everything, self.cards, self.sizes = everything.tolist(), cards, sizes
        self.centres: dict[tuple, list[float]] = {}

    def __call__(self, rows: np.ndarray, child: int, order: tuple[int, ...]) -> float:
        """Of these rows, with parents that were added in this order."""
        value = marginal(rows, child, [], self.cards, self.sizes[0])
        for k in range(1, len(order) + 1):
            grown = max(1.0, prod(self.cards[j] for j in order[:k]) / MANY_ROWS)
            gains = [self._gain(rows.tolist(), child, order[:k], size * grown) for size in self.sizes]
            value += max(gains) + log(sum(exp(gain - max(gains)) for gain in gains) / len(gains))
        return value

    def _gain(self, rows: list[list[int]], child: int, order: tuple[int, ...], size: float) -> float:
        """Of the last parent: its table, around what is fitted without it, against that without it, around itself."""
        seen = Counter((*(row[j] for j in order), row[child]) for row in rows)
        before = Counter((*(row[j] for j in order[:-1]), row[child]) for row in rows)
        total = 0.0
        for values in itertools.product(*(range(self.cards[j]) for j in order)):
            mass, centre = size * self._share(order, values), self._fitted(child, order[:-1], values[:-1])
            total += self._dirichlet([seen[*values, x] for x in range(self.cards[child])], mass, centre)
        for values in itertools.product(*(range(self.cards[j]) for j in order[:-1])):
            mass, centre = size * self._share(order[:-1], values), self._fitted(child, order[:-1], values)
            total -= self._dirichlet([before[*values, x] for x in range(self.cards[child])], mass, centre)
        return total

    @staticmethod
    def _dirichlet(counts: list[int], mass: float, centre: list[float]) -> float:
        inside = sum(lgamma(n + mass * c) - lgamma(mass * c) for n, c in zip(counts, centre, strict=True))
        return inside - (lgamma(sum(counts) + mass) - lgamma(mass))

    def _share(self, parents: tuple[int, ...], values: tuple[int, ...]) -> float:
        each = [
            (sum(row[j] == value for row in self.everything) + 1 / self.cards[j]) / (len(self.everything) + 1)
            for j, value in zip(parents, values, strict=True)
        ]
        return prod(each)

    def _fitted(self, child: int, parents: tuple[int, ...], values: tuple[int, ...]) -> list[float]:
        """What all rows say of the child in a row of its table; that of one parent less counts as one row more."""
        key = child, parents, values
        if key not in self.centres:
            states = self.cards[child]
            centre = self._fitted(child, parents[:-1], values[:-1]) if parents else [1 / states] * states
            here = [row[child] for row in self.everything if tuple(row[j] for j in parents) == values]
            self.centres[key] = [(here.count(x) + centre[x]) / (len(here) + 1) for x in range(states)]
        return self.centres[key]


def own_marginal(rows: np.ndarray, child: int, parents: tuple[int, ...], cards: tuple[int, ...]) -> float:
    """Of an environment that touched the child, whose prior is one sample: on the same parents or on none."""
    soft, hard = (marginal(rows, child, list(each), cards) for each in (parents, ()))
    return float(np.logaddexp(soft, hard) - np.log(2))


def world_rows(size: int, cards: tuple[int, ...], seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Weakly dependent rows, so that the posterior is spread out."""
    rng = np.random.default_rng(seed)

    def draw(n: int, push: int | None) -> np.ndarray:
        rows = np.zeros((n, size), np.uint8)
        for i in range(size):
            rows[:, i] = rng.integers(0, cards[i], n)
            if i and push != i:
                copies = rng.random(n) < 0.35
                rows[copies, i] = rows[copies, i - 1] % cards[i]
            if push == i:
                rows[rng.random(n) < 0.5, i] = 0
        return rows

    return draw(60, None), [draw(25, k % size) for k in range(2)]


def exact_posterior(size, cards, observed, environments, odds, several=False, problem=None):
    """Edge probabilities and target probabilities by summing over everything.

    Under BDeu; or, of a problem, under the sizes of its prior, parents in the order in which its families add them.
    """
    graphs = all_dags(size)
    sets = [range(size + 1)] * len(environments)
    logs, edges, touched = [], [], []
    cache: dict[tuple, float] = {}
    orders = {} if problem is None else orders_of(problem)
    extending = None
    if problem is not None:
        extending = Extending(np.concatenate([observed, *environments]), cards, problem.priors[0].sizes)

    def local(i: int, parents: tuple[int, ...], mine: tuple[int, ...]) -> float:
        key = i, parents, mine
        if key not in cache:
            pooled = np.concatenate([observed, *(rows for e, rows in enumerate(environments) if e not in mine)])
            if extending is None:
                value = marginal(pooled, i, list(parents), cards)
            else:
                value = extending(pooled, i, orders[i, parents])
            cache[key] = value + sum(own_marginal(environments[e], i, parents, cards) for e in mine)
        return cache[key]

    choices = itertools.product(*sets)
    if several:
        subsets = [s for k in range(size + 1) for s in itertools.combinations(range(size), k)]
        choices = itertools.product(*[subsets] * len(environments))
    for choice in choices:
        hit = [set(c) if several else ({c} if c < size else set()) for c in choice]
        prior = -np.log(size) * sum(map(len, hit)) if several else 0.0
        for graph in graphs:
            value = prior + odds * graph.sum()
            for i in range(size):
                mine = tuple(e for e, each in enumerate(hit) if i in each)
                value += local(i, tuple(np.flatnonzero(graph[i]).tolist()), mine)
            logs.append(value)
            edges.append(graph)
            touched.append([[i in each for i in range(size)] for each in hit])
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    return np.tensordot(weights, np.array(edges), 1), np.tensordot(weights, np.array(touched), 1)


def orders_of(problem: Problem) -> dict[tuple[int, tuple[int, ...]], tuple[int, ...]]:
    """In which order the parents in each set of each variable were added: from set to set that it extends."""
    found = {}
    for family in problem.families:
        orders: list[tuple[int, ...]] = [()]
        for each, base in zip(family.sets[1:], family.extends, strict=True):
            (added,) = set(each) - set(family.sets[base])
            orders.append((*orders[base], family.candidates[added]))
        found.update({(family.child, tuple(sorted(order))): order for order in orders})
    return found


def make_problem(size, cards, observed, environments, **changes) -> Problem:
    settings = Settings(**{"sample_size": 1.0, "expected_parents": 1.0, "strengths": 1, **changes})
    clamp: Clamp = Knowledge().clamp([f"v{i}" for i in range(size)])
    block = make_block(observed, environments)
    targets = [[None] * len(environments)]
    return prepare([block], targets, cards, clamp, settings, np.random.default_rng(0), np.random.default_rng(1)).problem


def sampled_posterior(problem: Problem, draws: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    size = len(problem.families)
    walk = Walk(problem, np.zeros((size, size), bool), problem.no_targets(), np.random.default_rng(seed))
    edges, touched = np.zeros((size, size)), np.zeros_like(walk.touched[0], float)
    for _ in range(draws):
        walk.sweep()
        edges += walk.parents
        touched += walk.touched[0]
    return edges / draws, touched / draws


@pytest.mark.parametrize(
    ("size", "cards", "several"), [(3, (2, 3, 2), False), (3, (2, 2, 3), True), (4, (2, 2, 3, 2), False)]
)
def test_sampled_posterior_is_the_enumerated_one(size, cards, several):
    observed, environments = world_rows(size, cards, seed=4)
    odds = np.log(0.25 / 0.75)  # an edge in four, at most
    edges, touched = exact_posterior(size, cards, observed, environments, odds, several)
    problem = make_problem(size, cards, observed, environments, several_targets=several)
    sampled_edges, sampled_touched = sampled_posterior(problem, 8_000 if several else 4_000)
    assert (edges > 0.05).sum() > size  # a posterior with something to get wrong
    assert np.abs(sampled_edges - edges).max() < 0.04
    assert np.abs(sampled_touched - touched).max() < 0.04


@pytest.mark.parametrize(
    ("size", "cards", "several"), [(3, (2, 2, 3), True), (4, (2, 3, 2, 2), False)], ids=["several of 3", "one of 4"]
)
def test_sampled_posterior_is_the_enumerated_one_where_tables_extend_one_another(size, cards, several):
    observed, environments = world_rows(size, cards, seed=4)
    odds = np.log(0.25 / 0.75)  # an edge in four, at most
    problem = make_problem(size, cards, observed, environments, several_targets=several, strengths=3)
    assert [len(family.sets) for family in problem.families] == [2 ** (size - 1)] * size  # none is left out
    edges, touched = exact_posterior(size, cards, observed, environments, odds, several, problem)
    plain, _ = exact_posterior(size, cards, observed, environments, odds, several)
    sampled_edges, sampled_touched = sampled_posterior(problem, 4_000)
    assert (edges > 0.05).sum() > size
    assert np.abs(edges - plain).max() > 0.08  # BDeu would be noticed
    assert np.abs(sampled_edges - edges).max() < 0.04
    assert np.abs(sampled_touched - touched).max() < 0.04
