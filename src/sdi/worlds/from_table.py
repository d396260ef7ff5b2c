"""A dataset out of a table, or every reason why there is none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sdi.worlds.bins import Given, bins_from
from sdi.worlds.columns import Column, is_number, look_at
from sdi.worlds.dataset import OBSERVATIONAL, Dataset, FiniteEnvironment
from sdi.worlds.findings import Finding, Missing, of_columns, of_environments, of_missing, unknown_name
from sdi.worlds.labels import Labels, labels_from
from sdi.worlds.row_targets import row_targets
from sdi.worlds.world import Rows, Target, code_type


class Options(TypedDict, total=False):
    """What is done to the columns of a table, whatever its environments."""

    bins: Given
    missing: Missing
    drop: str | Sequence[str]
    keep: str | Sequence[str]


def dataset_from_table(
    table: pd.DataFrame,
    environment: str | Sequence[object] | None = None,
    *,
    observational: str | Sequence[str] = OBSERVATIONAL,
    targets: Mapping[str, str | Sequence[str] | None] | None = None,
    target_column: str | Sequence[object] | None = None,
    target_base: int | str | None = None,
    **options: Unpack[Options],
) -> Dataset:
    """The dataset in `table`: one row a sample, one column a variable.

    `environment` is the name of the column that says in which environment a row was taken, or the values themselves;
    `observational` names the environments that were left alone; `targets` says of some environments what was touched
    (a name, several, or () for nothing). Instead, or as well, `target_column` says of every row what was touched,
    written as `target_base` tells: 0, 1 or names.

    `bins` cuts numbers into categories: 3, "4:uniform:log", or a rule for each of some columns; `missing` values are
    refused, or their rows dropped, or taken as a category; `drop` and `keep` choose columns. Raises ValueError that
    lists every problem found.
    """
    inspection = inspect_table(
        table,
        environment,
        observational=observational,
        targets=targets,
        target_column=target_column,
        target_base=target_base,
        **options,
    )
    return inspection.dataset()


@dataclass(frozen=True, eq=False)
class Inspection:
    """What is in a table, what would be done about it, and the dataset it makes."""

    rows: int  # that are used
    dropped: int  # that are not, for a missing value
    columns: tuple[Column, ...]
    environments: Mapping[str, int]  # rows of each
    left_alone: tuple[str, ...]
    targets: Mapping[str, tuple[str, ...] | None]  # what is known to have been touched
    findings: tuple[Finding, ...]
    labels: NDArray[np.intp]  # [rows] the environment of each, by its place in `environments`

    def dataset(self) -> Dataset:
        """The dataset; ValueError with all errors among the findings if there are any."""
        errors = [str(finding) for finding in self.findings if finding.severity == "error"]
        if errors:
            raise ValueError("; ".join(errors))
        names = tuple(column.name for column in self.columns)
        rows = _stacked(self.columns, self.rows)
        order = np.argsort(self.labels, kind="stable")
        ends = np.cumsum(list(self.environments.values()))
        groups = dict(zip(self.environments, np.split(order, ends[:-1]), strict=True))
        environments = tuple(
            FiniteEnvironment(name, rows[index], _positions(self.targets.get(name), names))
            for name, index in groups.items()
            if name not in self.left_alone
        )
        observational = rows[np.concatenate([groups[name] for name in self.left_alone])]
        return Dataset(names, tuple(column.states for column in self.columns), observational, environments)


def inspect_table(
    table: pd.DataFrame,
    environment: str | Sequence[object] | None = None,
    *,
    observational: str | Sequence[str] = OBSERVATIONAL,
    targets: Mapping[str, str | Sequence[str] | None] | None = None,
    target_column: str | Sequence[object] | None = None,
    target_base: int | str | None = None,
    **options: Unpack[Options],
) -> Inspection:
    """What `dataset_from_table` would find in the table and do about it; arguments as there."""
    missing = options.get("missing", "refuse")
    if missing not in get_args(Missing):
        raise ValueError(f"unknown way with missing values {missing!r}; choose from {', '.join(get_args(Missing))}")
    table = _with_text_names(table)
    if environment is None and target_column is None:
        raise ValueError(f"which column names the environment of a row? found: {', '.join(table.columns)}")
    taken = [name for name in (environment, target_column) if isinstance(name, str)]
    labels, cells = (_values(w, g, table) for w, g in (("environment", environment), ("target", target_column)))
    names = [name for name in table.columns if name not in taken]  # in the order in which targets count them
    by_row = None if cells is None else row_targets(cells, target_base, names)
    return _inspect(table, _chosen(names, options), labels_from(labels, by_row, observational, targets or {}), options)


def _inspect(table: pd.DataFrame, names: Sequence[str], labels: Labels, options: Options) -> Inspection:
    missing, rules = options.get("missing", "refuse"), bins_from(options.get("bins"))
    for name in rules.columns:
        if name not in names:
            raise ValueError(unknown_name("column in bins", name, names))
    absent, kept = _missing_values(table, names, labels.codes, missing)
    codes = labels.codes if kept is None else labels.codes[kept]
    columns = []
    for name in names:
        values = (table[name] if kept is None else table[name][kept]).reset_index(drop=True)
        # a rule for all columns is for all numbers
        rule = rules.rule(name) if name in rules.columns or is_number(values) else None
        column = look_at(name, values, rule, with_missing=missing == "category")
        columns.append(replace(column, missing=absent[name]))
    sizes = np.bincount(codes[codes >= 0], minlength=len(labels.names))
    counts = {name: count for name, count in zip(labels.names, sizes.tolist(), strict=True) if count}
    findings = [
        *of_missing(absent, int((labels.codes < 0).sum()), len(table), len(codes), missing),
        *(of_columns(columns, len(codes), missing) if len(codes) else ()),
        *of_environments(counts, labels.left_alone, labels.known, names),
    ]
    place = np.append(np.cumsum(sizes > 0) - 1, -1)  # an environment that lost all its rows is none any more
    return Inspection(
        rows=len(codes),
        dropped=len(table) - len(codes),
        columns=tuple(columns),
        environments=counts,
        left_alone=labels.left_alone,
        targets={name: None if (known := labels.known.get(name)) is None else tuple(known) for name in counts},
        findings=tuple(findings),
        labels=place[codes],
    )


# ------------------------------------------------------------------------------------------ rows and columns


def _with_text_names(table: pd.DataFrame) -> pd.DataFrame:
    """The table with names of columns as text, all of them different, and with rows."""
    if not len(table):
        raise ValueError("expected rows, got an empty table")
    columns = pd.Index([str(name) for name in table.columns])  # 1 and "1" would be one variable
    doubled = columns[columns.duplicated()]
    if len(doubled):
        raise ValueError(f"column {doubled[0]!r} occurs more than once; rename or drop one of them")
    return table.set_axis(columns, axis="columns")


def _values(what: str, given: str | Sequence[object] | None, table: pd.DataFrame) -> "pd.Series[Any] | None":
    """The values of the column `given`, or those given themselves."""
    if given is None:
        return None
    if isinstance(given, str):
        if given not in table.columns:
            raise ValueError(unknown_name(f"{what} column", given, list(table.columns)))
        return table[given]
    values = pd.Series(given, dtype=getattr(given, "dtype", object))  # type: ignore[arg-type]
    if len(values) != len(table):
        raise ValueError(f"got {len(values)} {what} labels for {len(table)} rows; give one for each row")
    return values


def _chosen(names: Sequence[str], options: Options) -> list[str]:
    """The columns that are variables."""
    keep = {*names_in(options.get("keep", ()), names, "column to keep")}
    drop = {*names_in(options.get("drop", ()), names, "column to drop")}
    chosen = [name for name in names if (name in keep or not keep) and name not in drop]
    if len(chosen) < 2:
        raise ValueError(
            f"expected at least 2 variables, got {len(chosen)}; every column but the environment is a variable"
        )
    return chosen


def names_in(given: str | Sequence[str], known: Sequence[str], what: str) -> Iterator[str]:
    """The names in `given`, each on its own or in a list with commas; ValueError for one that is not `known`."""
    for text in (given,) if isinstance(given, str) else given:
        for name in (text,) if text in known else (part.strip() for part in text.split(",")):
            if name not in known:
                raise ValueError(unknown_name(what, name, known))
            yield name


def _missing_values(
    table: pd.DataFrame, names: Sequence[str], codes: NDArray[np.intp], missing: Missing
) -> tuple[dict[str, int], NDArray[np.bool_] | None]:
    """How many values each column misses, and which rows stay where those with a missing value are dropped."""
    counts, gone = {}, codes < 0
    for name in names:
        absent = table[name].isna().to_numpy()
        counts[name] = int(absent.sum())
        gone = gone | absent
    return counts, ~gone if missing == "drop" and gone.any() else None


def _stacked(columns: Sequence[Column], count: int) -> Rows:
    rows = np.empty((count, len(columns)), dtype=code_type([len(column.states) for column in columns]))  # [n, M]
    for j, column in enumerate(columns):
        rows[:, j] = column.codes
    return rows


def _positions(target: Sequence[str] | None, names: tuple[str, ...]) -> Target | None:
    return None if target is None else tuple(sorted({names.index(name) for name in target}))
