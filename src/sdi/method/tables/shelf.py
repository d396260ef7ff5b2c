"""A shelf of limited room: what is dear to make is kept as long as it is used and there is room for it."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

ROOM = 1_000_000_000  # bytes of arrays, for all variables together
LEAST = 300  # bytes that anything takes beside its arrays

T = TypeVar("T")


class Shelf:
    """Things by name. Where room is short, what nobody has asked for longest goes, and is made again when needed."""

    def __init__(self, room: int | None = None) -> None:
        self.room, self.taken = ROOM if room is None else room, 0
        self._things: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._things)

    def get(self, name: Hashable, make: Callable[[], T]) -> T:
        """What is there under this name; else it is made."""
        if name in self._things:
            self._things.move_to_end(name)
            thing: T = self._things[name][0]
            return thing
        thing = make()
        self.put(name, thing)
        return thing

    def put(self, name: Hashable, thing: object) -> None:
        """Keep it under a name that is not taken; the last one is kept however large."""
        size = LEAST + _bytes(thing)
        self._things[name] = thing, size
        self.taken += size
        while self.taken > self.room and len(self._things) > 1:
            self.taken -= self._things.popitem(last=False)[1][1]


def _bytes(thing: object) -> int:
    """Of all arrays in it."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if isinstance(thing, list | tuple):
        return sum(map(_bytes, thing))
    return sum(map(_bytes, vars(thing).values())) if hasattr(thing, "__dict__") else 0
