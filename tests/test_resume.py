"""Runs go on after any interruption with the bits of a run that had none, and never from something else."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from sdi.cli.app import app

SMALL = {
    "method": "neural",
    **{"fit_steps": 20, "batch": 32, "interventions": 4, "rows_per_intervention": 100},
    **{"scoring_batches": 2, "scoring_configurations": 5, "prediction_batches": 2},
    **{"estimator": "ratio", "targets": "deterioration"},  # what compiles fastest; test_runs.py has the others
}
LONG = {**SMALL, "iterations": 40, "patience": 1000}
FAST, LASTING = (
    ["--no-report", *(part for name, value in each.items() for part in ("--set", f"{name}={value}"))]
    for each in (SMALL, LONG)
)


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


def assert_same_run(folder: Path, other: Path) -> None:
    """The same bytes in every file, apart from seconds, and the same arrays; and no other files."""
    assert {path.name for path in folder.iterdir()} == {path.name for path in other.iterdir()}
    for name in ("edges.csv", "graph.json", "environments.csv", "metrics.json"):
        assert (folder / name).read_bytes() == (other / name).read_bytes(), name
    first, second = ([{**record, "seconds": 0} for record in history(each)] for each in (folder, other))
    assert first == second
    with np.load(folder / "checkpoint.npz") as ours, np.load(other / "checkpoint.npz") as theirs:
        leaves = [name for name in ours.files if name != "about"]
        assert len(leaves) > 5
        assert all(ours[name].tobytes() == theirs[name].tobytes() for name in leaves)


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


def test_same_seed_gives_the_same_bytes(done: Path, tmp_path: Path) -> None:
    discover(tmp_path)
    assert_same_run(tmp_path, done)


# `sdi discover` that is hit by a signal at the record of one iteration ("now"), in the middle of the next one ("soon"),
# or with the next checkpoint written but not yet in its place ("half"). Checkpoints are every fifth iteration: what
# happens depends on no clock but for a few milliseconds of "soon".
HIT = """
import os, signal, sys
from sdi.cli import main
from sdi.formats.run import CHECKPOINT, Journal

number, iteration, when = int(sys.argv.pop(1)), int(sys.argv.pop(1)), sys.argv.pop(1)
reached, add = False, Journal.add

def add_and_hit(journal, record):
    global reached
    add(journal, record)
    reached = record["iteration"] >= iteration
    if record["iteration"] == iteration and when == "now":
        os.kill(os.getpid(), number)
    if record["iteration"] == iteration and when == "soon":
        signal.setitimer(signal.ITIMER_REAL, 0.003)  # nobody handles it: that ends the process where it is

def before_a_move(event, given):
    if event == "os.rename" and reached and when == "half" and str(given[1]).endswith(CHECKPOINT):
        os.kill(os.getpid(), number)

