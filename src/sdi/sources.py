"""Sources: what a user names a world by, and the world it stands for, now and when the run goes on."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from sdi import networks
from sdi.formats.edges import read_targets, read_truth
from sdi.formats.knowledge import read_knowledge
from sdi.formats.regimes import read_interventions, read_regimes
from sdi.formats.table import count_lines, read_table, sha256
from sdi.graphs import BoolMatrix, is_graph_name
from sdi.worlds.dataset import OBSERVATIONAL, Dataset
from sdi.worlds.findings import Finding, Missing
from sdi.worlds.from_table import Inspection, Options, inspect_table, names_in
from sdi.worlds.named import named_world
from sdi.worlds.simulated import Interventions, Kind
from sdi.worlds.world import World


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """A simulated world by its name; at one seed the same world as that of `sdi simulate`."""

    name: str
    redrawn: bool = False
    categories: int = 2
    intervention: Kind = "soft"
    at_once: int = 1
    untouched: float = 0.0
    known_targets: bool = False


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


_FILES = ("path", "targets", "regimes", "interventions", "knowledge", "truth")  # the fields of a table that are paths


class Studied(NamedTuple):
    """A world; beside it the true parents, for measures and people only; and the SHA-256 of each file it came from."""

    world: World
    truth: BoolMatrix | None
    files: dict[str, str]
    findings: tuple[Finding, ...] = ()  # what was found in a table that could be used


def study(source: Simulated | Table, *, temperature: float, seed: int) -> Studied:
    """The world that `source` stands for. `temperature` flattens the tables of networks."""
    return _study_table(source) if isinstance(source, Table) else _study_simulated(source, temperature, seed)


def _study_simulated(source: Simulated, temperature: float, seed: int) -> Studied:
    mechanisms = np.random.default_rng(seed).spawn(2)[0]  # the stream from which `sdi simulate` draws them
    world = named_world(
        source.name,
        rng=mechanisms,
        categories=source.categories,
        temperature=temperature,
        redrawn=source.redrawn,
        interventions=Interventions(
            kind=source.intervention,
            at_once=source.at_once,
            untouched=source.untouched,
            known=source.known_targets,
        ),
    )
    files = {source.name: sha256(source.name)} if _is_file(source.name) else {}
    return Studied(world, world.graph.parents, files)


def _study_table(source: Table) -> Studied:
    inspection = inspect_source(source)
    world = inspection.dataset()
    truth = None if source.truth is None else read_truth(source.truth, world.names)[1]
    if source.knowledge is not None:
        read_knowledge(source.knowledge, world.names)  # an unknown name is told with its line
    files = {path: sha256(path) for path in _paths(source).values()}
    return Studied(world, truth, files, inspection.findings)


def inspect_source(source: Table) -> Inspection:
    """What is in the table and what would be done about it."""
    read = _read(source)
    return inspect_table(
        read.table,
        read.labels,
        observational=source.observational,
        targets=_known(source, [str(name) for name in read.table.columns]),
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


def lasting(source: Simulated | Table) -> Simulated | Table:
    """The same with paths that hold in whatever folder the run goes on."""
    if isinstance(source, Simulated):
        return replace(source, name=absolute(source.name)) if _is_file(source.name) else source
    paths: dict[str, Any] = {name: absolute(path) for name, path in _paths(source).items()}
    return replace(source, **paths)


def _paths(source: Table) -> dict[str, Any]:
    """The files that a table is made of, by their fields."""
    return {name: path for name in _FILES if (path := getattr(source, name)) is not None}


def check_unchanged(files: Mapping[str, str], before: Mapping[str, str]) -> None:
    """ValueError if a file is not what it was."""
    for path, digest in before.items():
        if files.get(path) != digest:
            raise ValueError(
                f"{path} has changed since the run began (its SHA-256 is another one); "
                "restore it, or start a new run in another folder"
            )


def to_dict(source: Simulated | Table) -> dict[str, Any]:
    return {"kind": "table" if isinstance(source, Table) else "simulated", **asdict(source)}


def from_dict(fields: Mapping[str, Any]) -> Simulated | Table:
    rest: dict[str, Any] = {name: value for name, value in fields.items() if name != "kind"}
    if fields["kind"] == "table":
        lists = {name: tuple(value) for name, value in rest.items() if isinstance(value, list)}
        return Table(**(rest | lists))
    return Simulated(**rest)


def _is_file(name: str) -> bool:
    return not is_graph_name(name) and name not in networks.names() and Path(name).is_file()


def absolute(path: str) -> str:
    return os.path.abspath(path)  # not resolved: what a link points to may be called anything
