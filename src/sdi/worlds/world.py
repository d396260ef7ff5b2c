"""The contract between a system and the method that studies it: World and Environment.

To write your own: give a class the names and cardinalities of its variables, ``observe`` (rows from the system left
alone) and ``intervene`` (one environment in which something was changed; the caller has no say in what). Rows are
integer codes ``[n, M]``, column j in ``0 .. cardinalities[j] - 1``. A finite source returns fewer rows than it was
asked for when it has no more. Nothing here tells the truth: an environment's ``target`` is set only where the user
declared it known. Then add the world to the conformance test in ``tests/worlds/test_conformance.py``.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.integer]
Target: TypeAlias = tuple[int, ...]  # the variables that were touched; () is "nothing was touched"


class Environment(Protocol):
    """The system while something in it is changed."""

    @property
    def name(self) -> str: ...

    @property
    def target(self) -> Target | None:
        """The variables touched where that was declared known, else None."""

    def observe(self, n: int, rng: np.random.Generator) -> Rows:
        """At most `n` rows ``[n, M]``."""


class World(Protocol):
    """A system of categorical variables. Asking it anything leaves it as it was."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def cardinalities(self) -> tuple[int, ...]: ...

    @property
    def environments(self) -> tuple[Environment, ...]:
        """All environments there will ever be, or () if `intervene` makes new ones without end."""

    def observe(self, n: int, rng: np.random.Generator) -> Rows:
        """At most `n` rows ``[n, M]`` of the system left alone."""

    def intervene(self, rng: np.random.Generator) -> Environment:
        """One environment, not of the caller's choosing."""

    def redraw(self, rng: np.random.Generator) -> "World":
        """The world of the next iteration: itself, or the same graph with new mechanisms if it is a redrawn world."""


def code_type(cardinalities: Sequence[int]) -> type[np.integer]:
    """The narrowest integer type that holds every code."""
    return np.uint8 if max(cardinalities) <= 256 else np.int32
