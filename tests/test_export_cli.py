"""`sdi export`: every format out of the folder of a run, and every error as one line."""

import itertools
import json
import shutil
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from sdi.cli.app import app
from sdi.cli.export import ROWS
from sdi.collected import Table
from sdi.formats import run as files
from sdi.formats.bif import parse_bif, read_bif
from sdi.plans import Plan, as_dict, plan_from_dict
from sdi.sources import Simulated
from sdi.worlds.fitted import fitted_network


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def leave(folder: Path, source: Simulated | Table, probabilities: NDArray[np.float64]) -> None:
    """The folder as a run with these beliefs leaves it, without the run."""
    plan = Plan(source=source, seed=1)
    studied = plan.study()
    names = studied.world.names
    edges = [
        {"cause": names[j], "effect": names[i], "probability": probabilities[i, j]}
        for i, j in np.argwhere(probabilities > 0.5)
    ]
    files.begin(folder, as_dict(plan, studied))
    files.write_results(
        folder,
        names=names,
        probabilities=probabilities,
        environments={"e1": np.linspace(0, 0.9, len(names))},
        graph={"names": names, "edges": edges, "removed": []},
        metrics=None,
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a simulated world: Burglary and Earthquake cause Alarm, which causes JohnCalls; the rest is in doubt."""
    out = tmp_path_factory.mktemp("done")
    probabilities = np.random.default_rng(0).uniform(0.1, 0.4, (5, 5))
    probabilities[2, 0], probabilities[2, 1], probabilities[3, 2] = 0.8, 0.6, 0.95
    np.fill_diagonal(probabilities, 0)
    leave(out, Simulated(name="earthquake"), probabilities)
    return out


@pytest.fixture(scope="module")
def of_a_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a table, in which A causes B."""
    folder = tmp_path_factory.mktemp("table")
    succeed("simulate", "chain3", "--observational", 200, "--environments", 3, "--rows", 30, "--out", folder / "rows")
    (folder / "run").mkdir()
    probabilities = np.array([[0, 0.1, 0.1], [0.9, 0, 0.2], [0.1, 0.3, 0]])
    leave(folder / "run", Table(path=str(folder / "rows" / "data.csv"), environment="environment"), probabilities)
    return folder / "run"


def test_graph_that_was_found_is_exported_to_standard_output(done: Path) -> None:
    found = json.loads((done / "graph.json").read_text())
    graph = nx.node_link_graph(json.loads(succeed("export", done, "--format", "networkx-json")), edges="edges")
    assert list(graph.nodes) == found["names"]
    assert {(e["cause"], e["effect"]) for e in found["edges"]} == set(graph.edges)
    assert ("Alarm", "JohnCalls") in graph.edges


@pytest.mark.parametrize("format", ["dot", "graphml", "json", "csv", "networkx-json", "bif"])
def test_file_holds_what_standard_output_would(done: Path, format: str, tmp_path: Path) -> None:
    out = tmp_path / "graph.out"
    text = succeed("export", done, "--format", format, "--out", out)
    assert text == f"wrote {out}\n"
    assert out.read_text() == succeed("export", done, "--format", format)


def test_threshold_decides_which_edges_are_there(done: Path) -> None:
    def exported(threshold: float) -> set[tuple[str, str]]:
        content = json.loads(succeed("export", done, "--format", "json", "--threshold", threshold))
        return {(edge["cause"], edge["effect"]) for edge in content["edges"]}

    assert exported(0.5) == {("Burglary", "Alarm"), ("Earthquake", "Alarm"), ("Alarm", "JohnCalls")}
    assert exported(0.7) == {("Burglary", "Alarm"), ("Alarm", "JohnCalls")}
    everything = exported(0.0)
    assert nx.is_directed_acyclic_graph(nx.DiGraph(everything))
    assert {("Burglary", "Alarm"), ("Earthquake", "Alarm"), ("Alarm", "JohnCalls")} < everything


def test_bif_of_a_simulated_world_is_fitted_to_rows_of_that_world(done: Path) -> None:
    network = parse_bif(succeed("export", done, "--format", "bif"))
    plan = plan_from_dict(json.loads((done / "settings.json").read_text()))
    world = plan.study().world
    rows = world.observe(ROWS, np.random.default_rng(1))
    found = json.loads((done / "graph.json").read_text())
    index = {name: i for i, name in enumerate(found["names"])}
    parents = np.zeros((5, 5), dtype=bool)
    for edge in found["edges"]:
        parents[index[edge["effect"]], index[edge["cause"]]] = True
    states = tuple(variable.states for variable in network.variables)
    expected = fitted_network("learned", world.names, states, parents, rows)
    for ours, theirs in zip(expected.variables, network.variables, strict=True):
        assert (ours.name, ours.parents) == (theirs.name, theirs.parents)
        np.testing.assert_array_equal(ours.table, theirs.table)


def test_bif_of_a_table_counts_its_rows_without_an_intervention(of_a_table: Path, tmp_path: Path) -> None:
    succeed("export", of_a_table, "--format", "bif", "--out", tmp_path / "learned.bif")
    rows = pd.read_csv(of_a_table.parent / "rows" / "data.csv", dtype=str)
    rows = rows[rows["environment"] == "observational"]
    assert len(rows) == 200
    b = next(variable for variable in read_bif(tmp_path / "learned.bif").variables if variable.name == "B")
    assert b.parents == ("A",)
    for (k, a), (m, value) in itertools.product(*(enumerate(sorted(rows[name].unique())) for name in "AB")):
        given = rows[rows["A"] == a]
        assert b.table[k, m] == pytest.approx(((given["B"] == value).sum() + 0.5) / (len(given) + 1))


def test_table_that_changed_since_the_run_is_not_fitted_to(of_a_table: Path, tmp_path: Path) -> None:
    shutil.copytree(of_a_table.parent, tmp_path / "copy")
    settings = tmp_path / "copy" / "run" / "settings.json"
    settings.write_text(settings.read_text().replace(str(of_a_table.parent), str(tmp_path / "copy")))
    with (tmp_path / "copy" / "rows" / "data.csv").open("a") as file:
        file.write(",".join(["0", "0", "0", "observational"]) + "\n")
    result = run("export", tmp_path / "copy" / "run", "--format", "bif")
    assert result.exit_code == 2
    assert "has changed since the run began" in result.stderr


def test_existing_file_is_not_overwritten_unless_forced(done: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.dot"
    out.write_text("mine")
    result = run("export", done, "--format", "dot", "--out", out)
    assert (result.exit_code, out.read_text()) == (2, "mine")
    assert "exists already; choose another file or add --force" in result.stderr
    succeed("export", done, "--format", "dot", "--out", out, "--force")
    assert out.read_text().startswith("digraph")


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("settings.json", "holds no run"),
        ("graph.json", "no graph.json yet; let the run come to its end with `sdi discover --resume"),
        ("edges.csv", "no edges.csv yet; let the run come to its end"),
    ],
)
def test_folder_without_results_is_refused_in_one_line(done: Path, missing: str, message: str, tmp_path: Path) -> None:
    shutil.copytree(done, tmp_path / "copy")
    (tmp_path / "copy" / missing).unlink()
    result = run("export", tmp_path / "copy", "--format", "dot")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not result.stdout


def test_unknown_format_is_answered_with_the_choices(done: Path) -> None:
    result = run("export", done, "--format", "png")
    assert result.exit_code == 2
    assert "graphml" in result.stderr
