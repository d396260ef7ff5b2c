"""Effects that add up: against a general optimiser and Laplace's method in full, alone and many sets at once."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from sdi.method.discover import discover
from sdi.method.settings import Settings
from sdi.method.tables.phase1_count import Family, make_block
from sdi.method.tables.phase2_additive import VARIANCES, Sums, add_up, extend, nothing_to_add
from sdi.method.tables.phase2_likelihood import Likelihood, prior_of
from sdi.method.tables.phase2_own import own_likelihoods
from sdi.method.tables.phase2_score import own_prior
from sdi.method.tables.phase2_shifts import FITTED, LEVEL
from sdi.worlds.dataset import freeze
from sdi.worlds.named import named_world

Vector = NDArray[np.float64]


def rows_of(strength: float, seed: int, n: int = 3_000) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Values of three parents with 3, 2 and 4 states, and a child of three whose log-odds they shift."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, (3, 2, 4), (n, 3))
    shifts = [rng.normal(size=(states, 3)) * strength for states in (3, 2, 4)]
    logs = sum(each[values[:, k]] for k, each in enumerate(shifts))
    return values, (logs + rng.gumbel(size=(n, 3))).argmax(axis=1)


def tables(
    values: NDArray[np.intp], child: NDArray[np.intp], sizes: tuple[int, ...]
) -> tuple[Vector, NDArray[np.intp]]:
    """Counts ``[r, R]`` and the values of the parents in each row of the table ``[R, K]``, every row of it."""
    every = np.indices(sizes).reshape(len(sizes), -1).T
    code = np.ravel_multi_index(tuple(values.T), sizes)
    counts = np.zeros((3, len(every)))
    np.add.at(counts, (child, code), 1)
    return counts, every


def fitted(
    values: NDArray[np.intp], child: NDArray[np.intp], sizes: tuple[int, ...], sweeps: int
) -> tuple[Sums, float]:
    """One parent after the other; by how much the rows are worth more in the end than without parents."""
    sums, only = nothing_to_add(3), np.zeros(1, np.intp)
    for k in range(1, len(sizes) + 1):
        counts, every = tables(values[:, :k], child, sizes[:k])
        none, base_row = np.zeros(len(every), np.intp), np.arange(len(every)) // sizes[k - 1]
        start = extend(sums, only, base_row, none, np.array([sizes[k - 1]]), every[:, k - 1])
        sums, summed = add_up(counts, start, sweeps)
    alone = np.bincount(child, minlength=3)
    return sums, float((counts * summed.logs).sum() - summed.cost[0] - alone @ np.log(alone / alone.sum()))


def in_full(values: NDArray[np.intp], child: NDArray[np.intp], sizes: tuple[int, ...]) -> float:
    """Laplace's method with all second derivatives, mode and all, for each variance; their mean.

    Shifts are what is left of independent ones without what is alike for all values of a parent.
    """
    counts, every = tables(values, child, sizes)
    contrasts = [np.linalg.qr(np.c_[np.ones(n), np.eye(n)[:, 1:]])[0][:, 1:] for n in sizes]
    hot = np.concatenate([np.ones((len(every), 1)), *(c[every[:, k]] for k, c in enumerate(contrasts))], axis=1)
    free = np.concatenate([np.full(n - 1, (1 - 1 / n) * (1 - 1 / 3)) for n in sizes])
    without = laplace(counts, hot[:, :1], np.full((1, 3), 1 / LEVEL))
    found = [
        laplace(counts, hot, np.repeat(np.append(1 / LEVEL, free / variance)[:, None], 3, axis=1))
        for variance in VARIANCES
    ]
    return float(np.logaddexp.reduce(found) - np.log(len(found)) - without)


def laplace(counts: Vector, hot: Vector, precision: Vector) -> float:
    """Of the log-odds that are a sum over the columns of `hot` ``[R, .]``, normal with this `precision` ``[., r]``."""

    def lost(x: Vector) -> tuple[float, Vector]:
        logs = hot @ x.reshape(-1, 3)
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        slope = hot.T @ (counts.T - counts.sum(axis=0)[:, None] * np.exp(logs)) - precision * x.reshape(-1, 3)
        return float(-(counts.T * logs).sum() + (precision * x.reshape(-1, 3) ** 2).sum() / 2), -slope.ravel()

    mode = minimize(lost, np.zeros(precision.size), jac=True, method="L-BFGS-B", options={"maxiter": 2_000})
    shares = np.exp(hot @ mode.x.reshape(-1, 3))
    shares /= shares.sum(axis=1, keepdims=True)
    curved = np.diag(precision.ravel())
    for row, n, p in zip(hot, counts.sum(axis=0), shares, strict=True):
        curved += n * np.kron(np.outer(row, row), np.diag(p) - np.outer(p, p))
    return float(-mode.fun + (np.log(precision).sum() - np.linalg.slogdet(curved)[1]) / 2)


@pytest.mark.parametrize("strength", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_worth_what_laplaces_method_says(strength: float, seed: int) -> None:
    """Of up to 1,700 nats: there is one fit for all variances, and second derivatives between shifts are left out."""
    values, child = rows_of(strength, seed)
    _, found = fitted(values, child, (3, 2, 4), 12)
    assert found == pytest.approx(in_full(values, child, (3, 2, 4)), abs=0.05 if strength < 0.5 else 3.0)


@pytest.mark.parametrize("n", [60, 150, 400])
@pytest.mark.parametrize("seed", range(3))
def test_few_rows_are_worth_what_laplaces_method_says(n: int, seed: int) -> None:
    """Each variance has its own mode there, other than the one that is fitted."""
    for strength, most in ((0.1, 0.2), (0.5, 1.0)):
        values, child = rows_of(strength, seed, n)
        _, found = fitted(values, child, (3, 2, 4), 12)
        assert found == pytest.approx(in_full(values, child, (3, 2, 4)), abs=most)


@pytest.mark.parametrize("strength", [0.5, 1.5])
def test_more_rounds_lead_to_the_mode(strength: float) -> None:
    """There, what was seen exceeds what is expected by what the prior holds against it."""
    values, child = rows_of(strength, 4)
    sums, _ = fitted(values, child, (3, 2, 4), 200)
    counts, every = tables(values, child, (3, 2, 4))
    logs = sums.level[:, [0] * len(every)] + sum(each.shifts[:, every[:, k]] for k, each in enumerate(sums.parents))
    beyond = counts - counts.sum(axis=0) * np.exp(logs) / np.exp(logs).sum(axis=0)
    np.testing.assert_allclose(beyond.sum(axis=1), sums.level[:, 0] / LEVEL, atol=1.5)  # rows of thousands
    for k, each in enumerate(sums.parents):
        of_values = np.stack([beyond[:, every[:, k] == x].sum(axis=1) for x in range(each.shifts.shape[1])], axis=1)
        np.testing.assert_allclose(of_values, each.shifts / FITTED, atol=1.5)  # rows of thousands


def test_parent_without_effect_is_worth_less_than_nothing() -> None:
    gains = []
    for seed in range(10):
        values, child = rows_of(1.0, seed)
        values[:, 2] = np.random.default_rng(seed).integers(0, 4, len(values))
        gains.append(fitted(values, child, (3, 2, 4), 3)[1] - fitted(values[:, :2], child, (3, 2), 3)[1])
    values, child = rows_of(1.0, 0)
    assert max(gains) < 0
    assert fitted(values, child, (3, 2, 4), 3)[1] > fitted(values[:, :2], child, (3, 2), 3)[1] + 50


def test_sets_that_are_fitted_at_once_come_to_what_each_comes_to_alone() -> None:
    alone, counts, starts = [], [], []
    for seed, sizes in enumerate([(3, 2), (2, 4), (3, 4)]):
        values, child = rows_of(1.0, seed)
        each, every = tables(values[:, [(3, 2, 4).index(n) for n in sizes]], child, sizes)
        counts.append(each)
        starts.append((sizes, every))
        none, only = np.zeros(len(every), np.intp), np.zeros(1, np.intp)
        first = extend(nothing_to_add(3), only, none, none, np.array(sizes[:1]), every[:, 0])
        start = extend(first, only, np.arange(len(every)), none, np.array(sizes[1:]), every[:, 1])
        alone.append(add_up(each, start, 3)[1])
    of_set = np.repeat(np.arange(3), [len(every) for _, every in starts])
    values = np.concatenate([every for _, every in starts])
    sizes_of = np.array([sizes for sizes, _ in starts])
    base = np.arange(3)
    first = extend(nothing_to_add(3, 3), base, of_set, of_set, sizes_of[:, 0], values[:, 0])
    start = extend(first, base, np.arange(len(of_set)), of_set, sizes_of[:, 1], values[:, 1])
    _, together = add_up(np.concatenate(counts, axis=1), start, 3)
    np.testing.assert_allclose(together.logs, np.concatenate([each.logs for each in alone], axis=1), atol=1e-12)
    np.testing.assert_allclose(together.cost, np.concatenate([each.cost for each in alone]), atol=1e-9)


@pytest.mark.parametrize(("states", "rows"), [(3, 500), (5, 200), (10, 200), (10, 500)])
def test_new_mechanism_of_noise_is_worth_less_the_more_parents_it_is_given(states: int, rows: int) -> None:
    """Also where hardly two rows agree in all of them, so that a table merely repeats what it was fitted to."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        shares = rng.dirichlet(np.full(states, 3.0), 4)
        all_rows = np.stack([rng.choice(states, 3_000 + rows, p=each) for each in shares], axis=1).astype(np.uint8)
        block, cards = make_block(all_rows[rows:], [all_rows[:rows]]), (states,) * 4
        prior = own_prior(prior_of(block, cards, 10.0, 3))
        worth = [float(own_likelihoods(block, 3, (0, 1, 2)[:k], cards, prior)[0]) for k in range(4)]
        assert worth[3] < worth[0] - 3
        assert max(np.diff(worth)) < 2.5


