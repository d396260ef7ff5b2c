"""Nonlinear invariant causal prediction: the parents of a variable are in every set that predicts it invariantly.

Source: Heinze-Deml, Peters & Meinshausen (2018), "Invariant causal prediction for nonlinear models". For each variable
Y and each set S of at most `max_size` others: does Y depend on the environment once X_S is known? The intersection
of all sets for which that is not rejected at level `alpha` holds only parents of Y, with probability 1 - alpha.

Categories are nominal: one-hot inputs of a scikit-learn model, class probabilities out (random forest, the paper's
choice, or multinomial logistic regression with pairwise interactions). The paper compares residuals between
environments; here a residual is "was this the class" minus its probability (of a forest: by the trees that did not
see the row), so the comparison is of observed with predicted class counts, one environment against the others. What
an environment's rows look like in X_S is predicted and subtracted too (the generalised covariance of Shah & Peters,
2020): an error of the model then does not pass for a change of mechanism. Chi-square for the classes of Y, Bonferroni
over environments. A change that cancels in the mean over X_S is missed, which can only make the answer smaller.

Rows that look alike in X_S (a cell) are counted, not repeated. Where every cell is large its forest need not be grown:
see `forest`. A set whose values combine in more than `max_cells` ways is not tested.

An environment that touches Y itself breaks the assumption. With `targets` given those environments are left out for
Y, as the paper requires. Unknown, they stay in; where each variable was touched somewhere, no set is invariant and
the answer is empty. It is also empty where Y has so many parents that the set of them is not tested, unless a set that
lacks one passes for invariant.
"""

from collections.abc import Callable
from itertools import combinations, groupby
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import ThreadpoolController

from experiments.methods.bdeu import Targets, known_targets, stacked
from sdi import Dataset

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
FEWEST = 5.0  # rows of a class that an environment must be expected to have for chi-square to hold
THREADS = ThreadpoolController()  # the matrices are so small that more than one thread only waits
TREES = 25  # of a forest that has to be grown
LEAF = 8  # draws in a leaf: with replacement these are about 5 different rows
ENOUGH = 25  # rows of a cell that every tree gives a leaf of its own: 8 draws of them are as good as certain


def forest(features: Floats, counts: Counts, seed: int) -> Floats:
    """Out-of-bag probabilities ``[cells, classes, classes]`` of a row by its cell and its own class.

    From what the cells look like ``[cells, columns]`` and their rows of each class ``[cells, classes]``. A row does
    not vote on itself. Where every cell has enough rows to be a leaf of every tree, the mean over ever more trees is
    the share of each class among the other rows of the cell, because those in the bag are drawn from them evenly: no
    tree is grown.
    """
    if counts.sum(axis=1).min() >= ENOUGH:
        return _others(counts)
    rng = np.random.default_rng(seed)
    kind = np.repeat(np.arange(counts.size), counts.ravel())  # of each row: its cell and class
    rows, drop = len(kind), 1e-9
    outside = np.full(counts.shape, drop)  # a row that is in every bag is given the share of all
    total = drop * np.broadcast_to(counts.sum(axis=0) / rows, (*counts.shape, counts.shape[1]))
    for _ in range(TREES):
        drawn = np.bincount(rng.integers(rows, size=rows), minlength=rows)
        bag = np.bincount(kind, drawn, counts.size).reshape(counts.shape)
        out = np.bincount(kind, drawn == 0, counts.size).reshape(counts.shape)
        weight = bag.sum(axis=1)
        # Least squares on the shares of cells splits as the Gini index does on their rows.
        tree = DecisionTreeRegressor(min_weight_fraction_leaf=LEAF / rows, random_state=int(rng.integers(2**31)))
        tree.fit(features, bag / np.maximum(weight, 1)[:, None], sample_weight=weight)
        voted = tree.predict(features).reshape(counts.shape)
        total, outside = total + out[:, :, None] * voted[:, None, :], outside + out
    return total / outside[:, :, None]


def _others(counts: Counts) -> Floats:
    """Shares ``[cells, own class, classes]`` among the other rows of a cell."""
    left = counts[:, None, :] - np.eye(counts.shape[1])  # below 0 only for a class that no row of the cell has
    return left / (counts.sum(axis=1) - 1)[:, None, None]


