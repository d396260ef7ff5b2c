"""Worlds by name: each form leads to the right kind of world, and anything else to an error that lists the forms."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdi import networks
from sdi.formats.bif import Network, write_bif
from sdi.graphs import graph
from sdi.worlds.named import named_world
from sdi.worlds.neural import MLP
from sdi.worlds.simulated import Interventions
from sdi.worlds.tables import Table


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", ["chain8", "fork3", "dag3:7", "A->B->C, {A-D}->E", "jungle5"])
def test_name_of_a_graph_leads_to_a_neural_world_on_it(name: str) -> None:
    world = named_world(name, rng=generator(), categories=3)
    assert world.names == graph(name).names
    assert (world.graph.parents == graph(name).parents).all()
    assert set(world.cardinalities) == {3}
    assert all(isinstance(mechanism, MLP) for mechanism in world.mechanisms)


def test_random_graph_comes_from_the_generator() -> None:
    first, again, other = (named_world("random9:12", rng=generator(seed)).graph.parents for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("name", networks.names())
def test_name_of_a_shipped_network_leads_to_its_tables(name: str) -> None:
    world, network = named_world(name, rng=generator()), networks.load(name)
    assert world.names == tuple(variable.name for variable in network.variables)
    assert world.states == tuple(variable.states for variable in network.variables)
    assert int(world.graph.parents.sum()) == sum(len(variable.parents) for variable in network.variables)
    assert all(isinstance(mechanism, Table) for mechanism in world.mechanisms)


def test_path_of_a_bif_file_leads_to_its_tables(tmp_path: Path, asia: Network) -> None:
    write_bif(tmp_path / "mine.bif", asia)
    from_file = named_world(str(tmp_path / "mine.bif"), rng=generator(), temperature=2)
    shipped = named_world("asia", rng=generator(), temperature=2)
    assert (from_file.observe(1000, generator(1)) == shipped.observe(1000, generator(1))).all()


def test_temperature_reaches_the_tables() -> None:
    cold, warm = (named_world("asia", rng=generator(), temperature=t).observe(20_000, generator(1)) for t in (1, 5))
    assert (warm[:, 0] == 0).mean() > 5 * (cold[:, 0] == 0).mean()  # a visit to Asia is rare


@pytest.mark.parametrize("name", ["chain3", "asia"])
def test_options_reach_the_world(name: str) -> None:
    how = Interventions(kind="pinned", at_once=2, limit=30)
    world = named_world(name, rng=generator(), redrawn=True, interventions=how)
    assert world.redrawn
    assert world.interventions == how


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("asja", {}, "unknown world 'asja': expected a family with its size"),
        ("asja", {}, "a network that ships with the package (alarm, asia, barley, cancer, earthquake, sachs, survey)"),
        ("nowhere/network.bif", {}, "or the path of a BIF file"),
        ("", {}, "unknown world ''"),
        (".", {}, "unknown world '.'"),
        ("chain2", {}, "'chain2' has 2 variables"),
        ("A->B->A", {}, "the graph has a cycle: A -> B -> A"),
        ("chain5", {"categories": 1}, "a variable needs at least 2 categories; got 1"),
        ("asia", {"temperature": 0}, "temperature must be above 0"),
    ],
)
def test_anything_else_is_an_error(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        named_world(name, rng=generator(), **options)
