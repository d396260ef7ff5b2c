"""Files that are whole or not there."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, content: bytes | str) -> None:
    """Put `content` (text as UTF-8) at `path` in one step: a reader sees the old file or the new one, never a part.

    A link keeps pointing where it did, and a file that is replaced keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    data = content.encode("utf-8") if isinstance(content, str) else content
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {target.parent}; create it first")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder; give the name of a file")
    if target.exists() and not target.is_file():
        raise OSError(f"cannot write {path}: it is a device or a pipe, which must not be replaced by a file")
    # in the same folder, because a move is atomic only within one file system
    temporary = target.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        _write_through(temporary, data)
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except PermissionError as error:
        raise PermissionError(f"cannot write {path}: the folder {target.parent} is not writable") from error
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # moved away after success, never there in a folder that refused it
            temporary.unlink()
    _sync_folder(target.parent)


def _write_through(path: Path, data: bytes) -> None:
    """A new file on the disk itself, with the permissions that the user's mask asks for."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """The new name on the disk itself, where the system can do that for folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders, and the file itself is whole already
        return
    try:
        os.fsync(handle)
    except OSError:  # some network file systems refuse, likewise without harm
        pass
    finally:
        os.close(handle)
