"""Counting: every table of a family against plain loops over the rows, whatever is merged, cut or left out."""

import itertools
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from sdi.method.tables import phase1_count
from sdi.method.tables.phase1_count import Block, Family, make_block, pooled

CARDS = (3, 2, 4, 2, 5)


def random_rows(n: int, seed: int, cards: tuple[int, ...] = CARDS) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, cards, (n, len(cards))).astype(np.uint8)


def all_sets(size: int, most: int) -> tuple[tuple[int, ...], ...]:
    return tuple(each for k in range(most + 1) for each in itertools.combinations(range(size), k))


Tables = list[list[list[int]]]  # of each parent set, for each combination of parents, how often each value was seen


def by_loops(family: Family, rows: NDArray[np.integer]) -> Tables:
    tables = []
    for each in family.sets:
        parents = [family.candidates[k] for k in each]
        seen = Counter((*(int(row[j]) for j in parents), int(row[family.child])) for row in rows)
        combinations = itertools.product(*(range(family.cardinalities[j]) for j in parents))
        tables.append(sorted([seen[*values, value] for value in range(family.states)] for values in combinations))
    return tables


def tables_of(family: Family, counts: NDArray[np.int64], first: int = 0) -> Tables:
    """The same out of a flat array. In which order combinations of parents lie in a table is its own business."""
    rows = counts.reshape(-1, family.states)
    ends = family.first_row[first:] - family.first_row[first]
    return [sorted(rows[start:end].tolist()) for start, end in itertools.pairwise(ends.tolist())]


FAMILIES = {
    "all sets": Family(2, (0, 1, 3, 4), all_sets(4, 4), CARDS),
    "candidates in another order": Family(0, (4, 1, 3), all_sets(3, 2), CARDS),
    "none but the empty set": Family(4, (), ((),), CARDS),
    "some sets of each size": Family(1, (2, 0, 4), ((), (1,), (2,), (1, 2), (0, 1, 2)), CARDS),
    "sets that lead up to required ones": Family(3, (4, 0, 2), ((), (0,), (0, 1), (0, 1, 2)), CARDS),
    "sets that extend named ones": Family(1, (2, 0, 4), all_sets(3, 3), CARDS, (0, 0, 0, 2, 3, 2, 6)),
    "sets that extend other ones": Family(1, (2, 0, 4), all_sets(3, 3), CARDS, (0, 0, 0, 1, 1, 3, 5)),
}


@pytest.fixture(params=list(FAMILIES))
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[request.param]


# --------------------------------------------------------------------------------------------------- counting


def test_counts_are_those_of_plain_loops(family: Family) -> None:
    rows = random_rows(200, seed=1)
    assert tables_of(family, family.count(make_block(rows, []))) == by_loops(family, rows)


def test_rows_seen_often_count_as_often(family: Family) -> None:
    rows = np.repeat(random_rows(30, seed=2), np.arange(30) % 7 + 1, axis=0)
    block = make_block(rows, [])
    assert len(block.rows) < len(rows)
    assert tables_of(family, family.count(block)) == by_loops(family, rows)


