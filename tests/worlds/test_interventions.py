"""Interventions: which variables are touched, how many rows there are of one, and every refusal."""

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sdi.worlds.named import named_world
from sdi.worlds.simulated import Interventions, SimulatedWorld, true_target

FALSE_ALARM = 1e-9  # of a test with random numbers, over the choice of its seed


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_target_is_chosen_uniformly() -> None:
    world, rng = named_world("chain5", rng=generator()), generator(10)
    counts = np.bincount([true_target(world.intervene(rng))[0] for _ in range(2000)], minlength=5)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_several_variables_are_touched_at_once_where_asked() -> None:
    world = named_world("chain5", rng=generator(), interventions=Interventions(at_once=3, known=True))
    rng = generator(11)
    for _ in range(30):
        environment = world.intervene(rng)
        assert len(set(true_target(environment))) == 3
        assert environment.target == true_target(environment)


def test_nothing_is_touched_in_the_share_asked_for() -> None:
    world = named_world("chain5", rng=generator(), interventions=Interventions(untouched=0.3))
    rng = generator(12)
    nothing = sum(true_target(world.intervene(rng)) == () for _ in range(1000))
    assert stats.binomtest(nothing, 1000, 0.3).pvalue > FALSE_ALARM


def test_target_can_be_given_by_name_or_index_and_a_repetition_counts_once() -> None:
    world = named_world("asia", rng=generator())
    environment = world.intervene(generator(), targets=["smoke", 0, "smoke"], name="mine")
    assert true_target(environment) == (0, 2)
    assert environment.name == "mine"
    assert environment.target is None


def test_limited_intervention_has_so_many_rows_and_no_others() -> None:
    world = named_world("jungle13", rng=generator(), interventions=Interventions(limit=200))
    environment = world.intervene(generator(13))
    everything = environment.observe(10_000, generator(14))
    assert len(everything) == 200
    assert sorted(map(tuple, environment.observe(200, generator(15)))) == sorted(map(tuple, everything))
    some = environment.observe(150, generator(16))
    assert len(some) == 150
    left = list(map(tuple, everything))
    for row in map(tuple, some):
        left.remove(row)  # without replacement: each row is there at most as often as in the pool
    assert len(world.observe(10_000, generator())) == 10_000


def test_limited_rows_are_those_of_the_intervention() -> None:
    world = named_world("chain5", rng=generator(), interventions=Interventions(kind="pinned", limit=200))
    environment = world.intervene(generator(17), targets=["C"])
    assert len(np.unique(environment.observe(200, generator())[:, 2])) == 1


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"kind": "firm"}, "unknown intervention 'firm'; choose from soft, uniform, pinned"),
        ({"at_once": 0}, "an intervention touches at least 1 variable at once; got at_once=0"),
        ({"at_once": 4}, "cannot touch 4 variables at once in a world of 3"),
        ({"untouched": 1.5}, "untouched is a share between 0 and 1; got 1.5"),
        ({"untouched": math.nan}, "untouched is a share between 0 and 1; got nan"),
        ({"limit": 0}, "limit is a number of rows, at least 1; got 0"),
    ],
)
def test_impossible_interventions_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        named_world("chain3", rng=generator(), interventions=Interventions(**how))


@pytest.mark.parametrize("target", ["D", "", -1, 3, 1.0, None])
def test_target_that_is_no_variable_is_refused(target: Any) -> None:
    world = named_world("chain3", rng=generator())
    message = f"target {target!r} is no variable of this world; it has A, B, C"
    with pytest.raises(ValueError, match=re.escape(message)):
        world.intervene(generator(), targets=[target])


def test_cyclic_world_is_refused() -> None:
    world = named_world("chain3", rng=generator())
    cyclic = world.graph.parents | world.graph.parents.T
    with pytest.raises(ValueError, match="the graph has a cycle: A -> B -> A"):
        SimulatedWorld(world.graph._replace(parents=cyclic), world.mechanisms, world.states)
