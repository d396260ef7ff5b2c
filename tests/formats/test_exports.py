"""Exports are read back by the programs that they are for, names to the letter."""

import csv
import io
import json
import re
import warnings
from pathlib import Path
from types import ModuleType

import networkx as nx
import numpy as np
import pydot
import pytest

from sdi.formats.bif import Network, Variable, parse_bif, read_bif
from sdi.formats.exports import FORMATS, Learned, plain_bif, read_learned
from sdi.worlds.fitted import LARGEST, fitted_network

NAMES = ("Raf", "<b> & \"quotes\" 'too'", "日本 é", "a -> b; c", "back\\slash\\", "line\nbreak\ttab\r", "digraph")


def learned(names: tuple[str, ...] = NAMES) -> Learned:
    size = len(names)
    parents = np.tri(size, k=-1, dtype=bool) & (np.add.outer(np.arange(size), np.arange(size)) % 3 != 0)
    probabilities = np.where(parents, 0.5 + 0.5 * np.random.default_rng(0).random((size, size)), 0.25)
    np.fill_diagonal(probabilities, 0)
    touched = {"e1": dict.fromkeys(names, 0.1) | {names[1]: 0.9}, 'e"2': dict.fromkeys(names, 0.1) | {names[1]: 0.8}}
    return Learned(names, probabilities, parents, touched)


def edges(of: Learned) -> set[tuple[str, str, float]]:
    """(cause, effect, probability), by way of the definition of the matrix."""
    every = range(len(of.names))
    return {(of.names[j], of.names[i], float(of.probabilities[i, j])) for i in every for j in every if of.parents[i, j]}


def test_csv_holds_cause_effect_and_probability() -> None:
    given = learned()
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](given), newline="")))
    assert {(row["cause"], row["effect"], float(row["probability"])) for row in rows} == edges(given)


def test_json_is_oriented_from_cause_to_effect() -> None:
    given = learned()
    content = json.loads(FORMATS["json"](given))
    assert {(e["cause"], e["effect"], e["probability"]) for e in content["edges"]} == edges(given)
    names = content["names"]
    for cause, effect, probability in edges(given):
        assert content["adjacency"][names.index(cause)][names.index(effect)] == 1
        assert content["probabilities"][names.index(cause)][names.index(effect)] == probability
    assert np.sum(content["adjacency"]) == len(edges(given))
    assert content["environments"]["e1"][NAMES[1]] == 0.9


@pytest.mark.parametrize("format", ["graphml", "networkx-json"])
def test_networkx_reads_back_the_same_graph(format: str) -> None:
    given = learned()
    text = FORMATS[format](given)
    graph = nx.parse_graphml(text) if format == "graphml" else nx.node_link_graph(json.loads(text), edges="edges")
    assert list(graph.nodes) == list(NAMES)
    assert {(a, b, p) for a, b, p in graph.edges(data="probability")} == edges(given)
    assert graph.nodes[NAMES[1]]["touched_in"] == 'e1, e"2'


def test_graphml_refuses_a_name_that_xml_cannot_hold() -> None:
    with pytest.raises(ValueError, match=r"GraphML cannot hold the name 'a\\x01'; rename it, or choose json"):
        FORMATS["graphml"](learned(("a\x01", "b")))