def logistic(features: Floats, counts: Counts, seed: int) -> Floats:
    """As `forest`, of a regression with pairwise interactions; few parameters, so in-sample as in a score test."""
    crossed = PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(features)
    cell, outcome = np.nonzero(counts)
    model = LogisticRegression(C=100.0, max_iter=2000)
    model.fit(crossed[cell], outcome, sample_weight=counts[cell, outcome])
    result = np.zeros((*counts.shape, counts.shape[1]))
    result[:, :, model.classes_] = model.predict_proba(crossed)[:, None, :]
    return result


MODELS: dict[str, Callable[[Floats, Counts, int], Floats]] = {"forest": forest, "logistic": logistic}


class Invariance(NamedTuple):
    """What every invariant set of a child has in common, and how sure that is."""

    parents: NDArray[np.bool_]  # [child, parent]
    p_values: Floats  # [child, parent] of "not a parent": the largest of a set without it; 1 where all are rejected
    accepted: NDArray[np.int64]  # [child], sets not rejected; 0 says that no set is invariant
    tested: NDArray[np.int64]  # [child], sets; fewer than all where the intersection was empty before the end


def run(
    dataset: Dataset,
    targets: Targets | None = None,
    seed: int = 0,
    *,
    alpha: float = 0.05,
    max_size: int = 3,
    max_candidates: int = 10,
    max_cells: int = 500,
    model: str = "forest",
) -> Invariance:
    """Parents of every variable; only the `max_candidates` best predictors of each are considered.

    Testing ends where the intersection is empty: nothing can be added to it. Its p-values are then lower bounds, and
    above `alpha` all the same.
    """
    if model not in MODELS:
        raise ValueError(f"unknown model {model!r}; choose from {', '.join(MODELS)}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is a level between 0 and 1; got {alpha}")
    rows, environment = stacked(dataset)
    touched = () if targets is None else known_targets(dataset, targets)
    size = len(dataset.names)
    left_out = [tuple(e + 1 for e, target in enumerate(touched) if child in target) for child in range(size)]
    found = Invariance(
        np.zeros((size, size), bool), np.ones((size, size)), np.zeros(size, np.int64), np.zeros(size, np.int64)
    )
    for out, children in groupby(sorted(range(size), key=left_out.__getitem__), left_out.__getitem__):
        stay = ~np.isin(environment, out)
        scene = Scene(rows[stay], environment[stay], dataset.cardinalities, model, seed)
        for child in children:
            members = candidates(scene, child, max_candidates)
            sets = [each for k in range(max_size + 1) for each in combinations(members, k)]
            sets = [each for each in sets if prod(dataset.cardinalities[j] for j in each) <= max_cells]
            _intersect(found, scene, child, sets, alpha)
    return found


def _intersect(found: Invariance, scene: "Scene", child: int, sets: list[tuple[int, ...]], alpha: float) -> None:
    """Enter what all invariant sets of a child share."""
    size = len(found.parents)
    inside = np.ones(size, dtype=bool)
    without = np.zeros(size)  # the largest p-value of a set that lacks each variable
    for chosen in sets:
        p = scene.test(child, chosen)
        found.tested[child] += 1
        lacking = ~np.isin(np.arange(size), chosen)
        without[lacking] = np.maximum(without[lacking], p)
        if p > alpha:
            found.accepted[child] += 1
            inside &= ~lacking
            if not inside.any():
                break
    if found.accepted[child]:
        found.parents[child], found.p_values[child] = inside, without


class Look(NamedTuple):
    """The rows by their values of a chosen set, and what these values tell of the environment."""

    cell: NDArray[np.int64]  # [n], counted from 0
    features: Floats  # [cells, columns], one-hot without the first category
    membership: Floats  # [cells, own environment, environments], probabilities


