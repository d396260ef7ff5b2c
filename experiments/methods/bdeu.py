"""Interventional BDeu: how well a set of parents explains a variable that some environments touched.

Source: the BDeu score of Heckerman, Geiger & Chickering (1995), "Learning Bayesian networks: the combination of
knowledge and statistical data"; interventions after Cooper & Yoo (1999), who leave touched rows out, and Eaton &
Murphy (2007), whose imperfect interventions have parameters of their own. Targets are known.

Categories are nominal: codes are only counted. Rows in which the child was not touched (observational rows included)
share one table. What becomes of the rows of an environment that touched the child is `touched`:

- ``own-table`` (soft): the environment has a table of its own, which keeps the parents, with the same prior.
- ``leave-out`` (perfect): its rows say nothing about the child's mechanism and are not counted. A table of its own
  without parents would add the same number to every graph, so this is also the score of perfect interventions.

In both, graphs that the environments cannot tell apart have the same total, as GIES needs: an edge between two
variables that were always touched together, or never, can be turned without changing which rows a table counts.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sdi import Dataset

Targets = Sequence[tuple[int, ...]]  # per environment, the variables that it touched
Touched = Literal["own-table", "leave-out"]
TOUCHED: tuple[Touched, ...] = ("own-table", "leave-out")


class InterventionalBDeu:
    """The score of every family of a dataset, each computed once.

    `p`, `interv`, `local_score` and `full_score` are what ``gies.fit`` asks of a score.
    """

    def __init__(
        self,
        dataset: Dataset,
        targets: Targets | None = None,
        *,
        equivalent_sample_size: float = 1.0,
        touched: Touched = "own-table",
    ) -> None:
        if touched not in TOUCHED:
            raise ValueError(f"unknown treatment of touched rows {touched!r}; choose from {', '.join(TOUCHED)}")
        if not equivalent_sample_size > 0:
            raise ValueError(f"equivalent_sample_size is a positive number of rows; got {equivalent_sample_size}")
        known = known_targets(dataset, targets)
        self.p = len(dataset.names)
        self.interv = [[], *(list(target) for target in known)]  # the observational rows first
        self._ess = equivalent_sample_size
        self._cardinalities = dataset.cardinalities
        self._columns = stacked(dataset)[0].T.copy()  # [M, n]
        self._tables, self._kept = _tables(dataset, known, touched)
        self._cache: dict[tuple[int, tuple[int, ...]], float] = {}

    def local_score(self, child: int, parents: Iterable[int]) -> float:
        """Log marginal likelihood of the child's column given its parents' columns."""
        key = (int(child), tuple(sorted(int(parent) for parent in parents)))
        if key not in self._cache:
            self._cache[key] = self._compute_local_score(*key)
        return self._cache[key]

    def total(self, parents: NDArray[np.bool_]) -> float:
        """The score of a graph ``parents[child, parent]``."""
        return sum(self.local_score(child, np.flatnonzero(row)) for child, row in enumerate(parents))

    def full_score(self, adjacency: NDArray[np.generic]) -> float:
        """The score of a graph ``adjacency[cause, effect]``, the orientation of gies."""
        return self.total(np.asarray(adjacency).T != 0)

    def _compute_local_score(self, child: int, parents: tuple[int, ...]) -> float:
        states = self._cardinalities[child]
        configurations = math.prod(self._cardinalities[parent] for parent in parents)
        context, size = combined(self._columns, self._cardinalities, parents)
        table = self._tables[child] * size + context  # rows that are not counted have the last tables
        table, used, kept = *_compressed(table, (int(self._tables[child].max()) + 1) * size), self._kept[child] * size
        counts = np.bincount(table * states + self._columns[child], minlength=len(used) * states)
        counts = counts.reshape(len(used), states)[used < kept]  # [tables x configurations, states]
        return log_marginal_likelihood(counts, self._ess / configurations)


def local_score(
    dataset: Dataset,
    child: int,
    parents: Iterable[int],
    targets: Targets | None,
    equivalent_sample_size: float = 1.0,
    *,
    touched: Touched = "own-table",
) -> float:
    """Log marginal likelihood of one family; to score many, keep an `InterventionalBDeu`."""
    score = InterventionalBDeu(dataset, targets, equivalent_sample_size=equivalent_sample_size, touched=touched)
    return score.local_score(child, parents)


def log_marginal_likelihood(counts: NDArray[np.integer], pseudo_rows: float) -> float:
    """Of the rows counted in ``counts[table, state]``, each table with `pseudo_rows` spread over its states a priori.

    sum_j lgamma(A) - lgamma(A + N_j) + sum_k lgamma(A/r + N_jk) - lgamma(A/r); an empty table adds 0.
    """
    counts = counts[counts.any(axis=1)]
    per_state = pseudo_rows / counts.shape[1]
    cells = counts[counts > 0]
    return float(
        (gammaln(per_state + cells) - gammaln(per_state)).sum()
        - (gammaln(pseudo_rows + counts.sum(axis=1)) - gammaln(pseudo_rows)).sum()
    )


def known_targets(dataset: Dataset, targets: Targets | None) -> tuple[tuple[int, ...], ...]:
    """`targets` if given, else those that the dataset declares; an error where one is missing."""
    if targets is None:
        declared = tuple(environment.target for environment in dataset.environments)
        unknown = [e.name for e in dataset.environments if e.target is None]
        if unknown:
            raise ValueError(
                f"the target of environment {unknown[0]!r} is not known; pass targets, one per environment"
            )
        return tuple(target for target in declared if target is not None)
    if len(targets) != len(dataset.environments):
        raise ValueError(
            f"expected targets for each of the {len(dataset.environments)} environments, got {len(targets)}; "
            "give one tuple per environment, () where nothing was touched"
        )
    wrong = [i for target in targets for i in target if not 0 <= i < len(dataset.names)]
    if wrong:
        raise ValueError(f"target {wrong[0]} is no variable; they are numbered 0 to {len(dataset.names) - 1}")
    return tuple(tuple(int(i) for i in target) for target in targets)


def stacked(dataset: Dataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All rows ``[n, M]`` and the environment of each ``[n]``: 0 is observational, e + 1 is environment e."""
    parts = [dataset.observational, *(environment.rows for environment in dataset.environments)]
    rows = np.concatenate(parts).astype(np.int64)
    return rows, np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def combined(
    columns: NDArray[np.int64], cardinalities: Sequence[int], chosen: Iterable[int]
) -> tuple[NDArray[np.int64], int]:
    """One code ``[n]`` for the values of the chosen columns together, and how many codes there may be.

    Codes that no row has are dropped when there are many, so that the code of 30 parents is still an integer.
    """
    code, size = np.zeros(columns.shape[1], dtype=np.int64), 1
    for j in chosen:
        code, size = code * cardinalities[j] + columns[j], size * cardinalities[j]
        if size > 4 * len(code):
            code, used = _compressed(code, size)
            size = len(used)
    return code, size


def _compressed(code: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes counted from 0, and the old code of each new one; left alone where the table of all codes is small."""
    if size <= 4 * len(code):
        return code, np.arange(size)
    used, code = np.unique(code, return_inverse=True)
    return code, used


def _tables(
    dataset: Dataset, targets: tuple[tuple[int, ...], ...], touched: Touched
) -> tuple[NDArray[np.int64], list[int]]:
    """The table that counts each row of each child ``[M, n]``: 0 is shared; and how many tables a child has.

    Rows that are left out have the number of a table that the child does not have.
    """
    environment = stacked(dataset)[1]
    tables, kept = [], []
    for child in range(len(dataset.names)):
        own = np.zeros(len(targets) + 1, dtype=np.int64)
        mine = [e + 1 for e, target in enumerate(targets) if child in target]
        own[mine] = np.arange(1, len(mine) + 1) if touched == "own-table" else 1
        tables.append(own[environment])
        kept.append(len(mine) + 1 if touched == "own-table" else 1)
    return np.array(tables), kept
