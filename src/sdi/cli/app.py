"""The program `sdi`: its commands, its version, and errors as one line."""

from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sdi.cli import show
from sdi.cli.demo import demo
from sdi.cli.discover import discover
from sdi.cli.evaluate import evaluate
from sdi.cli.export import export
from sdi.cli.inspect import inspect
from sdi.cli.networks import networks
from sdi.cli.simulate import simulate


class _Commands(TyperGroup):
    """Says what is wrong with the input in one line; anything else is a bug and keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has seen enough
            raise
        except (ValueError, OSError, MemoryError) as error:
            show.remark(f"error: {error}")
            raise typer.Exit(2) from None


app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        show.line(f"sdi {version('sdi')}")
        raise typer.Exit


@app.callback()
def _program(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Causal graphs from categorical data with unknown interventions."""


app.command()(networks)
app.command()(simulate)
app.command()(inspect)
app.command()(evaluate)
app.command()(discover)
app.command()(demo)
app.command()(export)


def main() -> None:
    app()
