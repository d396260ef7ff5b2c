"""Phase 1: which parents, and which sets of them, are considered for each variable.

With few variables all of them; with many those that tell most about it.

Legend: M variables, K candidates, S sets of them.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.phase1_count import WHOLE, Block, Counts, Family, pooled
from sdi.method.tables.phase2_likelihood import Likelihood, Prior

MOST_CANDIDATES = 63  # of a variable: sets of them are bits of one number
EXTENDED, LARGE = 48, 4  # sets of a size to which one more parent is added; fewer where that size is large
CHOSEN = 6  # sets of a size to which one more is added though the table then is large
# Where variables are few, it is one such set, unless little is there of any table, so that effects may add up in all:
ALL = 7  # then of so many candidates all sets are looked at, ...
MANY = 60  # ... and of more of them about so many large ones, at least one of each size
Array = NDArray[np.float64]


def choose_candidates(gains: Array, open_: NDArray[np.bool_], keep: NDArray[np.bool_], most: int) -> tuple[int, ...]:
    """Those to keep first, then those that tell most, as many as `most` in all ``[K]``."""
    kept = np.flatnonzero(keep).tolist()
    others = [j for j in np.argsort(-gains, kind="stable").tolist() if open_[j] and not keep[j] and gains[j] > -np.inf]
    return tuple(kept + others[: max(0, most - len(kept))])


class Limits(NamedTuple):
    """How many parents are considered, and how large a table may be."""

    cells: int  # of one table, at most
    parents: int
    sets: int  # up to this number all sets of a size are looked at
    hopeless: float  # nats below a subset: such a set is not considered
    odds: float = 0.0  # of an edge beforehand, in nats
    few: bool = True  # variables: then more can be afforded
    unless_added: bool = False  # tables in which effects add up may be of any size


class Considered(NamedTuple):
    """A family, and whether a table that might have been better was too large for it."""

    family: Family
    counts: list[Counts]  # in each block
    worth: Array  # [blocks, S] log marginal likelihood of the rows of each, as if nothing had been touched
    too_large: bool


def consider(
    child: int,
    candidates: tuple[int, ...],
    required: int,
    blocks: Sequence[Block],
    priors: Sequence[Prior],
    cardinalities: tuple[int, ...],
    limits: Limits,
    present: Sequence[tuple[int, ...]] = (),
) -> Considered:
    """All sets up to some size of which there are not too many, and larger ones that extend what is worth extending.

    The first `required` candidates are in every set that can be chosen. Sets that are `present` in a graph stay, and
    those with one more are looked at: among the best of their size may be none without an effect of the child.
    """
    states = np.array([cardinalities[j] for j in candidates], dtype=float)
    if not _fits(states[:required].prod(), cardinalities[child], priors, limits):
        raise ValueError(
            f"the required parents of one variable have {states[:required].prod():,.0f} combinations, too many for a "
            f"table of at most {limits.cells:,} cells; require fewer, raise largest_table, or choose method='neural'"
        )
    full = required + _full_size(len(candidates) - required, limits._replace(parents=max(0, limits.parents - required)))
    family, too_large = Family(child, candidates, ((),), cardinalities, ()), False
    merged = [pooled(block, (child, *candidates), cardinalities) for block in blocks]
    little = limits.few and all(bool(prior.adds_up(np.inf, cardinalities[child])) for prior in priors)
    chosen = _chosen(len(candidates), little) if limits.few else CHOSEN
    counts = [family.count(block) for block in merged]
    worth = _worth(family, counts, priors, np.empty((len(blocks), 0)))
    scores = _scores(family, worth, limits.odds)
    for size in range(1, max(required, min(len(candidates), limits.parents)) + 1):
        leading = _leading(family, scores, present, size)
        every = size <= full
        wanted = _of_size(family, size, required) if every else _extended(family, scores, limits, present, alone=little)
        wanted += sorted(leading.difference(wanted))
        fitting = [
            each
            for each in wanted
            if size <= required or _fits(states[list(each)].prod(), cardinalities[child], priors, limits)
        ]
        best = family.sets[int(np.argmax(scores))]
        left_out = set(wanted).difference(fitting) if len(best) == size - 1 else set()
        too_large = too_large or any(set(best) < set(each) for each in left_out)
        if not fitting:
            break
        affordable = set(_affordable(fitting, family, scores, required, chosen)) | (leading & set(fitting))
        larger = _with(family, [each for each in fitting if each in affordable], scores).for_rows(merged)
        counts = [
            np.concatenate([old, larger.count(block, first=len(family.sets))])
            for old, block in zip(counts, merged, strict=True)
        ]
        worth = _worth(larger, counts, priors, worth)
        scores = _scores(larger, worth, limits.odds)
        staying = _nearest(larger, scores, present)
        family, counts, kept = _pruned(larger, counts, scores, required, limits.hopeless, staying)
        worth = worth[:, kept]
        scores = _scores(family, worth, limits.odds)
        if max(len(each) for each in family.sets) < size:
            break
    return Considered(family, counts, worth, too_large)


def _affordable(
    sets: Sequence[tuple[int, ...]], family: Family, scores: Array, required: int, chosen: int | None
) -> list[tuple[int, ...]]:
    """Without large tables, but for those that extend one of the `chosen` best which is better than what it extends.

    They take time, and hold hardly more than the rows. None is all.
    """
    if chosen is None:
        return list(sets)
    best = _paying(_largest(family, scores)[:chosen], family, scores)
    states = np.array([family.cardinalities[j] for j in family.candidates], dtype=float)
    return [
        each
        for each in sets
        if len(each) <= required
        or states[list(each)].prod() * family.states <= WHOLE
        or best.intersection(_without_one(each))
    ]


def _chosen(candidates: int, little: bool) -> int | None:
    """How many of the best sets of a size are extended though the table is large, where variables are few."""
    if not little:
        return 1
    sizes = candidates - 3  # with no more than three parents tables are hardly ever large
    return None if candidates <= ALL else min(max(round(2 * MANY / sizes**2), 1), CHOSEN)


def _fits(combinations: float, states: int, priors: Sequence[Prior], limits: Limits) -> bool:
    """Whether a table with so many rows may be looked at."""
    adding_up = limits.unless_added and all(bool(prior.adds_up(combinations, states)) for prior in priors)
    return bool(combinations * states <= limits.cells) or adding_up


def _worth(family: Family, counts: list[Counts], priors: Sequence[Prior], known: Array) -> Array:
    """Log marginal likelihood of each block under each set ``[blocks, S]``; `known` is that of the first few."""
    if not known.shape[1]:
        return np.array([Likelihood(family, *each).whole for each in zip(priors, counts, strict=True)])
    return np.array([Likelihood(family, *each).whole for each in zip(priors, counts, known, strict=True)])


def _scores(family: Family, worth: Array, odds: float) -> Array:
    """Log posterior of each set ``[S]``."""
    return np.asarray(odds * family.members.sum(axis=1) + worth.sum(axis=0))


def _of_size(family: Family, size: int, required: int) -> list[tuple[int, ...]]:
    """All sets of so many, of which some set with one less is still considered; first those required."""
    if size <= required:
        return [tuple(range(size))]
    there, base = set(family.sets), tuple(range(required))
    more = combinations(range(required, len(family.candidates)), size - required)
    return [each for each in ((*base, *rest) for rest in more) if there.intersection(_without_one(each))]


def _with(family: Family, sets: Sequence[tuple[int, ...]], scores: Array) -> Family:
    """More sets, each of which extends the best that has one member less."""
    place = {each: s for s, each in enumerate(family.sets)}
    extends = [max((place[rest] for rest in _without_one(each) if rest in place), key=scores.item) for each in sets]
    known = family.extends or ()
    every = (*family.sets, *sets)
    return Family(family.child, family.candidates, every, family.cardinalities, (*known, *extends), family.seen)


def _pruned(
    family: Family, counts: list[Counts], scores: Array, required: int, hopeless: float, staying: set[int]
) -> tuple[Family, list[Counts], list[int]]:
    """Without the sets that have a subset so much better that nobody will ever draw them; and which are left."""
    place = {each: s for s, each in enumerate(family.sets)}
    best: list[float] = []  # of a set and all its subsets
    kept = staying.copy()
    for s, each in enumerate(family.sets):
        smaller = [place[rest] for rest in _without_one(each) if rest in place]
        below = max((best[t] for t in smaller), default=-np.inf)
        best.append(max(below, float(scores[s])))
        if len(each) <= required or scores[s] > below - hopeless:
            kept.add(s)
    for s in sorted(kept, reverse=True):  # with the sets that each is counted by: they fix the order of its cells
        while s and family.bases[s - 1][0] not in kept:
            s = family.bases[s - 1][0]
            kept.add(s)
    chosen = sorted(kept)
    cells = [slice(*family.first_cell[s : s + 2]) for s in chosen]
    fewer = [np.concatenate([each[part] for part in cells]) for each in counts]
    sets, new = tuple(family.sets[s] for s in chosen), {s: t for t, s in enumerate(chosen)}
    extends = tuple(new[family.bases[s - 1][0]] for s in chosen[1:])
    seen = tuple(family.seen[s] for s in chosen) if family.seen else ()
    return Family(family.child, family.candidates, sets, family.cardinalities, extends, seen), fewer, chosen


def _leading(family: Family, scores: Array, present: Sequence[tuple[int, ...]], size: int) -> set[tuple[int, ...]]:
    """Sets of so many on the way to those that are present, and these with one more."""
    found, there = set(), set(family.sets)
    for each in present:
        if size <= len(each):
            base = family.sets[max(_nearest(family, scores, [each]))]
            more = [k for k in each if k not in base] if len(base) == size - 1 else []
        else:
            base, more = each, list(range(len(family.candidates))) if size == len(each) + 1 and each in there else []
        found |= {tuple(sorted((*base, k))) for k in more if k not in base}
    return found


def _nearest(family: Family, scores: Array, present: Sequence[tuple[int, ...]]) -> set[int]:
    """Of each of these the best subset of the largest size that is there."""
    found = set()
    for each in present:
        inside = [s for s, those in enumerate(family.sets) if set(those) <= set(each)]
        found.add(max(inside, key=lambda s: (len(family.sets[s]), scores[s])))
    return found


def _without_one(members: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(*members[:k], *members[k + 1 :]) for k in range(len(members))]


def _full_size(candidates: int, limits: Limits) -> int:
    size, total = 0, 1
    while size < min(candidates, limits.parents) and total + comb(candidates, size + 1) <= limits.sets:
        size += 1
        total += comb(candidates, size)
    return max(size, min(2, candidates, limits.parents))


def _extended(
    family: Family, scores: Array, limits: Limits, present: Sequence[tuple[int, ...]], alone: bool
) -> list[tuple[int, ...]]:
    """One more parent for the best of the largest sets; with `alone` for the very best though no other leads there.

    They may all be far below a smaller one that holds an effect of the child: of that nothing is known here. Where a
    large set is present, any member may be an effect: one more parent, too, for the best without it.
    """
    largest, here = len(family.sets[-1]), _largest(family, scores)
    most = EXTENDED if limits.few or largest < LARGE else EXTENDED // 8
    there, every = set(here[:most]), range(len(family.candidates))
    doubtful = {k for each in present if len(each) >= LARGE for k in each}
    leading = here[: int(alone)] + [_first_without(k, here) for k in doubtful]
    best = _paying(leading, family, scores) if largest >= LARGE else set()
    grown = {tuple(sorted((*each, k))) for each in there | best for k in every if k not in each}
    return sorted(
        each
        for each in grown
        if largest < 2 or best.intersection(_without_one(each)) or len(there.intersection(_without_one(each))) > 1
    )


def _first_without(k: int, sets: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return next((each for each in sets if k not in each), sets[0])


def _largest(family: Family, scores: Array) -> list[tuple[int, ...]]:
    """All sets of the largest size, the best first."""
    size = len(family.sets[-1])
    return [family.sets[s] for s in np.argsort(-scores).tolist() if len(family.sets[s]) == size]


def _paying(sets: Sequence[tuple[int, ...]], family: Family, scores: Array) -> set[tuple[int, ...]]:
    """Those that are better than all that they extend."""
    worth = dict(zip(family.sets, scores.tolist(), strict=True))
    return {each for each in sets if all(worth[each] > worth.get(rest, -np.inf) for rest in _without_one(each))}
