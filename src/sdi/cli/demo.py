"""`sdi demo`: a small network discovered from simulated data, in about a minute."""

from pathlib import Path
from typing import Annotated

import typer

from sdi.cli import show
from sdi.cli.follow import begin
from sdi.formats.run import SETTINGS, read_settings
from sdi.method.settings import Settings
from sdi.sources import Simulated

NETWORK, LIMIT = "earthquake", 60.0
COMMAND = "demo"
HOW = Settings(temperature=2.0, seconds=LIMIT)
ABOUT = (
    "The network 'earthquake' is a textbook's: burglars and earthquakes set off an alarm, and two neighbours call.",
    "All data here are simulated from its tables, flattened a little (temperature 2): rows of the system left alone, "
    "and rows after one variable, chosen at random, was given another random table.",
    "The method sees these rows only. It is told neither the edges nor which variable was changed; they serve to "
    f"measure it. It stops when its beliefs have settled, or after {LIMIT:.0f} seconds.",
)


def demo(
    *,
    out: Annotated[Path, typer.Option(help="The folder for the results; an earlier demo in it is replaced.")],
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same result, time permitting.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Find the graph of a small network from simulated rows and interventions, in about a minute."""
    own = (out / SETTINGS).is_file() and read_settings(out).get("command") == COMMAND
    for text in ABOUT:
        show.remark(text)
    begin(out, Simulated(name=NETWORK), HOW, seed, force=own, as_json=as_json, command=COMMAND)
