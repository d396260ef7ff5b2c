"""Bayesian networks: every mechanism is a conditional probability table."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdi.formats.bif import Network
from sdi.graphs import Graph
from sdi.worlds.simulated import Interventions, SimulatedWorld, cumulate, draw_by_inversion
from sdi.worlds.world import Rows

SPREAD = 2.5  # a redrawn table is the softmax of Uniform(-2.5, 2.5)


@dataclass(frozen=True, eq=False)
class Table:
    """P(variable | parents): ``table[*parent values, value]``; each last axis adds up to 1."""

    table: NDArray[np.float64]

    @property
    def cardinality(self) -> int:
        return int(self.table.shape[-1])

    def probabilities(self, values: Rows) -> NDArray[np.float64]:
        return self.table.reshape(-1, self.cardinality)[self._row(values)]

    def draw(self, values: Rows, uniforms: NDArray[np.float64]) -> Rows:
        return draw_by_inversion(self._cumulative, uniforms, self._row(values))

    def redrawn(self, rng: np.random.Generator) -> "Table":
        return Table(softmax(rng.uniform(-SPREAD, SPREAD, self.table.shape)))

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        return cumulate(self.table.reshape(-1, self.cardinality))

    def _row(self, values: Rows) -> NDArray[np.intp]:
        """The position of each row of parent values among all of them, last parent fastest."""
        row = np.zeros(len(values), dtype=np.intp)
        for p, size in enumerate(self.table.shape[:-1]):
            row *= size
            row += values[:, p]
        return row


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(logits) normalised over the last axis."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def tempered(table: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Each row to the power 1/temperature, renormalised; zeros stay zero."""
    if not temperature > 0:
        raise ValueError(
            f"temperature must be above 0 (1 leaves the tables alone, 2 is the paper's); got {temperature}"
        )
    powered = np.power(table, 1 / temperature, where=table > 0, out=np.zeros_like(table))
    return np.asarray(powered / powered.sum(axis=-1, keepdims=True))


def table_world(
    network: Network,
    *,
    temperature: float = 1.0,
    redrawn: bool = False,
    interventions: Interventions = Interventions(),
) -> SimulatedWorld:
    """The world of a Bayesian network, its variables in the order of the file."""
    names = tuple(variable.name for variable in network.variables)
    index = {name: i for i, name in enumerate(names)}
    parents = np.zeros((len(names), len(names)), dtype=bool)
    mechanisms = []
    for i, variable in enumerate(network.variables):
        positions = [index[parent] for parent in variable.parents]
        parents[i, positions] = True
        # A file may list parents in any order; inside, parents come in the order of the variables.
        table = np.transpose(variable.table, [*np.argsort(positions), len(positions)])
        mechanisms.append(Table(np.ascontiguousarray(tempered(table, temperature))))
    states = tuple(variable.states for variable in network.variables)
    return SimulatedWorld(Graph(names, parents), tuple(mechanisms), states, redrawn, interventions)
