"""Targets: the nats for "touched" against marginal likelihoods recomputed from the rows, for every pattern."""

import itertools

import numpy as np
import pytest
from by_loops import Extending, marginal, own_marginal
from numpy.typing import NDArray

from sdi.method.tables.phase1_count import Block, Family, make_block
from sdi.method.tables.phase2_likelihood import Prior, prior_of
from sdi.method.tables.phase2_score import Scores
from sdi.method.tables.phase2_targets import _numbered, environment_tables, touch_ratios

CARDS = (3, 2, 4)
CHILD = 1
PATTERNS = list(itertools.product([False, True], repeat=3))
PARENTS = [(), (0,), (2, 0)]
BDEU = (1.0,)
SIZES = [BDEU, (1.0, 10.0, 100.0)]  # the others are of tables that extend one another


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
    sizes: tuple[float, ...],
) -> list[float]:
    """Both answers for each environment in full, and their difference."""
    extending = Extending(np.concatenate([observed, *environments]), CARDS, sizes)

    def total(pattern: list[bool]) -> float:
        alone = np.concatenate([observed, *(r for r, each in zip(environments, pattern, strict=True) if not each)])
        apart = [rows for rows, each in zip(environments, pattern, strict=True) if each]
        if len(sizes) > 1:
            return extending(alone, CHILD, parents) + sum(extending.own(rows, CHILD, parents) for rows in apart)
        value = marginal(alone, CHILD, list(parents), CARDS, sizes[0])
        return value + sum(own_marginal(rows, CHILD, parents, CARDS) for rows in apart)

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
    sizes: tuple[float, ...] = BDEU,
) -> NDArray[np.float64]:
    block = make_block(observed, environments)
    prior = prior_with(block, sizes)
    tables = environment_tables(block, CHILD, parents, CARDS, prior)
    return touch_ratios(tables, np.array(touched, dtype=bool))


def prior_with(block: Block, sizes: tuple[float, ...], cards: tuple[int, ...] = CARDS) -> Prior:
    return prior_of(block, cards, 1.0, 1)._replace(sizes=sizes)


@pytest.mark.parametrize("sizes", [(1.0,), (4.0,), (1.0, 10.0, 100.0), (4.0, 7.0)], ids=str)
@pytest.mark.parametrize("parents", PARENTS)
def test_ratios_are_those_of_the_marginal_likelihoods(parents: tuple[int, ...], sizes: tuple[float, ...]) -> None:
    for touched in PATTERNS:
        expected = by_loops(*observed_and_environments(), parents, touched, sizes)
        np.testing.assert_allclose(ratios(*observed_and_environments(), parents, touched, sizes), expected, atol=1e-8)


ROOMY = (3, 2, 4, 5)  # all three parents of the second have 60 combinations: with so many the sample sizes grow
FAMILY_SETS = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))


