from pathlib import Path

import pytest
from experiments.comparison import versions

PROGRAM = '''"""What it is for."""

def double(x):
    """Twice x."""
    return 2 * x  # no more
'''


def test_program_is_the_same_without_its_comments_and_docstrings(tmp_path: Path) -> None:
    said, silent, other = (tmp_path / name for name in ("said.py", "silent.py", "other.py"))
    said.write_text(PROGRAM)
    silent.write_text("def double(x):\n    return 2 * x\n")
    other.write_text("def double(x):\n    return 3 * x\n")
    assert versions.program(said) == versions.program(silent) != versions.program(other)


@pytest.mark.parametrize(
    ("changed", "are_others"),
    [
        ("method/neural/learner.py", {"neural", "auto"}),
        ("method/tables/search.py", {"tables", "auto"}),
        ("method/auto.py", {"auto"}),
        ("method/settings.py", {"neural", "tables", "auto"}),
        ("worlds/neural.py", {"neural", "tables", "auto"}),
        ("cli/app.py", set()),
    ],
)
def test_version_is_another_where_a_method_or_what_it_builds_on_has_changed(
    changed: str, are_others: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "LIBRARY", tmp_path)
    every = ("method/neural/learner.py", "method/tables/search.py", "method/auto.py", "method/settings.py")
    for name in (*every, "worlds/neural.py", "cli/app.py", "graphs.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PROGRAM)
    before = {method: versions.code_version(method) for method in versions.MADE_OF}
    (tmp_path / changed).write_text(PROGRAM.replace("2", "3"))
    after = {method: versions.code_version(method) for method in versions.MADE_OF}
    assert {method for method in before if before[method] != after[method]} == are_others
