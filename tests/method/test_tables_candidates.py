"""Candidates: what one more parent adds, and which sets of parents are looked at for a variable."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_tables_exact import marginal

from sdi import graphs
from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings
from sdi.method.tables import phase1_candidates, phase1_count, phase1_screen, prepare
from sdi.method.tables.phase1_candidates import Considered, Limits, choose_candidates, consider
from sdi.method.tables.phase1_count import Block, Family, make_block
from sdi.method.tables.phase1_overlooked import overlooked
from sdi.method.tables.phase1_screen import Screen
from sdi.method.tables.phase2_likelihood import Bdeu, Likelihood, Prior, prior_of
from sdi.method.tables.phase2_score import graph_score

CARDS = (3, 2, 4, 2)
PLENTY = Limits(cells=10**6, parents=99, sets=10**6, hopeless=25.0)
BDEU = Prior((1.0,))


def random_rows(n: int = 200, seed: int = 0, cards: tuple[int, ...] = CARDS) -> NDArray[np.uint8]:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, cards, (n, len(cards))).astype(np.uint8)
    for i in range(1, len(cards)):
        copies = rng.random(n) < 0.5
        rows[copies, i] = rows[copies, i - 1] % cards[i]
    return rows


def parity(causes: int, others: int = 0, n: int = 2000) -> Block:
    """The first variable is the parity of the next `causes`, now and then wrong; none of them tells anything alone."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (n, 1 + causes + others)).astype(np.uint8)
    rows[:, 0] = (rows[:, 1 : 1 + causes].sum(axis=1) + (rng.random(n) < 0.1)) % 2
    return make_block(rows, [])


def total(causes: int, others: int = 0, n: int = 4000) -> Block:
    """The first variable is likelier 1 the more of the next `causes` are: each of them tells something alone."""
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 2, (n, 1 + causes + others)).astype(np.uint8)
    logits = 3.0 * (rows[:, 1 : 1 + causes].sum(axis=1) - causes / 2)
    rows[:, 0] = rng.random(n) < 1 / (1 + np.exp(-logits))
    return make_block(rows, [])


def considered(block: Block, required: int = 0, strengths: int = 1, **limits: Any) -> Considered:
    """Of the first variable, all others being candidates, in their order."""
    size = block.rows.shape[1]
    cards, others = (2,) * size, tuple(range(1, size))
    priors = [prior_of(block, cards, 1.0, strengths)]
    return consider(0, others, required, [block], priors, cards, PLENTY._replace(**limits))


def screen_of(block: Block, cards: tuple[int, ...], alpha: float = 1.0, strengths: int = 1) -> Screen:
    return Screen(block, cards, prior_of(block, cards, alpha, strengths))


# ------------------------------------------------------------------------------------------------------- screen


@pytest.mark.parametrize("alpha", [1.0, 3.0])
@pytest.mark.parametrize("parents", [(), (3,), (3, 0)])
def test_gain_is_the_difference_of_marginal_likelihoods(parents: tuple[int, ...], alpha: float) -> None:
    """Rows of all environments count, merged or not."""
    parts = [random_rows(100, 1), np.repeat(random_rows(10, 2), 5, axis=0)]
    rows, child = np.concatenate(parts), 1
    found = screen_of(make_block(parts[0], parts[1:]), CARDS, alpha).gains(child, parents)
    before = marginal(rows, child, list(parents), CARDS, alpha)
    for j in range(4):
        if j in (child, *parents):
            assert found[j] == -np.inf
        else:
            assert found[j] == pytest.approx(marginal(rows, child, [*parents, j], CARDS, alpha) - before, abs=1e-6)


