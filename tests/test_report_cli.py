"""From a table to a report: what a run writes for people, what the terminal says last, refits, and the demo."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from sdi import report, reporting
from sdi.cli import demo as demo_command
from sdi.cli import watch
from sdi.cli.app import app
from sdi.cli.outcome import show_outcome
from sdi.data import SACHS_TARGETS
from sdi.formats import run as files
from sdi.formats.edges import read_edges
from sdi.method.discover import Discovery
from sdi.method.settings import Settings
from sdi.plans import plan_from_dict
from sdi.runs import Outcome, as_graph, resumed, started

# chains that never agree well enough, so that both iterations are made
ENDLESS = ("--set", "agreement=0")
FAST = ("--method", "tables", "--iterations", 2, "--set", "sweeps=5", "--set", "chains=2", *ENDLESS, "--seed", 1)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def shown_in(folder: Path) -> dict[str, Any]:
    """The data that the page carries."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of a chain in 3 environments, one of them small enough for a warning, and without an intervention."""
    folder = tmp_path_factory.mktemp("rows")
    options = ("--observational", 300, "--environments", 3, "--rows", 120, "--seed", 1, "--categories", 3)
    succeed("simulate", "chain3", *options, "--out", folder)
    rows = pd.read_csv(folder / "data.csv")
    kept = (rows["environment"] != "e3") | (rows.groupby("environment").cumcount() < 30)
    rows[kept].to_csv(folder / "few.csv", index=False)
    return folder / "few.csv"


