"""Regimes and interventions: a line is a row, an empty one too."""

from pathlib import Path

import pytest

from sdi.formats.regimes import read_interventions, read_regimes


def put(folder: Path, content: str) -> Path:
    path = folder / "file.csv"
    path.write_bytes(content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("\n\n3\n0,2\n", ["", "", "3", "0,2"]),
        ("1\r\n\r\n0, 2", ["1", "", "0, 2"]),
        ("1\n\n\n", ["1", "", ""]),
        ("\ufeff1\n", ["1"]),
    ],
)
def test_empty_line_is_a_row_in_which_nothing_was_touched(tmp_path: Path, content: str, lines: list[str]) -> None:
    assert read_interventions(put(tmp_path, content)) == lines


def test_regimes_are_numbers_even_where_they_were_saved_as_fractions(tmp_path: Path) -> None:
    assert read_regimes(put(tmp_path, "0\n1\n10.0\n2.\n")) == ["0", "1", "10", "2"]


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_regimes, "0\nregime\n", "line 2: expected the number of a regime, got 'regime'; one for each row"),
        (read_regimes, "0\n\n1\n", "line 2: expected the number of a regime, got ''"),
        (read_regimes, "-1\n", "line 1: expected the number of a regime, got '-1'"),
        (read_interventions, "target\n", "line 1: expected numbers of variables, counted from 0"),
        (read_interventions, "0\n1;2\n", "line 2: expected numbers of variables"),
        (read_interventions, "0\n-1\n", "line 2: expected numbers of variables"),
    ],
)
def test_fault_is_told_with_its_line(tmp_path: Path, read: object, content: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(put(tmp_path, content))  # type: ignore[operator]


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="absent: expected a file, got 'No such file"):
        read_regimes(tmp_path / "absent")
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="binary: expected text in UTF-8"):
        read_interventions(tmp_path / "binary")
