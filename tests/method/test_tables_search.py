"""Searches: what two of them did better is put together, and they end by a rule of their own."""

import itertools

import numpy as np
import pytest
from test_tables_sample import KNOWN, NOTHING, make_problem, start

from sdi.graphs import find_cycle
from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings
from sdi.method.tables import phase3_search
from sdi.method.tables.phase1_count import make_block
from sdi.method.tables.phase3_combine import absorb, apart
from sdi.method.tables.phase3_sample import Walk
from sdi.method.tables.phase3_search import AGREEING, provoke, search
from sdi.method.tables.prepare import prepare
from sdi.method.tables.problem import Problem
from sdi.worlds.dataset import freeze
from sdi.worlds.named import named_world


def wandered(problem: Problem, seed: int) -> Walk:
    """Somewhere: at a temperature at which nothing is much better than anything else."""
    walk = start(problem, seed)
    walk.coldness = 0.02
    for _ in range(3):
        walk.sweep()
    walk.coldness = 1.0
    return walk


def copy(walk: Walk) -> Walk:
    return Walk(walk.problem, walk.parents, walk.touched, np.random.default_rng(0))


def same_place(one: Walk, other: Walk) -> bool:
    touched = zip(one.touched, other.touched, strict=True)
    return bool((one.parents == other.parents).all()) and all((a == b).all() for a, b in touched)


@pytest.mark.parametrize("several", [False, True])
def test_groups_that_differ_score_apart_from_each_other(several: bool) -> None:
    """Taken over together they add what each adds alone."""
    problem, seen = make_problem(blocks=2, several_targets=several), 0
    for seed in range(200):
        one = wandered(problem, seed)
        other = copy(one)
        other.coldness = 0.02
        for i in np.random.default_rng(seed).permutation(4)[:2].tolist():
            other.draw_parents(i)
        other.coldness = 1.0
        groups, alone = apart(one, other), []
        for group in groups:
            walk = copy(one)
            alone.append(walk.score - one.score if walk.take(other, group) else None)
        if len(groups) > 1 and None not in alone:
            seen += 1
            everything = copy(one)
            assert everything.take(other, list(itertools.chain(*groups)))
            assert everything.score - one.score == pytest.approx(sum(each or 0.0 for each in alone), abs=1e-7)
            assert same_place(everything, other)
    assert seen > 10


def test_variables_that_exchanged_targets_or_turned_an_edge_belong_together() -> None:
    problem, rng = make_problem(), np.random.default_rng(0)
    edge, turned = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    edge[1, 0], turned[0, 1] = True, True
    first, second = problem.no_targets(), problem.no_targets()
    first[0][0, 2], second[0][0, 3] = True, True
    one, other = Walk(problem, edge, first, rng), Walk(problem, turned, second, rng)
    assert sorted(map(sorted, apart(one, other))) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("known", [NOTHING, KNOWN], ids=["nothing known", "known"])
def test_what_is_taken_over_is_never_worse_and_no_cycle(known: Knowledge) -> None:
    problem, better = make_problem(known=known, blocks=2), 0
    for seed in range(30):
        one, other = wandered(problem, seed), wandered(problem, seed + 1000)
        walk = copy(one)
        said = absorb(walk, other)
        assert said == (walk.score > one.score)
        assert walk.score >= one.score
        assert find_cycle(walk.parents) is None
        assert walk.score == pytest.approx(copy(walk).score, abs=1e-7)
        for group in apart(walk, other):  # nothing is left to take over, but what would make a cycle
            again = copy(walk)
            assert not again.take(other, group) or again.score <= walk.score + 1e-7
        better += said
    assert better > 5


def test_of_groups_that_touch_the_better_part_of_each_is_taken_over() -> None:
    """a -> b is in one place and c -> d in the other, and b -> c, which is wrong, makes one group of all."""
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(2000, 4))
    rows[:, 1] = np.where(rng.random(2000) < 0.9, rows[:, 0], rows[:, 1])
    rows[:, 3] = np.where(rng.random(2000) < 0.9, rows[:, 2], rows[:, 3])
    settings, clamp = Settings(method="tables"), NOTHING.clamp("abcd")
    problem = prepare([make_block(rows.astype(np.int32), [])], [[]], (2, 2, 2, 2), clamp, settings, rng, rng).problem
    one, other = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    one[1, 0] = one[2, 1] = other[3, 2] = True
    walk, there = (Walk(problem, parents, problem.no_targets(), rng) for parents in (one, other))
    assert len(apart(walk, there)) == 1
    assert absorb(walk, there)
    assert np.argwhere(walk.parents).tolist() == [[1, 0], [3, 2]]


@pytest.mark.parametrize("known", [NOTHING, KNOWN], ids=["nothing known", "known"])
@pytest.mark.parametrize("kind", ["put_last", "put_first"])
def test_variable_is_put_elsewhere_only_where_that_is_higher(kind: str, known: Knowledge) -> None:
    problem, moved = make_problem(known=known, blocks=2), 0
    for seed in range(40):
        walk = wandered(problem, seed)
        for i in range(4):
            before = copy(walk)
            said = getattr(walk, kind)(i)
            assert said == (walk.score > before.score)
            assert said or same_place(walk, before)
            assert find_cycle(walk.parents) is None
            assert (walk.parents >= (problem.clamp.value > 0.5)).all()
            assert walk.score == pytest.approx(copy(walk).score, abs=1e-7)
            moved += said
    assert moved > 10


