"""The page as text: complete in itself, the same for the same content, and nothing in it that a name could break."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sdi.report import FILES, Content, write_report
from sdi.report.page import page

Maker = Callable[..., Content]


class Elements(HTMLParser):
    """Every element with its attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.found[-1][0] if self.found else "", []).append(data)


def data_of(text: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def test_page_refers_to_nothing_outside_itself(make: Maker) -> None:
    elements = Elements(page(make()))
    for tag, attributes in elements.found:
        for name in ("src", "href", "action", "data", "srcset"):
            assert attributes.get(name) in (None, "#graph", "data:,"), (tag, attributes)
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", "".join(elements.texts["style"]))


def test_policy_allows_the_script_and_the_style_of_the_page_alone(make: Maker) -> None:
    text = page(make())
    policy = next(a["content"] for t, a in Elements(text).found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for rule, pattern in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>")):
        (content,) = re.findall(pattern, text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_data_survive_the_page_whatever_they_hold(hostile: Content) -> None:
    text = page(hostile)
    assert data_of(text)["names"][:6] == list(hostile.names[:6])
    inside = text[text.index('id="data">') + 10 : text.index("</script>", text.index('id="data">'))]
    assert not re.search(r"[<>&\u2028\u2029]", inside)


def test_hostile_names_add_no_element(hostile: Content, make: Maker) -> None:
    tags = [tag for tag, _ in Elements(page(hostile)).found]
    assert tags == [tag for tag, _ in Elements(page(make())).found]


def test_same_content_gives_the_same_page(make: Maker) -> None:
    assert page(make(7, 9)) == page(make(7, 9))


def test_report_is_a_page_and_four_figures(make: Maker, tmp_path: Path) -> None:
    paths = write_report(tmp_path, make())
    assert [path.name for path in paths] == list(FILES)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_without_a_history_there_is_no_figure_of_it(bare: Content, make: Maker, tmp_path: Path) -> None:
    write_report(tmp_path, make())
    paths = write_report(tmp_path, bare)
    assert "training.png" not in {path.name for path in paths}
    assert not (tmp_path / "training.png").exists()


def test_error_while_drawing_leaves_the_folder_as_it_was(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(content: Content) -> bytes:
        raise MemoryError("too large")

    monkeypatch.setattr("sdi.report.training_png", fail)
    with pytest.raises(MemoryError):
        write_report(tmp_path, make())
    assert list(tmp_path.iterdir()) == []


def test_full_disk_leaves_no_part_of_a_file(make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(tmp_path, make(5))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(path: Path, data: bytes) -> None:
        path.write_bytes(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sdi.formats.files._write_through", full)
    with pytest.raises(OSError, match=r"cannot write .*report.html: No space left on device"):
        write_report(tmp_path, make(6))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
