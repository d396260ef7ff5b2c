"""Tables that extend one another: by the book, blind to names and order, kind to weak effects, fair to both ways."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from by_loops import Extending
from numpy.typing import NDArray

from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings
from sdi.method.tables import phase1_count
from sdi.method.tables.phase1_candidates import Limits, consider
from sdi.method.tables.phase1_count import Block, Family, make_block
from sdi.method.tables.phase1_screen import Screen
from sdi.method.tables.phase2_likelihood import Likelihood, Prior, prior_of
from sdi.method.tables.phase2_score import Scores, graph_score
from sdi.method.tables.prepare import prepare

Rows = NDArray[np.uint8]
CARDS = (3, 2, 4, 5)  # three parents of the second have 60 combinations, so many that the sample sizes grow
SIZES = (1.0, 10.0, 100.0)
SETS = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
EXTENDS = {  # the place of the set that each but the first extends
    "by the last": (0, 0, 0, 1, 1, 2, 4),
    "by the first": (0, 0, 0, 2, 3, 3, 6),
    "round about": (0, 0, 0, 1, 3, 2, 5),
    "any": None,
}
PATTERNS = [frozenset(each) for k in range(3) for each in itertools.combinations(range(2), k)]


def random_rows(n: int, seed: int, cards: tuple[int, ...] = CARDS) -> Rows:
    """Each variable often copies the one before it."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, cards, (n, len(cards))).astype(np.uint8)
    for i in range(1, len(cards)):
        copies = rng.random(n) < 0.5
        rows[copies, i] = rows[copies, i - 1] % cards[i]
    return rows


def family_of(child: int, extends: tuple[int, ...] | None, cards: tuple[int, ...] = CARDS) -> Family:
    return Family(child, tuple(j for j in range(4) if j != child), SETS, cards, extends)


def orders_of(family: Family) -> list[tuple[int, ...]]:
    """Parents of each set as they were added, read from the family's bases."""
    orders: list[tuple[int, ...]] = [()]
    for base, added in family.bases:
        orders.append((*orders[base], family.candidates[added]))
    return orders


def prior_with(block: Block, sizes: tuple[float, ...] = SIZES, cards: tuple[int, ...] = CARDS) -> Prior:
    return prior_of(block, cards, 1.0, 1)._replace(sizes=sizes)


PARTS = [random_rows(n, seed) for seed, n in enumerate((150, 40, 30))]


# -------------------------------------------------------------------------------------------------- by the book


