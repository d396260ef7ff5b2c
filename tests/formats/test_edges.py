"""CSV files of edges, truths and targets: round trips with hostile names, and tables of errors."""

import csv

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdi.formats import edges

NAMES = ("NA", "null", " x ", 'say "hi"', "a,b", "two\nlines", "re\rturn", "both\r\n", "ñ→因果", "'", "\ufeff")

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
probability = st.floats(0, 1)


@st.composite
def beliefs(draw):
    names = tuple(draw(st.lists(texts | st.sampled_from(NAMES), min_size=2, max_size=4, unique=True)))
    cells = draw(st.lists(probability, min_size=len(names) ** 2, max_size=len(names) ** 2))
    matrix = np.reshape(np.array(cells), (len(names), len(names)))
    np.fill_diagonal(matrix, 0)
    return names, matrix


@pytest.fixture
def write(tmp_path):
    """Put text (or bytes) into a file and return its path."""

    def put(content):
        path = tmp_path / "file.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


# Edges


def test_a_row_says_that_the_cause_is_a_parent_of_the_effect(write):
    names, probabilities = edges.read_edges(write("cause,effect,probability\nA,B,0.75\nB,C,1\n"))
    assert names == ("A", "B", "C")
    np.testing.assert_array_equal(probabilities, [[0, 0, 0], [0.75, 0, 0], [0, 1, 0]])


def test_edges_without_a_probability_are_certain(write):
    _, probabilities = edges.read_edges(write("cause,effect\nB,A\n"))
    np.testing.assert_array_equal(probabilities, [[0, 0], [1, 0]])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("effect,note,cause,probability\nB,x,A,0.5\n", id="other order, further columns"),
        pytest.param("cause,effect,probability\r\nA,B,0.5\r\n", id="Windows line ends"),
        pytest.param("\ufeffcause,effect,probability\nA,B,0.5\n", id="byte order mark"),
        pytest.param("cause, effect, probability\n\nA,B, 0.5", id="spaces, blank line, no last line end"),
        pytest.param('"cause","effect","probability"\n"A","B","0.5"\n', id="everything quoted"),
    ],
)
def test_tables_as_other_programs_write_them_are_read(write, content):
    names, probabilities = edges.read_edges(write(content))
    assert names == ("A", "B")
    np.testing.assert_array_equal(probabilities, [[0, 0], [0.5, 0]])


@given(beliefs())
@settings(deadline=None, max_examples=200)
def test_edges_survive_the_round_trip_to_the_bit(tmp_path_factory, case):
    names, matrix = case
    path = tmp_path_factory.mktemp("edges") / "edges.csv"
    edges.write_edges(path, names, matrix)
    names_again, matrix_again = edges.read_edges(path)
    assert names_again == names
    np.testing.assert_array_equal(matrix_again, matrix)


def test_written_edges_are_read_alike_by_pandas(tmp_path):
    path = tmp_path / "edges.csv"
    matrix = np.random.default_rng(0).uniform(size=(len(NAMES), len(NAMES)))
    edges.write_edges(path, NAMES, matrix)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert list(frame.columns) == ["cause", "effect", "probability"]
    expected = {
        (NAMES[parent], NAMES[child]): matrix[child, parent]
        for child in range(len(NAMES))
        for parent in range(len(NAMES))
        if child != parent
    }
    found = {(cause, effect): float(value) for cause, effect, value in frame.itertuples(index=False)}
    assert found == expected


def test_the_files_are_plain_text(tmp_path):
    path = tmp_path / "edges.csv"
    edges.write_edges(path, ["A", "B,b"], [[0, 0.1], [1, 0]])
    assert path.read_bytes() == b'cause,effect,probability\nA,"B,b",1.0\n"B,b",A,0.1\n'


# Truths


