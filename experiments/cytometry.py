"""The real cells of Sachs et al. 2005 beside the consensus network: edges agreeing, reversed, missed, extra; targets.

    python -m experiments.cytometry [--seeds 1-5] [--methods tables auto neural known gies ut_igsp]
    python -m experiments.cytometry --summary

The table of `sdi demo`: three quantile bins each, two conditions left alone, seven under reagents, with the demo's
settings (several targets at once; tables draw for five iterations, three causes each at most). `tables`, `auto` and
`neural` are told no target; `known` is tables with the targets that the reagents are known for. GIES, which needs
targets, is told the same ones; UT-IGSP is told none. Their undirected edges count as agreeing where the consensus has
the pair. Of six conditions with a known target: `found` names it, perhaps with others; `exact` names it alone; `named`
is how many variables are named in a condition on average. Rows go to results/cytometry.csv; what is there in the same
version is not run again.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np

import sdi
from experiments.comparison.data import Cells, make, told
from experiments.comparison.measure import oriented
from experiments.comparison.raw import append, read, seeds_of
from experiments.comparison.registry import METHODS as REGISTRY
from experiments.comparison.registry import method_version
from experiments.comparison.result import Result
from sdi.data import SACHS_CONSENSUS
from sdi.report import agreement

RESULTS = Path(__file__).parent / "results" / "cytometry.csv"
DEMO = sdi.Settings(several_targets=True, iterations=5, most_parents=3)
COLUMNS = (
    *("method", "told", "seed", "edges", "undirected", "agreeing", "reversed", "missed", "extra"),
    *("found", "exact", "named", "reason", "r_hat", "cpu_seconds", "seconds", "version"),
)


def ours(settings: sdi.Settings) -> Callable[[sdi.Dataset, int], tuple[Result, dict[str, Any]]]:
    def run(dataset: sdi.Dataset, seed: int) -> tuple[Result, dict[str, Any]]:
        found = sdi.discover(dataset, settings, seed=seed)
        targets = tuple(tuple(np.flatnonzero(each > 0.5).tolist()) for each in found.targets)
        more = {"reason": found.reason, "r_hat": round(found.chains[0], 2) if found.chains else ""}
        return Result(parents=found.parents, targets=targets), more

    return run


def other(module: str) -> Callable[[sdi.Dataset, int], tuple[Result, dict[str, Any]]]:
    def run(dataset: sdi.Dataset, seed: int) -> tuple[Result, dict[str, Any]]:
        from importlib import import_module

        return import_module(f"experiments.methods.{module}").run(dataset, seed=seed, seconds=600.0), {}

    return run


METHODS: dict[str, tuple[str, Callable[[sdi.Dataset, int], tuple[Result, dict[str, Any]]]]] = {
    "tables": ("nothing", ours(replace(DEMO, method="tables"))),
    "auto": ("nothing", ours(DEMO)),
    "neural": ("nothing", ours(replace(DEMO, method="neural", iterations=60))),
    "known": ("targets", ours(replace(DEMO, method="tables"))),
    "gies": ("targets", other("gies")),
    "ut_igsp": ("nothing", other("ut_igsp")),
}


def one(method: str, seed: int) -> dict[str, Any]:
    """A row of the results."""
    told_of, run = METHODS[method]
    case = make(Cells(), seed)
    dataset = told(case.dataset, case.targets) if told_of == "targets" else case.dataset
    wall, cpu = time.perf_counter(), time.process_time()
    result, more = run(dataset, seed)
    spent = {"cpu_seconds": time.process_time() - cpu, "seconds": time.perf_counter() - wall}
    assert case.truth is not None
    assert case.targets is not None
    graph = oriented(result.graph, case.truth) if result.partial else result.graph
    names = dataset.names
    compared = agreement([(names[j], names[i]) for i, j in np.argwhere(graph)], SACHS_CONSENSUS, names)
    row = {
        "method": method,
        "told": told_of,
        "seed": seed,
        "edges": int(graph.sum()),
        "undirected": int((result.graph & result.graph.T).sum()) // 2,
        **{name: len(getattr(compared, name)) for name in ("agreeing", "reversed", "missed", "extra")},
        **{name: round(value, 1) for name, value in spent.items()},
        **more,
        "version": version(method),
    }
    if result.targets is not None and told_of == "nothing":
        row |= judged(result.targets, case.targets)
    return row


def judged(named: tuple[tuple[int, ...], ...], true: tuple[tuple[int, ...] | None, ...]) -> dict[str, Any]:
    """Of the conditions with a known target: how many name it, and how many name nothing else."""
    pairs = [(set(guess), set(known)) for guess, known in zip(named, true, strict=True) if known is not None]
    return {
        "found": sum(known <= guess for guess, known in pairs),
        "exact": sum(known == guess for guess, known in pairs),
        "named": round(float(np.mean([len(guess) for guess in named])), 1),
    }


def version(method: str) -> str:
    """Of the packages and the code that make a row."""
    return method_version(REGISTRY[method if method in REGISTRY else "sdi_default"])


def run(methods: list[str], seeds: list[int]) -> None:
    for method in methods:
        for seed in seeds:
            key = (method, str(seed), version(method))
            if any((row["method"], row["seed"], row["version"]) == key for row in read(RESULTS)):
                continue
            row = one(method, seed)
            append(RESULTS, row, COLUMNS)
            print(row, flush=True)


def summary() -> str:
    """A line for each method, values by seed, of the version that was run last."""
    shown = ("edges", "agreeing", "reversed", "missed", "extra", "found", "exact", "named")
    lines = ["| method | told | " + " | ".join(shown) + " | CPU s, median |", "|---" * (len(shown) + 3) + "|"]
    for method in METHODS:
        mine = [row for row in read(RESULTS) if row["method"] == method]
        mine = sorted((row for row in mine if row["version"] == mine[-1]["version"]), key=lambda row: int(row["seed"]))
        if mine:
            cells = [" ".join(row[name] or "-" for row in mine) for name in shown]
            seconds = np.median([float(row["cpu_seconds"]) for row in mine])
            lines.append(f"| {method} | {mine[0]['told']} | " + " | ".join(cells) + f" | {seconds:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-5", type=seeds_of)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    if not options.summary:
        run(options.methods, options.seeds)
    print(summary())


if __name__ == "__main__":
    main()
