"""The sets of cases that the page shows, each a list of sources under one heading."""

from dataclasses import asdict, dataclass

from experiments.comparison.data import Cells, Simulated, Source

PAPER = ("collider7", "chain8", "jungle8", "collider8", "full8", "chain13", "jungle13", "collider13", "full13")


@dataclass(frozen=True)
class Suite:
    """Cases that belong together, and what they are to show."""

    title: str
    text: str
    sources: tuple[Source, ...]
    sweep: bool = False  # whether the figure has the cases along its x axis


def _graphs(categories: int, **rest: object) -> tuple[Simulated, ...]:
    return tuple(Simulated(world=world, categories=categories, **rest) for world in PAPER)  # type: ignore[arg-type]


SUITES = {
    "networks": Suite(
        "Known networks",
        "Tables from the Bayesian Network Repository at temperature 2. 2,000 observational rows, and for each variable "
        "one soft environment of 500.",
        tuple(Simulated(world=world) for world in ("cancer", "earthquake", "survey", "asia", "sachs")),
    ),
    "binary": Suite(
        "Graphs of the paper, binary",
        "Random networks as mechanisms, fixed. 5,000 observational rows, and for each variable one soft environment of "
        "500.",
        _graphs(2, observational=5_000),
    ),
    "ten": Suite(
        "Graphs of the paper, ten categories",
        "As above with ten categories for each variable: a table for seven causes has ten million rows.",
        _graphs(10, observational=5_000),
    ),
    "redrawn": Suite(
        "Graphs of the paper, redrawn",
        "Mechanisms are drawn anew at every look, as in the authors' program, and there are rows without end. Methods "
        "that cannot use this are in the binary table alone.",
        _graphs(2, observational=5_000, redrawn=True),
    ),
    "cytometry": Suite(
        "Real cells",
        "Flow cytometry of Sachs et al. 2005, cut into three levels each, against the consensus network of 17 edges, "
        "which is itself debated. Known targets are what the reagents are known for.",
        (Cells(),),
    ),
    "rows": Suite(
        "Rows of each environment",
        "A random graph of 10 variables with 15 edges expected, three categories, 2,000 observational rows, and for "
        "each variable one soft environment of 50 to 1,000 rows.",
        tuple(Simulated(world="random10:15", categories=3, rows=rows) for rows in (50, 100, 200, 500, 1_000)),
        sweep=True,
    ),
    "density": Suite(
        "Density",
        "Random graphs of 10 variables with 5 to 40 edges expected, three categories, 2,000 observational rows, and "
        "for each variable one soft environment of 500.",
        tuple(Simulated(world=f"random10:{edges}", categories=3) for edges in (5, 10, 15, 20, 30, 40)),
        sweep=True,
    ),
    "parents": Suite(
        "Parents of one variable",
        "Colliders of 3 to 13 variables: all others are parents of the last. Random networks as mechanisms, fixed, "
        "four categories, 5,000 observational rows, and for each variable one soft environment of 500.",
        tuple(Simulated(world=f"collider{size}", categories=4, observational=5_000) for size in (3, 5, 7, 9, 11, 13)),
        sweep=True,
    ),
    "observations": Suite(
        "Observational rows",
        "A random graph of 10 variables with 15 edges expected, three categories, 300 to 30,000 observational rows, "
        "and for each variable one soft environment of 200.",
        tuple(
            Simulated(world="random10:15", categories=3, observational=rows, rows=200)
            for rows in (300, 1_000, 3_000, 10_000, 30_000)
        ),
        sweep=True,
    ),
}


def matches(source: Source, row: dict[str, str]) -> bool:
    """Whether a row of the results came from `source`."""
    if not isinstance(source, Simulated):
        return row["world"] == source.name
    return all(str(value) == str(row[name]) for name, value in asdict(source).items())
