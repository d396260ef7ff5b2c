"""Targets: the nats for "touched" against marginal likelihoods recomputed from the rows, for every pattern."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from test_tables_exact import marginal

from sdi.method.tables import phase2_targets
from sdi.method.tables.phase1_count import make_block
from sdi.method.tables.phase2_targets import environment_counts, touch_ratios

CARDS = (3, 2, 4)
CHILD = 1
PATTERNS = list(itertools.product([False, True], repeat=3))
PARENTS = [(), (0,), (2, 0)]


def observed_and_environments(seed: int = 0) -> tuple[NDArray[np.uint8], list[NDArray[np.uint8]]]:
    """Three environments of unequal size; the second touched the child. Rows recur, so that some are merged."""
    rng = np.random.default_rng(seed)

    def draw(n: int, touched: bool) -> NDArray[np.uint8]:
        rows = rng.integers(0, CARDS, (n, 3)).astype(np.uint8)
        copies = rng.random(n) < 0.9
        rows[copies, CHILD] = (rows[copies, 0] + touched) % 2
        return rows

    return draw(120, False), [draw(20, False), draw(60, True), draw(40, False)]


def by_loops(
    observed: NDArray[np.uint8],
    environments: list[NDArray[np.uint8]],
    parents: tuple[int, ...],
    touched: tuple[bool, ...],
    alpha: float,
) -> list[float]:
    """Both answers for each environment in full, and their difference."""

    def total(pattern: list[bool]) -> float:
        alone = [rows for rows, each in zip(environments, pattern, strict=True) if not each]
        value = marginal(np.concatenate([observed, *alone]), CHILD, list(parents), CARDS, alpha)
        for rows, each in zip(environments, pattern, strict=True):
            if each:
                soft, hard = (marginal(rows, CHILD, list(p), CARDS, min(alpha, 1.0)) for p in (parents, ()))
                value += np.logaddexp(soft, hard) - np.log(2)
        return float(value)

    answers = []
    for e in range(len(environments)):
        yes, no = ([*touched[:e], answer, *touched[e + 1 :]] for answer in (True, False))
        answers.append(total(yes) - total(no))
    return answers


def ratios(
    observed: NDArray[np.uint8],
    environments: list[NDArray[np.uint8]],
    parents: tuple[int, ...],
    touched: tuple[bool, ...],
    alpha: float = 1.0,
) -> NDArray[np.float64]:
    counts = environment_counts(make_block(observed, environments), CHILD, parents, CARDS)
    combinations = int(np.prod([CARDS[j] for j in parents]))
    return touch_ratios(counts, combinations, np.array(touched, dtype=bool), alpha)


@pytest.mark.parametrize("alpha", [1.0, 4.0])
@pytest.mark.parametrize("parents", PARENTS)
def test_ratios_are_those_of_the_marginal_likelihoods(parents: tuple[int, ...], alpha: float) -> None:
    for touched in PATTERNS:
        expected = by_loops(*observed_and_environments(), parents, touched, alpha)
        np.testing.assert_allclose(ratios(*observed_and_environments(), parents, touched, alpha), expected, atol=1e-8)


def test_touched_environment_stands_out() -> None:
    """Whether it is known yet or not; the others look left alone once it is."""
    for known in (False, True):
        found = ratios(*observed_and_environments(), (0,), (False, known, False))
        assert found.argmax() == 1
        assert found[1] > 10
    assert max(found[0], found[2]) < 0


@pytest.mark.parametrize("parents", PARENTS)
def test_ratios_do_not_depend_on_how_many_are_held_at_once(
    parents: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [ratios(*observed_and_environments(), parents, touched) for touched in PATTERNS]
    monkeypatch.setattr(phase2_targets, "PIECE", 1)
    after = [ratios(*observed_and_environments(), parents, touched) for touched in PATTERNS]
    np.testing.assert_allclose(before, after, atol=1e-9)


def test_order_of_rows_and_names_of_categories_do_not_matter() -> None:
    observed, environments = observed_and_environments()
    rng = np.random.default_rng(1)
    renamed = [rng.permutation(size).astype(np.uint8) for size in CARDS]

    def moved(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return np.stack([new[rows[:, j]] for j, new in enumerate(renamed)], axis=1)[rng.permutation(len(rows))]

    for parents, touched in itertools.product(PARENTS, PATTERNS):
        there = ratios(moved(observed), [moved(rows) for rows in environments], parents, touched)
        np.testing.assert_allclose(there, ratios(observed, environments, parents, touched), atol=1e-9)


def test_order_of_parents_does_not_matter() -> None:
    one, other = (ratios(*observed_and_environments(), each, (False, True, False)) for each in ((0, 2), (2, 0)))
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_environments_in_another_order_give_the_ratios_in_that_order() -> None:
    observed, environments = observed_and_environments()
    for order in itertools.permutations(range(3)):
        for touched in PATTERNS:
            there = ratios(observed, [environments[e] for e in order], (0,), tuple(touched[e] for e in order))
            np.testing.assert_allclose(there, ratios(observed, environments, (0,), touched)[list(order)], atol=1e-9)


def test_environment_without_rows_says_nothing() -> None:
    observed, environments = observed_and_environments()
    empty = np.zeros((0, 3), np.uint8)
    for touched in PATTERNS:
        found = ratios(observed, [environments[0], empty, environments[2]], (0,), touched)
        assert found[1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("parents", PARENTS)
def test_counts_are_of_each_environment_and_leave_out_what_was_never_seen(parents: tuple[int, ...]) -> None:
    observed, environments = observed_and_environments()
    found = environment_counts(make_block(observed, environments), CHILD, parents, CARDS)
    seen = sorted({tuple(row) for rows in (observed, *environments) for row in rows[:, list(parents)].tolist()})
    assert found.shape == (4, len(seen), CARDS[CHILD])
    for part, rows in zip(found, (observed, *environments), strict=True):
        for combination, counts in zip(seen, part, strict=True):
            same = (rows[:, list(parents)] == combination).all(axis=1)
            assert counts.tolist() == [np.sum(same & (rows[:, CHILD] == value)) for value in range(2)]