def test_dot_is_read_by_another_parser_with_every_edge_at_its_place() -> None:
    given = learned()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydot calls its parser by names that are going out of use
        (graph,) = pydot.graph_from_dot_data(FORMATS["dot"](given)) or ()
    labels = {node.get_name(): spelled(node.get("label")) for node in graph.get_nodes() if node.get_name() != "node"}
    assert len(labels) == len(NAMES)
    found = {
        (labels[e.get_source()], labels[e.get_destination()], float(e.get("probability"))) for e in graph.get_edges()
    }
    written = {name: name.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") for name in NAMES}
    assert found == {(written[a], written[b], p) for a, b, p in edges(given)}


def spelled(label: str) -> str:
    """What Graphviz shows of a quoted label, without the line of environments: a backslash escapes the next letter."""
    text = re.sub(r"\\n\((?:[^\\]|\\.)*\)$", "", label[1:-1])
    assert not re.search(r'(?<!\\)(?:\\\\)*"', text)
    return re.sub(r"\\(.)", r"\1", text)


def test_dot_gives_a_variable_without_a_proper_identifier_one_that_nobody_has() -> None:
    text = FORMATS["dot"](learned(("a\\", "node 0", "node 0'")))
    identifiers = re.findall(r'^  ("(?:[^"\\]|\\.)*") \[label', text, re.MULTILINE)
    assert len(set(identifiers)) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"graph.json: expected names and edges, got something else"),
        ("[]", r"graph.json: expected names and edges, got something else"),
        ('{"names": ["A", "B"], "edges": [{"cause": "A", "effect": "Z"}]}', r"expected names and edges, .*'Z'"),
    ],
)
def test_broken_results_are_named_in_the_error(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{}")
    (tmp_path / "edges.csv").write_text("cause,effect\nA,B\n")
    (tmp_path / "environments.csv").write_text("environment,variable,probability\n")
    (tmp_path / "graph.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_learned(tmp_path)


# ---------------------------------------------------------------------------------------------------- bif


def rows_of_a_chain(n: int = 400) -> np.ndarray:
    """A -> B -> C with 2, 3 and 2 states; the last state of B is never seen where A is 1."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, n)
    b = np.where(a == 0, rng.integers(0, 3, n), rng.integers(0, 2, n))
    c = np.where(rng.random(n) < 0.8, b % 2, rng.integers(0, 2, n))
    return np.stack([a, b, c], axis=1).astype(np.uint8)


CHAIN = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
STATES = (("no", "yes"), ("low", "mid", "high"), ("0", "1"))


def share(rows: np.ndarray, child: int, value: int, parent: int | None, given: int, sizes: tuple[int, ...]) -> float:
    """A smoothed share, by counting with plain loops."""
    chosen = [row for row in rows.tolist() if parent is None or row[parent] == given]
    return (sum(row[child] == value for row in chosen) + 1 / sizes[child]) / (len(chosen) + 1)


def posterior_by_counting(rows: np.ndarray) -> list[float]:
    """P(A | C = 1), summed over B."""
    sizes = (2, 3, 2)
    joint = [
        sum(
            share(rows, 0, a, None, 0, sizes) * share(rows, 1, b, 0, a, sizes) * share(rows, 2, 1, 1, b, sizes)
            for b in range(3)
        )
        for a in range(2)
    ]
    return [value / sum(joint) for value in joint]


def test_tables_are_the_smoothed_shares() -> None:
    rows = rows_of_a_chain()
    _, b, _ = fitted_network("n", "ABC", STATES, CHAIN, rows).variables
    for given, value in np.ndindex(2, 3):
        assert b.table[given, value] == pytest.approx(share(rows, 1, value, 0, given, (2, 3, 2)), rel=1e-12)
    assert 0 < b.table[1, 2] < 0.01  # never seen, yet not impossible


def test_case_that_never_occurs_is_uniform() -> None:
    rows = np.zeros((5, 2), dtype=np.uint8)
    network = fitted_network("n", "AB", (("x", "y"), ("p", "q", "r")), np.array([[0, 0], [1, 0]], dtype=bool), rows)
    np.testing.assert_allclose(network.variables[1].table[1], 1 / 3)


def test_pgmpy_answers_a_query_with_the_export_as_counting_does() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it imports parts of itself that it calls deprecated
        from pgmpy.inference import VariableElimination
        from pgmpy.readwrite import BIFReader

    rows = rows_of_a_chain()
    text = plain_bif(fitted_network("n", ("A b", "B", "C"), STATES, CHAIN, rows), ("a remark",)).text
    model = BIFReader(string=text).get_model()
    answer = VariableElimination(model).query(["A_b"], evidence={"C": "1"}, show_progress=False)
    values = [answer.get_value(**{"A_b": state}) for state in STATES[0]]
    np.testing.assert_allclose(values, posterior_by_counting(rows), rtol=1e-9)


def test_pyagrum_answers_a_query_with_the_export_as_counting_does(tmp_path: Path, pyagrum: ModuleType) -> None:
    rows = rows_of_a_chain()
    text = plain_bif(fitted_network("n", ("A b", "B", "C"), STATES, CHAIN, rows), ("a remark",)).text
    (tmp_path / "learned.bif").write_text(text)
    inference = pyagrum.LazyPropagation(pyagrum.loadBN(str(tmp_path / "learned.bif")))
    inference.setEvidence({"C": "1"})
    inference.makeInference()
    np.testing.assert_allclose(inference.posterior("A_b").tolist(), posterior_by_counting(rows), rtol=1e-5)


# Names and states as tables of measurements have them.
AWKWARD = {
    "x": ("[0.1, 2.5)", "[2.5, 7)", "[7, inf)"),
    "x ": ("<1", ">1", "≥2"),
    "1": ("0", "1", "-1"),
    "2.5": ("0.5", "1.5", "2.5"),
    "table": ("default", "type", "network"),
    "table1": ("default1", "1e5", "-x"),
    "日本": ("男", "女", "é"),
    "a b": ("x y", "x_y", "x-y"),
    "a_b": ("p", "q", "r"),
    'a"b': ('"', "'", "\\"),
    "a\nb": ("// x", "/* y */", "} variable q {"),
    "a-b": ("2-3", "4-5", "5-"),
    "": ("", " ", "  "),
    "B": ("b", "B", "b "),
}


def test_other_programs_read_the_export_whatever_the_names(tmp_path: Path, pyagrum: ModuleType) -> None:
    from pgmpy.readwrite import BIFReader

    rng = np.random.default_rng(2)
    before = ()
    variables = []
    for name, states in AWKWARD.items():  # a chain, so that every name stands among the causes too
        table = rng.dirichlet(np.ones(3), (3,) * len(before))
        variables.append(Variable(name, states, before, table))
        before = (name,)
    written = plain_bif(Network("learned graph", tuple(variables)))
    (tmp_path / "n.bif").write_text(written.text)
    theirs, model = pyagrum.loadBN(str(tmp_path / "n.bif")), BIFReader(string=written.text).get_model()
    ours = read_bif(tmp_path / "n.bif").variables
    assert theirs.names() == set(model.nodes()) == {each.name for each in ours}
    for given, each in zip(variables, ours, strict=True):
        assert theirs.variable(each.name).labels() == each.states
        assert tuple(model.get_cpds(each.name).state_names[each.name]) == each.states
        np.testing.assert_array_equal(each.table, given.table)
        np.testing.assert_allclose(theirs.cpt(each.name).toarray(), given.table, rtol=1e-5)
        np.testing.assert_array_equal(model.get_cpds(each.name).values, given.table.T)
    everything = {each.name for each in ours} | {state for each in ours for state in each.states}
    for old, new in written.renamed:
        assert new in everything
        assert f"// {old} is written {new}\n" in written.text
    kept = {each.name for each in ours} & set(AWKWARD)
    assert kept == {"x", "a_b", "a-b", "B"}


def test_plain_names_are_left_as_they_are(asia: Network) -> None:
    written = plain_bif(asia)
    assert written.renamed == ()
    assert [v.name for v in parse_bif(written.text).variables] == [v.name for v in asia.variables]


@pytest.mark.parametrize(
    ("causes", "message"),
    [
        (
            11,
            rf"'v11' has 11 causes and would need a table of {4**12:,} numbers, more than {LARGEST:,}; raise --thresh",
        ),
        (40, r"'v40' has 40 causes and would need a table of"),
    ],
)
def test_table_that_would_fill_the_memory_is_refused(causes: int, message: str) -> None:
    size = causes + 1
    parents = np.zeros((size, size), dtype=bool)
    parents[-1, :-1] = True
    names = tuple(f"v{k}" for k in range(size))
    with pytest.raises(ValueError, match=message):
        fitted_network("n", names, (tuple("abcd"),) * size, parents, np.zeros((3, size), dtype=np.uint8))


@pytest.mark.parametrize(
    ("rows", "prior", "message"),
    [
        (np.zeros((0, 3), np.uint8), 1.0, r"expected rows of 3 columns, at least one"),
        (np.zeros((5, 2), np.uint8), 1.0, r"expected rows of 3 columns, at least one, got an array of \(5, 2\)"),
        (np.zeros((5, 3), np.uint8), 0.0, r"prior is a number of rows, above 0; got 0.0"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows: np.ndarray, prior: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted_network("n", "ABC", STATES, CHAIN, rows, prior=prior)
