"""The lines of a drawing: every edge as a Bezier curve from box to box, and a free spot for its label.

A curve is a list of points: where it starts, then two control points and an end for each piece.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sdi.report.layout import Box, Layout, Point

Curve: TypeAlias = NDArray[np.float64]  # [1 + 3 pieces, 2]
Edge: TypeAlias = tuple[int, int]  # (cause, effect)

LABEL = (34.0, 15.0)  # the room that a probability such as 0.98 takes
TRIES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78, 0.15)  # how far along the edge a label may stand
MOST_PLACED = 300  # labels that look for a free spot; with more of them there is none
ARROW = 3.0  # between the tip of an arrow and its box


class Drawn(NamedTuple):
    """An edge on the sheet."""

    curve: Curve
    label: Point


def drawn(layout: Layout, others: Iterable[Edge] = ()) -> dict[Edge, Drawn]:
    """The edges of the layout around the boxes, then `others` (less believed ones, in any direction) as they come."""
    starts, ends = _ports(layout)
    curves: dict[Edge, Curve] = {}
    for edge, joints in layout.joints.items():
        curves[edge] = _around([starts[edge], *joints, ends[edge]], edge, layout.boxes)
    for cause, effect in others:
        curves[cause, effect] = _direct(layout.boxes[cause], layout.boxes[effect])
    spots = _labels(curves, layout.boxes)
    return {edge: Drawn(curve, spots[edge]) for edge, curve in curves.items()}


def _ports(layout: Layout) -> tuple[dict[Edge, Point], dict[Edge, Point]]:
    """Where each edge leaves the lower side of its cause and meets the upper side of its effect."""
    starts: dict[Edge, Point] = {}
    ends: dict[Edge, Point] = {}
    for v, box in enumerate(layout.boxes):
        leaving = [edge for edge in layout.joints if edge[0] == v]
        meeting = [edge for edge in layout.joints if edge[1] == v]

        def next_x(edge: Edge) -> float:
            joints = layout.joints[edge]
            return joints[0][0] if joints else layout.boxes[edge[1]].x

        def last_x(edge: Edge) -> float:
            joints = layout.joints[edge]
            return joints[-1][0] if joints else layout.boxes[edge[0]].x

        for edges, key, side, ports in ((leaving, next_x, 1, starts), (meeting, last_x, -1, ends)):
            y = box.y + side * (box.height / 2 + (ARROW if side < 0 else 0))
            for edge, x in zip(sorted(edges, key=key), _spread(len(edges), box), strict=True):
                ports[edge] = (x, y)
    return starts, ends


def _spread(count: int, box: Box) -> list[float]:
    """So many places along a side of `box`, about its middle."""
    step = min(16.0, (box.width - 18) / max(count, 1))
    return [box.x + step * (k - (count - 1) / 2) for k in range(count)]


def _around(points: list[Point], edge: Edge, boxes: tuple[Box, ...]) -> Curve:
    """Through all points as smoothly as can be; upright past every layer only where it would cut a box else."""
    smooth = _flowing(points)
    if len(points) == 2:
        return smooth
    others = np.array([box for v, box in enumerate(boxes) if v not in edge])  # [boxes, (x, y, width, height)]
    along = at(smooth, np.linspace(0, 1, 16 * len(points)))  # [samples, 2]
    near = np.abs(along[:, None] - others[:, :2]) < others[:, 2:] / 2 + 3
    if not near.all(axis=2).any():
        return smooth
    tallest = max(box.height for box in boxes) / 2 + 3
    passing = [(x, y + side) for x, y in points[1:-1] for side in (-tallest, tallest)]
    return _flowing([points[0], *passing, points[-1]])


def _flowing(points: list[Point]) -> Curve:
    """Downwards through all points, upright at both ends, never swinging out beyond a point."""
    xs, ys = np.array(points).T
    across, down = np.diff(xs), np.diff(ys)
    steep = across / down
    slopes = np.zeros(len(xs))
    same = steep[:-1] * steep[1:] > 0  # elsewhere the curve turns back, upright
    slopes[1:-1][same] = 2 / (1 / steep[:-1][same] + 1 / steep[1:][same])  # the harmonic mean keeps it monotone
    result = [points[0]]
    for k, height in enumerate(down.tolist()):
        third = height * (0.38 if slopes[k] or slopes[k + 1] else 0.5)
        leaving = (float(xs[k] + slopes[k] * third), float(ys[k] + third))
        arriving = (float(xs[k + 1] - slopes[k + 1] * third), float(ys[k + 1] - third))
        result += [leaving, arriving, points[k + 1]]
    return np.array(result)


def _direct(cause: Box, effect: Box) -> Curve:
    """From side to side: down, over to a neighbour, or back up around the right."""
    if effect.y > cause.y + 1:
        start = (cause.x, cause.y + cause.height / 2)
        end = (effect.x, effect.y - effect.height / 2 - ARROW)
        bend = (end[1] - start[1]) / 2
        return np.array([start, (start[0], start[1] + bend), (end[0], end[1] - bend), end])
    if effect.y < cause.y - 1:
        start = (cause.x + cause.width / 2, cause.y)
        end = (effect.x + effect.width / 2 + ARROW, effect.y)
        bow = max(start[0], end[0]) + 24 + 0.12 * (start[1] - end[1])
        return np.array([start, (bow, start[1]), (bow, end[1]), end])
    rise = 26 + 0.10 * abs(effect.x - cause.x)
    start, end = (cause.x, cause.y - cause.height / 2), (effect.x, effect.y - effect.height / 2 - ARROW)
    return np.array([start, (start[0], start[1] - rise), (end[0], end[1] - rise), end])


def at(curve: Curve, shares: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The points ``[n, 2]`` after these shares of the curve's pieces."""
    pieces = (len(curve) - 1) // 3
    place = np.asarray(shares) * pieces
    piece = np.minimum(place.astype(int), pieces - 1)
    t = place - piece
    weights = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])  # [4, n]
    points = curve[3 * piece + np.arange(4)[:, None]]  # [4, n, 2]
    return np.asarray((weights[:, :, None] * points).sum(axis=0))


def _labels(curves: dict[Edge, Curve], boxes: Sequence[Box]) -> dict[Edge, Point]:
    """For each curve the first spot that is free of boxes and of earlier labels; its middle where none is."""
    # what a centre must keep out of: x, y, half width, half height
    blocked = np.zeros((len(boxes) + len(curves), 4))
    for k, box in enumerate(boxes):
        blocked[k] = (box.x, box.y, (box.width + LABEL[0]) / 2, (box.height + LABEL[1]) / 2)
    spots: dict[Edge, Point] = {}
    for k, (edge, curve) in enumerate(curves.items(), start=len(boxes)):
        choices, first = at(curve, TRIES), 0
        if len(spots) < MOST_PLACED:
            near = np.abs(choices[:, None] - blocked[:k, :2]) < blocked[:k, 2:]  # [tries, blocked, 2]
            first = int(np.argmin((near[..., 0] & near[..., 1]).any(axis=1)))
        x, y = choices[first].tolist()
        spots[edge] = (x, y)
        blocked[k] = (x, y, *LABEL)
    return spots
