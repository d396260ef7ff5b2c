"""The page in a real browser: it opens without a complaint, does what it says, and shows names as text."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from sdi.report import Chains, Content, Reference
from sdi.report.page import page as render
from sdi.report.text import shown

Maker = Callable[..., Content]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 375, "height": 812}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless, with a profile of its own that is thrown away."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no Chromium is installed (looked for {', '.join(BROWSERS)})")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield started
        started.close()


class Opened:
    """A page, and everything that it complained about or asked for."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page, self.complaints, self.requests = page, list[str](), list[str]()
        page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}") or dialog.dismiss())
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        self.address = path.as_uri()

    def edges(self) -> set[tuple[int, int]]:
        """(cause, effect) of the edges that can be seen."""
        read = "found => found.map(e => [+e.dataset.cause, +e.dataset.effect])"
        return {(a, b) for a, b in self.page.locator("svg g.edge[data-cause]:visible").evaluate_all(read)}

    def width(self) -> int:
        return int(self.page.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"))


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    contexts = []

    def opened(content: Content, viewport: dict[str, int] = DESKTOP, **options: object) -> Opened:
        path = tmp_path / f"report{len(contexts)}.html"
        path.write_text(render(content), encoding="utf-8")
        context = browser.new_context(viewport=viewport, **options)  # type: ignore[arg-type]
        contexts.append(context)
        return Opened(context.new_page(), path)

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def everything(make: Maker) -> Content:
    """A content with all that there can be."""
    return make(
        11,
        16,
        7,
        removed=(("X2", "X1"),),
        warnings=("a warning",),
        compared=({"method": "neural", "log_likelihood": -3.25, "edges": 16, "seconds": 70.0}, {"method": "tables"}),
        chains=Chains(1.01, 812.0),
        reference=Reference("A network", (("X1", "X2"), ("X3", "X4")), {"e1": ("X1",)}, "Of a paper."),
    )


# -------------------------------------------------------------------------------------------------- opening


@pytest.mark.parametrize(
    ("kind", "viewport"),
    [
        *(("five", PHONE), ("bare", PHONE), ("everything", PHONE), ("hostile", PHONE)),
        *(("fifty", DESKTOP), ("everything", DESKTOP), ("large", DESKTOP)),
    ],
)
def test_page_opens_without_a_complaint_and_asks_for_nothing(
    kind: str,
    viewport: dict[str, int],
    open_page: Open,
    make: Maker,
    everything: Content,
    bare: Content,
    hostile: Content,
) -> None:
    contents = {
        "five": lambda: make(5, 5),
        "fifty": lambda: make(50, 70, 16),
        "everything": lambda: everything,
        "bare": lambda: bare,
        "hostile": lambda: hostile,
        "large": lambda: make(85, 90, 210, history=()),
    }
    opened = open_page(contents[kind](), viewport)
    assert opened.page.locator("svg g.node").count() >= 2
    assert opened.complaints == []
    assert [url for url in opened.requests if not url.startswith("data:")] == [opened.address]
    assert opened.width() <= viewport["width"]  # wide things scroll in boxes of their own


def test_nothing_but_its_own_script_can_run_in_it(open_page: Open, make: Maker) -> None:
    opened = open_page(make())
    opened.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1'; document.body.append(s);"
        " document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hit = 2\">') }"
    )
    opened.page.wait_for_timeout(100)
    assert opened.page.evaluate("window.hit") is None
    assert any("Content Security Policy" in text for text in opened.complaints)


def test_hostile_names_are_shown_as_text(open_page: Open, hostile: Content) -> None:
    opened = open_page(hostile)
    page = opened.page
    for v, name in enumerate(hostile.names):
        page.locator("svg g.node").nth(v).dispatch_event("click")
        assert page.locator("#details h3").text_content() == shown(name)
    assert page.locator("#title").text_content() == hostile.names[0]
    headers = page.locator("#belief-matrix thead th span").all_text_contents()
    assert sorted(headers) == sorted(shown(name) for name in hostile.names)
    rows = page.locator("#target-matrix tbody th bdi").all_text_contents()
    assert rows == [shown(each.name) for each in hostile.environments]
    assert page.locator("#warning-list li").all_text_contents() == [shown(text) for text in hostile.warnings]
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert opened.complaints == []


def test_names_that_run_from_right_to_left_leave_the_arrow_where_it_is(open_page: Open, make: Maker) -> None:
    parents = np.array([[False, False], [True, False]])
    beliefs = np.where(parents, 0.9, 0.0)
    content = make(2, 1, 0, names=("שלום", "עולם"), parents=parents, probabilities=beliefs, bootstrap=None, history=())
    row = open_page(content).page.locator("#edge-list button").first
    cause, effect = (row.locator("bdi").nth(k).bounding_box() for k in (0, 1))
    assert cause is not None
    assert effect is not None
    assert cause["x"] < effect["x"]


