"""What phases 2 and 3 look at, and what they come to."""

from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from sdi.method.beliefs import Clamp
from sdi.method.neural.batches import Pool
from sdi.method.neural.candidates import Part
from sdi.method.neural.learner import Weights
from sdi.method.neural.phase3_evidence import Weighed
from sdi.method.neural.phase3_update import Structure
from sdi.worlds.world import Environment, World


class Scene(NamedTuple):
    """The world of this iteration, the networks fitted to it, and what is believed of it."""

    world: World
    weights: Weights
    observed: Pool
    size: float  # rows behind it
    probabilities: jax.Array  # [M, M]
    clamp: Clamp
    touched: NDArray[np.float32] | None = None  # [E, M], where it is clear and need not be found again
    part: Part | None = None  # what this iteration looks at; None is all
    ripe: bool = False  # networks know the graph as it is so well that what they leave may be asked about


class Learnt(NamedTuple):
    """New beliefs, the environments that led to them, and the probability that each variable was touched there."""

    structure: Structure | Weighed
    visited: tuple[Environment, ...]
    targets: NDArray[np.float32]  # [Q, M]


def declared(environments: tuple[Environment, ...], how: str, size: int) -> NDArray[np.float32]:
    """1 for each variable declared to be touched, 0 for the others, nan where nothing is declared ``[Q, M]``."""
    result = np.full((len(environments), size), np.nan, np.float32)
    for row, environment in zip(result, environments, strict=True):
        if environment.target is not None and how not in ("random", "ignored"):
            row[:] = np.isin(np.arange(size), environment.target)
        elif how == "known":
            raise ValueError(
                f"targets='known', but environment {environment.name!r} does not declare its target; "
                "declare it, or choose another way to find targets"
            )
    return result
