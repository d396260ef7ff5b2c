"""Tables: categories as they stand in the file, and one line about what is no table."""

import gzip
import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdi.formats import csv_rows
from sdi.formats.table import count_lines, read_table, sha256


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


def test_compressed_table_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfA,B\r\nx,1\r\ny,2\r\n", mtime=0))
    assert read_table(path).to_dict("list") == {"A": ["x", "y"], "B": [1, 2]}


def test_array_gets_names(tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.array([[0.5, 1], [2, 3]]))
    assert read_table(tmp_path / "data.npy").to_dict("list") == {"X1": [0.5, 2], "X2": [1, 3]}


def test_table_without_header_gets_names(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("0.5,x\n2,y\n")
    assert read_table(tmp_path / "data.csv", header=False).to_dict("list") == {"X1": [0.5, 2], "X2": ["x", "y"]}


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_mark_and_windows_line_ends_are_no_part_of_the_table(tmp_path: Path, mark: str, ends: str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes((mark + ends.join(["A,B", "x,1", "y,2", ""])).encode())
    assert read_table(path).to_dict("list") == {"A": ["x", "y"], "B": [1, 2]}


def test_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("A,B\n")
    assert read_table(tmp_path / "data.csv").shape == (0, 2)


# ------------------------------------------------------------------------------------------ large tables


def written(columns: dict[str, list[Any]]) -> bytes:
    return pd.DataFrame(columns, dtype=object).to_csv(index=False).encode()


COLUMNS: dict[str, list[Any]] = {
    "text": ["b", "a", "NA", ""] * 750,
    "late": [*"b" * 2999, "a"],
    "whole": [*range(-1500, 1500)],
    "large": [2**40, *[1] * 2999],
    "holes": [*[""] * 1500, *range(1500)],
    "fractions": [1] * 2999 + [0.5],
    "truth": [True, False] * 1500,
    "truth with holes": [True, ""] * 1000 + [False] * 1000,
    "truth after a number": [1] * 1500 + [True] * 1500,
    "text after numbers": ["007"] * 2999 + ["x"],
    "nothing": [""] * 3000,
    "nothing, then text": [""] * 1500 + ["x", "y"] * 750,
}


@pytest.mark.parametrize("name", COLUMNS)
def test_table_read_in_pieces_is_the_table_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content = written({name: COLUMNS[name], "other": ["x"] * 3000})
    (tmp_path / "data.csv").write_bytes(content)
    monkeypatch.setattr(csv_rows, "CELLS", 2000)  # three pieces
    read = read_table(tmp_path / "data.csv")[name]
    whole = pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""], low_memory=False)[name]
    assert read.isna().tolist() == whole.isna().tolist()
    assert read.dropna().tolist() == whole.dropna().tolist()
    assert pd.api.types.is_numeric_dtype(read.dtype) == pd.api.types.is_numeric_dtype(whole.dtype)
    if isinstance(read.dtype, pd.CategoricalDtype):
        assert list(read.cat.categories) == sorted(set(whole.dropna()))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_cell_of_text_takes_a_byte(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"A": ["low", "middle", "high"] * 5000, "B": [1, 2, 3] * 5000})
    path = tmp_path / f"data.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path, index=False)
    read = read_table(path)
    assert read["A"].memory_usage(index=False, deep=True) < 2 * len(frame)
    assert list(read["A"].cat.categories) == ["high", "low", "middle"]
    if suffix == "csv":
        assert read["B"].memory_usage(index=False) == len(frame)


def test_parquet_keeps_the_order_of_categories_and_forgets_the_index(tmp_path: Path) -> None:
    ordered = pd.Categorical(["low", "high"] * 5, ["low", "middle", "high"])
    pd.DataFrame({"A": ordered, "B": [1, 2] * 5}, index=[f"row {k}" for k in range(10)]).to_parquet(
        tmp_path / "d.parquet"
    )
    read = read_table(tmp_path / "d.parquet")
    assert list(read.columns) == ["A", "B"]
    assert list(read["A"].cat.categories) == ["low", "middle", "high"]


