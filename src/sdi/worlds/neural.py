"""Neural worlds: every mechanism is a random MLP on the one-hot values of its parents.

Legend: M variables, N categories, H hidden units, P parents, n rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import Graph
from sdi.worlds.simulated import Interventions, SimulatedWorld, cumulate, draw_by_inversion
from sdi.worlds.tables import Table, softmax
from sdi.worlds.world import Rows

GAIN = 2.5  # of the orthogonal weights
BIAS = 1.1  # biases are Uniform(-1.1, 1.1)
SLOPE = 0.1  # of the LeakyReLU
LARGEST_TABLE = 65_536  # parent configurations up to which a mechanism is evaluated once and looked up from then on


@dataclass(frozen=True)
class Shape:
    """What a mechanism's weights are drawn for: its own position, its parents, and all cardinalities."""

    variable: int
    parents: tuple[int, ...]
    cardinalities: tuple[int, ...]

    @property
    def hidden(self) -> int:
        return 4 * max(len(self.cardinalities), *self.cardinalities)


@dataclass(frozen=True, eq=False)
class MLP:
    """softmax(W1 LeakyReLU(sum_p W0[p, x_p] + b0) + b1)."""

    shape: Shape
    w0: tuple[NDArray[np.float64], ...]  # one [N_p, H] for each parent
    b0: NDArray[np.float64]  # [H]
    w1: NDArray[np.float64]  # [H, N]
    b1: NDArray[np.float64]  # [N]

    @property
    def cardinality(self) -> int:
        return len(self.b1)

    def probabilities(self, values: Rows) -> NDArray[np.float64]:
        hidden = np.broadcast_to(self.b0, (len(values), len(self.b0))).copy()  # [n, H]
        for p, weights in enumerate(self.w0):
            hidden += weights[values[:, p]]
        return softmax(np.where(hidden > 0, hidden, SLOPE * hidden) @ self.w1 + self.b1)  # [n, N]

    def draw(self, values: Rows, uniforms: NDArray[np.float64]) -> Rows:
        if self._tabulated is not None:
            return self._tabulated.draw(values, uniforms)
        return draw_by_inversion(cumulate(self.probabilities(values)), uniforms)

    @cached_property
    def _tabulated(self) -> Table | None:
        """The same mechanism as a table, where that is small: many times faster to sample from."""
        sizes = tuple(len(weights) for weights in self.w0)
        if np.prod(sizes, dtype=float) > LARGEST_TABLE:
            return None
        every = np.indices(sizes).reshape(len(sizes), int(np.prod(sizes))).T  # [configurations, P]
        return Table(self.probabilities(every).reshape(*sizes, self.cardinality))

    def redrawn(self, rng: np.random.Generator) -> "MLP":
        return draw_mlp(self.shape, rng)


def draw_mlp(shape: Shape, rng: np.random.Generator) -> MLP:
    """A random mechanism. The first layer is drawn for all M inputs, as a learner that sees all of them has it."""
    sizes, hidden, own = shape.cardinalities, shape.hidden, shape.cardinalities[shape.variable]
    inputs = _orthogonal(hidden, sum(sizes), rng).T  # [sum of N_j, H]
    starts = np.cumsum((0, *sizes))
    return MLP(
        shape,
        w0=tuple(np.ascontiguousarray(inputs[starts[j] : starts[j + 1]]) for j in shape.parents),
        b0=rng.uniform(-BIAS, BIAS, hidden),
        w1=np.ascontiguousarray(_orthogonal(own, hidden, rng).T),
        b1=rng.uniform(-BIAS, BIAS, own),
    )


def _orthogonal(rows: int, columns: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A random matrix with orthonormal rows or columns, whichever are fewer, times GAIN."""
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))  # makes the draw uniform over orthogonal matrices
    return np.asarray(GAIN * (q if rows >= columns else q.T))


def neural_world(
    graph: Graph,
    categories: int | Sequence[int] = 2,
    *,
    rng: np.random.Generator,
    redrawn: bool = False,
    interventions: Interventions = Interventions(),
) -> SimulatedWorld:
    """A world of random MLPs on `graph`; `categories` is one number for all variables or one for each."""
    size = len(graph.names)
    cardinalities = (categories,) * size if isinstance(categories, int) else tuple(categories)
    if len(cardinalities) != size:
        raise ValueError(f"got {len(cardinalities)} numbers of categories for {size} variables; give one or {size}")
    if min(cardinalities) < 2:
        raise ValueError(f"a variable needs at least 2 categories; got {min(cardinalities)}")
    shapes = [Shape(i, tuple(int(j) for j in np.flatnonzero(graph.parents[i])), cardinalities) for i in range(size)]
    mechanisms = tuple(draw_mlp(shape, rng) for shape in shapes)
    states = tuple(tuple(str(k) for k in range(n)) for n in cardinalities)
    return SimulatedWorld(graph, mechanisms, states, redrawn, interventions)
