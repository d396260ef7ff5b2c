"""Row targets: what was touched in each row, from a column of numbers or names, and what that says of environments.

The base is stated, never guessed. ``0``: variables are counted from 0, an empty cell says that nothing was touched.
``1``: they are counted from 1, and 0 says that nothing was touched, as in the INT column of R's bnlearn. ``names``:
variables are named, an empty cell says that nothing was touched. A cell may hold several, separated by commas or
semicolons.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sdi.worlds.columns import label
from sdi.worlds.findings import unknown_name

BASES = ("0", "1", "names")

Touched = tuple[str, ...]


class RowTargets(NamedTuple):
    """Which of `touched` was touched in each row."""

    codes: NDArray[np.intp]  # [n]
    touched: tuple[Touched, ...]


def row_targets(cells: "pd.Series[Any]", base: int | str | None, names: Sequence[str]) -> RowTargets:
    """What `cells` say, `names` being the variables in the order in which they are counted."""
    if str(base) not in BASES:
        raise ValueError(
            f"expected the base of the target column, one of {', '.join(BASES)}, got {base!r}: "
            "it says how variables are written there and is never guessed"
        )
    codes, values = pd.factorize(cells, use_na_sentinel=False)
    found: dict[Touched, int] = {}
    place = [found.setdefault(_touched(value, str(base), names), len(found)) for value in values]
    return RowTargets(np.array(place, dtype=np.intp)[codes], tuple(found))


def _touched(value: Any, base: str, names: Sequence[str]) -> Touched:
    if isinstance(value, tuple | list):
        parts = [label(part) for part in value]
    else:
        text = "" if pd.isna(value) else label(value.item() if isinstance(value, np.generic) else value).strip()
        parts = (
            [text] if text in names and base == "names" else [p.strip() for p in re.split("[,;]", text) if p.strip()]
        )
    if base == "1":
        if not parts:
            raise ValueError("a target is missing: with base 1 expected 0 where nothing was touched; fill it in")
        parts = [] if parts == ["0"] else parts
    positions = {_position(part, base, names) for part in parts}
    return tuple(names[i] for i in sorted(positions))


def _position(text: str, base: str, names: Sequence[str]) -> int:
    if base == "names":
        if text not in names:
            raise ValueError(unknown_name("target", text, names))
        return names.index(text)
    first = int(base)
    if not re.fullmatch("[0-9]+", text) or not first <= int(text) < first + len(names):
        nothing = "an empty cell" if base == "0" else "0"
        raise ValueError(
            f"expected targets from {first} ({names[0]}) to {first + len(names) - 1} ({names[-1]}), counted in the "
            f"order of the columns, and {nothing} where nothing was touched; got {text!r}: check the base"
        )
    return int(text) - first
