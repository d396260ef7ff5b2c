"""Which variables were touched: tables against a prediction of one row after another, and a world known exactly.

The world is a chain A -> B -> C of 2, 3 and 4 categories. Its networks are written down, not learnt: hidden unit (j, k)
is 1 where variable j is seen and has value k, and the last layer holds log P(x_i | x_j = k) - log P(x_i), so that a
network that looks at one other variable, or at none, is exactly right.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from sdi.method.neural.batches import Pool
from sdi.method.neural.learner import NEVER, Weights, log_likelihood
from sdi.method.neural.phase2_ratio import _best_parents, likelihood_ratios
from sdi.method.neural.phase2_ratio import target_probabilities as probabilities_of
from sdi.method.neural.phase2_tables import LARGEST_TABLE, Tables, count, log_marginal, log_rising, tables_of
from sdi.method.settings import Settings

CARDINALITIES = (2, 3, 4)
CHAIN = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
SETTINGS = Settings()
LENGTH, COUNT = 400, 20  # rows of an environment and environments of each kind; the same everywhere: one compilation
Numbers = NDArray[np.float64]
Codes = NDArray[np.integer]

FIRST = np.array([0.3, 0.7])
SECOND = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
THIRD = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0.1, 0.2, 0.1, 0.6]])
CHANGED = (  # of each variable, a mechanism that a soft intervention put in its place
    np.array([0.6, 0.4]),
    np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]),
    np.array([[0.2, 0.3, 0.1, 0.4], [0.4, 0.3, 0.1, 0.2], [0.1, 0.1, 0.6, 0.2]]),
)


def written_down() -> Weights:
    """Networks that are the chain: P(x_i | x_j) for every pair and P(x_i), from the joint distribution."""
    joint = np.einsum("a,ab,bc->abc", FIRST, SECOND, THIRD)
    w0, w1 = np.zeros((3, 3, 4, 12)), np.zeros((3, 12, 4))
    b1 = np.full((3, 4), NEVER)
    w0[:, np.arange(3)[:, None], np.arange(4), np.arange(12).reshape(3, 4)] = 1
    for i, own in enumerate(CARDINALITIES):
        alone = joint.sum(axis=tuple({0, 1, 2} - {i}))
        b1[i, :own] = np.log(alone)
        for j in {0, 1, 2} - {i}:
            pair = np.moveaxis(joint, (j, i), (0, 1)).sum(axis=2)  # [N_j, N_i]
            given = pair / pair.sum(axis=1, keepdims=True)
            w1[i, 4 * j : 4 * j + CARDINALITIES[j], :own] = np.log(given) - np.log(alone)
    return Weights(*(jnp.asarray(each, jnp.float32) for each in (w0, np.zeros((3, 12)), w1, b1)))


WEIGHTS = written_down()


def draw(table: Numbers, rng: np.random.Generator) -> Codes:
    """A value for each row of a table."""
    return np.asarray((rng.random((len(table), 1)) > table.cumsum(axis=1)).sum(axis=1))


def environment(touched: tuple[int, ...], seed: int, hard: bool = False, length: int = LENGTH) -> Codes:
    """Rows of the chain in which the mechanisms of some variables were replaced, by uniform noise if `hard`."""
    rng = np.random.default_rng([seed, *touched])
    tables = [new if i in touched else old for i, (old, new) in enumerate(zip(TABLES, CHANGED, strict=True))]
    if hard:
        tables = [np.full_like(t, 1 / t.shape[-1]) if i in touched else t for i, t in enumerate(tables)]
    a = draw(np.broadcast_to(tables[0], (length, 2)), rng)
    b = draw(tables[1][a], rng)
    return np.stack([a, b, draw(tables[2][b], rng)], axis=1)


TABLES = (FIRST, SECOND, THIRD)


SIZE = 1e8  # observational rows, in exactly the expected numbers
EVERY = np.indices(CARDINALITIES).reshape(3, -1).T.astype(np.uint8)
SHARES = (FIRST[EVERY[:, 0]] * SECOND[EVERY[:, 0], EVERY[:, 1]] * THIRD[EVERY[:, 1], EVERY[:, 2]]).astype(np.float32)
OBSERVED = Pool(jnp.asarray(EVERY), jnp.asarray(np.cumsum(SHARES)))
TIMES = 12  # as many rows as a batch has: then tables are not counted for parents in doubt
MANY = Pool(jnp.asarray(np.tile(EVERY, (TIMES, 1))), jnp.asarray(np.cumsum(np.tile(SHARES / TIMES, TIMES))))


def ratios(
    rows: Any, weights: Weights = WEIGHTS, beliefs: Numbers = CHAIN, real: Any = None, observed: Pool = OBSERVED
) -> Numbers:
    given = np.ones(np.shape(rows)[:2]) if real is None else real
    found = likelihood_ratios(
        weights,
        observed,
        SIZE,
        jnp.asarray(rows, jnp.uint8),
        jnp.asarray(given, jnp.float32),
        jnp.asarray(beliefs, jnp.float32),
        jax.random.key(0),
        SETTINGS,
    )
    return np.asarray(found, np.float64)


def targets(found: Numbers, several: bool = False) -> Numbers:
    return np.asarray(probabilities_of(jnp.asarray(found, jnp.float32), several))


def environments(touched: tuple[int, ...], hard: bool = False) -> Codes:
    return np.stack([environment(touched, seed, hard) for seed in range(COUNT)])


def one_of_each() -> Codes:
    """Five environments left alone and five of each variable touched."""
    return np.stack([environment(touched, seed) for touched in ((), (0,), (1,), (2,)) for seed in range(COUNT // 4)])


def test_networks_written_down_are_the_world() -> None:
    """Under the true parents and under none, for every row there can be."""
    rows = np.indices(CARDINALITIES).reshape(3, -1).T
    a, b, c = rows.T
    found = log_likelihood(WEIGHTS, rows, jnp.asarray(CHAIN))
    np.testing.assert_allclose(found, np.log([FIRST[a], SECOND[a, b], THIRD[b, c]]), atol=1e-5)
    alone = log_likelihood(WEIGHTS, rows, jnp.zeros((3, 3)))
    np.testing.assert_allclose(alone, np.log([FIRST[a], (FIRST @ SECOND)[b], (FIRST @ SECOND @ THIRD)[c]]), atol=1e-5)


# ------------------------------------------------------------------------------------------------------ tables


def prequential(rows: Codes, own: int, parents: tuple[int, ...], states: tuple[int, ...]) -> float:
    """One row after another, predicted by one more than how often its value came before with the same parents."""
    seen: dict[tuple[int, ...], Numbers] = {}
    total = 0.0
    for row in rows:
        counts = seen.setdefault(tuple(row[list(parents)].tolist()), np.ones(states[own]))
        total += float(np.log(counts[row[own]] / counts.sum()))
        counts[row[own]] += 1
    return total


def tables(
    parents: tuple[int, ...], own: int, states: tuple[int, ...], rows: Codes, real: Any = None
) -> tuple[Tables, Numbers]:
    """The tables of one variable on `parents`, nothing observed, and how often the rows fall on each cell."""
    mask = np.zeros((len(states), len(states)), bool)
    mask[own, list(parents)] = True
    none = Pool(jnp.zeros((1, len(states)), jnp.uint8), jnp.zeros(1))
    made = tables_of(jnp.asarray(mask), jnp.asarray(states), max(states), none, 0.0)
    given = jnp.ones(len(rows)) if real is None else jnp.asarray(real, jnp.float32)
    return made, np.asarray(count(jnp.asarray(rows), jnp.asarray(rows[:, own]), made.stride[own], given, max(states)))


def table_of(rows: Codes, own: int, parents: tuple[int, ...], states: tuple[int, ...], real: Any = None) -> float:
    counts = tables(parents, own, states, rows, real)[1]
    return float(log_marginal(jnp.asarray(counts), jnp.zeros_like(counts), jnp.arange(max(states)) < states[own]))


STATES = (3, 2, 5, 4)


@pytest.mark.parametrize(
    ("own", "parents"), [(0, ()), (1, ()), (2, ()), (0, (1,)), (1, (2,)), (2, (0, 1)), (3, (2, 1)), (1, (0, 2, 3))]
)
def test_likelihood_of_a_table_is_the_product_of_its_predictions(own: int, parents: tuple[int, ...]) -> None:
    """Up to 60 combinations of parents, so that most of the last table never occurs."""
    rows = np.random.default_rng(0).integers(0, STATES, (100, 4)) * np.array([1, 1, 1, 0])
    rows[:, 3] = (rows[:, 0] + rows[:, 1]) % 4
    expected = prequential(rows, own, parents, STATES)
    assert table_of(rows, own, parents, STATES) == pytest.approx(expected, abs=0.01)


def test_rows_that_are_padding_are_not_in_the_table() -> None:
    rows = np.random.default_rng(0).integers(0, STATES, (100, 4))
    expected = prequential(rows[::3], 2, (0, 3), STATES)
    assert table_of(rows, 2, (0, 3), STATES, np.arange(100) % 3 == 0) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("states", "fits"), [((8, 8, 2), True), ((5, 13, 2), False), ((200, 250, 2), False)])
def test_table_of_too_many_combinations_is_out_of_the_question(states: tuple[int, ...], fits: bool) -> None:
    assert (states[0] * states[1] <= LARGEST_TABLE) is fits
    rows = np.random.default_rng(0).integers(0, states, (50, 3))
    assert bool(tables((0, 1), 2, states, rows)[0].fits[2]) is fits
    if fits:
        assert table_of(rows, 2, (0, 1), states) == pytest.approx(prequential(rows, 2, (0, 1), states), abs=0.01)


def test_rows_are_predicted_by_all_that_was_seen_before() -> None:
    """The likelihood of rows after others is that of both over that of the others."""
    rows = np.random.default_rng(0).integers(0, STATES, (300, 4))
    before, after = (tables((0, 3), 2, STATES, part)[1] for part in (rows[:200], rows[200:]))
    found = log_marginal(jnp.asarray(after), jnp.asarray(before), jnp.arange(5) < STATES[2])
    both, first = (prequential(part, 2, (0, 3), STATES) for part in (rows, rows[:200]))
    assert float(found) == pytest.approx(both - first, abs=0.01)


@pytest.mark.parametrize("a", [1.0, 7.9, 8.1, 300.0, 2e6])
def test_quotient_of_gammas_keeps_its_digits(a: float) -> None:
    n = np.array([0, 1, 5, 700])
    expected = [sum(math.log(a + k) for k in range(each)) for each in n]
    np.testing.assert_allclose(log_rising(jnp.asarray(a), jnp.asarray(n, jnp.float32)), expected, rtol=1e-5, atol=1e-3)


def test_what_was_observed_is_counted() -> None:
    found = tables_of(jnp.asarray(CHAIN > 0), jnp.asarray(CARDINALITIES), 4, OBSERVED, SIZE)
    joint = np.einsum("a,ab,bc->abc", FIRST, SECOND, THIRD) * SIZE
    np.testing.assert_allclose(found.counts[0, 0, :2], joint.sum(axis=(1, 2)), rtol=1e-4)
    np.testing.assert_allclose(found.counts[1, :2, :3], joint.sum(axis=2), rtol=1e-4)
    np.testing.assert_allclose(found.counts[2, :3], joint.sum(axis=0), rtol=1e-4)
    assert found.cells.tolist() == [1, 4, 9]


# ----------------------------------------------------------------------------------------------- probabilities

SOME_RATIOS = np.array([[3.0, -2.0, 0.5, 1.0], [-50.0, -40.0, -60.0, -45.0], [200.0, 190.0, -5.0, 0.0]])


def test_one_target_or_none_add_up_to_one() -> None:
    """Each against none is its likelihood ratio."""
    found = targets(SOME_RATIOS)
    weights = np.exp(
        np.concatenate([SOME_RATIOS, np.zeros((3, 1))], axis=1) - np.maximum(SOME_RATIOS.max(1), 0)[:, None]
    )
    np.testing.assert_allclose(found, (weights / weights.sum(axis=1, keepdims=True))[:, :-1], atol=1e-6)
    none = 1 - found.sum(axis=1)
    np.testing.assert_allclose(found[0] / none[0], np.exp(SOME_RATIOS[0]), rtol=1e-4)
    assert none[1] == pytest.approx(1)
    assert none[2] == pytest.approx(0, abs=1e-6)


def test_several_targets_are_independent_of_one_another() -> None:
    """Each alone, touched beforehand with odds of one to the number of variables."""
    found = targets(SOME_RATIOS, several=True)
    np.testing.assert_allclose(found, 1 / (1 + 4 * np.exp(-SOME_RATIOS)), rtol=1e-5)
    other = SOME_RATIOS.copy()
    other[:, 1] += 7
    assert (targets(other, several=True) == found).tolist() == [[True, False, True, True]] * 2 + [[True] * 4]
    assert found[2, :2].sum() > 1.99, "two at once"


# ------------------------------------------------------------------------------------------ a world known exactly


def test_environment_left_alone_has_no_target() -> None:
    """A coin that came up odd can look like another coin, but not often and never surely."""
    found = ratios(environments(()))
    one, several = targets(found), targets(found, several=True)
    none = 1 - one.sum(axis=1)
    assert none.mean() > 0.7, "most of the probability is on none"
    assert (none > 0.5).mean() >= 0.9
    assert one.max() < 0.95
    assert (several.max(axis=1) < 0.5).mean() >= 0.95


@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize("touched", [0, 1, 2])
def test_changed_variable_is_the_target(touched: int, hard: bool) -> None:
    found = ratios(environments((touched,), hard))
    assert (targets(found)[:, touched] > 0.99).all()
    several = targets(found, several=True)
    assert (several[:, touched] > 0.99).all()
    assert (np.delete(several, touched, axis=1) < 0.5).mean() >= 0.9, "the others seldom seem to be"


@pytest.mark.parametrize("touched", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_variables_changed_together_are_all_targets(touched: tuple[int, ...]) -> None:
    found = targets(ratios(environments(touched)), several=True)
    assert (found[:, touched] > 0.99).all()
    assert ((found > 0.5) == np.isin(np.arange(3), touched)).mean() >= 0.9


def test_ratio_of_sure_parents_is_that_of_two_new_tables_to_the_old() -> None:
    """Of so many rows the old table is the mechanism itself; a new one has the old parents or none, alike."""
    rows = one_of_each()
    found = ratios(rows)
    for e, sample in enumerate(rows):
        old = np.asarray(log_likelihood(WEIGHTS, sample, jnp.asarray(CHAIN)), np.float64).sum(axis=1)
        for i in range(3):
            parents = tuple(np.flatnonzero(CHAIN[i]).tolist())
            new = np.logaddexp(*(prequential(sample, i, each, CARDINALITIES) for each in (parents, ()))) - np.log(2)
            assert found[e, i] == pytest.approx(new - old[i], abs=0.1)


def test_network_is_not_asked_where_the_table_is_sure_and_small() -> None:
    """Nor where parents are in doubt, if distinct rows are few and quickly counted; else it is."""
    wrong, doubted, rows = WEIGHTS._replace(w1=-WEIGHTS.w1), CHAIN * 0.97, one_of_each()
    np.testing.assert_array_equal(ratios(rows, wrong), ratios(rows))
    np.testing.assert_array_equal(ratios(rows, wrong, doubted), ratios(rows, beliefs=doubted))
    asked = ratios(rows, wrong, doubted, observed=MANY) - ratios(rows, beliefs=doubted, observed=MANY)
    assert np.abs(asked).max() > 10


def test_table_of_doubted_parents_is_that_of_the_drawn_ones_that_predict_best() -> None:
    """Sixteen draws hold each of the four sets of parents of each variable; the likelihood says which one is taken."""
    rows = one_of_each()
    found = ratios(rows, beliefs=(1 - np.eye(3)) / 2)  # [E, 3]
    sure = np.stack([ratios(rows, beliefs=np.array(parents)) for parents in PARENT_SETS])  # [4, E, 3]
    old = np.stack([predicted(rows, np.array(parents)) for parents in PARENT_SETS])
    best = old > old.max(axis=0) - 0.05  # A tells nothing about C beside B: there are ties
    assert (best & (np.abs(sure - found) < 0.01)).any(axis=0).all()
    assert (~best & (np.abs(sure - found) > 1)).any(axis=0).mean() > 0.5, "it does matter which one is taken"


PARENT_SETS = [  # each variable has none, either or both of the others
    tuple(tuple(int(j != i and (j - i) % 3 in which) for j in range(3)) for i in range(3))
    for which in ((), (1,), (2,), (1, 2))
]


def predicted(rows: Codes, parents: Numbers) -> Numbers:
    """Log-likelihood of each variable under the table of what was observed, one count more for each category."""
    table = tables_of(jnp.asarray(parents) > 0, jnp.asarray(CARDINALITIES), 4, OBSERVED, SIZE)
    exists = jnp.arange(4) < jnp.asarray(CARDINALITIES)[:, None]
    return np.array(
        [
            [
                log_marginal(
                    count(sample, sample[:, i], table.stride[i], jnp.ones(LENGTH), 4), table.counts[i], exists[i]
                )
                for i in range(3)
            ]
            for sample in jnp.asarray(rows)
        ]
    )


NEARLY = CHAIN * (1 - 1e-6)  # in doubt by so little that every draw is the same


def test_refitted_network_tells_as_well() -> None:
    """Nothing observed and parents hardly in doubt: the networks alone say what was touched."""
    for touched in range(3):
        found = targets(ratios(environments((touched,)), beliefs=NEARLY, observed=MANY))
        assert (found[:, touched] > 0.99).all()
    alone = targets(ratios(environments(()), beliefs=NEARLY, observed=MANY))
    assert (1 - alone.sum(axis=1) > 0.5).mean() >= 0.9


@pytest.mark.parametrize("observed", [OBSERVED, MANY], ids=["by tables", "by networks"])
def test_cause_in_doubt_is_given_the_benefit_of_the_doubt(observed: Pool) -> None:
    """B looks changed without A where A was touched; one of the draws has A in it, and predicts best."""
    rows = environments((0,))
    alone = ratios(rows, beliefs=np.zeros((3, 3)))
    assert (alone[:, 1] > 3).all(), "without its parent it does look changed"
    doubted = targets(ratios(rows, beliefs=CHAIN / 2, observed=observed))
    assert (doubted[:, 0] > 0.99).all()


def test_parents_that_are_judged_by_are_the_best_of_those_drawn() -> None:
    rows = environment((0,), 0)
    seen = jax.nn.one_hot(rows, 4).reshape(LENGTH, -1)

    def best(i: int, chances: Numbers, doubt: bool) -> list[float]:
        own = jax.tree.map(lambda part: part[i], WEIGHTS)
        found = _best_parents(
            own,
            seen,
            jnp.asarray(rows[:, i]),
            jnp.ones(LENGTH),
            jnp.asarray(chances, jnp.float32),
            jnp.asarray(doubt),
            jax.random.key(0),
            16,
        )
        return np.asarray(found).tolist()

    assert [best(i, CHAIN[i] / 2, True) for i in range(3)] == CHAIN.tolist()
    assert best(1, np.zeros(3), True) == [0, 0, 0], "what is not drawn is not chosen"
    assert best(1, CHAIN[1], False) == CHAIN[1].tolist(), "what is sure is not drawn"


# ------------------------------------------------------------------------------------------- what must not matter


def test_padding_has_no_effect() -> None:
    rows, real = one_of_each(), np.ones((COUNT, LENGTH))
    real[:, 300:] = 0
    filled = rows.copy()
    filled[:, 300:] = 1
    np.testing.assert_array_equal(ratios(rows, real=real), ratios(filled, real=real))
    assert np.abs(ratios(rows, real=real) - ratios(rows)).max() > 1, "the last rows do count where they are real"


def test_order_of_rows_makes_no_difference_to_tables() -> None:
    order = np.random.default_rng(0).permutation(LENGTH)
    np.testing.assert_allclose(ratios(one_of_each()[:, order]), ratios(one_of_each()), atol=0.01)


def test_order_of_rows_hardly_matters_to_networks() -> None:
    """Other parts are another fit: some nats where nothing was touched, nothing where something clearly was."""
    found, shuffled = (
        ratios(one_of_each()[:, order], beliefs=NEARLY, observed=MANY)
        for order in (np.arange(LENGTH), np.random.default_rng(0).permutation(LENGTH))
    )
    assert np.abs(targets(found) - targets(shuffled))[COUNT // 4 :].max() < 0.01
    assert np.abs(found - shuffled).max() < 20


def test_names_of_categories_make_no_difference() -> None:
    """Categories turned round in every variable, in the rows and in the networks alike; only float errors remain."""
    rows, (w0, b0, w1, b1) = one_of_each(), map(np.array, WEIGHTS)
    for i, size in enumerate(CARDINALITIES):
        turned = np.r_[np.roll(np.arange(size), 1), size:4]  # the old category of each new one
        rows[..., i] = np.argsort(turned)[rows[..., i]]
        w0[:, i], w1[i], b1[i] = w0[:, i, turned], w1[i][:, turned], b1[i, turned]
    assert (rows != one_of_each()).any(axis=(0, 1)).all()
    renamed = Weights(*map(jnp.asarray, (w0, b0, w1, b1)))
    for beliefs, observed in WAYS:
        every = (np.asarray(observed.rows) + 1) % np.array(CARDINALITIES)
        found = ratios(rows, renamed, beliefs, observed=observed._replace(rows=jnp.asarray(every, jnp.uint8)))
        np.testing.assert_allclose(found, ratios(one_of_each(), beliefs=beliefs, observed=observed), atol=0.05)


WAYS = ((CHAIN, OBSERVED), (NEARLY, OBSERVED), (NEARLY, MANY))  # tables, tables of draws, networks


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2)])
def test_order_of_variables_permutes_the_result(order: tuple[int, ...]) -> None:
    """Only float errors remain: beliefs are all but sure, so that every draw is the same."""
    new = list(order)
    w0, b0, w1, b1 = WEIGHTS
    moved = Weights(w0[jnp.array(new)][:, jnp.array(new)], *(each[jnp.array(new)] for each in (b0, w1, b1)))
    for beliefs, observed in WAYS:
        turned = observed._replace(rows=jnp.asarray(observed.rows)[:, jnp.array(new)])
        found = ratios(one_of_each()[..., new], moved, beliefs[np.ix_(new, new)], observed=turned)
        np.testing.assert_allclose(found, ratios(one_of_each(), beliefs=beliefs, observed=observed)[:, new], atol=0.05)
