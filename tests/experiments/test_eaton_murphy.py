"""Exact posteriors: against all orders, against all DAGs weighed by their linear extensions, and what does not fit."""

import math
from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from experiments.methods.eaton_murphy import estimate, run, sum_subsets, sum_supersets
from test_bdeu import all_dags

from sdi import Dataset, freeze, named_world

Matrix = np.ndarray[Any, np.dtype[np.float64]]


def small(size: int, seed: int, environments: int = 2) -> Dataset:
    """A few rows, so that many graphs share the posterior; every variable has its own number of states."""
    rng = np.random.default_rng(seed)
    world = named_world(f"full{size}", rng=rng, categories=3)
    dataset = freeze(world, observational=25, environments=environments, rows=12, rng=rng).dataset
    states = tuple(("a", "b", "c")[: 2 + i % 2] for i in range(size))
    cut = np.array([len(s) - 1 for s in states])
    made = tuple(type(e)(e.name, np.minimum(e.rows, cut)) for e in dataset.environments)
    return Dataset(dataset.names, states, np.minimum(dataset.observational, cut), made)


def plain_bdeu(columns: list[list[int]], sizes: list[int], child: int, parents: tuple[int, ...]) -> float:
    """The textbook's sum over all tables, with the indicators as columns like any other."""
    configurations = list(product(*(range(sizes[j]) for j in parents)))
    pseudo = 1 / len(configurations)
    total = 0.0
    for configuration in configurations:
        counts = [0] * sizes[child]
        for row in range(len(columns[0])):
            if all(columns[j][row] == value for j, value in zip(parents, configuration, strict=True)):
                counts[columns[child][row]] += 1
        total += math.lgamma(pseudo) - math.lgamma(pseudo + sum(counts))
        total += sum(math.lgamma(pseudo / len(counts) + n) - math.lgamma(pseudo / len(counts)) for n in counts)
    return total


