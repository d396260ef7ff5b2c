"""A dataset out of a table, or every reason why there is none."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdi.worlds.dataset import OBSERVATIONAL, Dataset, FiniteEnvironment
from sdi.worlds.world import Rows, Target, code_type

FEWEST_ROWS = 10  # an environment with fewer rows says too little about what was changed


def dataset_from_table(
    table: pd.DataFrame,
    environment: str | Sequence[object],
    *,
    observational: str | Sequence[str] = OBSERVATIONAL,
    targets: Mapping[str, str | Sequence[str] | None] | None = None,
) -> Dataset:
    """The dataset in `table`: one row a sample, one column a variable.

    `environment` is the name of the column that says in which environment a row was taken, or the values themselves;
    `observational` names the environments that were left alone; `targets` says of some environments what was touched
    (a name, several, or () for nothing). Raises ValueError that lists every problem found.
    """
    if isinstance(environment, str):
        if environment not in table.columns:
            raise ValueError(_unknown("environment column", environment, table.columns))
        labels, table = table[environment], table.drop(columns=environment)
    else:
        labels = pd.Series(environment, dtype=object)
        if len(labels) != len(table):
            raise ValueError(f"got {len(labels)} environment labels for {len(table)} rows; give one for each row")
    problems = _table_problems(table, labels)
    if problems:
        raise ValueError("; ".join(problems))
    labels = labels.astype(str).reset_index(drop=True)
    left_alone = (observational,) if isinstance(observational, str) else tuple(dict.fromkeys(observational))
    names, known = tuple(map(str, table.columns)), {} if targets is None else dict(targets)
    counts = labels.value_counts(sort=False)
    problems = _environment_problems(counts, left_alone, known, names)
    if problems:
        raise ValueError("; ".join(problems))
    states, rows = _encode(table)
    groups = {str(name): np.asarray(index) for name, index in labels.groupby(labels, sort=False).indices.items()}
    environments = tuple(
        FiniteEnvironment(name, rows[index], _as_target(known.get(name), names))
        for name, index in groups.items()
        if name not in left_alone
    )
    return Dataset(names, states, rows[np.concatenate([groups[name] for name in left_alone])], environments)


def _table_problems(table: pd.DataFrame, labels: "pd.Series[Any]") -> list[str]:
    problems = []
    columns = table.columns.astype(str)  # 1 and "1" would be one variable
    doubled = columns[columns.duplicated()]
    if not len(table):
        return ["expected rows, got an empty table"]
    if len(doubled):
        return [f"column {doubled[0]!r} occurs more than once; rename or drop one of them"]
    if table.shape[1] < 2:
        return [f"expected at least 2 variables, got {table.shape[1]}; every column but the environment is a variable"]
    if labels.isna().any():
        problems.append(f"the environment is missing in {int(labels.isna().sum())} rows; fill them in or drop the rows")
    for name, column in table.items():
        missing, different = int(column.isna().sum()), column.nunique()
        if missing:
            problems.append(f"column {name!r} holds {missing} missing values; drop or fill them first")
        elif different == 1:
            problems.append(f"column {name!r} holds one value only ({column.head(1).tolist()[0]!r}); drop it")
        elif pd.api.types.is_float_dtype(column) and (column % 1 != 0).any():
            problems.append(f"column {name!r} holds fractions or infinities; cut it into categories first")
        elif different == len(column) and different > 2:
            problems.append(f"column {name!r} has a different value in every row; it looks like an identifier: drop it")
    return problems


def _environment_problems(
    counts: "pd.Series[int]",
    left_alone: Sequence[str],
    targets: Mapping[str, str | Sequence[str] | None],
    names: tuple[str, ...],
) -> list[str]:
    found = [str(name) for name in counts.index]
    problems = [
        _unknown("observational environment", name, found) + "; say which environments were left alone"
        for name in left_alone
        if name not in found
    ]
    if not left_alone:
        problems.append(f"no observational rows: name at least one environment that was left alone, of {found}")
    for name, count in counts.items():
        if count < FEWEST_ROWS:
            problems.append(
                f"environment {name!r} has too few rows: {count}, at least {FEWEST_ROWS} are needed; merge or drop it"
            )
    for environment, target in targets.items():
        if environment not in found:
            problems.append(_unknown("environment", environment, found) + " (in targets)")
        if environment in left_alone and target:
            problems.append(f"environment {environment!r} was left alone, so it has no target; got {target!r}")
        for variable in (target,) if isinstance(target, str) else target or ():
            if variable not in names:
                problems.append(_unknown(f"target of {environment!r}: variable", variable, names))
    return problems


def _unknown(what: str, name: str, choices: Sequence[object] | pd.Index) -> str:
    options = [str(choice) for choice in choices]
    near = difflib.get_close_matches(name, options, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    listed = ", ".join(options[:20]) + (", ..." if len(options) > 20 else "")
    return f"unknown {what} {name!r}; {hint}found: {listed}"


def _as_target(target: str | Sequence[str] | None, names: tuple[str, ...]) -> Target | None:
    if target is None:
        return None
    return tuple(sorted(names.index(name) for name in ((target,) if isinstance(target, str) else target)))


def _encode(table: pd.DataFrame) -> tuple[tuple[tuple[str, ...], ...], Rows]:
    """The categories of each column that occur, in order, and the rows as their codes."""
    columns = []
    for _, column in table.items():
        used = column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype("category")
        columns.append(used.cat.remove_unused_categories().reset_index(drop=True))
    states = tuple(tuple(_label(category) for category in column.cat.categories) for column in columns)
    dtype = code_type([len(categories) for categories in states])
    return states, np.stack([column.cat.codes.to_numpy() for column in columns], axis=1).astype(dtype)


def _label(category: object) -> str:
    return str(int(category)) if isinstance(category, float) else str(category)
