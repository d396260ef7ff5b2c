"""Drawings put causes above effects, keep boxes apart and edges out of them."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from sdi.graphs import BoolMatrix, bidiag, chain, collider, full, jungle, random_dag, tree
from sdi.report.content import Content
from sdi.report.crossings import crossings, net_of, ordered
from sdi.report.curves import at, drawn
from sdi.report.drawing import NARROW, WIDE, drawing
from sdi.report.layers import Sheet, layers_of
from sdi.report.layout import Layout, _nondecreasing, layered

GRAPHS = {
    "chain": chain(6),
    "collider": collider(30),
    "tree": tree(15),
    "bidiag": bidiag(8),
    "jungle": jungle(12),
    "full": full(6),
    "empty": np.zeros((7, 7), dtype=bool),
    "one": np.zeros((1, 1), dtype=bool),
    **{f"random{seed}": random_dag(30, 40, np.random.default_rng(seed)) for seed in range(4)},
}
each_graph = pytest.mark.parametrize("parents", GRAPHS.values(), ids=GRAPHS)
SHEET = Sheet(width=600.0)
Maker = Callable[..., Content]


def layout(parents: BoolMatrix, sheet: Sheet = SHEET) -> Layout:
    sizes = [(50.0 + 7 * (v % 5), 36.0 if v % 3 else 50.0) for v in range(len(parents))]
    return layered(parents, sizes, sheet)


@each_graph
def test_causes_stand_above_their_effects(parents: BoolMatrix) -> None:
    boxes = layout(parents).boxes
    for effect, cause in np.argwhere(parents):
        assert boxes[cause].y + boxes[cause].height / 2 < boxes[effect].y - boxes[effect].height / 2


@each_graph
def test_no_two_boxes_touch_and_all_lie_on_the_sheet(parents: BoolMatrix) -> None:
    made = layout(parents)
    for a, b in itertools.combinations(made.boxes, 2):
        apart = abs(a.x - b.x) - (a.width + b.width) / 2 > 5 or abs(a.y - b.y) - (a.height + b.height) / 2 > 5
        assert apart
    for box in made.boxes:
        assert box.x - box.width / 2 >= 0
        assert box.y - box.height / 2 >= 0
        assert box.x + box.width / 2 <= made.width
        assert box.y + box.height / 2 <= made.height


@each_graph
def test_same_graph_gives_the_same_drawing(parents: BoolMatrix) -> None:
    assert layout(parents) == layout(parents.copy())


@pytest.mark.parametrize("name", ["chain", "tree", "collider", "bidiag", "jungle", "random0", "random1"])
def test_edges_run_from_box_to_box_and_around_the_others(name: str) -> None:
    made = layout(GRAPHS[name])
    lines = drawn(made)
    assert set(lines) == {(j, i) for i, j in np.argwhere(GRAPHS[name]).tolist()}
    cut = 0
    for (cause, effect), line in lines.items():
        start, end = made.boxes[cause], made.boxes[effect]
        np.testing.assert_allclose(line.curve[0][1], start.y + start.height / 2)
        assert 0 <= end.y - end.height / 2 - line.curve[-1][1] < 5
        assert abs(line.curve[0][0] - start.x) < start.width / 2
        assert abs(line.curve[-1][0] - end.x) < end.width / 2
        points = at(line.curve, np.linspace(0, 1, 300))
        for v, box in enumerate(made.boxes):
            inside = (np.abs(points - (box.x, box.y)) < (box.width / 2 - 1, box.height / 2 - 1)).all(axis=1)
            cut += bool(inside.any()) and v not in (cause, effect)
    assert cut == 0


def test_curve_is_the_one_of_de_casteljau() -> None:
    rng = np.random.default_rng(1)
    curve = rng.normal(size=(7, 2))
    for share in (0.0, 0.1, 0.49, 0.5, 0.8, 1.0):
        piece = min(int(2 * share), 1)
        points, t = curve[3 * piece : 3 * piece + 4], 2 * share - piece
        while len(points) > 1:
            points = (1 - t) * points[:-1] + t * points[1:]
        np.testing.assert_allclose(at(curve, [share])[0], points[0])


def test_edges_outside_the_graph_are_drawn_in_every_direction() -> None:
    made = layout(chain(4))
    lines = drawn(made, [(3, 0), (0, 2), (1, 0)])
    assert {(3, 0), (0, 2), (1, 0)} <= set(lines)
    assert all(np.isfinite(line.curve).all() for line in lines.values())


def test_labels_do_not_cover_each_other_in_a_small_graph() -> None:
    spots = [line.label for line in drawn(layout(jungle(7))).values()]
    for (x0, y0), (x1, y1) in itertools.combinations(spots, 2):
        assert abs(x0 - x1) >= 30 or abs(y0 - y1) >= 12


def test_many_causes_of_one_effect_are_laid_in_several_layers() -> None:
    parents, widths = collider(30), [60.0] * 30
    joined = np.ones(30, dtype=bool)
    layers = layers_of(parents, joined, widths, SHEET)
    assert sorted(itertools.chain.from_iterable(layers)) == list(range(30))
    assert max(sum(widths[v] + SHEET.gap for v in layer) for layer in layers) <= SHEET.width + SHEET.gap
    assert layers[-1] == [29]


def test_an_edge_that_is_short_can_be_keeps_its_ends_together() -> None:
    """A late cause does not hang at the top of the sheet with a long edge down to its effect."""
    parents = chain(6)
    parents = np.pad(parents, ((0, 1), (0, 1)))
    parents[5, 6] = True
    boxes = layout(parents).boxes
    assert boxes[6].y == boxes[4].y


@pytest.mark.parametrize(("name", "most"), [("chain", 0), ("tree", 0), ("collider", 0), ("bidiag", 0), ("jungle", 2)])
def test_planar_families_are_drawn_with_hardly_a_crossing(name: str, most: int) -> None:
    parents = GRAPHS[name]
    shuffle = np.random.default_rng(3).permutation(len(parents))
    parents = parents[np.ix_(shuffle, shuffle)]
    net = net_of(
        layers_of(parents, np.ones(len(parents), dtype=bool), [60.0] * len(parents), Sheet()),
        parents,
        [60.0] * len(parents),
        Sheet(),
    )
    assert crossings(ordered(net), net) <= most


@pytest.mark.parametrize("seed", range(4))
def test_order_has_fewer_crossings_than_it_began_with(seed: int) -> None:
    parents = GRAPHS[f"random{seed}"]
    joined = np.asarray(parents.any(axis=0) | parents.any(axis=1))
    net = net_of(layers_of(parents, joined, [60.0] * 30, SHEET), parents, [60.0] * 30, SHEET)
    assert crossings(ordered(net), net) < 0.5 * crossings(net.layers, net)


@pytest.mark.parametrize("seed", range(3))
def test_pooling_is_isotonic_regression(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=12).tolist(), rng.uniform(0.5, 3, 12).tolist()
    expected = isotonic_regression(values, sample_weight=weights)
    np.testing.assert_allclose(_nondecreasing(values, weights), expected, atol=1e-12)


@pytest.mark.parametrize("sheet", [WIDE, NARROW])
def test_sheet_holds_every_line_that_is_shown(make: Maker, sheet: Sheet) -> None:
    """Believed edges without a place in the graph run back up, or over between neighbours, and swing out."""
    plain = make(12, 18)
    back, beliefs = plain.parents.T & (np.arange(12) % 2 == 0), np.array(plain.probabilities)
    beliefs[back] = 0.7
    beliefs[[0, 1], [1, 0]] = np.where(plain.parents[[0, 1], [1, 0]], beliefs[[0, 1], [1, 0]], 0.6)
    made = drawing(replace(plain, probabilities=beliefs), sheet)
    shown = [line for (cause, effect), line in made.edges.items() if beliefs[effect, cause] > 0.5]
    assert len(shown) > plain.parents.sum()
    for line in shown if sheet is NARROW else made.edges.values():
        along = at(line.curve, np.linspace(0, 1, 50))
        assert (along >= 0).all()
        assert (along <= made.layout[:2]).all()
        assert 17 <= line.label[0] <= made.layout.width - 17
    assert {edge[::-1] for edge in made.layout.joints} == {(i, j) for i, j in np.argwhere(plain.parents)}
    for (cause, effect), line in made.edges.items():
        if plain.parents[effect, cause]:
            box = made.layout.boxes[cause]
            assert line.curve[0][1] == pytest.approx(box.y + box.height / 2), "boxes move with their lines"
