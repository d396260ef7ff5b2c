"""Knowledge files: required, forbidden and tier lines, and every fault with its line."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdi.formats.knowledge import read_knowledge

names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=5)


def put(folder: Path, text: str) -> Path:
    path = folder / "known.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_are_edges_that_are_there_and_edges_that_are_not(tmp_path: Path) -> None:
    path = put(tmp_path, "# known\n\nrequired A -> B\n  forbidden B->C\nrequired A->my column\nrequired A -> B\n")
    known = read_knowledge(path, ["A", "B", "C", "my column"])
    assert known.required == (("A", "B"), ("A", "my column"))
    assert known.forbidden == (("B", "C"),)


def test_later_tier_cannot_cause_an_earlier_one(tmp_path: Path) -> None:
    path = put(tmp_path, "tier 10: C\ntier 2: A, B\ntier 1:Z\ntier 2: A\nforbidden A -> B\n")
    expected = {("A", "Z"), ("B", "Z"), ("C", "Z"), ("C", "A"), ("C", "B"), ("A", "B")}
    assert set(read_knowledge(path).forbidden) == expected
    assert len(read_knowledge(path).forbidden) == len(expected)


@given(st.lists(names, min_size=2, max_size=4, unique=True))
@settings(deadline=None)
def test_any_name_can_be_quoted(tmp_path_factory: pytest.TempPathFactory, given_names: list[str]) -> None:
    quoted = ['"' + name.replace('"', '""') + '"' for name in given_names]
    lines = [f"required {quoted[0]} -> {quoted[1]}", f"tier 1: {quoted[0]}", f"tier 2: {', '.join(quoted[1:])}"]
    path = put(tmp_path_factory.mktemp("known"), "\n".join(lines))
    known = read_knowledge(path, given_names)
    assert known.required == ((given_names[0], given_names[1]),)
    assert known.forbidden == tuple((name, given_names[0]) for name in given_names[1:])


def test_byte_order_mark_and_windows_line_ends_are_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_bytes("\ufeffrequired A -> B\r\ntier 1: A\r\n".encode())
    assert read_knowledge(path).required == (("A", "B"),)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("require A -> B", 1, "expected 'required A -> B', 'forbidden A -> B' or 'tier 1: A, B', got 'require A -> B'"),
        ("\n\nrequired A", 3, "got 'required A'; put names that hold '->', ',' or '\"' in double quotes"),
        ("required A -> B -> C", 1, "got 'required A -> B -> C'"),
        ("required -> B", 1, "got 'required -> B'"),
        ("tier one: A", 1, "got 'tier one: A'"),
        ("tier 1 A", 1, "got 'tier 1 A'"),
        ("tier 1: A,,B", 1, "got 'tier 1: A,,B'"),
        ('required "A -> B', 1, "got 'required \"A -> B'"),
        ("# x\nrequired A -> Bb", 2, "expected a known variable, got 'Bb'; did you mean 'B'?"),
        ("forbidden Age -> B", 1, "got 'Age'; the known ones are A, B, C"),
        ("tier 1: A, X", 1, "expected a known variable, got 'X'"),
        ("required A -> A", 1, "expected two different variables, got 'A' twice; drop the line"),
        ("tier 1: A\ntier 2: B, A", 2, "expected one tier for each variable, got a second for 'A'; see line 1"),
        ("forbidden A -> B\nrequired A -> B", 2, "got A -> B, which line 1 rules out; drop one of the two lines"),
        ("required C -> A\ntier 1: A\ntier 2: C", 1, "got C -> A, which line 3 rules out"),
    ],
)
def test_fault_is_told_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = put(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_knowledge(path, ["A", "B", "C"])
    assert str(caught.value).startswith(f"{path}, line {line}: expected ")


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"absent: expected a text file, got 'No such file"):
        read_knowledge(tmp_path / "absent")
    (tmp_path / "latin").write_bytes("required ñ -> B".encode("latin-1"))
    with pytest.raises(ValueError, match="latin: expected text in UTF-8"):
        read_knowledge(tmp_path / "latin")
