"""Nonlinear invariant causal prediction: the parents of a variable are in every set that predicts it invariantly.

Source: Heinze-Deml, Peters & Meinshausen (2018), "Invariant causal prediction for nonlinear models". For each variable
Y and each set S of at most `max_size` others: does Y depend on the environment once X_S is known? The intersection
of all sets for which that is not rejected at level `alpha` holds only parents of Y, with probability 1 - alpha.

Categories are nominal: one-hot inputs of a scikit-learn classifier, class probabilities out (random forest, the
paper's choice, or multinomial logistic regression with pairwise interactions). The paper compares residuals between
environments; here a residual is "was this the class" minus its probability (of a forest: by the trees that did not
see the row), so the comparison is of observed with predicted class counts, one environment against the others. What
an environment's rows look like in X_S is predicted and subtracted too (the generalised covariance of Shah & Peters,
2020): an error of the model then does not pass for a change of mechanism. Chi-square for the classes of Y, Bonferroni
over environments. A change that cancels in the mean over X_S is missed, which can only make the answer smaller.

An environment that touches Y itself breaks the assumption. With `targets` given those environments are left out for
Y, as the paper requires. Unknown, they stay in; where each variable was touched somewhere, no set is invariant and
the answer is empty. It is also empty where Y has more than `max_size` parents.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures
from threadpoolctl import ThreadpoolController

from experiments.methods.bdeu import Targets, known_targets, stacked
from sdi import Dataset

Floats = NDArray[np.float64]
FEWEST = 5.0  # rows of a class that an environment must be expected to have for chi-square to hold
THREADS = ThreadpoolController()  # the matrices are so small that more than one thread only waits
TREES = 50  # so many that each row is out of some tree's bag


def forest(features: Floats, outcome: NDArray[np.int64], seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Out-of-bag probabilities ``[n, classes]`` and the classes: a row does not vote on itself."""
    model = RandomForestClassifier(TREES, min_samples_leaf=5, max_features=None, oob_score=True, random_state=seed)
    model.fit(features, outcome)
    return model.oob_decision_function_, model.classes_


def logistic(features: Floats, outcome: NDArray[np.int64], seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Probabilities ``[n, classes]`` of a regression with pairwise interactions, and the classes; few parameters, so
    in-sample as in a score test. Rows that look alike are one row with a weight."""
    kinds, kind = np.unique(np.column_stack([features, outcome]), axis=0, return_inverse=True)
    crossed = PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(kinds[:, :-1])
    model = LogisticRegression(C=100.0, max_iter=2000)
    model.fit(crossed, kinds[:, -1].astype(np.int64), sample_weight=np.bincount(kind))
    return model.predict_proba(crossed)[kind], model.classes_


MODELS: dict[str, Callable[[Floats, NDArray[np.int64], int], tuple[Floats, NDArray[np.int64]]]] = {
    "forest": forest,
    "logistic": logistic,
}


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
    touched = None if targets is None else known_targets(dataset, targets)
    size = len(dataset.names)
    parents, p_values = np.zeros((size, size), dtype=bool), np.ones((size, size))
    accepted, tested = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for child in range(size):
        out = [e + 1 for e, target in enumerate(touched or ()) if child in target]
        stay = ~np.isin(environment, out)
        scene = Scene(rows[stay], environment[stay], dataset.cardinalities, model, seed)
        inside = np.ones(size, dtype=bool)
        without = np.zeros(size)  # the largest p-value of a set that lacks each variable
        for chosen in _sets(candidates(scene, child, max_candidates), max_size):
            p = scene.test(child, chosen)
            tested[child] += 1
            lacking = ~np.isin(np.arange(size), chosen)
            without[lacking] = np.maximum(without[lacking], p)
            if p > alpha:
                accepted[child] += 1
                inside &= ~lacking
                if not inside.any():
                    break
        if accepted[child]:
            parents[child], p_values[child] = inside, without
    return Invariance(parents, p_values, accepted, tested)


def _sets(members: list[int], largest: int) -> Iterator[tuple[int, ...]]:
    for size in range(min(largest, len(members)) + 1):
        yield from combinations(members, size)


class Scene:
    """The rows that are left for one variable, and the tests of what predicts it invariantly."""

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
        self._environments = _one_hot(self.environment, int(self.environment.max()) + 1)

    def test(self, child: int, chosen: tuple[int, ...]) -> float:
        """The p-value of "given the chosen variables, the child does not depend on the environment"."""
        if self._environments.shape[1] == 1:
            return 1.0  # nothing to compare
        classes = _one_hot(self.rows[:, child], self.cardinalities[child])
        expected = self._predicted(chosen, self.rows[:, child], classes.shape[1])  # [n, classes]
        membership = self._predicted(chosen, self.environment, self._environments.shape[1])  # [n, environments]
        p = [
            _no_covariance(classes - expected, here - there, here @ expected)
            for here, there in zip(self._environments.T, membership.T, strict=True)
        ]
        return min(1.0, len(p) * min(p))

    def _predicted(self, chosen: tuple[int, ...], outcome: NDArray[np.int64], size: int) -> Floats:
        """Probabilities ``[n, size]`` of the outcome given the chosen variables."""
        result = np.zeros((len(outcome), size))
        if not chosen or len(np.unique(outcome)) == 1:
            result[:] = np.bincount(outcome, minlength=size) / len(outcome)
            return result
        features = [_one_hot(self.rows[:, j], self.cardinalities[j])[:, 1:] for j in chosen]
        with THREADS.limit(limits=1):
            probabilities, classes = self._model(np.concatenate(features, axis=1), outcome, self._seed)
        result[:, classes] = probabilities
        return result


def _one_hot(codes: NDArray[np.int64], size: int) -> Floats:
    return np.eye(size)[codes]


def _no_covariance(residuals: Floats, centred: Floats, expected: Floats) -> float:
    """Chi-square p-value that residuals ``[n, classes]`` have mean 0 in an environment ``[n]``, given predictors.

    Residuals of a row add up to 0, so the most common class is told by the others; classes that are too rare in the
    environment (`expected` rows of each, ``[classes]``) say nothing.
    """
    use = (expected >= FEWEST) & (expected.sum() - expected >= FEWEST)
    use[expected.argmax()] = False
    products = residuals[:, use] * centred[:, None]  # [n, classes used]
    spread = products.T @ products
    rank = int(np.linalg.matrix_rank(spread, hermitian=True)) if use.any() else 0
    if rank == 0:
        return 1.0
    total = products.sum(axis=0)
    return float(chi2.sf(total @ np.linalg.pinv(spread, hermitian=True) @ total, rank))


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
