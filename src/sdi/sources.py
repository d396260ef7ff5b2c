"""Sources: what a user names a world by, and the world it stands for, now and when the run goes on."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sdi import data, networks
from sdi.collected import Table, inspect_source
from sdi.formats.edges import read_truth
from sdi.formats.knowledge import read_knowledge
from sdi.formats.table import sha256
from sdi.graphs import BoolMatrix, is_graph_name
from sdi.worlds.findings import Finding
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
    knowledge: str | None = None  # a file of edges and tiers; the plan holds what it says


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The cells that ship with the package, nothing being known of what was done to them."""

    bins: str = "3:log"


Source: TypeAlias = Simulated | Table | Cells

_KINDS: dict[str, Any] = {"simulated": Simulated, "table": Table, "cells": Cells}
_FILES = ("path", "targets", "regimes", "interventions", "knowledge", "truth")  # the fields that are paths


class Studied(NamedTuple):
    """A world; beside it the true parents, for measures and people only; and the SHA-256 of each file it came from."""

    world: World
    truth: BoolMatrix | None
    files: dict[str, str]
    findings: tuple[Finding, ...] = ()  # what was found in a table that could be used


def study(source: Source, *, temperature: float, seed: int) -> Studied:
    """The world that `source` stands for. `temperature` flattens the tables of networks."""
    if isinstance(source, Table):
        return _study_table(source)
    return _study_cells(source) if isinstance(source, Cells) else _study_simulated(source, temperature, seed)


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
    _check_knowledge(source.knowledge, world)
    return Studied(world, world.graph.parents, _digests(source))


def _study_table(source: Table) -> Studied:
    inspection = inspect_source(source)
    world = inspection.dataset()
    truth = None if source.truth is None else read_truth(source.truth, world.names)[1]
    _check_knowledge(source.knowledge, world)
    return Studied(world, truth, _digests(source), inspection.findings)


def _study_cells(source: Cells) -> Studied:
    with as_file(files(data) / data.SACHS_FILE) as path:
        table = Table(
            path=str(path),
            environment=data.SACHS_ENVIRONMENT,
            observational=data.SACHS_OBSERVATIONAL,
            bins=(source.bins,),
        )
        # no digest: the file is part of the package, and may lie elsewhere when the run goes on
        return _study_table(table)._replace(files={})


def _check_knowledge(path: str | None, world: World) -> None:
    if path is not None:
        read_knowledge(path, world.names)  # an unknown name is told with its line


def _digests(source: Source) -> dict[str, str]:
    return {path: sha256(path) for path in _paths(source).values()}


def lasting(source: Source) -> Source:
    """The same with paths that hold in whatever folder the run goes on."""
    paths: dict[str, Any] = {name: absolute(path) for name, path in _paths(source).items()}
    return replace(source, **paths)


def _paths(source: Source) -> dict[str, Any]:
    """The files that a world is made of, by their fields."""
    named = {"name": source.name} if isinstance(source, Simulated) and _is_file(source.name) else {}
    return named | {name: path for name in _FILES if (path := getattr(source, name, None)) is not None}


def check_unchanged(files: Mapping[str, str], before: Mapping[str, str]) -> None:
    """ValueError if a file is not what it was."""
    for path, digest in before.items():
        if files.get(path) != digest:
            raise ValueError(
                f"{path} has changed since the run began (its SHA-256 is another one); "
                "restore it, or start a new run in another folder"
            )


def to_dict(source: Source) -> dict[str, Any]:
    kind = next(name for name, each in _KINDS.items() if isinstance(source, each))
    return {"kind": kind, **asdict(source)}


def from_dict(fields: Mapping[str, Any]) -> Source:
    rest = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    return _KINDS[str(rest.pop("kind"))](**rest)


def _is_file(name: str) -> bool:
    return not is_graph_name(name) and name not in networks.names() and Path(name).is_file()


def absolute(path: str) -> str:
    return os.path.abspath(path)  # not resolved: what a link points to may be called anything
