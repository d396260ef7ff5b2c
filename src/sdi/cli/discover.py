"""`sdi discover`: the causal graph of a world or a table, as a folder that can be resumed."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from sdi.cli import table_options as options
from sdi.cli.follow import begin, go_on
from sdi.cli.options import list_settings, settings_from
from sdi.collected import Table
from sdi.formats.table import SUFFIXES, is_table_name
from sdi.method.settings import Method
from sdi.sources import Simulated
from sdi.worlds.dataset import OBSERVATIONAL
from sdi.worlds.simulated import Kind

_SIMULATED = "Simulated worlds"  # the heading in --help of options that are not for tables


def discover(
    context: typer.Context,
    world: Annotated[
        str | None,
        typer.Argument(
            metavar="WORLD",
            help="A family (chain8, random25:60), arrows ('A->B->C, {A-D}->E'), a shipped network, a BIF file, "
            "or a table (.csv, .csv.gz, .parquet, .npy) with --environment.",
            show_default=False,
        ),
    ] = None,
    *,
    out: Annotated[Path | None, typer.Option(help="The folder for the results; made if it does not exist.")] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Go on with the run in DIR; needs nothing else.")
    ] = None,
    preset: Annotated[str, typer.Option(help="Settings to begin with: default or paper.")] = "default",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")] = 0,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Change a setting, such as sparsity=0.2. Repeatable."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(get_args(Method)),
            help="Probability tables, neural networks, or whichever of the two predicts better.",
            show_default="auto",
        ),
    ] = None,
    iterations: Annotated[int | None, typer.Option(help="Stop after so many iterations.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so many seconds.")] = None,
    require: Annotated[
        list[str] | None, typer.Option(metavar="EDGE", help="'A->B' is known to be there. Repeatable.")
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(metavar="EDGE", help="'A->B' is known not to be there. Repeatable.")
    ] = None,
    knowledge: options.KnowledgeFile = None,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Fit N times more on resampled rows and environments (tables only).")
    ] = 0,
    no_report: Annotated[bool, typer.Option("--no-report", help="Make no page and no figures.")] = False,
    environment: options.Environment = None,
    observational: options.Observational = OBSERVATIONAL,
    known: options.Known = None,
    targets: options.Targets = None,
    target_column: options.TargetColumn = None,
    target_base: options.TargetBase = None,
    regimes: options.Regimes = None,
    interventions: options.Interventions = None,
    bins: options.Bins = None,
    log: options.Log = False,
    missing: options.MissingValues = "refuse",
    drop: options.Drop = None,
    keep: options.Keep = None,
    truth: options.Truth = None,
    redrawn: Annotated[
        bool, typer.Option("--redrawn/--fixed", help="New mechanisms at every iteration.", rich_help_panel=_SIMULATED)
    ] = False,
    categories: Annotated[
        int, typer.Option(min=2, help="Categories per variable (families and arrows).", rich_help_panel=_SIMULATED)
    ] = 2,
    temperature: Annotated[
        float | None,
        typer.Option(help="Flattens tables (networks).", show_default="2, as in the paper", rich_help_panel=_SIMULATED),
    ] = None,
    intervention: Annotated[
        Kind | None,
        typer.Option(
            help="soft: a new mechanism; uniform: drawn uniformly; pinned: held at one value.",
            show_default="soft",
            rich_help_panel=_SIMULATED,
        ),
    ] = None,
    hard: Annotated[
        bool, typer.Option("--hard", help="Short for --intervention uniform.", rich_help_panel=_SIMULATED)
    ] = False,
    at_once: Annotated[int, typer.Option(min=1, help="Variables changed together.", rich_help_panel=_SIMULATED)] = 1,
    untouched: Annotated[
        float, typer.Option(help="Share of environments with nothing changed.", rich_help_panel=_SIMULATED)
    ] = 0.0,
    known_targets: Annotated[
        bool, typer.Option("--known-targets", help="Tell the method what was changed.", rich_help_panel=_SIMULATED)
    ] = False,
    _list: Annotated[
        bool, typer.Option("--list-settings", callback=list_settings, is_eager=True, help="List what --set can change.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Start over where --out holds a run already.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Find the causal graph behind a table or a simulated world.

    Ctrl-C leaves a folder that --resume goes on with.
    """
    if resume is not None:
        _refuse(_given(context) - {"--resume", "--json"}, "a run goes on with what it was started with")
        go_on(resume, as_json=as_json)
        return
    if world is None or out is None:
        raise ValueError("expected `sdi discover WORLD --out DIR` or `sdi discover --resume DIR`; see --help")
    if hard and intervention == "soft":
        raise ValueError("--hard and --intervention soft exclude each other; give one of them")
    source: Simulated | Table
    if is_table_name(world):
        _refuse(_given(context, _SIMULATED), f"{world} is a table, not a simulated world")
        source = options.table_from(world, context.params)
    else:
        _refuse(_given(context, options.TABLES), f"{world} is no table (a name that ends in {' or '.join(SUFFIXES)})")
        source = Simulated(
            name=world,
            redrawn=redrawn,
            categories=categories,
            intervention=intervention or ("uniform" if hard else "soft"),
            at_once=at_once,
            untouched=untouched,
            known_targets=known_targets,
            knowledge=None if knowledge is None else str(knowledge),
        )
    shortcuts = {"method": method, "iterations": iterations, "seconds": seconds, "temperature": temperature}
    begin(
        out,
        source,
        settings_from(preset, changes or (), **shortcuts),
        seed,
        require=require or (),
        forbid=forbid or (),
        knowledge=knowledge,
        bootstrap=bootstrap,
        report=not no_report,
        force=force,
        as_json=as_json,
    )


def _given(context: typer.Context, panel: str | None = None) -> set[str]:
    """The options that were typed, all or those under one heading of --help."""
    found = set()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is None or source.name == "DEFAULT":
            continue
        if panel is None or getattr(parameter, "rich_help_panel", None) == panel:
            found.add(parameter.opts[0] if parameter.param_type_name == "option" else "WORLD")
    return found


def _refuse(options: set[str], because: str) -> None:
    if options:
        raise ValueError(f"{because}; drop {', '.join(sorted(options))}")
