"""Bins: numbers cut into categories, every row of a table by the same cut.

A rule is written ``N[:quantile|:uniform][:log]``: into how many bins, each with as many rows as the next (quantile,
unless said otherwise) or each as wide as the next (uniform), of the numbers or of their logarithms. ``none`` leaves
the numbers as they are. With ``COLUMN=`` in front a rule is for that column alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

How = Literal["quantile", "uniform"]
Given: TypeAlias = "int | str | Sequence[str] | Mapping[str, int | str | None] | None"

MOST_BINS = 256


@dataclass(frozen=True)
class Rule:
    """How a column of numbers is cut."""

    count: int
    how: How = "quantile"
    log: bool = False


class Bins(NamedTuple):
    """The rule for columns of numbers in general, and for some in particular; None is no cut."""

    general: Rule | None = None
    columns: Mapping[str, Rule | None] = {}

    def rule(self, name: str) -> Rule | None:
        return self.columns.get(name, self.general)


def bins_from(given: Given) -> Bins:
    """Rules as a user gives them: for all columns of numbers, for some by name, or a list of texts as typed."""
    if given is None:
        return Bins()
    if isinstance(given, Mapping):
        return Bins(None, {name: _rule(rule) for name, rule in given.items()})
    general, columns = None, {}
    seen = set()
    for text in (given,) if isinstance(given, int | str) else given:
        name, equals, rule = str(text).rpartition("=")
        if name in seen:
            what = f"column {name!r}" if equals else "all columns"
            raise ValueError(f"bins: expected one rule for {what}, got two; give one of them")
        seen.add(name)
        if equals:
            columns[name] = _rule(rule)
        else:
            general = _rule(rule)
    return Bins(general, columns)


def _rule(given: int | str | None) -> Rule | None:
    """The rule written as `given`; None where that is 'none'."""
    count, *words = (part.strip() for part in str(given).split(":"))
    if count.lower() == "none" and not words:
        return None
    how = [word for word in words if word in get_args(How)]
    log = words.count("log")
    digits = count if count.isascii() and count.isdigit() else "0"
    if not 2 <= int(digits) <= MOST_BINS or len(how) > 1 or log > 1 or len(how) + log < len(words):
        raise ValueError(
            f"bins: expected N[:quantile|:uniform][:log] with N from 2 to {MOST_BINS}, such as 3 or 4:uniform:log, "
            f"or none; got {str(given)!r}"
        )
    return Rule(int(count), "uniform" if "uniform" in how else "quantile", bool(log))


def edges_of(ordered: NDArray[np.float64], counts: NDArray[np.integer[Any]], rule: Rule) -> tuple[float, ...]:
    """Where numbers are cut that take the values `ordered` (finite, ascending) `counts` times each.

    Bin k holds those with k edges at or below them. No bin is empty, so there may be fewer than asked for. Of all
    numbers that make the same cut an edge is one with few digits.
    """
    shares = np.arange(1, rule.count) / rule.count
    if rule.how == "quantile":  # the same for numbers and their logarithms
        below = np.cumsum(counts)[:-1] / counts.sum()  # share of the rows below the cut before each value but the first
        places = [1 + int(np.abs(below - share).argmin()) for share in shares]
        exact = [(float(ordered[place - 1]) + float(ordered[place])) / 2 for place in places]
    else:
        low, high = (np.log(ordered[[0, -1]]) if rule.log else ordered[[0, -1]]).tolist()
        inner = low + shares * (high - low)
        exact = (np.exp(inner) if rule.log else inner).tolist()
        places = [min(max(int(np.searchsorted(ordered, edge)), 1), len(ordered) - 1) for edge in exact]
    edges: dict[int, float] = {}
    for place, edge in zip(places, exact, strict=True):
        edges.setdefault(place, _shortest(edge, float(ordered[place - 1]), float(ordered[place])))
    return tuple(edges.values())


def labels_of(edges: Sequence[float]) -> tuple[str, ...]:
    """The bins in words: ``<4.5``, ``4.5..9.1``, ``>=9.1``."""
    texts = [as_text(edge) for edge in edges]
    between = (f"{low}..{high}" for low, high in pairwise(texts))
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def as_text(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _shortest(edge: float, below: float, above: float) -> float:
    """A number in (below, above] near `edge`, with the fewest digits."""
    exponent = int(f"{edge:e}".partition("e")[2])
    for digits in range(1, 18):
        unit = 10.0 ** (exponent + 1 - digits)
        for candidate in (float(f"{edge:.{digits}g}"), float(f"{edge + unit / 2:.{digits}g}")):
            if below < candidate <= above:
                return candidate
    return above