def test_a_truth_is_laid_over_the_given_names(write):
    path = write("cause,effect\nC,A\n")
    assert edges.read_truth(path)[0] == ("C", "A")
    names, parents = edges.read_truth(path, names=["A", "B", "C"])
    assert names == ("A", "B", "C")
    np.testing.assert_array_equal(parents, [[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    assert parents.dtype == bool


def test_a_truth_may_have_no_edges(write):
    names, parents = edges.read_truth(write("cause,effect\n"), names=["A", "B"])
    assert names == ("A", "B")
    assert not parents.any()


@given(beliefs())
@settings(deadline=None)
def test_truths_survive_the_round_trip(tmp_path_factory, case):
    names, matrix = case
    path = tmp_path_factory.mktemp("truth") / "truth.csv"
    edges.write_truth(path, names, matrix > 0.5)
    names_again, parents = edges.read_truth(path, names)
    assert names_again == names
    np.testing.assert_array_equal(parents, matrix > 0.5)


@given(beliefs(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_aligning_moves_every_entry_along_with_its_names(case, random):
    names, matrix = case
    onto = [*names, "one more than four letters"]
    random.shuffle(onto)
    expected = pd.DataFrame(matrix, index=names, columns=names).reindex(index=onto, columns=onto, fill_value=0.0)
    np.testing.assert_array_equal(edges.align(matrix, names, onto), expected)


# Targets and environments


def test_an_empty_target_says_that_nothing_was_touched(write):
    path = write("environment,target\nwild,\nknockout,A\ndouble,B\ndouble,A\n")
    assert edges.read_targets(path) == {"wild": (), "knockout": ("A",), "double": ("B", "A")}


def test_targets_survive_the_round_trip(tmp_path):
    targets = {name: NAMES[: i % 3] for i, name in enumerate(NAMES)}
    edges.write_targets(tmp_path / "targets.csv", targets)
    assert edges.read_targets(tmp_path / "targets.csv") == targets


def test_environments_survive_the_round_trip(tmp_path):
    path = tmp_path / "environments.csv"
    table = np.random.default_rng(0).uniform(size=(len(NAMES), len(NAMES)))
    edges.write_environments(path, NAMES, dict(zip(NAMES, table, strict=True)))
    expected = {e: dict(zip(NAMES, row.tolist(), strict=True)) for e, row in zip(NAMES, table, strict=True)}
    assert edges.read_environments(path) == expected
    with path.open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == ["environment", "variable", "probability"]


def test_variables_above_the_threshold_are_the_predicted_targets():
    environments = {"wild": {"A": 0.5, "B": 0.1}, "knockout": {"A": 0.51, "B": 0.9}}
    assert edges.predicted_targets(environments) == {"wild": (), "knockout": ("A", "B")}
    assert edges.predicted_targets(environments, threshold=0.6) == {"wild": (), "knockout": ("B",)}


# Errors


@pytest.mark.parametrize(
    ("read", "content", "row", "messages"),
    [
        (edges.read_edges, "", 1, ["a header", "empty"]),
        (edges.read_edges, "\nA,B\n", 1, ["a header", "empty"]),
        (edges.read_edges, "cause,effect\n", 2, ["ordered pair", "a header alone", "probability 0"]),
        (edges.read_edges, "from,to\nA,B\n", 1, ["column 'cause'", "'from', 'to'"]),
        (edges.read_edges, "cause;effect\nA;B\n", 1, ["column 'cause'", "'cause;effect'", "by commas"]),
        (edges.read_edges, "cause,cause,effect\nA,A,B\n", 1, ["one column 'cause'"]),
        (edges.read_edges, "cause,effect,probability,probability\nA,B,0,1\n", 1, ["one column 'probability'"]),
        (edges.read_edges, "cause,effect\nA,B\nB,\n", 3, ["a value for 'effect'", "an empty cell"]),
        (edges.read_edges, "cause,effect\n,B\n", 2, ["a value for 'cause'", "an empty cell"]),
        (edges.read_edges, "cause,effect\nA,B\nA,B,C\n", 3, ["2 cells", "got 3", "double quotes"]),
        (edges.read_edges, "cause,effect\nA,B\nA,A\n", 3, ["two different variables", "'A' twice"]),
        (edges.read_edges, "cause,effect\nA,B\nB,A\n\nA,B\n", 5, ["('A', 'B') again", "or row 2"]),
        (edges.read_edges, "cause,effect,probability\nA,B,likely\n", 2, ["from 0 to 1", "'likely'"]),
        (edges.read_edges, "cause,effect,probability\nA,B,\n", 2, ["from 0 to 1", "''"]),
        (edges.read_edges, "cause,effect,probability\nA,B,0\nB,A,1.5\n", 3, ["from 0 to 1", "'1.5'"]),
        (edges.read_edges, "cause,effect,probability\nA,B,-0.1\n", 2, ["from 0 to 1", "'-0.1'"]),
        (edges.read_edges, "cause,effect,probability\nA,B,nan\n", 2, ["from 0 to 1", "'nan'"]),
        (edges.read_edges, 'cause,effect\n"A"x,B\n', 2, ["CSV", "double the quotes"]),
        (edges.read_edges, 'cause,effect\n"A,B\n', 2, ["CSV", "double the quotes"]),
        (edges.read_truth, "cause\nA\n", 1, ["column 'effect'", "'cause'"]),
        (edges.read_truth, "cause,effect\nA,A\n", 2, ["two different variables"]),
        (edges.read_truth, "cause,effect,probability\nA,B,0.2\n", 1, ["true edges alone", "drop the column"]),
        (edges.read_targets, "environment\nwild\n", 1, ["column 'target'", "'environment'"]),
        (edges.read_targets, "environment,target\n,A\n", 2, ["a value for 'environment'", "an empty cell"]),
        (edges.read_targets, "environment,target\ne,A\ne,A\n", 3, ["('e', 'A') again", "row 2"]),
        (edges.read_targets, "environment,target\ne,A\ne,\n", 3, ["'e' with an empty target and with others"]),
        (edges.read_targets, "environment,target\ne,\ne,A\n", 3, ["'e' with an empty target and with others"]),
        (edges.read_environments, "environment,variable\ne,A\n", 1, ["column 'probability'"]),
        (edges.read_environments, "environment,variable,probability\ne,A,2\n", 2, ["from 0 to 1", "'2'"]),
        (
            edges.read_environments,
            "environment,variable,probability\ne,,1\n",
            2,
            ["a value for 'variable'", "empty cell"],
        ),
        (
            edges.read_environments,
            "environment,variable,probability\ne,A,1\ne,A,0\n",
            3,
            ["('e', 'A') again", "row 2"],
        ),
    ],
)
def test_a_faulty_file_is_refused_with_its_row_and_a_remedy(write, read, content, row, messages):
    path = write(content)
    with pytest.raises(ValueError, match="expected") as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}, row {row}: ")
    for message in messages:
        assert message in text


@pytest.mark.parametrize("read", [edges.read_edges, edges.read_truth, edges.read_targets, edges.read_environments])
def test_a_file_that_cannot_be_read_is_named(tmp_path, write, read):
    with pytest.raises(ValueError, match=r"absent\.csv: expected a CSV file, got 'No such file"):
        read(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="expected a CSV file, got 'Is a directory"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"file\.csv: expected text in UTF-8, .*; save the file as UTF-8"):
        read(write("cause,effect\nñ,B\n".encode("latin-1")))


@pytest.mark.parametrize(
    ("name", "advice"),
    [("Smoke", "did you mean 'smoke'?"), ("Age", "the known ones are 'smoke', 'cancer'")],
)
def test_an_unknown_variable_is_answered_with_the_nearest_name(write, name, advice):
    with pytest.raises(ValueError, match="row 3: expected a known variable") as caught:
        edges.read_truth(write(f"cause,effect\nsmoke,cancer\n{name},cancer\n"), names=["smoke", "cancer"])
    assert repr(name) in str(caught.value)
    assert advice in str(caught.value)
    with pytest.raises(ValueError, match="expected a known variable") as caught:
        edges.align(np.zeros((2, 2)), ["cancer", name], ["smoke", "cancer"])
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("put", "message"),
    [
        (lambda path: edges.write_edges(path, ["A", "B"], np.zeros((3, 3))), r"2 names, got shape \(3, 3\)"),
        (lambda path: edges.write_edges(path, ["A", "A"], np.zeros((2, 2))), "different names.* got 'A'"),
        (lambda path: edges.write_edges(path, ["A", ""], np.zeros((2, 2))), "none of them empty, got ''"),
        (lambda path: edges.write_edges(path, ["A", "B"], np.full((2, 2), 2)), "'A' -> 'B', got 2"),
        (lambda path: edges.write_edges(path, ["A", "B"], np.full((2, 2), np.nan)), "'A' -> 'B', got nan"),
        (lambda path: edges.write_truth(path, ["A", "B"], np.zeros((2, 3))), r"got shape \(2, 3\)"),
        (lambda path: edges.write_targets(path, {"e": ["A", "A"]}), "different names.* got 'A'"),
        (lambda path: edges.write_targets(path, {"": ["A"]}), "none of them empty, got ''"),
        (lambda path: edges.write_environments(path, ["A"], {"e": [1, 0]}), r"'e', got shape \(2,\)"),
        (lambda path: edges.write_environments(path, ["A"], {"e": [-1]}), "'A' in 'e', got -1"),
        (lambda path: edges.write_environments(path, ["A"], {"": [1]}), "none of them empty, got ''"),
    ],
)
def test_nothing_is_written_that_could_not_be_read_back(tmp_path, put, message):
    path = tmp_path / "file.csv"
    path.write_text("earlier")
    with pytest.raises(ValueError, match=message):
        put(path)
    assert [file.name for file in tmp_path.iterdir()] == ["file.csv"]
    assert path.read_text() == "earlier"