class Oracle:
    """Families of a dataset scored by `plain_bdeu`; the indicators are the variables after the last."""

    def __init__(self, dataset: Dataset, max_parents: int, max_indicators: int) -> None:
        parts = [dataset.observational, *(e.rows for e in dataset.environments)]
        self.size, self.environments = len(dataset.names), len(parts) - 1
        self.columns = [[int(x) for part in parts for x in part[:, j]] for j in range(self.size)]
        for e in range(1, len(parts)):
            self.columns.append([int(e == k) for k, part in enumerate(parts) for _ in part])
        self.sizes = [*dataset.cardinalities, *[2] * self.environments]
        self.max_parents, self.max_indicators = max_parents, max_indicators
        self.known: dict[tuple[int, tuple[int, ...]], float] = {}

    def weight(self, child: int, parents: tuple[int, ...]) -> float:
        if (child, parents) not in self.known:
            # e^100 keeps the weights of some 50 rows within floats.
            self.known[child, parents] = math.exp(100 + plain_bdeu(self.columns, self.sizes, child, parents))
        return self.known[child, parents]

    def indicators(self) -> Iterator[tuple[int, ...]]:
        names = range(self.size, self.size + self.environments)
        for count in range(self.max_indicators + 1):
            yield from combinations(names, count)

    def families(self, child: int, before: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
        for count in range(min(self.max_parents, len(before)) + 1):
            for parents in combinations(sorted(before), count):
                for indicators in self.indicators():
                    yield parents + indicators, self.weight(child, parents + indicators)

    def answer(self, seen: Matrix, total: float) -> tuple[Matrix, Matrix]:
        return seen[:, : self.size] / total, seen[:, self.size :].T / total


def over_orders(oracle: Oracle) -> tuple[Matrix, Matrix]:
    """Every order, and in it every choice of one family per variable, by the sums of each."""
    seen, total = np.zeros((oracle.size, oracle.size + oracle.environments)), 0.0
    for order in permutations(range(oracle.size)):
        families = [list(oracle.families(child, order[:place])) for place, child in enumerate(order)]
        sums = [sum(weight for _, weight in mine) for mine in families]
        total += math.prod(sums)
        for child, mine, own in zip(order, families, sums, strict=True):
            for parents, weight in mine:
                seen[child, list(parents)] += weight * math.prod(sums) / own
    return oracle.answer(seen, total)


def over_graphs(oracle: Oracle) -> tuple[Matrix, Matrix]:
    """Every DAG with its number of linear extensions as its weight, and every choice of indicators."""
    seen, total = np.zeros((oracle.size, oracle.size + oracle.environments)), 0.0
    for parents in all_dags(oracle.size):
        if parents.sum(axis=1).max() > oracle.max_parents:
            continue
        extensions = sum(
            all(not parents[child, later] for place, child in enumerate(order) for later in order[place:])
            for order in permutations(range(oracle.size))
        )
        sets = [tuple(np.flatnonzero(row).tolist()) for row in parents]
        choices = [[(s + k, oracle.weight(i, s + k)) for k in oracle.indicators()] for i, s in enumerate(sets)]
        sums = [sum(weight for _, weight in mine) for mine in choices]
        total += extensions * math.prod(sums)
        for child, mine in enumerate(choices):
            for family, weight in mine:
                seen[child, list(family)] += extensions * weight * math.prod(sums) / sums[child]
    return oracle.answer(seen, total)


@pytest.mark.parametrize("sums", [over_orders, over_graphs])
@pytest.mark.parametrize(
    ("size", "environments", "max_parents", "max_indicators"), [(3, 3, 2, 3), (3, 2, 1, 1), (4, 2, 3, 2), (4, 1, 2, 0)]
)
def test_posterior_is_that_of_enumeration(
    sums: Any, size: int, environments: int, max_parents: int, max_indicators: int
) -> None:
    dataset = small(size, seed=size, environments=environments)
    found = run(dataset, max_parents=max_parents, max_indicators=max_indicators)
    probabilities, targets = sums(Oracle(dataset, max_parents, max_indicators))
    np.testing.assert_allclose(found.probabilities, probabilities, atol=1e-9)
    np.testing.assert_allclose(found.targets, targets, atol=1e-9)
    off_diagonal = probabilities[~np.eye(size, dtype=bool)]
    assert off_diagonal.min() > 1e-6  # a posterior with something to get wrong
    assert 0.01 < off_diagonal.max() < 0.9999


def test_known_targets_are_certain_and_change_the_edges() -> None:
    dataset = small(3, seed=0)
    known, unknown = run(dataset, [(1,), (0, 2)]), run(dataset)
    np.testing.assert_allclose(known.targets, [[0, 1, 0], [1, 0, 1]], atol=1e-12)
    assert np.abs(known.probabilities - unknown.probabilities).max() > 1e-3


def test_sets_of_indicators_are_not_counted_in_the_estimate_when_targets_are_known() -> None:
    dataset, how = small(3, seed=0, environments=60), {"max_indicators": 5, "time_limit": 1.0}
    with pytest.raises(ValueError, match="lower max_parents or max_indicators"):
        run(dataset, **how)
    assert run(dataset, [(0,)] * 60, **how).targets[:, 0].min() == pytest.approx(1)


def test_evidence_is_that_of_one_variable_when_there_is_one() -> None:
    """(2, 1) of a binary variable, 1 pseudo row: 1/2 * 3/2 * 1/2 / (1 * 2 * 3) = 1 / 16."""
    dataset = Dataset(("A",), (("x", "y"),), np.array([[0], [0], [1]]), ())
    assert run(dataset).log_evidence == pytest.approx(math.log(1 / 16))


def test_asia_and_its_targets_are_found() -> None:
    rng = np.random.default_rng(1)
    world = named_world("asia", rng=rng, temperature=2)
    dataset, targets = freeze(world, observational=2000, environments=8, rows=500, rng=rng)
    found = run(dataset, max_parents=3)
    assert np.array_equal(found.probabilities > 0.5, world.graph.parents)
    assert [tuple(np.flatnonzero(row > 0.5)) for row in found.targets] == list(targets)


def test_rows_by_the_thousand_do_not_underflow() -> None:
    rng = np.random.default_rng(0)
    world = named_world("chain5", rng=rng, categories=4)
    found = run(freeze(world, observational=20_000, environments=5, rows=2000, rng=rng).dataset)
    assert np.isfinite(found.log_evidence)
    assert found.log_evidence < -10_000
    assert np.array_equal(found.probabilities > 0.5, world.graph.parents)


@pytest.mark.parametrize("of_supersets", [False, True])
def test_sums_over_subsets_are_what_a_loop_finds(of_supersets: bool) -> None:
    values = np.random.default_rng(0).normal(size=16)
    values[3] = -np.inf
    result = values.copy()
    (sum_supersets if of_supersets else sum_subsets)(result)
    for u in range(16):
        inside = [s for s in range(16) if (u & s == u if of_supersets else u & s == s)]
        assert result[u] == pytest.approx(math.log(sum(math.exp(values[s]) for s in inside)))


def test_more_variables_or_environments_or_parents_never_cost_less() -> None:
    base = estimate(small(3, 0), 2, 1)
    assert base.bytes < estimate(small(5, 0), 2, 1).bytes
    assert base.seconds < estimate(small(3, 0, environments=8), 2, 1).seconds
    assert estimate(small(5, 0), 1, 1).families < estimate(small(5, 0), 4, 1).families


@pytest.mark.parametrize(
    ("size", "environments", "how", "error", "message"),
    [
        (37, 1, {}, MemoryError, r"37 variables need about [\d.]+ TB of memory .* leave variables out"),
        (12, 1, {"memory_limit": 1e5}, MemoryError, r"more than the 100.0 kB allowed"),
        (12, 40, {"max_indicators": 5}, ValueError, r"about [\d,]+ seconds for [\d,]+ families, .* lower max_parents"),
    ],
)
def test_size_that_does_not_fit_is_refused_before_anything_is_done(
    size: int, environments: int, how: dict[str, Any], error: type[Exception], message: str
) -> None:
    names = tuple(f"X{i}" for i in range(size))
    rows = np.random.default_rng(0).integers(2, size=(30, size))
    dataset = small(3, 0).environments[0]
    made = tuple(type(dataset)(f"e{k}", rows) for k in range(environments))
    with pytest.raises(error, match=message):
        run(Dataset(names, (("x", "y"),) * size, rows, made), **how)
