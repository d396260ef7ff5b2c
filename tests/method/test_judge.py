"""The judge: rows held out are never fitted to, each method predicts as it should, and the true graph wins."""

import itertools
from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import exp, log
from typing import Any

import numpy as np
import pytest
from by_loops import Extending, marginal, own_marginal
from numpy.typing import NDArray

from sdi.method.judge import Part, Sample, judge, take_sample, untouched
from sdi.method.neural.predict import log_predictive as by_networks
from sdi.method.settings import Settings
from sdi.method.tables.predict import log_predictive as by_tables
from sdi.worlds.dataset import Dataset, FiniteEnvironment
from sdi.worlds.named import named_world
from sdi.worlds.simulated import Interventions
from sdi.worlds.world import Rows

QUICK = Settings(sample_size=1.0, batch=64, fit_steps=150, hidden=8, fit_rate=0.02, decay=20.0)
CARDS = (3, 2, 4)
ROWS = 800  # of all networks here, so that they are compiled once
CHAIN = np.eye(3, k=-1, dtype=bool)


def random_rows(n: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, CARDS, (n, 3)).astype(np.uint8)
    copies = rng.random(n) < 0.5
    rows[copies, 1] = rows[copies, 0] % 2
    return rows


# ----------------------------------------------------------------------------------------------- what is predicted


@pytest.mark.parametrize("alpha", [1.0, 6.0])
def test_tables_predict_as_the_rows_they_counted_say(alpha: float) -> None:
    """Also values and combinations of parents that were never seen."""
    train, test = random_rows(12, seed=0), random_rows(40, seed=1)
    parents = np.array([[0, 0, 0], [1, 0, 1], [1, 0, 0]], dtype=bool)
    found = by_tables(train, test, parents, CARDS, alpha)
    never = 0
    for row, values in zip(found, test, strict=True):
        for i in range(3):
            members = np.flatnonzero(parents[i])
            q = float(np.prod([CARDS[j] for j in members]))
            same = [other for other in train if all(other[j] == values[j] for j in members)]
            seen = sum(int(other[i] == values[i]) for other in same)
            never += not same
            expected = log((seen + alpha / q / CARDS[i]) / (len(same) + alpha / q))
            assert row[i] == pytest.approx(expected)
    assert never > 0


def test_prediction_is_the_ratio_of_two_marginal_likelihoods() -> None:
    train, test = random_rows(50, seed=2), random_rows(1, seed=3)
    found = by_tables(train, test, CHAIN, CARDS, 1.0)[0]
    for i, members in enumerate([[], [0], [1]]):
        both = marginal(np.concatenate([train, test]), i, members, CARDS)
        assert found[i] == pytest.approx(both - marginal(train, i, members, CARDS))


def test_tables_of_more_cells_than_a_number_can_count_predict_all_the_same() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (60, 41)).astype(np.uint8)
    parents = np.zeros((41, 41), bool)
    parents[40, :40] = True
    found = by_tables(rows[:50], rows[50:], parents, (4,) * 41, 1.0)
    np.testing.assert_allclose(found[:, 40], log(0.25))


def test_networks_predict_probabilities_and_use_no_other_parent() -> None:
    train, test = random_rows(ROWS, seed=4), random_rows(20, seed=5)
    found = by_networks(train, test, CHAIN, CARDS, QUICK, 0)
    assert found.shape == (20, 3)
    changed = test.copy()
    changed[:, 2] = (changed[:, 2] + 1) % 4  # nobody's parent
    again = by_networks(train, changed, CHAIN, CARDS, QUICK, 0)
    np.testing.assert_allclose(again[:, :2], found[:, :2], atol=1e-6)
    values = np.array([[a, b, c] for a in range(3) for b in range(2) for c in range(4)], np.uint8)
    total = np.exp(by_networks(train, values, CHAIN, CARDS, QUICK, 0).sum(axis=1)).sum()
    assert total == pytest.approx(1, abs=1e-4)


