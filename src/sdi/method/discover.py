"""Discover: run the method to its end and say what came out."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method import auto
from sdi.method.beliefs import Decided, Knowledge
from sdi.method.settings import Settings
from sdi.method.tables import iterate as tables
from sdi.worlds.world import World

REASONS = {
    "settled": "the beliefs had settled",
    "iterations": "the limit on iterations was reached",
    "apart": "the chains are too far apart for more draws to bring them together",
    "interventions": "the limit on interventions was reached",
    "seconds": "the limit on seconds was reached",
    "interrupted": "it was interrupted",
}
# Each has a State, initial_state, iterate, believed, concluded and stop_reason. The neural one is imported when needed.
METHODS = {"auto": "sdi.method.auto", "tables": "sdi.method.tables.iterate", "neural": "sdi.method.neural.iterate"}
State: TypeAlias = Any  # of any method: has iteration, interventions and targets


@dataclass(frozen=True, eq=False)
class Discovery:
    """What was found: a probability for every edge, a DAG, and what was touched in each environment."""

    names: tuple[str, ...]
    probabilities: NDArray[np.float32]  # [child, parent]
    parents: BoolMatrix  # [child, parent], acyclic
    removed: tuple[tuple[str, str], ...]  # (cause, effect), believed but taken out: in one graph they have no place
    environments: tuple[str, ...]
    targets: NDArray[np.float32]  # [environment, variable], the probability that it was touched
    reason: str  # why the method stopped, a key of REASONS
    iterations: int
    interventions: int
    history: tuple[dict[str, Any], ...] = ()
    method: str = "neural"  # that this comes from
    warnings: tuple[str, ...] = ()
    compared: tuple[dict[str, Any], ...] = ()  # of each method that was tried: how well it predicts, and its edges
    chains: tuple[float, float] | None = None  # tables: R-hat and effective draws, of the worst edge

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
    info: Any
    record: dict[str, Any]


def method_of(settings: Settings) -> ModuleType:
    """The module of the method that is asked for."""
    return import_module(METHODS[settings.method])


def initial_state(world: World, settings: Settings, seed: int, keys: tuple[str, ...] = ()) -> State:
    """Where a run begins; with the parts that a checkpoint with these `keys` has."""
    if settings.method == "auto":
        return auto.initial_state(world, settings, seed, both=any("neural" in key for key in keys))
    return method_of(settings).initial_state(world, settings, seed)


def stop_reason(state: State, settings: Settings) -> str | None:
    """Why there is no further iteration; None if there is one."""
    return method_of(settings).stop_reason(state, settings)


def iterate(
    world: World,
    settings: Settings | None = None,
    knowledge: Knowledge | None = None,
    seed: int = 0,
    state: State | None = None,
) -> Iterator[tuple[State, Any]]:
    """(State, Info) after every iteration of the method that `settings` names, until it stops.

    The same arguments give the same bits. Given a `state` it goes on from there, exactly as if it had never stopped.
    """
    settings = settings or Settings()
    yield from method_of(settings).iterate(world, settings, knowledge, seed, state)


def run(
    world: World, settings: Settings, knowledge: Knowledge, seed: int, state: State | None = None, spent: float = 0.0
) -> Iterator[Step]:
    """The iterations of one run with their records; also keeps the limit on seconds, `spent` of which are gone."""
    start = time.perf_counter() - spent
    for reached, info in iterate(world, settings, knowledge, seed, state):
        record = {
            "iteration": reached.iteration,
            "interventions": reached.interventions,
            "undecided": info.undecided,
            "loss": round(info.loss, 6),
            "probabilities": np.round(info.probabilities.astype(float), 4).tolist(),
            "seconds": round(time.perf_counter() - start, 3),
        }
        if hasattr(info, "agreement"):
            record["r_hat"] = round(info.agreement.r_hat, 4)
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
    clamp = knowledge.clamp(world.names)
    probabilities = np.asarray(method_of(settings).believed(state, clamp))
    parents, removed = method_of(settings).concluded(state, clamp)
    known = tuple(environment.name for environment in world.environments)
    trusted = state.winner if isinstance(state, auto.State) else state
    of_tables = trusted if isinstance(trusted, tables.State) else None
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
        method="tables" if of_tables else "neural",
        warnings=_warnings(of_tables, world, settings) if of_tables else (),
        compared=_compared(world, state, clamp),
        chains=(of_tables.r_hat, of_tables.effective) if of_tables and of_tables.iteration else None,
    )


def _warnings(state: tables.State, world: World, settings: Settings) -> tuple[str, ...]:
    """What a reader of probabilities that come from tables should know."""
    said = []
    if state.iteration and state.r_hat > settings.agreement:
        said.append(
            f"the chains do not agree (R-hat {state.r_hat:.2f}, should be below {settings.agreement:g}): "
            "probabilities are rough; more sweeps make them less so"
        )
    strained = [world.names[i] for i in np.flatnonzero(state.strained)]
    if strained:
        listed = ", ".join(strained[:8]) + (f" and {len(strained) - 8} more" if len(strained) > 8 else "")
        said.append(
            f"the tables of {listed} are large for these rows, so some of their parents may be missing; "
            "the neural method may do better there"
        )
    return tuple(said)


def _compared(world: World, state: State, clamp: Any) -> tuple[dict[str, Any], ...]:
    """Both methods, where both were tried."""
    if not isinstance(state, auto.State) or state.neural is None or np.isnan(state.verdict).any():
        return ()
    from sdi.method.neural import iterate as networks

    found = {
        "tables": (tables.believed(state.tables, clamp), tables.concluded(state.tables, clamp)),
        "neural": (np.asarray(networks.believed(state.neural, clamp)), networks.concluded(state.neural, clamp)),
    }

    def edges(probabilities: NDArray[np.floating], graph: Decided) -> list[tuple[str, str, float]]:
        return [(world.names[j], world.names[i], float(probabilities[i, j])) for j, i in np.argwhere(graph.parents.T)]

    error = float(state.verdict[2])
    return tuple(
        {
            "method": name,
            "log_likelihood": float(value),
            "error": error,
            "settled": bool(settled),
            "strained": bool(state.tables.strained.any()),
            "edges": edges(*found[name]),
        }
        for name, value, settled in zip(found, state.verdict[:2], state.settled, strict=True)
    )


def in_words(compared: tuple[Mapping[str, Any], ...]) -> str:
    """Which method is trusted and why; empty where only one was tried."""
    if not compared:
        return ""
    better, worse = sorted(compared, key=lambda each: -each["log_likelihood"])
    figures = f"{better['log_likelihood']:.4f} against {worse['log_likelihood']:.4f} nats for each untouched value"
    ahead, error = better["log_likelihood"] - worse["log_likelihood"], better.get("error", 0.0)
    settled = {each["method"]: each.get("settled", True) for each in compared}
    strained = better.get("strained", True)
    needed = auto.lead(error, settled["tables"], settled["neural"], strained)  # by networks
    if ahead <= 0 or (ahead > needed if better["method"] == "neural" else ahead >= -needed):
        return (
            f"{better['method']} predicts the held-out rows of interventions better than {worse['method']} ({figures})"
        )
    doubted = better["method"] if not settled[better["method"]] else None
    tables_why = "some tables are too large for these rows" if strained else "no table is too large for these rows"
    why = f"since {doubted} has not settled" if doubted else f"since {tables_why}"
    return (
        f"tables and neural predict the held-out rows of interventions {'' if ahead < error else 'almost '}equally "
        f"well ({figures}, with a standard error of {error:.4f}); {worse['method']} is trusted, {why}"
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
