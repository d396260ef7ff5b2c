"""How far a learned graph is from the truth.

Graphs are `parents[child, parent]` (bool) and beliefs `probabilities[child, parent]` in [0, 1], both [M, M] over
the same M variables in the same order; the diagonal is always ignored. A measure that is not defined for its
input is nan, never a warning.

Where a ratio would be 0/0 there was nothing to get wrong, so `precision` without predicted edges, `recall` without
true edges and `f1` without either are 1.0 (scikit-learn's `zero_division=1.0`). A prediction that leaves out
every true edge still has recall 0 and f1 0.
"""

import math
from collections.abc import Sequence

import gadjid
import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

CERTAINTY_LIMIT = 1e-7  # keeps the cross entropy of a certain but wrong belief finite (about 16 nats)


def shd(parents: ArrayLike, truth: ArrayLike) -> int:
    """Structural Hamming distance: unordered pairs that differ; a reversed edge counts 1."""
    different = np.logical_xor(*_two_graphs(parents, truth))
    return int(np.triu(different | different.T).sum())


def hamming(parents: ArrayLike, truth: ArrayLike) -> int:
    """The paper's distance: false positives plus false negatives over ordered pairs; a reversed edge counts 2."""
    return int(np.logical_xor(*_two_graphs(parents, truth)).sum())


def precision(parents: ArrayLike, truth: ArrayLike) -> float:
    """Share of the predicted directed edges that are true; 1.0 where none is predicted."""
    learned, true = _two_graphs(parents, truth)
    return _share(int((learned & true).sum()), int(learned.sum()))


def recall(parents: ArrayLike, truth: ArrayLike) -> float:
    """Share of the true directed edges that are predicted; 1.0 where none is true."""
    learned, true = _two_graphs(parents, truth)
    return _share(int((learned & true).sum()), int(true.sum()))


def f1(parents: ArrayLike, truth: ArrayLike) -> float:
    """Harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN); 1.0 where both graphs are empty."""
    learned, true = _two_graphs(parents, truth)
    return _share(2 * int((learned & true).sum()), int(learned.sum()) + int(true.sum()))


def auroc(probabilities: ArrayLike, truth: ArrayLike) -> float:
    """Probability that a true edge ranks above a false one; nan where the truth has no edge or every edge."""
    scores, labels = _ordered_pairs(probabilities, truth)
    return float(roc_auc_score(labels, scores)) if labels.any() and not labels.all() else math.nan


def auprc(probabilities: ArrayLike, truth: ArrayLike) -> float:
    """Average precision of the ranked edges; nan where the truth has no edge or every edge."""
    scores, labels = _ordered_pairs(probabilities, truth)
    return float(average_precision_score(labels, scores)) if labels.any() and not labels.all() else math.nan


def edge_cross_entropy(probabilities: ArrayLike, truth: ArrayLike) -> float:
    """Mean binary cross entropy, in nats, over all ordered pairs; nan where there is no pair."""
    scores, labels = _ordered_pairs(probabilities, truth)
    if not labels.size:
        return math.nan
    clipped = np.clip(scores, CERTAINTY_LIMIT, 1 - CERTAINTY_LIMIT)
    return float(-np.log(np.where(labels, clipped, 1 - clipped)).mean())


def sid(parents: ArrayLike, truth: ArrayLike) -> int:
    """Structural intervention distance: ordered pairs (i, j) for which p(j | do(i)) comes out wrong in the truth
    when it is computed by adjusting for i's parents in the learned graph (Peters & Bühlmann, 2015).

    It is not symmetric: edges too many cost nothing as long as they agree with the causal order.
    """
    learned, true = _two_graphs(parents, truth)
    # Checked here because gadjid answers a cycle with a panic, which `except Exception` does not catch.
    for name, graph in (("learned graph", learned), ("truth", true)):
        if not _acyclic(graph):
            raise ValueError(f"SID needs a DAG, but the {name} has a directed cycle; take a DAG out of it first")
    if len(true) < 2:
        return 0  # no ordered pair; gadjid refuses such graphs
    _, mistakes = gadjid.sid(true.astype(np.int8), learned.astype(np.int8), edge_direction="from column to row")
    return int(mistakes)


