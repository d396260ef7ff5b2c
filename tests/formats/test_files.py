"""Files are whole or not there."""

import os
import stat
from pathlib import Path

import pytest

from sdi.formats.files import write_atomically


@pytest.mark.parametrize(
    ("content", "stored"), [("h\u00e9\r\n", b"h\xc3\xa9\r\n"), (b"\x00\xff", b"\x00\xff"), ("", b"")]
)
def test_content_arrives_byte_for_byte_and_alone(tmp_path: Path, content: bytes | str, stored: bytes) -> None:
    write_atomically(tmp_path / "out", content)
    assert (tmp_path / "out").read_bytes() == stored
    assert os.listdir(tmp_path) == ["out"]


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("a longer text from before")
    path.chmod(0o640)
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_gets_the_permissions_of_any_other_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_atomically(tmp_path / "out", "")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "out"
    path.write_text("old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match=r"^cannot write .*out: No space left on device$"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_an_interruption_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "out", "new")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_refuses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # permissions themselves do not stop a superuser
    with pytest.raises(PermissionError, match=rf"out: the folder {tmp_path} is not writable$"):
        write_atomically(tmp_path / "out", "new")


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("absent/out", FileNotFoundError, r"there is no folder .*absent; create it first$"),
        ("file/out", FileNotFoundError, r"there is no folder .*file; create it first$"),
        ("folder", IsADirectoryError, r"it is a folder; give the name of a file$"),
        ("pipe", OSError, r"it is a device or a pipe, which must not be replaced by a file$"),
        ("x" * 300, OSError, r"File name too long"),
    ],
)
def test_an_impossible_place_is_explained(tmp_path: Path, name: str, kind: type[OSError], message: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(kind, match=message):
        write_atomically(tmp_path / name, "new")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "pipe"]
