"""Layers: who may import whom. Read from the source itself, so that nothing has to be run.

``method`` sees worlds through their protocol alone: no files, no printing, no truth. Dependencies point one way.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sdi

ROOT = Path(sdi.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# What the files of each part of the package may import of ours. A part without a line may import anything of ours.
ALLOWED = {
    "sdi.method": ("sdi.method", "sdi.worlds.world", "sdi.graphs"),
    "sdi.graphs": (),
    "sdi.metrics": ("sdi.graphs",),
    "sdi.formats": ("sdi.formats", "sdi.graphs"),
    "sdi.networks": ("sdi.formats",),
    "sdi.worlds": ("sdi.worlds", "sdi.graphs", "sdi.formats.bif", "sdi.networks"),
    "sdi.report": ("sdi.report", "sdi.graphs", "sdi.method.discover", "sdi.worlds", "sdi.formats.files"),
}
# The method takes arrays and gives arrays: neither its caller's files nor the screen are any of its business.
BANNED_IN_METHOD = {
    *("os", "sys", "io", "pathlib", "shutil", "tempfile", "subprocess", "socket", "urllib", "json", "csv", "pickle"),
    *("logging", "rich", "typer", "pandas", "pyarrow", "matplotlib", "sklearn", "gadjid"),
}
BANNED_CALLS = {"print", "open", "input", "eval", "exec", "breakpoint"}
OUTSIDE = {"experiments", "benchmarks", "tests"}


def module_name(path: Path, root: Path = ROOT) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str, module: str, is_package: bool) -> Iterator[str]:
    """Every module that `source` imports anywhere, functions included, by its full name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)  # the name may be a module itself


def calls(source: str) -> Iterator[str]:
    """The plain names that `source` calls."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def within(name: str, part: str) -> bool:
    return name == part or name.startswith(part + ".")


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """Everything in `source` that its layer does not allow."""
    found = []
    imported = set(imports(source, module, is_package))
    found += [f"{name} lies outside the package" for name in imported if name.split(".")[0] in OUTSIDE]
    for part, allowed in ALLOWED.items():
        if within(module, part):
            # "from sdi.graphs import Graph" yields sdi.graphs.Graph too: allowed since sdi.graphs is. Of a bare
            # "from sdi import networks" the parent, sdi, says nothing; sdi.networks is what counts.
            ours = {name for name in imported if within(name, "sdi")} - {"sdi"}
            for name in sorted(ours):
                parent_of_allowed = any(within(choice, name) and f"{name}." in choice for choice in allowed)
                if not parent_of_allowed and not any(within(name, choice) for choice in allowed):
                    found.append(f"imports {name}")
    if within(module, "sdi.method"):
        found += [f"imports {name}" for name in sorted(imported) if name.split(".")[0] in BANNED_IN_METHOD]
        found += [f"calls {name}" for name in calls(source) if name in BANNED_CALLS]
    return found


@pytest.mark.parametrize("path", FILES, ids=[module_name(path) for path in FILES])
def test_file_keeps_to_its_layer(path: Path) -> None:
    assert violations(path.read_text(), module_name(path), path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from sdi.worlds import simulated", "sdi.method.beliefs"),
        ("from sdi.worlds.simulated import true_target", "sdi.method.neural.learner"),
        ("from ..worlds.dataset import Dataset", "sdi.method.beliefs"),
        ("from .. import metrics", "sdi.method.beliefs"),
        ("def f():\n    from sdi.metrics import shd", "sdi.method.beliefs"),
        ("import os.path", "sdi.method.beliefs"),
        ("from pathlib import Path", "sdi.method.beliefs"),
        ("import pandas as pd", "sdi.method.beliefs"),
        ("import matplotlib.pyplot", "sdi.method.beliefs"),
        ("print(1)", "sdi.method.beliefs"),
        ("def f():\n    return open('x')", "sdi.method.beliefs"),
        ("import sdi.method.beliefs", "sdi.worlds.neural"),
        ("from sdi.formats.edges import read_edges", "sdi.worlds.named"),
        ("from sdi.metrics import shd", "sdi.worlds.named"),
        ("from sdi.worlds.dataset import Dataset", "sdi.formats.tables"),
        ("import sdi.method", "sdi.formats.tables"),
        ("from sdi.cli import main", "sdi.formats.tables"),
        ("import sdi.worlds.world", "sdi.graphs"),
        ("from sdi.runs import Run", "sdi.report.content"),
        ("from sdi.metrics import shd", "sdi.report.page"),
        ("from experiments import tables", "sdi.cli.app"),
        ("import benchmarks.sampling", "sdi.cli.app"),
    ],
)
def test_violation_is_noticed(source: str, module: str) -> None:
    assert violations(source, module)


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from sdi.worlds.world import World, Rows", "sdi.method.beliefs"),
        ("from sdi.worlds import world", "sdi.method.beliefs"),
        ("from sdi.method.settings import Settings", "sdi.method.neural.learner"),
        ("from ..settings import Settings", "sdi.method.neural.learner"),
        ("import jax\nimport numpy as np\nimport optax", "sdi.method.neural.learner"),
        ("from sdi import networks\nfrom sdi.graphs import Graph", "sdi.worlds.named"),
        ("from sdi.method.beliefs import Beliefs\nfrom sdi import metrics\nprint(1)", "sdi.cli.app"),
    ],
)
def test_what_is_allowed_passes(source: str, module: str) -> None:
    assert violations(source, module) == []


def test_every_part_of_the_package_is_there() -> None:
    """So that a renamed folder does not leave its line in ALLOWED without effect."""
    modules = [module_name(path) for path in FILES]
    assert all(any(within(module, part) for module in modules) for part in ALLOWED)


def test_every_file_says_its_job_in_its_first_line() -> None:
    for path in FILES:
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        if path.stat().st_size > 1:
            assert docstring, path
            assert docstring.splitlines()[0].endswith((".", ":")), path
