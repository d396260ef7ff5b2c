"""The page on when which method wins: every claim with a number is what the rows say, and gaps are named."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
from experiments.comparison import sweep_figures, which
from experiments.comparison.registry import METHODS
from experiments.comparison.run import COLUMNS
from experiments.comparison.suites import SUITES
from experiments.comparison.sweeps import OURS, SWEEPS, Place, edges, places, regrets, trust
from experiments.comparison.tables import Line, Row, by_case
from experiments.methods.ours import trusted

import sdi

PAGE = Path(__file__).resolve().parents[2] / "docs" / "which_method.md"
VERDICT = "settled after 9 iterations; trusted: neural (tables -0.7000, neural -0.5000 nats)"
ALONE = "settled after 2 iterations; trusted: tables"


def row(suite: str, place: int, method: str, seed: int, hamming: int | None, **rest: object) -> Row:
    fields = dict.fromkeys(COLUMNS, "") | {name: str(v) for name, v in vars(SUITES[suite].sources[place]).items()}
    told = METHODS[method].told if method in METHODS else "targets unknown"
    fields |= {"seed": str(seed), "digest": f"d{seed}", "method": method, "told": told, "peak_mb": "100"}
    fields |= {"version": "sdi 1", "note": ALONE, "status": "timeout", "cpu_seconds": ""}
    if hamming is not None:
        fields |= {"status": "ok", "cpu_seconds": "0.5", "hamming": str(hamming), "hamming_worst": str(hamming)}
    return fields | {name: str(value) for name, value in rest.items()}


def trio(place: int, seed: int, errors: tuple[int | None, int | None, int | None], note: str = ALONE) -> list[Row]:
    """Tables, networks and the default on one case of the sweep of parents."""
    notes = (ALONE, ALONE, note)
    return [row("parents", place, m, seed, e, note=n) for m, e, n in zip(OURS, errors, notes, strict=True)]


ROWS = [
    *trio(0, 1, (0, 1, 0)),
    *trio(0, 2, (0, 0, 0)),
    *trio(5, 1, (9, 2, 2), VERDICT),
    *trio(5, 2, (8, 3, 8)),
]


@pytest.fixture(autouse=True)
def figures_closed() -> Iterator[None]:
    yield
    plt.close("all")


def parents(rows: list[Row]) -> list[Place]:
    return places("parents", by_case(rows))


def filled(rows: list[Row], folder: Path) -> tuple[str, list[Path]]:
    page = folder / "docs" / "page.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(PAGE.read_text())
    written = which.write(rows, page, folder / "figures")
    return page.read_text(), written


def test_sweeps_stand_on_their_axes() -> None:
    expected = {
        "parents": [2, 4, 6, 8, 10, 12],
        "density": [0.5, 1, 1.5, 2, 3, 4],
        "observations": [300, 1_000, 3_000, 10_000, 30_000],
        "rows": [50, 100, 200, 500, 1_000],
    }
    assert {name: [place.x for place in places(name, {})] for name in SWEEPS} == expected


def test_dotted_line_is_the_error_of_a_graph_without_edges() -> None:
    for source in SUITES["parents"].sources:
        assert edges(source) == sdi.graph(source.world).parents.sum()


def test_last_row_of_a_seed_counts_also_if_its_world_was_made_anew() -> None:
    again = row("parents", 0, "sdi_tables", 1, 7, digest="other")
    assert parents([*ROWS, again])[0].errors("sdi_tables") == {1: 7, 2: 0}


def test_rows_of_other_suites_stay_out() -> None:
    elsewhere = row("parents", 0, "sdi_tables", 1, 7, categories=2)
    assert not parents([elsewhere])[0].errors("sdi_tables")


def test_trust_is_counted_from_the_notes() -> None:
    last = parents([*ROWS, *trio(5, 3, (1, 1, 1), "settled after 3 iterations")])[5]
    assert trust(last) == (1, 1, 1, 1)
    assert str(trust(last)) == "tables 1, networks 1 (asked 1 of 2); 1 not recorded"


@pytest.mark.parametrize(
    ("method", "verdict", "expected"),
    [("tables", (), (1, 0, 0, 0)), ("tables", (-0.5, -0.7), (1, 0, 1, 0)), ("neural", (-0.7, -0.5), (0, 1, 1, 0))],
)
def test_note_that_our_methods_leave_is_understood(method: str, verdict: tuple[float, ...], expected: object) -> None:
    compared = [{"method": m, "log_likelihood": v} for m, v in zip(("tables", "neural"), verdict, strict=False)]
    note = f"settled after 3 iterations; {trusted(SimpleNamespace(method=method, compared=compared))}"  # type: ignore[arg-type]
    assert trust(parents([row("parents", 2, "sdi_default", 1, 0, note=note)])[2]) == expected


def test_default_that_is_worse_than_the_better_one_is_named() -> None:
    found = {(each.place.source.world, each.seed): each.default - each.better for each in regrets(parents(ROWS))}
    assert found == {("collider3", 1): 0, ("collider3", 2): 0, ("collider13", 1): 0, ("collider13", 2): 5}
    words = which.default_words({"parents": parents(ROWS)})
    assert "In 3 of 4 runs on which all three ended, the default has at most 1 error more" in words
    assert "The others: collider13 (5,000 + 500 rows each) seed 2: 8 against 3." in words


def test_run_that_is_in_two_sweeps_is_counted_once() -> None:
    shared = [row("rows", 3, method, 1, 0) for method in OURS]
    both = {name: places(name, by_case(shared)) for name in ("rows", "density")}
    assert "In 1 of 1 runs" in which.default_words(both)


def test_page_says_who_is_ahead_where(tmp_path: Path) -> None:
    text, written = filled(ROWS, tmp_path)
    assert "| 2 | 0 0 (0.0) | 0.5 | 1 0 (0.5) | 0.5 | 0 0 (0.0) | 0.5 | 1 : 0 of 2 |" in text
    assert "tables have fewer errors at 2; networks have fewer errors at 12." in text
    assert "(../figures/which_parents.png)" in text
    assert [path.name for path in written] == ["page.md", "which_parents.png", "which_time.png"]
    assert all(path.stat().st_size > 1_000 for path in written)


def test_who_is_ahead_is_judged_on_seeds_that_both_ended(tmp_path: Path) -> None:
    unequal = [*trio(1, 1, (2, 3, 2)), *trio(1, 2, (40, None, 40))]
    text, _ = filled(unequal, tmp_path)
    assert "tables have fewer errors at 4." in text
    assert "| 4 | 2 40 (21.0) | 0.5 | 3 t (3.0) |" in text


def test_page_can_be_filled_again_and_leaves_the_prose_alone(tmp_path: Path) -> None:
    once, _ = filled(ROWS, tmp_path)
    page = tmp_path / "docs" / "page.md"
    which.write(ROWS, page, tmp_path / "figures")
    assert page.read_text() == once
    which.write([], page, tmp_path / "figures")
    emptied, _ = filled([], tmp_path)
    assert page.read_text() == emptied
    assert "## Few parents or many" in emptied


def test_without_any_rows_the_page_says_what_to_run(tmp_path: Path) -> None:
    text, written = filled([], tmp_path)
    assert len(written) == 1
    for name in SWEEPS:
        assert f"No rows yet: `{which.command(name)}` makes them." in text
    assert "No rows yet on which all three ran." in text
    assert "no rows for these panels of the last figure: cancer; earthquake;" in text


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (trio(1, 3, (0, None, 0)), "- failed: collider5 (5,000 + 500 rows each) networks seed 3: timeout."),
        (
            [row("parents", 1, "sdi_neural", 3, 4, note="seconds after 7 iterations; trusted: neural")],
            "- stopped by the limit on time and shown as they were then: collider5 (5,000 + 500 rows each) networks",
        ),
        ([row("parents", 1, "sdi_tables", 3, 4, version="sdi 2")], "version of the library are shown of: tables."),
        ([row("parents", 1, "sdi_tables", s, 0) for s in range(1, 6)], "collider5 (5,000 + 500 rows each): networks,"),
    ],
)
def test_gaps_are_named(extra: list[Row], words: str) -> None:
    sweeps = {"parents": parents(ROWS)}
    assert words not in which.missing_words(sweeps, {})
    assert words in which.missing_words({"parents": parents([*ROWS, *extra])}, {})


def test_nothing_missing_is_said_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(which, "IN_TIME", ())
    complete = [row("rows", place, m, seed, 0) for place in range(5) for m in OURS for seed in range(1, 6)]
    found = which.missing_words({"rows": places("rows", by_case(complete))}, {})
    assert found == "Nothing is missing, and nothing failed."


def test_page_without_its_marks_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# no marks\n")
    with pytest.raises(ValueError, match=r"expected the marks <!-- parents --> and <!-- end -->; put them where"):
        which.write(ROWS, page, tmp_path)


def test_lines_join_means_and_every_seed_is_a_faint_point() -> None:
    figure = sweep_figures.along([(SWEEPS["parents"], parents(ROWS))])
    (axis,) = figure.axes
    drawn = {line.get_gid(): line for line in axis.lines if line.get_gid()}
    assert drawn["sdi_tables"].get_xydata().tolist() == [[2, 0], [12, 8.5]]
    assert drawn["sdi_neural"].get_xydata().tolist() == [[2, 0.5], [12, 2.5]]
    faint = [y for line in axis.lines if line.get_alpha() == sweep_figures.FAINT for y in line.get_ydata()]
    assert sorted(faint) == [0, 0, 0, 0, 0, 1, 2, 2, 3, 8, 8, 9]
    assert axis.get_xlabel() == "parents of the last variable"


def test_rows_are_on_a_logarithmic_axis() -> None:
    sweep = places("observations", by_case([row("observations", 0, "sdi_tables", 1, 2)]))
    (axis,) = sweep_figures.along([(SWEEPS["observations"], sweep)]).axes
    assert axis.get_xscale() == "log"


def test_error_against_time_has_mean_and_median_and_every_seed() -> None:
    lines = [
        Line("gies", [row("networks", 0, "gies", s, e, cpu_seconds=t) for s, e, t in ((1, 0, 1), (2, 4, 3), (3, 2, 9))])
    ]
    axis = sweep_figures.against_time({"cancer": lines}).axes[0]
    seeds, full = axis.lines
    assert seeds.get_xydata().tolist() == [[1, 0], [3, 4], [9, 2]]
    assert full.get_xydata().tolist() == [[3, 2]]


def test_failed_seed_leaves_the_others_in_the_figure_of_time() -> None:
    panels = which.in_time(by_case([row("networks", 0, "gies", 1, 2), row("networks", 0, "gies", 2, None)]))
    assert sweep_figures.against_time(panels).axes[0].lines[-1].get_xydata().tolist() == [[0.5, 2]]
    assert which.in_time(by_case([row("networks", 0, "gies", 1, None)])) == {}


def test_no_two_methods_look_alike() -> None:
    looks = [sweep_figures.marker_of(Line(name, [row("networks", 0, name, 1, 0)])) for name in METHODS]
    assert len({(look["marker"], look["color"], look["markeredgecolor"]) for look in looks}) == len(METHODS)


def test_method_that_is_no_longer_registered_is_drawn_all_the_same() -> None:
    panels = which.in_time(by_case([row("networks", 0, "forgotten", 1, 2)]))
    assert len(sweep_figures.against_time(panels).axes[0].lines) == 2


def test_cheapest_of_the_best_is_named_and_a_method_that_failed_is_not(tmp_path: Path) -> None:
    rows = [
        row("networks", 0, "greedy", 1, 1, cpu_seconds=0.25),
        row("networks", 0, "gies", 1, 1, cpu_seconds=4),
        row("networks", 0, "sdi_tables", 1, 2, cpu_seconds=1),
        row("networks", 0, "pc", 1, 0, hamming_worst=6),
        row("networks", 0, "eaton_murphy", 1, 0),
        row("networks", 0, "eaton_murphy", 2, None),
    ]
    table = which.time_table(which.in_time(by_case(rows)))
    expected = "| cancer | greedy, targets known: 1.0 in 0.25 s (n = 1) | 2.0 in 1 s (n = 1) |  |  |"
    assert table.splitlines()[-1] == expected
