"""Whether many parents do more together than one by one: against rows of which it is known."""

import numpy as np
import pytest
from scipy.stats import norm

from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings
from sdi.method.tables.doubts import MANY_PARENTS, PLAINLY
from sdi.method.tables.iterate import iterate
from sdi.method.tables.phase2_scatter import together
from sdi.worlds.dataset import Dataset, FiniteEnvironment
from sdi.worlds.world import Rows

EACH = np.array([1.5, -1.0, 1.2, -1.3, 0.9])


def rows_of(n: int, seed: int, jointly: float = 0.0) -> Rows:
    """Five coins and a sixth that each of them pushes one way; if the first two agree it is also pushed `jointly`."""
    rng = np.random.default_rng(seed)
    causes = rng.integers(0, 2, (n, 5))
    logit = (causes - 0.5) @ EACH + jointly * np.where(causes[:, 0] == causes[:, 1], 1, -1)
    return np.c_[causes, rng.random(n) < 1 / (1 + np.exp(-logit))].astype(np.uint8)


def scatter(rows: Rows, parents: tuple[int, ...]) -> float:
    return together((rows, np.ones(len(rows))), len(rows[0]) - 1, parents, (2,) * len(rows[0]), 12)


def test_effects_that_add_up_scatter_as_chance_has_it() -> None:
    found = [scatter(rows_of(2_000, seed), (0, 1, 2, 3, 4)) for seed in range(40)]
    assert abs(np.mean(found)) < 3 / np.sqrt(40)
    assert max(found) < norm.isf(0.01 / 40)
    assert scatter(rows_of(2_000, 0), ()) == 0


def test_what_parents_do_together_scatters_more() -> None:
    assert scatter(rows_of(2_000, 0, jointly=0.5), (0, 1, 2, 3, 4)) > 2 * PLAINLY


@pytest.mark.parametrize("parents", [(0, 1, 2, 3, 4), (4, 2, 0, 3, 1)])
def test_it_does_not_depend_on_who_is_asked_first_or_on_rows_being_counted_together(parents: tuple[int, ...]) -> None:
    rows = rows_of(500, 1, jointly=0.3)
    different, times = np.unique(rows, axis=0, return_counts=True)
    once = together((different, times.astype(float)), 5, parents, (2,) * 6, 12)
    assert once == pytest.approx(scatter(rows, (0, 1, 2, 3, 4)), abs=0.02)


def test_a_variable_is_named_if_its_many_parents_do_more_together() -> None:
    """Networks are then asked: what five causes do together a table has to learn row by row."""
    crowded, names = {}, tuple("ABCDEF")
    known = Knowledge(required=[(cause, "F") for cause in "ABCDE"])
    for jointly in (0.0, 0.5):
        touched = rows_of(300, 9, jointly)
        touched[:, 0] = np.random.default_rng(3).random(300) < 0.9
        environments = (FiniteEnvironment("e", touched, None),)
        data = Dataset(names, (("0", "1"),) * 6, rows_of(4_000, 5, jointly), environments)
        settings = Settings(method="tables", chains=2, sweeps=8, iterations=1)
        (state, _), *_ = iterate(data, settings, known, seed=0)
        assert not state.strained.any()
        assert state.graph[5].sum() == MANY_PARENTS
        crowded[jointly] = np.flatnonzero(state.crowded).tolist()
    assert crowded == {0.0: [], 0.5: [5]}
