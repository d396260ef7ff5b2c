"""The rows on their way to a method: the same bits, and no word of the truth."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.comparison.data import Cells, Simulated, Table, load, make, save, told
from experiments.comparison.run import LABELS
from experiments.comparison.suites import SUITES, matches

SOURCE = Simulated(world="asia", observational=60, rows=20)


def test_rows_survive_the_file(tmp_path: Path) -> None:
    case = make(SOURCE, 1)
    save(tmp_path / "rows.npz", case.dataset)
    again = load(tmp_path / "rows.npz")
    assert (again.names, again.states) == (case.dataset.names, case.dataset.states)
    assert (again.observational == case.dataset.observational).all()
    for one, other in zip(again.environments, case.dataset.environments, strict=True):
        assert one.name == other.name
        assert (one.rows == other.rows).all()


def test_file_tells_neither_truth_nor_targets(tmp_path: Path) -> None:
    case = make(SOURCE, 1)
    save(tmp_path / "rows.npz", told(case.dataset, case.targets))
    with np.load(tmp_path / "rows.npz", allow_pickle=False) as file:
        assert set(file) == {"meta", "observational", *(f"rows_{k}" for k in range(8))}
    assert all(environment.target is None for environment in load(tmp_path / "rows.npz").environments)


def test_case_depends_on_the_seed_and_on_nothing_else() -> None:
    assert make(SOURCE, 1).digest == make(SOURCE, 1).digest
    assert make(SOURCE, 1).digest != make(SOURCE, 2).digest


def test_told_targets_are_declared_in_their_order() -> None:
    case = make(SOURCE, 3)
    assert case.targets is not None
    assert tuple(environment.target for environment in told(case.dataset, case.targets).environments) == case.targets
    assert sorted(case.targets) == [(i,) for i in range(8)]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 60), "b": rng.integers(0, 3, 60)})
    frame["where"] = np.repeat(["rest", "one", "two"], 20)
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "truth.csv").write_text("cause,effect\nb,a\n")
    (tmp_path / "targets.csv").write_text("environment,target\none,b\n")
    return Table(
        path=str(tmp_path / "t.csv"),
        environment="where",
        observational=("rest",),
        truth=str(tmp_path / "truth.csv"),
        targets=str(tmp_path / "targets.csv"),
    )


def test_table_keeps_its_truth_and_targets_apart(table: Table) -> None:
    case = make(table, 1)
    assert case.truth is not None
    assert case.truth.tolist() == [[False, True], [False, False]]
    assert case.targets == ((1,), None)
    assert all(environment.target is None for environment in case.dataset.environments)
    assert (case.labels["world"], case.labels["observational"], case.labels["rows"]) == ("t", 20, 20)


def test_cells_come_with_the_consensus_and_with_what_reagents_are_known_for() -> None:
    case = make(Cells(), 1)
    names = case.dataset.names
    assert case.truth is not None
    assert case.truth.sum() == 17
    assert case.truth[names.index("Mek"), names.index("Raf")]
    assert case.targets is not None
    assert [None if each is None else names[each[0]] for each in case.targets].count("PKC") == 2
    assert set(case.dataset.cardinalities) == {3}


def test_every_case_of_the_page_belongs_to_its_own_set() -> None:
    for name, suite in SUITES.items():
        for source in suite.sources:
            fields = {field: str(value) for field, value in vars(source).items()}
            row = dict.fromkeys(LABELS, "") | {"world": source.name} | fields
            assert any(matches(other, row) for other in suite.sources), name
            assert not matches(Simulated(world=source.name, rows=7), row)
