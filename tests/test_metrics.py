"""Measures against scikit-learn, pgmpy, d-separation, linear regression and counting by hand."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.base import DAG
from pgmpy.metrics import SHD
from sklearn import metrics as oracle

from sdi import metrics

CHAIN = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)  # 0 -> 1 -> 2
FULL = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)  # the chain and 0 -> 2
EMPTY = np.zeros((3, 3), dtype=bool)
LOOP = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]], dtype=bool)  # 0 -> 1 -> 2 -> 0
ALL_PAIRS = ~np.eye(3, dtype=bool)


def as_digraph(parents):
    return nx.from_numpy_array(np.asarray(parents).T, create_using=nx.DiGraph)


def all_dags(size):
    pairs = list(itertools.permutations(range(size), 2))
    for bits in itertools.product([False, True], repeat=len(pairs)):
        parents = np.zeros((size, size), dtype=bool)
        for (child, parent), bit in zip(pairs, bits, strict=True):
            parents[child, parent] = bit
        if nx.is_directed_acyclic_graph(as_digraph(parents)):
            yield parents


DAGS = list(all_dags(3))


@st.composite
def comparisons(draw):
    """Beliefs on a coarse grid (so that ties occur) and a graph, both of the same size."""
    m = draw(st.integers(2, 5))
    beliefs = draw(st.lists(st.integers(0, 8), min_size=m * m, max_size=m * m))
    truth = draw(st.lists(st.booleans(), min_size=m * m, max_size=m * m))
    return np.reshape(beliefs, (m, m)) / 8, np.reshape(truth, (m, m))


@st.composite
def dags(draw, m):
    order = draw(st.permutations(range(m)))
    bits = draw(st.lists(st.booleans(), min_size=m * m, max_size=m * m))
    lower = np.tril(np.reshape(bits, (m, m)), k=-1)
    return lower[np.ix_(order, order)]


def off_diagonal(matrix):
    return np.array([matrix[i, j] for i, j in itertools.permutations(range(len(matrix)), 2)])


# SHD and Hamming distance


@pytest.mark.parametrize(
    ("parents", "shd", "hamming"),
    [
        pytest.param(CHAIN, 0, 0, id="the truth itself"),
        pytest.param(EMPTY, 2, 2, id="two edges missing"),
        pytest.param(FULL, 1, 1, id="one edge too many"),
        pytest.param(CHAIN.T, 2, 4, id="two edges reversed"),
        pytest.param(ALL_PAIRS, 3, 4, id="every edge both ways"),
    ],
)
def test_a_reversed_edge_counts_once_in_shd_and_twice_in_hamming(parents, shd, hamming):
    assert metrics.shd(parents, CHAIN) == shd
    assert metrics.hamming(parents, CHAIN) == hamming


def test_shd_and_hamming_agree_with_pgmpy_on_every_pair_of_three_variable_dags():
    def graph(parents):
        dag = DAG()
        dag.add_nodes_from(range(3))
        dag.add_edges_from((parent, child) for child, parent in np.argwhere(parents).tolist())
        return dag

    graphs = [graph(parents) for parents in DAGS]
    for (learned, a), (truth, b) in itertools.product(zip(DAGS, graphs, strict=True), repeat=2):
        assert metrics.shd(learned, truth) == SHD()(true_causal_graph=b, est_causal_graph=a)
        assert metrics.hamming(learned, truth) == SHD(edge_reverse_penalty=2)(true_causal_graph=b, est_causal_graph=a)


# Edges, found and ranked


@given(comparisons())
@settings(deadline=None)
def test_edge_scores_agree_with_scikit_learn(comparison):
    beliefs, truth = comparison
    parents = beliefs > 0.5
    labels, predicted, scores = off_diagonal(truth), off_diagonal(parents), off_diagonal(beliefs)
    kwargs = {"zero_division": 1.0}
    assert metrics.precision(parents, truth) == oracle.precision_score(labels, predicted, **kwargs)
    assert metrics.recall(parents, truth) == oracle.recall_score(labels, predicted, **kwargs)
    assert metrics.f1(parents, truth) == pytest.approx(oracle.f1_score(labels, predicted, **kwargs))
    clipped = np.clip(scores, 1e-7, 1 - 1e-7)
    expected = oracle.log_loss(labels, clipped, labels=[False, True])
    assert metrics.edge_cross_entropy(beliefs, truth) == pytest.approx(expected)


@given(comparisons())
@settings(deadline=None)
def test_auroc_is_the_share_of_true_edges_ranked_above_false_ones(comparison):
    beliefs, truth = comparison
    labels, scores = off_diagonal(truth), off_diagonal(beliefs)
    wins = [
        (a > b) + 0.5 * (a == b)
        for (a, x), (b, y) in itertools.product(zip(scores, labels, strict=True), repeat=2)
        if x and not y
    ]
    expected = np.mean(wins) if wins else math.nan
    assert metrics.auroc(beliefs, truth) == pytest.approx(expected, nan_ok=True)


@given(comparisons())
@settings(deadline=None)
def test_auprc_adds_up_precision_times_gained_recall(comparison):
    beliefs, truth = comparison
    labels, scores = off_diagonal(truth), off_diagonal(beliefs)
    expected, before = 0.0, 0.0
    for level in sorted(set(scores), reverse=True):
        chosen = scores >= level
        recall = (chosen & labels).sum() / max(labels.sum(), 1)
        expected += (recall - before) * (chosen & labels).sum() / chosen.sum()
        before = recall
    if labels.all() or not labels.any():
        expected = math.nan
    assert metrics.auprc(beliefs, truth) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("truth", [EMPTY, ALL_PAIRS], ids=["no edge", "every edge"])
@pytest.mark.parametrize("measure", [metrics.auroc, metrics.auprc])
def test_ranking_is_undefined_when_there_is_nothing_to_tell_apart(measure, truth):
    assert math.isnan(measure(np.full((3, 3), 0.5), truth))


@pytest.mark.parametrize(
    ("parents", "truth", "expected"),
    [
        pytest.param(EMPTY, EMPTY, (1.0, 1.0, 1.0), id="rightly empty"),
        pytest.param(EMPTY, CHAIN, (1.0, 0.0, 0.0), id="wrongly empty"),
        pytest.param(CHAIN, EMPTY, (0.0, 1.0, 0.0), id="all edges false"),
    ],
)
def test_empty_graphs_have_scores_without_nan(parents, truth, expected):
    scores = metrics.precision(parents, truth), metrics.recall(parents, truth), metrics.f1(parents, truth)
    assert scores == expected


def test_a_coin_flip_for_every_edge_costs_one_bit():
    assert metrics.edge_cross_entropy(np.full((3, 3), 0.5), CHAIN) == pytest.approx(math.log(2))


def test_certainty_about_a_falsehood_costs_a_finite_amount():
    assert metrics.edge_cross_entropy(ALL_PAIRS, EMPTY) == pytest.approx(7 * math.log(10))


# SID


def test_sid_of_hand_worked_examples_is_not_symmetric():
    # The chain adjusts 2 for 1 alone, which leaves 0 and 2 dependent through 0 -> 2: it gets 2 on 0 wrong.
    assert metrics.sid(CHAIN, truth=FULL) == 1
    # Every adjustment that the fuller graph asks for is also right for the chain.
    assert metrics.sid(FULL, truth=CHAIN) == 0
    # Two variables: a missed edge hides no effect of the cause, but invents one of the effect.
    edge, none = CHAIN[:2, :2], EMPTY[:2, :2]
    assert metrics.sid(none, truth=edge) == 1
    assert metrics.sid(edge, truth=none) == 0
    assert metrics.sid(edge.T, truth=edge) == 2


def sid_by_d_separation(parents, truth):
    """Count pairs (i, j) for which i's learned parents are no valid adjustment set in the true graph."""
    graph, mistakes = as_digraph(truth), 0
    for i, j in itertools.permutations(graph, 2):
        adjustment = set(np.flatnonzero(parents[i]).tolist())
        if j in adjustment:  # the learned graph says that i has no effect on j
            mistakes += j in nx.descendants(graph, i)
            continue
        on_causal_path = nx.descendants(graph, i) & (nx.ancestors(graph, j) | {j})
        forbidden = on_causal_path.union(*(nx.descendants(graph, node) for node in on_causal_path))
        back_door = graph.copy()
        back_door.remove_edges_from([(i, node) for node in on_causal_path])
        valid = not adjustment & forbidden and nx.is_d_separator(back_door, {i}, {j}, adjustment)
        mistakes += not valid
    return mistakes


