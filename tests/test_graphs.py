"""Graphs: families against edges written out by hand or by another library, the grammar, and every error."""

import math
import re

import networkx as nx
import numpy as np
import pytest

from sdi.graphs import (
    FAMILIES,
    BoolMatrix,
    Graph,
    causal_order,
    check_dag,
    descendants,
    find_cycle,
    graph,
    is_graph_name,
    random_dag,
    scale_free_dag,
    three_variable_dags,
    variable_names,
)


def edges(shape: Graph) -> set[str]:
    """The edges as text, "AB" for A -> B."""
    return {shape.names[j] + shape.names[i] for i, j in np.argwhere(shape.parents)}


def words(text: str) -> set[str]:
    return set(text.split())


def digraph(parents: BoolMatrix) -> nx.DiGraph:
    return nx.from_numpy_array(parents.T, create_using=nx.DiGraph)


# ------------------------------------------------------------------------------------------------ families


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chain3", "AB BC"),
        ("chain5", "AB BC CD DE"),
        ("collider3", "AC BC"),
        ("collider5", "AE BE CE DE"),
        ("tree3", "AB AC"),
        ("tree6", "AB AC BD BE CF"),
        ("bidiag3", "AB BC AC"),
        ("bidiag5", "AB BC CD DE AC BD CE"),
        ("jungle3", "AB AC"),
        ("jungle7", "AB AC BD BE CF CG AD AE AF AG"),
        ("jungle8", "AB AC BD BE CF CG AD AE AF AG DH BH"),
        ("full3", "AB AC BC"),
        ("full4", "AB AC AD BC BD CD"),
        ("fork3", "AB AC"),
        ("confounder3", "AB AC BC"),
    ],
)
def test_family_has_the_edges_written_out_here(name: str, expected: str) -> None:
    assert edges(graph(name)) == words(expected)


@pytest.mark.parametrize("size", [3, 4, 8, 13, 26, 27, 60])
@pytest.mark.parametrize("family", FAMILIES)
def test_family_is_a_dag_of_its_size(family: str, size: int) -> None:
    shape = graph(f"{family}{size}")
    assert shape.parents.shape == (size, size)
    assert shape.parents.dtype == bool
    assert nx.is_directed_acyclic_graph(digraph(shape.parents))
    assert len(set(shape.names)) == len(shape.names) == size


@pytest.mark.parametrize("size", [3, 8, 13, 31])
def test_number_of_edges_of_each_family(size: int) -> None:
    counts = {family: int(graph(f"{family}{size}").parents.sum()) for family in FAMILIES}
    assert counts == {
        "chain": size - 1,
        "collider": size - 1,
        "tree": size - 1,
        "bidiag": 2 * size - 3,
        "jungle": 2 * size - 4,  # the root has no parent; it and its two children have no grandparent
        "full": size * (size - 1) // 2,
    }


@pytest.mark.parametrize("height", [2, 3, 4])
def test_tree_is_the_balanced_binary_tree_of_another_library(height: int) -> None:
    oracle = nx.balanced_tree(2, height, create_using=nx.DiGraph)
    assert set(digraph(graph(f"tree{len(oracle)}").parents).edges) == set(oracle.edges)


@pytest.mark.parametrize("size", [3, 8, 13, 40])
def test_jungle_joins_every_node_to_its_parent_and_grandparent(size: int) -> None:
    parent = graph(f"tree{size}").parents.astype(int)
    assert (graph(f"jungle{size}").parents == (parent + parent @ parent > 0)).all()


def test_there_are_25_different_dags_on_three_variables() -> None:
    dags = three_variable_dags()
    assert len(dags) == len({parents.tobytes() for parents in dags}) == 25
    assert all(nx.is_directed_acyclic_graph(digraph(parents)) for parents in dags)


def test_every_three_variable_dag_has_a_name() -> None:
    assert [graph(f"dag3:{k}").parents.tolist() for k in range(25)] == [p.tolist() for p in three_variable_dags()]


def test_names_are_letters_up_to_26_variables_and_numbered_beyond() -> None:
    assert variable_names(26)[-1] == "Z"
    assert variable_names(27)[:2] == ("X1", "X2")


# ------------------------------------------------------------------------------------------- random graphs


