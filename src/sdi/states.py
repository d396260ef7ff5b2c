"""States as arrays by name, for checkpoints: a state is a tree of tuples, and its leaves are arrays and numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_arrays(state: Any) -> dict[str, NDArray[Any]]:
    """The leaves of `state` by their names."""
    return {name: np.asarray(leaf) for name, leaf in _leaves(state, "")}


def from_arrays(like: Any, arrays: Mapping[str, NDArray[Any]], name: str = "") -> Any:
    """A state of the same kinds of leaves as `like`, with these values."""
    if isinstance(like, tuple):
        parts = [from_arrays(part, arrays, name + key) for key, part in _parts(like)]
        return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)
    if like is None:
        return None
    if name not in arrays:
        raise ValueError(f"expected the checkpoint to hold {name}, got {', '.join(arrays)}; start the run again")
    new = arrays[name]
    if isinstance(like, bool | int | float):
        return type(like)(new.item())
    if isinstance(like, np.ndarray):
        return new
    import jax.numpy as jnp  # here, because it takes a second to import and not every state needs it

    return jnp.asarray(new)


def _leaves(state: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(state, tuple):
        for key, part in _parts(state):
            yield from _leaves(part, name + key)
    elif state is not None:
        yield name, state


def _parts(state: tuple[Any, ...]) -> list[tuple[str, Any]]:
    fields = getattr(state, "_fields", None)
    names = [f".{field}" for field in fields] if fields else [f"[{k}]" for k in range(len(state))]
    return list(zip(names, state, strict=True))
