"""What phase 3 makes of what networks leave: edges that were overlooked, two accounts, and ends with more parents."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from sdi.method.neural.phase2_residuals import Left, nothing_asked
from sdi.method.neural.phase3_left import ROUGH, averaged, either_account, explained, overlooked

SIZE = 4
ALL = ~np.eye(SIZE, dtype=bool)
PAIRS = 6


def left(apart: Any = 0.0, touched: Any = 0.0, asked: Any = ALL) -> Left:
    whole = (np.broadcast_to(np.asarray(each, np.float32), (SIZE, SIZE)) for each in (apart, touched))
    return Left(*whole, np.asarray(asked, bool))


def at(i: int, j: int, value: float, other: float = 0.0) -> Any:
    matrix = np.zeros((SIZE, SIZE), np.float32)
    matrix[i, j], matrix[j, i] = value, other
    return matrix


# ---------------------------------------------------------------------------------------------------- existence


def test_an_edge_pays_its_cost_and_that_of_being_the_best_of_many_pairs() -> None:
    threshold = 3 + np.log(PAIRS)
    both = at(1, 0, threshold + 2, threshold + 1) + at(2, 3, threshold - 0.1, threshold - 0.1)
    found = np.asarray(overlooked(left(both), 3.0))
    assert found[1, 0] == pytest.approx(2.0, abs=1e-4)
    assert np.isneginf(found[2, 3]), "too little says nothing, for nothing is said against an edge"


def test_rows_that_touched_the_cause_count_for_the_edge_too() -> None:
    both = overlooked(left(at(1, 0, 10, 10), at(1, 0, 4)), 3.0)
    assert float(both[1, 0]) == pytest.approx(14 - 3 - np.log(PAIRS), abs=1e-4)
    against = overlooked(left(at(1, 0, 10, 10), at(1, 0, -9)), 3.0)
    assert np.isneginf(float(against[1, 0]))


def test_a_pair_must_show_both_ways_where_both_are_open() -> None:
    """100 nats one way and 5 the other are worth 15: networks had not learnt what the parents of one end do."""
    cost = 3 + np.log(PAIRS)
    assert float(overlooked(left(at(1, 0, 100, 5)), 3.0)[1, 0]) == pytest.approx(15 - cost, abs=1e-4)
    only = ALL.copy()
    only[0, 1] = False
    assert float(overlooked(left(at(1, 0, 100, 0), asked=only), 3.0)[1, 0]) == pytest.approx(100 - cost, abs=1e-4)


# ---------------------------------------------------------------------------------------------------- direction


def test_of_two_accounts_either_may_be_the_better() -> None:
    orientation = jnp.asarray(at(1, 0, 8.0))
    half = np.log(2)
    assert float(either_account(orientation, left(touched=at(1, 0, -20)))[1, 0]) == pytest.approx(8 - half, abs=1e-4)
    assert float(either_account(orientation, left(touched=at(1, 0, 30)))[1, 0]) == pytest.approx(30 - half, abs=1e-4)
    assert float(either_account(orientation, left(touched=at(1, 0, 8)))[1, 0]) == pytest.approx(8, abs=1e-4)


def test_what_was_not_asked_is_left_to_networks() -> None:
    orientation = jnp.asarray(at(1, 0, 8.0))
    heard = either_account(orientation, left(touched=at(1, 0, 30), asked=np.zeros((SIZE, SIZE))))
    np.testing.assert_array_equal(heard, orientation)


def with_parents(count: int) -> Any:
    """Variable 0 has so many parents besides 1; the others have none."""
    parents = np.zeros((SIZE, SIZE), np.float32)
    parents[0, 2 : 2 + count] = 1
    return jnp.asarray(parents)


def test_difference_speaks_for_the_end_that_has_more_parents() -> None:
    """By more than it may be wrong: 30 nats against 20 are 10 less a tenth of 30."""
    told = np.asarray(explained(left(at(0, 1, 30, 20)), with_parents(2)))
    assert told[0, 1] == pytest.approx(10 - ROUGH * 30)
    np.testing.assert_array_equal(told, -told.T)


@pytest.mark.parametrize(
    ("apart", "parents", "asked"),
    [
        (at(0, 1, 20, 30), 2, ALL),  # speaks for the end with fewer
        (at(0, 1, 30, 20), 0, ALL),  # both have none
        (at(0, 1, 30, 28), 2, ALL),  # no more than it may be wrong
        (at(0, 1, 30, 20), 2, np.triu(ALL)),  # one way was not asked
    ],
)
def test_difference_says_nothing_elsewhere(apart: Any, parents: int, asked: Any) -> None:
    assert not np.asarray(explained(left(apart, asked=asked), with_parents(parents))).any()


# ------------------------------------------------------------------------------------------------- over iterations


def test_answers_are_averaged_as_far_as_old_ones_are_kept() -> None:
    kept = jnp.full((SIZE, 1), 0.75)
    now = averaged(left(8.0, 4.0), left(0.0, 8.0), kept)
    np.testing.assert_allclose(now.apart[ALL], 6.0)
    np.testing.assert_allclose(now.touched[ALL], 5.0)


def test_a_first_answer_counts_in_full() -> None:
    kept = jnp.full((SIZE, 1), 0.75)
    np.testing.assert_allclose(averaged(nothing_asked(SIZE), left(8.0), kept).apart, 8.0)


def test_where_nothing_is_asked_old_answers_fade() -> None:
    kept = jnp.full((SIZE, 1), 0.5)
    now = averaged(left(8.0), nothing_asked(SIZE), kept)
    np.testing.assert_allclose(now.apart, 4.0)
    np.testing.assert_array_equal(now.asked, ALL)
