"""Columns: one column of a table as categories, and the facts by which it is judged."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sdi.worlds.bins import Rule, edges_of, labels_of
from sdi.worlds.world import Rows, code_type

Kind = Literal["numbers", "truth values", "text", "categories", "mixed types"]

FEW = 20  # different values that are taken as categories without a second look
MISSING = "(missing)"  # the category of a missing value, where that is wished for


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """What is in a column, and its rows as codes of `states`; without states it cannot be used as it is."""

    name: str
    kind: Kind
    different: int  # values, missing ones apart
    missing: int
    rule: Rule | None = None  # asked for by the user
    states: tuple[str, ...] = ()
    codes: Rows | None = None  # [n]
    edges: tuple[float, ...] | None = None  # where it is cut into bins
    example: str = ""  # a value, as Python writes it
    infinite: int = 0
    fractions: bool = False
    no_logarithm: int = 0  # values of zero or less in a column whose logarithm is to be cut
    in_text: int = 0  # different numbers in a column of more than a few texts
    odd_text: str = ""  # one of its texts that is no number, or the types of a mixed column


def look_at(name: str, column: "pd.Series[Any]", rule: Rule | None, *, with_missing: bool) -> Column:
    """The facts about `column`. A missing value is a category of its own if `with_missing`, else it has no code."""
    kind = _kind(column)
    try:
        codes, values = _factorised(column)
    except TypeError:  # what Parquet calls a list
        number = int(column.notna().sum())
        return Column(name=name, kind="mixed types", different=number, missing=len(column) - number, odd_text="lists")
    facts: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "different": len(values),
        "missing": int((codes < 0).sum()),
        "rule": rule,
        "example": repr(_plain(values[0])) if len(values) else "",
    }
    if kind == "numbers":
        return _numbers(facts, codes, values, with_missing)
    if kind == "text" and len(values) > FEW:
        facts |= _numbers_in(values)
    if kind == "mixed types":
        types = _types(values)
        if len(types) > 1:
            return Column(**facts, odd_text=" and ".join(types))
        facts["kind"] = "categories"
    return _encoded(facts, tuple(map(label, values)), codes, with_missing)


def label(value: object) -> str:
    """`value` as the name of a category or an environment; a whole number stays one even where it is a float."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def is_number(column: "pd.Series[Any]") -> bool:
    return _kind(column) == "numbers"


def _kind(column: "pd.Series[Any]") -> Kind:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "text" if pd.api.types.is_string_dtype(dtype.categories) else "categories"
    if pd.api.types.is_bool_dtype(dtype):
        return "truth values"
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return "numbers"
    if isinstance(dtype, pd.StringDtype):
        return "text"
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    known: dict[str, Kind] = {"string": "text", "empty": "text", "boolean": "truth values", "date": "categories"}
    if inferred.startswith("mixed"):
        return "mixed types"
    return known.get(inferred, "numbers" if inferred in ("integer", "floating", "decimal") else "categories")


def _factorised(column: "pd.Series[Any]") -> tuple[NDArray[np.integer[Any]], pd.Index]:
    """A code for each row, -1 for a missing value, and the values that occur, in order."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        used = column.cat.remove_unused_categories()
        return used.cat.codes.to_numpy(), used.cat.categories
    mixed = column.dtype == object and pd.api.types.infer_dtype(column, skipna=True).startswith("mixed")
    codes, values = pd.factorize(column, sort=not mixed)  # values of several types have no order
    return codes, pd.Index(values)


def _numbers(facts: dict[str, Any], codes: NDArray[np.integer[Any]], values: pd.Index, with_missing: bool) -> Column:
    rule, numbers = facts["rule"], values.to_numpy(dtype=np.float64)
    facts["infinite"] = int(np.isin(codes, np.flatnonzero(np.isinf(numbers))).sum())
    if facts["infinite"]:
        return Column(**facts)
    facts["fractions"] = bool((numbers % 1 != 0).any())
    if rule is None and facts["fractions"]:
        return Column(**facts)
    if rule is None or len(numbers) <= rule.count:
        return _encoded(facts, tuple(label(_plain(value)) for value in values), codes, with_missing)
    if rule.log and rule.how == "uniform" and numbers[0] <= 0:
        return Column(**facts, no_logarithm=int(np.isin(codes, np.flatnonzero(numbers <= 0)).sum()))
    numbers, place = np.unique(numbers, return_inverse=True)  # whole numbers beyond 2**53 may be one as floats
    edges = edges_of(numbers, np.bincount(place[codes[codes >= 0]]), rule)
    binned = np.searchsorted(np.array(edges), numbers, side="right")[place]  # the bin of each different value
    return _encoded({**facts, "edges": edges}, labels_of(edges), np.where(codes < 0, -1, binned[codes]), with_missing)


def _encoded(
    facts: dict[str, Any], states: tuple[str, ...], codes: NDArray[np.integer[Any]], with_missing: bool
) -> Column:
    if len(set(states)) < len(states):  # 1 and "1" among the categories of a pandas column
        doubled = next(state for k, state in enumerate(states) if state in states[:k])
        return Column(**{**facts, "kind": "mixed types", "odd_text": f"several values that are written {doubled!r}"})
    if with_missing and facts["missing"]:
        mark = MISSING if MISSING not in states else f"{MISSING}*"
        codes, states = np.where(codes < 0, len(states), codes), (*states, mark)
    dtype = code_type([max(len(states), 1)])
    return Column(**facts, states=states, codes=np.maximum(codes, 0).astype(dtype))


def _numbers_in(values: pd.Index) -> dict[str, Any]:
    """How many of the texts are numbers, a decimal comma allowed, and one that is none."""
    texts = pd.Series(values.astype(str)).str.strip()
    parsed = pd.to_numeric(texts.str.replace(",", ".", n=1, regex=False), errors="coerce")
    odd = texts[parsed.isna()]
    return {"in_text": int(parsed.notna().sum()), "odd_text": repr(odd.iloc[0]) if len(odd) else ""}


def _types(values: pd.Index) -> tuple[str, ...]:
    """The types of `values` by name; numbers of any kind are of one type."""
    return tuple(sorted({_type_name(value) for value in values}))


def _type_name(value: Hashable) -> str:
    if isinstance(value, bool | np.bool_):
        return "truth values"
    return "numbers" if isinstance(value, int | float | np.number) else "text" if isinstance(value, str) else "others"


def _plain(value: Any) -> object:
    """Without the wrapping of NumPy, so that 1 is written 1."""
    return value.item() if isinstance(value, np.generic) else value
