"""Which code made a row: a fingerprint of programs, comments and docstrings left out."""

import ast
import hashlib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import sdi

LIBRARY = Path(sdi.__file__).parent
COMMON = ("method/beliefs.py", "method/settings.py", "worlds/*.py", "graphs.py")
MADE_OF = {"neural": ("method/neural/*.py",), "tables": ("method/tables/*.py",), "auto": ("method/**/*.py",)}


def program(path: str | Path) -> str:
    """The program in a file without its comments and docstrings."""
    tree = ast.parse(Path(path).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def fingerprint(programs: Iterable[str], *options: str) -> str:
    return hashlib.sha256("".join([*programs, *options]).encode()).hexdigest()[:8]


def code_version(method: str) -> str:
    """The version of the library with a fingerprint of a method and all that it builds on."""
    files = sorted({path for pattern in (*COMMON, *MADE_OF[method]) for path in LIBRARY.glob(pattern)})
    return f"{version('sdi')}, {fingerprint(program(path) for path in files)}"