def test_screen_of_too_many_rows_looks_at_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = (30, 2, 40, 2)
    rows = random_rows(600, cards=cards)
    monkeypatch.setattr(phase1_screen, "LARGEST_SCREEN", 200 * sum(cards))
    screen = screen_of(make_block(rows, []), cards)
    assert screen.seen.size <= 200 * sum(cards)
    expected = marginal(rows[::3], 1, [0], cards) - marginal(rows[::3], 1, [], cards)
    assert screen.gains(1)[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("strengths", [1, 3])
@pytest.mark.parametrize("parents", [(), (3,), (3, 0)])
def test_rows_of_environments_that_touched_a_variable_tell_nothing_about_it(
    parents: tuple[int, ...], strengths: int
) -> None:
    """Its gains are those of a screen that never saw these rows, under the same prior."""
    parts = [random_rows(n, seed) for seed, n in enumerate((100, 40, 50))]
    block = make_block(parts[0], parts[1:])
    prior = prior_of(block, CARDS, 1.0, strengths)
    for touched in itertools.product([False, True], repeat=2):
        rest = make_block(parts[0], [rows for rows, each in zip(parts[1:], touched, strict=True) if not each])
        found = Screen(block, CARDS, prior).gains(1, parents, np.array(touched))
        np.testing.assert_allclose(found, Screen(rest, CARDS, prior).gains(1, parents), atol=1e-6)


def test_gain_of_a_first_parent_is_nearly_that_of_tables_which_extend_one_another() -> None:
    """Not quite, for the one without parents is fitted a little less carefully; and without shifts."""
    rows = random_rows(400, 1)
    block, family = make_block(rows, []), Family(1, (0, 2, 3), ((), (0,), (1,), (2,)), CARDS)
    prior, counts = prior_of(block, CARDS, 1.0, 3)._replace(sweeps=0), family.count(block)
    scores = Likelihood(family, prior, counts)(counts)
    found = Screen(block, CARDS, prior).gains(1)[[0, 2, 3]]
    np.testing.assert_allclose(found, scores[1:] - scores[0], atol=0.05)


GAINS = np.array([5.0, -np.inf, 9.0, 1.0, 7.0])


@pytest.mark.parametrize(
    ("closed", "keep", "most", "chosen"),
    [
        ([], [], 9, (2, 4, 0, 3)),
        ([], [], 2, (2, 4)),
        ([2], [], 2, (4, 0)),
        ([], [3], 2, (3, 2)),
        ([], [3, 0], 3, (0, 3, 2)),
        ([], [0, 3], 1, (0, 3)),
        ([0, 1, 2, 3, 4], [], 9, ()),
    ],
)
def test_candidates_are_those_to_keep_and_those_that_tell_most(
    closed: list[int], keep: list[int], most: int, chosen: tuple[int, ...]
) -> None:
    open_, kept = ~np.isin(np.arange(5), closed), np.isin(np.arange(5), keep)
    assert choose_candidates(GAINS, open_, kept, most) == chosen


# ---------------------------------------------------------------------------------------------- sets of parents


ALL = {"hopeless": np.inf}  # no set is left out


@pytest.mark.parametrize("strengths", [1, 3])
def test_all_sets_are_considered_where_they_are_few(strengths: int) -> None:
    block = make_block(random_rows(), [])
    prior = prior_of(block, CARDS, 1.0, strengths)
    found = consider(1, (0, 2, 3), 0, [block], [prior], CARDS, PLENTY._replace(**ALL))
    assert found.family.sets == ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
    assert (found.family.child, found.family.candidates, found.too_large) == (1, (0, 2, 3), False)


@pytest.mark.parametrize("strengths", [1, 3])
def test_counts_are_those_of_the_family(strengths: int) -> None:
    """Also where it grew bit by bit."""
    for block, limits in [(total(4, 2), {"sets": 10}), (parity(3), {})]:
        found = considered(block, strengths=strengths, **limits)
        np.testing.assert_array_equal(found.counts[0], found.family.count(block))
        cards = (2,) * block.rows.shape[1]
        whole = Likelihood(found.family, prior_of(block, cards, 1.0, strengths), found.counts[0])
        np.testing.assert_allclose(found.worth[0], whole(found.counts[0]), rtol=1e-12)


@pytest.mark.parametrize("strengths", [1, 3])
def test_sets_are_extended_until_all_causes_are_found(strengths: int) -> None:
    """Of 8 candidates all sets of up to 2 are considered; five causes are found one more at a time."""
    block = total(5, 3)
    found = considered(block, strengths=strengths, sets=40)
    score = Likelihood(found.family, prior_of(block, (2,) * 9, 1.0, strengths), found.counts[0])
    worth = score(found.counts[0]) - found.family.members.sum(axis=1)  # an edge beforehand
    assert found.family.sets[int(np.argmax(worth))] == (0, 1, 2, 3, 4)
    assert len(found.family.sets) < 2**8
    assert not found.too_large


def test_sets_of_causes_are_found_beside_an_effect_that_tells_more_than_all_of_them() -> None:
    """Whether it is an effect is not known yet; if it turns out to be one, it can be in no set of parents."""
    block = total(4, 3)
    rows = np.repeat(block.rows, block.times.astype(int), axis=0)
    limits = {"sets": 40, "hopeless": 6.0, "odds": -4.0}
    found = considered(make_block(np.column_stack([rows, rows[:, 0]]), []), strengths=3, **limits)
    assert (7,) in found.family.sets
    assert (0, 1, 2, 3) in found.family.sets


@pytest.mark.parametrize("strengths", [1, 4])
def test_sets_that_are_present_stay_and_those_with_one_more_are_looked_at(
    strengths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parity of four shows in no smaller set: what a graph has already is the way to it."""
    monkeypatch.setattr(phase1_candidates, "EXTENDED", 1)
    block, limits, cards = parity(4, others=3), PLENTY._replace(sets=1), (2,) * 8
    given = 0, tuple(range(1, 8)), 0, [block], [prior_of(block, cards, 1.0, strengths)], cards, limits
    without, found = consider(*given), consider(*given, [(0, 1, 2), (3, 4, 5, 6)])
    assert (0, 1, 2, 3) not in without.family.sets
    assert {(0, 1, 2), (0, 1, 2, 3), (3, 4, 5, 6)} <= set(found.family.sets)
    for counts in found.counts:
        assert (counts == found.family.count(block)).all()
    best = found.family.sets[int(np.argmax(found.worth.sum(axis=0)))]
    assert best == (0, 1, 2, 3)


def test_sets_are_not_extended_where_smaller_ones_are_far_better() -> None:
    found = considered(total(1, 7), sets=40, hopeless=2.0)
    assert (0,) in found.family.sets
    assert max(map(len, found.family.sets)) <= 3


def test_pairs_are_always_considered() -> None:
    """However many there are: two causes that tell nothing alone are found."""
    found = considered(parity(2, 10), sets=3, **ALL)
    assert set(itertools.combinations(range(12), 2)) <= set(found.family.sets)
    assert found.family.sets[int(np.argmax(Bdeu(found.family, 1.0)(found.counts[0])))] == (0, 1)


@pytest.mark.parametrize("parents", [2, 3, 4])
def test_no_set_is_larger_than_the_limit_on_parents(parents: int) -> None:
    for sets in (40, 10**6):
        assert max(map(len, considered(total(5, 3), sets=sets, parents=parents, **ALL).family.sets)) == parents


@pytest.mark.parametrize(("cells", "largest", "too_large"), [(2**9, 6, False), (2**5, 4, True), (2**3, 2, True)])
def test_table_that_is_too_large_is_said_to_be(cells: int, largest: int, too_large: bool) -> None:
    """With its child, a table of five binary causes has 2^6 cells."""
    found = considered(total(5, 1, n=8000), cells=cells, sets=10, **ALL)
    assert max(map(len, found.family.sets)) == largest
    assert (2 * found.family.combinations).max() <= cells
    assert found.too_large == too_large


def test_large_table_that_would_not_help_is_no_complaint() -> None:
    assert not considered(total(1, 3), cells=2**3).too_large


def test_variables_of_many_states_may_have_no_table_at_all() -> None:
    rows = np.random.default_rng(0).integers(0, 200, (500, 2)).astype(np.uint8)
    found = consider(0, (1,), 0, [make_block(rows, [])], [BDEU], (200, 200), PLENTY._replace(cells=20_000))
    assert found.family.sets == ((),)
    assert found.too_large


@pytest.mark.parametrize("required", [0, 2])
@pytest.mark.parametrize("hopeless", [1.0, 20.0])
def test_sets_are_left_out_only_where_a_subset_is_far_better(hopeless: float, required: int) -> None:
    block = total(3, 3, n=2000)
    everything = considered(block, required, **ALL)
    scores = dict(zip(everything.family.sets, Bdeu(everything.family, 1.0)(everything.counts[0]), strict=True))
    found = considered(block, required, hopeless=hopeless)
    np.testing.assert_array_equal(found.counts[0], found.family.count(block))
    left_out = set(scores) - set(found.family.sets)
    assert left_out
    for each in left_out:
        assert max(score for other, score in scores.items() if set(other) < set(each)) >= scores[each] + hopeless
    for each in found.family.sets[1:]:
        assert any(set(other) < set(each) and len(other) == len(each) - 1 for other in found.family.sets)
    assert max(scores, key=lambda each: scores[each]) in found.family.sets


def by_odds(considered: Considered, block: Block, odds: float) -> dict[tuple[int, ...], float]:
    """Log posterior of each set where tables extend one another."""
    family, counts = considered.family, considered.counts[0]
    scores = Likelihood(family, prior_of(block, family.cardinalities, 1.0, 3), counts)(counts)
    return {each: float(score) + odds * len(each) for each, score in zip(family.sets, scores, strict=True)}


@pytest.mark.parametrize("odds", [0.0, -3.0])
@pytest.mark.parametrize("hopeless", [1.0, 4.0])
def test_sets_are_left_out_only_where_a_subset_is_far_likelier_as_tables_extend_one_another(
    hopeless: float, odds: float
) -> None:
    """Those that stay have the scores that they would have had beside all others, for they extend the same."""
    block = total(3, 3, n=2000)
    everything = by_odds(considered(block, strengths=3, odds=odds, **ALL), block, odds)
    found = by_odds(considered(block, strengths=3, odds=odds, hopeless=hopeless), block, odds)
    left_out = set(everything) - set(found)
    assert left_out
    for each in left_out:
        below = max(score for other, score in everything.items() if set(other) < set(each))
        assert below >= everything[each] + hopeless - 1e-9
    assert found == pytest.approx({each: everything[each] for each in found}, abs=1e-8)
    for each in set(found) - {()}:
        below = max(score for other, score in found.items() if set(other) < set(each))
        led_to = any(set(each) < set(other) for other in found)  # a set stays for the sake of those that extend it
        assert led_to or found[each] > below - hopeless


@pytest.mark.parametrize("odds", [0.0, -2.0])
def test_set_extends_the_best_with_one_member_less(odds: float) -> None:
    block = total(3, 2, n=2000)
    found = considered(block, strengths=3, odds=odds, **ALL)
    scores = by_odds(found, block, odds)
    for each, base in zip(found.family.sets[1:], found.family.extends or (), strict=True):
        smaller = [other for other in found.family.sets if set(other) < set(each) and len(other) == len(each) - 1]
        assert found.family.sets[base] == max(smaller, key=lambda other: scores[other])


def test_what_a_set_extends_is_chosen_by_all_blocks_together() -> None:
    """In one block the first cause is the stronger, in another the second, by more."""
    rng, blocks = np.random.default_rng(4), []
    for weights in ((1.5, 0.5), (0.2, 2.5)):
        rows = rng.integers(0, 2, (1500, 3)).astype(np.uint8)
        rows[:, 0] = rng.random(1500) < 1 / (1 + np.exp(-(2.0 * rows[:, 1:] - 1) @ np.array(weights)))
        blocks.append(make_block(rows, []))
    priors = [prior_of(block, (2, 2, 2), 1.0, 3) for block in blocks]
    chosen = [
        consider(0, (1, 2), 0, blocks[which], priors[which], (2, 2, 2), PLENTY).family.order(3)
        for which in (slice(0, 1), slice(1, 2), slice(0, 2))
    ]
    assert chosen == [(1, 2), (2, 1), (2, 1)]


# ----------------------------------------------------------------------------------------------------- required


def test_required_parents_are_in_every_set_but_those_that_lead_up_to_them() -> None:
    found = considered(total(4, 1), required=2, **ALL)
    assert found.family.sets[:3] == ((), (0,), (0, 1))
    assert all({0, 1} < set(each) for each in found.family.sets[3:])
    assert len(found.family.sets) == 2 + 2**3


def test_required_parents_may_exceed_the_limit_on_parents() -> None:
    found = considered(total(4, 1), required=4, parents=2, **ALL)
    assert (0, 1, 2, 3) in found.family.sets


def test_table_in_which_effects_add_up_is_too_large_only_for_a_limit_that_was_set() -> None:
    """What is there of it is what was seen, so that it may have more cells than a million or than a number can say."""
    block = total(5, 1, n=8000)
    adding = considered(block, strengths=3, cells=2**5, sets=10, unless_added=True, **ALL)
    limited = considered(block, strengths=3, cells=2**5, sets=10, **ALL)
    plain = considered(block, strengths=1, cells=2**5, sets=10, unless_added=True, **ALL)
    assert [found.too_large for found in (adding, limited, plain)] == [False, True, True]
    assert (0, 1, 2, 3, 4) in adding.family.sets
    assert max(map(len, limited.family.sets)) == max(map(len, plain.family.sets)) == 4
    assert prepare.limits_of(8, Settings()).unless_added
    assert not prepare.limits_of(8, Settings(largest_table=10**7)).unless_added


def test_required_parents_whose_table_is_too_large_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"16 combinations, too many for a table of at most 8 cells; require fewer"):
        considered(total(4, 1), required=4, cells=8)


@pytest.mark.parametrize("strengths", [1, 3])
def test_sets_that_can_be_chosen_hold_what_is_required_and_nothing_that_is_forbidden(
    strengths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOPELESS", "MERCIFUL"):
        monkeypatch.setattr(prepare, name, np.inf)
    knowledge = Knowledge(required=[("e", "a")], forbidden=[("b", "a")])
    clamp, settings = knowledge.clamp("abcdef"), Settings(method="tables", strengths=strengths)
    rng = np.random.default_rng(0)
    found = prepare.prepare([total(3, 2)], [[]], (2,) * 6, clamp, settings, rng, rng)
    problem = found.problem
    family, possible = problem.families[0], np.isfinite(problem.weights(0, problem.no_targets()))
    sets = [{family.candidates[k] for k in each} for each, ok in zip(family.sets, possible, strict=True) if ok]
    assert len(sets) == 2**3
    assert all(4 in each and 1 not in each for each in sets)
    assert 0 not in problem.families[4].candidates, "the other way round it would close a cycle"


@pytest.mark.parametrize("strengths", [1, 3])
def test_parent_that_tells_nothing_alone_becomes_a_candidate_beside_another(
    strengths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of twenty variables only two are candidates; C says nothing about A unless B is known."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (3000, 20)).astype(np.uint8)
    chance = np.array([[0.55, 0.05], [0.4, 0.9]])[rows[:, 1], rows[:, 2]]
    rows[:, 0] = rng.random(3000) < chance
    block, names = make_block(rows, []), graphs.variable_names(20)
    monkeypatch.setattr(prepare, "CANDIDATES", 2)
    alone = screen_of(block, (2,) * 20, strengths=strengths).gains(0)
    assert (np.sort(alone)[-2:] > alone[2]).all()
    clamp = Knowledge(forbidden=[("A", "B"), ("A", "C")]).clamp(names)
    settings = Settings(sample_size=1.0, strengths=strengths)
    found = prepare.prepare(
        [block], [[]], (2,) * 20, clamp, settings, np.random.default_rng(0), np.random.default_rng(1)
    )
    assert {1, 2} <= set(found.problem.families[0].candidates)
    assert np.flatnonzero(found.tops[0].parents[0]).tolist() == [1, 2]


@pytest.mark.parametrize(("agreed", "largest", "attempts"), [(True, 20, 1), (False, 20, 2), (False, 19, 1)])
def test_searches_that_do_not_agree_are_tried_again_and_the_best_of_both_is_kept(
    agreed: bool, largest: int, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt has one effect right and the other without its cause: put together they have both."""
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 2, (2000, 20)).astype(np.uint8)
    for effect, cause in ((0, 1), (2, 3)):
        copies = rng.random(2000) < 0.8
        rows[copies, effect] = rows[copies, cause]
    block, names, tried = make_block(rows, []), graphs.variable_names(20), []
    clamp = Knowledge(forbidden=[("A", "B"), ("C", "D")]).clamp(names)
    true_attempt = prepare._Choice._attempt

    def attempt(self: prepare._Choice, *given: Any) -> prepare._Climbed:
        done = true_attempt(self, *given)
        graph = np.zeros((20, 20), bool)
        effect, cause = ((0, 1), (2, 3))[len(tried)]
        graph[effect, cause] = True
        tried.append(done)
        return done._replace(tops=[prepare.Top(graph, done.problem.no_targets())], agreed=agreed)

    monkeypatch.setattr(prepare._Choice, "_attempt", attempt)
    monkeypatch.setattr(prepare, "AGAIN", largest)
    found = prepare.prepare([block], [[]], (2,) * 20, clamp, Settings(), rng, rng)
    assert len(tried) == attempts
    assert tried[0].tops[0].parents[[0, 2], [1, 3]].all()
    assert found.tops[0].parents[0, 1]
    assert found.tops[0].parents[2, 3] == (attempts == 2)


@pytest.mark.parametrize("touched", [None, (True, False)])
def test_pairs_are_counted_row_by_row_as_by_a_product(
    touched: tuple[bool, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [random_rows(100, 1), np.repeat(random_rows(10, 2), 5, axis=0), random_rows(30, 3)]
    block, asked, found = make_block(parts[0], parts[1:]), None if touched is None else np.array(touched), []
    for limit, at_a_time in ((0, 10**6), (0, 50), (10**9, 1)):
        monkeypatch.setattr(phase1_screen, "BY_PRODUCT", limit)
        monkeypatch.setattr(phase1_screen, "AT_A_TIME", at_a_time)
        screen = screen_of(block, CARDS, strengths=3)
        found.append([screen.gains(i, parents, asked).tolist() for i, parents in ((1, ()), (0, (3,)), (2, (1, 3)))])
        found.append([screen.dependence(i, parents).tolist() for i, parents in ((1, ()), (0, (3,)), (2, (1, 3)))])
    for other in (2, 4):
        np.testing.assert_allclose(found[other], found[0], atol=1e-9)
        np.testing.assert_allclose(found[other + 1], found[1], atol=1e-9)


def test_answer_of_a_screen_is_of_the_parents_and_targets_asked_for() -> None:
    """It is remembered, and nobody can change what is remembered."""
    parts = [random_rows(100, 1), random_rows(40, 2)]
    screen = screen_of(make_block(parts[0], parts[1:]), CARDS, strengths=3)
    asked: list[tuple[tuple[int, ...], NDArray[np.bool_] | None]] = [
        *(((), None), ((), np.array([True])), ((3,), None), ((3,), np.array([False])), ((), None))
    ]
    for parents, touched in asked:
        fresh = screen_of(make_block(parts[0], parts[1:]), CARDS, strengths=3)
        expected = fresh.gains(1, parents, touched)
        for _ in range(2):
            found = screen.gains(1, parents, touched)
            np.testing.assert_array_equal(found, expected)
            found[:] = 7.0
        np.testing.assert_array_equal(screen.dependence(1, parents), fresh.dependence(1, parents))


@pytest.mark.parametrize("few", [True, False])
def test_large_tables_extend_the_best_that_pay_and_no_others(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs are whole here, larger sets are not; nothing extends a pair that is no better than one of its members."""
    block = total(4, 2)
    everything = considered(block, strengths=3, hopeless=np.inf).family.sets
    for module in (phase1_candidates, phase1_count):
        monkeypatch.setattr(module, "WHOLE", 8)
    monkeypatch.setattr(phase1_candidates, "ALL", 2)
    found = considered(block, strengths=3, hopeless=np.inf, few=few).family
    assert [each for each in found.sets if len(each) < 3] == [each for each in everything if len(each) < 3]
    large = [set(each) for each in found.sets if len(each) > 2]
    assert 0 < len(large) < len([each for each in everything if len(each) > 2])
    assert {0, 1, 2, 3} in large, "the causes"
    assert all(len({4, 5} & each) <= 1 for each in large if len(each) == 3), "a pair of strangers pays nothing"


@pytest.mark.parametrize(("rows", "candidates", "large"), [(1, 5, 16), (10**5, 5, 1 + 2 + 3), (1, 6, 1 + 2 + 3 + 4)])
def test_large_tables_are_all_looked_at_where_few_variables_and_rows_allow(
    rows: int, candidates: int, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else those that extend the best of a size: here all with three candidates or more, of which no two rows agree."""
    for module in (phase1_candidates, phase1_count):
        monkeypatch.setattr(module, "WHOLE", 8)
    monkeypatch.setattr(phase1_candidates, "ALL", 5)
    monkeypatch.setattr(phase1_candidates, "MANY", 1)
    block = total(candidates, 0, n=500)
    block = block._replace(times=block.times * rows)
    found = considered(block, strengths=3, hopeless=np.inf, parents=candidates)
    assert sum(len(each) > 2 for each in found.family.sets) == large
    assert tuple(range(candidates)) in found.family.sets


@pytest.mark.parametrize("strengths", [1, 3])
def test_set_that_later_redraws_need_is_not_left_out_by_the_first(strengths: int) -> None:
    """In the first redraw the last of seven causes does nothing, and a table of 2^7 rows costs much; later it does."""
    blocks = []
    for seed, last in enumerate((0.0, 1.0, 1.0)):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 2, (20_000, 8)).astype(np.uint8)
        logits = (2.0 * rows[:, 1:] - 1) @ np.array([1.0] * 6 + [last])
        rows[:, 0] = rng.random(len(rows)) < 1 / (1 + np.exp(-logits))
        blocks.append(make_block(rows, []))
    names = graphs.variable_names(8)
    clamp = Knowledge(forbidden=[("A", effect) for effect in names[1:]]).clamp(names)
    settings = Settings(sample_size=1.0, strengths=strengths)
    problem = prepare.prepare(
        blocks, [[]] * 3, (2,) * 8, clamp, settings, np.random.default_rng(0), np.random.default_rng(1)
    ).problem
    best = problem.families[0].sets[int(np.argmax(problem.weights(0, problem.no_targets())))]
    assert len(best) == 7


# ---------------------------------------------------------------------------------------------- many variables


def choice_of(rows: NDArray[np.uint8], **settings: Any) -> prepare._Choice:
    size = rows.shape[1]
    block, given, names = make_block(rows, []), Settings(**settings), graphs.variable_names(size)
    priors = [prior_of(block, (2,) * size, given.sample_size, given.strengths)]
    return prepare._Choice([block], priors, [[]], Knowledge().clamp(names), given)


def test_variable_with_more_effects_than_a_number_has_bits_keeps_its_parents_as_candidates() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (50, 90)).astype(np.uint8)
    choice, parents = choice_of(rows), np.zeros((90, 90), bool)
    parents[5:85, 0], parents[0, 86:88] = True, True
    family = choice.weigh(0, choice.alone[0], [parents]).family
    assert len(family.candidates) == phase1_candidates.MOST_CANDIDATES
    assert {86, 87} <= set(family.candidates)
    assert len(set(family.masks.tolist())) == len(family.sets)
    assert tuple(sorted(family.candidates.index(j) for j in (86, 87))) in family.sets


def test_cause_beside_an_effect_that_tells_more_is_found_once_the_graph_has_others_without_it() -> None:
    """Of six causes together and their effect, which is left out once it is known not to be a cause."""
    block = total(6, others=5)
    cards = (2,) * 12
    rows = block.rows.copy()
    rng = np.random.default_rng(5)
    rows[:, 7] = np.where(rng.random(len(rows)) < 0.95, rows[:, 0], rows[:, 7])
    block = make_block(rows, [])
    given = (
        0,
        tuple(range(1, 12)),
        0,
        [block],
        [prior_of(block, cards, 1.0, 4)],
        cards,
        PLENTY._replace(sets=1, few=False),
    )
    wrong = (0, 1, 2, 3, 6)  # four causes and the effect
    found = consider(*given, [wrong])
    assert (0, 1, 2, 3, 4, 5) in found.family.sets


def test_one_graph_is_scored_as_searches_score_it() -> None:
    """Beside three causes stands an effect that tells more than each of them: whatever was added first once counted."""
    rng = np.random.default_rng(7)
    rows = rng.integers(0, 3, (3_000, 5)).astype(np.uint8)
    rows[:, 0] = np.where(rng.random(3_000) < 0.9, (rows[:, 1] + rows[:, 2] + rows[:, 3]) % 3, rows[:, 0])
    rows[:, 4] = np.where(rng.random(3_000) < 0.6, rows[:, 0], rows[:, 4])
    block, cards = make_block(rows, []), (3,) * 5
    prior = prior_of(block, cards, 10.0, 3)
    found = consider(0, (1, 2, 3, 4), 0, [block], [prior], cards, PLENTY._replace(hopeless=np.inf))
    for members in itertools.chain(*(itertools.combinations(range(4), k) for k in range(5))):
        parents = np.zeros((5, 5), bool)
        parents[0, [1 + k for k in members]] = True
        alone = np.zeros((5, 5), bool)
        given = np.zeros((0, 5), bool), cards, 0.0, prior
        added = graph_score(block, parents, *given) - graph_score(block, alone, *given)
        worth = found.worth[0][found.family.sets.index(members)] - found.worth[0][0]
        assert added == pytest.approx(worth, abs=1e-6)


def test_candidate_that_clearly_adds_is_overlooked_if_no_set_has_it_beside_the_parents() -> None:
    block, cards = parity(3, others=2), (2,) * 6
    screen, clamp = screen_of(block, cards, strengths=4), Knowledge().clamp(graphs.variable_names(6))
    parents, touched = np.zeros((6, 6), bool), np.zeros((0, 6), bool)
    parents[0, [1, 2]] = True
    others = [Family(i, (), ((),), cards) for i in range(1, 6)]

    def asked(*sets: tuple[int, ...]) -> bool:
        family = Family(0, (1, 2, 3, 4, 5), ((), (0,), (1,), (2,), (0, 1), *sets), cards)
        gains = [np.zeros(6) for _ in range(6)]
        alike = np.zeros(len(family.sets))
        return 0 in overlooked(
            screen, [family, *others], parents, touched, gains, clamp, 0, 0.0, lambda i: alike if i == 0 else alike[:1]
        )

    assert asked()
    assert not asked((0, 1, 2))


def test_first_looks_are_at_few_parents() -> None:
    rng = np.random.default_rng(6)
    rows = rng.integers(0, 2, (3000, 20)).astype(np.uint8)
    rows[:, 0] = (rows[:, 1] + rows[:, 2] + rows[:, 3] + rng.integers(0, 2, 3000)) > 2
    choice = choice_of(rows)
    largest = [max(map(len, choice.weigh(0, choice.alone[0], most_parents=most).family.sets)) for most in (2, 3, None)]
    assert largest[:2] == [2, 3]
    assert largest[2] > 3


def test_attempt_ends_at_a_place_that_is_known_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 2, (2000, 20)).astype(np.uint8)
    for effect in range(1, 10):
        copies = rng.random(2000) < 0.8
        rows[copies, effect] = rows[copies, effect - 1]
    choice, looks = choice_of(rows), []
    true_search = prepare.search

    def search(*given: Any, **how: Any) -> Any:
        found = true_search(*given, **how)
        looks.append(prepare.Top(found[0].parents, found[0].touched))
        return found

    monkeypatch.setattr(prepare, "search", search)
    start = prepare.Top(np.zeros((20, 20), bool), [np.zeros((0, 20), bool)])
    considered = [choice.weigh(i, choice.alone[i]) for i in range(20)]

    def attempt(known: prepare.Top | None) -> prepare.Top:
        looks.clear()
        given = np.random.default_rng(0), np.random.default_rng(1)
        return choice._attempt(list(considered), start, *given, known).tops[0]

    attempt(None)
    all_looks, passed = len(looks), looks[2]
    again = attempt(passed)
    assert (again.parents == passed.parents).all()
    assert len(looks) <= 3 < all_looks
    assert attempt(start).parents.any(), "what is known from elsewhere ends nothing unless it is reached"
    assert len(looks) == all_looks
