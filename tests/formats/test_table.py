"""Tables: categories as they stand in the file, and one line about what is no table."""

from pathlib import Path

import pandas as pd
import pytest

from sdi.formats.table import read_table


def test_only_an_empty_cell_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("A,B,environment\nNA,None,007\nnull,,1\nnan,x,observational\n")
    table = read_table(path, "environment")
    assert table["A"].tolist() == ["NA", "null", "nan"]
    assert table["B"].isna().tolist() == [False, True, False]
    assert table["environment"].tolist() == ["007", "1", "observational"]


def test_numbers_stay_numbers_so_that_fractions_can_be_noticed(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("A,B\n0.5,1\n1.5,2\n")
    assert [column.kind for column in read_table(path).dtypes] == ["f", "i"]


def test_column_named_twice_keeps_its_name(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("A,A\n0,1\n")
    assert list(read_table(path).columns) == ["A", "A"]


@pytest.mark.parametrize("suffix", [".csv", ".CSV", ".parquet"])
def test_what_pandas_writes_comes_back(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"ä, [b]": ["x\ny", "z"], "C": [1, 2], "environment": ["o", "e"]})
    path = tmp_path / f"data{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, encoding="utf-8-sig")
    read = read_table(path, "environment")
    assert read.to_dict("list") == frame.to_dict("list")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.csv", b"", "expected a table as CSV"),
        ("data.csv", b"A,B\n1,2\n1,2,3\n", "expected a table as CSV"),
        ("data.csv", b"A,B\n\xff\xfe,2\n", "expected a table as CSV"),
        ("data.parquet", b"A,B\n1,2\n", "expected a table as Parquet"),
        ("data.txt", b"A,B\n1,2\n", "ends in .csv or .parquet"),
        ("data.csv", None, "expected a file"),
    ],
)
def test_what_is_no_table_is_an_error(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)
