"""The tables method against exact enumeration of all graphs and all targets."""

import itertools

import numpy as np
import pytest
from by_loops import Extending, marginal, own_marginal

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
    extending = []
    for scores in [] if problem is None else problem.scores[0]:
        left = [observed, *(rows for e, rows in enumerate(environments) if e not in scores.presumed)]
        masses = np.concatenate([observed, *environments])
        extending.append(Extending(np.concatenate(left), cards, problem.priors[0].sizes, masses=masses))

    def local(i: int, parents: tuple[int, ...], mine: tuple[int, ...]) -> float:
        key = i, parents, mine
        if key not in cache:
            pooled = np.concatenate([observed, *(rows for e, rows in enumerate(environments) if e not in mine)])
            if not extending:
                value = marginal(pooled, i, list(parents), cards)
                own = [own_marginal(environments[e], i, parents, cards) for e in mine]
            else:
                value = extending[i](pooled, i, orders[i, parents])
                own = [extending[i].own(environments[e], i, orders[i, parents]) for e in mine]
            cache[key] = value + sum(own)
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
