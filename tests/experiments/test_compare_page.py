"""The page: it says what the rows say, failures and defeats included."""

from pathlib import Path

import pytest
from experiments.__main__ import main
from experiments.comparison.page import verdicts, write
from experiments.comparison.raw import append, read, seeds_of
from experiments.comparison.run import COLUMNS
from experiments.comparison.tables import Row, by_case, cells, latest, markdown

LABELS = {
    **{"world": "asia", "observational": 2000, "per_variable": 1.0, "rows": 500, "kind": "soft", "categories": 2},
    **{"temperature": 2.0, "redrawn": False},
}


def row(method: str, seed: int, hamming: int | None, *, told: str = "targets unknown", worst: int | None = None) -> Row:
    fields = dict.fromkeys(COLUMNS, "") | {name: str(value) for name, value in LABELS.items()}
    fields |= {"seed": str(seed), "digest": f"d{seed}", "method": method, "told": told, "peak_mb": "100"}
    if hamming is None:
        return fields | {"status": "timeout", "note": "too slow"}
    numbers = {
        "hamming": hamming,
        "hamming_worst": hamming if worst is None else worst,
        "shd": hamming,
        "undirected": 0,
    }
    return fields | {"status": "ok", "cpu_seconds": "0.5"} | {name: str(value) for name, value in numbers.items()}


ROWS = [
    *(row("gies", seed, 0, told="targets known") for seed in (1, 2)),
    *(row("sdi_default", seed, seed) for seed in (1, 2)),
    *(row("ut_igsp", seed, 4) for seed in (1, 2)),
    row("eaton_murphy", 1, 0),
    row("eaton_murphy", 2, None),
    *(row("notears_codes", seed, 9, told="observational rows only") for seed in (1, 2)),
    *(row("notears_one_hot", seed, 7, told="observational rows only") for seed in (1, 2)),
]


def lines(rows: list[Row]) -> list:
    (found,) = by_case(rows).values()
    return found


def test_every_seed_is_shown_with_the_worst_and_the_mean() -> None:
    shown = {line.method: cells(line) for line in lines(ROWS)}
    assert shown["sdi_default"][2:5] == ("1 2", "2", "1.5")
    assert shown["eaton_murphy"][2:5] == ("0 t", "-", "0.0")
    assert shown["eaton_murphy"][-1] == "seed 2: timeout (too slow)"


def test_defeat_is_said_plainly() -> None:
    among_all, among_untold = verdicts("asia", lines(ROWS))
    assert among_all.startswith("**asia: of all methods, best is gies (mean Hamming 0.0")
    assert "which beats ours** (sdi_default, 1.5, 0.50 CPU s)" in among_all
    assert among_untold.startswith("asia: of those that are not told the targets, none is better than sdi_default")


def test_method_that_failed_once_is_not_the_best() -> None:
    without = [each for each in ROWS if each["method"] != "gies"]
    assert "eaton_murphy" not in " ".join(verdicts("asia", lines(without)))


def test_undirected_edges_are_half_right_in_the_verdict() -> None:
    rows = [row("sdi_default", 1, 2), row("ges", 1, 0, told="observational rows only", worst=6)]
    assert all("none is better than sdi_default" in each for each in verdicts("asia", lines(rows)))


def test_later_row_replaces_an_earlier_one() -> None:
    again = [*ROWS, row("eaton_murphy", 2, 3)]
    assert len(latest(again)) == len(ROWS)
    assert next(line for line in lines(again) if line.method == "eaton_murphy").numbers("hamming") == [0, 3]


def test_page_holds_the_better_variant_and_a_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page, figure = write(ROWS, tmp_path / "docs" / "page.md", tmp_path / "figures")
    text = page.read_text()
    assert "| notears | 7 (7.0), one-hot |" in text
    assert "| eaton_murphy | 0 (0.0), 1 failed |" in text
    assert "(../figures/compare_networks.png)" in text
    assert figure.stat().st_size > 1_000


def test_rows_survive_the_file(tmp_path: Path) -> None:
    for each in ROWS:
        append(tmp_path / "c.csv", each, COLUMNS)
    assert read(tmp_path / "c.csv") == ROWS


def test_cells_cannot_break_the_table() -> None:
    assert markdown(("a",), [("x|y\nz",)]).splitlines()[-1] == "| x/y z |"


@pytest.mark.parametrize(("text", "expected"), [("1-5", [1, 2, 3, 4, 5]), ("3", [3]), ("1,4", [1, 4])])
def test_seeds_are_read(text: str, expected: list[int]) -> None:
    assert seeds_of(text) == expected


def test_list_names_experiments_and_what_methods_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert "three_variables      The paper's method on its four 3-variable graphs" in shown
    assert "gies                 targets known" in shown


def test_unknown_world_is_an_error_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "asiaa", "--methods", "greedy", "--seeds", "1"]) == 2
    assert "unknown world 'asiaa'" in capsys.readouterr().err