@pytest.mark.parametrize("extends", [(0, 0, 0, 1, 3, 2, 4), (0, 0, 0, 2, 1, 3, 6), None], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_ratios_are_the_differences_of_scores(sizes: tuple[float, ...], extends: tuple[int, ...] | None) -> None:
    """For every parent set and every pattern of environments; the latter are counted another way."""
    rng = np.random.default_rng(5)
    parts = [rng.integers(0, ROOMY, (n, 4)).astype(np.uint8) for n in (70, 15, 0, 40)]
    for rows in parts:
        rows[: len(rows) // 2, CHILD] = rows[: len(rows) // 2, 3] % 2
    block, family = make_block(parts[0], parts[1:]), Family(CHILD, (0, 2, 3), FAMILY_SETS, ROOMY, extends)
    prior = prior_with(block, sizes, ROOMY)
    scores = Scores(family, block, prior)
    for s, touched in itertools.product(range(len(family.sets)), PATTERNS):
        tables = environment_tables(block, CHILD, family.order(s), ROOMY, prior)
        mine = frozenset(np.flatnonzero(touched).tolist())
        expected = [scores(mine | {e})[s] - scores(mine - {e})[s] for e in range(3)]
        np.testing.assert_allclose(touch_ratios(tables, np.array(touched)), expected, atol=1e-8)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_touched_environment_stands_out(sizes: tuple[float, ...]) -> None:
    """Whether it is known yet or not; the others look left alone once it is."""
    for known in (False, True):
        found = ratios(*observed_and_environments(), (0,), (False, known, False), sizes)
        assert found.argmax() == 1
        assert found[1] > 10
    assert max(found[0], found[2]) < 0


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_order_of_rows_and_names_of_categories_do_not_matter(sizes: tuple[float, ...]) -> None:
    observed, environments = observed_and_environments()
    rng = np.random.default_rng(1)
    renamed = [rng.permutation(size).astype(np.uint8) for size in CARDS]

    def moved(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return np.stack([new[rows[:, j]] for j, new in enumerate(renamed)], axis=1)[rng.permutation(len(rows))]

    for parents, touched in itertools.product(PARENTS, PATTERNS):
        there = ratios(moved(observed), [moved(rows) for rows in environments], parents, touched, sizes)
        np.testing.assert_allclose(there, ratios(observed, environments, parents, touched, sizes), atol=1e-9)


def test_order_of_parents_does_not_matter_under_bdeu() -> None:
    one, other = (ratios(*observed_and_environments(), each, (False, True, False)) for each in ((0, 2), (2, 0)))
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_environments_in_another_order_give_the_ratios_in_that_order(sizes: tuple[float, ...]) -> None:
    observed, environments = observed_and_environments()
    for order in itertools.permutations(range(3)):
        for touched in PATTERNS:
            there = ratios(observed, [environments[e] for e in order], (0,), tuple(touched[e] for e in order), sizes)
            here = ratios(observed, environments, (0,), touched, sizes)
            np.testing.assert_allclose(there, here[list(order)], atol=1e-9)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_environment_without_rows_says_nothing(sizes: tuple[float, ...]) -> None:
    observed, environments = observed_and_environments()
    empty = np.zeros((0, 3), np.uint8)
    for touched in PATTERNS:
        found = ratios(observed, [environments[0], empty, environments[2]], (0,), touched, sizes)
        assert found[1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("parents", PARENTS)
def test_no_row_needs_to_be_left_alone(parents: tuple[int, ...], sizes: tuple[float, ...]) -> None:
    """Also if all environments with rows touched the child: no row remains for the table that is shared."""
    environments, none = observed_and_environments()[1], np.zeros((0, 3), np.uint8)
    for touched in PATTERNS:
        expected = by_loops(none, environments, parents, touched, sizes)
        np.testing.assert_allclose(ratios(none, environments, parents, touched, sizes), expected, atol=1e-8)


@pytest.mark.parametrize("parents", PARENTS)
def test_counts_are_of_each_environment_and_leave_out_what_was_never_seen(parents: tuple[int, ...]) -> None:
    observed, environments = observed_and_environments()
    tables = environment_tables(make_block(observed, environments), CHILD, parents, CARDS, Prior(BDEU))
    for k, level in enumerate(tables.levels):
        columns = [*parents[:k], CHILD]
        everything = np.concatenate([observed, *environments])
        seen = sorted({tuple(row) for row in everything[:, columns].tolist()})
        assert level.length == len({each[:-1] for each in seen})
        pooled = np.bincount(level.cells, tables.counts, minlength=len(level.rows))
        assert pooled.tolist() == [np.sum((everything[:, columns] == each).all(axis=1)) for each in seen]
        for e, rows in enumerate(environments):
            mine = level.of_cells.environment == e
            found = dict(zip(level.of_cells.place[mine].tolist(), level.of_cells.times[mine].tolist(), strict=True))
            counted = {c: np.sum((rows[:, columns] == each).all(axis=1)) for c, each in enumerate(seen)}
            assert found == {c: n for c, n in counted.items() if n}


@pytest.mark.parametrize("most", [0, 1, 7, 39, 40, 41, 10**12], ids="codes up to {}".format)
def test_codes_are_numbered_as_by_sorting(most: int) -> None:
    """Ten codes that are counted, however many are left out, and ten too large for it."""
    code = np.random.default_rng(most % 97).integers(0, most, 10, endpoint=True)
    code[3] = most
    for each in (code, code[:1], code[:0]):
        for found, expected in zip(_numbered(each), np.unique(each, return_inverse=True), strict=True):
            np.testing.assert_array_equal(found, expected)
