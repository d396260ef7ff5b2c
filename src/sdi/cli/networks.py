"""`sdi networks`: the Bayesian networks that ship with the package."""

from typing import Annotated

import typer

from sdi import networks as shipped
from sdi.cli import show


def networks(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False
) -> None:
    """List the networks that ship with the package."""
    with show.progress("reading the networks"):
        rows = [_describe(name) for name in shipped.names()]
    if as_json:
        show.as_json(rows)
    else:
        show.as_table([{name.replace("_", " "): value for name, value in row.items()} for row in rows])


def _describe(name: str) -> dict[str, show.Value]:
    variables = shipped.load(name).variables
    return {
        "name": name,
        "variables": len(variables),
        "edges": sum(len(variable.parents) for variable in variables),
        "largest_in_degree": max(len(variable.parents) for variable in variables),
        "fewest_states": min(len(variable.states) for variable in variables),
        "most_states": max(len(variable.states) for variable in variables),
    }
