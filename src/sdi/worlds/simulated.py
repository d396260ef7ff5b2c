"""Simulated worlds: a mechanism for every variable of a DAG, sampled ancestrally, intervened upon by replacement."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix, Graph, causal_order, check_dag
from sdi.worlds.world import Environment, Rows, Target, code_type

BLOCK = 16_384  # rows sampled at a time: small enough to stay in cache, and all there is besides the result

Kind = Literal["soft", "uniform", "pinned"]


class Mechanism(Protocol):
    """How a variable takes its value, given those of its parents."""

    @property
    def cardinality(self) -> int: ...

    def probabilities(self, values: Rows) -> NDArray[np.float64]:
        """The distribution of the variable for each row of parent values ``[n, P] -> [n, N]``."""

    def draw(self, values: Rows, uniforms: NDArray[np.float64]) -> Rows:
        """A value for each row of parent values, by inversion of one uniform number each."""

    def redrawn(self, rng: np.random.Generator) -> "Mechanism":
        """Another mechanism of the same kind and shape: what a soft intervention puts in its place."""


def draw_by_inversion(
    cumulative: NDArray[np.float64], uniforms: NDArray[np.float64], columns: NDArray[np.intp] | None = None
) -> Rows:
    """The first category whose cumulative probability ``[N, n]`` exceeds the uniform number ``[n]``.

    `columns` picks a column of ``cumulative[N, any]`` for each uniform number.
    """
    result = np.zeros(len(uniforms), dtype=code_type([len(cumulative)]))
    for reached in cumulative[:-1]:  # a bool is a byte of 0 or 1: viewed as such it is added without a conversion
        result += (uniforms >= (reached if columns is None else reached.take(columns))).view(np.uint8)
    return result


def cumulate(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative probabilities ``[..., N] -> [N, ...]`` that end at exactly 1, so that a zero is never drawn."""
    cumulative = np.cumsum(np.moveaxis(probabilities, -1, 0), axis=0)
    return np.asarray(cumulative / cumulative[-1])


@dataclass(frozen=True)
class Fixed:
    """A hard intervention: the variable follows `distribution`, whatever its parents do."""

    distribution: tuple[float, ...]

    @property
    def cardinality(self) -> int:
        return len(self.distribution)

    def probabilities(self, values: Rows) -> NDArray[np.float64]:
        return np.broadcast_to(np.array(self.distribution), (len(values), self.cardinality))

    def draw(self, values: Rows, uniforms: NDArray[np.float64]) -> Rows:
        return draw_by_inversion(cumulate(np.array(self.distribution)), uniforms)

    def redrawn(self, rng: np.random.Generator) -> "Fixed":
        return self


@dataclass(frozen=True)
class Interventions:
    """How a simulated world is touched when the learner asks it to intervene."""

    kind: Kind = "soft"  # soft: a new mechanism; uniform: hard, drawn uniformly; pinned: hard, one value
    at_once: int = 1  # variables touched together
    untouched: float = 0.0  # share of environments in which nothing was touched
    limit: int | None = None  # rows that exist of one intervention; None is as many as asked for
    known: bool = False  # whether the target is declared to the learner

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"unknown intervention {self.kind!r}; choose from {', '.join(get_args(Kind))}")
        if self.at_once < 1:
            raise ValueError(f"an intervention touches at least 1 variable at once; got at_once={self.at_once}")
        if not 0 <= self.untouched <= 1:
            raise ValueError(f"untouched is a share between 0 and 1; got {self.untouched}")
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"limit is a number of rows, at least 1; got {self.limit}")