def test_variable_before_several_that_should_come_before_it_is_put_last() -> None:
    """A -> B, and both are causes of C; begun with C as a cause of both, where C -> B cannot be turned alone.

    Of rows left alone all that is worth the same: there is an environment that touched C.
    """
    rng = np.random.default_rng(0)
    a = rng.integers(2, size=4000)
    b = np.where(rng.random(4000) < 0.9, a, 1 - a)
    c = np.where(rng.random(4000) < 0.9, a + 2 * b, rng.integers(4, size=4000))
    c[3000:] = rng.integers(4, size=1000)
    settings, clamp, rows = Settings(method="tables"), NOTHING.clamp("abc"), np.column_stack([a, b, c]).astype(np.int32)
    block = make_block(rows[:3000], [rows[3000:]])
    problem = prepare([block], [[(2,)]], (2, 2, 4), clamp, settings, rng, rng).problem
    wrong = np.zeros((3, 3), bool)
    wrong[1, 0] = wrong[0, 2] = wrong[1, 2] = True
    walk = Walk(problem, wrong, problem.no_targets(), rng)
    walk.put_last(2)
    assert np.flatnonzero(walk.parents[2]).tolist() == [0, 1]
    assert not walk.parents[:, 2].any()


def test_parents_that_would_make_a_cycle_are_not_taken_over() -> None:
    problem = make_problem()
    forward, backward = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    forward[1, 0], backward[0, 1] = True, True
    nothing, rng = problem.no_targets(), np.random.default_rng(0)
    one, other = Walk(problem, forward, nothing, rng), Walk(problem, backward, nothing, rng)
    assert one.parents[1, 0]
    assert other.parents[0, 1]
    assert not one.take(other, [0])
    assert same_place(one, Walk(problem, forward, nothing, rng))
    assert one.take(other, [0, 1])
    assert same_place(one, other)
    assert one.score == pytest.approx(other.score)


def test_search_returns_the_best_first() -> None:
    found = search(make_problem(blocks=2), np.random.default_rng(0), None, idle=3, most=6)
    assert len(found) >= 3
    assert found[0].score >= max(each.score for each in found[1:]) - 1e-9


def test_search_never_loses_what_it_was_given() -> None:
    problem, rng = make_problem(), np.random.default_rng(1)
    top = search(problem, rng, None, idle=4, most=8)[0]
    again = search(problem, rng, copy(top), idle=1, most=1)
    assert again[0].score >= top.score - 1e-9


def test_searches_that_begin_at_the_best_place_never_lose_it_and_do_not_confirm_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, rng, starts = make_problem(), np.random.default_rng(1), []
    top = search(problem, rng, None, idle=4, most=8)[0]
    true_cool = phase3_search.cool

    def cool(walk: Walk, steps: int, hot: float) -> None:
        starts.append((walk.parents.any(), hot))
        true_cool(walk, steps, hot)

    monkeypatch.setattr(phase3_search, "cool", cool)
    found = search(problem, rng, copy(top), idle=6, most=99, afresh=False)
    assert found[0].score >= top.score - 1e-9
    assert len(found) > 6, "that two came to the same place is no reason to stop"
    warm, hot = phase3_search.WARM, phase3_search.HOT
    assert starts[:6] == [(True, warm), (True, hot), (False, hot)] * 2


def test_search_ends_when_some_agree_or_add_nothing_or_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem()

    def searches(idle: int, most: int) -> int:
        return len(search(problem, np.random.default_rng(3), None, idle, most)) - 1

    assert searches(idle=99, most=99) < 20  # they agree at some time
    assert searches(idle=99, most=1) == 1
    monkeypatch.setattr(phase3_search, "AGREEING", 1000)
    assert searches(idle=99, most=5) == 5
    assert AGREEING < searches(idle=2, most=99) < 50


@pytest.mark.parametrize("seed", [4, 26])
def test_targets_that_change_places_lead_out_of_where_searches_agree(
    seed: int,
) -> None:
    """An edge and a target make up for each other: each alone leads down, and both too, until a third variable follows.
    One search in three ends there."""
    world = named_world("survey", rng=np.random.default_rng(seed), temperature=2.0)
    frozen = freeze(world, observational=2_000, environments=6, rows=500, rng=np.random.default_rng([seed, 1]))
    block = make_block(frozen.dataset.observational, [each.rows for each in frozen.dataset.environments])
    cards, clamp = frozen.dataset.cardinalities, Knowledge().clamp(world.names)
    problem = prepare([block], [[None] * 6], cards, clamp, Settings(), np.random.default_rng(0), None).problem  # type: ignore[arg-type]

    def top(seed: int) -> Walk:
        return search(problem, np.random.default_rng(seed), None, idle=1, most=1)[0]

    ends = [top(each) for each in range(8)]
    scores = [each.score for each in ends]
    assert min(scores) < max(scores) - 10, "or there is nothing to lead out of"
    led = provoke(ends[int(np.argmin(scores))])
    assert led.score == pytest.approx(max(scores), abs=0.1)
    assert (led.parents == world.graph.parents).all()


def test_targets_that_change_places_never_lead_down() -> None:
    for seed in range(10):
        walk = wandered(make_problem(seed=seed, strengths=3), seed)
        choice, score = walk.choice.copy(), walk.score
        led = provoke(walk)
        assert led.score >= score
        assert find_cycle(led.parents) is None
        assert (walk.choice, walk.score) == (choice, score), "the walk itself stays where it is"
