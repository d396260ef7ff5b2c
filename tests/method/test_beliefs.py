"""Beliefs: what is known beforehand as a clamp, and a DAG out of probabilities."""

import itertools
import re
from typing import Any

import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sdi.method.beliefs import Knowledge, decide, edge_probabilities, is_decided

NAMES = ("smoke", "tar", "cancer", "cough")
OFF_DIAGONAL = ~np.eye(4, dtype=bool)


def pairs(matrix: NDArray[np.bool_]) -> set[tuple[str, str]]:
    """The entries of ``matrix[child, parent]`` as (cause, effect)."""
    return {(NAMES[j], NAMES[i]) for i, j in np.argwhere(matrix)}


# ------------------------------------------------------------------------------------------------ knowledge


def test_without_knowledge_everything_but_the_diagonal_is_open() -> None:
    clamp = Knowledge().clamp(NAMES)
    assert (clamp.open == OFF_DIAGONAL).all()
    assert (clamp.value == 0).all()


def test_required_edge_is_closed_at_one_and_its_reverse_at_zero() -> None:
    clamp = Knowledge(required=[("smoke", "tar")]).clamp(NAMES)
    assert pairs(OFF_DIAGONAL & ~clamp.open) == {("smoke", "tar"), ("tar", "smoke")}
    assert pairs(clamp.value == 1) == {("smoke", "tar")}


def test_forbidden_edge_is_closed_at_zero_and_its_reverse_stays_open() -> None:
    clamp = Knowledge(forbidden=[("cough", "smoke")]).clamp(NAMES)
    assert pairs(OFF_DIAGONAL & ~clamp.open) == {("cough", "smoke")}
    assert (clamp.value == 0).all()


def test_only_leaves_nothing_else_open() -> None:
    clamp = Knowledge(required=[("smoke", "tar")], only=[("tar", "cancer"), ("cancer", "tar")]).clamp(NAMES)
    assert pairs(clamp.open) == {("tar", "cancer"), ("cancer", "tar")}
    assert pairs(clamp.value == 1) == {("smoke", "tar")}


def test_only_with_no_pairs_closes_everything() -> None:
    assert not Knowledge(only=[]).clamp(NAMES).open.any()


def test_what_is_required_or_forbidden_is_not_opened_by_only() -> None:
    known = Knowledge(
        required=[("smoke", "tar")],
        forbidden=[("cough", "cancer")],
        only=[("smoke", "tar"), ("tar", "smoke"), ("cough", "cancer"), ("cancer", "cough")],
    )
    assert pairs(known.clamp(NAMES).open) == {("cancer", "cough")}


def test_pairs_given_by_a_generator_are_known_every_time_they_are_asked_for() -> None:
    known = Knowledge(required=(pair for pair in [("smoke", "tar")]), only=iter([("tar", "cancer")]))
    first, second = known.clamp(NAMES), known.clamp(NAMES)
    assert (first.value == second.value).all()
    assert (first.open == second.open).all()
    assert pairs(second.value == 1) == {("smoke", "tar")}


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"required": [("smoke", "cancr")]}, "unknown variable 'cancr' in the edge smoke -> cancr; did you mean 'canc"),
        ({"forbidden": [("Smoke", "tar")]}, "unknown variable 'Smoke' .* did you mean 'smoke'"),
        ({"only": [("tar", "xyz")]}, "unknown variable 'xyz' in the edge tar -> xyz; found: smoke, tar, cancer, cough"),
        ({"required": [("tar", "tar")]}, "an edge from 'tar' to itself is never open"),
        ({"forbidden": [("tar", "tar")]}, "an edge from 'tar' to itself is never open"),
        (
            {"required": [("smoke", "tar"), ("tar", "cancer")], "forbidden": [("tar", "cancer")]},
            "tar -> cancer is both required and forbidden; drop one",
        ),
        ({"required": [("smoke", "tar"), ("tar", "smoke")]}, "cycle: (smoke -> tar -> smoke|tar -> smoke -> tar);"),
        ({"required": ("smoke", "tar")}, "required holds pairs (cause, effect); got 'smoke'"),
        ({"only": [("smoke", "tar", "cough")]}, "only holds pairs (cause, effect); got ('smoke', 'tar', 'cough')"),
        ({"forbidden": ["ab"]}, "forbidden holds pairs (cause, effect); got 'ab'"),
    ],
)
def test_knowledge_that_cannot_be_is_refused(known: dict[str, Any], message: str) -> None:
    pattern = message if ".*" in message or "|" in message else re.escape(message)
    with pytest.raises(ValueError, match=pattern):
        Knowledge(**known).clamp(NAMES)


