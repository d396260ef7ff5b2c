"""`sdi export`: what a run found, in the formats of other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sdi.cli import show
from sdi.formats.exports import FORMATS, Learned, plain_bif, read_learned
from sdi.formats.files import write_atomically
from sdi.formats.run import read_settings

FOUND = 0.5  # the threshold of the graph in the folder
ROWS = 10_000  # that are observed of a simulated world, to fit tables to
PRIOR = 1.0


class Format(StrEnum):
    """What is written."""

    DOT = "dot"
    GRAPHML = "graphml"
    JSON = "json"
    CSV = "csv"
    NETWORKX_JSON = "networkx-json"
    BIF = "bif"


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run that has come to its end.")],
    *,
    format: Annotated[
        Format, typer.Option(help="bif holds tables fitted on the graph to the rows of the system left alone.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it.", show_default="standard output")
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="An edge is there where its probability exceeds this.")
    ] = FOUND,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")] = False,
) -> None:
    """Write the graph of a run as Graphviz DOT, GraphML, JSON, CSV, networkx JSON or BIF.

    Where edges above the threshold would close a cycle, the least probable of them are left out.
    """
    if out is not None and out.exists() and not force:
        raise ValueError(f"{out} exists already; choose another file or add --force to overwrite it")
    learned = read_learned(folder)
    if threshold != FOUND:
        from sdi.method.beliefs import decide  # here, because it brings in JAX, which the others need not wait for

        learned = learned._replace(parents=decide(learned.probabilities, threshold).parents)
    text = _bif(folder, learned) if format == Format.BIF else FORMATS[format](learned)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_atomically(out, text)
        show.line(f"wrote {out}")


def _bif(folder: Path, learned: Learned) -> str:
    """The learned graph with tables from the rows that the run itself was given."""
    with show.progress("fitting tables"):
        from sdi.plans import plan_from_dict
        from sdi.sources import check_unchanged
        from sdi.worlds.dataset import Dataset
        from sdi.worlds.fitted import fitted_network
        from sdi.worlds.simulated import SimulatedWorld

        made_of = read_settings(folder)
        plan = plan_from_dict(made_of)
        studied = plan.study()
        check_unchanged(studied.files, made_of.get("files", {}))
        world = studied.world
        if not isinstance(world, Dataset | SimulatedWorld):
            raise ValueError("this kind of world has no names for its states; choose another format than bif")
        rows = (
            world.observational if isinstance(world, Dataset) else world.observe(ROWS, np.random.default_rng(plan.seed))
        )
        network = fitted_network("learned", world.names, world.states, learned.parents, rows, prior=PRIOR)
        remark = (
            f"Tables fitted to {len(rows)} rows of the system left alone. Every distribution counts {PRIOR:g} row "
            "more, spread evenly over its states (Dirichlet prior)."
        )
        written = plain_bif(network, (remark,))
    if written.renamed:
        first, new = written.renamed[0]
        more = f", and {len(written.renamed) - 1} more as its first lines say" if len(written.renamed) > 1 else ""
        show.remark(f"note: BIF readers know plain names only, so {first} is written {new}{more}")
    return written.text
