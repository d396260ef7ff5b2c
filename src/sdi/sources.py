"""Sources: what a user names a world by, and the world it stands for, now and when the run goes on."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sdi import networks
from sdi.formats.edges import read_targets, read_truth
from sdi.formats.table import read_bytes, read_table
from sdi.graphs import BoolMatrix, is_graph_name
from sdi.worlds.dataset import OBSERVATIONAL
from sdi.worlds.from_table import dataset_from_table
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
    """A table of rows, the column that names their environments, and what else is known, in files."""

    path: str
    environment: str
    observational: tuple[str, ...] = (OBSERVATIONAL,)
    targets: str | None = None  # a file of what is known to have been touched
    truth: str | None = None


class Studied(NamedTuple):
    """A world; beside it the true parents, for measures and people only; and the SHA-256 of each file it came from."""

    world: World
    truth: BoolMatrix | None
    files: dict[str, str]


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
    files = {source.name: _sha256(read_bytes(source.name))} if _is_file(source.name) else {}
    return Studied(world, world.graph.parents, files)


def _study_table(source: Table) -> Studied:
    content = read_bytes(source.path)
    table = read_table(source.path, source.environment, content)
    targets = None if source.targets is None else read_targets(source.targets)
    world = dataset_from_table(table, source.environment, observational=source.observational, targets=targets)
    truth = None if source.truth is None else read_truth(source.truth, world.names)[1]
    files = {source.path: _sha256(content)}
    for path in (source.targets, source.truth):
        if path is not None:
            files[path] = _sha256(read_bytes(path))
    return Studied(world, truth, files)


def lasting(source: Simulated | Table) -> Simulated | Table:
    """The same with paths that hold in whatever folder the run goes on."""
    if isinstance(source, Simulated):
        return replace(source, name=absolute(source.name)) if _is_file(source.name) else source
    given = {"path": source.path, "targets": source.targets, "truth": source.truth}
    return replace(source, **{name: absolute(path) for name, path in given.items() if path is not None})  # type: ignore[arg-type]


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
    rest = {name: value for name, value in fields.items() if name != "kind"}
    if fields["kind"] == "table":
        return Table(**{**rest, "observational": tuple(rest["observational"])})
    return Simulated(**rest)


def _is_file(name: str) -> bool:
    return not is_graph_name(name) and name not in networks.names() and Path(name).is_file()


def absolute(path: str) -> str:
    return os.path.abspath(path)  # not resolved: what a link points to may be called anything


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
