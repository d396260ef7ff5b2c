"""The figures: real files, the same bytes at any time, and names to the letter."""

import io
import xml.etree.ElementTree as ET
from collections.abc import Callable

import matplotlib as mpl
import matplotlib.image
import numpy as np
import pytest

from sdi.report import Content
from sdi.report.drawing import drawing
from sdi.report.figures import beliefs_png, graph_png, graph_svg, training_png

Maker = Callable[..., Content]


def texts(svg: bytes) -> list[str]:
    return ["".join(each.itertext()).strip() for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("draw", [graph_png, beliefs_png, training_png])
def test_png_can_be_read_and_is_not_blank(make: Maker, draw: Callable[[Content], bytes]) -> None:
    pixels = matplotlib.image.imread(io.BytesIO(draw(make())), format="png")
    assert min(pixels.shape[:2]) > 150
    assert np.ptp(pixels[..., :3]) > 0.5


@pytest.mark.parametrize("draw", [graph_png, graph_svg, beliefs_png, training_png])
def test_same_content_gives_the_same_bytes(
    make: Maker, draw: Callable[[Content], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = draw(make())
    monkeypatch.setattr("time.time", lambda: 1e9)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "5")
    assert draw(make()) == first


def test_svg_holds_every_name_and_probability_as_text(make: Maker) -> None:
    content = make(5, 5, names=("Raf", "Mek", "Erk", "<Akt> & co", "$x$ and $y$"))
    found = texts(graph_svg(content))
    assert set(content.names) <= set(found)
    for cause, effect in content.edges:
        assert f"{content.probabilities[effect, cause]:.2f}" in found


def test_hostile_names_leave_every_figure_whole(hostile: Content) -> None:
    labels = {label.strip() for label in drawing(hostile, faint=False).labels} - {""}
    assert labels <= set(texts(graph_svg(hostile)))
    for draw in (graph_png, beliefs_png, training_png):
        assert draw(hostile).startswith(b"\x89PNG")


def test_settings_of_the_user_are_neither_used_nor_changed(make: Maker) -> None:
    plain = graph_svg(make())
    with mpl.rc_context({"text.usetex": True, "font.size": 40, "svg.fonttype": "path"}):
        assert graph_svg(make()) == plain
        assert mpl.rcParams["text.usetex"]


@pytest.mark.parametrize("size", [1, 2, 125])
def test_any_number_of_variables_is_drawn(make: Maker, size: int) -> None:
    content = make(size, size // 2, 0, history=())
    assert graph_png(content).startswith(b"\x89PNG")
    assert beliefs_png(content).startswith(b"\x89PNG")
    assert training_png(content) is None
