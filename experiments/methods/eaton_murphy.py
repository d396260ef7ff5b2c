"""Exact posterior of every edge and every target, summed over all graphs and all orders of the variables.

Source: Eaton & Murphy (2007), "Exact Bayesian structure learning from uncertain interventions", with the dynamic
programming over subsets of Koivisto & Sood (2004) and, for all edges at once, of Koivisto (2006). As in the paper there
is one binary indicator per environment, on in its rows. Indicators are roots that come before all variables and may
be parents of any, of several too; indicator -> variable is "this environment touched it". They are scored like
any parent, by BDeu with equivalent sample size 1 over the tables of parents and indicators together; since one
indicator is on at a time, that is a table for every indicator parent's environment and one for the other rows.
Categories are nominal: codes are only counted.

The indicators come first in every order, so their subsets are summed within each family and the dynamic programme
runs over the variables alone: 2^M subsets, where a programme over variables and indicators alike has 2^(M + E). (One
that lets indicators stand anywhere among the variables differs in its prior over orders, in nothing else.) Sums stay
in logarithms: the best order is thousands of nats away from the best families.

NOTE the prior: all orders equally likely, and in each order all allowed families. A graph counts once for every order
that it agrees with, so graphs with many linear extensions (flat and sparse ones) are favoured. That is the price of
exact sums, known of the method. Nothing is random: the seed is not used.
"""

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from experiments.methods.bdeu import Targets, combined, known_targets, stacked
from sdi import Dataset

Floats = NDArray[np.float64]
BLOCK = 1 << 21  # table cells looked up at a time
KEPT = 200  # tables of logarithms, each as long as there are rows


class Posterior(NamedTuple):
    """``probabilities[child, parent]``, ``targets[environment, variable]`` and the log evidence of the rows."""

    probabilities: Floats
    targets: Floats
    log_evidence: float


class Estimate(NamedTuple):
    """What a run will take."""

    families: int  # of a child, parents and indicator parents
    bytes: float
    seconds: float


class Families(NamedTuple):
    """The log weights of one child's sets of parents, indicators summed out."""

    masks: NDArray[np.int64]  # [S], bit j is variable j
    weights: Floats  # [S]
    touched: Floats  # [S, E], of the indicator sets that hold e alone


# ------------------------------------------------------------------------------------------------ front door


def run(
    dataset: Dataset,
    targets: Targets | None = None,
    seed: int = 0,
    *,
    max_parents: int = 5,
    max_indicators: int = 2,
    equivalent_sample_size: float = 1.0,
    memory_limit: float = 4e9,
    time_limit: float = 3600.0,
) -> Posterior:
    """The posterior; with `targets` given the indicators' edges are known (the paper's imperfect interventions).

    Raises MemoryError or ValueError with the estimate where that is beyond the limits (bytes, seconds of one core).
    """
    cost = estimate(dataset, max_parents, max_indicators if targets is None else 0)
    check_size(cost, len(dataset.names), memory_limit, time_limit)
    families = score_families(dataset, targets, max_parents, max_indicators, equivalent_sample_size)
    size = len(families)
    available = np.full((size, 1 << size), -np.inf)  # [child, U]: families within U
    for child, family in enumerate(families):
        available[child, family.masks] = family.weights
        sum_subsets(available[child])
    before, after = prefixes(available), suffixes(available)
    evidence = before[-1]
    probabilities, touched = np.zeros((size, size)), np.zeros((len(dataset.environments), size))
    for child, family in enumerate(families):
        joint = family.weights + contexts(before, after, child)[family.masks] - evidence  # [S]
        for parent in range(size):
            probabilities[child, parent] = np.exp(joint[(family.masks >> parent) & 1 == 1]).sum()
        touched[:, child] = np.exp(family.touched + (joint - family.weights)[:, None]).sum(axis=0)
    orders = math.lgamma(size + 1)  # all equally likely
    return Posterior(probabilities.clip(0, 1), touched.clip(0, 1), float(evidence) - orders)  # clip: rounding


