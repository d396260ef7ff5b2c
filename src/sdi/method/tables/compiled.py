"""Loops that run as machine code: written in plain Python, compiled by Numba when first called, and kept on disk."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The same function, compiled. No reordering of sums and no threads: the same arguments give the same bits."""
    try:
        return cast(F, numba.njit(function, cache=True, error_model="numpy"))
    except RuntimeError:  # there is no folder to keep it in: it is compiled in each process anew
        return cast(F, numba.njit(function, error_model="numpy"))
