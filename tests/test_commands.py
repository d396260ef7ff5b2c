"""The command of a run: typed again, it makes the same plan."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sdi.cli import discover as discover_command
from sdi.cli.app import app
from sdi.collected import Table
from sdi.commands import as_typed, command_for
from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings
from sdi.plans import Plan
from sdi.sources import Cells, Simulated

EVERYTHING = Table(
    path="/data/my cells.csv",
    environment="the 'condition'",
    observational=("left alone", "also"),
    known=("e1=A,B", "e2="),
    targets="targets.csv",
    target_column="INT",
    target_base="1",
    regimes="regimes.csv",
    interventions="touched.csv",
    bins=("3:log", "C=2:uniform"),
    missing="category",
    drop=("id", "$HOME"),
    keep=("A,B",),
    truth="truth.csv",
)
MODEL = Simulated(
    name="A->B->C",
    redrawn=True,
    categories=4,
    intervention="pinned",
    at_once=2,
    untouched=0.25,
    known_targets=True,
)


def typed(command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What `sdi discover` makes of the command."""
    taken: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    monkeypatch.setattr(discover_command, "begin", lambda *given, **options: taken.append((given, options)))
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    return taken[0]


@pytest.mark.parametrize(
    "plan",
    [
        Plan(source=Table(path="cells.csv", environment="e")),
        Plan(source=EVERYTHING, seed=7, bootstrap=20),
        Plan(source=Simulated(name="chain8"), settings=Settings.paper(), seed=3),
        Plan(source=MODEL, settings=Settings.paper(hidden=7, fit_betas=(0.5, 0.75)), report=False),
        Plan(source=MODEL, settings=Settings(method="tables", iterations=5, several_targets=True, temperature=1.5)),
        Plan(source=MODEL, settings=Settings(seconds=12.5, observational_rows=None)),
    ],
    ids=["plain", "everything", "paper", "nearly paper", "settings", "none"],
)
def test_command_typed_again_makes_the_same_plan(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    (out, source, settings, seed), options = typed(command_for(plan, Path("my runs/1")), monkeypatch)
    assert (out, source, settings, seed) == (Path("my runs/1"), plan.source, plan.settings, plan.seed)
    assert (options["bootstrap"], options["report"]) == (plan.bootstrap, plan.report)
    assert (list(options["require"]), list(options["forbid"])) == ([], [])


def test_command_names_what_is_not_the_default_and_nothing_else() -> None:
    plan = Plan(source=Table(path="cells.csv", environment="condition"), settings=Settings(method="tables"), seed=1)
    assert command_for(plan, Path("run")) == (
        "sdi discover cells.csv --environment condition --method tables --seed 1 --out run"
    )


def test_edges_that_were_typed_are_told_and_those_in_a_file_come_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "known.txt"
    path.write_text("required A -> B\nforbidden B -> C\n")
    knowledge = Knowledge(required=[("A", "C"), ("A", "B")], forbidden=[("C", "B"), ("B", "C")])
    for source in (Simulated(name="chain3"), Table(path="cells.csv", environment="e")):
        plan = Plan(source=replace(source, knowledge=str(path)), knowledge=knowledge)
        _, options = typed(command_for(plan, Path("run")), monkeypatch)
        assert options["knowledge"] == path
        assert (options["require"], options["forbid"]) == (["A->C"], ["C->B"])


def test_demo_is_repeated_as_a_demo() -> None:
    plan = Plan(source=Cells(), command="demo", seed=2, bootstrap=5)
    assert command_for(plan, Path("demo")) == "sdi demo --bootstrap 5 --seed 2 --out demo"
    plan = Plan(source=Simulated(name="earthquake"), command="demo", seed=2, report=False)
    assert command_for(plan, Path("demo")) == "sdi demo --simulated --no-report --seed 2 --out demo"


@pytest.mark.parametrize(
    ("value", "text"), [(None, "none"), (True, "true"), (False, "false"), ((0.5, 1), "0.5,1"), ("a", "a"), (1.5, "1.5")]
)
def test_value_of_a_setting_is_told_as_it_is_typed(value: object, text: str) -> None:
    assert as_typed(value) == text
