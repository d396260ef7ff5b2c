"""Our methods along the sweeps of docs/which_method.md: which rows belong to which place on which axis."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import NamedTuple

from experiments.comparison.data import Simulated
from experiments.comparison.suites import SUITES, matches
from experiments.comparison.tables import SETTING, Case, Line, Row

OURS = {"sdi_tables": "tables", "sdi_neural": "networks", "sdi_default": "default"}  # as the page calls them
SEEDS = range(1, 6)  # that the page asks for
BySeed = dict[int, Row]


@dataclass(frozen=True)
class Sweep:
    """A suite along one axis."""

    label: str  # of the axis
    where: Callable[[Simulated], float]  # a case stands on it
    log: bool = False


class Place(NamedTuple):
    """One case of a sweep with the rows of each of our methods, failures included."""

    source: Simulated
    x: float
    rows: dict[str, BySeed]  # by method

    def good(self, method: str) -> BySeed:
        return {seed: row for seed, row in self.rows.get(method, {}).items() if row["status"] == "ok"}

    def errors(self, method: str) -> dict[int, float]:
        """Hamming distance by seed."""
        return {seed: float(row["hamming"]) for seed, row in self.good(method).items()}

    @property
    def name(self) -> str:
        source = self.source
        return f"{source.world} ({source.observational:,} + {source.rows:,} rows each)"


def edges(source: Simulated) -> float:
    """How many edges a graph of this name has, or is expected to have: so many errors has one that finds none."""
    family, size, detail = re.fullmatch(r"([a-z]+)(\d+):?([\d.]*)", source.world).groups()  # type: ignore[union-attr]
    return float(detail) if family == "random" else int(size) - 1


SWEEPS = {
    "parents": Sweep("parents of the last variable", edges),
    "density": Sweep("parents of a variable, expected", lambda source: edges(source) / 10),
    "observations": Sweep("observational rows", lambda source: source.observational, log=True),
    "rows": Sweep("rows of each environment", lambda source: source.rows, log=True),
}


def places(name: str, cases: Mapping[Case, Iterable[Line]]) -> list[Place]:
    """Every case of the sweep, those without any rows included; of a seed that was run again, the last row."""
    found = []
    for source in SUITES[name].sources:
        assert isinstance(source, Simulated)
        rows: dict[str, BySeed] = {method: {} for method in OURS}
        for case, lines in cases.items():
            if matches(source, dict(zip(SETTING, case, strict=True))):
                for line in lines:
                    rows.setdefault(line.method, {}).update({int(row["seed"]): row for row in line.rows})
        found.append(Place(source, SWEEPS[name].where(source), rows))
    return found


class Trust(NamedTuple):
    """What became of the default's choice, over seeds."""

    tables: int
    networks: int
    asked: int  # how often networks were tried at all
    unknown: int  # rows that do not say

    def __str__(self) -> str:
        known = self.tables + self.networks
        words = [f"tables {self.tables}, networks {self.networks} (asked {self.asked} of {known})"] if known else []
        return "; ".join([*words, *([f"{self.unknown} not recorded"] if self.unknown else [])])


def trust(place: Place) -> Trust:
    """Counted from the notes of the default's rows."""
    notes = [row["note"] for row in place.good("sdi_default").values()]
    found = [re.search(r"trusted: (\w+)( \()?", note) for note in notes]
    names = [each.group(1) if each else None for each in found]
    asked = sum(bool(each and each.group(2)) for each in found)
    return Trust(names.count("tables"), names.count("neural"), asked, names.count(None))


def won(place: Place, one: str, other: str) -> tuple[int, int]:
    """In how many seeds that both ended each has fewer errors than the other."""
    mine, theirs = place.errors(one), place.errors(other)
    shared = mine.keys() & theirs.keys()
    return sum(mine[s] < theirs[s] for s in shared), sum(mine[s] > theirs[s] for s in shared)


def ahead(sweep: Iterable[Place]) -> dict[str, list[float]]:
    """Where along the axis which of the two has the smaller mean error, over the seeds that both ended."""
    found: dict[str, list[float]] = {"tables": [], "networks": [], "level": []}
    for place in sweep:
        mine, theirs = place.errors("sdi_tables"), place.errors("sdi_neural")
        shared = mine.keys() & theirs.keys()
        if shared:
            gap = mean(mine[s] - theirs[s] for s in shared)
            found["tables" if gap < 0 else "networks" if gap > 0 else "level"].append(place.x)
    return found


class Regret(NamedTuple):
    """The default on the rows of one seed, beside the better of the two methods that it chooses from."""

    place: Place
    seed: int
    default: float
    better: float


def regrets(sweep: Iterable[Place]) -> Iterator[Regret]:
    """One for every seed on which all three ended."""
    for place in sweep:
        errors = [place.errors(method) for method in OURS]
        for seed in sorted(set.intersection(*(set(each) for each in errors))):
            tables, networks, default = (each[seed] for each in errors)
            yield Regret(place, seed, default, min(tables, networks))
