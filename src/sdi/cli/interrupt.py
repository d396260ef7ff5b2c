"""Ctrl-C and a polite kill, answered at once even while a long computation is under way."""

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn, TypeVar

Item = TypeVar("Item")

POLL = 0.1  # seconds between looks at whether a signal has come


class Signals:
    """A context in which SIGINT and SIGTERM are noted in `received` instead of obeyed."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        if threading.current_thread() is threading.main_thread():  # no other may say what a signal does
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.received = number

    def came(self) -> bool:
        return self.received is not None


def in_background(items: Iterator[Item], stop: Callable[[], bool]) -> Iterator[Item]:
    """The same `items`, made in a thread: Python answers no signal while its main thread is inside a computation.

    Ends early once `stop()` is true, and leaves the thread to its last item; after that the process should `leave`.
    """
    made: queue.Queue[tuple[str, Any]] = queue.Queue(maxsize=1)

    def make() -> None:
        try:
            for item in items:
                made.put(("item", item))
            made.put(("end", None))
        except BaseException as error:  # whatever it is, it belongs to the main thread
            made.put(("error", error))

    threading.Thread(target=make, daemon=True).start()
    while not stop():
        try:
            kind, content = made.get(timeout=POLL)
        except queue.Empty:
            continue
        if kind == "error":
            raise content
        if kind == "end":
            return
        yield content


def leave(code: int) -> NoReturn:
    """End the process now: a thread inside a computation would hold up, or crash, an orderly exit."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
