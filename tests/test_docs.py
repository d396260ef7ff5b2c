"""Examples in the documentation do what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import sdi

PACKAGE = Path(sdi.__file__).parent
GUIDES = [PACKAGE.parents[1] / "README.md", *sorted(PACKAGE.parents[1].joinpath("docs").glob("*.md"))]
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>>" in path.read_text()
]


@pytest.mark.parametrize("path", GUIDES, ids=[path.name for path in GUIDES])
def test_examples_in_the_guide_run(path: Path) -> None:
    assert doctest.testfile(str(path), module_relative=False).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_module_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_guide_to_worlds_has_examples() -> None:
    examples = doctest.DocTestParser().get_examples((PACKAGE.parents[1] / "docs" / "worlds.md").read_text())
    assert len(examples) > 15
