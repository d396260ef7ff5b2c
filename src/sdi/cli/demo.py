"""`sdi demo`: real cells, or a small simulated network, from rows to a report in less than two minutes."""

from pathlib import Path
from typing import Annotated

import typer

from sdi.cli import show
from sdi.cli.follow import begin
from sdi.formats.run import SETTINGS, read_settings
from sdi.method.settings import Settings
from sdi.sources import Cells, Simulated

COMMAND = "demo"
# Reagents move several proteins at once. On these cells some arrows fit about as well the other way round, and chains
# keep to the way they began, so that they seldom agree however long they walk: five iterations show what there is.
# Among thousands of cells nearly everything depends on everything: three causes each keep the graph to what is strong.
OF_CELLS = Settings(several_targets=True, iterations=5, most_parents=3)
ABOUT_CELLS = (
    "Flow cytometry of 7,466 human T cells (Sachs et al. 2005): 11 proteins, each cut into low, medium and high; cells "
    "left alone, and cells under seven reagents.",
    "The method sees these rows only. It is told neither what the reagents act on nor how the proteins signal; both "
    "are in the report, apart, to compare with.",
)
NETWORK, LIMIT = "earthquake", 60.0
OF_NETWORK = Settings(temperature=2.0, seconds=LIMIT)
ABOUT_NETWORK = (
    "The network 'earthquake' is a textbook's: burglars and earthquakes set off an alarm, and two neighbours call.",
    "All data here are simulated from its tables, flattened a little (temperature 2): rows of the system left alone, "
    "and rows after one variable, chosen at random, was given another random table.",
    "The method sees these rows only. It is told neither the edges nor which variable was changed; they serve to "
    f"measure it. It stops when its beliefs have settled, or after {LIMIT:.0f} seconds.",
)


def demo(
    *,
    out: Annotated[Path, typer.Option(help="The folder for the results; an earlier demo in it is replaced.")],
    simulated: Annotated[
        bool, typer.Option("--simulated", help="A small simulated network, whose edges are known, instead of cells.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")] = 1,
    bootstrap: Annotated[int, typer.Option(metavar="N", min=0, help="Fit N times more on resampled cells.")] = 0,
    no_report: Annotated[bool, typer.Option("--no-report", help="Make no page and no figures.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Find the signalling graph of real cells, without being told what was done to them, and write a report."""
    own = (out / SETTINGS).is_file() and read_settings(out).get("command") == COMMAND
    source = Simulated(name=NETWORK) if simulated else Cells()
    for text in ABOUT_NETWORK if simulated else ABOUT_CELLS:
        show.remark(text)
    how = OF_NETWORK if simulated else OF_CELLS
    begin(
        out, source, how, seed, bootstrap=bootstrap, report=not no_report, force=own, as_json=as_json, command=COMMAND
    )