# ------------------------------------------------------------------------------------------------------ the sample


def numbered(rows_of_each: Sequence[int] = (12, 5, 1)) -> Dataset:
    """No two rows are the same: each can be traced."""
    total = 20 + sum(rows_of_each)
    rows = np.stack(np.divmod(np.arange(total), 20), axis=1).astype(np.uint8)
    ends = np.cumsum([20, *rows_of_each])
    parts = tuple(
        FiniteEnvironment(f"e{k}", rows[start:end], (k % 2,)) for k, (start, end) in enumerate(itertools.pairwise(ends))
    )
    return Dataset(("A", "B"), (tuple(map(str, range(20))),) * 2, rows[:20], parts)


def as_counter(rows: Any) -> Counter[tuple[int, ...]]:
    return Counter(tuple(row) for row in rows.tolist())


def test_rows_held_out_of_a_dataset_are_one_in_five_of_each_environment() -> None:
    dataset = numbered()
    sample = take_sample(dataset, QUICK, seed=0)
    assert [len(rows) for rows in sample.held_out] == [2, 1, 1]
    for environment, part, held in zip(dataset.environments, sample.environments, sample.held_out, strict=True):
        assert not as_counter(part.rows) & as_counter(held)
        assert as_counter(part.rows) + as_counter(held) == as_counter(environment.rows)
        assert (part.name, part.target) == (environment.name, environment.target)
    assert as_counter(sample.observed) == as_counter(dataset.observational)
    assert (sample.names, sample.cardinalities) == (dataset.names, dataset.cardinalities)


def test_sample_is_a_world_that_never_shows_what_is_held_out() -> None:
    sample = take_sample(numbered((50, 50)), QUICK, seed=0)
    held_out = as_counter(np.concatenate(sample.held_out))
    rng = np.random.default_rng(0)
    assert sample.redraw(rng) is sample
    shown = [sample.observe(10**9, rng), *(sample.intervene(rng).observe(n, rng) for n in (3, 10**9) for _ in range(9))]
    assert not as_counter(np.concatenate(shown)) & held_out
    assert len(sample.observe(7, rng)) == 7


def test_same_seed_holds_out_the_same_rows_and_another_seed_others() -> None:
    one, again, other = (np.concatenate(take_sample(numbered((50, 50)), QUICK, s).held_out) for s in (1, 1, 2))
    assert (one == again).all()
    assert as_counter(one) != as_counter(other)


def test_of_a_world_without_end_new_rows_are_taken() -> None:
    world = named_world("chain3", rng=np.random.default_rng(0), interventions=Interventions(known=True))
    sample = take_sample(world, Settings(interventions=7, rows_per_intervention=40, observational_rows=90), seed=0)
    assert len(sample.observed) == 90
    assert [len(part.rows) for part in sample.environments] == [32] * 7
    assert [len(rows) for rows in sample.held_out] == [8] * 7


# ---------------------------------------------------------------------------------------------------- who was touched


def small_sample(targets: Sequence[tuple[int, ...] | None] = (None, None)) -> Sample:
    """In the first environment the second variable no longer follows the first."""
    rng = np.random.default_rng(3)
    hit = random_rows(60, seed=8)
    hit[:, 1] = rng.random(60) < 0.1
    rows = [hit, random_rows(60, seed=9)]
    parts = tuple(Part(f"e{k}", each, target) for k, (each, target) in enumerate(zip(rows, targets, strict=True)))
    return Sample(("A", "B", "C"), CARDS, random_rows(ROWS, seed=7), parts, (hit[:5], hit[:5]))


