"""Other methods and ours side by side on the same rows: errors, CPU seconds, memory, and failures as failures.

    python -m experiments compare asia --methods gies,ut_igsp,sdi_default --seeds 1-5
    python -m experiments compare chain8 --categories 10 --observational 5000 --rows 200
    python -m experiments compare cells.csv --environment condition --observational-name control --truth edges.csv
    python -m experiments compare networks      a set of cases of the page; `list` names them
    python -m experiments summary               the rows so far as tables
    python -m experiments page                  docs/comparison.md, docs/which_method.md and their figures

Every method gets the same rows, in a process of its own with one thread, a limit on CPU seconds and one on memory. Rows
are appended to results/compare.csv as they come; what is there in the same version is not run again.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from experiments.comparison.data import Simulated, Source, Table
from experiments.comparison.raw import seeds_of
from experiments.comparison.registry import chosen
from experiments.comparison.run import Limits, compare
from experiments.comparison.suites import SUITES
from sdi.formats.table import is_table_name

RESULTS = Path(__file__).parent / "results" / "compare.csv"
SHOWN = ("seed", "method", "status", "hamming", "shd", "auroc", "target_accuracy", "cpu_seconds", "peak_mb", "note")


def add_options(parser: argparse.ArgumentParser) -> None:
    default = Simulated(world="")
    parser.add_argument("what", metavar="WORLD_OR_TABLE", help="a world, a table, or a set of cases of the page")
    parser.add_argument("--methods", default="all", help="all, or names separated by commas")
    parser.add_argument("--seeds", default="1-5", type=seeds_of, help="1-5, or 1,3,7")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--again", action="store_true", help="run again what failed")
    limits = parser.add_argument_group("limits of one method on one case")
    limits.add_argument("--seconds", type=float, default=Limits().seconds, help="of CPU")
    limits.add_argument("--memory", type=float, default=Limits().memory_gb, help="gigabytes of address space")
    world = parser.add_argument_group("a simulated world")
    world.add_argument("--observational", type=int, default=default.observational, help="rows")
    world.add_argument("--per-variable", type=float, default=default.per_variable, help="environments per variable")
    world.add_argument("--rows", type=int, default=default.rows, help="rows of each environment")
    world.add_argument("--kind", choices=("soft", "uniform", "pinned"), default=default.kind)
    world.add_argument("--categories", type=int, default=default.categories)
    world.add_argument("--temperature", type=float, default=default.temperature)
    world.add_argument("--redrawn", action="store_true", help="for methods that can use a world without end")
    table = parser.add_argument_group("a table")
    table.add_argument("--environment", default="environment", help="the column that names the environment")
    table.add_argument("--observational-name", action="append", help="an environment left alone; may be repeated")
    table.add_argument("--targets", help="CSV of environment,target")
    table.add_argument("--truth", help="CSV of cause,effect")
    table.add_argument("--bins", help="cut numbers into categories, such as 3 or 3:quantile:log")


def sources(options: argparse.Namespace) -> tuple[Source, ...]:
    """What the command line stands for."""
    if options.what in SUITES:
        return SUITES[options.what].sources
    if is_table_name(options.what):
        names = tuple(options.observational_name or ("observational",))
        table = Table(
            path=options.what,
            environment=options.environment,
            observational=names,
            targets=options.targets,
            truth=options.truth,
            bins=options.bins,
        )
        return (table,)
    fields = ("observational", "per_variable", "rows", "kind", "categories", "temperature", "redrawn")
    return (Simulated(world=options.what, **{name: getattr(options, name) for name in fields}),)


def main(options: argparse.Namespace) -> Iterable[str]:
    """Run, and say of each row what came of it."""
    limits = Limits(seconds=options.seconds, memory_gb=options.memory)
    methods = chosen(options.methods)
    for source in sources(options):
        for row in compare(source, methods, options.seeds, options.results, limits=limits, again=options.again):
            yield f"{source.name} " + " ".join(f"{key}={row[key]}" for key in SHOWN if row.get(key) not in (None, ""))
