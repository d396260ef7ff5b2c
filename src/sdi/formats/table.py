"""Tables: rows of categories and numbers from CSV, Parquet or a NumPy array, each cell taken as it stands.

Text becomes a pandas category as soon as it is read, so that a table of a million rows needs little more memory than
its numbers.
"""

import gzip
import hashlib
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from sdi.formats.csv_rows import read_csv

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".npy")
DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}

_BLOCK = 1 << 20  # bytes that are hashed at a time


def is_table_name(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def read_table(
    path: Path | str, labels: str | Sequence[str | None] | None = None, *, header: bool = True
) -> pd.DataFrame:
    """The table at `path`; only an empty cell of a CSV file is missing.

    Values of the columns `labels` are names: 007 stays 007. A CSV file without a header, and an array, have the
    columns X1, X2, ...
    """
    kind = _kind(str(path))
    as_text = [name for name in ((labels,) if isinstance(labels, str) else labels or ()) if name is not None]
    try:
        if kind == "CSV":
            return _read_csv(path, as_text, header)
        with _opened(path) as file:
            return _read_parquet(file) if kind == "Parquet" else _read_array(file)
    except (ValueError, OSError, EOFError, RecursionError, zlib.error) as error:
        if isinstance(error, _NoTableError):
            raise ValueError(str(error)) from error
        remedy = "save it again" if not isinstance(error, UnicodeError) else "save it again as text in UTF-8"
        raise ValueError(f"{path}: expected a table as {kind}, got {error}; {remedy}") from error


def sha256(path: Path | str) -> str:
    """The SHA-256 of a file of any size."""
    digest = hashlib.sha256()
    with _opened(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def count_lines(path: Path | str) -> int:
    """The lines of a text file, the last one whether it ends in a line break or not."""
    count, last = 0, b"\n"
    with _unpacked(path) as file:
        while block := file.read(_BLOCK):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


class _NoTableError(ValueError):
    """Says all there is to say."""


def _kind(name: str) -> str:
    if not is_table_name(name):
        raise ValueError(f"{name}: expected a table that ends in {' or '.join(SUFFIXES)}; convert it first")
    kinds = {".parquet": "Parquet", ".npy": "a NumPy array"}
    return next((kind for suffix, kind in kinds.items() if name.lower().endswith(suffix)), "CSV")


@contextmanager
def _opened(path: Path | str) -> Iterator[BinaryIO]:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        os.read(descriptor, 0)  # a folder can be opened and not read
    except OSError as error:
        raise _NoTableError(f"{path}: expected a file, got {error.strerror!r}; check the path") from error
    with open(descriptor, "rb") as file:
        yield file


@contextmanager
def _unpacked(path: Path | str) -> Iterator[BinaryIO]:
    with _opened(path) as file:
        if str(path).lower().endswith(".gz"):
            with gzip.open(file) as unpacked:
                yield io.BufferedReader(unpacked)
        else:
            yield file


# ------------------------------------------------------------------------------------------------------- CSV


def _read_csv(path: Path | str, labels: Sequence[str], header: bool) -> pd.DataFrame:
    names = None
    if header:
        with _unpacked(path) as file:
            names = _names(path, file)
    table = read_csv(lambda: _unpacked(path), names, labels)
    if names is not None and not set(labels) & set(names) and _looks_like_data(names, table):
        raise _NoTableError(
            f"{path}: expected the names of the columns in the first row, got {', '.join(map(repr, names[:5]))}, "
            "which look like data; add a header"
        )
    return table


def _names(path: Path | str, file: BinaryIO) -> list[str]:
    # read on its own, because pandas renames the second of two columns that have one name
    row = pd.read_csv(file, header=None, nrows=1, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    names = [str(name) for name in row.iloc[0]]
    for mark, word in DELIMITERS.items():
        if len(names) == 1 and mark in names[0]:
            raise _NoTableError(
                f"{path}: expected columns separated by commas, got one column, {names[0]!r}, with {word} in its name; "
                "save the table with commas"
            )
    return names


def _looks_like_data(names: Sequence[str], table: pd.DataFrame) -> bool:
    """Whether the header is a row: numbers that do not just count the columns, or values of their own columns."""
    numbers = [name for name in names if re.fullmatch(r"\s*[-+]?\d*\.?\d+(e[-+]?\d+)?\s*", name, re.IGNORECASE)]
    counting = len(set(numbers)) == len(numbers) and all(name.strip().isdigit() for name in numbers)
    if len(numbers) * 2 >= len(names) and not counting:
        return True
    head = table.head(1000)
    return bool(len(head)) and all(name in set(head.iloc[:, j].astype(str)) for j, name in enumerate(names))


# --------------------------------------------------------------------------------------- Parquet and arrays


def _read_parquet(file: BinaryIO) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pq.read_schema(file)
    file.seek(0)
    text = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]
    rows = pq.read_table(file, read_dictionary=text)
    table: pd.DataFrame = rows.to_pandas(split_blocks=True, self_destruct=True)
    for j, (name, column) in enumerate(table.items()):
        if name in text and isinstance(column.dtype, pd.CategoricalDtype):  # in the order in which they came
            table.isetitem(j, column.cat.reorder_categories(sorted(column.cat.categories)).array)
    return table


def _read_array(file: BinaryIO) -> pd.DataFrame:
    array: np.ndarray[Any, Any] = np.load(file, allow_pickle=False)
    if array.ndim != 2:
        raise ValueError(f"an array of shape {array.shape}")
    return pd.DataFrame(array, columns=numbered(array.shape[1]), copy=False)


def numbered(count: int) -> list[str]:
    """Names for columns that have none."""
    return [f"X{j + 1}" for j in range(count)]
