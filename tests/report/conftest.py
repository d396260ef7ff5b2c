"""Contents for reports: made up, so that nothing has to be learned first."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from sdi.graphs import random_dag
from sdi.report import Bootstrap, Condition, Content

Maker = Callable[..., Content]

# What a column of somebody's table may be called.
HOSTILE = (
    "<script>window.hit = 1</script>",
    "</script><img src=x onerror='window.hit = 2'>",
    "\"quotes\" & 'quotes'",
    "שלום עולם",
    "日本語の変数",
    "$x_1$ \\frac{1}{2}",
    "a\nline\u2028break\u202eturned\x1b[31m",
    "{{data}} ${7*7} <!--",
    "n" * 80,
    " ",
)


def made_up(
    size: int = 5, edges: float = 5, conditions: int = 3, *, names: Sequence[str] | None = None, **changes: Any
) -> Content:
    """A random graph with beliefs as they are after a run, and a few in doubt."""
    rng = np.random.default_rng(size)
    parents = random_dag(size, edges, rng) if size > 1 else np.zeros((1, 1), dtype=bool)
    beliefs = np.where(parents, rng.uniform(0.52, 1, (size, size)), 0.48 * rng.uniform(0, 1, (size, size)) ** 8)
    np.fill_diagonal(beliefs, 0)
    targets = rng.uniform(0, 0.2, (conditions, size))
    for row in targets:
        row[rng.integers(size)] = 0.9
    history = []
    for k in range(1, 9):
        then = 0.5 + (beliefs - 0.5) * k / 8
        record = {"iteration": k, "undecided": 20 - k, "loss": 5 / k, "seconds": float(k)}
        history.append({**record, "probabilities": then.round(4).tolist()})
    given: dict[str, Any] = {
        "title": "cells.csv",
        "names": tuple(names or (f"X{k + 1}" for k in range(size))),
        "cardinalities": (3,) * size,
        "states": (("low", "medium", "high"),) * size,
        "probabilities": beliefs,
        "parents": parents,
        "environments": tuple(Condition(f"e{k + 1}", 100 + k) for k in range(conditions)),
        "targets": targets,
        "observational": 500,
        "reason": "the beliefs had settled",
        "iterations": 8,
        "seconds": 8.0,
        "history": tuple(history),
        "settings": {"iterations": 60, "fit_betas": [0.9, 0.999], "seconds": None},
        "bootstrap": Bootstrap(np.round(beliefs, 1), 10),
        "seed": 1,
        "command": "sdi discover cells.csv --environment condition --out results --seed 1",
        "versions": {"sdi": "0.1.0"},
    }
    return Content(**given | changes)


@pytest.fixture(scope="session")
def make() -> Maker:
    return made_up


@pytest.fixture(scope="session")
def hostile() -> Content:
    """Every name, state, environment and text of it tries something."""
    size = len(HOSTILE)
    return made_up(
        size,
        14,
        4,
        names=HOSTILE,
        title=HOSTILE[0],
        states=(HOSTILE[:3],) * size,
        environments=tuple(Condition(name, 10, (HOSTILE[1],)) for name in HOSTILE[:4]),
        warnings=HOSTILE,
        settings={HOSTILE[0]: HOSTILE[1]},
        command=HOSTILE[1],
        reason=HOSTILE[0],
    )


@pytest.fixture(scope="session")
def bare() -> Content:
    """As little as there can be: two variables, no edge, no environment, no history."""
    nothing = np.zeros((2, 2))
    return Content(
        title="t", names=("A", "B"), cardinalities=(2, 2), probabilities=nothing, parents=nothing.astype(bool)
    )
