"""Discover: run the method to its end and say what came out."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Knowledge, decide
from sdi.method.neural.iterate import Info, State, believed, initial_state, iterate, stop_reason
from sdi.method.settings import Settings
from sdi.worlds.world import World

REASONS = {
    "settled": "the graph had stayed the same long enough",
    "iterations": "the limit on iterations was reached",
    "interventions": "the limit on interventions was reached",
    "seconds": "the limit on seconds was reached",
    "interrupted": "it was interrupted",
}


@dataclass(frozen=True, eq=False)
class Discovery:
    """What was found: a probability for every edge, a DAG, and what was touched in each environment."""

    names: tuple[str, ...]
    probabilities: NDArray[np.float32]  # [child, parent]
    parents: BoolMatrix  # [child, parent], acyclic
    removed: tuple[tuple[str, str], ...]  # (cause, effect), believed but taken out because they closed a cycle
    environments: tuple[str, ...]
    targets: NDArray[np.float32]  # [environment, variable], the probability that it was touched
    reason: str  # why the method stopped, a key of REASONS
    iterations: int
    interventions: int
    history: tuple[dict[str, Any], ...] = ()

    @property
    def graph(self) -> "nx.DiGraph[str]":
        """As networkx: edges cause -> effect with their ``probability``."""
        result: nx.DiGraph[str] = nx.DiGraph()
        result.add_nodes_from(self.names)
        for i, j in np.argwhere(self.parents):
            result.add_edge(self.names[j], self.names[i], probability=float(self.probabilities[i, j]))
        return result

    @property
    def settled(self) -> bool:
        return self.reason == "settled"


class Step(NamedTuple):
    """One iteration of a run: where the method is, what it did, and a record of it for the history."""

    state: State
    info: Info
    record: dict[str, Any]


def run(
    world: World, settings: Settings, knowledge: Knowledge, seed: int, state: State | None = None, spent: float = 0.0
) -> Iterator[Step]:
    """The iterations of one run with their records; also keeps the limit on seconds, `spent` of which are gone."""
    start = time.perf_counter() - spent
    for reached, info in iterate(world, settings, knowledge, seed, state):
        record = {
            "iteration": info.iteration,
            "interventions": info.interventions,
            "undecided": info.undecided,
            "loss": round(info.loss, 6),
            "probabilities": np.round(info.probabilities.astype(float), 4).tolist(),
            "seconds": round(time.perf_counter() - start, 3),
        }
        yield Step(reached, info, record)
        if settings.seconds is not None and record["seconds"] >= settings.seconds:
            return


def conclude(
    world: World,
    state: State,
    settings: Settings,
    knowledge: Knowledge,
    *,
    reason: str | None = None,
    history: tuple[dict[str, Any], ...] = (),
) -> Discovery:
    """What is believed at `state`."""
    probabilities = np.asarray(believed(state, knowledge.clamp(world.names)))
    parents, removed = decide(probabilities)
    known = tuple(environment.name for environment in world.environments)
    return Discovery(
        names=world.names,
        probabilities=probabilities,
        parents=parents,
        removed=tuple((world.names[j], world.names[i]) for i, j in removed),
        environments=known or tuple(f"{state.iteration}.{k + 1}" for k in range(len(state.targets))),
        targets=np.asarray(state.targets),
        reason=reason or stop_reason(state, settings) or "seconds",
        iterations=state.iteration,
        interventions=state.interventions,
        history=history,
    )


def discover(
    world: World,
    settings: Settings | None = None,
    knowledge: Knowledge | None = None,
    seed: int = 0,
) -> Discovery:
    """The causal graph of `world`, with a probability for every edge and a target for every environment.

    Runs until the beliefs have settled or a limit of `settings` is reached. The same seed gives the same bits,
    unless the limit on seconds decides.
    """
    settings, knowledge = settings or Settings(), knowledge or Knowledge()
    state, history = initial_state(world, settings, seed), []
    for step in run(world, settings, knowledge, seed, state):
        state = step.state
        history.append(step.record)
    return conclude(world, state, settings, knowledge, history=tuple(history))
