"""Tables as a source: what tells the environments and targets of their rows, and what is done to their columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Unpack

import pandas as pd

from sdi.formats.edges import read_targets
from sdi.formats.regimes import read_interventions, read_regimes
from sdi.formats.table import count_lines, read_table
from sdi.worlds.dataset import OBSERVATIONAL, Dataset
from sdi.worlds.findings import Missing
from sdi.worlds.from_table import Inspection, Options, inspect_table, names_in


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of rows, what tells their environments and targets, what is done to its columns, and what is known."""

    path: str
    environment: str | None = None  # the column that names the environment
    observational: tuple[str, ...] = (OBSERVATIONAL,)
    known: tuple[str, ...] = ()  # ENVIRONMENT=VARIABLE[,VARIABLE], what is known to have been touched
    targets: str | None = None  # a file of the same
    target_column: str | None = None  # the column that says what was touched in a row
    target_base: str | None = None  # how it says so: 0, 1 or names
    regimes: str | None = None  # a file with the environment of every row
    interventions: str | None = None  # a file with what was touched in every row
    bins: tuple[str, ...] = ()  # [COLUMN=]N[:uniform][:log]
    missing: Missing = "refuse"
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    knowledge: str | None = None  # a file of edges and tiers; the plan holds what it says
    truth: str | None = None


def inspect_source(source: Table) -> Inspection:
    """What is in the table and what would be done about it."""
    read = _read(source)
    return inspect_table(
        read.table,
        read.labels,
        observational=source.observational,
        targets=_known(source, [str(name) for name in read.table.columns if name != source.environment]),
        target_column=read.cells,
        target_base=read.base,
        bins=source.bins,
        missing=source.missing,
        drop=source.drop,
        keep=source.keep,
    )


class _Read(NamedTuple):
    """A table, and what tells the environments and the targets of its rows: columns of it, or values."""

    table: pd.DataFrame
    labels: str | list[str] | None
    cells: str | list[str] | None
    base: str | None


def _read(source: Table) -> _Read:
    labels, cells, base = _labels(source)
    values = next((each for each in (labels, cells) if isinstance(each, list)), None)
    header = values is None or _has_header(source.path, len(values))
    return _Read(
        read_table(source.path, (source.environment, source.target_column), header=header), labels, cells, base
    )


def _labels(source: Table) -> tuple[str | list[str] | None, str | list[str] | None, str | None]:
    """Columns, or else values out of files: environments, targets and how these count."""
    for option, one, other in (
        ("environments", source.environment, source.regimes),
        ("targets", source.target_column, source.interventions),
    ):
        if one is not None and other is not None:
            raise ValueError(f"expected the {option} in the column {one!r} or in the file {other}, got both; drop one")
    labels = source.environment if source.regimes is None else read_regimes(source.regimes)
    if source.interventions is not None:
        return labels, read_interventions(source.interventions), "0"
    return labels, source.target_column, source.target_base


def _has_header(path: str, rows: int) -> bool:
    """Whether a CSV file that belongs to so many rows has a line more."""
    if not path.lower().endswith((".csv", ".csv.gz")):
        return True
    lines = count_lines(path)
    if lines not in (rows, rows + 1):
        raise ValueError(f"{path}: expected {rows} rows, as in the file beside it, got {lines} lines; check both")
    return lines == rows + 1


def _known(source: Table, columns: Sequence[str]) -> dict[str, Sequence[str]]:
    """What is known to have been touched, from the file and as typed."""
    known: dict[str, Sequence[str]] = {} if source.targets is None else dict(read_targets(source.targets))
    for text in source.known:
        environment, equals, touched = text.partition("=")
        if not equals:
            raise ValueError(f"expected a known target as ENVIRONMENT=VARIABLE, got {text!r}; nothing touched: 'e1='")
        if environment in known:
            raise ValueError(f"the target of {environment!r} is given twice; give it once")
        whole = touched.strip()
        known[environment] = tuple(names_in(whole, columns, f"target of {environment!r}: variable")) if whole else ()
    return known


def dataset_from_dcdi(
    data: Path | str,
    regimes: Path | str | None = None,
    interventions: Path | str | None = None,
    *,
    observational: str | Sequence[str] = OBSERVATIONAL,
    **options: Unpack[Options],
) -> Dataset:
    """The dataset in the files of DCDI: rows (.npy or .csv), the regime of each, and what was touched in each.

    Without `interventions` targets are unknown, and `observational` says which regimes were left alone ("0"). Without
    `regimes` the targets tell rows apart. The columns of an array are called X1, X2, ... Options are those of
    `dataset_from_table`.
    """
    source = Table(
        path=str(data),
        regimes=None if regimes is None else str(regimes),
        interventions=None if interventions is None else str(interventions),
    )
    read = _read(source)
    inspection = inspect_table(
        read.table,
        read.labels,
        observational=observational,
        target_column=read.cells,
        target_base=read.base,
        **options,
    )
    return inspection.dataset()