@pytest.mark.parametrize("strengths", [1, 3])
@pytest.mark.parametrize("several", [False, True])
def test_variable_left_alone_has_the_probability_that_its_likelihoods_give(several: bool, strengths: int) -> None:
    sample = small_sample()
    found = untouched(sample, CHAIN, Settings(sample_size=1.0, several_targets=several, strengths=strengths))
    rows = [part.rows for part in sample.environments]
    extending = Extending(np.concatenate([sample.observed, *rows]), CARDS, (1.0, 10.0, 100.0))

    def likelihood(which: Rows, i: int, members: list[int]) -> float:
        return marginal(which, i, members, CARDS) if strengths == 1 else extending(which, i, tuple(members))

    for e in range(2):
        ratios = []
        for i, members in enumerate([[], [0], [1]]):
            rest = np.concatenate([sample.observed, rows[1 - e]])
            mine = rows[e], i, tuple(members)
            own = own_marginal(*mine, CARDS) if strengths == 1 else extending.own(*mine)
            ratios.append(likelihood(rest, i, members) + own - likelihood(np.concatenate([rest, rows[e]]), i, members))
        if several:
            expected = [1 / (1 + exp(ratio) / 3) for ratio in ratios]
        else:
            expected = [1 - exp(ratio) / (1 + sum(map(exp, ratios))) for ratio in ratios]
        np.testing.assert_allclose(found[e], expected, atol=1e-9)
    assert found[0, 1] < 0.1


def test_declared_targets_are_believed_by_the_judge() -> None:
    found = untouched(small_sample([(0, 2), ()]), CHAIN, QUICK)
    assert found.tolist() == [[0, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize("size", [41, 701])
def test_targets_are_judged_also_where_no_table_could_be_written_down(size: int) -> None:
    """Only what was seen is counted, though there are more combinations of parents than a number can say."""
    rows = np.random.default_rng(0).integers(0, 4, (60, size)).astype(np.uint8)
    parents = np.zeros((size, size), bool)
    parents[-1, :-1] = True
    names = tuple(map(str, range(size)))
    sample = Sample(names, (4,) * size, rows, (Part("e1", rows[:20], None),), (rows[:5],))
    assert np.isfinite(untouched(sample, parents, QUICK)).all()


# ------------------------------------------------------------------------------------------------------ the verdict


@cache
def chain_sample() -> Sample:
    """A -> B -> C, each mostly a function of the one before; each touched twice: then it is one value, mostly."""
    rng = np.random.default_rng(1)

    def draw(n: int, hit: int | None = None) -> Rows:
        rows = rng.integers(0, CARDS, (n, 3)).astype(np.uint8)
        for i in range(3):
            heeds = rng.random(n) < 0.7
            if i == hit:
                rows[heeds, i] = 1
            elif i:
                rows[heeds, i] = (rows[heeds, i - 1] + 1) % CARDS[i]
        return rows

    parts = tuple(FiniteEnvironment(f"e{k}", draw(100, k % 3)) for k in range(6))
    dataset = Dataset(("A", "B", "C"), tuple(tuple(map(str, range(size))) for size in CARDS), draw(ROWS), parts)
    return take_sample(dataset, QUICK, seed=0)


WRONG: dict[str, NDArray[np.bool_]] = {
    "empty": np.zeros((3, 3), bool),
    "turned round": CHAIN.T,
    "an edge short": np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0]], bool),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_true_graph_predicts_better_whichever_method_has_it(wrong: str) -> None:
    verdict = judge(chain_sample(), CHAIN, WRONG[wrong], QUICK, seed=0)
    assert verdict.tables > verdict.neural + 0.01
    verdict = judge(chain_sample(), WRONG[wrong], CHAIN, QUICK, seed=0)
    assert verdict.neural > verdict.tables + 0.01


