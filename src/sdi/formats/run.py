"""The run folder: what a discovery leaves on disk, and how it goes on from there.

``settings.json`` comes first and says what the run is made of; ``history.jsonl`` gains a line at every iteration;
``checkpoint.npz`` is where to go on from; ``bootstrap.jsonl`` gains a line at every refit; the others are results,
written when the run ends. All but the lines are written whole or not at all, and a checkpoint holds arrays and JSON,
nothing that could run.
"""

import json
import math
import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import ArrayLike

from sdi.formats.checkpoint import Checkpoint, Like, load_checkpoint, save_checkpoint
from sdi.formats.edges import write_edges, write_environments
from sdi.formats.files import write_atomically

SETTINGS, HISTORY, CHECKPOINT = "settings.json", "history.jsonl", "checkpoint.npz"
EDGES, GRAPH, ENVIRONMENTS, METRICS = "edges.csv", "graph.json", "environments.csv", "metrics.json"
REFITS, SHARES = "bootstrap.jsonl", "bootstrap.csv"
REPORT = ("report.html", "graph.png", "graph.svg", "beliefs.png", "training.png")
ALL = (SETTINGS, CHECKPOINT, HISTORY, EDGES, GRAPH, ENVIRONMENTS, METRICS, REFITS, SHARES, *REPORT)
PAUSE = 1.0  # seconds from one checkpoint to the next, at least

_LEFTOVER = re.compile(r"\.[0-9a-f]{16}\.tmp")  # of a write that was cut short


# ------------------------------------------------------------------------------------------ begin and go on


def begin(folder: Path, made_of: Mapping[str, Any], *, force: bool = False) -> None:
    """Make `folder` that of a new run. One that holds a run already is refused, unless `force` empties it first."""
    check_free(folder, force=force)
    clear(folder)
    write_atomically(folder / SETTINGS, as_json(made_of))


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(f"cannot make the folder {folder}: {error.strerror}; choose another --out") from error


def clear(folder: Path) -> None:
    """Remove the run in `folder` and nothing else, the settings first: without them the rest is no run any more."""
    for name in ALL:
        (folder / name).unlink(missing_ok=True)
    sweep(folder)


def check_free(folder: Path, *, force: bool = False) -> None:
    """ValueError where a new run would overwrite something."""
    there = [name for name in ALL if (folder / name).exists()]
    if not there or force:
        return
    go_on = f"go on with `{how_to_go_on(folder)}`, " if SETTINGS in there else ""
    raise ValueError(
        f"{folder} already holds a run ({', '.join(there)}); {go_on}choose another folder, "
        "or add --force to start over and lose it"
    )


def how_to_go_on(folder: Path) -> str:
    return f"sdi discover --resume {shlex.quote(str(folder))}"


def read_settings(folder: Path) -> dict[str, Any]:
    """What the run in `folder` is made of."""
    path = folder / SETTINGS
    if not path.is_file():
        raise ValueError(f"{folder} holds no run: there is no {path}; start one with `sdi discover WORLD --out DIR`")
    try:
        settings = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, got {error}; restore it or start over with --force") from error
    if not isinstance(settings, dict):
        raise ValueError(f"{path}: expected the settings of a run, got {type(settings).__name__}; restore it")
    return settings


def sweep(folder: Path) -> None:
    """Remove what a killed process left half written."""
    for path in folder.iterdir():
        if _LEFTOVER.fullmatch(path.name):
            path.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of `folder`, where the system can; the lock dies with its process."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise ValueError(f"another process is at work in {folder}; wait for it or stop it first") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(handle)


# ------------------------------------------------------------------------------------- history and journal


class Journal:
    """The history and the checkpoint of a run under way; a context, to be used under `locked`."""

    def __init__(self, folder: Path, like: Like) -> None:
        """Go on from the checkpoint, if there is one, of a state `like` this; records beyond it are dropped."""
        self._folder, self._settings = folder, (folder / SETTINGS).read_bytes()
        path = folder / CHECKPOINT
        self.checkpoint = load_checkpoint(path, self._settings, like) if path.exists() else None
        self.last = _trim(folder / HISTORY, self.checkpoint.iteration if self.checkpoint else 0)
        self._saved_at = time.monotonic()
        self._file: BinaryIO = (folder / HISTORY).open("ab")

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, record: Mapping[str, Any]) -> None:
        """A line for one iteration."""
        self._file.write(as_json(record, indent=None).encode())
        self._file.flush()
        self.last = dict(record)

    def due(self) -> bool:
        """Whether the last checkpoint is old enough for another."""
        return time.monotonic() - self._saved_at >= PAUSE

    def save(self, checkpoint: Checkpoint) -> None:
        os.fsync(self._file.fileno())  # no checkpoint may be ahead of its history
        save_checkpoint(self._folder / CHECKPOINT, checkpoint, self._settings)
        self._saved_at = time.monotonic()


def read_history(folder: Path) -> tuple[dict[str, Any], ...]:
    """The records of all iterations so far."""
    lines = (folder / HISTORY).read_bytes().splitlines(keepends=True)
    return tuple(record for record in map(_record, lines) if record is not None)


def read_refits(folder: Path) -> list[dict[str, Any]]:
    """The refits so far, each once; a line that a kill cut short does not count."""
    path = folder / REFITS
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return list({record["refit"]: record for record in map(_record, lines) if record and "refit" in record}.values())


def add_refit(folder: Path, refit: Mapping[str, Any]) -> None:
    """A line for one refit, after a line break where a kill left none."""
    path = folder / REFITS
    cut = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size
    with path.open("ab") as file:
        file.write((b"\n" if cut else b"") + as_json(refit, indent=None).encode())


def _trim(path: Path, iteration: int) -> dict[str, Any] | None:
    """Cut the history down to its first `iteration` records; the last of them."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    record = None
    for k, line in enumerate(lines[:iteration], start=1):
        record = _record(line)
        if record is None or record.get("iteration") != k:
            raise ValueError(f"{path}, line {k}: expected the record of iteration {k}, got something else; restore it")
    if len(lines) < iteration:
        raise ValueError(f"{path}: expected the records of {iteration} iterations, got {len(lines)}; restore the file")
    if len(lines) > iteration:
        write_atomically(path, b"".join(lines[:iteration]))
    return record


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and line.endswith(b"\n") else None


# ------------------------------------------------------------------------------------------------ results


def write_results(
    folder: Path,
    *,
    names: Sequence[str],
    probabilities: ArrayLike,
    environments: Mapping[str, ArrayLike],
    graph: Mapping[str, Any],
    metrics: Mapping[str, Any] | None,
    shares: ArrayLike | None = None,
) -> tuple[Path, ...]:
    """What was found, matrices being [child, parent] and `environments` [M] each; the paths of the files."""
    write_edges(folder / EDGES, names, probabilities)
    write_environments(folder / ENVIRONMENTS, names, environments)
    write_atomically(folder / GRAPH, as_json(graph))
    if metrics is not None:
        write_atomically(folder / METRICS, as_json(metrics))
    if shares is not None:
        write_edges(folder / SHARES, names, shares, "share")
    also = [name for name, given in ((METRICS, metrics), (SHARES, shares)) if given is not None]
    return tuple(folder / name for name in (EDGES, GRAPH, ENVIRONMENTS, *also))


def as_json(value: object, indent: int | None = 2) -> str:
    """`value` as text that ends in a line break; what is no finite number becomes null, since JSON knows none."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False) + "\n"


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
