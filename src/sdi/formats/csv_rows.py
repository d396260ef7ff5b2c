"""CSV read a piece at a time: text as categories, whole numbers in as few bytes as they need."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, Literal

import numpy as np
import pandas as pd

CELLS = 2_000_000  # that are in memory at a time, as pandas reads them

Kind = Literal["text", "truth values", "numbers", "nothing"]
Open = Callable[[], AbstractContextManager[BinaryIO]]


def read_csv(opened: Open, names: Sequence[str] | None, labels: Sequence[str]) -> pd.DataFrame:
    """The table under the header `names`, or all rows if that is None; columns in `labels` are text."""
    text = {j for j, name in enumerate(names or ()) if name in labels}
    pieces = _pieces(opened, names, text)
    mixed = {j for j, column in pieces.items() if len({_kind(piece) for piece in column} - {"nothing"}) > 1}
    if mixed:  # numbers in one piece and text in another: all of it is text, to the letter
        pieces |= _pieces(opened, names, mixed, only=mixed)
    columns = {j: _joined(column) for j, column in pieces.items()}
    header = [f"X{j + 1}" for j in columns] if names is None else list(names)
    table = pd.DataFrame(columns if columns else {j: [] for j in range(len(header))}, copy=False)
    return table.set_axis(header, axis="columns")


def _pieces(
    opened: Open, names: Sequence[str] | None, text: set[int], only: set[int] | None = None
) -> dict[int, list["pd.Series[Any]"]]:
    """Each column, or `only` some, in pieces."""
    found: dict[int, list[pd.Series[Any]]] = {}
    with opened() as file:
        try:
            reader = pd.read_csv(
                file,
                header=None,
                skiprows=0 if names is None else 1,
                usecols=None if only is None else sorted(only),
                dtype=dict.fromkeys(text, str),
                # a category may be called NA, None or null, which pandas would take for missing
                keep_default_na=False,
                na_values=[""],
                low_memory=False,
                encoding="utf-8-sig",
                chunksize=max(CELLS // max(len(names or ()), 1), 1000) if names else 20_000,
            )
        except pd.errors.EmptyDataError:
            return {}
        for piece in reader:
            for j, column in piece.items():
                found.setdefault(int(str(j)), []).append(_compact(column))
    return found


def _kind(column: "pd.Series[Any]") -> Kind:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "truth values" if pd.api.types.infer_dtype(column.cat.categories) == "boolean" else "text"
    if column.isna().all():
        return "nothing"
    return "truth values" if pd.api.types.is_bool_dtype(column.dtype) else "numbers"


def _compact(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if pd.api.types.is_integer_dtype(column.dtype):
        low, high = np.array([column.min(), column.max()])
        narrow = (np.int8, np.int16, np.int32)
        fitting = (kind for kind in narrow if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
        return column.astype(next(fitting, column.dtype))
    if pd.api.types.is_numeric_dtype(column.dtype) or column.isna().all():
        return column
    return column.astype("category")


def _joined(pieces: list["pd.Series[Any]"]) -> Any:
    """One column out of its pieces; categories in order."""
    if not any(isinstance(piece.dtype, pd.CategoricalDtype) for piece in pieces):
        return np.concatenate([piece.to_numpy() for piece in pieces])
    full = [piece.astype("category") for piece in pieces if _kind(piece) != "nothing"]
    categories = pd.Index(sorted(set().union(*(piece.cat.categories for piece in full))))
    codes = [
        np.full(len(piece), -1)
        if _kind(piece) == "nothing"
        else piece.astype("category").cat.set_categories(categories).cat.codes.to_numpy()
        for piece in pieces
    ]
    return pd.Categorical.from_codes(np.concatenate(codes), categories)