@pytest.fixture(scope="module")
def refitted(table: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A run with a report and three refits."""
    out = tmp_path_factory.mktemp("refitted")
    return out, succeed("discover", table, "--environment", "environment", *FAST, "--bootstrap", 3, "--out", out)


# ------------------------------------------------------------------------------------------------- report


def test_folder_knows_the_files_of_a_report() -> None:
    assert files.REPORT == report.FILES


def test_run_leaves_a_report_and_the_last_line_says_where(refitted: tuple[Path, Result], table: Path) -> None:
    out, result = refitted
    assert names_in(out) == set(files.ALL) - {files.METRICS}
    assert result.stdout.splitlines()[-1] == f"the report is {out / 'report.html'}"
    assert f"wrote {out / 'graph.svg'}" in result.stdout
    assert "found with probability tables" in result.stdout
    shown = shown_in(out)
    assert shown["title"] == "few.csv"
    assert shown["command"] == (
        f"sdi discover {table} --environment environment --method tables --iterations 2 --set chains=2 --set sweeps=5 "
        f"--set agreement=0.0 --bootstrap 3 --seed 1 --out {out}"
    )
    assert dict(shown["settings"])["sweeps"] == "5"
    assert len(shown["settings"]) == len(Settings.__dataclass_fields__)
    assert [each["name"] for each in shown["environments"]] == ["e1", "e2", "e3"]
    assert shown["reference"] is None
    assert shown["compared"]["rows"] == []
    assert shown["history"]["iterations"] == [1, 2]
    assert "scipy" in shown["repeat_note"]


def test_warnings_of_the_table_and_the_method_are_on_the_page_and_on_the_screen(
    refitted: tuple[Path, Result],
) -> None:
    out, result = refitted
    few = "environment 'e3' has 30 rows; expect little certainty from so few"
    assert few in shown_in(out)["warnings"]
    assert f"warning: {few}" in result.stdout
    assert json.loads((out / "graph.json").read_text())["warnings"] == shown_in(out)["warnings"]


def test_run_without_a_report_makes_none(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "write_report", lambda *_: pytest.fail("a report was made"))
    result = succeed("discover", table, "--environment", "environment", *FAST, "--no-report", "--out", tmp_path)
    assert not names_in(tmp_path) & set(files.REPORT)
    assert "the report is" not in result.stdout
    succeed("discover", "--resume", tmp_path)
    assert not names_in(tmp_path) & set(files.REPORT)


def test_only_a_report_brings_in_matplotlib() -> None:
    program = "import sys, sdi.cli.app, sdi.cli.outcome, sdi.cli.watch; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_force_removes_the_report_and_the_refits_of_the_run_before(
    refitted: tuple[Path, Result], table: Path, tmp_path: Path
) -> None:
    for path in refitted[0].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "notes.txt").write_text("mine")
    options = ("--environment", "environment", *FAST, "--no-report", "--out", tmp_path)
    assert "report.html" in run("discover", table, *options).stderr
    succeed("discover", table, *options, "--force")
    assert not names_in(tmp_path) & {*files.REPORT, files.REFITS, files.SHARES}
    assert "notes.txt" in names_in(tmp_path)


def test_simulated_world_has_a_report_with_knowledge_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "known.txt").write_text('required A -> "B"\ntier 1: A, B\ntier 2: C\n')
    small = ("--set", "interventions=3", "--set", "rows_per_intervention=50", "--set", "observational_rows=200")
    result = succeed(
        "discover", "chain3", *FAST, *small, "--knowledge", tmp_path / "known.txt", "--out", tmp_path / "out"
    )
    assert "A -> B 1.00\n" in result.stdout
    made_of = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert made_of["knowledge"]["forbidden"] == [["C", "A"], ["C", "B"]]
    assert list(made_of["files"]) == [str(tmp_path / "known.txt")]
    assert shown_in(tmp_path / "out")["title"] == "chain3"
    (tmp_path / "known.txt").write_text("required B -> A\n")
    assert "has changed since the run began" in run("discover", "--resume", tmp_path / "out").stderr


# ------------------------------------------------------------------------------------------------- methods


def found_by_both(verdict: tuple[float, float]) -> Discovery:
    parents = np.array([[0, 0], [1, 0]], dtype=bool)
    compared = (
        {"method": "tables", "log_likelihood": verdict[0], "edges": [("A", "B", 0.9)]},
        {"method": "neural", "log_likelihood": verdict[1], "edges": []},
    )
    return Discovery(
        names=("A", "B"),
        probabilities=parents.astype(np.float32),
        parents=parents,
        removed=(),
        environments=("e1",),
        targets=np.array([[0.9, 0.1]], np.float32),
        reason="settled",
        iterations=5,
        interventions=1,
        method="tables" if verdict[0] > verdict[1] else "neural",
        compared=compared,
    )


def test_terminal_says_which_method_is_trusted_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    found = found_by_both((-1.25, -1.5))
    show_outcome(Outcome(found, as_graph(found, ("think twice",)), None, (), None), finite=True)
    text = capsys.readouterr().out
    assert "found with probability tables: tables predicts the held-out rows of interventions better than" in text
    assert "(-1.2500 against -1.5000" in text
    assert "warning: think twice\n" in text
    assert "touched in e1: A 0.90\n" in text


def test_report_tells_edges_and_seconds_of_both_methods() -> None:
    history = [{"seconds": 2.0, "r_hat": 1.2}, {"seconds": 5.0, "r_hat": 1.0}, {"seconds": 35.0}]
    told = reporting._compared(found_by_both((-1.5, -1.25)), history)
    assert [(each["method"], each["edges"], each["seconds"]) for each in told] == [
        ("tables", 1, 5.0),
        ("neural", 0, 30.0),
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0 s"), (48, "48 s"), (125, "2 min 5 s"), (12_000, "3 h 20 min"), (3600, "1 h 0 min")]
)
def test_time_left_is_told_in_words(seconds: float, text: str) -> None:
    assert watch.duration(seconds) == text


# -------------------------------------------------------------------------------------------------- refits


def test_refits_are_counted_in_every_result(refitted: tuple[Path, Result]) -> None:
    out, result = refitted
    made = [json.loads(line) for line in (out / "bootstrap.jsonl").read_text().splitlines()]
    assert [refit["refit"] for refit in made] == [1, 2, 3]
    rows = pd.read_csv(out / "bootstrap.csv")
    assert list(rows.columns) == ["cause", "effect", "share"]
    assert len(rows) == 6
    for row in rows.itertuples():
        assert row.share == sum([row.cause, row.effect] in refit["edges"] for refit in made) / 3
    shares = {(row.cause, row.effect): row.share for row in rows.itertuples()}
    graph = json.loads((out / "graph.json").read_text())
    assert graph["edges"]
    for edge in graph["edges"]:
        assert edge["share"] == shares[edge["cause"], edge["effect"]]
        again = f"in {round(3 * edge['share'])} of 3 refits"
        assert f"{edge['cause']} -> {edge['effect']} {edge['probability']:.2f}, {again}\n" in result.stdout
    shown = shown_in(out)
    assert shown["refits"] == 3
    assert "Shares of 3 refits" in [title for title, _ in shown["meaning"]]
    assert list(read_edges(out / "edges.csv")[0]) == ["A", "B", "C"]  # readers of edges are not disturbed


def test_terminal_counts_refits_and_tells_the_time_left(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "QUIET", 0.0)
    options = ("--environment", "environment", *FAST, "--bootstrap", 3, "--no-report", "--out", tmp_path)
    lines = succeed("discover", table, *options).stderr.splitlines()
    counted = [line.split(", ")[0] for line in lines]
    assert counted == ["iteration 1 of at most 2", *(f"{made} of 3 refits" for made in (0, 1, 2, 3))]
    assert re.search(r"R-hat [\d.]+, \d+ s, at most \d+ s left$", lines[0])
    assert [bool(re.search(r"about \d+ s left$", line)) for line in lines[1:]] == [False, True, True, False]


@pytest.mark.parametrize("left", [0, 1, 2])
def test_refits_that_were_cut_go_on_to_the_same_bytes(refitted: tuple[Path, Result], tmp_path: Path, left: int) -> None:
    """Killed after so many refits, in the middle of a line."""
    out, _ = refitted
    for path in out.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    lines = (out / "bootstrap.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "bootstrap.jsonl").write_text("".join(lines[:left]) + lines[left][:12])
    (tmp_path / "bootstrap.csv").unlink()
    result = succeed("discover", "--resume", tmp_path)
    assert f"going on after refit {left}" in result.stderr
    for name in ("bootstrap.csv", "graph.json", "edges.csv"):
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes()
    assert "has finished already" in succeed("discover", "--resume", tmp_path).stderr


def test_run_that_is_not_at_its_end_has_no_refits_yet(refitted: tuple[Path, Result], tmp_path: Path) -> None:
    plan = plan_from_dict(json.loads((refitted[0] / "settings.json").read_text()))
    with started(tmp_path, replace(plan, report=False), plan.study()) as begun:
        for step in islice(begun.steps(), 1):
            begun.keep(step)
        assert list(begun.refits()) == []
        begun.finish("interrupted")
    assert not names_in(tmp_path) & {files.REFITS, files.SHARES}
    with resumed(tmp_path) as gone_on:
        for step in gone_on.steps():
            gone_on.keep(step)
        for refit in islice(gone_on.refits(), 1):
            assert gone_on.keep_refit(refit) == 1
        assert gone_on.finish().graph["edges"][0].keys() == {"cause", "effect", "probability", "share"}
    first = (tmp_path / files.REFITS).read_text()
    assert (refitted[0] / files.REFITS).read_text().startswith(first)


def test_interrupted_refits_leave_results_and_say_how_to_go_on(table: Path, tmp_path: Path) -> None:
    arguments = ["discover", table, "--environment", "environment", *FAST, "--bootstrap", 5000, "--no-report"]
    program = [sys.executable, "-c", "from sdi.cli import main; main()", *map(str, arguments), "--out", str(tmp_path)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    path = tmp_path / files.REFITS
    while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < 2):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert f"go on with `sdi discover --resume {tmp_path}`" in stderr
    made = path.read_bytes().count(b"\n")
    assert 2 <= made < 5000
    assert f"of {made} refits\n" in stdout
    assert "it was interrupted" not in stdout  # the run itself had come to its end
    assert (tmp_path / files.SHARES).exists()


# ---------------------------------------------------------------------------------------------------- demo


def test_demo_finds_a_graph_of_real_cells_and_compares_it_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(demo_command.OF_CELLS, method="tables", iterations=1, sweeps=2, chains=1)
    assert short.several_targets
    monkeypatch.setattr(demo_command, "OF_CELLS", short)
    result = succeed("demo", "--out", tmp_path)
    assert "7,466 human T cells" in result.stderr
    assert result.stdout.splitlines()[-1] == f"the report is {tmp_path / 'report.html'}"
    assert re.search(r"^\w+ -> \w+ [01]\.\d\d$", result.stdout, re.MULTILINE)
    shown = shown_in(tmp_path)
    assert shown["command"] == f"sdi demo --seed 1 --out {tmp_path}"
    assert {row[0] for row in shown["reference"]["targets"]} == set(SACHS_TARGETS)
    edges = {group["title"]: len(group["edges"]) for group in shown["reference"]["groups"]}
    assert edges["agree"] + edges["reversed, as published"] + edges["missed"] == 17
    assert all(environment["declared"] is None for environment in shown["environments"])
    made_of = json.loads((tmp_path / "settings.json").read_text())
    assert (made_of["world"], made_of["files"]) == ({"kind": "cells", "bins": "3:log"}, {})
    before = (tmp_path / "edges.csv").read_bytes()
    (tmp_path / "edges.csv").unlink()
    succeed("discover", "--resume", tmp_path, "--json")
    assert (tmp_path / "edges.csv").read_bytes() == before
