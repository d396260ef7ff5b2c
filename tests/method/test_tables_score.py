"""Scores: BDeu by the book, equal for graphs that no observation tells apart, and summed over who touched what."""

import itertools
from collections import defaultdict
from math import lgamma, log

import numpy as np
import pytest
from numpy.typing import NDArray
from test_tables_exact import all_dags, marginal

from sdi.method.beliefs import Knowledge
from sdi.method.tables import shelf
from sdi.method.tables.phase1_count import Family, make_block
from sdi.method.tables.phase2_likelihood import FEW, Bdeu, Likelihood, Prior
from sdi.method.tables.phase2_score import Scores, own_table, prior_odds, set_priors

CARDS = (3, 2, 4, 2)


def random_rows(n: int, seed: int, cards: tuple[int, ...] = CARDS) -> NDArray[np.uint8]:
    """Each variable often copies the one before it."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, cards, (n, len(cards))).astype(np.uint8)
    for i in range(1, len(cards)):
        copies = rng.random(n) < 0.5
        rows[copies, i] = rows[copies, i - 1] % cards[i]
    return rows


def full_family(child: int, cards: tuple[int, ...] = CARDS) -> Family:
    others = tuple(j for j in range(len(cards)) if j != child)
    sets = tuple(each for k in range(len(others) + 1) for each in itertools.combinations(range(len(others)), k))
    return Family(child, others, sets, cards)


def parents_of(family: Family) -> list[list[int]]:
    return [[family.candidates[k] for k in each] for each in family.sets]


# --------------------------------------------------------------------------------------------------------- BDeu


@pytest.mark.parametrize("alpha", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("child", range(4))
def test_score_is_the_marginal_likelihood_by_the_book(child: int, alpha: float) -> None:
    rows, family = random_rows(150, seed=1), full_family(child)
    expected = [marginal(rows, child, parents, CARDS, alpha) for parents in parents_of(family)]
    np.testing.assert_allclose(Bdeu(family, alpha)(family.count(make_block(rows, []))), expected, rtol=1e-10)


def test_prior_of_a_single_size_is_bdeu() -> None:
    family = full_family(2)
    counts = family.count(make_block(random_rows(150, seed=1), []))
    np.testing.assert_array_equal(Likelihood(family, Prior((3.0,)), counts)(counts), Bdeu(family, 3.0)(counts))


def test_counts_above_those_looked_up_are_scored_the_same_way() -> None:
    """On both sides of the limit, and on it."""
    family = Family(0, (1,), ((), (0,)), (3, 2))
    table = [[FEW - 1, FEW, 7], [FEW + 1, 10 * FEW, 0]]
    together = [a + b for a, b in zip(*table, strict=True)]

    def by_the_book(rows: list[list[int]]) -> float:
        prior = 1 / len(rows)
        inside = sum(lgamma(n + prior / 3) - lgamma(prior / 3) for row in rows for n in row)
        return inside - sum(lgamma(sum(row) + prior) - lgamma(prior) for row in rows)

    found = Bdeu(family, 1.0)(np.array([*together, *table[0], *table[1]]))
    np.testing.assert_allclose(found, [by_the_book([together]), by_the_book(table)], rtol=1e-12)


def test_score_is_the_product_of_what_is_predicted_row_by_row() -> None:
    """Another way to the same number: each row is predicted from those before it."""
    rows, family = random_rows(60, seed=2), full_family(2)
    for parents, found in zip(parents_of(family), Bdeu(family, 1.0)(family.count(make_block(rows, []))), strict=True):
        q = int(np.prod([CARDS[j] for j in parents]))
        seen: defaultdict[tuple[int, ...], int] = defaultdict(int)
        total = 0.0
        for row in rows.tolist():
            before = tuple(row[j] for j in parents)
            total += log((seen[*before, row[2], -1] + 1 / q / 4) / (seen[*before, -2] + 1 / q))
            seen[*before, row[2], -1] += 1
            seen[*before, -2] += 1
        assert found == pytest.approx(total, rel=1e-10)


def test_no_rows_score_nothing() -> None:
    family = full_family(0)
    assert (Bdeu(family, 1.0)(np.zeros(family.first_row[-1] * 3, np.int64)) == 0).all()


# ------------------------------------------------------------------------------------------- score equivalence


def markov_class(parents: NDArray[np.bool_]) -> tuple[bytes, tuple[tuple[int, int, int], ...]]:
    """Skeleton and v-structures: what two graphs must share to be equivalent."""
    skeleton = parents | parents.T
    size = len(parents)
    colliders = tuple(
        (i, j, k)
        for i in range(size)
        for j, k in itertools.combinations(range(size), 2)
        if parents[i, j] and parents[i, k] and not skeleton[j, k]
    )
    return skeleton.tobytes(), colliders


@pytest.mark.parametrize(("cards", "classes"), [((3, 2, 4), 11), (CARDS, 185)])
def test_equivalent_graphs_score_the_same_and_others_do_not(cards: tuple[int, ...], classes: int) -> None:
    rows = random_rows(300, seed=3, cards=cards)
    families = [full_family(i, cards) for i in range(len(cards))]
    scores = [Bdeu(family, 1.0)(family.count(make_block(rows, []))) for family in families]
    place = [{tuple(p): s for s, p in enumerate(parents_of(family))} for family in families]
    totals = defaultdict(list)
    for parents in all_dags(len(cards)):
        of_each = [scores[i][place[i][tuple(np.flatnonzero(row).tolist())]] for i, row in enumerate(parents)]
        totals[markov_class(parents)].append(sum(of_each))
    assert len(totals) == classes
    assert all(max(each) - min(each) < 1e-8 for each in totals.values())
    apart = np.diff(sorted(each[0] for each in totals.values()))
    assert apart.min() > 1e-6


# ------------------------------------------------------------------------------------- environments that touched


def scored(**changes: float) -> tuple[Scores, NDArray[np.uint8], list[NDArray[np.uint8]]]:
    observed, environments = random_rows(80, seed=4), [random_rows(30, seed=seed) for seed in (5, 6, 7)]
    prior = Prior((changes.get("alpha", 1.0),))
    return Scores(full_family(1), make_block(observed, environments), prior), observed, environments


@pytest.mark.parametrize("alpha", [1.0, 5.0])
@pytest.mark.parametrize("touched", [each for k in range(4) for each in itertools.combinations(range(3), k)])
def test_score_is_of_the_pooled_rows_and_of_each_touched_environment(touched: tuple[int, ...], alpha: float) -> None:
    """An environment that touched the variable has a table on the same parents or on none, equally likely.

    Its prior is one sample at most: a new mechanism must be plainly new.
    """
    scores, observed, environments = scored(alpha=alpha)
    pooled = np.concatenate([observed, *(rows for e, rows in enumerate(environments) if e not in touched)])
    expected = []
    for parents in parents_of(scores.family):
        value = marginal(pooled, 1, parents, CARDS, alpha)
        for e in touched:
            soft, hard = (marginal(environments[e], 1, each, CARDS, min(alpha, 1.0)) for each in (parents, []))
            value += log((np.exp(soft) + np.exp(hard)) / 2)
        expected.append(value)
    np.testing.assert_allclose(scores(frozenset(touched)), expected, rtol=1e-10)


def test_scores_do_not_depend_on_what_was_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor on how much is remembered."""
    everything = [frozenset(each) for k in range(4) for each in itertools.combinations(range(3), k)]
    fresh = [scored()[0](each) for each in everything]
    monkeypatch.setattr(shelf, "ROOM", 1)
    forgetful = scored()[0]
    for order in (everything, everything[::-1]):
        for each in order:
            np.testing.assert_array_equal(forgetful(each), fresh[everything.index(each)])


