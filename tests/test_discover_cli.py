"""`sdi discover` and `sdi demo`: the folder they leave, what they print, and every error as one line."""

import io
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from sdi.cli import demo as demo_command
from sdi.cli import watch
from sdi.cli.app import app
from sdi.formats.edges import read_edges, read_environments
from sdi.graphs import graph
from sdi.method import auto
from sdi.method.settings import Settings
from sdi.networks import load
from sdi.worlds.dataset import OBSERVATIONAL
from sdi.worlds.named import named_world

SMALL = {
    **{"method": "tables", "interventions": 4, "rows_per_intervention": 100, "observational_rows": 200, "sweeps": 5},
    **{"margin": 1e-9, "agreement": 0.0},  # never sure enough to stop before the limit
}
NEURAL = {
    **{"method": "neural", "fit_steps": 20, "batch": 32, "interventions": 4, "rows_per_intervention": 100},
    **{"scoring_batches": 2, "scoring_configurations": 5, "prediction_batches": 2},
    **{"estimator": "ratio", "targets": "deterioration"},  # what compiles fastest; test_runs.py has the others
}
FAST, NETWORKS = (
    ["--no-report", *(part for name, value in each.items() for part in ("--set", f"{name}={value}"))]
    for each in (SMALL, NEURAL)
)
RESULTS = {"edges.csv", "graph.json", "environments.csv", "settings.json", "history.jsonl", "checkpoint.npz"}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def discover(out: Path, world: object = "chain3", *options: object) -> Result:
    return succeed("discover", world, *FAST, "--iterations", 3, "--seed", 1, "--out", out, *options)


def content(path: Path) -> Any:
    return json.loads(path.read_text())


