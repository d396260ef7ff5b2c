"""The harness: one method's misfortune is its own row, all see the same rows, and nothing is run twice."""

from pathlib import Path

import pytest
from experiments.comparison.data import Simulated
from experiments.comparison.raw import read
from experiments.comparison.registry import Method
from experiments.comparison.run import Limits, compare

SOURCE = Simulated(world="chain3", observational=200, rows=50)
LIMITS = Limits(seconds=60, memory_gb=2, wall_factor=10)


def faulty(name: str, told: str = "targets unknown", **rest: object) -> Method:
    return Method(f"tests.experiments.faulty:{name}", told, name, **rest)  # type: ignore[arg-type]


METHODS = {
    "first": faulty("seen"),
    "crash": faulty("crash"),
    "abort": faulty("abort"),
    "eat": faulty("eat"),
    "give_up": faulty("give_up"),
    "absent": faulty("seen", needs=("no-such-package",)),
    "knowing": faulty("seen", "targets known"),
    "observing": faulty("seen", "observational rows only"),
    "last": faulty("seen"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows of all methods on one case."""
    path = tmp_path_factory.mktemp("results") / "compare.csv"
    assert len(list(compare(SOURCE, METHODS, [1], path, limits=LIMITS))) == len(METHODS)
    return path


@pytest.mark.parametrize(
    ("method", "status", "words"),
    [
        ("crash", "failed", "RuntimeError: the ground gave way"),
        ("abort", "failed", "SIGABRT"),
        ("eat", "memory", "MemoryError"),
        ("give_up", "timeout", "would take a year"),
        ("absent", "failed", "no-such-package is not installed; run make baselines"),
    ],
)
def test_failure_is_a_row_that_says_why(results: Path, method: str, status: str, words: str) -> None:
    row = next(row for row in read(results) if row["method"] == method)
    assert row["status"] == status
    assert words in row["note"]
    assert row["hamming"] == ""


def test_methods_after_a_failure_are_measured_all_the_same(results: Path) -> None:
    row = read(results)[-1]
    assert (row["method"], row["status"]) == ("last", "ok")
    assert (row["shd"], row["hamming"]) == ("2", "2")  # an empty graph against a chain of three
    assert float(row["peak_mb"]) > 10
    assert float(row["process_cpu_seconds"]) > 0


def test_all_methods_see_the_same_rows_and_only_some_the_targets(results: Path) -> None:
    rows = {row["method"]: row for row in read(results)}
    assert len({row["digest"] for row in rows.values()}) == 1
    (first, knowing, observing) = (rows[name]["note"].split(" ", 2) for name in ("first", "knowing", "observing"))
    assert rows["first"]["note"] == rows["last"]["note"]
    assert first[1] == knowing[1]
    assert first[2] == "[None, None, None]"
    assert sorted(knowing[2].strip("[]").split(", ")) == ["(0,)", "(1,)", "(2,)"]
    assert observing[2] == "[]"


def test_what_is_done_is_not_done_again(results: Path) -> None:
    before = results.read_text()
    assert list(compare(SOURCE, METHODS, [1], results, limits=LIMITS)) == []
    assert results.read_text() == before


def test_more_time_gives_a_method_that_ran_out_of_it_another_chance(results: Path, tmp_path: Path) -> None:
    copy = tmp_path / "compare.csv"
    copy.write_text(results.read_text())
    longer = Limits(seconds=61, memory_gb=2, wall_factor=10)
    assert [row["method"] for row in compare(SOURCE, METHODS, [1], copy, limits=longer)] == ["give_up"]


def test_failures_are_repeated_on_request_alone(results: Path, tmp_path: Path) -> None:
    copy = tmp_path / "compare.csv"
    copy.write_text(results.read_text())
    some = {name: METHODS[name] for name in ("first", "absent")}
    assert [row["method"] for row in compare(SOURCE, some, [1], copy, limits=LIMITS, again=True)] == ["absent"]


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("spin", Limits(seconds=3, memory_gb=2, wall_factor=100)),  # CPU seconds
        ("told_so", Limits(seconds=60, memory_gb=2, wall_factor=100)),  # CPU seconds by another count
        ("sleep", Limits(seconds=60, memory_gb=2, wall_factor=0.05)),  # the clock on the wall
    ],
)
def test_method_without_end_is_stopped(name: str, limits: Limits, tmp_path: Path) -> None:
    (row,) = compare(SOURCE, {name: faulty(name)}, [1], tmp_path / "compare.csv", limits=limits)
    assert row["status"] == "timeout"


def test_only_a_method_that_can_use_it_gets_the_redrawn_world(tmp_path: Path) -> None:
    source = Simulated(world="chain3", observational=200, rows=50, redrawn=True)
    methods = {"rows": faulty("seen"), "world": faulty("seen", endless=True)}
    notes = [row["note"].split()[0] for row in compare(source, methods, [1], tmp_path / "c.csv", limits=LIMITS)]
    assert notes == ["Dataset", "SimulatedWorld"]