def test_sid_agrees_with_d_separation_on_every_pair_of_three_variable_dags():
    assert len(DAGS) == 25
    for learned, truth in itertools.product(DAGS, repeat=2):
        assert metrics.sid(learned, truth) == sid_by_d_separation(learned, truth), (learned, truth)


def sid_by_regression(parents, truth):
    """Count pairs whose regression coefficient differs from the total effect in a generic linear model."""
    m = len(truth)
    weights = np.where(truth, np.random.default_rng(0).uniform(0.5, 1.5, size=(m, m)), 0)
    effects = np.linalg.inv(np.eye(m) - weights)  # [variable, cause]: x = weights x + noise
    covariance = effects @ effects.T
    mistakes = 0
    for i, j in itertools.permutations(range(m), 2):
        regressors = [i, *np.flatnonzero(parents[i])]
        slope = np.linalg.solve(covariance[np.ix_(regressors, regressors)], covariance[regressors, j])[0]
        claimed = 0.0 if parents[i, j] else slope
        mistakes += abs(claimed - effects[j, i]) > 1e-8
    return mistakes


@given(st.integers(2, 6).flatmap(lambda m: st.tuples(dags(m), dags(m))))
@settings(deadline=None)
def test_sid_counts_the_wrong_regression_coefficients_of_a_linear_model(pair):
    learned, truth = pair
    assert metrics.sid(learned, truth) == sid_by_regression(learned, truth)


