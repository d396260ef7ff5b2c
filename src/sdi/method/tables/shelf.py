"""A shelf of limited room: what is dear to make is kept as long as it is used and there is room for it."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from itertools import count
from typing import Any, TypeAlias, TypeVar

import numpy as np

ROOM = 1_500_000_000  # bytes of arrays, for all variables together
LEAST = 300  # bytes that anything takes beside its arrays

T = TypeVar("T")
Name: TypeAlias = tuple[Hashable, ...]
_numbers = count()


def new_owner() -> int:
    """A name for whose things are on a shelf. Not the owner itself: a shelf that held on to those who hold on to it
    would stay, with gigabytes on it, until somebody looks for such circles."""
    return next(_numbers)


class Shelf:
    """Things by name, the first part of which is whose they are.

    Where room is short, what nobody has asked for longest goes, and is made again when needed.
    """

    def __init__(self, room: int | None = None) -> None:
        self.room, self.taken = ROOM if room is None else room, 0
        self._things: OrderedDict[Name, tuple[Any, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._things)

    def get(self, name: Name, make: Callable[[], T]) -> T:
        """What is there under this name; else it is made."""
        if name in self._things:
            self._things.move_to_end(name)
            thing: T = self._things[name][0]
            return thing
        thing = make()
        self.put(name, thing)
        return thing

    def put(self, name: Name, thing: object) -> None:
        """Keep it under a name that is not taken; the last one is kept however large."""
        size = LEAST + _bytes(thing)
        self._things[name] = thing, size
        self.taken += size
        while self.taken > self.room and len(self._things) > 1:
            self.taken -= self._things.popitem(last=False)[1][1]

    def clear(self, but: Iterable[Hashable]) -> None:
        """Away with all but what belongs to these."""
        owners = set(but)
        for name in [name for name in self._things if name[0] not in owners]:
            self.taken -= self._things.pop(name)[1]


def _bytes(thing: object) -> int:
    """Of all arrays in it."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if isinstance(thing, list | tuple):
        return sum(map(_bytes, thing))
    return sum(map(_bytes, vars(thing).values())) if hasattr(thing, "__dict__") else 0