def test_only_variables_with_other_parents_tell_graphs_apart() -> None:
    """Every other one adds exactly as much to both."""
    sample, short = chain_sample(), WRONG["an edge short"]
    same = judge(sample, CHAIN, CHAIN, QUICK, seed=0)
    assert (same.tables, same.error) == (same.neural, 0)
    verdict, rows = judge(sample, CHAIN, short, QUICK, seed=0), np.concatenate(sample.held_out)
    alone = untouched(sample, CHAIN, QUICK) * untouched(sample, short, QUICK)
    weights = np.repeat(alone, [len(each) for each in sample.held_out], axis=0)
    of_last = [
        max(
            float((predicted[:, 2] * weights[:, 2]).sum())
            for predicted in (
                by_tables(sample.observed, rows, graph, CARDS, QUICK.sample_size, QUICK.strengths),
                by_networks(sample.observed, rows, graph, CARDS, QUICK, 0),
            )
        )
        for graph in (CHAIN, short)
    ]
    assert verdict.neural - verdict.tables == pytest.approx((of_last[1] - of_last[0]) / weights.sum(), rel=1e-4)


def test_verdict_is_the_mean_over_variables_left_alone_each_with_its_better_mechanism() -> None:
    sample = small_sample([(0,), (1, 2)])
    rows = np.concatenate(sample.held_out)
    sums = []  # of each variable, by kind
    for predicted in (
        by_tables(sample.observed, rows, CHAIN, CARDS, QUICK.sample_size, QUICK.strengths),
        by_networks(sample.observed, rows, CHAIN, CARDS, QUICK, 0),
    ):
        sums.append([predicted[5:, 0].sum(), predicted[:5, 1].sum(), predicted[:5, 2].sum()])
    assert (np.abs(np.subtract(*sums)) > 1e-6).all()
    count = len(rows[5:]) + 2 * 5
    mean = np.max(sums, axis=0).sum() / count
    assert judge(sample, CHAIN, CHAIN, QUICK, seed=0) == pytest.approx((mean, mean, 0.0), rel=1e-5)


def test_error_of_a_verdict_is_that_of_the_mean_over_rows() -> None:
    """By drawing rows again: the difference scatters as much as the verdict says."""
    sample = chain_sample()
    verdict = judge(sample, CHAIN, WRONG["an edge short"], QUICK, seed=0)
    rng, found = np.random.default_rng(0), []
    for _ in range(40):
        drawn = [rows[rng.integers(len(rows), size=len(rows))] for rows in sample.held_out]
        again = judge(sample._replace(held_out=tuple(drawn)), CHAIN, WRONG["an edge short"], QUICK, seed=0)
        found.append(again.neural - again.tables)
    assert verdict.error == pytest.approx(np.std(found), rel=0.4)


def test_tables_that_extend_one_another_predict_chances() -> None:
    train = random_rows(200, seed=6)
    parents = np.array([[0, 0, 0], [1, 0, 1], [1, 0, 0]], dtype=bool)
    values = np.array(list(itertools.product(*map(range, CARDS))), np.uint8)
    total = np.exp(by_tables(train, values, parents, CARDS, 1.0, 3)).sum(axis=0)
    np.testing.assert_allclose(total, [len(values) / n for n in CARDS])


def test_what_was_never_seen_is_predicted_by_what_each_parent_does_on_its_own() -> None:
    """Effects add up; in rows with both parents as they are to be, nothing was ever seen."""
    rng, weights = np.random.default_rng(0), np.array([-1.5, 0.0, 1.5])
    train = rng.integers(0, 3, (4000, 3)).astype(np.uint8)
    train[:, 0] = rng.random(4000) < 1 / (1 + np.exp(-weights[train[:, 1]] - weights[train[:, 2]]))
    train = train[(train[:, 1] != 2) | (train[:, 2] != 2)]
    parents = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)
    said = np.exp(by_tables(train, np.array([[1, 2, 2]], np.uint8), parents, (2, 3, 3), 10.0, 3)[0, 0])
    assert said == pytest.approx(1 / (1 + np.exp(-3.0)), abs=0.02)


def test_where_everything_was_touched_there_is_nothing_to_judge_by() -> None:
    verdict = judge(small_sample([(0, 1, 2), (0, 1, 2)]), CHAIN, CHAIN, QUICK, seed=0)
    assert verdict == (0, 0, 0)