@pytest.mark.parametrize("size", [0, 1])
def test_without_pairs_there_is_no_distance(size):
    nothing = np.zeros((size, size))
    values = metrics.evaluate(nothing, nothing)
    assert (values["shd"], values["hamming"], values["sid"], values["f1"]) == (0, 0, 0, 1.0)
    assert math.isnan(values["edge_cross_entropy"])


# Targets


@pytest.mark.parametrize(
    ("predicted", "true", "expected"),
    [
        pytest.param([(0,), (), (1, 2)], [(0,), (), (2, 1)], 1.0, id="sets, in any order"),
        pytest.param([(0,), (1,), (1,), ()], [(0,), (), (1, 2), (3,)], 0.25, id="too many, too few, none"),
    ],
)
def test_target_accuracy_asks_for_exactly_the_true_set(predicted, true, expected):
    assert metrics.target_accuracy(predicted, true) == expected


def test_target_accuracy_without_environments_is_undefined():
    assert math.isnan(metrics.target_accuracy([], []))


# All together


def test_evaluate_reports_every_measure_by_its_name():
    beliefs = np.where(CHAIN, 0.9, 0.1)
    values = metrics.evaluate(beliefs, CHAIN, predicted_targets=[(0,), ()], true_targets=[(0,), (1,)])
    assert values == {
        "shd": 0,
        "hamming": 0,
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "auroc": 1.0,
        "auprc": 1.0,
        "edge_cross_entropy": pytest.approx(-math.log(0.9)),
        "sid": 0,
        "target_accuracy": 0.5,
    }


def test_an_edge_is_present_only_above_the_threshold():
    beliefs = np.where(CHAIN, 0.5, 0.2)
    assert metrics.evaluate(beliefs, CHAIN)["shd"] == 2
    assert metrics.evaluate(beliefs, CHAIN, threshold=0.49)["shd"] == 0
    assert metrics.evaluate(beliefs, CHAIN, threshold=0.1)["hamming"] == 4


@pytest.mark.parametrize(("learned", "truth"), [(LOOP, CHAIN), (CHAIN, LOOP), (ALL_PAIRS, CHAIN)])
def test_a_cyclic_graph_has_every_measure_but_sid(learned, truth):
    values = metrics.evaluate(learned, truth)
    assert math.isnan(values["sid"])
    assert values["shd"] > 0


@pytest.mark.parametrize(
    "targets",
    [{}, {"predicted_targets": [()]}, {"true_targets": [()]}],
    ids=["none", "predicted alone", "true alone"],
)
def test_target_accuracy_is_none_unless_both_targets_are_given(targets):
    assert metrics.evaluate(CHAIN, CHAIN, **targets)["target_accuracy"] is None