def test_child_of_one_state_is_worth_nothing_whatever_its_parents() -> None:
    rows = np.c_[np.random.default_rng(0).integers(0, 3, (50, 2)), np.zeros(50)].astype(np.uint8)
    block, cards = make_block(rows, [rows[:20]]), (3, 3, 1)
    prior, family = prior_of(block, cards, 10.0, 3), Family(2, (0, 1), ((), (0,), (1,), (0, 1)), cards)
    np.testing.assert_allclose(Likelihood(family, prior, family.count(block)).whole, 0, atol=1e-9)
    np.testing.assert_allclose(own_likelihoods(block, 2, (0, 1), cards, prior), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("variables", "rows", "small", "large"), [(8, 400, True, True), (8, 200_000, True, False), (15, 400, True, False)]
)
def test_effects_add_up_in_small_tables_and_where_few_rows_of_few_variables_fill_them(
    variables: int, rows: int, small: bool, large: bool
) -> None:
    """A table has no more cells than rows to look at, but with many of both there would be too many such tables."""
    cards = (3,) * variables
    seen = np.random.default_rng(0).integers(0, cards, (400, variables)).astype(np.uint8)
    block = make_block(seen[:390], [seen[390:]])
    prior = prior_of(block._replace(times=block.times * (rows / 400)), cards, 10.0, 3)
    assert [bool(prior.adds_up(cells / 3, 3)) for cells in (20_000, 3.0**30)] == [small, large]
    assert not prior._replace(sweeps=0).adds_up(1.0, 3)
    assert own_prior(prior).adds_up(3.0**30, 3) == (variables == 8), "an environment has fewer rows"


@pytest.mark.parametrize("seed", [1, 2])
def test_eight_causes_are_found_though_hardly_any_combination_of_them_is_seen_twice(seed: int) -> None:
    """Four categories, targets unknown: 65,536 combinations, of which 9,500 rows fill some."""
    world = named_world("collider9", rng=np.random.default_rng(seed), categories=4)
    rng = np.random.default_rng([seed, 1])
    frozen = freeze(world, observational=5_000, environments=9, rows=500, rng=rng)
    found = discover(frozen.dataset, Settings(method="tables"), seed=seed)
    np.testing.assert_array_equal(found.parents, world.graph.parents)
    assert (found.targets.argmax(axis=1) == [target for (target,) in frozen.targets]).all()
    assert found.warnings == ()