def test_scores_of_all_variables_share_a_shelf_that_is_still_empty() -> None:
    """Each once had one of its own: the room for all was then the room for each."""
    scores, _, _ = scored()
    shared = shelf.Shelf()
    both = [Scores(scores.family, scores.block, Prior((1.0,)), shelf=shared) for _ in range(2)]
    for each in both:
        each(frozenset({1}))
    owners = shared.owners
    assert owners == {each.owner for each in both}


def test_counts_that_are_given_are_used() -> None:
    scores, _, _ = scored()
    given = Scores(scores.family, scores.block, Prior((1.0,)), scores.family.count(scores.block))
    np.testing.assert_array_equal(given(frozenset({1})), scores(frozenset({1})))


def test_scores_that_are_given_hold_where_nothing_was_touched() -> None:
    scores, _, _ = scored()
    marked = np.arange(len(scores.family.sets), dtype=float)
    given = Scores(scores.family, scores.block, Prior((1.0,)), shared=marked)
    np.testing.assert_array_equal(given(frozenset()), marked)
    np.testing.assert_array_equal(given(frozenset({1})), scores(frozenset({1})))


def test_own_table_is_the_mean_of_soft_and_hard_also_far_below_zero() -> None:
    np.testing.assert_allclose(own_table(np.log([0.2, 0.6]), log(0.4)), np.log([0.3, 0.5]))
    np.testing.assert_allclose(own_table(np.array([-5000.0, -9000.0]), -5000.0), [-5000, -5000 - log(2)])


# -------------------------------------------------------------------------------------------------------- priors


@pytest.mark.parametrize(
    ("size", "expected", "share"),
    [(11, 2.0, 0.2), (101, 1.0, 0.01), (9, 2.0, 0.25), (5, 2.0, 0.25), (3, 2.0, 0.25), (2, 0.1, 0.1)],
)
def test_prior_odds_expect_so_many_parents_but_never_above_one_edge_in_four(
    size: int, expected: float, share: float
) -> None:
    assert prior_odds(size, expected) == pytest.approx(log(share / (1 - share)))


def test_prior_of_a_set_is_that_of_its_size_unless_a_required_parent_lacks() -> None:
    family = full_family(1)  # candidates 0, 2, 3
    required = Knowledge(required=[("c", "b")]).clamp("abcd").value[1] > 0.5
    found = dict(zip(map(tuple, parents_of(family)), set_priors(family, -0.7, required).tolist(), strict=True))
    never = -np.inf
    assert found == pytest.approx(
        {
            (): never,
            (0,): never,
            (2,): -0.7,
            (3,): never,
            (0, 2): -1.4,
            (0, 3): never,
            (2, 3): -1.4,
            (0, 2, 3): pytest.approx(-2.1),
        }
    )


def test_nothing_required_leaves_every_set_possible() -> None:
    assert np.isfinite(set_priors(full_family(0), -2.0, np.zeros(4, bool))).all()
