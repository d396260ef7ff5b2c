"""The table of real cells: what counts as a found target, and that a row is made of one version only."""

from pathlib import Path

import pytest

from experiments import cytometry


def test_target_counts_as_found_with_others_and_as_exact_alone() -> None:
    named = ((0,), (0, 1), (2,), (0, 1, 2), ())
    true = ((0,), (0,), (0,), None, (1,))
    assert cytometry.judged(named, true) == {"found": 2, "exact": 1, "named": 1.4}


def test_summary_shows_the_version_that_was_run_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cytometry, "RESULTS", tmp_path / "cytometry.csv")
    rows = [",".join(cytometry.COLUMNS)]
    for version, seed, edges in (("old", 1, 11), ("old", 2, 12), ("new", 2, 14), ("new", 1, 13)):
        cells = {
            "method": "gies",
            "told": "targets",
            "seed": seed,
            "edges": edges,
            "cpu_seconds": 1,
            "version": version,
        }
        rows.append(",".join(str(cells.get(column, "")) for column in cytometry.COLUMNS))
    (tmp_path / "cytometry.csv").write_text("\n".join(rows) + "\n")
    (line,) = cytometry.summary().splitlines()[2:]
    assert line.startswith("| gies | targets | 13 14 | - - |")


def test_gies_is_told_the_targets_and_counted_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gies")
    row = cytometry.one("gies", 1)
    assert row["agreeing"] + row["reversed"] + row["missed"] == 17
    assert row["agreeing"] + row["reversed"] + row["extra"] == row["edges"]
    assert "found" not in row
