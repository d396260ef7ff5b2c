"""Labels: in which environment each row was taken, which were left alone, and what was touched in the others."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sdi.worlds.columns import label
from sdi.worlds.dataset import OBSERVATIONAL
from sdi.worlds.row_targets import RowTargets

Known = Mapping[str, Sequence[str] | None]


class Labels(NamedTuple):
    """The environment of each row by its place in `names`, -1 where it is missing."""

    codes: NDArray[np.intp]  # [n]
    names: tuple[str, ...]
    left_alone: tuple[str, ...]
    known: Known  # what is known to have been touched


def labels_from(
    environment: "pd.Series[Any] | None",
    by_row: RowTargets | None,
    observational: str | Sequence[str],
    targets: Mapping[str, str | Sequence[str] | None],
) -> Labels:
    """What is given of environments and of targets, together; one of the two may be missing."""
    left_alone = (observational,) if isinstance(observational, str) else tuple(dict.fromkeys(observational))
    known = {name: (target,) if isinstance(target, str) else target for name, target in targets.items()}
    if environment is not None:
        codes, names = _named(environment)
    elif by_row is not None:
        codes, names = by_row.codes, tuple(map(_environment, by_row.touched))
    else:
        raise ValueError("expected the environment of every row, or its target; got neither")
    if by_row is None:
        return Labels(codes, names, left_alone, known)
    from_rows = _by_environment(by_row, codes, names)
    if OBSERVATIONAL not in names and left_alone == (OBSERVATIONAL,):  # nothing was said, but the rows say it
        left_alone = tuple(name for name, touched in from_rows.items() if not touched)
    return Labels(codes, names, left_alone, _joined(known, from_rows))


def _named(environment: "pd.Series[Any]") -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Codes, and names in order of appearance."""
    codes, values = pd.factorize(environment)
    found: dict[str, int] = {}
    place = [found.setdefault(label(value), len(found)) for value in values]
    return np.array([*place, -1], dtype=np.intp)[codes], tuple(found)  # the code of a missing value is -1: the last


def _environment(touched: Sequence[str]) -> str:
    return f"do({', '.join(touched)})" if touched else OBSERVATIONAL


def _by_environment(targets: RowTargets, codes: NDArray[np.intp], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What was touched in each environment: the same in all its rows, or ValueError."""
    result: dict[str, tuple[str, ...]] = {}
    sets = len(targets.touched)
    for pair in np.unique(codes[codes >= 0] * sets + targets.codes[codes >= 0]).tolist():
        name, touched = names[pair // sets], targets.touched[pair % sets]
        if name in result:
            listed = " and ".join(", ".join(each) or "nothing" for each in (result[name], touched))
            raise ValueError(
                f"environment {name!r} has rows with different targets ({listed}); leave the environment out, and "
                "the targets alone tell rows apart"
            )
        result[name] = touched
    return result


def _joined(known: Known, from_rows: Mapping[str, tuple[str, ...]]) -> Known:
    """What is known from the user and from the rows, if the two agree."""
    for name, target in known.items():
        if target is not None and name in from_rows and set(target) != set(from_rows[name]):
            raise ValueError(
                f"environment {name!r}: expected the target of its rows ({', '.join(from_rows[name]) or 'nothing'}), "
                f"got {', '.join(target) or 'nothing'}; give the target once"
            )
    return {**known, **from_rows}
