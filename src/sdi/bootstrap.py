"""Bootstrap: refits on resampled rows and environments, to see which edges come out again."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Knowledge
from sdi.method.discover import discover
from sdi.method.settings import Settings
from sdi.worlds.dataset import Dataset, FiniteEnvironment
from sdi.worlds.world import Rows, World

_STREAM = 2**31 + 1  # keeps these random numbers apart from those of the run itself


class Refit(NamedTuple):
    """What came out of one resampled dataset."""

    number: int  # counted from 1
    parents: BoolMatrix  # [child, parent]


def check_finite(world: World) -> Dataset:
    """`world`, if its rows can be drawn again."""
    if isinstance(world, Dataset):
        return world
    raise ValueError(
        "a bootstrap draws rows of a table again, and this world is no table; drop --bootstrap, or write a table of it "
        "with `sdi simulate` first"
    )


def resample(world: Dataset, rng: np.random.Generator) -> Dataset:
    """As many environments as there are, drawn with replacement, and as many rows in each, drawn likewise.

    What was left alone stays so: of it only rows are drawn. An environment that is drawn twice is two environments,
    each with rows and a name of its own.
    """

    def again(rows: Rows) -> Rows:
        return rows[rng.integers(len(rows), size=len(rows))]

    drawn = [world.environments[k] for k in rng.integers(len(world.environments), size=len(world.environments))]
    copies = tuple(
        FiniteEnvironment(f"{each.name} ({k})", again(each.rows), each.target) for k, each in enumerate(drawn, start=1)
    )
    return replace(world, observational=again(world.observational), environments=copies)


def refits(
    world: Dataset, settings: Settings, knowledge: Knowledge, seed: int, numbers: Iterable[int]
) -> Iterator[Refit]:
    """The refits of these numbers. Each depends on the seed and its own number alone, not on those before it."""
    for number in numbers:
        rng = np.random.default_rng([seed, _STREAM, number])
        found = discover(resample(world, rng), settings, knowledge, int(rng.integers(2**31)))
        yield Refit(number, found.parents)


def shares(made: Iterable[BoolMatrix]) -> NDArray[np.float64]:
    """The share of refits with each edge ``[child, parent]``."""
    return np.asarray(np.mean(list(made), axis=0, dtype=np.float64))
