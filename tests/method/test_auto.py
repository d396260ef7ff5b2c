"""The default: tables alone where they are at ease, networks too where they are not, and whoever predicts better."""

import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest

from sdi.method import auto
from sdi.method.auto import (
    State,
    _blind,
    believed,
    initial_state,
    is_handed_over,
    iterate,
    lead,
    stop_reason,
    wants_networks,
)
from sdi.method.beliefs import Knowledge, decide
from sdi.method.discover import conclude, discover, in_words, run
from sdi.method.judge import Verdict, take_sample
from sdi.method.neural import iterate as neural
from sdi.method.settings import Settings
from sdi.method.tables import iterate as tables
from sdi.worlds.dataset import Dataset, FiniteEnvironment, freeze
from sdi.worlds.named import named_world
from sdi.worlds.world import Rows

# One record for all: JAX compiles once for each.
QUICK = Settings(
    iterations=3,
    interventions=4,
    rows_per_intervention=40,
    observational_rows=200,
    batch=32,
    fit_steps=20,
    refit_steps=5,
    hidden=4,
    target_steps=3,
    target_configurations=2,
    scoring_configurations=3,
    chains=2,
    sweeps=8,
)


def easy() -> Dataset:
    world = named_world("chain3", rng=np.random.default_rng(1), categories=3)
    return freeze(world, observational=1000, environments=4, rows=200, rng=np.random.default_rng(1)).dataset


def strained() -> Dataset:
    """C is some function of A and B, which have six by six combinations: of these, 135 rows say little."""
    rng = np.random.default_rng(0)
    function = rng.integers(0, 3, (6, 6)).astype(np.uint8)

    def draw(n: int) -> Rows:
        rows = rng.integers(0, 6, (n, 3)).astype(np.uint8)
        rows[:, 2] = function[rows[:, 0], rows[:, 1]]
        return rows

    parts = tuple(FiniteEnvironment(f"e{k}", draw(15)) for k in range(3))
    return Dataset(("A", "B", "C"), (tuple("uvwxyz"), tuple("uvwxyz"), tuple("xyz")), draw(90), parts)


@cache
def states_of_both() -> tuple[State, ...]:
    return tuple(state for state, _ in iterate(strained(), QUICK, seed=3))


def bits(state: State) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state)]


CLAMP = Knowledge().clamp("ABC")
UNJUDGED = np.full(3, np.nan), np.zeros(2, bool)

# --------------------------------------------------------------------------------------------------- tables alone


def test_tables_at_ease_are_all_there_is() -> None:
    states = [state for state, _ in iterate(easy(), QUICK)]
    assert not states[-1].tables.strained.any()
    assert all(state.neural is None and state.winner is state.tables for state in states)
    assert [bits(state) for state in states] == [
        bits(State(of_tables, None, *UNJUDGED)) for of_tables, _ in tables.iterate(easy(), QUICK)
    ]
    assert stop_reason(states[-1], QUICK) == tables.stop_reason(states[-1].tables, QUICK) == "settled"


def test_discovery_by_tables_alone_is_theirs() -> None:
    found = discover(easy(), QUICK)
    alone = discover(easy(), Settings(**{**vars(QUICK), "method": "tables"}))
    assert (found.method, found.compared, in_words(found.compared)) == ("tables", (), "")
    np.testing.assert_array_equal(found.probabilities, alone.probabilities)
    np.testing.assert_array_equal(found.targets, alone.targets)
    assert found.chains == alone.chains