@pytest.mark.parametrize(("size", "expected"), [(5, 4.0), (25, 60.0), (40, 15.5)])
def test_random_dag_has_the_expected_number_of_edges_on_average(size: int, expected: float) -> None:
    """A normal test at 5 standard errors of the mean: a correct program fails it once in 1.7 million seeds."""
    rng, draws, possible = np.random.default_rng(1), 400, size * (size - 1) / 2
    counts = [int(random_dag(size, expected, rng).sum()) for _ in range(draws)]
    deviation = math.sqrt(expected * (1 - expected / possible) / draws)
    assert abs(np.mean(counts) - expected) < 5 * deviation


def test_random_dag_puts_an_edge_on_every_ordered_pair_equally_often() -> None:
    """Each of 20 ordered pairs at 5 standard errors: a correct program fails it once in 80,000 seeds."""
    rng, draws = np.random.default_rng(2), 2000
    shares = np.mean([random_dag(5, 5.0, rng) for _ in range(draws)], axis=0)  # each of 20 ordered pairs: 1/4
    off_diagonal = shares[~np.eye(5, dtype=bool)]
    assert (np.abs(off_diagonal - 0.25) < 5 * math.sqrt(0.25 * 0.75 / draws)).all()


@pytest.mark.parametrize("name", ["random25:60", "random40:0", "random6:15", "scalefree25:2", "scalefree40:1"])
def test_random_graph_is_acyclic_and_the_same_for_the_same_seed(name: str) -> None:
    first, again, other = (graph(name, np.random.default_rng(seed)).parents for seed in (3, 3, 4))
    assert nx.is_directed_acyclic_graph(digraph(first))
    assert (first == again).all()
    assert (first != other).any() or name == "random40:0"


def test_random_dag_with_every_edge_expected_is_complete() -> None:
    parents = random_dag(6, 15, np.random.default_rng(5))
    assert (parents ^ parents.T)[~np.eye(6, dtype=bool)].all()


@pytest.mark.parametrize(("size", "per_variable"), [(10, 1), (25, 2), (30, 5)])
def test_scale_free_dag_joins_each_new_variable_to_so_many_earlier_ones(size: int, per_variable: int) -> None:
    parents = scale_free_dag(size, per_variable, np.random.default_rng(6))
    assert int(parents.sum()) == (size - per_variable) * per_variable
    joined = np.sort(parents.sum(axis=1))  # the growth starts from one variable joined to so many others
    assert joined.tolist() == [0] + [1] * per_variable + [per_variable] * (size - per_variable - 1)


def test_scale_free_dag_has_hubs() -> None:
    degrees = scale_free_dag(300, 1, np.random.default_rng(7))
    assert (degrees | degrees.T).sum(axis=0).max() > 12  # a random tree of this size has about 6


# ------------------------------------------------------------------------------------------------- grammar


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("A->B", "A B", "AB"),
        ("A->B->C", "A B C", "AB BC"),
        ("A<-B", "A B", "BA"),
        ("A->B<-C", "A B C", "AB CB"),
        ("C<-B<-A", "C B A", "BC AB"),
        ("A->{B,C}", "A B C", "AB AC"),
        ("{A,B}->{C,D}", "A B C D", "AC AD BC BD"),
        ("{A,B}<-C", "A B C", "CA CB"),
        ("{A-D}->E", "A B C D E", "AE BE CE DE"),
        ("A->B->C, {A-D}->E", "A B C D E", "AB BC AE BE CE DE"),
        ("{A-B,D}->E", "A B D E", "AE BE DE"),
        (" A -> B ,C ", "A B C", "AB"),
        ("A->B, A->B", "A B", "AB"),
        ("{A - C}->D", "A B C D", "AD BD CD"),
        ("{A-A}->B", "A B", "AB"),
        ("{X1-X3}->Y", "X1 X2 X3 Y", "X1Y X2Y X3Y"),
        ("{X9-X11}->Y", "X9 X10 X11 Y", "X9Y X10Y X11Y"),
        ("{1-3}->4", "1 2 3 4", "14 24 34"),
        ("größe_1->b2", "größe_1 b2", "größe_1b2"),
    ],
)
def test_grammar(text: str, names: str, expected: str) -> None:
    assert graph(text).names == tuple(names.split())
    assert edges(graph(text)) == words(expected)


