"""From a world's rows to the posterior over its graphs and targets: blocks, candidates, counts, and a first search."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Clamp
from sdi.method.settings import Settings
from sdi.method.tables.phase1_candidates import MOST_CANDIDATES, Limits, choose_candidates, consider
from sdi.method.tables.phase1_count import Block, Family
from sdi.method.tables.phase1_hidden import faint, hidden
from sdi.method.tables.phase1_overlooked import SPARE, overlooked
from sdi.method.tables.phase1_screen import Screen
from sdi.method.tables.phase2_likelihood import FEW_VARIABLES, Prior, prior_of
from sdi.method.tables.phase2_score import Scores, Touched, prior_odds
from sdi.method.tables.phase2_targets import environment_tables, touch_ratios
from sdi.method.tables.phase3_sample import Walk
from sdi.method.tables.phase3_search import BACK, SAME, explain, search, together
from sdi.method.tables.problem import Problem
from sdi.method.tables.shelf import Shelf
from sdi.worlds.world import Target

FEW = FEW_VARIABLES  # up to which all others are candidates
LARGEST = 1_000_000  # cells that a table may have in which effects do not add up
CANDIDATES = 8  # for each variable of a larger world
SETS = 60  # parent sets of a variable of which all of a size are looked at; 400 where the variables are few
HOPELESS = 6.0  # nats below a subset: such a set is not considered; ...
CRUEL, MERCIFUL = 25.0, 150.0  # ... under BDeu alone, to which rows of touched environments may hide a true parent
ROUNDS, BRIEF = 3, 2  # times that candidates are chosen, among many variables and fewer, ...
PARENTS = 2  # ... in the first look with so many parents at most, then with one more each time, ...
SEARCHES = 4  # ... each time after so many searches at most: the graph only has to be roughly right
LONG, IN_VAIN = 24, 6  # then so many at most, fewer if so many in a row add nothing; ...
MORE = 3, 6  # ... and, as long as other candidates lead further up, once more after these and so many, ...
FURTHER = 6  # ... so many times at most
AGAIN = 100  # variables up to which all of that is done a second time where searches disagree; with more of them ...
FEWER = 12  # ... a long look has no more searches than these
NEAR = 8.0  # nats below the top from which a chain may start


class Top(NamedTuple):
    """Where a search ended."""

    parents: BoolMatrix
    touched: list[BoolMatrix]


class Prepared(NamedTuple):
    """The posterior, where searches for its top have led, and the variables for which a table was too large."""

    problem: Problem
    tops: list[Top]  # the best first, then any that are nearly as good; with few variables nobody has looked yet
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
    later: np.random.Generator,
) -> Prepared:
    """Candidates are chosen anew beside the parents that searches gave, until that leads no further up.

    Given are random numbers for searches while candidates are rough, and for those after.
    """
    size = len(cardinalities)
    priors = [prior_of(block, cardinalities, settings.sample_size, settings.strengths) for block in blocks]
    choice = _Choice(blocks, priors, targets, clamp, settings)
    most_parents, plain = (PARENTS, True) if size > FEW else (None, False)
    considered = [choice.weigh(i, choice.alone[i], most_parents=most_parents, plain=plain) for i in range(size)]
    problem = choice.problem(considered)
    tops = [Top(clamp.value > 0.5, problem.no_targets())]
    if size > FEW:
        problem, considered, tops = choice.best(considered, tops[0], rng, later)
    too_large = tuple(i for i, each in enumerate(considered) if each.too_large)
    left_alone = slice(0, int(blocks[0].starts[1]))
    alone = Block(blocks[0].rows[left_alone], blocks[0].times[left_alone], blocks[0].starts[:2])
    return Prepared(problem, tops, too_large, Screen(alone, cardinalities, priors[0]))


class _Climbed(NamedTuple):
    """Where an attempt has led, with which candidates, and whether some search that was heated came back to there."""

    problem: Problem
    considered: list[Weighed]
    tops: list[Top]
    agreed: bool


class _Choice:
    """Candidates among many variables: chosen, searched with, and chosen anew."""

    def __init__(
        self,
        blocks: Sequence[Block],
        priors: Sequence[Prior],
        targets: Sequence[Sequence[Target | None]],
        clamp: Clamp,
        settings: Settings,
    ) -> None:
        self.blocks, self.priors, self.targets, self.clamp, self.settings = blocks, priors, targets, clamp, settings
        cardinalities = tuple(len(each) for each in priors[0].shares)
        self.size = len(cardinalities)
        self.limits = limits_of(self.size, settings)
        self.rounds = BRIEF if self.size <= AGAIN else ROUNDS
        self.shelf = Shelf()
        self.screen = Screen(blocks[0], cardinalities, priors[0])
        self.alone = [self.screen.gains(i) for i in range(self.size)]

    def weigh(
        self,
        i: int,
        gains: NDArray[np.float64],
        graphs: Sequence[BoolMatrix] = (),
        spare: int = SPARE,
        most_parents: int | None = None,
        plain: bool = False,
    ) -> Weighed:
        """Candidates are parents and effects in these graphs, for edges may be turned, and others that tell most.

        Shifts take time: while the graph only has to be roughly right, tables are `plain` and do without.
        """
        near = np.zeros(self.size, bool)
        for parents in graphs:
            near |= parents[i] | parents[:, i]
        most = self.size if self.size <= FEW else max(CANDIDATES, int(near.sum()) + spare)
        present = [np.flatnonzero(parents[i]).tolist() for parents in graphs]
        limits = self.limits
        if most_parents is not None:
            limits = limits._replace(parents=min(most_parents, limits.parents))
        priors = [prior._replace(sweeps=0) for prior in self.priors] if plain else self.priors
        given = self.blocks, priors, self.clamp, limits, self.shelf
        return _weigh(i, gains, near, most, *given, present)

    def problem(self, considered: Sequence[Weighed]) -> Problem:
        made = assemble(self.blocks, self.priors, considered, self.targets, self.clamp, self.settings, self.shelf)
        self.shelf.clear(but=[made.owner, *(scores.owner for each in considered for scores in each.scores)])
        return made

    def best(
        self, considered: list[Weighed], start: Top, rng: np.random.Generator, later: np.random.Generator
    ) -> tuple[Problem, list[Weighed], list[Top]]:
        """Of one attempt, or, where no search came back to it, of two: the best that can be put together from them."""
        one = self._attempt(list(considered), start, rng, later)
        if one.agreed or self.size > AGAIN:
            return one[:3]
        two = self._attempt(list(considered), start, rng, later, one.tops[0])
        graphs = [each.tops[0].parents for each in (one, two)]
        differ = graphs[0] != graphs[1]
        both = list(one.considered)
        for i in np.flatnonzero((differ | differ.T).any(axis=1)).tolist():
            both[i] = self.weigh(i, self.alone[i], graphs)
        problem = self.problem(both)
        found = together(*(Walk(problem, *each.tops[0], later) for each in (one, two)))
        return problem, both, [Top(found.parents, found.touched)]

    def _attempt(
        self,
        considered: list[Weighed],
        start: Top,
        rng: np.random.Generator,
        later: np.random.Generator,
        known: Top | None = None,
    ) -> _Climbed:
        """Candidates are chosen anew beside the parents that searches gave, until that leads no further up, or to a
        place that is `known` from elsewhere."""
        gains, problem = [each.copy() for each in self.alone], self.problem(considered)
        tops, score, agreed = [start], -np.inf, False
        long, rounds = (IN_VAIN, LONG if self.size <= AGAIN else FEWER), self.rounds
        for turn, (idle, most) in enumerate([(1, SEARCHES)] * rounds + [long] + [MORE] * FURTHER):
            by = rng if turn < rounds else later
            here = Walk(problem, *tops[0], by) if turn else None
            found = search(problem, by, here, idle, most, afresh=False)
            if turn >= rounds:
                explain(found[0])
            high = [Top(each.parents, each.touched) for each in found if each.score > found[0].score - NEAR]
            tops, before, score = [*high, *(tops[1:] if turn > rounds + 1 else [])], score, found[0].score
            if (turn > rounds + 1 and score < before + SAME) or (known and _same(tops[0], known)):
                break  # the first after the long search is also the first with shifts: it cannot be compared
            if turn == rounds:
                agreed = any(each.score > score - SAME for each in found[1:][BACK])
            self._choose_anew(problem, considered, tops[0], gains, turn)
            problem = self.problem(considered)
        return _Climbed(problem, considered, tops, agreed)

    def _choose_anew(
        self, problem: Problem, considered: list[Weighed], top: Top, gains: list[NDArray[np.float64]], turn: int
    ) -> None:
        """Candidates beside the parents that were found.

        Among many variables whoever would add has to pay for an edge too, or there would be no end to it. Once the
        graph is roughly right all have more candidates: where it is wrong, true causes tell nothing beside others that
        stand in for them. After the long search tables have shifts.
        """
        families, wide = [each.family for each in considered], turn >= self.rounds - 1
        least = -prior_odds(self.size, self.settings.expected_parents)
        given = self.screen, families, top.parents, top.touched[0], gains, self.clamp, turn, least
        some = overlooked(*given, (lambda i: problem.weights(i, top.touched)) if wide else None)
        spare, most_parents = (CANDIDATES, None) if wide else (SPARE, PARENTS + turn + 1)
        also: list[BoolMatrix] = []  # parents that tables would not think of
        if wide:
            alone = hidden(problem, self.screen, top.parents, top.touched, self.clamp)
            also += [alone, top.parents | alone]
        if turn >= self.rounds:
            also.append(top.parents | faint(self.screen, families, top.parents, self.clamp))
        new = {int(i) for graph in also for i in np.flatnonzero((graph & ~top.parents).any(axis=1))}
        for i in range(self.size) if turn in (self.rounds - 1, self.rounds) else sorted({*some, *new}):
            graphs = [top.parents, *(graph for graph in also if (graph & ~top.parents)[i].any())]
            considered[i] = self.weigh(i, gains[i], graphs, spare, most_parents, turn < self.rounds)


def _same(one: Top, other: Top) -> bool:
    touched = zip(one.touched, other.touched, strict=True)
    return bool((one.parents == other.parents).all()) and all((a == b).all() for a, b in touched)


def limits_of(size: int, settings: Settings) -> Limits:
    few = size <= FEW
    hopeless = HOPELESS if settings.strengths > 1 else (MERCIFUL if few else CRUEL)
    odds = prior_odds(size, settings.expected_parents) if settings.strengths > 1 else 0.0
    sets = 400 if few else SETS
    cells = settings.largest_table or LARGEST
    return Limits(cells, settings.most_parents or size, sets, hopeless, odds, few, settings.largest_table is None)


def _weigh(
    i: int,
    gains: NDArray[np.float64],
    keep: NDArray[np.bool_],
    most: int,
    blocks: Sequence[Block],
    priors: Sequence[Prior],
    clamp: Clamp,
    limits: Limits,
    shelf: Shelf,
    present: Sequence[Sequence[int]],
) -> Weighed:
    required = clamp.value[i] > 0.5
    first = tuple(np.flatnonzero(required).tolist())
    keep, room = keep & clamp.open[i] & ~required, MOST_CANDIDATES - len(first)
    if keep.sum() > room:  # parents, and of all others those that tell most
        order = [*dict.fromkeys(j for each in present for j in each), *np.argsort(-gains, kind="stable").tolist()]
        keep = np.isin(np.arange(len(keep)), [j for j in order if keep[j]][:room])
    others = choose_candidates(gains, clamp.open[i], keep, min(most, room))
    cardinalities = tuple(len(each) for each in priors[0].shares)
    candidates = (*first, *others)
    sets = [tuple(sorted(candidates.index(j) for j in each)) for each in present]
    found = consider(i, candidates, len(first), blocks, priors, cardinalities, limits, sets)
    scores = []
    for block, prior, counts, worth in zip(blocks, priors, found.counts, found.worth, strict=True):
        presumed = _presumed(block, found.family, int(np.argmax(found.worth.sum(axis=0))), prior)
        scores.append(Scores(found.family, block, prior, counts, None if presumed else worth, shelf, presumed))
    return Weighed(found.family, scores, found.too_large)


def _presumed(block: Block, family: Family, best: int, prior: Prior) -> Touched:
    """Environments that seem to have touched a variable, given the best parents as if it had been touched nowhere.

    Shifts that were fitted to their rows too would suit the others badly. Given wrong parents there may be too many of
    them: then there are fewer rows to fit to, and nothing is wrong with these.
    """
    if not prior.extending or not prior.sweeps or not block.environments:
        return frozenset()
    tables = environment_tables(block, family.child, family.order(best), family.cardinalities, prior)
    ratios = touch_ratios(tables, np.zeros(block.environments, bool))
    return frozenset(np.flatnonzero(ratios > 0).tolist())


def assemble(
    blocks: Sequence[Block],
    priors: Sequence[Prior],
    considered: Sequence[Weighed],
    targets: Sequence[Sequence[Target | None]],
    clamp: Clamp,
    settings: Settings,
    shelf: Shelf,
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
        shelf=shelf,
    )
