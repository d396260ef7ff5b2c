"""The same loop with tables: look, count, find the top of the posterior, sample around it; again until chains agree."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Clamp, Decided, Knowledge, decide, is_decided
from sdi.method.settings import Settings
from sdi.method.tables.diagnostics import Agreement
from sdi.method.tables.doubts import crowded_by, strained_by
from sdi.method.tables.phase1_count import Block, make_block
from sdi.method.tables.phase3_average import walk_on
from sdi.method.tables.phase3_conclude import one_graph
from sdi.method.tables.phase3_sample import Walk
from sdi.method.tables.phase3_search import explain, provoke, search
from sdi.method.tables.prepare import FEW, IN_VAIN, LONG, NEAR, Prepared, prepare
from sdi.method.tables.problem import Problem
from sdi.worlds.world import Environment, Rows, World

LOOKS = 6  # iterations on the same rows, each with twice as many draws, at most ...
LEAST_LOOKS = 2  # ... and at least, before chains that are far apart are left so ...
SLOW = 4.0  # ... by so many times what the draws that are left could mend
CONFIRMED = 2  # iterations with new rows that must leave a decided graph as it was


class State(NamedTuple):
    """All that the next iteration needs, besides what was given: a checkpoint is this and nothing more."""

    iteration: int
    interventions: int
    stable: float  # iterations since chains disagreed, or new rows changed the graph
    parents: BoolMatrix  # [C, M, M] where each chain is
    touched: BoolMatrix  # [E, C, M] of the environments of all blocks
    probabilities: NDArray[np.float32]  # [M, M]
    targets: NDArray[np.float32]  # [E, M] of a finite world's environments, else of the last iteration's
    r_hat: float
    effective: float
    strained: BoolMatrix  # [M] whose table holds more than the rows can say, or could not hold one parent more
    states: int  # of the variable with most of them
    finite: bool  # whether the rows are all there are: then each iteration draws twice as often from the same posterior
    graph: BoolMatrix  # [M, M] one out of all that were drawn
    crowded: BoolMatrix  # [M] whose table is not strained, but whose many parents do more together than one by one


class Info(NamedTuple):
    """What one iteration did, for those who watch."""

    iteration: int
    interventions: int
    probabilities: NDArray[np.float32]  # [M, M]
    undecided: int  # open edges whose belief is not within the margin
    loss: float  # -log posterior of the best graph, by row
    environments: tuple[Environment, ...]  # those of this iteration ...
    targets: NDArray[np.float32]  # ... and the probability that each variable was touched in them [Q, M]
    agreement: Agreement


def initial_state(world: World, settings: Settings, seed: int) -> State:
    """Before the first iteration: nothing is known."""
    size, chains = len(world.names), settings.chains
    nothing = np.zeros((len(world.environments), size), np.float32)
    return State(
        iteration=0,
        interventions=0,
        stable=0.0,
        parents=np.zeros((chains, size, size), bool),
        touched=np.zeros((0, chains, size), bool),
        probabilities=np.full((size, size), 0.5, np.float32),
        targets=nothing,
        r_hat=np.inf,
        effective=0.0,
        strained=np.zeros(size, bool),
        states=max(world.cardinalities),
        finite=bool(world.environments),
        graph=np.zeros((size, size), bool),
        crowded=np.zeros(size, bool),
    )


def stop_reason(state: State, settings: Settings) -> str | None:
    """Why there is no further iteration; None if there is one. Never looks at the truth."""
    if state.stable >= CONFIRMED:
        return "settled"
    if state.iteration >= (min(settings.iterations, LOOKS) if state.finite else settings.iterations):
        return "iterations"
    if settings.all_interventions is not None and state.interventions >= settings.all_interventions:
        return "interventions"
    return "apart" if state.finite and _apart(state, settings) else None


def _apart(state: State, settings: Settings) -> bool:
    """Whether chains would not agree even after all draws that are left.

    Where they mix, twice the draws halve what the square of R-hat is above 1. With many variables draws are dear, and
    some edge nearly always keeps chains apart. Those that merely mix slowly go on: more draws make them less rough.
    """
    left, enough = SLOW * 2.0 ** (LOOKS - state.iteration), settings.agreement**2 - 1
    return state.iteration >= LEAST_LOOKS and state.r_hat**2 - 1 > left * enough > 0  # 0 asks for all draws there are


def believed(state: State, clamp: Clamp) -> NDArray[np.float32]:
    """The probability of every edge ``[child, parent]``."""
    return np.where(clamp.open, state.probabilities, clamp.value).astype(np.float32)


def concluded(state: State, clamp: Clamp) -> Decided:
    """One graph, and likely edges that are not in it."""
    if not state.iteration:
        return decide(believed(state, clamp))
    likely = believed(state, clamp) > 0.5
    return Decided(state.graph, tuple((int(i), int(j)) for i, j in np.argwhere(likely & ~state.graph)))


def decided(state: State, clamp: Clamp, settings: Settings) -> NDArray[np.float32]:
    """The same where it is decided and no table is strained or crowded, else nan."""
    probabilities, doubtful = believed(state, clamp), state.strained | state.crowded
    sure = is_decided(probabilities, clamp, settings.margin) & ~doubtful[:, None] & ~doubtful[None, :]
    return np.where(sure, probabilities, np.nan).astype(np.float32)


def iterate(
    world: World,
    settings: Settings | None = None,
    knowledge: Knowledge | None = None,
    seed: int = 0,
    state: State | None = None,
) -> Iterator[tuple[State, Info]]:
    """(State, Info) after every iteration, until the chains agree or a limit is reached.

    The same arguments give the same bits. Given a `state` it goes on from there, exactly as if it had never stopped.
    """
    settings, knowledge = settings or Settings(), knowledge or Knowledge()
    clamp = knowledge.clamp(world.names)
    state = state or initial_state(world, settings, seed)
    seen = Seen(world, settings, seed)
    for earlier in range(state.iteration):  # what a run that goes on had looked at before
        seen.look(earlier)
    prepared: Prepared | None = None
    while stop_reason(state, settings) is None:
        rng = np.random.default_rng([seed, state.iteration, 1])
        if seen.look(state.iteration) or prepared is None:
            given = np.random.default_rng([seed, 0, 2]), np.random.default_rng([seed, seen.when, 1])
            prepared = prepare(seen.blocks, seen.targets, world.cardinalities, clamp, settings, *given)
        state, info = _iteration(state, prepared, seen, clamp, settings, rng)
        yield state, info


class Seen:
    """Rows and environments so far: blocks that share their mechanisms are one."""

    def __init__(self, world: World, settings: Settings, seed: int) -> None:
        self.world, self.settings, self.seed = world, settings, seed
        self.blocks: list[Block] = []
        self.environments: list[tuple[Environment, ...]] = []
        self.interventions = 0
        self._rows: list[Rows] = []  # of the block that still grows
        self._parts: list[Rows] = []

    @property
    def targets(self) -> list[list[tuple[int, ...] | None]]:
        heeded = self.settings.targets not in ("random", "ignored")
        for each in (each for block in self.environments for each in block):
            if self.settings.targets == "known" and each.target is None:
                raise ValueError(
                    f"targets='known', but environment {each.name!r} does not declare its target; "
                    "declare it, or choose another way to find targets"
                )
        return [[each.target if heeded else None for each in block] for block in self.environments]

    def look(self, iteration: int) -> bool:
        """See more of the world; whether there was more. A finite one shows all it has at once."""
        world, settings = self.world, self.settings
        if world.environments and self.blocks:
            return False
        rng = np.random.default_rng([self.seed, iteration])
        studied = world.redraw(rng)
        if world.environments:
            visited = world.environments
            rows, parts = studied.observe(2**62, rng), [each.observe(2**62, rng) for each in visited]
        else:
            count = settings.interventions or max(16, 2 * len(world.names))
            if settings.all_interventions is not None:
                count = min(count, settings.all_interventions - self.interventions)
            visited = tuple(studied.intervene(rng) for _ in range(count))
            rows = studied.observe(settings.observational_rows or settings.fit_steps * settings.batch, rng)
            parts = [each.observe(settings.rows_of_each(len(world.names)), rng) for each in visited]
        if studied is world and self.blocks:  # the same mechanisms: more rows of one block
            self._rows, self._parts = [*self._rows, rows], self._parts + parts
            self.environments = [(*self.environments[0], *visited)]
            self.blocks = [make_block(np.concatenate(self._rows), self._parts)]
        else:
            self._rows, self._parts = [rows], parts
            self.environments.append(visited)
            self.blocks.append(make_block(rows, parts))
        self.interventions += len(visited)
        self.latest, self.when = len(visited), iteration
        return True


def _iteration(
    state: State, prepared: Prepared, seen: Seen, clamp: Clamp, settings: Settings, rng: np.random.Generator
) -> tuple[State, Info]:
    """Find the top, unless the rows are those of the iteration before; then let chains walk around it."""
    problem, again = prepared.problem, bool(seen.world.environments) and state.iteration > 0
    if again:
        walks = [
            Walk(problem, parents, problem.split(touched), rng)
            for parents, touched in zip(state.parents, np.swapaxes(state.touched, 0, 1), strict=True)
        ]
    else:
        walks = _starts(problem, prepared, settings.chains, rng, state.finite)
    best = max(walk.score for walk in walks)
    draws = settings.sweeps * 2**state.iteration if seen.world.environments else settings.sweeps
    walked = walk_on(walks, draws)
    probabilities = np.where(clamp.open, walked.probabilities, clamp.value).astype(np.float32)
    undecided = int((~is_decided(probabilities, clamp, settings.margin)).sum())
    likely = decide(probabilities).parents
    same = state.iteration > 0 and bool((likely == decide(state.probabilities).parents).all())
    graph = one_graph(likely, walks, rng)
    if seen.world.environments:
        stable = float(CONFIRMED) if walked.agreement.r_hat <= settings.agreement else 0.0
    else:
        stable = state.stable + 1 if same and not undecided else 0.0
    targets = walked.targets.astype(np.float32)
    latest = targets[-seen.latest :]
    strained = strained_by(problem, prepared, graph, state.finite)
    done = State(
        state.iteration + 1,
        seen.interventions,
        stable,
        np.stack([walk.parents for walk in walks]),
        np.stack([np.concatenate(walk.touched) for walk in walks], axis=1),
        probabilities,
        latest,
        *walked.agreement,
        strained,
        state.states,
        state.finite,
        graph,
        crowded_by(problem, prepared, graph, strained),
    )
    rows = sum(float(block.times.sum()) for block in problem.blocks)
    visited = seen.environments[-1][-seen.latest :]
    info = Info(
        done.iteration, done.interventions, probabilities, undecided, -best / rows, visited, latest, walked.agreement
    )
    return done, info


def _starts(problem: Problem, prepared: Prepared, chains: int, rng: np.random.Generator, finite: bool) -> list[Walk]:
    """Where chains begin: at the top, and wherever else a search ended that is nearly as high."""
    tops = [(each.parents, each.touched) for each in prepared.tops]
    if len(problem.families) <= FEW:
        found = search(problem, rng, Walk(problem, *tops[0], rng), IN_VAIN, LONG)
        if finite:  # where there will be more rows, these tell more than a longer look
            explain(found[0])
            found[0] = provoke(found[0])
        tops = [(walk.parents, walk.touched) for walk in found if walk.score > found[0].score - NEAR]
    places = [Walk(problem, *top, rng) for top in tops[:chains]]
    return [places[c % len(places)].copy() for c in range(chains)]
