"""Checkpoints: where a run was, as arrays and JSON in one file, tied to the settings beside it."""

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdi.formats.files import write_atomically


class Checkpoint(NamedTuple):
    """The arrays of a state by name, in order, after so many iterations and seconds."""

    arrays: dict[str, NDArray[Any]]
    iteration: int
    seconds: float


def save_checkpoint(path: Path, checkpoint: Checkpoint, settings: bytes) -> None:
    """Write `checkpoint`, with a mark that ties it to `settings`."""
    for name, array in checkpoint.arrays.items():
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{name}: expected numbers, got {array.dtype}; a checkpoint holds nothing else")
    about = {
        "settings": _mark(settings),
        "iteration": checkpoint.iteration,
        "seconds": checkpoint.seconds,
        "leaves": [[name, array.dtype.str, list(array.shape)] for name, array in checkpoint.arrays.items()],
    }
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    leaves = {f"leaf_{k}": array for k, array in enumerate(checkpoint.arrays.values())}
    buffer = io.BytesIO()
    np.savez(buffer, about=text, **leaves)  # type: ignore[arg-type]  # no name here is that of its option
    write_atomically(path, buffer.getvalue())


Like: TypeAlias = Mapping[str, ArrayLike] | Callable[[tuple[str, ...]], Mapping[str, ArrayLike]]


def load_checkpoint(path: Path, settings: bytes, like: Like) -> Checkpoint:
    """The checkpoint at `path`; ValueError unless it is of `settings` and has the names, types and shapes of `like`.

    An array without rows in `like` stands for any number of rows. Where what there must be depends on what there is,
    `like` is a function of the names in the file.
    """
    remedy = "delete it, and the run begins again when it is resumed"
    content = path.read_bytes()
    try:
        checkpoint, mark, listed = _load(content)
    except Exception as error:  # a damaged file makes the reader of zip files raise almost anything
        raise ValueError(f"{path}: expected a checkpoint, got a damaged or foreign file ({error}); {remedy}") from error
    if mark != _mark(settings):
        raise ValueError(f"{path}: this checkpoint belongs to other settings than those beside it; {remedy}")
    arrays = checkpoint.arrays
    wanted = like(tuple(arrays)) if callable(like) else like
    expected = {name: np.asarray(each) for name, each in wanted.items()}
    if listed != [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]:
        raise ValueError(f"{path}: the arrays of this checkpoint are not those it lists; {remedy}")
    if list(arrays) != list(expected) or not all(_fits(arrays[name], expected[name]) for name in expected):
        raise ValueError(f"{path}: this checkpoint is of another version of the method; {remedy}")
    return checkpoint


def _load(content: bytes) -> tuple[Checkpoint, str, list[Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        about = json.loads(file["about"].tobytes())
        arrays = {name: file[f"leaf_{k}"] for k, (name, _, _) in enumerate(about["leaves"])}
    return Checkpoint(arrays, int(about["iteration"]), float(about["seconds"])), about["settings"], about["leaves"]


def _fits(array: NDArray[Any], like: NDArray[Any]) -> bool:
    if array.dtype != like.dtype or array.ndim != like.ndim:
        return False
    return array.shape[1:] == like.shape[1:] if like.shape[:1] == (0,) else array.shape == like.shape


def _mark(settings: bytes) -> str:
    return hashlib.sha256(settings).hexdigest()