# -------------------------------------------------------------------------------------------------- slider


def test_slider_changes_the_edges_that_are_shown(open_page: Open, make: Maker) -> None:
    content = make(11, 16)
    opened = open_page(content)
    assert opened.edges() == set(content.edges)
    assert opened.page.locator("#edge-list li").count() == len(content.edges)
    for threshold in (0.1, 0.3, 0.7, 0.85):
        opened.page.locator("#threshold").fill(str(threshold))
        expected = {(int(j), int(i)) for i, j in np.argwhere(content.probabilities.round(4) > threshold)}
        assert opened.edges() == expected
        assert opened.page.locator("#threshold-value").text_content() == f"{threshold:.2f}"
        assert opened.page.locator("#edge-count").text_content() == f"{len(expected)} edges above {threshold:.2f}"
        assert opened.page.locator("#edge-list li").count() == len(expected)


def test_slider_works_from_the_keyboard(open_page: Open, make: Maker) -> None:
    opened = open_page(make(11, 16))
    before = opened.edges()
    opened.page.locator("#threshold").focus()
    opened.page.keyboard.press("End")
    assert opened.edges() < before


def test_edges_below_one_half_and_those_of_cycles_look_different(open_page: Open, make: Maker) -> None:
    parents = np.array([[False, False, False], [True, False, False], [False, False, False]])
    beliefs = np.array([[0, 0.6, 0.3], [0.9, 0, 0], [0, 0, 0]])
    names = ("A", "B", "C")
    content = make(3, 1, parents=parents, probabilities=beliefs, names=names, removed=(("B", "A"),), history=())
    opened = open_page(content)
    assert opened.edges() == {(0, 1), (1, 0)}
    opened.page.locator("#threshold").fill("0.2")
    assert opened.edges() == {(0, 1), (1, 0), (2, 0)}
    style = "found => found.map(e => getComputedStyle(e.querySelector('.line')).strokeDasharray)"
    dashes = opened.page.locator("svg g.edge[data-cause]:visible").evaluate_all(style)
    assert len(set(dashes)) == 3
    assert "not together with the others" in (opened.page.locator("#key").text_content() or "")


def test_belief_just_above_one_half_is_in_the_graph_that_is_shown(open_page: Open, make: Maker) -> None:
    parents = np.array([[False, False], [True, False]])
    content = make(2, 1, parents=parents, probabilities=np.where(parents, 0.500001, 0.0), bootstrap=None, history=())
    assert open_page(content).edges() == {(0, 1)}


# ------------------------------------------------------------------------------------------------- details


def test_pointing_at_a_variable_tells_causes_effects_states_and_environments(open_page: Open, make: Maker) -> None:
    content = make(5, 6)
    opened = open_page(content)
    cause, effect = content.edges[0]
    opened.page.locator("svg g.node").nth(effect).hover()
    text = opened.page.locator("#details").inner_text()
    assert content.names[effect] in text
    assert "low, medium and high" in text
    assert f"{content.names[cause]}\n{content.probabilities[effect, cause]:.2f}" in text
    for environment in content.touched(effect):
        assert environment in text


def test_focus_walks_through_variables_with_arrow_keys_and_tells_the_same(open_page: Open, make: Maker) -> None:
    opened = open_page(make(5, 6))
    page = opened.page
    assert page.locator("svg g.node[tabindex='0']").count() == 1
    page.locator("svg g.node[tabindex='0']").focus()
    first = page.locator("#details h3").text_content()
    page.keyboard.press("ArrowRight")
    second = page.locator("#details h3").text_content()
    assert first != second
    page.keyboard.press("ArrowLeft")
    assert page.locator("#details h3").text_content() == first
    assert page.locator("svg g.node[tabindex='0']").count() == 1


def test_edge_in_the_list_points_at_the_edge_in_the_drawing(open_page: Open, make: Maker) -> None:
    content = make(5, 6)
    opened = open_page(content)
    opened.page.locator("#edge-list button").first.focus()
    strongest = max(content.edges, key=lambda edge: float(content.probabilities[edge[1], edge[0]]))
    chosen = opened.page.locator("svg g.edge.on")
    assert (chosen.get_attribute("data-cause"), chosen.get_attribute("data-effect")) == tuple(map(str, strongest))
    assert content.bootstrap is not None
    share = round(content.bootstrap.shares[strongest[1], strongest[0]] * 10)
    assert f"In {share} of 10 refits" in opened.page.locator("#details").inner_text()