def test_jax_is_not_imported_where_tables_are_enough() -> None:
    """It takes a second; in a process of its own, for here it is there already."""
    program = (
        "import sys, numpy as np, sdi\n"
        "world = sdi.named_world('chain3', rng=np.random.default_rng(1), categories=3)\n"
        "data = sdi.freeze(world, observational=1000, environments=4, rows=200, rng=np.random.default_rng(1)).dataset\n"
        "found = sdi.discover(data, sdi.Settings(sweeps=8))\n"
        "assert found.method == 'tables', found.method\n"
        "assert not found.compared\n"
        "assert 'jax' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --------------------------------------------------------------------------------------------------- both methods


def test_many_causes_of_few_values_strain_tables_only_in_a_world_without_end() -> None:
    """Their effects may add up, so that one more costs little; but to look at ever more rows takes tables long."""
    world = named_world("collider6", rng=np.random.default_rng(1), categories=3)
    data = freeze(world, observational=3_000, environments=6, rows=300, rng=np.random.default_rng(1)).dataset
    strained_by = {}
    for name, given in (("finite", data), ("endless", world)):
        state, _ = next(tables.iterate(given, replace(QUICK, observational_rows=3_000), seed=1))
        assert state.graph[5].sum() == 5
        strained_by[name] = bool(state.strained[5])
    assert strained_by == {"finite": False, "endless": True}


def test_networks_run_where_a_table_is_strained() -> None:
    states = states_of_both()
    assert states[0].neural is None
    first = next(k for k, state in enumerate(states) if state.neural is not None)
    assert [bits(State(state.tables, None, *state[2:])) for state in states[first:-1]] == [
        bits(State(states[first - 1].tables, None, *UNJUDGED))
    ] * (len(states) - 1 - first)
    assert [state.neural.iteration for state in states[first:] if state.neural] == [1, 2, 3]
    assert [state.iteration for state in states] == list(range(1, len(states) + 1))
    assert states[-1].tables.strained.any()


def test_verdict_comes_with_the_last_state_and_decides() -> None:
    *before, end = states_of_both()
    assert all(np.isnan(state.verdict).all() and state.winner is state.tables for state in before)
    assert np.isfinite(end.verdict).all()
    assert stop_reason(end, QUICK) is not None
    assert all(stop_reason(state, QUICK) is None for state in before)


@pytest.mark.parametrize(("verdict", "winner"), [([-1.0, -2.0, 0.1], "tables"), ([-2.0, -1.0, 0.1], "neural")])
def test_better_of_the_two_is_returned_and_the_other_shown(verdict: list[float], winner: str) -> None:
    state = states_of_both()[-1]._replace(verdict=np.array(verdict))
    assert state.winner is getattr(state, winner)
    found = conclude(strained(), state, QUICK, Knowledge())
    assert state.neural is not None
    beliefs = {
        "tables": tables.believed(state.tables, CLAMP),
        "neural": np.asarray(neural.believed(state.neural, CLAMP)),
    }
    assert found.method == winner
    np.testing.assert_array_equal(found.probabilities, beliefs[winner])
    np.testing.assert_array_equal(believed(state, CLAMP), beliefs[winner])
    np.testing.assert_array_equal(found.targets, getattr(state, winner).targets)
    assert [each["method"] for each in found.compared] == ["tables", "neural"]
    assert [each["log_likelihood"] for each in found.compared] == verdict[:2]
    for each in found.compared:
        graph = decide(beliefs[each["method"]]).parents
        assert {(cause, effect) for cause, effect, _ in each["edges"]} == {
            ("ABC"[j], "ABC"[i]) for i, j in np.argwhere(graph)
        }
    loser = "neural" if winner == "tables" else "tables"
    assert in_words(found.compared) == (
        f"{winner} predicts the held-out rows of interventions better than {loser} "
        "(-1.0000 against -2.0000 nats for each untouched value)"
    )
    assert (found.chains is not None) == (winner == "tables")


def test_networks_are_trusted_where_tables_are_ahead_by_less_than_the_error() -> None:
    state = at_rest(states_of_both()[-1])._replace(verdict=np.array([-1.0, -1.05, 0.1]), settled=np.array([True, True]))
    found = conclude(strained(), state, QUICK, Knowledge())
    assert found.method == "neural"
    assert in_words(found.compared) == (
        "tables and neural predict the held-out rows of interventions equally well (-1.0000 against -1.0500 nats for "
        "each untouched value, with a standard error of 0.1000); neural is trusted, since some tables are too large "
        "for these rows"
    )
    same = state._replace(verdict=np.array([-1.0, -1.0, 0.0]), settled=np.array([True, True]))
    assert same.winner is same.tables, "the same graph: nothing speaks for the other one"


def at_rest(state: State) -> State:
    """The same, with networks that have settled."""
    assert state.neural is not None
    return state._replace(neural=state.neural._replace(stable=float(QUICK.patience)))


def test_networks_that_have_not_settled_have_to_be_ahead_by_the_error() -> None:
    state = states_of_both()[-1]._replace(verdict=np.array([-1.05, -1.0, 0.1]), settled=np.array([True, False]))
    found = conclude(strained(), state, QUICK, Knowledge())
    assert found.method == "tables"
    assert in_words(found.compared) == (
        "tables and neural predict the held-out rows of interventions equally well (-1.0000 against -1.0500 nats for "
        "each untouched value, with a standard error of 0.1000); tables is trusted, since neural has not settled"
    )
    clearly = state._replace(verdict=np.array([-1.2, -1.0, 0.1]))
    assert clearly.winner is clearly.neural
    assert "neural predicts the held-out rows" in in_words(conclude(strained(), clearly, QUICK, Knowledge()).compared)
    behind = state._replace(verdict=np.array([-1.0, -1.05, 0.1]))
    assert behind.winner is behind.tables
    assert "tables predicts the held-out rows" in in_words(conclude(strained(), behind, QUICK, Knowledge()).compared)


def test_tables_that_have_not_settled_have_to_be_ahead_by_twice_the_error() -> None:
    rested = at_rest(states_of_both()[-1])
    torn = rested.tables._replace(stable=0, iteration=10**6)
    state = rested._replace(tables=torn, verdict=np.array([-1.0, -1.15, 0.1]), settled=np.array([False, True]))
    found = conclude(strained(), state, QUICK, Knowledge())
    assert found.method == "neural"
    assert in_words(found.compared) == (
        "tables and neural predict the held-out rows of interventions almost equally well (-1.0000 against -1.1500 "
        "nats for each untouched value, with a standard error of 0.1000); neural is trusted, since tables has not "
        "settled"
    )
    clearly = state._replace(verdict=np.array([-1.0, -1.25, 0.1]))
    assert clearly.winner is clearly.tables
    assert "tables predicts the held-out rows" in in_words(conclude(strained(), clearly, QUICK, Knowledge()).compared)


@pytest.mark.parametrize(
    ("tables_settled", "networks_settled", "errors"), [(1, 1, -1), (0, 1, -2), (1, 0, 1), (0, 0, 0)]
)
def test_not_having_settled_speaks_against_either(tables_settled: int, networks_settled: int, errors: int) -> None:
    assert lead(0.5, bool(tables_settled), bool(networks_settled)) == 0.5 * errors


def test_networks_that_were_asked_for_many_parents_alone_have_to_be_ahead() -> None:
    """Tables can hold what the rows say: where the figures tell nothing they are returned, and it is said why."""
    assert lead(0.5, True, True, strained=False) == lead(0.5, True, False, strained=False) == 0.5
    assert lead(0.5, False, True, strained=False) == -1.0  # chains that are apart are as good as strained
    *_, (state, _) = iterate(strained(), QUICK, seed=3)
    at_ease = state.tables._replace(strained=np.zeros(6, bool), crowded=np.arange(6) == 5)
    state = state._replace(tables=at_ease, settled=np.array([True, True]), verdict=np.array([-1.0, -0.95, 0.1]))
    assert state.winner is state.tables
    assert in_words(conclude(strained(), state, QUICK, Knowledge()).compared) == (
        "tables and neural predict the held-out rows of interventions equally well (-0.9500 against -1.0000 nats for "
        "each untouched value, with a standard error of 0.1000); tables is trusted, since no table is too large for "
        "these rows"
    )
    assert state._replace(verdict=np.array([-1.0, -0.85, 0.1])).winner is state.neural


def test_discovery_of_a_strained_dataset_compares_both() -> None:
    found = discover(strained(), QUICK, seed=3)
    end = states_of_both()[-1]
    assert [each["log_likelihood"] for each in found.compared] == end.verdict[:2].tolist()
    assert len(found.history) == found.iterations == end.iteration
    assert [each["settled"] for each in found.compared] == [True, False], "three iterations are not enough to settle"
    assert found.method == ("tables" if end.verdict[0] + end.verdict[2] >= end.verdict[1] else "neural")
    assert found.interventions == end.interventions


def test_trusted_networks_go_on_with_all_rows_until_they_settle_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdi.method.auto.judge", lambda *_: Verdict(-2.0, -1.0, 0.1))
    more = replace(QUICK, iterations=5, patience=1, margin=0.49)  # undecided counts a third: three calm ones settle
    world = strained()
    states = [state for state, _ in iterate(world, more, seed=3)]
    judged = next(k for k, state in enumerate(states) if np.isfinite(state.verdict).all())
    assert judged < len(states) - 1
    at = states[judged]
    assert at.winner is at.neural
    assert stop_reason(at, more) is None
    assert at.neural is not None
    assert (at.neural.stable, at.neural.begun) == (0, at.neural.iteration)
    onward = [state for state, _ in neural.iterate(world, more, seed=3, state=at.neural)]
    assert [bits(state) for state in onward] == [bits(state.neural) for state in states[judged + 1 :]]
    assert stop_reason(states[-1], more) == neural.stop_reason(states[-1].neural, more) is not None
    resumed = [state for state, _ in iterate(world, more, seed=3, state=at)]
    assert [bits(state) for state in resumed] == [bits(state) for state in states[judged + 1 :]]


def test_trusted_networks_have_as_many_iterations_again_with_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdi.method.auto.judge", lambda *_: Verdict(-2.0, -1.0, 0.1))
    end = [state for state, _ in iterate(strained(), QUICK, seed=3)][-1]
    assert end.neural is not None
    assert (end.neural.begun, end.neural.iteration) == (QUICK.iterations, 2 * QUICK.iterations)
    assert stop_reason(end, QUICK) == "iterations"
    assert neural.stop_reason(end.neural._replace(begun=0), QUICK) == "iterations"
    assert neural.stop_reason(end.neural.with_more_rows(), QUICK) is None


def test_networks_are_wanted_where_a_table_is_strained_and_they_need_not_be_waited_for() -> None:
    state, patient = initial_state(easy(), QUICK, 0), Settings(**{**vars(QUICK), "seconds": 60.0})
    assert not wants_networks(state, QUICK)
    assert not wants_networks(state, patient)
    hard = state._replace(tables=state.tables._replace(strained=np.array([False, True, False])))
    assert wants_networks(hard, QUICK)
    assert wants_networks(state._replace(tables=state.tables._replace(crowded=np.array([False, True, False]))), QUICK)
    huge = hard._replace(tables=hard.tables._replace(states=1_000))
    assert not wants_networks(huge, QUICK)
    assert wants_networks(huge, patient)


def test_endless_world_whose_tables_are_strained_is_left_to_networks() -> None:
    state = initial_state(easy(), QUICK, 0)
    looked = state.tables._replace(iteration=1, finite=False, strained=np.array([False, True, False]))
    assert is_handed_over(state._replace(tables=looked), QUICK)
    for spared in (looked._replace(finite=True), looked._replace(strained=np.zeros(3, bool))):
        assert not is_handed_over(state._replace(tables=spared), QUICK)


def test_tables_that_were_left_are_not_taken_up_again() -> None:
    """A run that goes on after it is the same as one that never stopped."""
    world = named_world("chain3", rng=np.random.default_rng(0), categories=6, redrawn=True)
    states = [state for state, _ in iterate(world, QUICK, None, 1)]
    last_of_tables = max(k for k, state in enumerate(states) if state.neural is None)
    assert states[0].tables.strained.any()
    assert [state.tables.iteration for state in states] == [1] * 4
    assert states[-1].neural is not None
    assert np.isfinite(states[-1].verdict).all()
    for k in (last_of_tables, last_of_tables + 1):
        again = [state for state, _ in iterate(world, QUICK, None, 1, states[k])]
        assert [bits(state) for state in again] == [bits(state) for state in states[k + 1 :]]
    assert stop_reason(states[-1], QUICK) is not None


def test_run_cut_short_by_seconds_before_the_verdict_keeps_the_tables() -> None:
    settings = Settings(**{**vars(QUICK), "seconds": 1000.0})
    first, *_ = run(strained(), settings, Knowledge(), 3, spent=2000.0)
    found = conclude(strained(), first.state, settings, Knowledge())
    assert (found.method, found.reason, found.compared) == ("tables", "seconds", ())


# ------------------------------------------------------------------------------------------- repeating and resuming


def test_going_on_from_a_state_equals_never_having_stopped() -> None:
    """From every state, also across the boundary between tables and networks, and up to the verdict."""
    states = states_of_both()
    assert {state.neural is None for state in states} == {False, True}
    for k, state in enumerate(states):
        rest = [reached for reached, _ in iterate(strained(), QUICK, seed=3, state=state)]
        assert [bits(each) for each in rest] == [bits(each) for each in states[k + 1 :]]


def test_initial_state_has_room_for_networks_where_they_are_wanted() -> None:
    one, both = (initial_state(strained(), QUICK, 0, both=each) for each in (False, True))
    assert one.neural is None
    assert both.neural is not None
    assert jax.tree.structure(both) == jax.tree.structure(states_of_both()[-1])
    assert (one.iteration, one.interventions) == (both.iteration, both.interventions) == (0, 0)


# --------------------------------------------------------------------------------------------------- what they see


def test_neither_method_is_judged_on_rows_that_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    studied: dict[str, list[Any]] = {"tables": [], "neural": []}
    judged: list[Any] = []
    for name, module in (("tables", tables), ("neural", neural)):

        def watched(world: Any, *rest: Any, _name: str = name, _inside: Any = module.iterate) -> Any:
            studied[_name].append(world)
            return _inside(world, *rest)

        monkeypatch.setattr(module, "iterate", watched)

    def judge(sample: Any, *rest: Any) -> Verdict:
        judged.append(sample)
        return Verdict(-1.0, -2.0, 0.1)

    monkeypatch.setattr(auto, "judge", judge)
    list(iterate(strained(), QUICK, seed=3))
    (sample,) = judged
    everything, blind = studied["tables"]
    assert isinstance(everything, Dataset)
    assert blind is sample
    assert studied["neural"] == [sample]
    for environment, part, held in zip(everything.environments, sample.environments, sample.held_out, strict=True):
        assert len(part.rows) + len(held) == len(environment.rows)
        assert len(held) == 3


@pytest.mark.parametrize("agree", [True, False])
def test_where_networks_agree_with_tables_of_fewer_rows_the_question_is_what_more_rows_have_changed(
    monkeypatch: pytest.MonkeyPatch, agree: bool
) -> None:
    judged: list[Any] = []
    monkeypatch.setattr(auto, "judge", lambda _, *graphs: judged.extend(graphs[:2]) or Verdict(-1.0, -2.0, 0.1))
    states = [state for state, _ in iterate(strained(), QUICK, seed=3)]
    end = states[-1]
    assert end.neural is not None
    of_networks = neural.concluded(end.neural, CLAMP).parents
    of_all = end.tables._replace(graph=~of_networks & ~np.eye(3, dtype=bool))
    another = of_networks.copy()
    another[0, 1] ^= True
    of_some = end.tables._replace(graph=of_networks if agree else another)
    monkeypatch.setattr(auto, "_blind", lambda *_: of_some)
    monkeypatch.setattr(neural, "iterate", lambda *_: iter(()))
    judged.clear()
    list(auto._contest(strained(), QUICK, Knowledge(), 3, end._replace(tables=of_all)))
    np.testing.assert_array_equal(judged[0], of_all.graph if agree else of_some.graph)
    np.testing.assert_array_equal(judged[1], of_networks)


def test_networks_begin_where_tables_are_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[Any] = []
    inside = neural.initial_state

    def watched(world: Any, settings: Settings, seed: int, start: Any = None) -> Any:
        starts.append(start)
        return inside(world, settings, seed, start)

    monkeypatch.setattr(neural, "initial_state", watched)
    monkeypatch.setattr(neural, "iterate", lambda *given: iter(()))  # where they begin is all that matters here
    monkeypatch.setattr(auto, "judge", lambda *given: Verdict(-1.0, -2.0, 0.1))
    for _ in iterate(strained(), QUICK):
        pass
    (start,) = starts
    blind = _blind(take_sample(strained(), QUICK, 0), QUICK, Knowledge(), 0)  # has not seen the held-out rows either
    np.testing.assert_array_equal(start, tables.decided(blind, CLAMP, QUICK))
    assert np.isnan(start).any()


def test_knowledge_is_kept_by_both() -> None:
    known = Knowledge(required=[("C", "A")], forbidden=[("B", "C")])
    *_, (state, _) = iterate(strained(), QUICK, known)
    clamp = known.clamp("ABC")
    assert state.neural is not None
    for beliefs in (tables.believed(state.tables, clamp), np.asarray(neural.believed(state.neural, clamp))):
        assert [beliefs[0, 2], beliefs[2, 0], beliefs[2, 1]] == [1, 0, 0]