@pytest.mark.parametrize("at_a_time", [1, 7, 100])
def test_counts_do_not_depend_on_how_many_rows_are_held_at_once(
    at_a_time: int, family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [np.repeat(random_rows(20, seed=seed), 3, axis=0) for seed in (3, 4)]
    block = make_block(random_rows(50, seed=5), parts)
    before = [family.count(block, where) for where in (slice(None), block.part(0), block.part(1))]
    monkeypatch.setattr(phase1_count, "AT_A_TIME", at_a_time)
    after = [family.count(block, where) for where in (slice(None), block.part(0), block.part(1))]
    assert [each.tolist() for each in before] == [each.tolist() for each in after]


def test_counts_of_one_environment_are_of_its_rows_alone(family: Family) -> None:
    observed, parts = random_rows(60, seed=6), [random_rows(25, seed=7), np.repeat(random_rows(5, seed=8), 9, axis=0)]
    block = make_block(observed, parts)
    for e, rows in enumerate(parts):
        assert tables_of(family, family.count(block, block.part(e))) == by_loops(family, rows)
    assert tables_of(family, family.count(block)) == by_loops(family, np.concatenate([observed, *parts]))


def test_counts_of_all_parts_add_up_cell_by_cell(family: Family) -> None:
    block = make_block(random_rows(60, seed=6), [random_rows(25, seed=7), np.repeat(random_rows(5, seed=8), 9, axis=0)])
    parts = [family.count(block, where) for where in (slice(0, block.part(0).start), block.part(0), block.part(1))]
    assert sum(parts).tolist() == family.count(block).tolist()


def test_counting_from_a_later_set_on_leaves_out_the_tables_before_it(family: Family) -> None:
    rows = random_rows(80, seed=9)
    everything = family.count(make_block(rows, []))
    for first in range(len(family.sets) + 1):
        found = family.count(make_block(rows, []), first=first)
        assert found.tolist() == everything[family.first_row[first] * family.states :].tolist()
        assert tables_of(family, found, first) == by_loops(family, rows)[first:]


# ----------------------------------------------------------------------------------------------- large tables


@pytest.mark.parametrize("whole", [0, 9, 25, 60])
def test_large_table_holds_what_was_seen_and_nothing_else(
    whole: int, family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cell by cell as in the whole one, in the same order; of all rows and of those of each environment."""
    monkeypatch.setattr(phase1_count, "WHOLE", whole)
    block = make_block(random_rows(30, seed=6), [random_rows(9, seed=7), np.repeat(random_rows(2, seed=8), 9, axis=0)])
    large, there = family.for_rows([block]), family.count(block) > 0
    is_large = (family.combinations * family.states > whole) & (np.arange(len(family.sets)) > 0)
    assert [each is not None for each in large.seen] == (is_large.tolist() if is_large.any() else [])
    kept = there | ~np.repeat(is_large, np.diff(family.first_cell))
    for where in (slice(None), block.part(0), block.part(1)):
        everything, found = family.count(block, where), large.count(block, where)
        assert found.tolist() == everything[kept].tolist()
        totals = family.totals(everything)
        assert large.totals(found).tolist() == totals[np.unique(np.flatnonzero(kept) // family.states)].tolist()
    assert large.of_cell[large.count(block) > 0].size == there.sum()
    for first in range(len(family.sets) + 1):
        assert large.count(block, first=first).tolist() == large.count(block)[large.first_cell[first] :].tolist()


def test_large_tables_hold_what_was_seen_in_any_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase1_count, "WHOLE", 0)
    family = FAMILIES["sets that extend named ones"]
    blocks = [make_block(random_rows(20, seed=seed), []) for seed in (1, 2)]
    large = family.for_rows(blocks)
    assert ((large.count(blocks[0]) + large.count(blocks[1])) > 0).all()
    for block in blocks:
        everything = family.count(block)
        assert sorted(large.count(block)[large.count(block) > 0]) == sorted(everything[everything > 0])


def test_what_is_known_of_large_tables_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase1_count, "WHOLE", 20)
    block = make_block(random_rows(40, seed=3), [])
    few = Family(2, (0, 1, 3, 4), all_sets(4, 2), CARDS).for_rows([block])
    more = Family(2, (0, 1, 3, 4), all_sets(4, 3), CARDS, None, few.seen).for_rows([block])
    assert all(one is other for one, other in zip(few.seen, more.seen, strict=False))
    again = Family(2, (0, 1, 3, 4), all_sets(4, 3), CARDS).for_rows([block])
    assert more.count(block).tolist() == again.count(block).tolist()


def test_more_combinations_than_an_integer_holds_are_counted() -> None:
    cards = (9,) * 400
    rows = np.random.default_rng(0).integers(0, 9, (50, 400)).astype(np.uint8)
    sets = tuple(tuple(range(k)) for k in range(400))
    family, block = Family(399, tuple(range(399)), sets, cards), make_block(rows, [])
    large = family.for_rows([block])
    assert np.isfinite(large.combinations).all()
    assert large.first_cell[-1] < 399 * 50 + 2 * 20_000
    assert large.count(block)[large.first_cell[-2] :].tolist() == [1] * 50


def test_no_rows_count_nothing(family: Family) -> None:
    counts = family.count(make_block(random_rows(3, seed=1), [random_rows(0, seed=1)]), slice(3, 3))
    assert counts.sum() == 0
    assert tables_of(family, counts) == by_loops(family, random_rows(0, seed=1))


def test_codes_above_a_byte_are_counted() -> None:
    cards = (300, 3)
    rows = np.random.default_rng(0).integers(0, cards, (500, 2)).astype(np.int32)
    for child in (0, 1):
        family = Family(child, (1 - child,), ((), (0,)), cards)
        assert tables_of(family, family.count(make_block(rows, []))) == by_loops(family, rows)


# --------------------------------------------------------------------------------------------- shapes of a family


def test_tables_lie_one_after_the_other(family: Family) -> None:
    sizes = [len(table) for table in by_loops(family, random_rows(0, seed=0))]
    assert family.combinations.tolist() == sizes
    assert family.first_row.tolist() == [sum(sizes[:s]) for s in range(len(sizes) + 1)]
    assert family.of_row.tolist() == [s for s, size in enumerate(sizes) for _ in range(size)]


def test_masks_are_the_members_as_bits(family: Family) -> None:
    assert family.masks.tolist() == [sum(1 << k for k in each) for each in family.sets]
    assert [tuple(np.flatnonzero(row)) for row in family.members] == list(family.sets)


def test_each_set_extends_one_with_a_member_less(family: Family) -> None:
    """That which is named, or any; the order in which members were added is that of the other and one more."""
    assert family.order(0) == ()
    for s, (each, (base, added)) in enumerate(zip(family.sets[1:], family.bases, strict=True), start=1):
        assert base < s
        assert sorted((*family.sets[base], added)) == list(each)
        assert family.order(s) == (*family.order(base), family.candidates[added])
        assert family.extends is None or family.extends[s - 1] == base


def test_cells_lie_in_the_order_in_which_parents_were_added(family: Family) -> None:
    """Of the first parent slowest, of the child fastest."""
    rows = random_rows(60, seed=11)
    for s, cells in enumerate(family.cells(rows)):
        for row, cell in zip(rows.tolist(), cells.tolist(), strict=True):
            code = 0
            for j in family.order(s):
                code = code * CARDS[j] + row[j]
            assert cell == (family.first_row[s] + code) * family.states + row[family.child]


def test_row_of_a_table_extends_that_with_the_same_other_parents(family: Family) -> None:
    """Seen by rows of all combinations: where each lies in a table, and in that which it extends."""
    everything = np.array(list(itertools.product(*map(range, CARDS))), np.uint8)
    table_row = family.cells(everything) // family.states  # [S, R]
    assert family.base_row.shape == (family.first_row[-1],)
    np.testing.assert_array_equal(family.base_row[table_row[0]], 0)
    for s, (base, _) in enumerate(family.bases, start=1):
        assert set(table_row[s]) == set(range(family.first_row[s], family.first_row[s + 1]))
        np.testing.assert_array_equal(family.base_row[table_row[s]], table_row[base])


# ------------------------------------------------------------------------------------------------------- blocks


def as_counter(block: Block, where: slice) -> Counter[tuple[int, ...]]:
    result: Counter[tuple[int, ...]] = Counter()
    for row, times in zip(block.rows[where].tolist(), block.times[where].tolist(), strict=True):
        result[tuple(row)] += times
    return result


def test_block_keeps_the_rows_of_each_part() -> None:
    observed, parts = np.repeat(random_rows(9, 1), 4, axis=0), [random_rows(17, 2), np.repeat(random_rows(2, 3), 50, 0)]
    block = make_block(observed, parts)
    assert block.environments == 2
    assert as_counter(block, slice(0, block.part(0).start)) == Counter(map(tuple, observed.tolist()))
    for e, rows in enumerate(parts):
        assert as_counter(block, block.part(e)) == Counter(map(tuple, rows.tolist()))
    assert [int(n) for n in np.diff(block.starts)] == [8, 17, 2]  # two of nine were the same
    assert block.starts[-1] == len(block.rows) == len(block.times)


@pytest.mark.parametrize(("different", "merged"), [(5, True), (6, False)])
def test_rows_are_merged_where_that_saves_half_of_them(different: int, merged: bool) -> None:
    values = np.arange(10, dtype=np.uint8) % different
    block = make_block(values[:, None], [])
    assert len(block.rows) == (different if merged else 10)
    assert block.rows.dtype == np.uint8
    assert block.times.sum() == 10


def test_rows_that_are_not_merged_keep_their_order() -> None:
    rows = random_rows(50, seed=4)
    np.testing.assert_array_equal(make_block(rows, []).rows, rows)


def test_block_without_environments_has_no_parts() -> None:
    block = make_block(random_rows(5, seed=1), [])
    assert block.environments == 0
    assert block.starts.tolist() == [0, 5]


def test_environment_without_rows_is_an_empty_part() -> None:
    block = make_block(random_rows(5, 1), [random_rows(0, 1), random_rows(3, 2)])
    assert [block.part(0), block.part(1)] == [slice(5, 5), slice(5, 8)]


@pytest.mark.parametrize("often", [False, True], ids=["seen once", "seen often"])
def test_rows_that_look_alike_are_counted_as_if_they_lay_apart(often: bool) -> None:
    rng, cards = np.random.default_rng(4), (2, 3, 2, 4, 3)
    rows = np.stack([rng.integers(size, size=300) for size in cards], axis=1).astype(np.uint8)
    times = rng.integers(1, 5, size=300).astype(float) if often else np.ones(300)
    block = Block(rows, times, np.array([0, 100, 250, 300]))
    family = Family(1, (0, 3), ((), (0,), (1,), (0, 1)), cards)
    merged = pooled(block, (1, 0, 3), cards)
    assert len(merged.rows) <= 2 * 3 * 4
    assert (family.count(merged) == family.count(block)).all()
    assert merged.times.sum() == times.sum()


def test_rows_are_left_as_they_are_where_putting_them_together_saves_little() -> None:
    rng = np.random.default_rng(4)
    few = Block(rng.integers(10, size=(20, 5)).astype(np.uint8), np.ones(20), np.array([0, 20]))
    assert pooled(few, range(5), (10,) * 5) is few
    alike = Block(np.zeros((20, 70), np.uint8), np.ones(20), np.array([0, 20]))
    assert pooled(alike, range(70), (2,) * 70) is alike  # more combinations than there are numbers for
    assert len(pooled(alike, range(60), (2,) * 70).rows) == 1