def test_inferred_targets_are_marked_on_the_variables(open_page: Open, make: Maker) -> None:
    content = make(5, 6, 4)
    nodes = open_page(content).page.locator("svg g.node")
    for v in range(5):
        touched = content.touched(v)
        assert nodes.nth(v).locator(".mark").count() == bool(touched)
        if touched:
            mark = nodes.nth(v).locator(".mark").text_content() or ""
            assert mark.startswith(touched[0])
            assert mark.endswith(f"+{len(touched) - 1}") == (len(touched) > 1)


def test_matrix_shows_every_belief_and_frames_the_edges_in_both_orders(open_page: Open, make: Maker) -> None:
    content = make(5, 6)
    page = open_page(content).page
    for order in ("#order-causal", "#order-given"):
        page.locator(order).click()
        cells = page.locator("#belief-matrix td:not(.self)")
        assert cells.count() == 20
        assert page.locator("#belief-matrix td.framed").count() == len(content.edges)
    cause, effect = content.edges[0]
    cell = page.locator("#belief-matrix tbody tr").nth(effect).locator("td").nth(cause)
    assert cell.get_attribute("aria-label", timeout=1000) is not None
    cell.hover()
    assert f"{content.probabilities[effect, cause]:.2f}" in page.locator("#belief-readout").inner_text()


def test_sections_without_content_are_not_shown(open_page: Open, everything: Content, bare: Content) -> None:
    optional = ("#warnings", "#targets", "#forming", "#compared", "#reference")
    full, empty = open_page(everything).page, open_page(bare).page
    for section in optional:
        assert full.locator(section).is_visible()
        assert not empty.locator(section).is_visible()
    assert "Nothing in this section was known to the method" in full.locator("#reference").inner_text()
    assert full.locator("#command").text_content() == everything.command


# ------------------------------------------------------------------------------------ phone, print and dark


def test_fifty_variables_fit_a_phone_without_moving_the_page_sideways(open_page: Open, make: Maker) -> None:
    names = [f"a rather long name of variable {k}" for k in range(50)]
    opened = open_page(make(50, 70, 16, names=names), PHONE, is_mobile=True, has_touch=True)
    assert opened.width() == 375
    matrix = opened.page.locator("#belief-matrix")
    assert matrix.evaluate("e => e.scrollWidth > e.clientWidth && e.getBoundingClientRect().right <= innerWidth")
    opened.page.locator("#fit").click()
    sheet = opened.page.locator("#sheet")
    assert sheet.evaluate("e => e.querySelector('svg').getBoundingClientRect().width <= e.clientWidth")


def test_turning_the_phone_draws_the_graph_for_the_other_width(open_page: Open, make: Maker) -> None:
    opened = open_page(make(20, 25), PHONE)
    upright = opened.page.locator("#sheet svg").get_attribute("viewBox")
    opened.page.set_viewport_size({"width": 1280, "height": 700})
    opened.page.wait_for_function(
        "before => document.querySelector('#sheet svg').getAttribute('viewBox') !== before", arg=upright
    )
    assert opened.edges()
    assert opened.complaints == []


def test_printing_hides_the_slider_and_shows_all_else(open_page: Open, everything: Content) -> None:
    opened = open_page(everything, color_scheme="dark")
    page = opened.page
    assert page.locator("#threshold").is_visible()
    page.emulate_media(media="print")
    for tool in ("#threshold", "#fit", "#labels", "#order-given", "#details"):
        assert not page.locator(tool).is_visible()
    for kept in ("#sheet svg", "#belief-matrix table", "#charts svg >> nth=0", "#command", "#edge-list"):
        assert page.locator(kept).is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")
    assert opened.complaints == []


def test_dark_page_is_dark_and_readable(open_page: Open, make: Maker) -> None:
    def contrast(scheme: str) -> tuple[float, float]:
        page = open_page(make(), color_scheme=scheme).page
        read = "s => getComputedStyle(document.querySelector(s)).{}.match(/[0-9.]+/g).slice(0, 3).map(Number)"
        back = luminance(page.evaluate(read.format("backgroundColor"), ".card"))
        words = [luminance(page.evaluate(read.format("color"), s)) for s in ("h2", ".hint", "#edge-count", ".arrow")]
        return back, min((max(back, each) + 0.05) / (min(back, each) + 0.05) for each in words)

    light, readable = contrast("light")
    dark, readable_too = contrast("dark")
    assert light > 0.9
    assert dark < 0.05
    assert min(readable, readable_too) >= 4.5


def luminance(rgb: list[float]) -> float:
    """As the accessibility guidelines define it."""
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_methods_are_compared_and_the_chosen_one_stands_out(open_page: Open, everything: Content) -> None:
    page = open_page(everything).page
    assert page.locator("#compared-table tr.best").inner_text().split("\t") == [
        "neural networks",
        "-3.2500",
        "16",
        "1 min 10 s",
    ]
    other = open_page(replace(everything, method="tables")).page
    assert other.locator("#compared-table tr.best td").first.inner_text() == "probability tables"
