"""`sdi inspect`: a first look at a table before the long run, and what would be done about what is found."""

from typing import Annotated, Any

import typer

from sdi.cli import show
from sdi.cli import table_options as options
from sdi.collected import inspect_source
from sdi.formats.knowledge import read_knowledge
from sdi.formats.table import SUFFIXES, is_table_name
from sdi.worlds.columns import Column
from sdi.worlds.dataset import OBSERVATIONAL
from sdi.worlds.from_table import Inspection

SHOWN_STATES = 6


def inspect(
    context: typer.Context,
    table: Annotated[str, typer.Argument(metavar="TABLE", help=f"A table ({', '.join(SUFFIXES)}).")],
    *,
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
    knowledge: options.KnowledgeFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Look at a table: its environments and columns, what is wrong, and what would be done about it.

    `sdi discover` makes the same checks and stops at every error listed here. Exit code 1: there are errors.
    """
    if not is_table_name(table):
        raise ValueError(f"{table} is no table (a name that ends in {' or '.join(SUFFIXES)})")
    source = options.table_from(table, context.params)
    with show.progress("reading the table"):
        inspection = inspect_source(source)
        if knowledge is not None:
            read_knowledge(knowledge, [column.name for column in inspection.columns])
    if as_json:
        show.as_json(_as_dict(inspection))
    else:
        _show(inspection)
    if any(finding.severity == "error" for finding in inspection.findings):
        raise typer.Exit(1)


def _show(inspection: Inspection) -> None:
    parts = _as_dict(inspection)
    dropped = f", {inspection.dropped} dropped" if inspection.dropped else ""
    show.line(f"{inspection.rows} rows{dropped}, {len(inspection.columns)} variables")
    for part in ("environments", "columns"):
        show.line("")
        show.as_table(parts[part])
    show.line("")
    for finding in inspection.findings:
        show.line(f"{finding.severity}: {finding}")
    errors = sum(finding.severity == "error" for finding in inspection.findings)
    show.line(f"sdi discover would stop here: {errors} to mend first" if errors else "sdi discover would go ahead")


def _as_dict(inspection: Inspection) -> dict[str, Any]:
    return {
        "rows": inspection.rows,
        "dropped": inspection.dropped,
        "environments": [
            {"environment": name, "rows": rows, "touched": _touched(inspection, name)}
            for name, rows in inspection.environments.items()
        ],
        "columns": [
            {
                "column": column.name,
                "holds": column.kind,
                "different": column.different,
                "missing": column.missing,
                "categories": _categories(column),
            }
            for column in inspection.columns
        ],
        "findings": [
            {"severity": finding.severity, "what": finding.what, "remedy": finding.remedy}
            for finding in inspection.findings
        ],
    }


def _touched(inspection: Inspection, name: str) -> str:
    if name in inspection.left_alone:
        return "left alone"
    target = inspection.targets[name]
    return "unknown" if target is None else ", ".join(target) or "nothing"


def _categories(column: Column) -> str:
    if not column.states:
        return "cannot be used as it is"
    more = f", ... ({len(column.states)})" if len(column.states) > SHOWN_STATES else ""
    return ", ".join(column.states[:SHOWN_STATES]) + more
