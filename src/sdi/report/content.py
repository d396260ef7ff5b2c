"""The content of a report: plain data about one run, which page and figures show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.discover import REASONS, Discovery
from sdi.worlds.dataset import Dataset, FiniteEnvironment
from sdi.worlds.simulated import SimulatedWorld
from sdi.worlds.world import World

THRESHOLD = 0.5  # above which an edge is in the graph, and a variable counts as touched


class Condition(NamedTuple):
    """One environment: its name, how many rows it has, and what was declared to have been touched in it."""

    name: str
    rows: int | None = None
    declared: tuple[str, ...] | None = None  # None is unknown, () is nothing


class Reference(NamedTuple):
    """A published network and known targets to compare with. The method never saw them."""

    name: str
    edges: tuple[tuple[str, str], ...]  # (cause, effect)
    targets: Mapping[str, tuple[str, ...]] = {}  # by environment
    note: str = ""


class Bootstrap(NamedTuple):
    """How often each edge came out again on resampled rows."""

    shares: NDArray[np.floating]  # [child, parent]
    refits: int


class Chains(NamedTuple):
    """Whether chains that were started apart agree (R-hat near 1), and how many independent draws they are worth."""

    r_hat: float
    effective: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Content:
    """All that a report says about a run. Matrices are [child, parent]; nothing in here knows how a run is made."""

    title: str
    names: tuple[str, ...]
    cardinalities: tuple[int, ...]
    states: tuple[tuple[str, ...], ...] = ()  # of each variable, or () where they have no names
    probabilities: NDArray[np.floating]  # [M, M]
    parents: BoolMatrix  # [M, M], acyclic
    removed: tuple[tuple[str, str], ...] = ()  # (cause, effect), believed but with no place in one graph
    environments: tuple[Condition, ...] = ()
    targets: NDArray[np.floating] = field(default_factory=lambda: np.zeros((0, 0)))  # [E, M]
    observational: int | None = None  # rows of the system left alone
    lasting: bool = True  # whether the environments are all there are, not those of the last iteration only
    method: str = "neural"  # what the probabilities come from: "neural" or "tables"
    reason: str = ""  # why it stopped, in words that follow "because"
    iterations: int | None = None
    interventions: int | None = None
    seconds: float | None = None
    history: tuple[Mapping[str, Any], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    compared: tuple[Mapping[str, Any], ...] = ()  # per method: method, log_likelihood, edges, seconds
    bootstrap: Bootstrap | None = None
    chains: Chains | None = None
    reference: Reference | None = None
    seed: int | None = None
    command: str = ""  # that makes the same run again
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = len(self.names)
        for what, matrix in (
            ("probabilities", self.probabilities),
            ("parents", self.parents),
            ("bootstrap shares", None if self.bootstrap is None else self.bootstrap.shares),
        ):
            if matrix is not None and np.shape(matrix) != (size, size):
                raise ValueError(
                    f"expected {what}[child, parent] over the {size} names, got shape {np.shape(matrix)}; "
                    "give one row and one column per name"
                )
        if np.size(self.targets) and np.shape(self.targets) != (len(self.environments), size):
            raise ValueError(
                f"expected targets over {len(self.environments)} environments and {size} names, "
                f"got shape {np.shape(self.targets)}; give a row per environment"
            )
        for what, given in (("cardinalities", self.cardinalities), ("states", self.states)):
            if given and len(given) != size:
                raise ValueError(f"expected {what} of {size} variables, got {len(given)}; give one entry per name")

    @property
    def edges(self) -> list[tuple[int, int]]:
        """(cause, effect) of the graph that was found, in the order of the names."""
        return [(int(j), int(i)) for j, i in np.argwhere(self.parents.T)]

    def touched(self, variable: int) -> list[str]:
        """The environments that touched it, known or inferred."""
        if not np.size(self.targets):
            return []
        rows = np.flatnonzero(np.asarray(self.targets)[:, variable] > THRESHOLD)
        return [self.environments[int(e)].name for e in rows]


class Agreement(NamedTuple):
    """Edges (cause, effect) of a found graph beside those of a published one."""

    agreeing: tuple[tuple[str, str], ...]
    reversed: tuple[tuple[str, str], ...]  # as published; found the other way round
    missed: tuple[tuple[str, str], ...]
    extra: tuple[tuple[str, str], ...]
    elsewhere: tuple[tuple[str, str], ...]  # published, of variables that the data do not have


def agreement(
    found: Sequence[tuple[str, str]], published: Sequence[tuple[str, str]], names: Sequence[str]
) -> Agreement:
    """Which edges agree, are reversed, missed or extra."""
    known = set(names)
    here = [edge for edge in dict.fromkeys(published) if set(edge) <= known]
    chosen = dict.fromkeys(found)
    turned = [(a, b) for a, b in here if (a, b) not in chosen and (b, a) in chosen]
    return Agreement(
        agreeing=tuple(edge for edge in here if edge in chosen),
        reversed=tuple(turned),
        missed=tuple(edge for edge in here if edge not in chosen and edge not in turned),
        extra=tuple((a, b) for a, b in chosen if (a, b) not in here and (b, a) not in here),
        elsewhere=tuple(edge for edge in dict.fromkeys(published) if edge not in here),
    )


def content_from(
    found: Discovery,
    world: World,
    *,
    title: str,
    settings: Mapping[str, Any],
    seed: int,
    command: str,
    versions: Mapping[str, str],
    method: str = "neural",
    history: Sequence[Mapping[str, Any]] | None = None,
    warnings: Sequence[str] = (),
    compared: Sequence[Mapping[str, Any]] = (),
    bootstrap: Bootstrap | None = None,
    chains: Chains | None = None,
    reference: Reference | None = None,
    seconds: float | None = None,
) -> Content:
    """What a report says about `found` in `world`; the history is that of `found` unless another is given."""
    records = tuple(found.history if history is None else history)
    last = records[-1] if records else {}
    by_name = {environment.name: environment for environment in world.environments}

    def condition(name: str) -> Condition:
        environment = by_name.get(name)
        if environment is None:
            return Condition(name)
        rows = len(environment.rows) if isinstance(environment, FiniteEnvironment) else None
        target = environment.target
        return Condition(name, rows, None if target is None else tuple(world.names[i] for i in target))

    return Content(
        title=title,
        names=world.names,
        cardinalities=tuple(world.cardinalities),
        states=world.states if isinstance(world, Dataset | SimulatedWorld) else (),
        probabilities=found.probabilities,
        parents=found.parents,
        removed=found.removed,
        environments=tuple(condition(name) for name in found.environments),
        targets=found.targets,
        observational=len(world.observational) if isinstance(world, Dataset) else None,
        lasting=bool(world.environments),
        method=method,
        reason=REASONS.get(found.reason, found.reason),
        iterations=found.iterations,
        interventions=found.interventions,
        seconds=last.get("seconds") if seconds is None else seconds,
        history=records,
        settings=dict(settings),
        warnings=tuple(warnings),
        compared=tuple(compared),
        bootstrap=bootstrap,
        chains=chains,
        reference=reference,
        seed=seed,
        command=command,
        versions=dict(versions),
    )
