"""Beliefs: what is believed about edges, what is known beforehand, and the DAG that comes out of it."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix, check_dag, find_cycle

if TYPE_CHECKING:
    import jax

Pair: TypeAlias = tuple[str, str]  # (cause, effect)


class Clamp(NamedTuple):
    """Which edges are open, and the probability of the others: 0 or 1, never moved."""

    open: BoolMatrix  # [M, M]
    value: NDArray[np.float32]  # [M, M]


@dataclass(frozen=True)
class Knowledge:
    """What is known about the graph beforehand, as pairs (cause, effect).

    `required` edges are there, `forbidden` ones are not. Where `only` is given, nothing but its pairs is open and
    everything else that is not required is forbidden: a partly known graph.
    """

    required: Iterable[Pair] = ()
    forbidden: Iterable[Pair] = ()
    only: Iterable[Pair] | None = None

    def __post_init__(self) -> None:
        for field in ("required", "forbidden", "only"):  # kept as tuples: a generator could be read only once
            pairs = getattr(self, field)
            object.__setattr__(self, field, None if pairs is None else tuple(_pair(pair, field) for pair in pairs))

    def clamp(self, names: Sequence[str]) -> Clamp:
        """As matrices over `names`; ValueError for unknown names, contradictions and required cycles."""
        required, forbidden = _matrix(self.required, names), _matrix(self.forbidden, names)
        check_dag(required, names)
        both = np.argwhere(required & forbidden)
        if len(both):
            effect, cause = both[0]
            raise ValueError(f"{names[cause]} -> {names[effect]} is both required and forbidden; drop one of the two")
        open_ = ~np.eye(len(names), dtype=bool) & ~required & ~required.T & ~forbidden
        if self.only is not None:
            open_ &= _matrix(self.only, names)
        return Clamp(open_, required.astype(np.float32))


def _pair(pair: object, field: str) -> Pair:
    if isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2:
        return pair[0], pair[1]
    raise ValueError(f"{field} holds pairs (cause, effect); got {pair!r}")


def _matrix(pairs: Iterable[Pair], names: Sequence[str]) -> BoolMatrix:
    index = {name: i for i, name in enumerate(names)}
    result = np.zeros((len(names), len(names)), dtype=bool)
    for cause, effect in pairs:
        for name in (cause, effect):
            if name not in index:
                near = difflib.get_close_matches(name, names, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise ValueError(
                    f"unknown variable {name!r} in the edge {cause} -> {effect}; {hint}found: {', '.join(names)}"
                )
        if cause == effect:
            raise ValueError(f"an edge from {cause!r} to itself is never open; drop it")
        result[index[effect], index[cause]] = True
    return result


def edge_probabilities(gamma: "jax.Array", clamp: Clamp, precedes: "jax.Array | float" = 1.0) -> "jax.Array":
    """sigmoid(gamma) P(j comes before i) where open, else what is known. The paper has no second factor."""
    import jax  # here, because it takes a second to import and tables do without it

    return jax.numpy.where(clamp.open, jax.nn.sigmoid(gamma) * precedes, clamp.value)


class Decided(NamedTuple):
    """A DAG out of edge probabilities, and the edges (child, parent) that were taken out to make it one."""

    parents: BoolMatrix
    removed: tuple[tuple[int, int], ...]


def decide(probabilities: NDArray[np.floating], threshold: float = 0.5) -> Decided:
    """The edges above `threshold`; as long as there is a cycle, its least believed edge goes."""
    parents = np.array(probabilities > threshold)
    np.fill_diagonal(parents, False)
    removed = []
    while (cycle := find_cycle(parents)) is not None:
        edges = [(child, parent) for parent, child in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
        weakest = min(edges, key=lambda edge: (float(probabilities[edge]), edge))
        parents[weakest] = False
        removed.append(weakest)
    return Decided(parents, tuple(removed))


def is_decided(probabilities: NDArray[np.floating], clamp: Clamp, margin: float) -> BoolMatrix:
    """Where a belief lies within `margin` of 0 or 1, or was known beforehand; the diagonal counts as known."""
    return np.asarray(~clamp.open | (probabilities < margin) | (probabilities > 1 - margin))
