"""How fast worlds are sampled, and what memory that takes besides the rows themselves.

    python benchmarks/sampling.py [--rows 1000000] [--json]

One process, one core: sampling is vectorised over rows, not spread over cores. The rate is the best of three runs. The
441 variables are those of the network pigs, read from the package pgmpy where that is installed.
"""

import argparse
import json
import time
import tracemalloc
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from sdi.worlds.named import named_world
from sdi.worlds.simulated import SimulatedWorld


def worlds() -> dict[str, SimulatedWorld]:
    names = {"chain13": "chain13", "alarm": "alarm"}
    package = find_spec("pgmpy")
    if package is not None and package.origin is not None:
        pigs = Path(package.origin).parent / "utils" / "example_models" / "pigs.bif.gz"
        if pigs.is_file():
            names["pigs"] = str(pigs)
    return {label: named_world(name, rng=np.random.default_rng(0)) for label, name in names.items()}


def seconds(world: SimulatedWorld, rows: int, runs: int = 3) -> float:
    """The best of several runs; the first row is drawn beforehand, because that prepares the tables."""
    world.observe(1, np.random.default_rng(0))
    times = []
    for run in range(runs):
        start = time.perf_counter()
        world.observe(rows, np.random.default_rng(run))
        times.append(time.perf_counter() - start)
    return min(times)


def working_memory(world: SimulatedWorld, rows: int) -> tuple[int, int]:
    """Bytes of the result, and the most that was allocated besides it while it was made."""
    world.observe(1, np.random.default_rng(0))
    tracemalloc.start()
    result = world.observe(rows, np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return result.nbytes, peak - result.nbytes


def measure(label: str, world: SimulatedWorld, rows: int) -> dict[str, str | float]:
    spent = seconds(world, rows)
    result, besides = working_memory(world, rows)
    return {
        "world": label,
        "variables": len(world.names),
        "rows": rows,
        "seconds": round(spent, 3),
        "rows_per_second": round(rows / spent),
        "values_per_second": round(rows * len(world.names) / spent),
        "result_megabytes": round(result / 1e6, 1),
        "working_megabytes": round(besides / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    measured = [measure(label, world, options.rows) for label, world in worlds().items()]
    if options.json:
        print(json.dumps(measured, indent=2))
        return
    cells = [[value if isinstance(value, str) else f"{value:,}" for value in row.values()] for row in measured]
    lines = [list(measured[0]), *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


if __name__ == "__main__":
    main()
