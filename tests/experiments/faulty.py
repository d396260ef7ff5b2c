"""Methods that go wrong in every way the comparison must survive, and two that say what they were given."""

import hashlib
import os
import signal
import time
from typing import Any

import numpy as np
from experiments.comparison.result import Result


def seen(dataset: Any, seed: int, seconds: float) -> Result:
    """An empty graph; the note holds a fingerprint of every row, the declared targets and the kind of world."""
    rows = [dataset.observe(5, np.random.default_rng(0))]
    if hasattr(dataset, "observational"):
        rows = [dataset.observational, *(environment.rows for environment in dataset.environments)]
    found = hashlib.sha256(b"".join(each.astype(int).tobytes() for each in rows)).hexdigest()[:8]
    targets = [environment.target for environment in dataset.environments]
    size = len(dataset.names)
    return Result(parents=np.zeros((size, size), dtype=bool), note=f"{type(dataset).__name__} {found} {targets}")


def crash(dataset: Any, seed: int, seconds: float) -> Result:
    raise RuntimeError("the ground gave way")


def abort(dataset: Any, seed: int, seconds: float) -> Result:
    os.abort()


def eat(dataset: Any, seed: int, seconds: float) -> Result:
    eaten = []
    while True:
        eaten.append(np.ones(2**24))


def spin(dataset: Any, seed: int, seconds: float) -> Result:
    while True:
        pass


def sleep(dataset: Any, seed: int, seconds: float) -> Result:
    time.sleep(120)
    return seen(dataset, seed, seconds)


def told_so(dataset: Any, seed: int, seconds: float) -> Result:
    """As the system ends a process whose CPU seconds are spent, by its own count."""
    os.kill(os.getpid(), signal.SIGXCPU)
    return seen(dataset, seed, seconds)


def give_up(dataset: Any, seed: int, seconds: float) -> Result:
    raise TimeoutError("would take a year")