@dataclass(frozen=True, eq=False)
class SimulatedWorld:
    """A structural causal model. `graph` is the truth: it is read by measures, never by the method."""

    graph: Graph
    mechanisms: tuple[Mechanism, ...]
    states: tuple[tuple[str, ...], ...]
    redrawn: bool = False  # new mechanisms at every iteration (the authors' program), or one draw (Algorithm 1)
    interventions: Interventions = Interventions()

    def __post_init__(self) -> None:
        check_dag(self.graph.parents, self.graph.names)
        if self.interventions.at_once > len(self.names):
            raise ValueError(
                f"cannot touch {self.interventions.at_once} variables at once in a world of {len(self.names)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.names

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        return tuple(mechanism.cardinality for mechanism in self.mechanisms)

    @property
    def environments(self) -> tuple[Environment, ...]:
        return ()

    @cached_property
    def _order(self) -> tuple[tuple[int, NDArray[np.intp]], ...]:
        parents: BoolMatrix = self.graph.parents
        return tuple((i, np.flatnonzero(parents[i])) for i in causal_order(parents))

    def observe(self, n: int, rng: np.random.Generator) -> Rows:
        rows = np.empty((check_rows(n), len(self.names)), dtype=code_type(self.cardinalities))
        buffer = np.empty(min(n, BLOCK))
        columns = np.empty_like(rows[: len(buffer)], order="F")
        for start in range(0, n, BLOCK):
            size = min(BLOCK, n - start)
            block = columns[:size]
            for i, parents in self._order:
                uniforms = rng.random(out=buffer[:size])
                block[:, i] = self.mechanisms[i].draw(block[:, parents], uniforms)
            rows[start : start + size] = block
        return rows

    def intervene(
        self,
        rng: np.random.Generator,
        *,
        targets: Sequence[int | str] | None = None,
        name: str = "intervention",
    ) -> "SimulatedEnvironment":
        """This world with the mechanism of each target replaced; targets not given are chosen uniformly."""
        how = self.interventions
        if targets is not None:
            touched = tuple(sorted({self._index(target) for target in targets}))
        elif rng.random() < how.untouched:
            touched = ()
        else:
            touched = tuple(sorted(int(i) for i in rng.choice(len(self.names), how.at_once, replace=False)))
        mechanisms = list(self.mechanisms)
        for i in touched:
            mechanisms[i] = self._replacement(i, rng)
        changed = replace(self, mechanisms=tuple(mechanisms))
        pool = None if how.limit is None else changed.observe(how.limit, rng)
        return SimulatedEnvironment(name, touched if how.known else None, changed, pool, touched)

    def _index(self, target: int | str) -> int:
        if isinstance(target, str) and target in self.names:
            return self.names.index(target)
        if isinstance(target, int) and 0 <= target < len(self.names):
            return target
        raise ValueError(f"target {target!r} is no variable of this world; it has {', '.join(self.names)}")

    def _replacement(self, i: int, rng: np.random.Generator) -> Mechanism:
        kind, size = self.interventions.kind, self.cardinalities[i]
        if kind == "soft":
            return self.mechanisms[i].redrawn(rng)
        if kind == "uniform":
            return Fixed((1 / size,) * size)
        value = int(rng.integers(size))
        return Fixed(tuple(float(k == value) for k in range(size)))

    def redraw(self, rng: np.random.Generator) -> "SimulatedWorld":
        if not self.redrawn:
            return self
        return replace(self, mechanisms=tuple(mechanism.redrawn(rng) for mechanism in self.mechanisms))


@dataclass(frozen=True, eq=False)
class SimulatedEnvironment:
    """A simulated world under one intervention. What was touched is told only by `true_target`."""

    name: str
    target: Target | None
    _changed: SimulatedWorld
    _pool: Rows | None
    _touched: Target

    def observe(self, n: int, rng: np.random.Generator) -> Rows:
        if self._pool is None:
            return self._changed.observe(n, rng)
        return sample_rows(self._pool, n, rng)


def true_target(environment: SimulatedEnvironment) -> Target:
    """What was really touched: for measures and for people, never for a method."""
    return environment._touched


def check_rows(n: int) -> int:
    if n < 1:
        raise ValueError(f"expected a number of rows, at least 1; got {n}")
    return n


def sample_rows(rows: Rows, n: int, rng: np.random.Generator) -> Rows:
    """`n` different rows in random order, or all of them if there are no more."""
    if check_rows(n) >= len(rows):
        return rows.copy()  # the caller may do with it what it likes
    return rows[rng.choice(len(rows), n, replace=False)]