@given(comparisons(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_relabelling_the_variables_changes_nothing(comparison, random):
    beliefs, truth = comparison
    order = list(range(len(truth)))
    random.shuffle(order)
    again = np.ix_(order, order)
    values, relabelled = metrics.evaluate(beliefs, truth), metrics.evaluate(beliefs[again], truth[again])
    assert relabelled == pytest.approx(values, nan_ok=True)


@given(st.integers(2, 5).flatmap(lambda m: st.tuples(dags(m), dags(m), st.permutations(range(m)))))
@settings(deadline=None)
def test_relabelling_dags_leaves_sid_as_it_was(case):
    learned, truth, order = case
    again = np.ix_(order, order)
    assert metrics.sid(learned[again], truth[again]) == metrics.sid(learned, truth)


@given(comparisons())
@settings(deadline=None)
def test_the_diagonal_is_ignored_and_the_input_left_alone(comparison):
    beliefs, truth = comparison
    clean, dirty = beliefs.copy(), beliefs.copy()
    np.fill_diagonal(clean, 0)
    np.fill_diagonal(dirty, np.nan)
    cut, looped = truth.copy(), truth.copy()
    np.fill_diagonal(cut, False)
    np.fill_diagonal(looped, True)
    dirtied = dirty.copy()
    assert metrics.evaluate(dirty, looped) == pytest.approx(metrics.evaluate(clean, cut), nan_ok=True)
    np.testing.assert_array_equal(dirty, dirtied)
    assert looped.diagonal().all()


GRAPH_MEASURES = [metrics.shd, metrics.hamming, metrics.precision, metrics.recall, metrics.f1, metrics.sid]
BELIEF_MEASURES = [metrics.auroc, metrics.auprc, metrics.edge_cross_entropy, metrics.evaluate]


@pytest.mark.parametrize("measure", GRAPH_MEASURES + BELIEF_MEASURES)
@pytest.mark.parametrize(
    ("learned", "truth", "message"),
    [
        pytest.param(np.zeros(3), CHAIN, r"square matrix \[child, parent\], got shape \(3,\)", id="vector"),
        pytest.param(CHAIN, np.zeros((3, 2)), r"truth as a square matrix .* \(3, 2\)", id="oblong"),
        pytest.param(np.zeros((2, 2)), CHAIN, "same variables, got 2 learned and 3 true", id="sizes"),
        pytest.param(CHAIN, CHAIN * 0.3, r"truth\[child, parent\] to hold only True and False", id="weights"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(measure, learned, truth, message):
    with pytest.raises(ValueError, match=message):
        measure(learned, truth)


@pytest.mark.parametrize("measure", GRAPH_MEASURES)
def test_beliefs_are_no_graph(measure):
    with pytest.raises(ValueError, match="compare probabilities with a threshold first"):
        measure(CHAIN * 0.3, CHAIN)


@pytest.mark.parametrize("measure", BELIEF_MEASURES)
@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, np.inf])
def test_beliefs_outside_zero_to_one_are_refused(measure, value):
    beliefs = np.zeros((3, 3))
    beliefs[2, 1] = value
    with pytest.raises(ValueError, match=rf"from 0 to 1, got {value} at \[2, 1\]"):
        measure(beliefs, CHAIN)


@pytest.mark.parametrize(
    ("learned", "truth", "message"),
    [
        pytest.param(LOOP, CHAIN, "SID needs a DAG, but the learned graph has", id="learned"),
        pytest.param(CHAIN, LOOP, "SID needs a DAG, but the truth has", id="truth"),
        pytest.param(ALL_PAIRS, CHAIN, "SID needs a DAG, but the learned graph has", id="both ways"),
    ],
)
def test_sid_refuses_cycles(learned, truth, message):
    with pytest.raises(ValueError, match=message):
        metrics.sid(learned, truth)


def test_targets_of_other_environments_are_refused():
    with pytest.raises(ValueError, match="each of the 2 environments with true targets, got 1"):
        metrics.target_accuracy([(0,)], [(0,), (1,)])
