"""Every world keeps the contract in ``sdi.worlds.world``. To add your own, give it a line in WORLDS."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from sdi import networks
from sdi.graphs import graph
from sdi.worlds.dataset import freeze
from sdi.worlds.from_table import dataset_from_table
from sdi.worlds.neural import neural_world
from sdi.worlds.simulated import Interventions, SimulatedWorld
from sdi.worlds.tables import Table, table_world
from sdi.worlds.world import Environment, Rows, World


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def neural(name: str, categories: Any = 2, *, redrawn: bool = False, **how: Any) -> SimulatedWorld:
    interventions = Interventions(**how)
    return neural_world(graph(name), categories, rng=generator(), redrawn=redrawn, interventions=interventions)


def wide() -> SimulatedWorld:
    """A chain whose first variable has more values than a byte holds."""
    sizes, rng = (300, 2, 2), generator()
    mechanisms = tuple(Table(np.empty(shape)).redrawn(rng) for shape in ((300,), (300, 2), (2, 2)))
    states = tuple(tuple(map(str, range(size))) for size in sizes)
    return SimulatedWorld(graph("chain3"), mechanisms, states)


def tables(name: str, *, redrawn: bool = False, **how: Any) -> SimulatedWorld:
    return table_world(networks.load(name), temperature=2, redrawn=redrawn, interventions=Interventions(**how))


def frozen(world: SimulatedWorld) -> World:
    return freeze(world, observational=400, environments=6, rows=90, rng=generator()).dataset


def from_table(**targets: Any) -> World:
    frame = freeze(tables("asia"), observational=400, environments=6, rows=90, rng=generator()).dataset.frame()
    return dataset_from_table(frame, "environment", targets=targets)


class Case(NamedTuple):
    """How to make a world, and what it declares about itself."""

    make: Callable[[], World]
    known: bool = False  # every target is declared
    redrawn: bool = False
    declared: tuple[tuple[str, tuple[int, ...]], ...] = ()  # targets of some environments, by the user


WORLDS = {
    "neural fixed": Case(lambda: neural("jungle8")),
    "neural redrawn": Case(lambda: neural("jungle8", redrawn=True), redrawn=True),
    "neural with unequal categories": Case(lambda: neural("full4", (2, 5, 3, 7))),
    "neural too large to tabulate": Case(lambda: neural("collider8", 5)),
    "codes wider than a byte": Case(wide),
    "tables": Case(lambda: tables("asia")),
    "tables redrawn": Case(lambda: tables("asia", redrawn=True), redrawn=True),
    "tables with unequal categories": Case(lambda: tables("survey")),
    "limited rows": Case(lambda: tables("asia", limit=50)),
    "hard, drawn uniformly": Case(lambda: tables("asia", kind="uniform")),
    "hard, pinned to a value": Case(lambda: neural("chain5", 3, kind="pinned")),
    "known targets": Case(lambda: neural("chain5", known=True), known=True),
    "several at once": Case(lambda: neural("chain5", at_once=3)),
    "sometimes untouched": Case(lambda: neural("chain5", untouched=0.5)),
    "frozen": Case(lambda: frozen(neural("jungle8"))),
    "frozen with known targets": Case(lambda: frozen(tables("asia", known=True)), known=True),
    "dataset from a table": Case(from_table),
    "dataset from a table with some targets": Case(
        lambda: from_table(e1="tub", e2=()), declared=(("e1", (1,)), ("e2", ()))
    ),
}
make = cache(lambda name: WORLDS[name].make())  # worlds never change: that is part of the contract


@pytest.fixture(params=WORLDS)
def case(request: pytest.FixtureRequest) -> Case:
    name = request.param
    return WORLDS[name]._replace(make=lambda: make(name))


@pytest.fixture
def world(case: Case) -> World:
    return case.make()


def check_conforms(rows: Rows, world: World, most: int) -> None:
    assert rows.ndim == 2
    assert 1 <= len(rows) <= most
    assert rows.shape[1] == len(world.names)
    assert np.issubdtype(rows.dtype, np.integer)
    assert (rows >= 0).all()
    assert (rows < np.array(world.cardinalities)).all()


def interventions(world: World, count: int = 12) -> list[Environment]:
    rng = generator(3)
    return [world.intervene(rng) for _ in range(count)]


def same(first: Rows, second: Rows) -> bool:
    return first.dtype == second.dtype and first.shape == second.shape and bool((first == second).all())


def test_names_and_cardinalities_belong_together(world: World) -> None:
    assert len(world.names) == len(set(world.names)) == len(world.cardinalities) >= 2
    assert all(isinstance(name, str) and name for name in world.names)
    assert all(isinstance(size, int) and size >= 2 for size in world.cardinalities)


@pytest.mark.parametrize("n", [1, 256, 20_000])
def test_observed_rows_are_codes_of_every_variable(world: World, n: int) -> None:
    check_conforms(world.observe(n, generator()), world, n)


@pytest.mark.parametrize("n", [1, 256])
def test_environment_gives_rows_of_the_same_form(world: World, n: int) -> None:
    for environment in interventions(world, 5):
        assert isinstance(environment.name, str)
        check_conforms(environment.observe(n, generator()), world, n)


def test_more_than_one_value_of_every_variable_is_seen(world: World) -> None:
    rows = world.observe(20_000, generator())
    assert (rows.min(axis=0) < rows.max(axis=0)).all()


@pytest.mark.parametrize("n", [0, -1])
def test_asking_for_no_rows_is_an_error(world: World, n: int) -> None:
    with pytest.raises(ValueError, match=f"expected a number of rows, at least 1; got {n}"):
        world.observe(n, generator())
    with pytest.raises(ValueError, match=f"expected a number of rows, at least 1; got {n}"):
        world.intervene(generator()).observe(n, generator())


def test_intervening_leaves_the_world_as_it_was(world: World) -> None:
    before = world.observe(256, generator(1))
    for environment in interventions(world):
        environment.observe(256, generator(2))
    assert same(before, world.observe(256, generator(1)))


def test_one_intervention_leaves_another_as_it_was(world: World) -> None:
    environment = world.intervene(generator(4))
    before = environment.observe(64, generator(1))
    for other in interventions(world):
        other.observe(64, generator(2))
    assert same(before, environment.observe(64, generator(1)))


def test_writing_into_rows_leaves_the_world_as_it_was(world: World) -> None:
    for source in (world, world.intervene(generator(4))):
        before = source.observe(20_000, generator(1))
        kept = before.copy()
        before[:] = 1 - before.clip(max=1)
        assert same(kept, source.observe(20_000, generator(1)))


def test_same_seed_gives_the_same_bits(case: Case) -> None:
    def everything(seed: int) -> list[Rows]:
        world, rng = case.make(), generator(seed)
        seen = [world.observe(64, rng)]
        for _ in range(3):
            world = world.redraw(rng)
            seen += [world.observe(64, rng), world.intervene(rng).observe(64, rng)]
        return seen

    assert all(map(same, everything(5), everything(5)))
    assert not all(map(same, everything(5), everything(6)))


def test_target_is_hidden_unless_declared_known(case: Case) -> None:
    world = case.make()
    environments = (*interventions(world, 60), *world.environments)
    if case.known:
        assert all(environment.target for environment in environments)
        assert all(i in range(len(world.names)) for environment in environments for i in environment.target or ())
    else:
        shown = {
            (environment.name, environment.target) for environment in environments if environment.target is not None
        }
        assert shown == set(case.declared)


def test_all_environments_are_listed_or_made_without_end(world: World) -> None:
    drawn = interventions(world, 60)
    if world.environments:
        assert {environment.name for environment in drawn} == {environment.name for environment in world.environments}
    else:
        assert len({environment.observe(256, generator(1)).tobytes() for environment in drawn}) > 5


def test_redrawing_gives_the_same_variables_and_new_mechanisms_only_where_asked(case: Case) -> None:
    world = case.make()
    before = world.observe(256, generator(1))
    other = world.redraw(generator(2))
    assert (other.names, other.cardinalities) == (world.names, world.cardinalities)
    assert same(before, world.observe(256, generator(1)))
    if not case.redrawn:
        assert other is world
        return
    assert isinstance(world, SimulatedWorld)
    assert isinstance(other, SimulatedWorld)
    assert (other.graph.parents == world.graph.parents).all()
    assert not same(before, other.observe(256, generator(1)))
    assert all(a is not b for a, b in zip(world.mechanisms, other.mechanisms, strict=True))
    assert other.redrawn
    assert other.interventions == world.interventions
