"""The default: tables first; networks too where tables are strained; what predicts interventions better is kept."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.method.beliefs import Clamp, Decided, Knowledge
from sdi.method.judge import Sample, judge, take_sample
from sdi.method.settings import Settings
from sdi.method.tables import iterate as tables
from sdi.method.tables.iterate import State as TablesState
from sdi.worlds.world import World

if TYPE_CHECKING:  # it brings in JAX, which takes a second that tables do not need
    from sdi.method.neural.iterate import Info as NeuralInfo
    from sdi.method.neural.iterate import State as NeuralState


AFFORDABLE = 400  # variables times the states of the largest: networks then need minutes


class State(NamedTuple):
    """The states of both methods, and which of them predicts better."""

    tables: TablesState
    neural: "NeuralState | None"  # None as long as it is not needed
    verdict: NDArray[np.float64]  # [3] log-likelihood of tables, of networks, error of the difference; nan before
    settled: NDArray[np.bool_]  # [2] whether tables and networks had come to rest by then

    @property
    def iteration(self) -> int:
        return self.tables.iteration + (self.neural.iteration if self.neural else 0)

    @property
    def interventions(self) -> int:
        return self.tables.interventions + (self.neural.interventions if self.neural else 0)

    @property
    def winner(self) -> "TablesState | NeuralState":
        """Networks if they are as far ahead as they have to be."""
        (by_tables, by_networks), strained = self.settled.tolist(), bool(self.tables.strained.any())
        better = self.verdict[1] > self.verdict[0] + lead(self.verdict[2], by_tables, by_networks, strained)
        return self.neural if self.neural is not None and better else self.tables

    @property
    def targets(self) -> NDArray[np.float32]:
        return self.winner.targets


def initial_state(world: World, settings: Settings, seed: int, *, both: bool = False) -> State:
    """Before the first iteration; with room for networks, if `both`."""
    start = None
    if both:
        from sdi.method.neural.iterate import initial_state as initial

        start = initial(world, settings, seed)
    return State(tables.initial_state(world, settings, seed), start, np.full(3, np.nan), np.zeros(2, bool))


def believed(state: State, clamp: Clamp) -> NDArray[np.float32]:
    """The probability of every edge ``[child, parent]``, of the method that is trusted."""
    if state.winner is state.tables:
        return tables.believed(state.tables, clamp)
    from sdi.method.neural.iterate import believed as of_networks

    assert state.neural is not None
    return np.asarray(of_networks(state.neural, clamp))


def concluded(state: State, clamp: Clamp) -> Decided:
    """One graph of the method that is trusted, and likely edges that are not in it."""
    if state.winner is state.tables:
        return tables.concluded(state.tables, clamp)
    from sdi.method.neural.iterate import concluded as of_networks

    assert state.neural is not None
    return of_networks(state.neural, clamp)


def stop_reason(state: State, settings: Settings) -> str | None:
    """Why there is no further iteration; None if there is one. Never looks at the truth."""
    of_tables = tables.stop_reason(state.tables, settings)
    if state.neural is None:
        return None if of_tables is None or wants_networks(state, settings) else of_tables
    if np.isnan(state.verdict).any():
        return None
    from sdi.method.neural.iterate import stop_reason as of_networks

    return of_tables or "iterations" if state.winner is state.tables else of_networks(state.neural, settings)


def wants_networks(state: State, settings: Settings) -> bool:
    """Whether networks might do better: a table is strained, many parents do more together than one by one, or chains
    are far apart, and they need no longer than one would wait.

    A limit on seconds says how long that is.
    """
    soon = len(state.tables.strained) * state.tables.states <= AFFORDABLE
    doubtful = (
        bool((state.tables.strained | state.tables.crowded).any())
        or tables.stop_reason(state.tables, settings) == "apart"
    )
    return doubtful and (soon or settings.seconds is not None)


def is_handed_over(state: State, settings: Settings) -> bool:
    """Whether tables that could look at new rows for long are left to networks: each look costs more than the last."""
    return not state.tables.finite and wants_networks(state, settings)


def iterate(
    world: World,
    settings: Settings | None = None,
    knowledge: Knowledge | None = None,
    seed: int = 0,
    state: State | None = None,
) -> "Iterator[tuple[State, tables.Info | NeuralInfo]]":
    """(State, Info) after every iteration of tables, then of networks where they are wanted; then the verdict.

    Networks that are trusted then go on with all rows, those included that the verdict was about. The limit of
    iterations then counts anew.
    """
    settings, knowledge = settings or Settings(), knowledge or Knowledge()
    state = state or initial_state(world, settings, seed)
    left = state.neural is not None or is_handed_over(state, settings)
    for of_tables, info in () if left else tables.iterate(world, settings, knowledge, seed, state.tables):
        state = state._replace(tables=of_tables)
        yield state, info
        if is_handed_over(state, settings):
            break
    if stop_reason(state, settings) is not None:
        return
    if np.isnan(state.verdict).any():
        for reached, latest in _contest(world, settings, knowledge, seed, state):
            state = reached
            yield state, latest
    if state.neural is None or state.winner is state.tables or not world.environments:
        return
    from sdi.method.neural.iterate import iterate as networks

    for of_networks, latest in networks(world, settings, knowledge, seed, state.neural):
        state = state._replace(neural=of_networks)
        yield state, latest


def _contest(
    world: World, settings: Settings, knowledge: Knowledge, seed: int, state: State
) -> "Iterator[tuple[State, NeuralInfo]]":
    """Networks on rows of which some are held out, and with the last state the verdict by these."""
    from sdi.method.neural.iterate import concluded as graph_of
    from sdi.method.neural.iterate import initial_state as initial
    from sdi.method.neural.iterate import iterate as networks
    from sdi.method.neural.iterate import stop_reason as end_of

    clamp = knowledge.clamp(world.names)
    sample = take_sample(world, settings, seed)
    studied, blind = (
        (sample, _blind(sample, settings, knowledge, seed)) if world.environments else (world, state.tables)
    )
    begun = state.neural or initial(studied, settings, seed, start=tables.decided(blind, clamp, settings))
    state, latest = state._replace(neural=begun), None
    for reached, info in networks(studied, settings, knowledge, seed, begun):
        if latest is not None:
            yield state, latest
        state, latest = state._replace(neural=reached), info
    assert state.neural is not None
    of_tables, of_networks = tables.concluded(blind, clamp).parents, graph_of(state.neural, clamp).parents
    if (of_tables == of_networks).all():  # but with all rows tables may have come to another: then that is the question
        of_tables = tables.concluded(state.tables, clamp).parents
    verdict = judge(sample, of_tables, of_networks, settings, seed)
    settled = tables.stop_reason(state.tables, settings) == "settled", end_of(state.neural, settings) == "settled"
    state = state._replace(verdict=np.array(verdict), settled=np.array(settled))
    if world.environments and state.winner is state.neural:
        state = state._replace(neural=state.neural.with_more_rows())
    if latest is not None:
        yield state, latest


def lead(error: float, tables_settled: bool, networks_settled: bool, strained: bool = True) -> float:
    """By how much networks have to be ahead.

    Where they were asked because tables are strained they are trusted if the figures tell nothing; not so if tables
    can well hold what the rows say. Not to have come to rest speaks against either.
    """
    if tables_settled and not strained:
        return error
    return error * ((-1 if networks_settled else 1) + (0 if tables_settled else -1))


def _blind(sample: Sample, settings: Settings, knowledge: Knowledge, seed: int) -> TablesState:
    """Tables that have not seen the held-out rows."""
    *_, (state, _) = tables.iterate(sample, settings, knowledge, seed)
    return state
