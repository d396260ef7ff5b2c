"""Tables: rows of categories from CSV or Parquet, each cell taken as it stands."""

import io
from pathlib import Path

import pandas as pd

SUFFIXES = (".csv", ".parquet")


def is_table_name(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def read_table(path: Path | str, environment: str | None = None, content: bytes | None = None) -> pd.DataFrame:
    """The table at `path`, or in `content` where that was read already; only an empty cell of a CSV file is missing.

    Values of the column `environment` are names: 007 stays 007.
    """
    if not is_table_name(str(path)):
        raise ValueError(f"{path}: expected a table that ends in {' or '.join(SUFFIXES)}; convert it first")
    buffer = io.BytesIO(read_bytes(path) if content is None else content)
    kind = "CSV" if str(path).lower().endswith(".csv") else "Parquet"
    try:
        return _read_csv(buffer, environment) if kind == "CSV" else pd.read_parquet(buffer)
    except (ValueError, OSError, RecursionError) as error:
        raise ValueError(f"{path}: expected a table as {kind}, got {error}; save it again") from error


def read_bytes(path: Path | str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: expected a file, got {error.strerror!r}; check the path") from error


def _read_csv(buffer: io.BytesIO, environment: str | None) -> pd.DataFrame:
    # read on its own, because pandas renames the second of two columns that have one name
    header = pd.read_csv(buffer, header=None, nrows=1, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    names = [str(name) for name in header.iloc[0]]
    buffer.seek(0)
    # a category may be called NA, None or null, which pandas would take for missing
    types = {names.index(environment): str} if environment in names else {}
    table = pd.read_csv(
        buffer,
        header=None,
        skiprows=1,
        dtype=types,
        keep_default_na=False,
        na_values=[""],
        low_memory=False,
        encoding="utf-8-sig",
    )
    return table.set_axis(names, axis="columns")
