"""A dataset out of arrays: one for each environment with its targets, or one with a mask of what was touched."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sdi.worlds.dataset import OBSERVATIONAL, Dataset
from sdi.worlds.from_table import Options, dataset_from_table

Targets = Sequence[int | str]


def dataset_from_arrays(
    arrays: Sequence[ArrayLike],
    targets: Sequence[Targets | None],
    *,
    names: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> Dataset:
    """The dataset in `arrays`, one ``[n, M]`` for each environment.

    `targets` says of each what was touched: variables by name or counted from 0, [] for the system left alone, None
    for unknown. Environments are called e1, e2, ... after their place; those left alone are put together. Variables
    without `names` are called X1, X2, ... Options are those of `dataset_from_table`.

    >>> rng = np.random.default_rng(0)
    >>> data = dataset_from_arrays([rng.integers(2, size=(20, 3)) for _ in range(3)], [[], [0], None])
    >>> [(environment.name, environment.target) for environment in data.environments]
    [('e2', (0,)), ('e3', None)]
    """
    if len(arrays) != len(targets) or not len(arrays):
        raise ValueError(f"expected the targets of every array, got {len(arrays)} arrays and {len(targets)} targets")
    frames = [_frame(array, names, f"array {k}") for k, array in enumerate(arrays)]
    widths = sorted({frame.shape[1] for frame in frames})
    if len(widths) > 1:
        raise ValueError(f"expected arrays with a column for every variable, got {widths[0]} and {widths[-1]} columns")
    columns = list(frames[0].columns)
    touched = [_names(target, columns, f"array {k}") for k, target in enumerate(targets)]
    places = [OBSERVATIONAL if target == () else f"e{k}" for k, target in enumerate(touched, start=1)]
    known = {place: target for place, target in zip(places, touched, strict=True) if target}
    labels = [place for place, frame in zip(places, frames, strict=True) for _ in range(len(frame))]
    return dataset_from_table(pd.concat(frames, ignore_index=True), labels, targets=known, **options)


def dataset_from_masks(
    rows: ArrayLike | pd.DataFrame,
    masks: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    environment: Sequence[object] | None = None,
    **options: Unpack[Options],
) -> Dataset:
    """The dataset in `rows` ``[n, M]``, `masks` of the same shape being true where a variable was touched.

    Rows with the same mask make an environment, those without a touched variable the system left alone; where
    `environment` is given, its values tell them apart. Options are those of `dataset_from_table`.
    """
    frame = rows if isinstance(rows, pd.DataFrame) else _frame(rows, names, "rows")
    touched = np.asarray(masks)
    if touched.shape != frame.shape:
        raise ValueError(f"expected a mask for every row and column, {frame.shape}, got an array of {touched.shape}")
    if not np.isin(touched, (0, 1)).all():
        raise ValueError("expected masks of true and false, or 1 and 0; got other values")
    sets, place = np.unique(touched.astype(bool), axis=0, return_inverse=True)
    texts = [",".join(map(str, np.flatnonzero(each))) for each in sets]
    cells = [texts[k] for k in place.ravel()]
    return dataset_from_table(frame, environment, target_column=cells, target_base=0, **options)


def _frame(array: Any, names: Sequence[str] | None, what: str) -> pd.DataFrame:
    values = np.asarray(array)
    if values.ndim != 2:
        raise ValueError(f"{what}: expected rows and columns, got an array of shape {values.shape}")
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(f"{what}: expected a name for each of {values.shape[1]} columns, got {len(names)}")
    return pd.DataFrame(values, columns=list(names or (f"X{j + 1}" for j in range(values.shape[1]))))


def _names(target: Targets | None, columns: Sequence[str], what: str) -> tuple[str, ...] | None:
    """What was touched, by name; a name that is no variable is refused later."""
    if target is None:
        return None
    found = []
    for each in target:
        if isinstance(each, str):
            found.append(each)
        elif 0 <= each < len(columns):
            found.append(columns[each])
        else:
            raise ValueError(f"{what}: expected targets from 0 to {len(columns) - 1}, got {each}; they count from 0")
    return tuple(found)
