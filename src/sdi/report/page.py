"""The page: report.html, complete in itself, so that it can be opened anywhere and sends nothing."""

import base64
import hashlib
import html
import re
from importlib.metadata import version
from importlib.resources import files

from sdi.report.content import Content
from sdi.report.embedded import as_script, embedded
from sdi.report.text import shown

SCRIPTS = ("dom.js", "graph.js", "matrix.js", "lines.js", "sections.js")
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def page(content: Content) -> str:
    """`content` as one HTML page with its own styles, scripts and data."""
    style = _asset("style.css")
    script = "(() => {\n" + "\n".join(map(_asset, SCRIPTS)) + "})();\n"
    parts = {
        # Nothing may be fetched, and nothing may run but the very script below: not even what a name smuggles in.
        "policy": f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "generator": f"sdi {version('sdi')}",
        "title": html.escape(shown(content.title)),
        "style": style,
        "script": script,
        "data": as_script(embedded(content)),
    }
    # in one pass, so that what is filled in is not itself searched for places
    return _PLACE.sub(lambda place: parts[place[1]], _asset("template.html"))


def _asset(name: str) -> str:
    return files("sdi.report").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
