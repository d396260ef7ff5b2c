"""python -m experiments: list what there is, compare methods, and show what came out."""

import argparse
import signal
import sys
from pathlib import Path

from experiments import compare
from experiments.comparison.raw import read
from experiments.comparison.registry import METHODS, first_line, missing
from experiments.comparison.suites import SUITES
from experiments.comparison.tables import summary

HERE = Path(__file__).parent


def listing() -> str:
    """Every experiment, every set of cases and every method with what it is told."""
    files = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    lines = ["Experiments"]
    lines += [f"  {name:20} {first_line(f'experiments.{name}')}" for name in files]
    lines += ["", "Sets of cases for compare"]
    lines += [f"  {name:20} {suite.title}: {len(suite.sources)} cases" for name, suite in SUITES.items()]
    lines += ["", "Methods of compare"]
    for name, method in METHODS.items():
        absent = missing(method)
        note = f" (needs {absent}: make baselines)" if absent else ""
        lines.append(f"  {name:20} {method.told}{note}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="experiments, sets of cases and methods")
    compare.add_options(
        actions.add_parser(
            "compare",
            help="methods side by side on the same rows",
            description=compare.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    )
    for name, text in (("summary", "the rows so far as tables"), ("page", "write the pages in docs from the rows")):
        actions.add_parser(name, help=text).add_argument("--results", type=Path, default=compare.RESULTS)
    options = parser.parse_args(arguments)
    try:
        _act(options)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _act(options: argparse.Namespace) -> None:
    if options.action == "list":
        print(listing())
    elif options.action == "compare":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the method that is running ends as well
        for line in compare.main(options):
            print(line, flush=True)
        worlds = {source.name for source in compare.sources(options)}
        print("\n" + summary(row for row in read(options.results) if row["world"] in worlds))
    elif options.action == "summary":
        print(summary(read(options.results)))
    else:
        from experiments.comparison import page, which

        rows = read(options.results)
        for path in (*page.write(rows), *which.write(rows)):
            print(path)


if __name__ == "__main__":
    sys.exit(main())