def estimate(dataset: Dataset, max_parents: int, max_indicators: int) -> Estimate:
    """Memory and one core's time of a run, without doing any of it."""
    size, rows = len(dataset.names), len(stacked(dataset)[1])
    environments = len(dataset.environments)
    indicators = sum(math.comb(environments, k) for k in range(min(max_indicators, environments) + 1))
    sets = [math.comb(size - 1, k) for k in range(min(max_parents, size - 1) + 1)]
    largest = sorted(dataset.cardinalities, reverse=True)
    cells = sum(
        count * min(math.prod(largest[:k]), rows) * largest[0] * indicators * size for k, count in enumerate(sets)
    )
    families = size * sum(sets)
    subsets = 2.0**size
    memory = 8 * (subsets * (size + 5) + families * (environments + 3) + rows * (size + KEPT) + 4 * BLOCK)
    seconds = 1e-8 * cells + 1e-6 * families * (300 + rows / 20) + 3e-8 * subsets * size * (size + 2)
    return Estimate(families * indicators, memory, seconds)


def check_size(cost: Estimate, size: int, memory_limit: float, time_limit: float) -> None:
    if cost.bytes > memory_limit:
        raise MemoryError(
            f"exact sums over {size} variables need about {_readable(cost.bytes)} of memory (2^{size} subsets for each "
            f"variable), more than the {_readable(memory_limit)} allowed; leave variables out or search greedily"
        )
    if cost.seconds > time_limit:
        raise ValueError(
            f"exact sums over {size} variables need about {cost.seconds:,.0f} seconds for {cost.families:,} families, "
            f"more than the {time_limit:,.0f} allowed; lower max_parents or max_indicators, or raise time_limit"
        )


