"""The run folder: what is written, what is refused, and how it goes on after any cut."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdi.formats import run
from sdi.formats.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from sdi.formats.edges import read_edges, read_environments

SETTINGS = b'{"seed": 1}\n'
ARRAYS: dict[str, Any] = {
    ".iteration": np.asarray(7),
    ".weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    ".flag": np.asarray(True),
    ".targets": np.full((4, 3), 0.1, np.float32),
}
LIKE = {**ARRAYS, ".targets": np.zeros((0, 3), np.float32)}


def saved(folder: Path, arrays: dict[str, Any] = ARRAYS) -> Path:
    path = folder / run.CHECKPOINT
    save_checkpoint(path, Checkpoint(arrays, 7, 1.25), SETTINGS)
    return path


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


# -------------------------------------------------------------------------------------------- checkpoints


def test_checkpoint_comes_back_bit_for_bit(tmp_path: Path) -> None:
    loaded = load_checkpoint(saved(tmp_path), SETTINGS, LIKE)
    assert (loaded.iteration, loaded.seconds) == (7, 1.25)
    assert list(loaded.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert loaded.arrays[name].dtype == array.dtype
        assert loaded.arrays[name].tobytes() == array.tobytes()


def test_checkpoint_is_arrays_and_json_only(tmp_path: Path) -> None:
    with np.load(saved(tmp_path), allow_pickle=False) as file:
        about = json.loads(file["about"].tobytes())
        assert all(file[name].dtype != object for name in file.files)
    assert set(about) == {"settings", "iteration", "seconds", "leaves"}


def test_array_of_objects_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="expected numbers"):
        saved(tmp_path, {".bad": np.array([None, "text"], dtype=object)})
    assert not list(tmp_path.iterdir())


def resized(name: str, array: Any) -> dict[str, Any]:
    return {**LIKE, name: array}


@pytest.mark.parametrize(
    ("like", "settings", "message"),
    [
        (resized(".weights", np.zeros((2, 4), np.float32)), SETTINGS, "another version"),
        (resized(".weights", np.zeros((2, 3), np.float64)), SETTINGS, "another version"),
        (resized(".weights", np.zeros((2, 3, 1), np.float32)), SETTINGS, "another version"),
        (resized(".targets", np.zeros((0, 5), np.float32)), SETTINGS, "another version"),
        (resized(".targets", np.zeros((5, 3), np.float32)), SETTINGS, "another version"),
        ({**LIKE, ".new": np.asarray(0)}, SETTINGS, "another version"),
        (dict(reversed(LIKE.items())), SETTINGS, "another version"),
        (LIKE, b'{"seed": 2}\n', "other settings"),
    ],
)
def test_checkpoint_of_something_else_is_refused(
    tmp_path: Path, like: dict[str, Any], settings: bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        load_checkpoint(saved(tmp_path), settings, like)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a zip file",
        npz(),
        npz(about=np.zeros(3, np.uint8)),
        npz(about=np.frombuffer(b'{"leaves": [["a", "<f4", [1]]]}', np.uint8)),
        npz(about=np.frombuffer(b"[1]", np.uint8)),
        npz(about=np.array([None], dtype=object)),
    ],
    ids=["empty", "text", "no members", "no JSON", "missing leaf", "no mapping", "pickle"],
)
def test_foreign_file_is_no_checkpoint(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / run.CHECKPOINT
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"checkpoint\.npz: expected a checkpoint.*delete it"):
        load_checkpoint(path, SETTINGS, LIKE)


def test_damage_anywhere_in_a_checkpoint_is_noticed_or_harmless(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            loaded = load_checkpoint(path, SETTINGS, LIKE)
        except ValueError:
            continue
        assert all(loaded.arrays[name].tobytes() == array.tobytes() for name, array in ARRAYS.items())


def test_checkpoint_that_was_cut_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 50):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="damaged or foreign"):
            load_checkpoint(path, SETTINGS, LIKE)


# ------------------------------------------------------------------------------------------ begin and go on


def test_folder_with_a_run_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    run.begin(tmp_path, {"seed": 1})
    with pytest.raises(ValueError, match=r"already holds a run.*sdi discover --resume .*--force"):
        run.begin(tmp_path, {"seed": 2})
    assert run.read_settings(tmp_path) == {"seed": 1}


def test_results_without_settings_are_not_overwritten_either(tmp_path: Path) -> None:
    (tmp_path / run.EDGES).write_text("mine")
    with pytest.raises(ValueError, match=r"already holds a run \(edges\.csv\)"):
        run.begin(tmp_path, {"seed": 2})
    assert (tmp_path / run.EDGES).read_text() == "mine"


def test_force_replaces_the_run_and_nothing_else(tmp_path: Path) -> None:
    run.begin(tmp_path, {"seed": 1})
    for name in (*run.ALL[1:], "notes.txt"):
        (tmp_path / name).write_text("old")
    run.begin(tmp_path, {"seed": 2}, force=True)
    assert run.read_settings(tmp_path) == {"seed": 2}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", run.SETTINGS]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "holds no run"),
        ("{", "expected JSON"),
        ("[]", "expected the settings of a run"),
        ("\udcff", "expected JSON"),
    ],
)
def test_unreadable_settings_are_an_error(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / run.SETTINGS).write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=message):
        run.read_settings(tmp_path)


def test_leftovers_of_a_cut_write_are_swept_and_nothing_else(tmp_path: Path) -> None:
    kept = ["mine.tmp", ".0123.tmp", ".0123456789abcdef.tmp.csv", "edges.csv"]
    for name in (*kept, ".0123456789abcdef.tmp"):
        (tmp_path / name).touch()
    run.sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


@pytest.mark.skipif(os.name == "nt", reason="no such locks there")
def test_second_process_is_kept_out(tmp_path: Path) -> None:
    with run.locked(tmp_path), pytest.raises(ValueError, match="another process"), run.locked(tmp_path):
        pass
    with run.locked(tmp_path):
        pass


# ------------------------------------------------------------------------------------------------ history


def journal_at(folder: Path, iteration: int, content: bytes) -> run.Journal:
    """A journal opened where the checkpoint is at `iteration` and the history holds `content`."""
    run.begin(folder, {"seed": 1})
    (folder / run.HISTORY).write_bytes(content)
    if iteration:
        settings = (folder / run.SETTINGS).read_bytes()
        save_checkpoint(folder / run.CHECKPOINT, Checkpoint(ARRAYS, iteration, 0.5), settings)
    return run.Journal(folder, LIKE)


def lines(*iterations: int) -> bytes:
    return b"".join(b'{"iteration": %d, "loss": 0.25}\n' % k for k in iterations)


@pytest.mark.parametrize(
    ("iteration", "content", "left"),
    [
        (0, b"", b""),
        (0, lines(1, 2), b""),
        (2, lines(1, 2), lines(1, 2)),
        (2, lines(1, 2, 3, 4), lines(1, 2)),
        (2, lines(1, 2) + b'{"iteration": 3, "lo', lines(1, 2)),
        (2, lines(1, 2, 3) + b"\0\0\0", lines(1, 2)),
    ],
)
def test_history_goes_on_after_the_checkpoint(tmp_path: Path, iteration: int, content: bytes, left: bytes) -> None:
    with journal_at(tmp_path, iteration, content) as journal:
        assert (tmp_path / run.HISTORY).read_bytes() == left
        assert journal.last == ({"iteration": iteration, "loss": 0.25} if iteration else None)
        journal.add({"iteration": iteration + 1, "loss": float("nan")})
    added = b'{"iteration": %d, "loss": null}\n' % (iteration + 1)
    assert (tmp_path / run.HISTORY).read_bytes() == left + added


@pytest.mark.parametrize(
    "content",
    [b"", lines(1), lines(1, 3), lines(1) + b'{"iteration": 2', lines(1) + b"[2]\n", b"\xff\n" + lines(2)],
    ids=["empty", "short", "gap", "torn", "no record", "no text"],
)
def test_history_that_lost_records_is_an_error(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ValueError, match=r"history\.jsonl.*restore"):
        journal_at(tmp_path, 2, content)
    assert (tmp_path / run.HISTORY).read_bytes() == content


def test_checkpoint_is_due_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(run.time, "monotonic", lambda: now)
    with journal_at(tmp_path, 0, b"") as journal:
        now = 100.9
        assert not journal.due()
        now = 101.0
        assert journal.due()
        journal.save(Checkpoint(ARRAYS, 0, 1.0))
        assert not journal.due()


# ------------------------------------------------------------------------------------------------ results


@pytest.mark.parametrize("metrics", [None, {"shd": 1, "auroc": float("nan")}])
def test_results_can_be_read_back(tmp_path: Path, metrics: dict[str, Any] | None) -> None:
    names = ("A", 'a "quoted", name')
    probabilities = np.array([[0, 0.25], [0.75, 0]], np.float32)
    paths = run.write_results(
        tmp_path,
        names=names,
        probabilities=probabilities,
        environments={"e1": [0.5, 1.0]},
        graph={"names": names, "edges": []},
        metrics=metrics,
    )
    assert sorted(paths) == sorted(tmp_path.iterdir())
    assert read_edges(tmp_path / run.EDGES)[0] == names
    np.testing.assert_array_equal(read_edges(tmp_path / run.EDGES)[1], probabilities)
    assert read_environments(tmp_path / run.ENVIRONMENTS) == {"e1": {"A": 0.5, names[1]: 1.0}}
    assert json.loads((tmp_path / run.GRAPH).read_text()) == {"names": list(names), "edges": []}
    assert (tmp_path / run.METRICS).exists() == (metrics is not None)
    if metrics is not None:
        assert json.loads((tmp_path / run.METRICS).read_text()) == {"shd": 1, "auroc": None}
