"""From a world's rows to the posterior over its graphs and targets: blocks, candidates, counts, and a first search."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Clamp
from sdi.method.settings import Settings
from sdi.method.tables.phase1_candidates import Limits, Screen, choose_candidates, consider
from sdi.method.tables.phase1_count import Block, Family
from sdi.method.tables.phase2_likelihood import Prior, prior_of
from sdi.method.tables.phase2_score import Scores, prior_odds
from sdi.method.tables.phase3_sample import Walk
from sdi.method.tables.phase3_search import search
from sdi.method.tables.problem import Problem
from sdi.worlds.world import Target

FEW = 14  # variables up to which all others are candidates
CANDIDATES = 8  # for each variable of a larger world
SETS = 60  # parent sets of a variable of which all of a size are looked at; 400 where the variables are few
HOPELESS, HASTY = 10.0, 6.0  # nats below a subset: such a set is not considered, with few variables and many ...
CRUEL, MERCIFUL = 25.0, 150.0  # ... under BDeu alone, to which rows of touched environments may hide a true parent
ROUNDS = 3  # times that candidates are chosen, ...
SEARCHES = 4  # ... each time after so many searches at most: the graph only has to be roughly right
BESIDE, SPARE_BESIDE = 2, 2
SPARE = 3  # candidates beside those that are parents or children already
FIRST = 1e12  # more than any gain


class Prepared(NamedTuple):
    """The posterior, where a search for its top has led, and the variables for which a table was too large."""

    problem: Problem
    parents: BoolMatrix
    touched: list[BoolMatrix]
    too_large: tuple[int, ...]
    alone: Screen  # of the rows left alone: among all rows variables also depend on each other through what was touched


class Weighed(NamedTuple):
    """The parent sets that are considered for a variable, what each is worth in each block, and whether a table that
    might have been better was too large."""

    family: Family
    scores: list[Scores]
    too_large: bool


def prepare(
    blocks: Sequence[Block],
    targets: Sequence[Sequence[Target | None]],
    cardinalities: tuple[int, ...],
    clamp: Clamp,
    settings: Settings,
    rng: np.random.Generator,
) -> Prepared:
    """Candidates are chosen anew beside the parents that a first search gave, until there is no better one."""
    size = len(cardinalities)
    limits = limits_of(size, settings)
    priors = [prior_of(block, cardinalities, settings.sample_size, settings.strengths) for block in blocks]
    screen = Screen(blocks[0], cardinalities, priors[0])
    gains = [screen.gains(i) if size <= FEW else _first_gains(screen, i) for i in range(size)]
    most = size if size <= FEW else CANDIDATES
    considered = [_weigh(i, gains[i], np.zeros(size, bool), most, blocks, priors, clamp, limits) for i in range(size)]
    problem = assemble(blocks, priors, considered, targets, clamp, settings)
    parents, touched = clamp.value > 0.5, problem.no_targets()
    for turn in range(ROUNDS if size > FEW else 0):
        start = Walk(problem, parents, touched, rng) if turn else None
        best = search(problem, rng, start, idle=1, most=SEARCHES)[0]
        parents, touched = best.parents, best.touched
        missing = _overlooked(screen, considered, parents, touched[0], gains, clamp, turn)
        if not missing:
            break
        for i in missing:  # those near it stay candidates, whichever way their edge points now
            near = parents[i] | parents[:, i]
            more = max(most, int(near.sum()) + SPARE)
            considered[i] = _weigh(i, gains[i], near, more, blocks, priors, clamp, limits)
        problem = assemble(blocks, priors, considered, targets, clamp, settings)
    too_large = tuple(i for i, each in enumerate(considered) if each.too_large)
    left_alone = slice(0, int(blocks[0].starts[1]))
    alone = Block(blocks[0].rows[left_alone], blocks[0].times[left_alone], blocks[0].starts[:2])
    return Prepared(problem, parents, touched, too_large, Screen(alone, cardinalities, priors[0]))


def limits_of(size: int, settings: Settings) -> Limits:
    few = size <= FEW
    hopeless = (HOPELESS if few else HASTY) if settings.strengths > 1 else (MERCIFUL if few else CRUEL)
    odds = prior_odds(size, settings.expected_parents) if settings.strengths > 1 else 0.0
    sets = 400 if few else SETS
    return Limits(settings.largest_table, settings.most_parents or size, sets, hopeless, odds, few)


def _weigh(
    i: int,
    gains: NDArray[np.float64],
    keep: NDArray[np.bool_],
    most: int,
    blocks: Sequence[Block],
    priors: Sequence[Prior],
    clamp: Clamp,
    limits: Limits,
) -> Weighed:
    required = clamp.value[i] > 0.5
    first = tuple(np.flatnonzero(required).tolist())
    others = choose_candidates(gains, clamp.open[i], keep & clamp.open[i] & ~required, most)
    cardinalities = tuple(len(each) for each in priors[0].shares)
    found = consider(i, (*first, *others), len(first), blocks, priors, cardinalities, limits)
    given = zip(blocks, priors, found.counts, strict=True)
    return Weighed(found.family, [Scores(found.family, *each) for each in given], found.too_large)


def _first_gains(screen: Screen, i: int) -> NDArray[np.float64]:
    """What each variable tells about i, those first that tell most beside the best ones.

    Effects of a variable may all tell more about it than a cause does; beside the best of them the cause stands out.
    """
    gains = screen.gains(i)
    result, best = gains.copy(), [int(gains.argmax())]
    for step in range(BESIDE):
        beside = screen.gains(i, tuple(best))
        added = np.argsort(-beside)[:SPARE_BESIDE]
        result[added] = np.where(beside[added] > 0, beside[added] + FIRST / 2 ** (BESIDE - step), result[added])
        best.append(int(beside.argmax()))
    return result


def _overlooked(
    screen: Screen,
    considered: Sequence[Weighed],
    parents: BoolMatrix,
    touched: BoolMatrix,
    gains: list[NDArray[np.float64]],
    clamp: Clamp,
    turn: int,
) -> list[int]:
    """Variables with a likely parent that is no candidate: a child, or one that adds to the parents there are.

    In their `gains` the latter come first from now on, those of the latest turn before earlier ones.
    """
    found = []
    for i, each in enumerate(considered):
        beside = screen.gains(i, tuple(np.flatnonzero(parents[i]).tolist()), touched[:, i])
        beside[~clamp.open[i]] = -np.inf
        beside[list(each.family.candidates)] = -np.inf
        added = np.argsort(-beside)[:SPARE]
        gains[i][added] = np.where(beside[added] > 0, beside[added] + FIRST * (turn + 1), gains[i][added])
        turned = parents[:, i] & clamp.open[i]
        turned[list(each.family.candidates)] = False
        if beside.max() > 0 or turned.any():
            found.append(i)
    return found


def assemble(
    blocks: Sequence[Block],
    priors: Sequence[Prior],
    considered: Sequence[Weighed],
    targets: Sequence[Sequence[Target | None]],
    clamp: Clamp,
    settings: Settings,
) -> Problem:
    """The posterior given these blocks and families."""
    return Problem(
        blocks,
        [each.family for each in considered],
        [[each.scores[b] for each in considered] for b in range(len(blocks))],
        targets,
        clamp,
        priors=priors,
        expected_parents=settings.expected_parents,
        several=settings.several_targets,
    )
