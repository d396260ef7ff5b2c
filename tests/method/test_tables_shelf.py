"""A shelf: what is there is not made again, and arrays never take more than its room."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.shelf import LEAST, SMALL, Shelf


class Holder:
    """Arrays at several depths."""

    def __init__(self, length: int) -> None:
        self.one, self.more = np.zeros(length), [(np.zeros(length), "nothing"), 3]


class Pair(NamedTuple):
    name: str
    array: NDArray[np.float64]


def test_what_was_used_last_stays_and_the_rest_is_made_again() -> None:
    made: list[str] = []
    shelf = Shelf(2 * (LEAST + 800))

    def ask(name: str) -> None:
        def make() -> NDArray[np.float64]:
            made.append(name)
            return np.zeros(100)

        shelf.get((name,), make)

    for name in "abacab":
        ask(name)
    assert "".join(made) == "abcb", "when c came, b had waited longer than a"
    assert len(shelf) == 2


def test_room_is_that_of_all_arrays_inside() -> None:
    for thing in (Holder(50), Pair("x", np.zeros(100)), [np.zeros((10, 5)), (np.zeros(50),)]):
        shelf = Shelf(10_000)
        shelf.put(("thing",), thing)
        assert shelf.taken == LEAST + 800


def test_never_more_than_there_is_room_for_but_for_a_single_thing() -> None:
    shelf, rng = Shelf(20_000), np.random.default_rng(0)
    for name in range(300):
        length = int(rng.integers(1, 1_000))
        assert shelf.get((name,), lambda n=length: np.arange(n)).shape == (length,)  # type: ignore[misc]
        assert shelf.taken <= 20_000
    shelf.put(("large",), np.zeros(10_000))
    assert len(shelf) == 1
    assert shelf.get(("large",), lambda: np.zeros(0)).shape == (10_000,)


def test_what_belongs_to_others_goes() -> None:
    shelf = Shelf()
    for owner in "abc":
        shelf.put((owner, "small"), np.zeros(10))
        shelf.put((owner, "large"), np.zeros(100))
    shelf.clear(but=["a", "c"])
    assert shelf.taken == 4 * LEAST + 2 * 880
    assert shelf.get(("c", "large"), lambda: np.zeros(0)).shape == (100,)
    assert shelf.get(("b", "large"), lambda: np.zeros(0)).shape == (0,)


def test_large_things_do_not_push_out_small_ones() -> None:
    """Thousands of answers take less room than one table that each of them takes to make."""
    shelf = Shelf(4 * SMALL)
    for n in range(50):
        shelf.put(("answer", n), np.full(100, n))
    for n in range(10):
        shelf.put(("table", n), np.zeros(SMALL // 8))
    assert all(shelf.get(("answer", n), lambda: np.zeros(0))[0] == n for n in range(50))
    assert shelf.get(("table", 9), lambda: np.ones(1))[0] == 0, "the last one is there"
    assert shelf.get(("table", 0), lambda: np.ones(1))[0] == 1, "the first has made room"
    for n in range(4_000):  # but they do not take all of it
        shelf.put(("more", n), np.zeros(100))
    assert shelf.get(("table", 9), lambda: np.ones(1))[0] == 0
    assert shelf.taken <= shelf.room
