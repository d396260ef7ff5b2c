"""Options about tables: the same for every command that reads one, and the table they describe."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sdi.collected import Table
from sdi.worlds.findings import Missing
from sdi.worlds.row_targets import BASES

TABLES = "Tables"  # the heading in --help


def _option(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=TABLES)


Environment = Annotated[str | None, _option(metavar="COLUMN", help="The column that names the environment.")]
Observational = Annotated[str, _option(metavar="NAME[,NAME]", help="Environments left alone.")]
Known = Annotated[
    list[str] | None,
    _option(metavar="NAME=VARIABLE[,...]", help="Touched in an environment; nothing: 'e1='. Repeatable."),
]
Targets = Annotated[Path | None, _option(help="Known targets (environment,target).")]
TargetColumn = Annotated[str | None, _option(metavar="COLUMN", help="The column that says what was touched in a row.")]
TargetBase = Annotated[
    str | None,
    _option(metavar="|".join(BASES), help="How it counts: from 0 (empty: nothing), from 1 (0: nothing), or by names."),
]
Regimes = Annotated[Path | None, _option(help="A file with the environment of each row (DCDI).")]
Interventions = Annotated[Path | None, _option(help="A file with the targets of each row, counted from 0 (DCDI).")]
Bins = Annotated[
    list[str] | None,
    _option(metavar="[COLUMN=]N[:uniform][:log]", help="Cut numbers into N bins, by quantiles. Repeatable."),
]
Log = Annotated[bool, _option("--log", help="Short for :log in every --bins.")]
MissingValues = Annotated[Missing, _option(help="drop: leave such rows out; category: a category of its own.")]
Drop = Annotated[list[str] | None, _option(metavar="COLUMN[,...]", help="Columns that are no variables. Repeatable.")]
Keep = Annotated[list[str] | None, _option(metavar="COLUMN[,...]", help="The only variables. Repeatable.")]
KnowledgeFile = Annotated[  # not of tables alone
    Path | None, typer.Option(help="A file of lines: required A -> B, forbidden A -> B, tier 1: A, B.")
]
Truth = Annotated[Path | None, _option(help="True edges (cause,effect) to measure against.")]


def table_from(path: str, typed: Mapping[str, Any]) -> Table:
    """The table at `path` with the options as `typed`, of which a command need not have all."""
    given = {name: value for name, value in typed.items() if value is not None}
    if not {"environment", "target_column", "regimes", "interventions"} & set(given):
        raise ValueError(f"{path}: which column names the environment of a row? add --environment COLUMN")
    if ("target_column" in given) != ("target_base" in given):
        raise ValueError(f"--target-column and --target-base go together; the base is one of {', '.join(BASES)}")
    if given.get("log") and not given.get("bins"):
        raise ValueError("--log says how to cut numbers into bins; add --bins N")
    files = ("targets", "regimes", "interventions", "knowledge", "truth")
    fields: dict[str, Any] = {name: str(given[name]) for name in files if name in given}
    fields |= {
        name: given[name] for name in ("environment", "target_column", "target_base", "missing") if name in given
    }
    fields |= {name: tuple(given.get(name) or ()) for name in ("known", "drop", "keep")}
    fields["bins"] = tuple(_logarithmic(rule) if given.get("log") else rule for rule in given.get("bins") or ())
    fields["observational"] = tuple(name.strip() for name in given["observational"].split(","))
    return Table(path=path, **fields)


def _logarithmic(rule: str) -> str:
    plain = rule.endswith((":log", "none")) or ":log:" in rule
    return rule if plain else f"{rule}:log"