def _readable(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if size < 1000 or unit == "PB":
            return f"{size:,.1f} {unit}"
        size /= 1000
    raise AssertionError("not reached")


# -------------------------------------------------------------------------------------------------- families


def score_families(
    dataset: Dataset, targets: Targets | None, max_parents: int, max_indicators: int, equivalent_sample_size: float
) -> list[Families]:
    """Every family of every child, by counting each set of parents once."""
    size, environments = len(dataset.names), len(dataset.environments)
    rows, environment = stacked(dataset)
    columns = rows.T.copy()
    table = RisingFactorials(len(environment))
    allowed = [_indicator_sets(dataset, targets, child, max_indicators) for child in range(size)]
    found: list[list[tuple[tuple[int, ...], float, Floats]]] = [[] for _ in range(size)]
    for count in range(min(max_parents, size - 1) + 1):
        for parents in combinations(range(size), count):
            context, used = combined(columns, dataset.cardinalities, parents)
            spread = equivalent_sample_size / math.prod(dataset.cardinalities[j] for j in parents)
            for child in set(range(size)) - set(parents):
                states = dataset.cardinalities[child]
                code = (environment * used + context) * states + columns[child]
                counts = np.bincount(code, minlength=(environments + 1) * used * states)
                counts = counts.reshape(environments + 1, used, states)
                found[child].append((parents, *_summed(counts, spread, allowed[child], table)))
    return [
        Families(
            np.array([sum(1 << j for j in parents) for parents, _, _ in mine]),
            np.array([weight for _, weight, _ in mine]),
            np.array([touched for _, _, touched in mine]).reshape(len(mine), environments),
        )
        for mine in found
    ]


def _indicator_sets(dataset: Dataset, targets: Targets | None, child: int, limit: int) -> list[NDArray[np.int64]]:
    """The sets of indicators that may be parents of `child`, by size ``[K, E]`` of 0 and 1."""
    environments = len(dataset.environments)
    if targets is not None:
        known = [[child in target for target in known_targets(dataset, targets)]]
        return [np.array(known, dtype=np.int64).reshape(1, environments)]
    sets = []
    for size in range(min(limit, environments) + 1):
        chosen = list(combinations(range(environments), size))
        member = np.zeros((len(chosen), environments), dtype=np.int64)
        for k, indicators in enumerate(chosen):
            member[k, list(indicators)] = 1
        sets.append(member)
    return sets


def _summed(
    counts: NDArray[np.int64], spread: float, sets: list[NDArray[np.int64]], table: "RisingFactorials"
) -> tuple[float, Floats]:
    """Log weight of a family over all its indicator sets, and over those that hold each indicator ``[E]``.

    ``counts[environment, configuration, state]``; `spread` is the prior's rows per configuration.
    """
    scores = []
    for member in sets:
        pseudo_rows = spread / 2.0 ** member[0].sum()  # indicators are parents: each halves the prior of a table
        own = table.log_marginal_likelihoods(counts[1:], pseudo_rows)  # [E]
        step = max(1, BLOCK // counts[0].size)
        for start in range(0, len(member), step):
            part = member[start : start + step]
            rest = counts.sum(axis=0) - np.tensordot(
                part.astype(float), counts[1:], axes=1
            )  # [K, configuration, state]
            scores.append(table.log_marginal_likelihoods(rest.astype(np.int64), pseudo_rows) + part @ own)
    score, holds = np.concatenate(scores), np.concatenate(sets)
    total = float(logsumexp(score))
    share = np.exp(score - total) @ holds  # of the weight, per indicator
    with np.errstate(divide="ignore"):
        return total, total + np.log(share)


class RisingFactorials:
    """Logarithms of a (a + 1) ... (a + n - 1), looked up: the counts are small integers, and each a comes often."""

    def __init__(self, rows: int) -> None:
        self._counts = np.arange(rows + 1)
        self._known: dict[float, Floats] = {}

    def _of(self, start: float) -> Floats:
        if start not in self._known:
            if len(self._known) == KEPT:
                self._known.clear()
            self._known[start] = gammaln(start + self._counts) - gammaln(start)
        return self._known[start]

    def log_marginal_likelihoods(self, counts: NDArray[np.int64], pseudo_rows: float) -> Floats:
        """``counts[..., configuration, state] -> [...]``, `pseudo_rows` a priori in each configuration."""
        cells = self._of(pseudo_rows / counts.shape[-1]).take(counts)
        return cells.sum(axis=(-2, -1)) - self._of(pseudo_rows).take(counts.sum(axis=-1)).sum(axis=-1)


# --------------------------------------------------------------------------------------- sums over subsets
# A set of variables is the integer whose bit i says whether variable i is in it.


def sum_subsets(values: Floats) -> None:
    """In place, ``values[U] <- log sum of exp values[S] over all S within U``."""
    for bit in range(len(values).bit_length() - 1):
        halves = values.reshape(-1, 2, 1 << bit)
        np.logaddexp(halves[:, 1], halves[:, 0], out=halves[:, 1])


def sum_supersets(values: Floats) -> None:
    """In place, ``values[S] <- log sum of exp values[U] over all U that hold S``."""
    for bit in range(len(values).bit_length() - 1):
        halves = values.reshape(-1, 2, 1 << bit)
        np.logaddexp(halves[:, 0], halves[:, 1], out=halves[:, 0])


def _without(size: int, child: int) -> NDArray[np.int64]:
    """The sets that do not hold `child`."""
    sets = np.arange(1 << (size - 1))
    low = sets & ((1 << child) - 1)
    return ((sets ^ low) << 1) | low


def prefixes(available: Floats) -> Floats:
    """``[U]``: log weight of all orders of the variables of U when they come first."""
    size = len(available)
    result = np.full(1 << size, -np.inf)
    result[0] = 0
    for level in _levels(size):
        for child in range(size):
            free = level[(level >> child) & 1 == 0]
            grown = free | (1 << child)
            result[grown] = np.logaddexp(result[grown], result[free] + available[child, free])
    return result


def suffixes(available: Floats) -> Floats:
    """``[U]``: log weight of all orders of the variables that are not in U when those of U came first."""
    size = len(available)
    result = np.full(1 << size, -np.inf)
    result[-1] = 0
    for level in reversed(_levels(size)):
        for child in range(size):
            free = level[(level >> child) & 1 == 0]
            result[free] = np.logaddexp(result[free], result[free | (1 << child)] + available[child, free])
    return result


def _levels(size: int) -> list[NDArray[np.int64]]:
    """All sets but the full one, by the number of their members."""
    sets = np.arange(1 << size)
    members = np.bitwise_count(sets)
    return [sets[members == count] for count in range(size)]


def contexts(before: Floats, after: Floats, child: int) -> Floats:
    """``[S]``: log weight of all else in the orders in which all of S comes before `child`."""
    free = _without(len(before).bit_length() - 1, child)
    result = np.full(len(before), -np.inf)
    result[free] = before[free] + after[free | (1 << child)]
    sum_supersets(result)
    return result