@pytest.mark.parametrize("sizes", [SIZES, (10.0, 100.0, 1000.0), (0.3, 7.0)], ids=str)
@pytest.mark.parametrize("extends", list(EXTENDS))
@pytest.mark.parametrize("child", range(4))
def test_score_is_that_of_plain_loops(child: int, extends: str, sizes: tuple[float, ...]) -> None:
    """Of all rows, and of some of them: what tables are around is fitted to all."""
    rows, family = random_rows(90, seed=1), family_of(child, EXTENDS[extends])
    block = make_block(rows, [])
    by_loops = Extending(rows, CARDS, sizes)
    score = Likelihood(family, prior_with(block, sizes), family.count(block))
    for part in (rows, rows[:50], rows[:1]):
        expected = [by_loops(part, child, order) for order in orders_of(family)]
        np.testing.assert_allclose(score(family.count(make_block(part, []))), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("whole", [0, 12, 30])
@pytest.mark.parametrize("strengths", [1, 3])
@pytest.mark.parametrize("extends", list(EXTENDS))
def test_large_tables_are_worth_as_much_as_whole_ones(
    extends: str, strengths: int, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, whatever was touched."""
    family, block = family_of(1, EXTENDS[extends]), make_block(PARTS[0][:40], [each[:15] for each in PARTS[1:]])
    prior = prior_of(block, CARDS, 1.0, strengths)
    expected = [Scores(family, block, prior)(touched) for touched in PATTERNS]
    monkeypatch.setattr(phase1_count, "WHOLE", whole)
    large = family.for_rows([block])
    assert large.first_cell[-1] < family.first_cell[-1]
    scores = Scores(large, block, prior)
    assert [scores(touched).tolist() for touched in PATTERNS] == [each.tolist() for each in expected]


def test_method_finds_the_same_with_large_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    block, clamp = make_block(PARTS[0], PARTS[1:]), Knowledge().clamp("abcd")

    def found() -> list[NDArray[np.float64]]:
        problem = prepare(
            [block], [[None] * 2], CARDS, clamp, Settings(), np.random.default_rng(0), np.random.default_rng(1)
        ).problem
        return [problem.weights(i, [as_targets(i, touched)]) for i in range(4) for touched in PATTERNS]

    expected = found()
    monkeypatch.setattr(phase1_count, "WHOLE", 10)
    assert [each.tolist() for each in found()] == [each.tolist() for each in expected]


@pytest.mark.parametrize("extends", list(EXTENDS))
def test_environments_that_touched_have_tables_of_their_own(extends: str) -> None:
    """Tables like any others, fitted to their rows alone."""
    parts, family = [random_rows(n, seed=n) for n in (60, 25, 20)], family_of(1, EXTENDS[extends])
    block, by_loops = make_block(parts[0], parts[1:]), Extending(np.concatenate(parts), CARDS, SIZES)
    scores = Scores(family, block, prior_with(block))
    for touched in PATTERNS:
        alone = np.concatenate([parts[0], *(parts[e + 1] for e in range(2) if e not in touched)])
        expected = [
            by_loops(alone, 1, order) + sum(by_loops.own(parts[e + 1], 1, order) for e in touched)
            for order in orders_of(family)
        ]
        np.testing.assert_allclose(scores(touched), expected, rtol=1e-9)


@pytest.mark.parametrize("strengths", [1, 3])
def test_ratios_of_a_problem_are_the_differences_of_its_weights(strengths: int) -> None:
    """Parents of a table are added in the same order wherever it is scored."""
    block, clamp = make_block(PARTS[0], PARTS[1:]), Knowledge().clamp("abcd")
    settings = Settings(strengths=strengths, sample_size=1.0)
    problem = prepare(
        [block], [[None] * 2], CARDS, clamp, settings, np.random.default_rng(0), np.random.default_rng(1)
    ).problem
    orders = [family.order(s) for family in problem.families for s in range(len(family.sets))]
    assert any(list(order) != sorted(order) for order in orders)
    for (i, family), touched in itertools.product(enumerate(problem.families), PATTERNS):
        weights = {answer: problem.weights(i, [as_targets(i, answer)]) for answer in PATTERNS}
        for s in range(len(family.sets)):
            expected = [weights[touched | {e}][s] - weights[touched - {e}][s] for e in range(2)]
            found = problem.ratios(0, i, s, as_targets(i, touched)[:, i])
            np.testing.assert_allclose(found, expected, atol=1e-8)


def as_targets(i: int, touched: frozenset[int]) -> NDArray[np.bool_]:
    """Nothing but one variable was touched, in these of two environments."""
    return np.array([[j == i and e in touched for j in range(4)] for e in range(2)])


def test_first_size_is_that_of_the_table_without_parents() -> None:
    rows, family = random_rows(80, seed=2), family_of(2, None)
    block = make_block(rows, [])
    counts = family.count(block)
    plain, extending = (Likelihood(family, prior_with(block, sizes), counts)(counts) for sizes in ((5.0,), (5.0, 80.0)))
    assert extending[0] == pytest.approx(plain[0])
    assert (np.abs(extending - plain)[1:] > 0.1).all()


@pytest.mark.parametrize(
    ("size", "strengths", "sizes"), [(10.0, 3, (10.0, 100.0, 1000.0)), (0.5, 2, (0.5, 5.0)), (4.0, 1, (4.0,))]
)
def test_each_size_is_ten_times_the_one_before(size: float, strengths: int, sizes: tuple[float, ...]) -> None:
    prior = prior_of(make_block(random_rows(9, seed=0), []), CARDS, size, strengths)
    assert prior.sizes == sizes
    assert prior.extending == (strengths > 1)


def test_shares_are_of_all_rows_and_never_nothing() -> None:
    rows = np.array([[0, 1], [0, 0], [2, 1], [0, 1]], np.uint8)
    for block in (make_block(rows, []), make_block(rows[:1], [rows[1:]]), make_block(rows[:0], [rows, rows])):
        twice = 2 if block.environments == 2 else 1
        first, second = prior_of(block, (4, 2), 1.0, 3).shares
        np.testing.assert_allclose(first, np.array([3 * twice + 1 / 4, 1 / 4, twice + 1 / 4, 1 / 4]) / (4 * twice + 1))
        np.testing.assert_allclose(second, np.array([twice + 1 / 2, 3 * twice + 1 / 2]) / (4 * twice + 1))


# ------------------------------------------------------------------------------------------- names and their order


def scores_by_parents(parts: Sequence[Rows], child: int, cards: tuple[int, ...]) -> dict[tuple[object, ...], float]:
    """Of every set that is considered, under all patterns of who was touched."""
    block = make_block(parts[0], parts[1:])
    prior, limits = prior_with(block, SIZES, cards), Limits(10**6, 9, 10**6, np.inf)
    family = consider(child, tuple(j for j in range(4) if j != child), 0, [block], [prior], cards, limits).family
    scores = Scores(family, block, prior)
    return {
        (touched, *sorted(family.order(s))): float(scores(touched)[s])
        for touched in PATTERNS
        for s in range(len(family.sets))
    }


@pytest.mark.parametrize("place", [(1, 2, 3, 0), (3, 2, 1, 0), (2, 0, 3, 1)], ids=str)
def test_variables_in_another_order_have_the_same_scores(place: tuple[int, ...]) -> None:
    """That is: variable j is at the place of `place[j]`; also what a set extends is chosen whatever the order."""
    back = np.argsort(place)
    moved, cards = [rows[:, back] for rows in PARTS], tuple(CARDS[j] for j in back)
    for child in range(4):
        there = scores_by_parents(moved, place[child], cards)
        for (touched, *parents), score in scores_by_parents(PARTS, child, CARDS).items():
            assert there[touched, *sorted(place[j] for j in parents)] == pytest.approx(score, abs=1e-8)


def test_categories_and_rows_in_another_order_have_the_same_scores() -> None:
    rng = np.random.default_rng(7)
    renamed = [rng.permutation(size).astype(np.uint8) for size in CARDS]
    moved = [np.stack([new[rows[:, j]] for j, new in enumerate(renamed)], axis=1) for rows in PARTS]
    for child in range(4):
        here = scores_by_parents(PARTS, child, CARDS)
        there = scores_by_parents([rng.permutation(rows) for rows in moved], child, CARDS)
        assert there == pytest.approx(here, abs=1e-8)


def test_graph_is_scored_the_same_in_another_order_of_variables() -> None:
    block, place = make_block(PARTS[0], PARTS[1:]), np.array([2, 0, 3, 1])
    back = np.argsort(place)
    moved, cards = make_block(PARTS[0][:, back], [rows[:, back] for rows in PARTS[1:]]), tuple(CARDS[j] for j in back)
    touched = np.array([[0, 1, 0, 0], [1, 0, 0, 1]], bool)
    full = np.tril(np.ones((4, 4), bool), -1)
    for parents in (full, np.eye(4, k=-1, dtype=bool), np.zeros((4, 4), bool)):
        here = graph_score(block, parents, touched, CARDS, -0.7, prior_with(block))
        there = graph_score(
            moved, parents[np.ix_(back, back)], touched[:, back], cards, -0.7, prior_with(moved, SIZES, cards)
        )
        assert there == pytest.approx(here, abs=1e-8)
        assert here == pytest.approx(by_hand(parents, touched, -0.7), abs=1e-7)


def by_hand(parents: NDArray[np.bool_], touched: NDArray[np.bool_], odds: float) -> float:
    """Parents added one by one, each time the best of those that remain among all rows; by loops."""
    everything = np.concatenate(PARTS)
    total, of_all = odds * parents.sum(), Extending(everything, CARDS, SIZES)
    for i in range(4):
        order: tuple[int, ...] = ()
        while len(order) < parents[i].sum():
            more = [(*order, int(j)) for j in np.flatnonzero(parents[i]) if j not in order]
            order = max(more, key=lambda each: of_all(everything, i, each))
        alone = np.concatenate([PARTS[0], *(rows for e, rows in enumerate(PARTS[1:]) if not touched[e, i])])
        by_loops = Extending(alone, CARDS, SIZES, masses=everything)
        own = [by_loops.own(rows, i, order) for e, rows in enumerate(PARTS[1:]) if touched[e, i]]
        total += by_loops(alone, i, order) + sum(own)
    return float(total)


# -------------------------------------------------------------------------------------------------- weak effects


def with_a_weak_third(strength: float) -> list[float]:
    """What a third parent adds beside two strong ones, in nats: under BDeu, and where tables extend one another."""
    rng, cards = np.random.default_rng(1), (2, 4, 4, 4)
    rows = rng.integers(0, cards, (5000, 4)).astype(np.uint8)
    weights = [scale * rng.normal(size=(4, 2)) for scale in (2.0, 2.0, strength)]
    logits = sum(each[rows[:, k]] for k, each in enumerate(weights, start=1))
    rows[:, 0] = (logits + rng.gumbel(size=(5000, 2))).argmax(axis=1)
    block, family = make_block(rows, []), Family(0, (1, 2, 3), ((), (0,), (0, 1), (0, 1, 2)), cards, (0, 1, 2))
    counts = family.count(block)
    gains = [np.diff(Likelihood(family, prior_of(block, cards, 10.0, k), counts)(counts)) for k in (1, 3)]
    assert all((each[:2] > 100).all() for each in gains)  # the others are strong
    return [float(each[2]) for each in gains]


def test_weak_parent_beside_strong_ones_costs_little() -> None:
    """BDeu charges it for every row of a table of 64, whether it changes much in it or not."""
    plain, extending = with_a_weak_third(0.15)
    assert plain < -100
    assert -8 < extending < 0


def test_weak_parent_is_worth_more_the_stronger_it_is() -> None:
    """One that is found where tables extend one another and would be lost under BDeu."""
    plain, extending = zip(*map(with_a_weak_third, (0.0, 0.3, 0.5)), strict=True)
    assert sorted(extending) == list(extending)
    assert extending[0] < -3
    assert extending[1] > 4
    assert extending[2] > 40
    assert max(plain) < -50


# --------------------------------------------------------------------------------------------------- both ways


def both_ways(rows: Rows, cards: tuple[int, int], prior: Prior) -> tuple[float, float]:
    block, none = make_block(rows, []), np.zeros((0, 2), bool)
    one, other = (
        graph_score(block, np.array(each, bool), none, cards, 0.0, prior)
        for each in ([[0, 0], [1, 0]], [[0, 1], [0, 0]])
    )
    return one, other


def pair(cards: tuple[int, int], n: int, seed: int, concentration: float) -> Rows:
    """A cause and its effect; the larger the concentration the more alike are its categories in number."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet([concentration] * cards[0])
    tables = np.cumsum(rng.dirichlet([concentration] * cards[1], cards[0]), axis=1)
    cause = rng.choice(cards[0], n, p=chances)
    return np.stack([cause, (rng.random((n, 1)) > tables[cause, :-1]).sum(axis=1)], axis=1).astype(np.uint8)


@pytest.mark.parametrize("cards", [(2, 2), (3, 2), (2, 6), (9, 9)], ids=str)
@pytest.mark.parametrize("n", [50, 1000])
def test_pair_is_worth_exactly_the_same_both_ways_if_shares_are_fitted_as_tables_are(
    cards: tuple[int, int], n: int
) -> None:
    """Then what a cell expects is a product of both variables' shares, whichever of them is the parent."""
    for seed in range(5):
        rows = pair(cards, n, seed, 0.5)
        shares = [(np.bincount(rows[:, j], minlength=k) + 1 / k) / (n + 1) for j, k in enumerate(cards)]
        one, other = both_ways(rows, cards, Prior(SIZES, tuple(shares), sweeps=0))
        assert one == pytest.approx(other, abs=1e-8)


@pytest.mark.parametrize(("concentration", "most"), [(5.0, 0.02), (0.5, 0.2)], ids=["seen often", "some seen seldom"])
@pytest.mark.parametrize("cards", [(2, 2), (3, 2), (2, 6)], ids=str)
def test_pair_is_worth_nearly_the_same_both_ways(cards: tuple[int, int], concentration: float, most: float) -> None:
    """In nats. Shares count each category once more than it was seen, tables less: that tells where it is seldom."""
    for seed in range(8):
        rows = pair(cards, 1000, seed, concentration)
        one, other = both_ways(rows, cards, prior_of(make_block(rows, []), cards, 10.0, 3)._replace(sweeps=0))
        assert abs(one - other) < most


@pytest.mark.parametrize(("concentration", "most"), [(5.0, 0.15), (0.5, 2.5)], ids=["seen often", "some seen seldom"])
@pytest.mark.parametrize("cards", [(2, 2), (3, 2), (2, 6)], ids=str)
def test_pair_is_worth_nearly_the_same_both_ways_with_shifts(
    cards: tuple[int, int], concentration: float, most: float
) -> None:
    """What a shift may cost is alike from both sides; where a state was hardly seen Laplace's method is rough."""
    for seed in range(8):
        rows = pair(cards, 1000, seed, concentration)
        one, other = both_ways(rows, cards, prior_of(make_block(rows, []), cards, 10.0, 3))
        assert abs(one - other) < most


# ------------------------------------------------------------------------------------------------- rows that lack

EMPTY = random_rows(0, seed=0)


def test_no_rows_score_nothing() -> None:
    """Where all were touched, what was fitted to them had its price: it weighs as if it were not there."""
    family, block = family_of(0, None), make_block(EMPTY, [PARTS[1]])
    nothing = np.zeros(family.first_row[-1] * 3, np.int64)
    np.testing.assert_allclose(Likelihood(family, prior_with(block), nothing)(nothing), 0, atol=1e-9)
    likelihood = Likelihood(family, prior_with(block), family.count(block))
    left, sparse = likelihood(nothing), likelihood.sparse.tolist()
    assert (left <= 1e-9).all()
    most = [0.0]  # one of two accounts, and of the four of tables three; of a sparse one only one
    for s, (base, _) in enumerate(family.bases, start=1):
        most.append(most[base] + np.log(2) + np.log(4 if sparse[s] else 4 / 3))
    assert any(sparse)
    assert not all(sparse[1:])
    assert (left >= -np.array(most) - 1e-9).all()


@pytest.mark.parametrize(
    "parts",
    [(EMPTY, PARTS[1], PARTS[2]), (PARTS[0], EMPTY, PARTS[2]), (EMPTY, EMPTY, PARTS[2])],
    ids=["left alone", "of one", "both"],
)
def test_parts_without_rows_are_no_trouble(parts: tuple[Rows, ...]) -> None:
    block, family = make_block(parts[0], parts[1:]), family_of(3, EXTENDS["round about"])
    scores, by_loops = Scores(family, block, prior_with(block)), Extending(np.concatenate(parts), CARDS, SIZES)
    for touched in PATTERNS:
        alone = np.concatenate([parts[0], *(parts[e + 1] for e in range(2) if e not in touched)])
        expected = [
            by_loops(alone, 3, order) + sum(by_loops.own(parts[e + 1], 3, order) for e in touched)
            for order in orders_of(family)
        ]
        np.testing.assert_allclose(scores(touched), expected, rtol=1e-9, atol=1e-9)


WIDER = tuple(size + 1 for size in CARDS)  # a state more than was ever seen


@pytest.mark.parametrize("strengths", [1, 3])
@pytest.mark.parametrize(
    ("parts", "cards"),
    [((EMPTY, *PARTS[1:]), CARDS), ((PARTS[0], EMPTY, PARTS[2]), CARDS), (PARTS, WIDER)],
    ids=["left alone", "of an environment", "of a state"],
)
def test_whole_posterior_is_finite_where_rows_lack(
    parts: Sequence[Rows], cards: tuple[int, ...], strengths: int
) -> None:
    """All others stay candidates of each variable too."""
    block, clamp, settings = make_block(parts[0], parts[1:]), Knowledge().clamp("abcd"), Settings(strengths=strengths)
    problem = prepare(
        [block], [[None] * 2], cards, clamp, settings, np.random.default_rng(0), np.random.default_rng(1)
    ).problem
    for i, family in enumerate(problem.families):
        assert sorted(family.candidates) == [j for j in range(4) if j != i]
        for touched in itertools.product([False, True], repeat=2):
            hit = np.zeros((2, 4), bool)
            hit[:, i] = touched
            assert np.isfinite(problem.weights(i, [hit])).all()
            assert all(np.isfinite(problem.ratios(0, i, s, hit[:, i])).all() for s in range(len(family.sets)))


def test_state_that_was_never_seen_does_not_hide_what_tells_of_a_variable() -> None:
    block = make_block(PARTS[0], PARTS[1:])
    for cards in (CARDS, WIDER):
        gains = Screen(block, cards, prior_of(block, cards, 1.0, 3)).gains(1)
        assert np.argmax(gains) == 0  # which it often copies
        assert np.isfinite(np.delete(gains, 1)).all()
