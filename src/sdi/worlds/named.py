"""A simulated world by its name: a family of graphs, arrows, a shipped network or the path of a BIF file."""

from pathlib import Path

import numpy as np

from sdi import networks
from sdi.formats.bif import read_bif
from sdi.graphs import KNOWN_FORMS, graph, is_graph_name
from sdi.worlds.neural import neural_world
from sdi.worlds.simulated import Interventions, SimulatedWorld
from sdi.worlds.tables import table_world


def named_world(
    name: str,
    *,
    rng: np.random.Generator,
    categories: int = 2,
    temperature: float = 1.0,
    redrawn: bool = False,
    interventions: Interventions = Interventions(),
) -> SimulatedWorld:
    """``chain8`` and the like become neural worlds with `categories`; networks get tables at `temperature`."""
    if is_graph_name(name):
        shape = graph(name, rng)
        return neural_world(shape, categories, rng=rng, redrawn=redrawn, interventions=interventions)
    if name in networks.names():
        network = networks.load(name)
    elif Path(name).is_file():
        network = read_bif(name)
    else:
        raise ValueError(
            f"unknown world {name!r}: expected {KNOWN_FORMS}, a network that ships with the package "
            f"({', '.join(networks.names())}) or the path of a BIF file"
        )
    return table_world(network, temperature=temperature, redrawn=redrawn, interventions=interventions)