Journal.add = add_and_hit
Journal.due = lambda journal: journal.last["iteration"] % 5 == 0
sys.addaudithook(before_a_move)
main()
"""


def hit(
    number: signal.Signals, iteration: int, when: str, *arguments: object, cache: Path
) -> "subprocess.CompletedProcess[str]":
    """`HIT` in a process of its own, to its end; what it compiles is kept for the next one."""
    return subprocess.run(
        [sys.executable, "-c", HIT, *map(str, (int(number), iteration, when, "discover", *arguments))],
        env={"JAX_COMPILATION_CACHE_DIR": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def saved_at(folder: Path) -> int:
    """The iteration of the checkpoint, 0 without one."""
    if not (folder / "checkpoint.npz").exists():
        return 0
    with np.load(folder / "checkpoint.npz", allow_pickle=False) as file:
        return int(json.loads(file["about"].tobytes())["iteration"])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    succeed("discover", "chain3", *LASTING, "--out", out)
    return out


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_run_says_how_to_go_on_and_does(
    undisturbed: Path, cache: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    out = tmp_path / "a folder"
    process = hit(number, 7, "now", "chain3", *LASTING, "--out", out, cache=cache)
    assert process.returncode == code, process.stderr
    assert "it was interrupted" in process.stdout
    assert f"go on with `sdi discover --resume '{out}'`" in process.stderr
    interrupted = content(out / "graph.json")
    assert interrupted["reason"] == "interrupted"
    assert 7 <= interrupted["iterations"] == len(history(out)) < 40
    result = succeed("discover", "--resume", out)
    assert f"going on after iteration {interrupted['iterations']}" in result.stderr
    assert_same_run(out, undisturbed)


def test_killed_run_goes_on_to_the_same_bits(undisturbed: Path, cache: Path, tmp_path: Path) -> None:
    """Ended without a chance to save: before a first checkpoint, between two, in an iteration, in the middle of a
    checkpoint; and started again each time."""
    arguments: list[object] = ["chain3", *LASTING, "--out", tmp_path]
    saved = []
    for iteration, when in ((1, "now"), (8, "now"), (13, "soon"), (33, "half")):
        process = hit(signal.SIGKILL, iteration, when, *arguments, cache=cache)
        assert process.returncode == -(signal.SIGALRM if when == "soon" else signal.SIGKILL), process.stderr
        saved.append(saved_at(tmp_path))
        arguments = ["--resume", tmp_path]
    assert saved[:2] == [0, 5]
    assert 10 <= saved[2] < saved[3] == 30
    assert not (tmp_path / "graph.json").exists()
    assert any(path.name.endswith(".tmp") for path in tmp_path.iterdir())
    succeed("discover", "--resume", tmp_path)
    assert_same_run(tmp_path, undisturbed)


def test_run_killed_before_its_first_checkpoint_begins_again(done: Path, tmp_path: Path) -> None:
    for name in ("settings.json", "history.jsonl"):
        (tmp_path / name).write_bytes((done / name).read_bytes()[: None if name == "settings.json" else 100])
    succeed("discover", "--resume", tmp_path)
    assert_same_run(tmp_path, done)


def test_finished_run_is_written_again_and_says_so(done: Path, tmp_path: Path) -> None:
    discover(tmp_path)
    (tmp_path / "edges.csv").unlink()
    result = succeed("discover", "--resume", tmp_path)
    assert "has finished already" in result.stderr
    assert_same_run(tmp_path, done)


def test_run_out_of_time_stays_finished(tmp_path: Path) -> None:
    discover(tmp_path, "chain3", "--seconds", 0.001)
    assert content(tmp_path / "graph.json")["reason"] == "seconds"
    result = succeed("discover", "--resume", tmp_path)
    assert "has finished already" in result.stderr
    assert content(tmp_path / "graph.json")["iterations"] == 1


def test_resume_without_a_run_is_one_line(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        result = run("discover", "--resume", folder)
        assert result.exit_code == 2
        assert f"error: {folder} holds no run" in result.stderr


def test_changed_table_is_noticed(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    discover(out, table, "--environment", "environment")
    succeed("discover", "--resume", out)
    rows = table.read_text().splitlines(keepends=True)
    table.write_text("".join([*rows, rows[-1]]))
    result = run("discover", "--resume", out)
    assert result.exit_code == 2
    assert f"{table} has changed since the run began" in result.stderr
    table.unlink()
    result = run("discover", "--resume", out)
    assert result.exit_code == 2
    assert "expected a file" in result.stderr


@pytest.mark.parametrize("damage", [b"", b"not a checkpoint", None])
def test_damaged_checkpoint_is_noticed_and_can_be_deleted(done: Path, tmp_path: Path, damage: bytes | None) -> None:
    discover(tmp_path)
    path = tmp_path / "checkpoint.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    result = run("discover", "--resume", tmp_path)
    assert result.exit_code == 2
    assert "expected a checkpoint, got a damaged or foreign file" in result.stderr
    assert "delete it" in result.stderr
    path.unlink()
    succeed("discover", "--resume", tmp_path)
    assert_same_run(tmp_path, done)


def test_checkpoint_of_another_run_is_noticed(done: Path, tmp_path: Path) -> None:
    discover(tmp_path, "fork3")
    (tmp_path / "checkpoint.npz").write_bytes((done / "checkpoint.npz").read_bytes())
    result = run("discover", "--resume", tmp_path)
    assert result.exit_code == 2
    assert "belongs to other settings" in result.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"gone": 1}}, "go on with the version that began it"),
        ({"settings": {"batch": 0}}, "batch must be"),
        ({"world": {}}, "go on with the version that began it"),
        ({"world": {"kind": "simulated", "name": "chain3", "gone": 1}}, "go on with the version that began it"),
    ],
)
def test_settings_of_another_version_are_one_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    discover(tmp_path)
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({**content(path), **change}))
    result = run("discover", "--resume", tmp_path)
    assert result.exit_code == 2
    assert message in result.stderr