def history(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run, to its end."""
    out = tmp_path_factory.mktemp("done") / "new" / "folder"
    discover(out)
    return out


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Rows of a chain in 3 environments and without an intervention."""
    options = ("--observational", 100, "--environments", 3, "--rows", 30, "--seed", 1)
    succeed("simulate", "chain3", *options, "--out", tmp_path / "rows")
    return tmp_path / "rows" / "data.csv"


# ------------------------------------------------------------------------------------------------ results


def test_folder_holds_edges_graph_environments_settings_history_and_checkpoint(done: Path) -> None:
    assert {path.name for path in done.iterdir()} == RESULTS | {"metrics.json"}
    names, probabilities = read_edges(done / "edges.csv")
    assert names == ("A", "B", "C")
    assert len((done / "edges.csv").read_text().splitlines()) == 1 + 3 * 2
    assert (done / "environments.csv").read_text().splitlines()[0] == "environment,variable,probability"
    assert list(read_environments(done / "environments.csv")) == ["3.1", "3.2", "3.3", "3.4"]
    found = content(done / "graph.json")
    assert list(found) == ["names", "edges", "removed", "reason", "iterations", "interventions", "method", "warnings"]
    assert (found["reason"], found["iterations"], found["interventions"]) == ("iterations", 3, 12)
    listed = {(edge["cause"], edge["effect"]): edge["probability"] for edge in (*found["edges"], *found["removed"])}
    above = {(names[j], names[i]): probabilities[i, j] for i in range(3) for j in range(3) if probabilities[i, j] > 0.5}
    assert listed == above


def test_settings_say_everything_that_makes_the_run(done: Path) -> None:
    made_of = content(done / "settings.json")
    assert made_of["world"]["name"] == "chain3"
    assert made_of["seed"] == 1
    assert set(made_of["settings"]) == {each.name for each in fields(Settings)}
    assert made_of["settings"] | SMALL | {"iterations": 3} == made_of["settings"]
    assert set(made_of["versions"]) == {"sdi", "jax", "numpy", "scipy"}
    assert (made_of["bootstrap"], made_of["report"]) == (0, False)
    assert made_of["knowledge"] == {"required": [], "forbidden": [], "only": None}


def test_history_has_a_record_per_iteration_with_the_distance_from_the_truth(done: Path) -> None:
    records = history(done)
    assert [record["iteration"] for record in records] == [1, 2, 3]
    truth = graph("chain3").parents
    for record in records:
        assert record["hamming"] == int(((np.array(record["probabilities"]) > 0.5) != truth).sum())
        assert 0 <= record["target_accuracy"] <= 1
    assert content(done / "metrics.json")["target_accuracy"] == records[-1]["target_accuracy"]


def test_checkpoint_loads_without_pickle(done: Path) -> None:
    with np.load(done / "checkpoint.npz", allow_pickle=False) as file:
        assert json.loads(file["about"].tobytes())["iteration"] == 3
        assert all(file[name].dtype != object for name in file.files)


def test_text_shows_graph_reason_measures_and_files(tmp_path: Path) -> None:
    result = discover(tmp_path, "chain3", "--require", "A->B", "--forbid", "B->C")
    assert "A -> B 1.00\n" in result.stdout
    assert "B -> C" not in result.stdout
    assert "stopped after 3 iterations and 12 interventions: the limit on iterations was reached" in result.stdout
    assert re.search(r"^shd +\d", result.stdout, re.MULTILINE)
    assert f"wrote {tmp_path / 'edges.csv'}" in result.stdout
    assert "distance from the truth" in result.stderr
    assert content(tmp_path / "settings.json")["knowledge"] == {
        "required": [["A", "B"]],
        "forbidden": [["B", "C"]],
        "only": None,
    }


def test_json_is_the_graph_and_the_measures(done: Path, tmp_path: Path) -> None:
    printed = json.loads(discover(tmp_path, "chain3", "--json").stdout)
    assert printed == {**content(done / "graph.json"), "metrics": content(done / "metrics.json")}


def test_measures_of_the_graph_are_those_of_what_is_left_after_cycles_went(tmp_path: Path) -> None:
    """At the start all beliefs are near one half, so that cycles among them are certain in some of these graphs."""
    removed = 0
    for seed in range(8):
        out = tmp_path / str(seed)
        options = (*NETWORKS, "--iterations", 1, "--set", "belief_start=2", "--seed", seed, "--out", out)
        text = succeed("discover", "chain3", *options).stdout
        found, measures = content(out / "graph.json"), content(out / "metrics.json")
        edges = {(edge["cause"], edge["effect"]) for edge in found["edges"]}
        assert measures["hamming"] == len(edges ^ {("A", "B"), ("B", "C")})
        assert measures["sid"] is not None
        assert ("left out, as it does not go together" in text) == bool(found["removed"])
        removed += len(found["removed"])
    assert removed


def test_known_targets_are_all_right(tmp_path: Path) -> None:
    discover(tmp_path, "chain3", "--known-targets", "--at-once", 2)
    assert content(tmp_path / "metrics.json")["target_accuracy"] == 1
    touched = read_environments(tmp_path / "environments.csv")["3.1"]
    assert sorted(touched.values()) == [0, 1, 1]


# ------------------------------------------------------------------------------------------------- tables


def test_table_gives_targets_of_its_environments_and_no_measures(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = discover(out, table, "--environment", "environment")
    assert {path.name for path in out.iterdir()} == RESULTS
    assert list(read_environments(out / "environments.csv")) == ["e1", "e2", "e3"]
    assert re.findall(r"touched in (\w+): ", result.stdout) == ["e1", "e2", "e3"]
    assert "shd" not in result.stdout
    assert "truth" not in result.stderr
    made_of = content(out / "settings.json")
    assert made_of["world"]["path"] == str(table)
    assert list(made_of["files"]) == [str(table)]
    assert "hamming" not in history(out)[0]


def test_table_with_truth_and_targets_is_measured(table: Path, tmp_path: Path) -> None:
    known = ("--truth", table.with_name("truth.csv"), "--targets", table.with_name("targets.csv"))
    out = tmp_path / "out"
    discover(out, table, "--environment", "environment", *known)
    assert content(out / "metrics.json")["target_accuracy"] is None
    assert content(out / "metrics.json")["shd"] >= 0
    touched = read_environments(out / "environments.csv")
    assert all(sorted(beliefs.values()) == [0, 0, 1] for beliefs in touched.values())
    assert len(content(out / "settings.json")["files"]) == 3


def test_many_environments_are_cut_short_on_the_screen_only(tmp_path: Path) -> None:
    options = ("--observational", 50, "--environments", 43, "--rows", 10, "--format", "parquet")
    succeed("simulate", "chain3", *options, "--out", tmp_path)
    result = discover(tmp_path / "out", tmp_path / "data.parquet", "--environment", "environment")
    assert result.stdout.count("touched in ") == 40
    assert "and 3 more environments in environments.csv" in result.stdout
    assert len(read_environments(tmp_path / "out" / "environments.csv")) == 43


def test_names_are_shown_as_they_are(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table).rename(columns={"A": "[red]A->", "environment": "[bold]"})
    frame["[bold]"] = frame["[bold]"].replace({"e1": "[/]", OBSERVATIONAL: "left [i]"})
    odd = tmp_path / "odd.csv"
    frame.to_csv(odd, index=False)
    options = ("--environment", "[bold]", "--observational", "left [i]", "--require", "[red]A->->B")
    result = discover(tmp_path / "out", odd, *options)
    assert "[red]A-> -> B 1.00\n" in result.stdout
    assert "touched in [/]: " in result.stdout


def test_every_choice_about_a_table_is_kept_and_taken_up_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.lognormal(size=(200, 3)), columns=["A", "B", "C"]).assign(
        D=["x", "y"] * 100, id=range(200)
    )
    frame.loc[0, "D"] = None
    frame["e"] = np.repeat(["plain", "also plain", "e1", "e2"], 50)
    table, known = tmp_path / "cells.csv.gz", tmp_path / "known.txt"
    frame.to_csv(table, index=False)
    known.write_text("required A -> B\nforbidden B -> C\ntier 1: A\ntier 2: D\n")
    out = tmp_path / "out"
    options = (
        *("--environment", "e", "--observational", "plain, also plain", "--known", "e1=A,B", "--known", "e2="),
        *("--bins", "3", "--bins", "C=2:uniform", "--log", "--missing", "category", "--drop", "id"),
        *("--knowledge", known, "--forbid", "C->A"),
    )
    result = discover(out, table, *options)
    assert re.findall(r"touched in (\w+): (.*)", result.stdout) == [("e1", "A 1.00, B 1.00"), ("e2", "nothing")]
    made_of = content(out / "settings.json")
    assert made_of["world"] == {
        **{"kind": "table", "path": str(table), "environment": "e", "observational": ["plain", "also plain"]},
        **{"known": ["e1=A,B", "e2="], "targets": None, "target_column": None, "target_base": None, "regimes": None},
        **{"interventions": None, "bins": ["3:log", "C=2:uniform:log"], "missing": "category", "drop": ["id"]},
        **{"keep": [], "knowledge": str(known), "truth": None},
    }
    assert list(made_of["files"]) == [str(table), str(known)]
    assert made_of["knowledge"] == {
        **{"required": [["A", "B"]], "forbidden": [["C", "A"], ["D", "A"], ["B", "C"]], "only": None},
    }
    probabilities = read_edges(out / "edges.csv")[1]
    assert (probabilities[1, 0], probabilities[0, 1], probabilities[2, 1], probabilities[0, 2]) == (1, 0, 0, 0)
    before = (out / "edges.csv").read_bytes()
    (out / "edges.csv").unlink()
    succeed("discover", "--resume", out)
    assert (out / "edges.csv").read_bytes() == before
    known.write_text("required B -> A\n")
    result = run("discover", "--resume", out)
    assert result.exit_code == 2
    assert f"{known} has changed since the run began" in result.stderr


# -------------------------------------------------------------------------------------------------- errors

KNOWN = ("--method", "neural", "--set", "targets=known")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("chian3",), "unknown world 'chian3'"),
        (("chain2",), "at least 3"),
        (("missing.csv", "--environment", "e"), "expected a file"),
        (("TABLE",), "add --environment COLUMN"),
        (("TABLE", "--environment", "enviroment"), "did you mean 'environment'?"),
        (("TABLE", "--environment", "environment", "--observational", "e9"), "unknown observational environment 'e9'"),
        (("TABLE", "--environment", "environment", "--truth", "missing"), "missing: expected a CSV file"),
        (("TABLE", "--environment", "environment", "--knowledge", "missing"), "missing: expected a text file, got 'No"),
        (("TABLE", "--environment", "environment", "--knowledge", "UNKNOWN"), "line 2: expected a known variable, got"),
        (("chain3", "--bins", "3", "--drop", "A"), "chain3 is no table"),
        (("TABLE", "--environment", "environment", "--redrawn", "--categories", "3"), "drop --categories, --redrawn"),
        (("TABLE", "--environment", "environment", *KNOWN), "does not declare its target"),
        (("chain3", "--environment", "environment"), "chain3 is no table"),
        (("chain3", "--set", "sparsty=1"), "unknown setting 'sparsty'; did you mean 'sparsity'?"),
        (("chain3", "--set", "sparsity"), "expected name=value"),
        (("chain3", "--set", "batch=many"), "--set batch: expected a whole number, got 'many'"),
        (("chain3", "--set", "sparsity=-1"), "sparsity must be a number of at least 0"),
        (("chain3", "--set", "seed=1"), "unknown setting 'seed'"),
        (("chain3", "--set", "iterations=1", "--iterations", "2"), "iterations is given twice"),
        (("chain3", "--iterations", "0"), "at least 1"),
        (("chain3", "--preset", "papre"), "unknown preset 'papre'; choose from default, paper"),
        (("chain3", "--require", "A->X"), "unknown variable 'X'"),
        (("chain3", "--require", "A"), "expected one edge such as 'A->B'"),
        (("chain3", "--require", "A->B->C"), "expected one edge such as 'A->B'"),
        (("chain3", "--require", "A->B", "--require", "B->A"), "cycle"),
        (("chain3", "--require", "A->B", "--forbid", "A->B"), "both required and forbidden"),
        (("chain3", "--hard", "--intervention", "soft"), "exclude each other"),
        (("chain3", "--at-once", "4"), "cannot touch 4 variables"),
        (("chain3", "--resume", "somewhere"), "drop --iterations, --no-report, --out, --set, WORLD"),
        (("chain3", "--bootstrap", "5"), "drop --bootstrap, or write a table of it with `sdi simulate` first"),
        (("chain3", "--method", "tabels"), "unknown method 'tabels'; choose from auto, tables, neural"),
        (("chain3", "--method", "tables", "--set", "method=neural"), "method is given twice"),
        (("chain3", "--knowledge", "UNKNOWN"), "line 2: expected a known variable, got 'Z'"),
        ((), "expected `sdi discover WORLD --out DIR`"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_no_run(
    table: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "unknown.txt").write_text("required A -> B\nrequired A -> Z\n")
    places = {"TABLE": str(table), "UNKNOWN": str(tmp_path / "unknown.txt")}
    filled = [places.get(argument, argument) for argument in arguments]
    limits = [] if "--iterations" in filled else ["--iterations", "1"]
    small = [] if "--method" in filled else FAST
    result = run("discover", *filled, *small, *limits, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_out_is_needed() -> None:
    result = run("discover", "chain3")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--out DIR" in result.stderr


def test_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("discover", "chain3", *FAST, "--out", tmp_path / "file" / "out")
    assert result.exit_code == 2
    assert "error: cannot make the folder" in result.stderr


def test_folder_with_a_run_is_refused_unless_forced(done: Path, tmp_path: Path) -> None:
    discover(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = run("discover", "fork3", *FAST, "--iterations", 1, "--out", tmp_path)
    assert result.exit_code == 2
    assert f"sdi discover --resume {tmp_path}" in result.stderr
    assert "--force" in result.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    discover(tmp_path, "fork3", "--force")
    assert content(tmp_path / "settings.json")["world"]["name"] == "fork3"
    assert len(history(tmp_path)) == 3


@pytest.mark.parametrize("after", [0, 2])
def test_full_disk_is_one_line_and_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Full from the start, and after settings have been written, when there is a history but no checkpoint yet."""
    written = []

    def fsync(_: int) -> None:
        written.append(True)
        if len(written) > after:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fsync)
        result = run("discover", "chain3", *FAST, "--iterations", 3, "--seed", 1, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr.splitlines()[-1]
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == (set() if after == 0 else {"settings.json", "history.jsonl"})
    if after:
        succeed("discover", "--resume", tmp_path / "out")
        assert len(history(tmp_path / "out")) == 3


# ----------------------------------------------------------------------------------------------------- live


def test_terminal_gets_a_live_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(watch, "_err", Console(file=screen, force_terminal=True, width=200))
    discover(tmp_path)
    last = r"iteration 3 of at most 3, 12 interventions, \d of 6 edges decided, R-hat \d+\.\d\d, \d+ s, distance from"
    assert re.search(last, screen.getvalue())
    assert "compiling" not in screen.getvalue()


# ----------------------------------------------------------------------------------------------------- demo


def test_demo_replaces_its_own_folder_and_no_other(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_command, "OF_NETWORK", Settings(**SMALL, iterations=1))
    for _ in range(2):
        result = succeed("demo", "--simulated", "--no-report", "--out", tmp_path)
        assert "simulated" in result.stderr
        assert f"wrote {tmp_path / 'graph.json'}" in result.stdout
    assert content(tmp_path / "graph.json")["names"] == [each.name for each in load("earthquake").variables]
    result = run("demo", "--out", done)
    assert result.exit_code == 2
    assert "already holds a run" in result.stderr


def test_progress_of_networks_counts_anew_once_they_see_all_rows() -> None:
    world = named_world("chain3", rng=np.random.default_rng(0))
    state = auto.initial_state(world, Settings(), 0)
    assert watch._stage(state) == ("tables", 0)
    state = auto.initial_state(world, Settings(), 0, both=True)
    assert state.neural is not None
    later = state.neural._replace(iteration=7)
    assert watch._stage(state._replace(neural=later)) == ("networks", 7)
    more = later.with_more_rows()._replace(iteration=9)
    assert watch._stage(state._replace(neural=more)) == ("networks with all rows", 2)
