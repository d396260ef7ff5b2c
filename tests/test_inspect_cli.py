"""`sdi inspect`: what it shows of a table; and every bad table, which stops `sdi discover` with the same words."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from sdi.cli.app import app

ENVIRONMENT = np.repeat(["plain", "e1", "e2"], 100)
OPTIONS = ("--environment", "e", "--observational", "plain")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def frame(**columns: Any) -> pd.DataFrame:
    """300 rows, 100 in each of three environments."""
    rng = np.random.default_rng(1)
    plain = {"A": rng.integers(2, size=300), "B": np.tile(["x", "y"], 150), "e": ENVIRONMENT}
    return pd.DataFrame({**plain, **columns})


@pytest.fixture
def put(tmp_path: Path) -> Any:
    """Write a table, or bytes, and return the path."""

    def write(content: Any, name: str = "cells.csv") -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif name.endswith(".parquet"):
            content.to_parquet(path, index=False)
        else:
            content.to_csv(path, index=False)
        return path

    return write


# --------------------------------------------------------------------------------------------------- results


def test_good_table_is_shown_with_its_environments_and_columns(put: Any) -> None:
    result = run("inspect", put(frame(C=np.arange(300) + 0.5)), *OPTIONS, "--bins", 3, "--known", "e1=A,B")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["300", "rows,", "3", "variables"]
    assert ["plain", "100", "left", "alone"] in lines
    assert ["e1", "100", "A,", "B"] in lines
    assert ["e2", "100", "unknown"] in lines
    assert ["C", "numbers", "300", "0", "<100,", "100..200,", ">=200"] in lines
    assert "note: column 'C' holds 300 different numbers; cut into 3 quantile bins at 100, 200" in result.stdout
    assert result.stdout.endswith("sdi discover would go ahead\n")


def test_json_has_the_same_parts(put: Any) -> None:
    result = run("inspect", put(frame(C=[None, *["x"] * 299])), *OPTIONS, "--missing", "drop", "--json")
    shown = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (shown["rows"], shown["dropped"]) == (299, 1)
    assert shown["environments"][0] == {"environment": "plain", "rows": 99, "touched": "left alone"}
    assert shown["columns"][2] == {
        **{"column": "C", "holds": "text", "different": 1, "missing": 1},
        "categories": "x",
    }
    assert [finding["severity"] for finding in shown["findings"]] == ["note", "error"]
    assert shown["findings"][1] == {
        **{"severity": "error", "what": "column 'C' holds one value only ('x')"},
        "remedy": "drop it",
    }


def test_hostile_names_are_shown_as_text(put: Any) -> None:
    table = frame(**{"[red]C": ["[/]", "b\n"] * 150})
    result = run("inspect", put(table, "cells.parquet"), *OPTIONS)
    assert result.exit_code == 0, result.output
    assert "[red]C" in result.stdout
    assert "[/], b\\n" in result.stdout


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("kind", [str, int, bool, "category"])
def test_columns_of_any_kind_are_categories(put: Any, suffix: str, kind: Any) -> None:
    column = pd.Series(np.tile([0, 1], 150)).astype(kind)
    result = run("inspect", put(frame(C=column), f"cells.{suffix}"), *OPTIONS, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["columns"][2]["categories"] == ("False, True" if kind is bool else "0, 1")


def test_target_column_needs_no_environment(put: Any) -> None:
    table = frame(INT=np.repeat([0, 2, 1], 100)).drop(columns="e")
    result = run("inspect", put(table), "--target-column", "INT", "--target-base", 1, "--json")
    assert result.exit_code == 0, result.output
    touched = {each["environment"]: each["touched"] for each in json.loads(result.stdout)["environments"]}
    assert touched == {"observational": "left alone", "do(B)": "B", "do(A)": "A"}


@pytest.mark.parametrize(("name", "header"), [("data1.npy", False), ("data1.csv", False), ("data1.csv", True)])
def test_files_of_dcdi_are_read(tmp_path: Path, name: str, header: bool) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    path = tmp_path / name
    if name.endswith(".npy"):
        np.save(path, rows)
    else:
        pd.DataFrame(rows, columns=["X1", "X2", "X3"]).to_csv(path, header=header, index=False)
    (tmp_path / "regime1.csv").write_text("0\n" * 20 + "1\n" * 20 + "2\n" * 20)
    (tmp_path / "intervention1.csv").write_text("\n" * 20 + "2\n" * 20 + "0,1\n" * 20)
    files = ("--regimes", tmp_path / "regime1.csv", "--interventions", tmp_path / "intervention1.csv")
    result = run("inspect", path, *files, "--bins", 2, "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert [each["touched"] for each in shown["environments"]] == ["left alone", "X3", "X1, X2"]
    assert [each["column"] for each in shown["columns"]] == ["X1", "X2", "X3"]
    unknown = run("inspect", path, *files[:2], "--observational", 0, "--bins", 2, "--json")
    assert [each["touched"] for each in json.loads(unknown.stdout)["environments"]] == ["left alone", *["unknown"] * 2]
    (tmp_path / "regime1.csv").write_text("0\n" * 50)
    result = run("inspect", path, *files[:2], "--bins", 2)
    assert result.exit_code == 2
    assert "50" in result.stderr


# ------------------------------------------------------------------------------------------------- bad input


def text(columns: int, rows: int = 30, mark: str = ",") -> bytes:
    lines = [mark.join(["e", *(f"V{j}" for j in range(columns))]), *([mark.join(["plain", *"x" * columns])] * rows)]
    return "\n".join(lines).encode()


IDENTIFIERS = np.tile([f"c{k}" for k in range(10_000)], 2)
BAD: dict[str, tuple[Any, tuple[object, ...], str]] = {
    "not a table": (b"\x89PNG\r\n\x1a\n\x00\x00", OPTIONS, "expected a table as CSV"),
    "prose": (b"It was a dark night.\nIt rained.\n", OPTIONS, "unknown environment column 'e'; found: It was a dark"),
    "nothing": (b"", OPTIONS, "expected a table as CSV, got No columns to parse from file"),
    "wrong delimiter": (text(3, mark=";"), OPTIONS, "expected columns separated by commas, got one column"),
    "tabs": (text(3, mark="\t"), OPTIONS, "with tabs in its name; save the table with commas"),
    "no header": (b"1.5,2.5,plain\n3.5,1.5,plain\n", OPTIONS, "which look like data; add a header"),
    "doubled column": (b"e,A,A\nplain,0,1\n", OPTIONS, "column 'A' occurs more than once; rename or drop one"),
    "misspelt environment column": (
        frame().rename(columns={"e": "condition"}),
        ("--environment", "conditon"),
        "unknown environment column 'conditon'; did you mean 'condition'?",
    ),
    "misspelt observational name": (
        frame(),
        ("--environment", "e", "--observational", "plian"),
        "unknown observational environment 'plian'; did you mean 'plain'?",
    ),
    "misspelt environment": (frame(), (*OPTIONS, "--known", "e11=A"), "unknown environment 'e11'; did you mean 'e1'?"),
    "misspelt target": (frame(), (*OPTIONS, "--known", "e1=Aa"), "unknown target of 'e1': variable 'Aa'; did you"),
    "environment of one row": (
        frame(e=[*ENVIRONMENT[1:], "lone"]),
        OPTIONS,
        "environment 'lone' has too few rows: 1, at least 10 are needed; merge or drop it",
    ),
    "10,000 categories": (
        pd.DataFrame({"A": np.tile(["x", "y"], 10_000), "C": IDENTIFIERS, "e": "plain"}),
        OPTIONS,
        "column 'C' has 10000 categories, and 1000 are the most; drop it or merge rare ones",
    ),
    "numbers as text": (
        frame(C=[f"{k},5" for k in range(60)] * 5),
        OPTIONS,
        "column 'C' holds numbers as text, such as '0,5'; save them as numbers, with a decimal point",
    ),
    "mixed types": (
        frame(C=["n/a", *range(60)] * 4 + [*range(56)]),
        OPTIONS,
        "column 'C' mixes numbers and text: 60 different numbers, and 'n/a'; correct such cells",
    ),
    "infinities": (
        frame(C=["inf", *np.linspace(0, 1, 299)]),
        (*OPTIONS, "--bins", 3),
        "column 'C' holds 1 infinities; replace them or drop their rows",
    ),
    "missing values": (frame(C=[None, *["x", "y"] * 149, None]), OPTIONS, "column 'C' holds 2 missing values; drop or"),
    "identifier": (frame(C=range(300)), OPTIONS, "column 'C' has a different value in every row; it looks like an"),
    "one value": (frame(C=[1] * 300), OPTIONS, "column 'C' holds one value only (1); drop it"),
    "fractions": (frame(C=[0.5, 1] * 150), OPTIONS, "column 'C' holds fractions; cut it into categories first"),
    "no rows": (b"e,A,B\n", OPTIONS, "expected rows, got an empty table"),
    "no environment": (frame(), (), "which column names the environment of a row? add --environment COLUMN"),
    "misspelt column": (frame(), (*OPTIONS, "--drop", "a"), "unknown column to drop 'a'; found: A, B"),
    "wrong bins": (frame(), (*OPTIONS, "--bins", "few"), "bins: expected N[:quantile|:uniform][:log]"),
    "log without bins": (frame(), (*OPTIONS, "--log"), "--log says how to cut numbers into bins; add --bins N"),
    "no base": (frame(), (*OPTIONS, "--target-column", "A"), "--target-column and --target-base go together"),
    "unknown base": (
        frame(),
        (*OPTIONS, "--target-column", "A", "--target-base", "2"),
        "expected the base of the target column, one of 0, 1, names, got '2'",
    ),
    "target without name": (frame(), (*OPTIONS, "--known", "e1"), "expected a known target as ENVIRONMENT=VARIABLE"),
    "target given twice": (frame(), (*OPTIONS, "--known", "e1=A", "--known", "e1=B"), "of 'e1' is given twice"),
    "two environments": (frame(), (*OPTIONS, "--regimes", "r.csv"), "in the column 'e' or in the file r.csv, got both"),
}


@pytest.mark.parametrize(("content", "options", "message"), BAD.values(), ids=BAD)
def test_bad_table_stops_both_commands_with_the_same_words(
    put: Any, tmp_path: Path, content: Any, options: tuple[object, ...], message: str
) -> None:
    path = put(content)
    looked = run("inspect", path, *options)
    assert looked.exit_code in (1, 2)
    assert message in looked.output
    stopped = run("discover", path, *options, "--out", tmp_path / "out")
    assert stopped.exit_code == 2
    assert stopped.stderr.startswith("error: ")
    assert message in stopped.stderr
    assert stopped.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
    if looked.exit_code == 1:
        errors = [line for line in looked.stdout.splitlines() if line.startswith("error: ")]
        assert (
            stopped.stderr
            == "; ".join(line.removeprefix("error: " if k else "") for k, line in enumerate(errors)) + "\n"
        )


def test_what_is_no_table_has_nothing_to_look_at() -> None:
    result = run("inspect", "chain3")
    assert result.exit_code == 2
    assert "chain3 is no table (a name that ends in .csv or .csv.gz or .parquet or .npy)" in result.stderr


def test_byte_order_mark_and_windows_line_ends_do_no_harm(put: Any) -> None:
    content = "\ufeff" + frame().to_csv(index=False).replace("\n", "\r\n")
    result = run("inspect", put(content.encode()), "--environment", "e", "--observational", "plain", "--json")
    assert result.exit_code == 0, result.output
    assert [column["column"] for column in json.loads(result.stdout)["columns"]] == ["A", "B"]


def test_knowledge_is_looked_at_too(put: Any, tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    known.write_text("tier 1: A\nrequired A -> Bb\n")
    result = run("inspect", put(frame()), *OPTIONS, "--knowledge", known)
    assert result.exit_code == 2
    assert f"error: {known}, line 2: expected a known variable, got 'Bb'; did you mean 'B'?" in result.stderr
