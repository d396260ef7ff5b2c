"""Where there are many variables, a part is looked at: that comes out the same, and the rest stays as it was."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sdi.method.beliefs import Clamp, Knowledge
from sdi.method.neural.batches import pool
from sdi.method.neural.candidates import (
    LARGE,
    LOOK_AGAIN,
    SUSPECTS,
    Part,
    candidate_columns,
    choose,
    environments_in_turn,
    looked_at,
    narrow,
    suspects,
)
from sdi.method.neural.learner import Weights, initial_weights, log_likelihood
from sdi.method.neural.phase1_fit import fit, unfitted
from sdi.method.neural.phase2_gains import Gains, gains, gains_by_network
from sdi.method.neural.phase2_ratio import likelihood_ratios
from sdi.method.neural.phase2_suspects import strangest
from sdi.method.neural.phase3_evidence import follow, unweighed
from sdi.method.settings import Settings

SIZE, STATES, HIDDEN, ENVIRONMENTS, LENGTH = 18, 3, 8, 3, 60
OPEN = ~np.eye(SIZE, dtype=bool)
TINY = Settings(method="neural", batch=16, fit_steps=5, refit_steps=5, hidden=HIDDEN, target_steps=2)
ALL = np.tile(np.arange(SIZE, dtype=np.int32), (SIZE, 1))


def rows_of(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, STATES, (*shape, SIZE)).astype(np.uint8)


def networks() -> Weights:
    return initial_weights(jax.random.key(0), (STATES,) * SIZE, HIDDEN)


def sure(edges: int, seed: int = 0) -> Any:
    """Beliefs of 0 and 1, so that no draw is left to chance."""
    beliefs = np.zeros((SIZE, SIZE), np.float32)
    for row, child in zip(beliefs, range(SIZE), strict=True):
        row[np.random.default_rng([seed, child]).permutation(np.delete(np.arange(SIZE), child))[:edges]] = 1
    return beliefs


def worth(columns: Any, beliefs: Any, rows: Any) -> Gains:
    real = jnp.ones(rows.shape[:2]).at[:, -7:].set(0)
    return gains_by_network(networks(), jnp.asarray(rows), real, jnp.asarray(beliefs), columns, jax.random.key(2))


# -------------------------------------------------------------------------------------------------------- the choice


def test_all_is_looked_at_where_there_are_few_variables() -> None:
    few = LARGE - 1
    assert choose(np.zeros((few, few)), ~np.eye(few, dtype=bool), np.zeros((4, few)), 8, 3) is None


def test_all_columns_are_looked_at_while_all_parents_are_possible() -> None:
    assert candidate_columns(np.where(OPEN, 0.25, 0), OPEN, 0) is None


def test_every_possible_parent_is_looked_at_in_every_turn() -> None:
    beliefs = sure(4) * 0.03
    for turn in range(5):
        columns = candidate_columns(beliefs, OPEN, turn)
        assert columns is not None
        assert columns.shape == (SIZE, 8)
        assert looked_at(columns)[beliefs > 0].all()


def test_no_open_pair_is_left_out_for_good() -> None:
    beliefs = sure(4)
    seen = [looked_at(columns) for turn in range(4) if (columns := candidate_columns(beliefs, OPEN, turn)) is not None]
    assert (np.any(seen, axis=0) | ~OPEN)[OPEN].all()  # 13 others, 4 places a turn
    assert not np.any(seen[:3], axis=0)[OPEN].all()


def test_closed_pairs_are_never_looked_at() -> None:
    names = [f"v{i}" for i in range(SIZE)]
    knowledge = Knowledge(required=[("v0", "v1")], only=[("v2", "v1"), ("v1", "v2"), ("v5", "v9")])
    clamp = knowledge.clamp(names)
    beliefs = np.where(clamp.open, 0.25, clamp.value)
    columns = candidate_columns(beliefs, clamp.open, 7)
    assert columns is not None
    expected = {(1, 0), (1, 2), (2, 1), (9, 5)} | {(i, i) for i in range(SIZE)}  # its own number is a place left empty
    assert set(map(tuple, np.argwhere(looked_at(columns)).tolist())) == expected


def test_choice_is_relabelled_with_the_variables() -> None:
    order = np.random.default_rng(3).permutation(SIZE)
    open_ = sure(6).astype(bool)
    beliefs = np.where(open_, 0.25, 0)
    before = candidate_columns(beliefs, open_, 2)
    after = candidate_columns(beliefs[np.ix_(order, order)], open_[np.ix_(order, order)], 2)
    assert before is not None
    assert after is not None
    here, there = (looked_at(each) & OPEN for each in (before, after))
    np.testing.assert_array_equal(here[np.ix_(order, order)], there)


@pytest.mark.parametrize(("count", "limit"), [(370, 74), (25, 50), (37, 10), (7, 7), (11, 3)])
def test_every_environment_is_visited_in_turn(count: int, limit: int) -> None:
    rounds = -(-count // limit)
    visits = [environments_in_turn(count, limit, turn) for turn in range(rounds)]
    assert len({len(each) for each in visits}) == 1
    assert len(visits[0]) <= limit
    assert set(np.concatenate(visits)) == set(range(count))
    np.testing.assert_array_equal(environments_in_turn(count, limit, rounds), visits[0])


def test_suspects_are_the_most_probable_and_all_others_in_turn() -> None:
    found = np.random.default_rng(0).dirichlet(np.full(SIZE, 0.1), 5)
    turns = [suspects(found, turn) for turn in range(4)]
    for chosen in turns:
        assert all(len(set(row)) == SUSPECTS for row in chosen.tolist())
        assert all(row.argmax() in each for row, each in zip(found, chosen, strict=True))
    together = np.concatenate(turns, axis=1)
    assert all(set(row) == set(range(SIZE)) for row in together.tolist())


@pytest.mark.parametrize(("turn", "afresh"), [(0, True), (1, True), (2, False), (9, False), (2 * LOOK_AGAIN, True)])
def test_targets_are_found_afresh_at_first_and_every_fifth_time(turn: int, afresh: bool) -> None:
    part = choose(sure(3), OPEN, np.full((20, SIZE), 1 / SIZE), 10, turn)
    assert part is not None
    assert (part.suspects is None) == afresh


# --------------------------------------------------------------------------------------------- what is looked at


def test_networks_with_fewer_inputs_predict_as_if_the_others_were_masked() -> None:
    beliefs, rows = sure(4), jnp.asarray(rows_of(LENGTH))
    columns = candidate_columns(beliefs, OPEN, 1)
    assert columns is not None
    masks = np.take_along_axis(beliefs, columns, axis=1)
    found = log_likelihood(narrow(networks(), columns), rows, jnp.tile(masks, (LENGTH, 1, 1)), jnp.asarray(columns))
    np.testing.assert_allclose(found, log_likelihood(networks(), rows, jnp.asarray(beliefs)), rtol=1e-4, atol=1e-5)


def test_gains_of_some_pairs_are_those_of_all_pairs() -> None:
    beliefs, rows = sure(4), rows_of(ENVIRONMENTS, LENGTH)
    columns = candidate_columns(beliefs, OPEN, 1)
    assert columns is not None
    real = jnp.ones(rows.shape[:2]).at[:, -7:].set(0)
    wanted = gains(networks(), jnp.asarray(rows), real, jnp.asarray(beliefs), jax.random.key(5), TINY)
    looked = looked_at(columns)
    for some, every in zip(worth(columns, beliefs, rows)[:2], wanted[:2], strict=True):
        np.testing.assert_allclose(np.asarray(some)[:, looked], np.asarray(every)[:, looked], rtol=1e-3, atol=1e-4)
        assert not np.asarray(some)[:, ~looked].any()
    np.testing.assert_array_equal(worth(columns, beliefs, rows).rows, wanted.rows)


def test_gains_do_not_depend_on_the_order_of_the_columns() -> None:
    beliefs, rows = sure(4), rows_of(ENVIRONMENTS, LENGTH)
    forward, backward = worth(ALL, beliefs, rows), worth(ALL[:, ::-1].copy(), beliefs, rows)
    np.testing.assert_allclose(forward.total, backward.total, rtol=1e-3, atol=1e-4)


def test_suspects_get_the_ratios_they_would_get_among_all() -> None:
    beliefs, rows = jnp.asarray(sure(2)), rows_of(ENVIRONMENTS, LENGTH)
    columns = candidate_columns(np.asarray(beliefs), OPEN, 0)
    assert columns is not None
    chosen = suspects(np.random.default_rng(0).random((ENVIRONMENTS, SIZE)), 0)
    observed = pool(rows_of(400, seed=1), (STATES,) * SIZE, TINY.batch)
    real = jnp.ones(rows.shape[:2])
    how = (networks(), observed, 400.0, jnp.asarray(rows), real, beliefs, jax.random.key(3), TINY)
    every = np.asarray(likelihood_ratios(*how))
    some = np.asarray(likelihood_ratios(*how, Part(columns, np.arange(ENVIRONMENTS), chosen)))
    asked = np.zeros_like(every, dtype=bool)
    np.put_along_axis(asked, chosen, values=True, axis=1)
    np.testing.assert_allclose(some[asked], every[asked], rtol=1e-3, atol=1e-3)
    assert (some[~asked] == -np.inf).all()


def test_the_strangest_variable_is_the_one_that_was_touched() -> None:
    rows, touched = rows_of(ENVIRONMENTS, 200), (4, 0, 17)
    for each, variable in zip(rows, touched, strict=True):  # as often 0, but only where its neighbour is not
        each[:, variable] = np.where(each[:, variable - 1] == 0, 1, each[:, variable] * 2 % STATES)
    observed = pool(rows_of(5_000, seed=1), (STATES,) * SIZE, TINY.batch)
    real = jnp.ones(rows.shape[:2])
    beliefs = jnp.asarray(np.where(OPEN, 0.25, 0), jnp.float32)
    found = strangest(networks(), observed, jnp.asarray(rows), real, beliefs, ALL, 2)
    assert [variable in row for variable, row in zip(touched, found.tolist(), strict=True)] == [True] * 3


# ------------------------------------------------------------------------------------------- and what is not


def test_what_a_fit_does_not_look_at_stays_as_it_was() -> None:
    beliefs = sure(4) * 0.5
    columns = candidate_columns(beliefs, OPEN, 0)
    assert columns is not None
    start = unfitted(networks(), TINY)
    observed = pool(rows_of(300), (STATES,) * SIZE, TINY.batch)
    after, _ = fit(start, observed, jnp.asarray(beliefs), jax.random.key(1), TINY, 300.0, columns=jnp.asarray(columns))
    looked = looked_at(columns)
    for old, new in ((start.weights.w0, after.weights.w0), (start.moments.nu.w0, after.moments.nu.w0)):
        same = np.isclose(old, new, rtol=0, atol=0).all(axis=(2, 3))
        assert same[~looked].all()
        assert not same[looked & OPEN & (beliefs > 0)].any()


def test_evidence_on_pairs_that_were_not_looked_at_is_kept() -> None:
    looked = looked_at(ALL[:, :5])
    clamp = Clamp(OPEN, np.zeros((SIZE, SIZE), np.float32))
    start = unweighed(SIZE, TINY)
    old = start.evidence._replace(existence=jnp.full((SIZE, SIZE), 7.0), updates=jnp.ones(()))
    total = jnp.ones((ENVIRONMENTS, SIZE, SIZE))
    new = follow(
        *(start._replace(evidence=old), Gains(total, total, jnp.full(ENVIRONMENTS, 60.0))),
        *(
            jnp.zeros((ENVIRONMENTS, SIZE)),
            jnp.zeros((SIZE, SIZE)),
            1.0,
            jnp.ones(SIZE),
            clamp,
            jax.random.key(0),
            TINY,
            False,
        ),
        jnp.asarray(looked),
    )
    kept = np.asarray(new.evidence.existence) == 7.0
    np.testing.assert_array_equal(kept, ~looked)
