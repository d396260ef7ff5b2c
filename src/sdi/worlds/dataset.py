"""Datasets: finite rows in named environments, collected or frozen from a simulated world."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from sdi.worlds.simulated import SimulatedWorld, check_rows, sample_rows, true_target
from sdi.worlds.world import Rows, Target

OBSERVATIONAL = "observational"  # the name that `freeze` gives to the system left alone


@dataclass(frozen=True, eq=False)
class FiniteEnvironment:
    """Rows collected while something was changed."""

    name: str
    rows: Rows
    target: Target | None = None

    def observe(self, n: int, rng: np.random.Generator) -> Rows:
        return sample_rows(self.rows, n, rng)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A world that is only rows: those of the system left alone and those of each environment."""

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    observational: Rows
    environments: tuple[FiniteEnvironment, ...]

    def __post_init__(self) -> None:
        if not len(self.observational):
            raise ValueError("no observational rows: at least one environment must be the system left alone")
        for name, rows in (
            (OBSERVATIONAL, self.observational),
            *((environment.name, environment.rows) for environment in self.environments),
        ):
            if not len(rows):
                raise ValueError(f"{name}: no rows; leave the environment out")
            if rows.ndim != 2 or rows.shape[1] != len(self.names):
                raise ValueError(f"{name}: expected rows of {len(self.names)} columns, got an array of {rows.shape}")
            if (rows.min(axis=0, initial=0) < 0).any() or (rows.max(axis=0, initial=0) >= self.cardinalities).any():
                raise ValueError(f"{name}: a code lies outside 0 .. cardinality - 1 of its variable")
        doubled = [name for name, count in Counter(e.name for e in self.environments).items() if count > 1]
        if doubled:
            raise ValueError(f"environment {doubled[0]!r} occurs more than once; give each its own name")
        for environment in self.environments:
            if any(not 0 <= i < len(self.names) for i in environment.target or ()):
                raise ValueError(f"environment {environment.name!r}: target {environment.target} is no variable")

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        return tuple(len(states) for states in self.states)

    def observe(self, n: int, rng: np.random.Generator) -> Rows:
        return sample_rows(self.observational, n, rng)

    def intervene(self, rng: np.random.Generator) -> FiniteEnvironment:
        """One of the environments that were collected, each equally likely."""
        if not self.environments:
            raise ValueError("this dataset has observational rows only: no environment to learn from")
        return self.environments[int(rng.integers(len(self.environments)))]

    def redraw(self, rng: np.random.Generator) -> "Dataset":
        return self

    def frame(self, environment: str = "environment") -> pd.DataFrame:
        """The rows as a table of category names, the environment of each in the column `environment`."""
        if environment in self.names:
            raise ValueError(f"{environment!r} is a variable; name the environment column differently")
        if OBSERVATIONAL in (e.name for e in self.environments):
            raise ValueError(f"an environment that was not left alone is called {OBSERVATIONAL!r}; rename it")
        parts = [(OBSERVATIONAL, self.observational), *((e.name, e.rows) for e in self.environments)]
        rows = np.concatenate([rows for _, rows in parts])
        labels = np.repeat([name for name, _ in parts], [len(rows) for _, rows in parts])
        columns = {
            name: pd.Categorical.from_codes(rows[:, j], self.states[j])  # type: ignore[call-overload]
            for j, name in enumerate(self.names)
        }
        return pd.DataFrame({**columns, environment: pd.Categorical(labels, [name for name, _ in parts])})


class Frozen(NamedTuple):
    """A dataset and, kept apart from it, what was really touched in each of its environments."""

    dataset: Dataset
    targets: tuple[Target, ...]


def freeze(
    world: SimulatedWorld,
    *,
    observational: int,
    environments: int,
    rows: int,
    rng: np.random.Generator,
) -> Frozen:
    """So many observational rows, and so many environments of so many rows each.

    Targets go round the variables in random order, so that every variable is touched as often as any other (give or
    take one); a share ``world.interventions.untouched`` of the environments has none. They are declared to the
    dataset only if ``world.interventions.known``.
    """
    how = world.interventions
    chosen: list[Target] = [()] * round(environments * how.untouched)
    times = np.zeros(len(world.names))
    while len(chosen) < environments:
        turn = np.argsort(times + rng.random(len(times)))[: how.at_once]  # the least touched so far, ties at random
        times[turn] += 1
        chosen.append(tuple(turn.tolist()))
    made, touched = [], []
    for k, position in enumerate(rng.permutation(environments), start=1):
        environment = world.intervene(rng, targets=chosen[position], name=f"e{k}")
        made.append(FiniteEnvironment(environment.name, environment.observe(rows, rng), environment.target))
        touched.append(true_target(environment))
    left_alone = world.observe(check_rows(observational), rng)
    return Frozen(Dataset(world.names, world.states, left_alone, tuple(made)), tuple(touched))
