"""The command line: what it writes and prints, that a seed fixes every byte, and every error as one line."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from sdi import networks
from sdi.cli.app import app
from sdi.formats.edges import read_targets, read_truth
from sdi.graphs import graph
from sdi.worlds.from_table import dataset_from_table

MEASURES = [
    *("shd", "hamming", "precision", "recall", "f1", "auroc", "auprc", "edge_cross_entropy", "sid"),
    "target_accuracy",
]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def as_json(*arguments: object) -> Any:
    return json.loads(succeed(*arguments, "--json").stdout)


def simulate(out: Path, world: str = "asia", *options: object) -> Result:
    return succeed("simulate", world, "--observational", 200, "--environments", 9, "--rows", 40, "--out", out, *options)


# ------------------------------------------------------------------------------------------------ simulate


def test_simulate_writes_rows_truth_and_targets(tmp_path: Path) -> None:
    simulate(tmp_path / "new" / "folder", "asia", "--seed", 3)
    out = tmp_path / "new" / "folder"
    assert sorted(path.name for path in out.iterdir()) == ["data.csv", "targets.csv", "truth.csv"]
    network = networks.load("asia")
    data = pd.read_csv(out / "data.csv", dtype=str, keep_default_na=False)
    assert list(data.columns) == [*(variable.name for variable in network.variables), "environment"]
    expected = {"observational": 200} | {f"e{k}": 40 for k in range(1, 10)}
    assert data["environment"].value_counts().to_dict() == expected
    for variable in network.variables:
        assert set(data[variable.name]) <= set(variable.states)
    true_edges = {(parent, variable.name) for variable in network.variables for parent in variable.parents}
    truth = pd.read_csv(out / "truth.csv")
    assert set(truth.itertuples(index=False, name=None)) == true_edges
    targets = read_targets(out / "targets.csv")
    assert list(targets) == [f"e{k}" for k in range(1, 10)]
    assert {name for touched in targets.values() for name in touched} == set(data.columns) - {"environment"}


def test_simulated_files_read_back_as_a_dataset_with_known_targets(tmp_path: Path) -> None:
    simulate(tmp_path, "chain5", "--intervention", "pinned", "--categories", 3, "--seed", 2)
    targets = read_targets(tmp_path / "targets.csv")
    dataset = dataset_from_table(pd.read_csv(tmp_path / "data.csv"), "environment", targets=targets)
    assert len(dataset.observational) == 200
    for environment in dataset.environments:
        assert environment.target is not None
        assert all(len(set(environment.rows[:, i].tolist())) == 1 for i in environment.target)  # it was pinned
    assert (read_truth(tmp_path / "truth.csv", dataset.names)[1] == graph("chain5").parents).all()


def test_parquet_holds_the_same_rows_as_csv(tmp_path: Path) -> None:
    simulate(tmp_path / "a", "survey")
    simulate(tmp_path / "b", "survey", "--format", "parquet")
    frame = pd.read_parquet(tmp_path / "b" / "data.parquet")
    assert isinstance(frame["A"].dtype, pd.CategoricalDtype)  # the order of the states is kept
    assert frame.astype(str).equals(pd.read_csv(tmp_path / "a" / "data.csv", dtype=str, keep_default_na=False))


@pytest.mark.parametrize("world", ["asia", "random9:12", "A->B->C, {A-D}->E"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_same_seed_writes_the_same_bytes_in_another_process(world: str, form: str, tmp_path: Path) -> None:
    simulate(tmp_path / "here", world, "--seed", 5, "--format", form)
    arguments = ["simulate", world, "--observational", "200", "--environments", "9", "--rows", "40", "--seed", "5"]
    program = "from sdi.cli import main; main()"
    command = [sys.executable, "-c", program, *arguments, "--format", form, "--out", str(tmp_path / "there")]
    subprocess.run(command, check=True, capture_output=True)
    simulate(tmp_path / "other", world, "--seed", 6, "--format", form)

    def content(folder: str) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}

    assert content("here") == content("there")
    assert content("here")[f"data.{form}"] != content("other")[f"data.{form}"]


def test_world_of_a_seed_does_not_depend_on_how_much_is_sampled(tmp_path: Path) -> None:
    simulate(tmp_path / "a", "random9:12", "--seed", 7)
    succeed("simulate", "random9:12", "--seed", 7, "--observational", 10, "--environments", 0, "--out", tmp_path / "b")
    assert (tmp_path / "a" / "truth.csv").read_bytes() == (tmp_path / "b" / "truth.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "constant"), [([], False), (["--hard"], False), (["--intervention", "pinned"], True)]
)
def test_kind_of_intervention_reaches_the_rows(options: list[str], constant: bool, tmp_path: Path) -> None:
    simulate(tmp_path, "chain5", "--seed", 1, *options)
    data = pd.read_csv(tmp_path / "data.csv")
    targets = read_targets(tmp_path / "targets.csv")
    held = [data.loc[data["environment"] == e, target].nunique() == 1 for e, (target,) in targets.items()]
    assert all(held) if constant else not all(held)


def test_hard_is_short_for_drawn_uniformly(tmp_path: Path) -> None:
    simulate(tmp_path / "a", "asia", "--hard")
    simulate(tmp_path / "b", "asia", "--intervention", "uniform")
    simulate(tmp_path / "c", "asia")
    first, second, soft = ((tmp_path / folder / "data.csv").read_bytes() for folder in "abc")
    assert first == second
    assert first != soft


def test_several_or_no_variables_are_touched_where_asked(tmp_path: Path) -> None:
    simulate(tmp_path, "chain5", "--at-once", 2, "--untouched", "0.34")
    assert sorted(len(touched) for touched in read_targets(tmp_path / "targets.csv").values()) == [0] * 3 + [2] * 6


def test_existing_files_are_overwritten_only_by_force(tmp_path: Path) -> None:
    simulate(tmp_path, "asia", "--seed", 1)
    before = (tmp_path / "data.csv").read_bytes()
    refused = run("simulate", "asia", "--seed", 2, "--out", tmp_path)
    assert refused.exit_code == 2
    assert "data.csv exists already; choose another folder or add --force" in refused.stderr
    assert (tmp_path / "data.csv").read_bytes() == before
    simulate(tmp_path, "asia", "--seed", 2, "--force")
    assert (tmp_path / "data.csv").read_bytes() != before


def test_simulate_tells_machines_where_the_files_are(tmp_path: Path) -> None:
    summary = json.loads(simulate(tmp_path, "asia", "--seed", 4, "--json").stdout)
    assert {name: Path(path).name for name, path in summary.pop("files").items()} == {
        "data": "data.csv",
        "truth": "truth.csv",
        "targets": "targets.csv",
    }
    assert summary == {"world": "asia", "seed": 4, "variables": 8, "edges": 8, "rows": 560}


# ------------------------------------------------------------------------------------- networks and version


def test_networks_lists_what_ships() -> None:
    listed = {row["name"]: row for row in as_json("networks")}
    assert set(listed) == {"asia", "cancer", "earthquake", "survey", "sachs", "alarm", "barley"}
    assert listed["alarm"] == {
        "name": "alarm",
        "variables": 37,
        "edges": 46,
        "largest_in_degree": 4,
        "fewest_states": 2,
        "most_states": 4,
    }
    text = succeed("networks").stdout
    assert re.search(r"^asia +8 +8 +2 +2 +2$", text, re.MULTILINE)


def test_version_is_that_of_the_package() -> None:
    assert re.fullmatch(r"sdi \d+\.\d+\.\d+\n", succeed("--version").stdout)


@pytest.mark.parametrize("command", [[], ["simulate"], ["evaluate"], ["networks"]])
def test_help_is_there(command: list[str]) -> None:
    assert "Usage" in succeed(*command, "--help").stdout


# ------------------------------------------------------------------------------------------------ evaluate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A learned graph with one edge right, one turned round, one too many; one of two targets right."""
    files = {
        "edges.csv": "cause,effect,probability\nA,B,0.9\nC,B,0.8\nA,C,0.7\nB,C,0.4\n",
        "truth.csv": "cause,effect\nA,B\nB,C\n",
        "environments.csv": "environment,variable,probability\n"
        + "".join(f"{e},{v},{p}\n" for e, v, p in [("e1", "A", 0.9), ("e1", "B", 0.1), ("e2", "C", 0.2)]),
        "targets.csv": "environment,target\ne1,A\ne2,C\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_evaluate_prints_every_measure_by_its_name(folder: Path) -> None:
    result = as_json("evaluate", folder / "edges.csv", folder / "truth.csv")
    assert list(result) == MEASURES
    assert (result["shd"], result["hamming"], result["target_accuracy"]) == (2, 3, None)
    assert (result["precision"], result["recall"]) == (pytest.approx(1 / 3), 0.5)
    lines = [
        line.split() for line in succeed("evaluate", folder / "edges.csv", folder / "truth.csv").stdout.splitlines()
    ]
    assert [line[0] for line in lines] == ["measure", *MEASURES]
    assert dict(lines)["recall"] == "0.5000"
    assert dict(lines)["target_accuracy"] == "-"


def test_evaluate_of_the_truth_itself_is_perfect(tmp_path: Path) -> None:
    simulate(tmp_path, "jungle8")
    result = as_json("evaluate", tmp_path / "truth.csv", tmp_path / "truth.csv")
    assert {name: value for name, value in result.items() if value not in (1, None)} == {
        "shd": 0,
        "hamming": 0,
        "edge_cross_entropy": pytest.approx(0, abs=1e-6),
        "sid": 0,
    }


def test_evaluate_counts_targets_that_are_exactly_right(folder: Path) -> None:
    arguments = ("evaluate", folder / "edges.csv", folder / "truth.csv")
    options = ("--environments", folder / "environments.csv", "--targets", folder / "targets.csv")
    assert as_json(*arguments, *options)["target_accuracy"] == 0.5
    assert as_json(*arguments, *options, "--threshold", "0.15")["target_accuracy"] == 1


def test_threshold_decides_which_edges_are_there(folder: Path) -> None:
    result = as_json("evaluate", folder / "edges.csv", folder / "truth.csv", "--threshold", "0.85")
    assert (result["shd"], result["precision"]) == (1, 1)


def test_measure_that_is_not_defined_is_null_for_machines_and_a_dash_for_people(folder: Path) -> None:
    (folder / "edges.csv").write_text("cause,effect\nA,B\nB,C\nC,A\n")  # a cycle has no SID
    result = as_json("evaluate", folder / "edges.csv", folder / "truth.csv")
    assert result["sid"] is None
    assert re.search(r"^sid +-$", succeed("evaluate", folder / "edges.csv", folder / "truth.csv").stdout, re.MULTILINE)
    assert not any(isinstance(value, float) and math.isnan(value) for value in result.values())


def test_variable_without_learned_edges_is_told_apart_from_a_different_system(folder: Path) -> None:
    (folder / "edges.csv").write_text("cause,effect\nA,B\n")
    result = succeed("evaluate", folder / "edges.csv", folder / "truth.csv", "--json")
    assert json.loads(result.stdout)["recall"] == 0.5
    assert "taken as without edges: C" in result.stderr
    (folder / "edges.csv").write_text("cause,effect\nX,Y\n")
    result = run("evaluate", folder / "edges.csv", folder / "truth.csv")
    assert result.exit_code == 2
    assert "have no variable in common" in result.stderr


HOSTILE = [
    "[red]x[/red]",
    "[/]",
    "[link=file:///etc]y[/link]",
    ":bomb:",
    "=1+1",
    "a,b",
    'say "hi"',
    "two\nlines",
    "\x1b[2J",
]


def test_hostile_names_are_shown_as_text(folder: Path) -> None:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    pairs = "".join(f"{cell(name)},B\n" for name in HOSTILE)
    (folder / "edges.csv").write_text("cause,effect\nA,B\n")
    (folder / "truth.csv").write_text("cause,effect\nA,B\n" + pairs)
    result = succeed("evaluate", folder / "edges.csv", folder / "truth.csv")
    shown = [name.replace("\n", "\\n").replace("\x1b", "\\x1b") for name in HOSTILE]
    assert result.stderr.endswith(f"taken as without edges: {', '.join(shown)}\n")
    assert "\x1b" not in result.output


# -------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "asja", "--out", "o"], "error: unknown world 'asja': expected a family with its size"),
        (["simulate", "nowhere.bif", "--out", "o"], "error: unknown world 'nowhere.bif'"),
        (["simulate", "broken.bif", "--out", "o"], "error: broken.bif:1:1: "),
        (["simulate", "A->B->C->A", "--out", "o"], "error: the graph has a cycle: A -> B -> C -> A; remove"),
        (["simulate", "[b]A[/b]->B", "--out", "o"], "error: cannot read '[b]A[/b]' in '[b]A[/b]->B'"),
        (["simulate", "chain2", "--out", "o"], "error: 'chain2' has 2 variables"),
        (["simulate", "chain5", "--at-once", "6", "--out", "o"], "error: cannot touch 6 variables at once"),
        (["simulate", "chain5", "--untouched", "2", "--out", "o"], "error: untouched is a share between 0 and 1"),
        (["simulate", "asia", "--temperature", "0", "--out", "o"], "error: temperature must be above 0"),
        (
            ["simulate", "asia", "--hard", "--intervention", "soft", "--out", "o"],
            "error: --hard and --intervention soft",
        ),
        (["simulate", "asia", "--out", "a-file"], "error: cannot make the folder a-file: File exists; choose another"),
        (["simulate", "asia", "--out", "a-file/o"], "error: cannot make the folder a-file/o: Not a directory"),
        (["simulate", "environment->B", "--out", "o"], "error: 'environment' is a variable; name the environment"),
        (
            ["evaluate", "none.csv", "truth.csv"],
            "error: none.csv: expected a CSV file, got 'No such file or directory'",
        ),
        (["evaluate", "edges.csv", "none.csv"], "error: none.csv: expected a CSV file"),
        (["evaluate", "a-file", "truth.csv"], "error: a-file, row 1: expected one column 'cause'"),
        (["evaluate", "edges.csv", "truth.csv", "--targets", "targets.csv"], "error: --environments and --targets go"),
        (
            ["evaluate", "edges.csv", "truth.csv", "--environments", "environments.csv", "--targets", "strange.csv"],
            "error: strange.csv: target 'Z' of 'e1' is no variable of the graph",
        ),
        (
            ["evaluate", "edges.csv", "truth.csv", "--environments", "environments.csv", "--targets", "more.csv"],
            "error: environments.csv: environment 'e3' of more.csv has no row here; add it",
        ),
    ],
)
def test_error_is_one_line_without_a_traceback(
    arguments: list[str], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "a-file").write_text("x\n")
    (folder / "broken.bif").write_text("this is no network")
    (folder / "strange.csv").write_text("environment,target\ne1,Z\n")
    (folder / "more.csv").write_text("environment,target\ne1,A\ne3,A\n")
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1
    assert not (folder / "o" / "data.csv").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "asia", "--rows", "0", "--out", "o"],
        ["simulate", "asia", "--observational", "-1", "--out", "o"],
        ["simulate", "asia", "--environments", "-1", "--out", "o"],
        ["simulate", "asia", "--seed", "-1", "--out", "o"],
        ["simulate", "asia", "--categories", "1", "--out", "o"],
        ["simulate", "asia", "--intervention", "firm", "--out", "o"],
        ["simulate", "asia", "--format", "xlsx", "--out", "o"],
        ["simulate", "asia"],
        ["evaluate", "edges.csv", "truth.csv", "--threshold", "1.5"],
        ["discombobulate"],
    ],
)
def test_option_out_of_range_is_refused(arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_permission_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    result = run("simulate", "asia", "--out", tmp_path)
    assert result.exit_code == 2
    assert re.match(r"error: cannot write .*data\.csv: Permission denied", result.stderr)


def test_folder_that_refuses_files_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As above, for users who may write anywhere: the refusal comes from a stand-in for the file system."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    result = run("simulate", "asia", "--out", tmp_path)
    assert result.exit_code == 2
    assert "Permission denied" in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdi.networks.names", lambda: 1 / 0)
    assert isinstance(run("networks").exception, ZeroDivisionError)