# -------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chian8", "unknown graph 'chian8'. Did you mean chain? Expected a family with its size"),
        ("no such thing", "unknown graph 'no such thing'. Expected a family"),
        ("", "unknown graph ''"),
        ("chain", "unknown graph 'chain'"),
        ("chain8:2", "chain takes no number after the colon; write chain8"),
        ("chain2", "'chain2' has 2 variables; a family has at least 3 and at most 5000"),
        ("random999999999:5", "has 999999999 variables; a family has at least 3 and at most 5000"),
        ("{X1-X99999999}->Y", "the range 'X1-X99999999' in '{X1-X99999999}->Y' has more than 5000 variables"),
        ("random25", "'random25' needs a number after a colon"),
        ("random25:1.2.3", "needs a number after a colon"),
        ("random25:.", "needs a number after a colon"),
        ("random5:11", "random5:11 asks for 11 expected edges; 5 variables have room for 0 to 10"),
        ("scalefree5:0", "scalefree5:0 asks for 0 edges per variable; choose 1 to 4"),
        ("scalefree5:5", "choose 1 to 4"),
        ("scalefree5:1.5", "'scalefree5:1.5' needs a whole number"),
        ("dag3:25", "dag3:0 to dag3:24 are the DAGs on three variables"),
        ("dag4:1", "dag3:0 to dag3:24"),
        ("dag3:1.5", "dag3:0 to dag3:24"),
        ("A->", "cannot read '' in 'A->'"),
        ("A->B,,C", "cannot read ''"),
        ("A->B C", "cannot read 'B C'"),
        ("A<->B", "cannot read '>B'"),
        ("{A,B->C", "braces do not match"),
        ("{A,{B}}->C", "braces do not match"),
        ("A}->{B", "cannot read 'A}'"),
        ("{A-D2}->E", "cannot read 'A-D2'"),
        ("{D-A}->E", "the range 'D-A' in '{D-A}->E' is empty; write A-D"),
        ("{X3-X1}->E", "the range 'X3-X1' in '{X3-X1}->E' is empty; write X1-X3"),
        ("{A-c}->E", "cannot read 'A-c'"),
        ("A->A", "the graph has a cycle: A -> A; remove or turn one of these edges"),
        ("A->B->A", "the graph has a cycle: A -> B -> A"),
        ("Z->A->B->C->A", "the graph has a cycle: A -> B -> C -> A"),
        ("{A,B}->{B,C}", "the graph has a cycle: B -> B"),
    ],
)
def test_error_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        graph(text, np.random.default_rng(0))


@pytest.mark.parametrize("text", ["random25:60", "scalefree25:2"])
def test_random_graph_without_a_generator_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="pass rng="):
        graph(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("chain8", True), ("A->B", True), ("fork3", True), ("chain2", True), ("asia", False), ("chain8.bif", False)],
)
def test_form_of_a_graph_is_recognised(text: str, expected: bool) -> None:
    assert is_graph_name(text) is expected


# -------------------------------------------------------------------------------------------------- checks


def test_found_cycle_follows_edges_all_the_way_round() -> None:
    rng, found = np.random.default_rng(8), 0
    for _ in range(200):
        parents = (rng.random((6, 6)) < 0.25) & ~np.eye(6, dtype=bool)
        cycle = find_cycle(parents)
        assert (cycle is None) == nx.is_directed_acyclic_graph(digraph(parents))
        if cycle is not None:
            found += 1
            assert all(parents[b, a] for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    assert 20 < found < 180


def test_check_dag_accepts_a_dag_and_names_a_cycle() -> None:
    shape = graph("full8")
    check_dag(shape.parents, shape.names)
    cyclic = shape.parents.copy()
    cyclic[0, 7] = True
    with pytest.raises(ValueError, match=r"cycle: A -> .*H -> A;"):
        check_dag(cyclic, shape.names)


@pytest.mark.parametrize("name", ["random25:60", "random25:150", "scalefree25:2", "jungle13"])
def test_causal_order_has_parents_first_and_ties_by_index(name: str) -> None:
    parents = graph(name, np.random.default_rng(9)).parents
    order = causal_order(parents)
    assert sorted(order) == list(range(len(parents)))
    position = np.argsort(order)
    assert all(position[j] < position[i] for i, j in np.argwhere(parents))
    assert causal_order(np.zeros((4, 4), dtype=bool)) == (0, 1, 2, 3)


@pytest.mark.parametrize("name", ["chain3", "chain4", "chain9", "jungle7", "collider5", "full6"])
def test_descendants_are_those_that_networkx_finds_and_the_variable_itself(name: str) -> None:
    parents = graph(name).parents
    arrows = nx.from_numpy_array(parents.T, create_using=nx.DiGraph)
    found = descendants(parents)
    for i in range(len(parents)):
        assert set(np.flatnonzero(found[i]).tolist()) == nx.descendants(arrows, i) | {i}