class Scene:
    """The rows that are left for some variables, and the tests of what predicts one of them invariantly."""

    def __init__(
        self,
        rows: NDArray[np.int64],
        environment: NDArray[np.int64],
        cardinalities: tuple[int, ...],
        model: str,
        seed: int,
    ) -> None:
        self.rows, self.cardinalities, self._model, self._seed = rows, cardinalities, MODELS[model], seed
        self.environment = np.unique(environment, return_inverse=True)[1]  # counted from 0
        self._environments = int(self.environment.max()) + 1
        self._looks: dict[tuple[int, ...], Look] = {}  # the same for every child

    def test(self, child: int, chosen: tuple[int, ...]) -> float:
        """The p-value of "given the chosen variables, the child does not depend on the environment"."""
        if self._environments == 1:
            return 1.0  # nothing to compare
        look, size = self._look(chosen), self.cardinalities[child]
        predicted = self._predicted(look.cell, look.features, self.rows[:, child], size)
        code = (look.cell * size + self.rows[:, child]) * self._environments + self.environment
        kinds, counts = np.unique(code, return_counts=True)  # rows that are alike in all three
        cell, outcome, here = np.unravel_index(kinds, (len(look.features), size, self._environments))
        expected = predicted[cell, outcome]  # [kinds, classes]
        members = np.eye(self._environments)[here]  # [kinds, environments]
        p = _no_covariance(
            np.eye(size)[outcome] - expected,
            members - look.membership[cell, here],
            (members * counts[:, None]).T @ expected,
            counts,
        )
        return min(1.0, len(p) * float(p.min()))

    def _look(self, chosen: tuple[int, ...]) -> Look:
        if chosen not in self._looks:
            values, cell = np.unique(self.rows[:, chosen], axis=0, return_inverse=True)
            columns = [np.eye(self.cardinalities[j])[values[:, k], 1:] for k, j in enumerate(chosen)]
            features = np.concatenate([np.zeros((len(values), 0)), *columns], axis=1)
            membership = self._predicted(cell, features, self.environment, self._environments)
            self._looks[chosen] = Look(cell, features, membership)
        return self._looks[chosen]

    def _predicted(self, cell: NDArray[np.int64], features: Floats, outcome: NDArray[np.int64], size: int) -> Floats:
        """Probabilities ``[cells, own class, classes]`` of the outcome by the cell of a row."""
        counts = np.bincount(cell * size + outcome, minlength=len(features) * size).reshape(-1, size)
        if len(features) == 1 or (counts.sum(axis=0) > 0).sum() == 1:
            return np.broadcast_to(counts.sum(axis=0) / len(cell), (len(features), size, size))
        with THREADS.limit(limits=1):
            return self._model(features, counts, self._seed)


def _no_covariance(residuals: Floats, centred: Floats, expected: Floats, counts: Counts) -> Floats:
    """Chi-square p-values ``[environments]`` that residuals ``[kinds, classes]`` have mean 0 in each environment
    ``[kinds, environments]``, given predictors, for so many rows of each kind.

    Residuals of a row add up to 0, so the most common class is told by the others; classes that are too rare in the
    environment (`expected` rows of each, ``[environments, classes]``) say nothing.
    """
    use = (expected >= FEWEST) & (expected.sum(axis=1, keepdims=True) - expected >= FEWEST)
    use[np.arange(len(use)), expected.argmax(axis=1)] = False
    total = (counts[:, None] * centred).T @ residuals * use  # [environments, classes]
    products = (residuals[:, :, None] * residuals[:, None, :]).reshape(len(residuals), -1)
    spread = ((counts[:, None] * centred**2).T @ products).reshape(*use.shape, -1)
    spread = spread * use[:, :, None] * use[:, None, :]  # what is not used is 0, and so it is in the inverse
    rank = np.linalg.matrix_rank(spread, hermitian=True)
    statistic = np.einsum("ei,eij,ej->e", total, np.linalg.pinv(spread, hermitian=True), total)
    return np.where(rank > 0, chi2.sf(statistic, np.maximum(rank, 1)), 1.0)


def candidates(scene: Scene, child: int, limit: int) -> list[int]:
    """The variables that share most information with the child, all of them where there are few."""
    shared = {}
    for other in range(len(scene.cardinalities)):
        if other != child:
            code = scene.rows[:, other] * scene.cardinalities[child] + scene.rows[:, child]
            joint = np.bincount(code, minlength=scene.cardinalities[other] * scene.cardinalities[child])
            joint = joint.reshape(scene.cardinalities[other], -1) / len(code)
            apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            shared[other] = float((joint[joint > 0] * np.log(joint[joint > 0] / apart[joint > 0])).sum())
    return sorted(sorted(shared, key=lambda other: -shared[other])[:limit])