def test_file_of_any_size_has_its_digest_and_its_lines(tmp_path: Path) -> None:
    content = b"0123456\n" * 300_000
    (tmp_path / "file").write_bytes(content)
    assert sha256(tmp_path / "file") == hashlib.sha256(content).hexdigest()
    assert count_lines(tmp_path / "file") == 300_000
    (tmp_path / "file").write_bytes(content + b"x")
    assert count_lines(tmp_path / "file") == 300_001
    (tmp_path / "file.gz").write_bytes(gzip.compress(content, mtime=0))
    assert count_lines(tmp_path / "file.gz") == 300_000


# ------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.csv", b"", "expected a table as CSV"),
        ("data.csv", b"A,B\n1,2\n1,2,3\n", "expected a table as CSV"),
        ("data.csv", b"A,B\n\xff\xfe,2\n", "expected a table as CSV"),
        ("data.parquet", b"A,B\n1,2\n", "expected a table as Parquet"),
        ("data.txt", b"A,B\n1,2\n", "ends in .csv or .csv.gz or .parquet or .npy; convert it first"),
        ("data.csv", None, "expected a file"),
        ("data.csv", "A,B\n1,2\n".encode("utf-16"), "save it again as text in UTF-8"),
        ("data.csv", bytes(range(256)), "expected a table as CSV"),
        ("data.csv", b"A,B\n1,2,3\n", "expected a table as CSV"),
        ("data.csv.gz", b"A,B\n1,2\n", "expected a table as CSV, got Not a gzipped file"),
        ("data.csv.gz", gzip.compress(b"A,B\n" * 1000, mtime=0)[:-10], "expected a table as CSV"),
        ("data.npy", b"A,B\n1,2\n", "expected a table as a NumPy array"),
        ("data.csv", b"A;B\n1;2\n", "columns separated by commas, got one column, 'A;B', with semicolons in its name"),
        ("data.csv", b"A\tB\n1\t2\n", "got one column, 'A.*B', with tabs in its name; save the table with commas"),
        ("data.csv", b"A|B\n1|2\n", "with bars in its name"),
        ("data.csv", b"26.4,13.2,a\n35.9,16.5,b\n", "got '26.4', '13.2', 'a', which look like data; add a header"),
        ("data.csv", b"1,1,a\n0,1,b\n", "which look like data; add a header"),
        ("data.csv", b"yes,no\nno,no\nyes,yes\n", "got 'yes', 'no', which look like data; add a header"),
    ],
)
def test_what_is_no_table_is_an_error(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


def test_folder_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "data.csv").mkdir()
    with pytest.raises(ValueError, match=r"data\.csv: expected a file, got 'Is a directory'; check the path"):
        read_table(tmp_path / "data.csv")


def test_array_of_objects_is_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.array([[object()]]), allow_pickle=True)
    with pytest.raises(ValueError, match="expected a table as a NumPy array, got Object arrays cannot be loaded"):
        read_table(tmp_path / "data.npy")
    np.save(tmp_path / "data.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"got an array of shape \(3,\)"):
        read_table(tmp_path / "data.npy")


@pytest.mark.parametrize("header", ["0,1,2", "1,2,3", "A,B,C", "yes,no,environment"])
def test_header_that_may_be_one_is_taken_as_one(tmp_path: Path, header: str) -> None:
    (tmp_path / "data.csv").write_text(header + "\n5,6,7\nyes,no,A\n")
    assert list(read_table(tmp_path / "data.csv").columns) == header.split(",")


def test_header_with_the_column_asked_for_is_one(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("0.5,0.7,e\n0.5,0.7,e\n")
    assert list(read_table(tmp_path / "data.csv", "e").columns) == ["0.5", "0.7", "e"]
