"""The rows that every method is given, and, kept apart from them, what is true.

Rows travel to a method in a .npz file without pickled objects; the truth is never written beside them.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sdi
from sdi.formats.edges import read_targets, read_truth
from sdi.formats.table import read_table
from sdi.worlds.dataset import FiniteEnvironment
from sdi.worlds.simulated import SimulatedWorld

Targets = tuple[tuple[int, ...] | None, ...]  # what was touched in each environment; None is "nobody knows"


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """A world by its name, and how much is seen of it."""

    world: str
    observational: int = 2_000
    per_variable: float = 1.0  # environments for each variable
    rows: int = 500  # of each environment
    kind: str = "soft"
    categories: int = 2
    temperature: float = 2.0
    redrawn: bool = False  # methods that can are given the world itself, with new mechanisms at every look

    @property
    def name(self) -> str:
        return self.world


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with a column that names environments; what is true of it, where that is known, in files."""

    path: str
    environment: str
    observational: tuple[str, ...] = ("observational",)
    targets: str | None = None
    truth: str | None = None
    bins: str | None = None  # how numbers are cut into categories, such as 3 or 3:quantile:log

    @property
    def name(self) -> str:
        return Path(self.path).name.partition(".")[0]


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The flow cytometry that ships with the package, against the network that biologists agree on."""

    bins: str = "3:quantile:log"

    @property
    def name(self) -> str:
        return "cytometry"


Source = Simulated | Table | Cells


class Case(NamedTuple):
    """One dataset: `dataset` declares no targets; `labels` are its columns in the results."""

    labels: dict[str, Any]
    dataset: sdi.Dataset
    targets: Targets | None
    truth: NDArray[np.bool_] | None  # [child, parent]
    digest: str


def make(source: Source, seed: int) -> Case:
    """The case that `source` stands for. Of a table, the seed changes nothing but the methods' own random numbers."""
    if isinstance(source, Simulated):
        return _simulated(source, seed)
    return _table(source, seed) if isinstance(source, Table) else _cells(source, seed)


def world_of(source: Simulated, seed: int) -> SimulatedWorld:
    # Graphs of a family have no tables to flatten: there the temperature has no say.
    return sdi.named_world(
        source.world,
        rng=np.random.default_rng(seed),
        categories=source.categories,
        temperature=source.temperature,
        redrawn=source.redrawn,
        interventions=sdi.Interventions(kind=source.kind),  # type: ignore[arg-type]
    )


def _simulated(source: Simulated, seed: int) -> Case:
    world = world_of(source, seed)
    frozen = sdi.freeze(
        world,
        observational=source.observational,
        environments=round(source.per_variable * len(world.names)),
        rows=source.rows,
        rng=np.random.default_rng([seed, 1]),
    )
    labels = {**asdict(source), "seed": seed}
    return Case(labels, frozen.dataset, frozen.targets, world.graph.parents, digest(frozen.dataset, labels))


def _table(source: Table, seed: int) -> Case:
    touched = None if source.targets is None else read_targets(source.targets)
    table = read_table(source.path, source.environment)
    cut: dict[str, Any] = {} if source.bins is None else {"bins": source.bins}
    left_alone = source.observational
    dataset = sdi.dataset_from_table(table, source.environment, observational=left_alone, targets=touched, **cut)
    truth = None if source.truth is None else read_truth(source.truth, dataset.names)[1]
    return _collected(source.name, dataset, truth, seed)


def _cells(source: Cells, seed: int) -> Case:
    from sdi import data

    dataset = sdi.dataset_from_table(
        data.sachs_cytometry(),
        data.SACHS_ENVIRONMENT,
        observational=data.SACHS_OBSERVATIONAL,
        targets=data.SACHS_TARGETS,
        bins=source.bins,
    )
    truth = np.zeros((len(dataset.names),) * 2, dtype=bool)
    for cause, effect in data.SACHS_CONSENSUS:
        truth[dataset.names.index(effect), dataset.names.index(cause)] = True
    return _collected(source.name, dataset, truth, seed)


def _collected(name: str, dataset: sdi.Dataset, truth: NDArray[np.bool_] | None, seed: int) -> Case:
    targets = tuple(environment.target for environment in dataset.environments)
    labels = {
        "world": name,
        "observational": len(dataset.observational),
        "per_variable": round(len(dataset.environments) / len(dataset.names), 2),
        "rows": max((len(environment.rows) for environment in dataset.environments), default=0),
        "kind": "as collected",
        "categories": max(dataset.cardinalities),
        "temperature": "",
        "redrawn": False,
        "seed": seed,
    }
    hidden = told(dataset, None)
    return Case(
        labels, hidden, targets if any(each is not None for each in targets) else None, truth, digest(hidden, labels)
    )


def told(dataset: sdi.Dataset, targets: Targets | None) -> sdi.Dataset:
    """The same rows, declared to be touched as `targets` says; None declares nothing."""
    known = targets or (None,) * len(dataset.environments)
    changed = (replace(e, target=target) for e, target in zip(dataset.environments, known, strict=True))
    return replace(dataset, environments=tuple(changed))


def digest(dataset: sdi.Dataset, labels: dict[str, Any]) -> str:
    """Names the rows: the same for every method that was given the same."""
    found = hashlib.sha256(json.dumps([dataset.names, dataset.states, bool(labels["redrawn"])]).encode())
    for rows in (dataset.observational, *(environment.rows for environment in dataset.environments)):
        found.update(np.ascontiguousarray(rows, dtype=np.int32).tobytes())
    return found.hexdigest()[:12]


def save(path: Path, dataset: sdi.Dataset) -> None:
    """Write the rows and the names of things, without targets."""
    names = {
        "names": dataset.names,
        "states": dataset.states,
        "environments": [environment.name for environment in dataset.environments],
    }
    arrays = {f"rows_{k}": environment.rows for k, environment in enumerate(dataset.environments)}
    meta = np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)
    np.savez_compressed(path, allow_pickle=False, meta=meta, observational=dataset.observational, **arrays)


def load(path: Path) -> sdi.Dataset:
    """What `save` wrote."""
    with np.load(path, allow_pickle=False) as file:
        meta = json.loads(file["meta"].tobytes())
        environments = tuple(FiniteEnvironment(name, file[f"rows_{k}"]) for k, name in enumerate(meta["environments"]))
        states = tuple(tuple(each) for each in meta["states"])
        return sdi.Dataset(tuple(meta["names"]), states, file["observational"], environments)
