"""Runs on disk: whatever the method and the world, one that was cut comes to the bits of one that was not."""

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdi.collected import Table
from sdi.formats import run as files
from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings
from sdi.plans import Plan, as_dict, other_versions, plan_from_dict
from sdi.runs import Outcome, resumed, started
from sdi.sources import Cells, Simulated, check_unchanged, lasting, study
from sdi.worlds.dataset import freeze
from sdi.worlds.named import named_world
from sdi.worlds.tables import Table as Mechanism

SIZE: dict[str, Any] = {
    "method": "neural",
    **{"iterations": 4, "interventions": 3, "rows_per_intervention": 40, "fit_steps": 20, "batch": 32},
    **{"scoring_batches": 2, "scoring_configurations": 3, "prediction_batches": 2},
}
CHAIN = Simulated(name="chain3")


@pytest.fixture
def rows(tmp_path: Path) -> Table:
    world = named_world("chain3", rng=np.random.default_rng(1))
    frozen = freeze(world, observational=60, environments=3, rows=20, rng=np.random.default_rng(2))
    frozen.dataset.frame("where").to_csv(tmp_path / "rows.csv", index=False)
    return Table(path=str(tmp_path / "rows.csv"), environment="where")


def follow(folder: Path, plan: Plan) -> Outcome:
    """To the end without a break."""
    with started(folder, plan, plan.study()) as run:
        for step in run.steps():
            run.keep(step)
        return run.finish()


def stumble(folder: Path, plan: Plan) -> Outcome:
    """To the end with a break after every iteration, the second of them without a word."""
    with started(folder, plan, plan.study()) as run:
        run.keep(next(run.steps()))
        run.finish("interrupted")
    with resumed(folder) as run:
        assert run.state.iteration == 1
        run.keep(next(run.steps()))  # its record is written, its checkpoint is not yet due
    for reached in (1, 2, 3):
        with resumed(folder) as run:
            assert (run.state.iteration, run.finished) == (reached, False)
            for step in islice(run.steps(), 1):
                run.keep(step)
            outcome = run.finish(None if run.finished else "interrupted")
    return outcome


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        (CHAIN, {}),
        (CHAIN, {"estimator": "ratio", "targets": "deterioration"}),
        (replace(CHAIN, redrawn=True), {"estimator": "paper", "targets": "random"}),
        (None, {}),
        (None, {"estimator": "ratio", "targets": "deterioration"}),
        (CHAIN, {"method": "tables", "sweeps": 5, "margin": 1e-9}),
        (None, {"method": "tables", "sweeps": 5, "agreement": 0.0}),
    ],
    ids=["default", "ratio", "paper, redrawn", "table", "table, ratio", "tables", "table, tables"],
)
def test_cut_run_comes_to_the_same_bits(
    tmp_path: Path,
    rows: Table,
    source: Simulated | None,
    changes: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sdi.formats.run.PAUSE", 1e9)  # no checkpoint is ever due, however slow the machine
    knowledge = Knowledge(required=[("A", "B")])
    settings = Settings(**SIZE | changes)
    plan = Plan(source=source or rows, settings=settings, knowledge=knowledge, seed=5, report=False)
    whole, cut = follow(tmp_path / "whole", plan), stumble(tmp_path / "cut", plan)
    assert whole.graph == cut.graph
    assert whole.metrics == cut.metrics
    for name in (files.SETTINGS, files.EDGES, files.GRAPH, files.ENVIRONMENTS):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes()
    assert cut.discovery.reason == "iterations"
    assert cut.discovery.probabilities[1, 0] == 1


def test_plan_survives_json(rows: Table) -> None:
    knowledge = Knowledge(required=[("A", "B")], forbidden=[("B", "C")], only=[("A", "C")])
    for source in (rows, replace(CHAIN, redrawn=True, intervention="pinned", untouched=0.25), Cells()):
        settings = Settings.paper(hidden=7)
        plan = Plan(source=source, settings=settings, knowledge=knowledge, seed=9, command="demo", bootstrap=3)
        as_text = files.as_json(as_dict(plan, plan.study()))
        assert plan_from_dict(files.json.loads(as_text)) == plan


def test_other_versions_are_told() -> None:
    now = as_dict(Plan(source=CHAIN), study(CHAIN, temperature=1, seed=0))
    assert other_versions(now) == {}
    assert other_versions({**now, "versions": {**now["versions"], "jax": "0.0"}})["jax"][0] == "0.0"
    assert set(other_versions({})) == {"sdi", "jax", "numpy", "scipy"}


def test_error_before_the_first_iteration_leaves_no_run(tmp_path: Path, rows: Table) -> None:
    plan = Plan(source=rows, settings=Settings(**SIZE | {"targets": "known"}))
    with pytest.raises(ValueError, match="does not declare"):
        follow(tmp_path / "out", plan)
    assert not list((tmp_path / "out").iterdir())


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    plan = Plan(source=CHAIN, settings=Settings(**SIZE))
    with started(tmp_path, plan, plan.study()):
        with pytest.raises(ValueError, match="another process"), resumed(tmp_path):
            pass
        with pytest.raises(ValueError, match="another process"), started(tmp_path, plan, plan.study(), force=True):
            pass
        assert (tmp_path / files.SETTINGS).exists()


def test_world_is_the_one_that_simulate_draws() -> None:
    mechanisms, _ = np.random.default_rng(4).spawn(2)
    expected = named_world("random8:9", rng=mechanisms)
    studied = study(Simulated(name="random8:9"), temperature=1, seed=4)
    rng = np.random.default_rng
    np.testing.assert_array_equal(studied.world.observe(50, rng(0)), expected.observe(50, rng(0)))
    np.testing.assert_array_equal(studied.truth, expected.graph.parents)


def test_temperature_flattens_the_tables_of_a_network() -> None:
    sharp, flat = (study(Simulated(name="cancer"), temperature=each, seed=0).world for each in (1, 4))
    highest = []
    for world in (sharp, flat):
        mechanism = world.mechanisms[0]  # type: ignore[attr-defined]
        assert isinstance(mechanism, Mechanism)
        highest.append(mechanism.probabilities(np.zeros((1, 0), np.uint8)).max())
    assert highest[1] < highest[0]


def test_paths_hold_in_any_folder_and_files_are_watched(
    tmp_path: Path, rows: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = replace(rows, path="rows.csv")
    assert lasting(here) == rows
    assert lasting(CHAIN) == CHAIN
    before = study(rows, temperature=1, seed=0).files
    check_unchanged(before, before)
    Path(rows.path).write_text(Path(rows.path).read_text() + "\n")
    with pytest.raises(ValueError, match="has changed since the run began"):
        check_unchanged(study(rows, temperature=1, seed=0).files, before)
