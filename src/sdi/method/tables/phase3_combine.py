"""Phase 3: the best that can be put together from two places, each of which has something better than the other.

Legend: M variables, E environments.
"""

import numpy as np
from scipy.sparse.csgraph import connected_components

from sdi.graphs import BoolMatrix
from sdi.method.tables.phase3_sample import Walk

LARGEST = 60  # variables that are taken over for the sake of one


def absorb(walk: Walk, other: Walk) -> bool:
    """Take over whatever another search has done better; whether there was something.

    Where searches end in different places they mostly differ in a few groups of variables, each right in one of them:
    edges turned round together with the targets that make up for it. Such groups score apart from each other. With
    many variables groups touch; then it is tried with as few as closes no cycle.
    """
    first, before = walk.score, walk.copy()
    while _absorb_groups(walk, other) or _absorb_parts(walk, other):
        pass
    while _absorb_parts(walk, before):  # of a group that was better as a whole
        pass
    return walk.score > first


def _absorb_groups(walk: Walk, other: Walk) -> bool:
    found = False
    for group in apart(walk, other):
        score, before = walk.score, walk.place()
        if walk.take(other, group):
            if walk.score > score:
                found = True
            else:
                walk.go_to(before)
    return found


def apart(walk: Walk, other: Walk) -> list[list[int]]:
    """Variables with other parents or targets, in groups that share a different edge or environment."""
    turned, moved = _differences(walk, other)
    changed = np.flatnonzero(turned.any(axis=1) | moved.any(axis=0))
    together = moved.T.astype(np.float32) @ moved.astype(np.float32) > 0
    linked = (turned | turned.T | together)[np.ix_(changed, changed)]
    count, group = connected_components(linked, directed=False)
    return [changed[group == g].tolist() for g in range(count)]


def _differences(walk: Walk, other: Walk) -> tuple[BoolMatrix, BoolMatrix]:
    """Edges ``[M, M]`` and targets ``[E, M]``."""
    mine, its = np.concatenate(walk.touched), np.concatenate(other.touched)
    return walk.parents != other.parents, mine != its


def _absorb_parts(walk: Walk, other: Walk) -> bool:
    """The same for each variable that is better off there, with those that have to come along."""
    turned, moved = _differences(walk, other)
    changed = np.flatnonzero(turned.any(axis=1) | moved.any(axis=0)).tolist()
    gains = {i: other.worth(i) - walk.worth(i) for i in changed}
    with_targets = {i: np.flatnonzero(moved[moved[:, i]].any(axis=0)).tolist() for i in changed}
    found = False
    for i in sorted(changed, key=lambda i: -gains[i]):
        if gains.get(i, 0.0) <= 0:
            continue
        before, score = walk.place(), walk.score
        taken = _along(walk, other, i, gains, with_targets)
        if taken and walk.score > score:
            found = True
            for k in taken:
                del gains[k]
        else:
            walk.go_to(before)
    return found


def _along(
    walk: Walk, other: Walk, first: int, gains: dict[int, float], with_targets: dict[int, list[int]]
) -> list[int]:
    """Take over one variable and who has to come along: an environment goes as a whole, and of those on a cycle the
    one that gains most comes too. Nobody, if there would be too many."""
    taken: list[int] = []
    todo: list[int] = [first]
    while todo and len(taken) < LARGEST:
        i = todo.pop()
        if i in taken:
            continue
        walk.adopt(other, i)
        taken.append(i)
        todo += [k for k in with_targets[i] if k in gains and k not in taken]
        if not todo:
            round_ = [k for k in _on_a_cycle(walk, taken) if k in gains and k not in taken]
            todo = sorted(round_, key=gains.__getitem__)[-1:]
    return [] if todo else taken


def _on_a_cycle(walk: Walk, variables: list[int]) -> list[int]:
    """All that lie on a cycle with the first of these that lies on one."""
    for i in variables:
        below = walk.below(i)
        if below >> i & 1:
            both = below & walk.above(i)
            return [k for k in range(len(walk.choice)) if both >> k & 1]
    return []
