"""States as arrays: whatever a method keeps comes back from its arrays bit for bit, or it is said what lacks."""

from functools import cache
from typing import Any

import jax
import numpy as np
import pytest

from sdi.method import auto
from sdi.method.discover import initial_state
from sdi.method.neural import iterate as neural
from sdi.method.settings import Settings
from sdi.method.tables import iterate as tables
from sdi.states import from_arrays, to_arrays
from sdi.worlds.dataset import freeze
from sdi.worlds.named import named_world

QUICK: dict[str, Any] = {
    "interventions": 2,
    "rows_per_intervention": 20,
    "observational_rows": 100,
    "batch": 16,
    "fit_steps": 5,
    "hidden": 4,
    "target_steps": 2,
    "target_configurations": 2,
    "scoring_configurations": 2,
    "chains": 2,
    "sweeps": 4,
}


@cache
def world_of(kind: str) -> Any:
    world = named_world("chain3", rng=np.random.default_rng(0), redrawn=kind == "redrawn")
    if kind == "redrawn":
        return world
    return freeze(world, observational=80, environments=3, rows=20, rng=np.random.default_rng(0)).dataset


def state_of(method: str, kind: str) -> Any:
    """Of tables after an iteration; of networks, which would have to be compiled, random ones."""
    if method == "auto":
        return auto.State(
            state_of("tables", kind), state_of("neural", kind), np.array([-1.0, np.nan]), np.ones(2, bool)
        )
    if method == "tables":
        return next(tables.iterate(world_of(kind), Settings(**QUICK)))[0]
    start = np.random.default_rng(0).random((3, 3)).astype(np.float32) / 2
    state = neural.initial_state(world_of(kind), Settings(**QUICK), 0, start)
    return state._replace(iteration=4, stable=1 / 3, targets=state.targets + np.float32(0.25))


def leaves(state: Any) -> list[tuple[type, Any, bytes]]:
    return [(type(leaf), np.asarray(leaf).dtype, np.asarray(leaf).tobytes()) for leaf in jax.tree.leaves(state)]


@pytest.mark.parametrize(
    ("method", "kind"), [("tables", "finite"), ("tables", "redrawn"), ("neural", "finite"), ("auto", "finite")]
)
def test_state_comes_back_from_its_arrays_bit_for_bit(method: str, kind: str) -> None:
    state, settings = state_of(method, kind), Settings(method=method, **QUICK)  # type: ignore[arg-type]
    arrays = to_arrays(state)
    assert all(isinstance(array, np.ndarray) and array.dtype.kind in "biuf" for array in arrays.values())
    again = from_arrays(initial_state(world_of(kind), settings, 1, tuple(arrays)), arrays)
    assert jax.tree.structure(again) == jax.tree.structure(state)
    assert leaves(again) == leaves(state)


def test_auto_without_networks_comes_back_without_them() -> None:
    settings = Settings(**QUICK)
    state = auto.initial_state(world_of("finite"), settings, 0)
    arrays = to_arrays(state)
    assert not any("neural" in name for name in arrays)
    again = from_arrays(initial_state(world_of("finite"), settings, 0, tuple(arrays)), arrays)
    assert again.neural is None
    assert leaves(again) == leaves(state)


def test_leaves_have_the_names_of_their_places() -> None:
    state = tables.initial_state(world_of("finite"), Settings(**QUICK), 0)
    assert list(to_arrays(state)) == [f".{field}" for field in tables.State._fields]
    assert list(to_arrays(auto.State(state, None, np.zeros(2), np.zeros(2, bool))))[-3:] == [
        *(".tables.crowded", ".verdict", ".settled")
    ]
    assert {name: int(array) for name, array in to_arrays((1, (2, 3), None)).items()} == {
        "[0]": 1,
        "[1][0]": 2,
        "[1][1]": 3,
    }


def test_leaves_are_of_the_kind_that_is_asked_for() -> None:
    arrays = {name: np.array([7]) for name in ("[0]", "[1]", "[2]", "[3]")}
    whole, number, plain, traced = from_arrays((1, 1.0, np.zeros(1), jax.numpy.zeros(1)), arrays)
    assert (type(whole), whole, type(number), number) == (int, 7, float, 7.0)
    assert isinstance(plain, np.ndarray)
    assert isinstance(traced, jax.Array)


@pytest.mark.parametrize("missing", [".iteration", ".r_hat", ".strained"])
def test_leaf_that_lacks_is_named_with_a_remedy(missing: str) -> None:
    state = tables.initial_state(world_of("finite"), Settings(**QUICK), 0)
    arrays = {name: array for name, array in to_arrays(state).items() if name != missing}
    with pytest.raises(ValueError, match=rf"expected the checkpoint to hold \{missing}, got .*; start the run again"):
        from_arrays(state, arrays)