def test_cycle_of_required_edges_is_named_edge_by_edge() -> None:
    ring = [("smoke", "tar"), ("tar", "cancer"), ("cancer", "smoke"), ("smoke", "cough")]
    with pytest.raises(ValueError, match="cycle") as raised:
        Knowledge(required=ring).clamp(NAMES)
    named = re.search(r"cycle: ([\w >-]+);", str(raised.value))
    assert named is not None
    path = named[1].split(" -> ")
    assert path[0] == path[-1]
    assert set(itertools.pairwise(path)) == set(ring[:3])


def test_edge_probabilities_are_sigmoids_where_open_and_known_elsewhere() -> None:
    clamp = Knowledge(required=[("smoke", "tar")], forbidden=[("tar", "cough")]).clamp(NAMES)
    gamma = np.random.default_rng(0).normal(0, 3, (4, 4))
    found = np.asarray(edge_probabilities(jnp.asarray(gamma), clamp))
    np.testing.assert_allclose(found[clamp.open], (1 / (1 + np.exp(-gamma)))[clamp.open], rtol=1e-5)
    assert (found[~clamp.open] == clamp.value[~clamp.open]).all()


# --------------------------------------------------------------------------------------------------- decide


def beliefs(**edges: float) -> NDArray[np.float64]:
    """``beliefs(ab=0.9)`` believes a -> b at 0.9 and everything else at 0.1, for a, b, c, d."""
    result = np.full((4, 4), 0.1)
    for (cause, effect), belief in ((tuple("abcd".index(letter) for letter in edge), b) for edge, b in edges.items()):
        result[effect, cause] = belief
    return result


def as_letters(edges: Any) -> set[str]:
    return {"abcd"[j] + "abcd"[i] for i, j in edges}


def test_edges_above_the_threshold_are_the_graph() -> None:
    probabilities = beliefs(ab=0.51, bc=0.99, ad=0.5, cd=0.49)
    assert as_letters(np.argwhere(decide(probabilities).parents)) == {"ab", "bc"}
    assert as_letters(np.argwhere(decide(probabilities, threshold=0.48).parents)) == {"ab", "bc", "ad", "cd"}
    assert decide(probabilities).removed == ()


def test_diagonal_is_never_an_edge() -> None:
    assert not decide(np.eye(4)).parents.any()


@pytest.mark.parametrize(
    ("edges", "gone"),
    [
        ({"ab": 0.9, "ba": 0.6}, {"ba"}),
        ({"ab": 0.6, "ba": 0.9}, {"ab"}),
        ({"ab": 0.9, "bc": 0.7, "ca": 0.8, "cd": 0.51}, {"bc"}),
        ({"ab": 0.9, "bc": 0.9, "cd": 0.9, "da": 0.52, "ca": 0.55}, {"da", "ca"}),
        ({"ab": 0.9, "ba": 0.8, "cd": 0.7, "dc": 0.6}, {"ba", "dc"}),
        ({"ab": 1.0, "bc": 1.0, "ca": 0.99}, {"ca"}),
    ],
)
def test_least_believed_edge_of_a_cycle_goes_and_is_reported(edges: dict[str, float], gone: set[str]) -> None:
    found = decide(beliefs(**edges))
    assert as_letters(found.removed) == gone
    assert as_letters(np.argwhere(found.parents)) == set(edges) - gone


squares = st.integers(2, 6).flatmap(lambda m: arrays(np.float64, (m, m), elements=st.floats(0, 1, width=16)))


@given(probabilities=squares, threshold=st.sampled_from([0.3, 0.5, 0.8]))
def test_graph_is_acyclic_and_made_of_what_was_believed(probabilities: NDArray[np.float64], threshold: float) -> None:
    before = probabilities.copy()
    parents, removed = decide(probabilities, threshold)
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array(parents.T, create_using=nx.DiGraph))
    believed = (probabilities > threshold) & ~np.eye(len(probabilities), dtype=bool)
    assert not (parents & ~believed).any()
    taken_out = np.zeros_like(parents)
    taken_out[tuple(np.array(removed, int).reshape(-1, 2).T)] = True
    assert (parents | taken_out == believed).all()
    assert taken_out.sum() == len(removed)
    assert (probabilities == before).all()


@given(probabilities=squares)
def test_acyclic_beliefs_are_left_as_they_are(probabilities: NDArray[np.float64]) -> None:
    acyclic = np.tril(probabilities, k=-1)
    found = decide(acyclic)
    assert (found.parents == (acyclic > 0.5)).all()
    assert found.removed == ()


def test_belief_is_decided_within_the_margin_or_when_known() -> None:
    clamp = Knowledge(forbidden=[("smoke", "tar")], required=[("tar", "cancer")]).clamp(NAMES)
    probabilities = np.full((4, 4), 0.5)
    probabilities[0] = (0.5, 0.04, 0.06, 0.96)
    expected = ~clamp.open
    expected[0] = (True, True, False, True)
    assert (is_decided(probabilities, clamp, 0.05) == expected).all()
    assert is_decided(probabilities, clamp, 0.07)[0].all()
    assert is_decided(np.zeros((4, 4)), clamp, 0.05).all()