def target_accuracy(predicted: Sequence[tuple[int, ...]], true: Sequence[tuple[int, ...]]) -> float:
    """Share of environments whose predicted set of touched variables is exactly the true one; nan without any.

    The empty tuple says that nothing was touched.
    """
    if len(predicted) != len(true):
        raise ValueError(
            f"expected predicted targets for each of the {len(true)} environments with true targets, "
            f"got {len(predicted)}; give one tuple per environment, () where nothing was touched"
        )
    right = sum(set(guess) == set(answer) for guess, answer in zip(predicted, true, strict=True))
    return right / len(true) if true else math.nan


def evaluate(
    probabilities: ArrayLike,
    truth: ArrayLike,
    *,
    threshold: float = 0.5,
    predicted_targets: Sequence[tuple[int, ...]] | None = None,
    true_targets: Sequence[tuple[int, ...]] | None = None,
) -> dict[str, float | int | None]:
    """Every measure of this module by its name; an edge is present where its probability exceeds `threshold`.

    `sid`, `auroc`, `auprc` and `edge_cross_entropy` are nan where they are not defined; `target_accuracy` is
    None unless both kinds of targets are given.
    """
    beliefs = _beliefs(probabilities)
    parents = beliefs > threshold
    true = _graph(truth, "truth")
    _same_shape(parents, true)
    return {
        "shd": shd(parents, true),
        "hamming": hamming(parents, true),
        "precision": precision(parents, true),
        "recall": recall(parents, true),
        "f1": f1(parents, true),
        "auroc": auroc(beliefs, true),
        "auprc": auprc(beliefs, true),
        "edge_cross_entropy": edge_cross_entropy(beliefs, true),
        "sid": sid(parents, true) if _acyclic(_graph(parents, "parents")) and _acyclic(true) else math.nan,
        "target_accuracy": None
        if predicted_targets is None or true_targets is None
        else target_accuracy(predicted_targets, true_targets),
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _acyclic(parents: NDArray[np.bool_]) -> bool:
    # Turning every edge round makes and breaks no cycle, so the orientation does not matter here.
    return bool(nx.is_directed_acyclic_graph(nx.from_numpy_array(parents, create_using=nx.DiGraph)))


def _ordered_pairs(probabilities: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Beliefs and labels of all ordered pairs of different variables, each [M (M - 1)]."""
    beliefs, true = _beliefs(probabilities), _graph(truth, "truth")
    _same_shape(beliefs, true)
    off_diagonal = ~np.eye(len(true), dtype=np.bool_)
    return beliefs[off_diagonal], true[off_diagonal]


def _two_graphs(parents: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    learned, true = _graph(parents, "parents"), _graph(truth, "truth")
    _same_shape(learned, true)
    return learned, true


def _graph(matrix: ArrayLike, name: str) -> NDArray[np.bool_]:
    """A copy as bool, with an empty diagonal."""
    square = _square(matrix, name)
    if not np.isin(square, (0, 1)).all():
        raise ValueError(
            f"expected {name}[child, parent] to hold only True and False, got other values; "
            "compare probabilities with a threshold first"
        )
    return square.astype(np.bool_)


def _beliefs(matrix: ArrayLike) -> NDArray[np.float64]:
    """A copy as float, with an empty diagonal."""
    square = _square(matrix, "probabilities").astype(np.float64)
    wrong = ~((square >= 0) & (square <= 1))  # nan fails both comparisons
    if wrong.any():
        child, parent = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            "expected probabilities[child, parent] from 0 to 1, "
            f"got {float(square[child, parent])} at [{child}, {parent}]; turn logits into probabilities first"
        )
    return square


def _square(matrix: ArrayLike, name: str) -> NDArray[np.generic]:
    array = np.array(matrix)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(
            f"expected {name} as a square matrix [child, parent], got shape {array.shape}; "
            "give one row and one column per variable"
        )
    np.fill_diagonal(array, 0)
    return array


def _same_shape(learned: NDArray[np.generic], truth: NDArray[np.generic]) -> None:
    if learned.shape != truth.shape:
        raise ValueError(
            f"expected both graphs over the same variables, got {len(learned)} learned and {len(truth)} true ones; "
            "align them first"
        )
