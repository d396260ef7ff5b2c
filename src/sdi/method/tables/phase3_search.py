"""Phase 3: the graph and targets of the highest posterior, by cooling and climbing."""

import numpy as np

from sdi.method.tables.phase3_combine import absorb
from sdi.method.tables.phase3_sample import Walk
from sdi.method.tables.problem import Problem

HOT, STEPS = 0.003, 20  # a search cools from here to 1 in so many steps; in twice as many ...
PATIENT, SLOWEST = 2, 8  # ... each time that so many added nothing, up to so many times as many
WARM, AGAIN = 0.01, 14  # of those that begin at the best place so far every other one is heated to this only
BACK = slice(1, None, 3)  # those of them that are heated as much as if they began anew
TARGETS = 0.3  # colder than this they move too: sooner they would make up for edges that are not yet in place
COLD = 1e3  # only climbs
SAME = 0.5  # nats that count for nothing
AGREEING = 2  # searches that end in the best place of all, on their own: then there is hardly a better one


def search(
    problem: Problem, rng: np.random.Generator, start: Walk | None, idle: int, most: int, *, afresh: bool = True
) -> list[Walk]:
    """Where searches ended, and before them the best that can be put together from them all and `start`.

    Each begins anew; there are no more once some agree, when `idle` in a row add nothing, or when there were `most`.
    If not `afresh`, two in three begin at the best place so far, and none confirms another.
    """
    found: list[Walk] = []
    anew = Walk(problem, problem.clamp.value > 0.5, problem.no_targets(), rng)
    best, in_vain, agreeing, pace = start, 0, 0, 1.0
    if best is not None:
        climb(best)
    while in_vain < idle and agreeing < AGREEING and len(found) < most:
        kind = 0 if afresh or best is None else (len(found) + 1) % 3
        walk = (best if best and kind else anew).copy()
        cool(walk, round((AGAIN if kind == 1 else STEPS) * min(pace, SLOWEST)), WARM if kind == 1 else HOT)
        found.append(walk)
        before = -np.inf if best is None else best.score
        best = together(best or walk, walk)
        in_vain = 0 if best.score > before + SAME else in_vain + 1
        pace *= 2 ** (1 / PATIENT) if in_vain else 1
        agreeing = sum(each.score > best.score - SAME for each in found) if afresh else 0
    return found if best is None else [best, *found]


def cool(walk: Walk, steps: int = STEPS, hot: float = HOT) -> None:
    """From free movement to the posterior itself, and then uphill."""
    for coldness in np.geomspace(hot, 1.0, steps):
        walk.coldness = float(coldness)
        _move(walk)
        if coldness >= TARGETS:
            walk.draw_targets()
            _exchange_some(walk)
    climb(walk)


def climb(walk: Walk, *, briefly: bool = False) -> None:
    """Uphill as long as there is a move that leads there; `briefly` without targets that change places."""
    walk.coldness = COLD
    score = -np.inf
    while walk.score > score + 1e-6:
        score = walk.score
        _move(walk)
        walk.draw_targets(climb=True)
        for i in range(0 if briefly else len(walk.choice)):
            for j in walk.neighbours(i):  # and later i as a neighbour of j
                cells = walk.confusable(i, j)
                if len(cells) > 1:
                    walk.exchange(i, j, cells)
                for cell in cells:
                    walk.exchange(i, j, [cell])
        if walk.score <= score + 1e-6:
            for i in range(len(walk.choice)):
                walk.put_last(i)
                walk.put_first(i)
    walk.coldness = 1.0


def explain(walk: Walk) -> None:
    """Look for what was touched where nothing seems to have been, as long as there is something, and climb on."""
    walk.coldness = COLD
    explained = [walk.touch(i, cell) for i, cell in walk.unexplained()]
    walk.coldness = 1.0
    if any(explained):
        climb(walk)
        explain(walk)


def provoke(walk: Walk) -> Walk:
    """The best place that climbs lead to from where the walk is after two targets have changed places, good or bad.

    Where an edge and a target make up for each other, each alone leads down, and sometimes both: a third variable has
    to follow.
    """
    best = walk
    for i, j in walk.problem.pairs:
        cells = walk.confusable(i, j)
        for some in [cells, *([cell] for cell in cells if len(cells) > 1)] if cells else []:
            other = walk.copy()
            other.coldness = COLD
            other.exchange(i, j, some, whatever=True)
            climb(other, briefly=True)
            best = other if other.score > best.score + SAME else best
    if best is walk:
        return walk
    climb(best)
    return provoke(best)


def together(one: Walk, other: Walk) -> Walk:
    """The best of two places; both stay where they are."""
    low, high = sorted((one, other), key=lambda each: each.score)
    best = high.copy()
    if absorb(best, low):
        climb(best)
    return best


def _move(walk: Walk) -> None:
    """New parents for each; an edge turned round as often."""
    for i in walk.rng.permutation(len(walk.choice)).tolist():
        walk.draw_parents(i)
        walk.reverse()


def _exchange_some(walk: Walk) -> None:
    for i in range(len(walk.choice)):
        near = walk.neighbours(i)
        if near:
            j = near[int(walk.rng.integers(len(near)))]
            cells = walk.confusable(i, j)
            if cells:
                walk.exchange(i, j, cells if walk.rng.random() < 0.5 else [cells[int(walk.rng.integers(len(cells)))]])
