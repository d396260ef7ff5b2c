"""A shelf of limited room: what is dear to make is kept as long as it is used and there is room for it."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from itertools import count
from typing import Any, TypeAlias, TypeVar

import numpy as np

ROOM = 1_500_000_000  # bytes of arrays, for all variables together
LEAST = 300  # bytes that anything takes beside its arrays
SMALL = 100_000  # bytes up to which things do not make room for larger ones, which are hundreds of times their size

T = TypeVar("T")
Name: TypeAlias = tuple[Hashable, ...]
_numbers = count()


def new_owner() -> int:
    """A name for whose things are on a shelf. Not the owner itself: a shelf that held on to those who hold on to it
    would stay, with gigabytes on it, until somebody looks for such circles."""
    return next(_numbers)


class Shelf:
    """Things by name, the first part of which is whose they are.

    Where room is short, what nobody has asked for longest goes, and is made again when needed: of small things or of
    large ones, whichever take more room. So a few large things do not push out thousands of answers that took each of
    them to make.
    """

    def __init__(self, room: int | None = None) -> None:
        self.room = ROOM if room is None else room
        self._boards = _Board(), _Board()  # of small things and of large ones

    def __len__(self) -> int:
        return sum(len(board.things) for board in self._boards)

    @property
    def taken(self) -> int:
        """Bytes of all there is."""
        return sum(board.taken for board in self._boards)

    @property
    def owners(self) -> set[Hashable]:
        """Whose things there are."""
        return {name[0] for board in self._boards for name in board.things}

    def get(self, name: Name, make: Callable[[], T]) -> T:
        """What is there under this name; else it is made."""
        for board in self._boards:
            if name in board.things:
                board.things.move_to_end(name)
                thing: T = board.things[name][0]
                return thing
        thing = make()
        self.put(name, thing)
        return thing

    def put(self, name: Name, thing: object) -> None:
        """Keep it under a name that is not taken; the last one is kept however large."""
        size = LEAST + _bytes(thing)
        mine = self._boards[size > SMALL]
        mine.things[name] = thing, size
        mine.taken += size
        while self.taken > self.room and len(self) > 1:
            fuller = max(self._boards, key=lambda board: board.taken if len(board.things) > (board is mine) else -1)
            fuller.drop(next(iter(fuller.things)))

    def clear(self, but: Iterable[Hashable]) -> None:
        """Away with all but what belongs to these."""
        owners = set(but)
        for board in self._boards:
            for name in [name for name in board.things if name[0] not in owners]:
                board.drop(name)


class _Board:
    """Things of one kind, those asked for last at the end."""

    def __init__(self) -> None:
        self.things: OrderedDict[Name, tuple[Any, int]] = OrderedDict()
        self.taken = 0

    def drop(self, name: Name) -> None:
        self.taken -= self.things.pop(name)[1]


def _bytes(thing: object) -> int:
    """Of all arrays in it."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if isinstance(thing, list | tuple):
        return sum(map(_bytes, thing))
    return sum(map(_bytes, vars(thing).values())) if hasattr(thing, "__dict__") else 0
