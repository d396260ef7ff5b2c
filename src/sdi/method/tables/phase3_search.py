"""Phase 3: the graph and targets of the highest posterior, by cooling and climbing."""

from collections.abc import Sequence

import numpy as np

from sdi.method.tables.phase3_sample import Cell, Walk

HOT, STEPS = 0.01, 60  # a fresh search cools from here to 1 in so many steps
HASTY = 20  # ... or in so many, in haste
TARGETS, EXCHANGES = 0.02, 0.1  # colder than this they move too: before, it costs much and decides nothing
COLD = 1e3  # only climbs
CONFUSED = -10.0  # nats for "touched" below which nobody looks whether two targets should change places


def cool(walk: Walk) -> None:
    """From free movement to the posterior itself, and then uphill, all variables."""
    _cool(walk, STEPS)
    climb(walk, range(len(walk.choice)))


def cool_in_haste(walk: Walk) -> None:
    """The same, less thoroughly: for a graph that only has to be roughly right."""
    _cool(walk, HASTY)
    walk.coldness = COLD
    _move(walk, range(len(walk.choice)))
    walk.draw_targets(climb=True)
    _move(walk, range(len(walk.choice)))
    walk.coldness = 1.0


def _cool(walk: Walk, steps: int) -> None:
    size = len(walk.choice)
    for coldness in np.geomspace(HOT, 1.0, steps):
        walk.coldness = float(coldness)
        _move(walk, range(size))
        if coldness >= TARGETS:
            walk.draw_targets()
        if coldness >= EXCHANGES:
            _exchange_some(walk, range(size))


def climb(walk: Walk, variables: Sequence[int]) -> None:
    """Uphill as long as there is a move that leads there."""
    walk.coldness = COLD
    score = -np.inf
    while walk.score > score + 1e-6:
        score = walk.score
        _move(walk, variables)
        walk.draw_targets(None if len(variables) == len(walk.choice) else variables, climb=True)
        for i in variables:
            for j in walk.neighbours(i):
                for one, other in ((i, j), (j, i)):
                    cells = _confusable(walk, one, other)
                    if len(cells) > 1:
                        walk.exchange(one, other, cells)
                    for cell in cells:
                        walk.exchange(one, other, [cell])
    walk.coldness = 1.0


def _confusable(walk: Walk, i: int, j: int) -> list[Cell]:
    """Where one of two was touched and the other may have been, as things are: elsewhere the pair is not confused."""
    found = []
    for b, e in walk.differing(i, j):
        other = j if walk.touched[b][e, i] else i
        if walk.problem.ratios(b, other, walk.choice[other], walk.touched[b][:, other])[e] > CONFUSED:
            found.append((b, e))
    return found


def _move(walk: Walk, variables: Sequence[int]) -> None:
    """New parents for each; an edge turned round as often."""
    for i in walk.rng.permutation(np.asarray(variables)).tolist():
        walk.draw_parents(i)
        walk.reverse(variables)


def _exchange_some(walk: Walk, variables: Sequence[int]) -> None:
    for i in variables:
        near = walk.neighbours(i)
        if near:
            j = near[int(walk.rng.integers(len(near)))]
            cells = _confusable(walk, i, j)
            if cells:
                walk.exchange(i, j, cells if walk.rng.random() < 0.5 else [cells[int(walk.rng.integers(len(cells)))]])
