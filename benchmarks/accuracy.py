"""Accuracy of the default: any row of the table in docs/results.md, any seeds, raw rows appended to a CSV.

    python benchmarks/accuracy.py list
    python benchmarks/accuracy.py run redrawn-small networks --seeds 1-5
    python benchmarks/accuracy.py summary

A run that is in the CSV with the same settings is not run again, unless `--anew` asks for it and another version of the
code made that row; the latest row counts. One thread; start two side by side to use two cores.
"""

import argparse
import dataclasses
import functools
import hashlib
import itertools
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from raw import add_anew, append, by_version, code_version, is_done, read, seeds_of  # noqa: E402

import sdi  # noqa: E402
from sdi import metrics  # noqa: E402
from sdi.worlds.simulated import SimulatedWorld, true_target  # noqa: E402

WARM_UP = 2  # iterations that compile all there is to compile
RESULTS = Path(__file__).parent / "results" / "accuracy.csv"
FAMILIES = ("chain", "jungle", "collider", "bidiag", "full")
LARGE = (*(f"{family}{size}" for size in (8, 13, 25) for family in FAMILIES), "random25:60")
COLUMNS = (
    *("row", "world", "seed", "settings", "shd", "hamming", "errors"),
    *("targets_right", "targets_exact", "targets_ceiling", "environments"),
    *("cpu_seconds", "compile_seconds", "peak_mb", "updates", "reason", "undecided", "matmul_gflops", "version"),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table: worlds, how they are made and what is given to the method."""

    worlds: tuple[str, ...]
    target: str
    world: dict[str, Any] = dataclasses.field(default_factory=dict)  # for named_world
    interventions: dict[str, Any] = dataclasses.field(default_factory=dict)
    freeze: tuple[int, float, int] | None = None  # observational rows, environments per variable, rows of each
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    open_edges: int | None = None


SMALL = tuple(f"{family}{size}" for size in range(3, 9) for family in FAMILIES)
ROWS = {
    "redrawn-small": Row(SMALL, "0", {"redrawn": True}),
    "redrawn-13": Row(tuple(f"{family}13" for family in ("chain", "jungle", "collider")), "0", {"redrawn": True}),
    "redrawn-full13": Row(("full13",), "0", {"redrawn": True}),
    "networks": Row(("cancer", "earthquake", "asia", "sachs"), "0", {"temperature": 2.0}),
    "fixed-50k-soft": Row(LARGE, "0", {"categories": 10}, freeze=(50_000, 1, 500)),
    "fixed-5k-hard": Row(LARGE, "0 (8, 13), 2 (25)", {"categories": 10}, {"kind": "uniform"}, (5_000, 1, 200)),
    "fixed-5k-soft": Row(LARGE, "-", {"categories": 10}, freeze=(5_000, 1, 200)),
    "alarm": Row(("alarm",), "4", {"temperature": 2.0}, freeze=(50_000, 10, 500)),
    "alarm-40-open": Row(("alarm",), "1", {"temperature": 2.0}, freeze=(50_000, 10, 500), open_edges=40),
    "barley-50-open": Row(("barley",), "1", {"temperature": 2.0}, freeze=(50_000, 10, 500), open_edges=50),
    "fixed-2": Row(LARGE[:10], "-", {"categories": 2}, freeze=(50_000, 1, 500)),
    "fixed-3": Row(LARGE[:10], "-", {"categories": 3}, freeze=(50_000, 1, 500)),
    "networks-t1": Row(("cancer", "earthquake", "asia", "sachs"), "-", {"temperature": 1.0}),
    "networks-hard": Row(("cancer", "earthquake", "asia", "sachs"), "-", {"temperature": 2.0}, {"kind": "uniform"}),
    "two-at-once": Row(
        ("asia", "sachs", "full8", "chain8"),
        "-",
        {"temperature": 2.0},
        {"at_once": 2},
        settings={"several_targets": True},
    ),
    **{
        f"without-{what}-{kind}": Row(worlds, "-", world, settings=change)
        for what, change in {
            "nothing": {},
            "row-masks": {"masks": "batch"},
            "flips": {"estimator": "draws"},
            "orders": {"ordered": False},
            "likelihood-ratio": {"targets": "deterioration"},
        }.items()
        for kind, worlds, world in (
            ("redrawn", ("full8", "jungle8"), {"redrawn": True}),
            ("network", ("asia",), {"temperature": 2.0}),
        )
    },
    "untouched": Row(("asia", "sachs", "full8", "chain8"), "-", {"temperature": 2.0}, {"untouched": 0.25}),
}


def build(row: Row, world: str, seed: int) -> tuple[SimulatedWorld, Any, list[tuple[int, ...]] | None]:
    """The simulated world, what the method is given of it, and the hidden targets if that is a dataset."""
    how = sdi.Interventions(**row.interventions)
    simulated = sdi.named_world(world, rng=np.random.default_rng(seed), interventions=how, **row.world)
    if row.freeze is None:
        return simulated, simulated, None
    observational, per_variable, rows = row.freeze
    count = round(per_variable * len(simulated.names))
    frozen = sdi.freeze(
        simulated, observational=observational, environments=count, rows=rows, rng=np.random.default_rng([seed, 1])
    )
    return simulated, frozen.dataset, list(frozen.targets)


def partly_known(world: SimulatedWorld, count: int | None, seed: int) -> sdi.Knowledge:
    """All but `count` true edges given; both directions of those open, nothing else."""
    if count is None:
        return sdi.Knowledge()
    edges = [(world.names[j], world.names[i]) for i, j in np.argwhere(world.graph.parents)]
    chosen = set(np.random.default_rng([seed, 2]).choice(len(edges), count, replace=False).tolist())
    hidden = [edge for k, edge in enumerate(edges) if k in chosen]
    known = [edge for k, edge in enumerate(edges) if k not in chosen]
    return sdi.Knowledge(required=known, only=[*hidden, *((b, a) for a, b in hidden)])


def ceiling(world: SimulatedWorld, count: int, rows: int, seed: int) -> float:
    """Share of targets that one who knows every mechanism, the new one too, would name.

    The same likelihood ratio as the method's: the new mechanism over the old one for the variable that was touched, a
    table of its own over the old mechanism for every other. Some new mechanisms hardly differ from the old.
    """
    rng = np.random.default_rng([seed, 3])
    named = []
    for _ in range(count):
        now = world.redraw(rng)
        environment = now.intervene(rng)
        sample, (target, *others) = environment.observe(rows, rng), true_target(environment) or (-1,)
        if others or target < 0:
            continue
        ratios = []
        for i, size in enumerate(now.cardinalities):
            parents, values = sample[:, now.graph.parents[i]], sample[:, i].astype(int)
            old = log_probability(now.mechanisms[i], parents, values)
            own = log_probability(environment._changed.mechanisms[i], parents, values)
            ratios.append((own if i == target else own_table(values, size)) - old)
        named.append(int(np.argmax(ratios)) == target)
    return float(np.mean(named)) if named else float("nan")


def strength(world: SimulatedWorld, child: int, cause: int, seed: int, rows: int = 2_000) -> float:
    """Nats that a cause tells about its effect: given all causes, beside the same averaged over this one."""
    sample = world.observe(rows, np.random.default_rng([seed, 4]))
    parents = sample[:, world.graph.parents[child]]
    column = int(world.graph.parents[child, :cause].sum())
    known = world.mechanisms[child].probabilities(parents)
    average = np.zeros_like(known)
    for value, share in enumerate(np.bincount(sample[:, cause], minlength=world.cardinalities[cause]) / rows):
        changed = parents.copy()
        changed[:, column] = value
        average = average + share * world.mechanisms[child].probabilities(changed)
    return float((known * np.log(np.maximum(known, 1e-300) / np.maximum(average, 1e-300))).sum(axis=1).mean())


def log_probability(mechanism: Any, parents: np.ndarray, values: np.ndarray) -> float:
    chosen = mechanism.probabilities(parents)[np.arange(len(values)), values]
    return float(np.log(np.maximum(chosen, 1e-300)).sum())


def own_table(values: np.ndarray, size: int) -> float:
    """Log marginal likelihood under a Dirichlet with one count for each category."""
    from scipy.special import gammaln

    counts = np.bincount(values, minlength=size)
    return float(gammaln(size) - gammaln(size + len(values)) + gammaln(1 + counts).sum())


def matmul_gflops() -> float:
    a = jax.numpy.ones((1024, 1024))
    product = jax.jit(lambda x: x @ x)
    product(a).block_until_ready()
    best = min(_timed(lambda: product(a).block_until_ready()) for _ in range(5))
    return 2 * 1024**3 / best / 1e9


def _timed(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def one(name: str, row: Row, world: str, seed: int) -> dict[str, Any]:
    """Run one world with one seed to the method's own stop."""
    settings = sdi.Settings(method="neural", **row.settings)
    simulated, given, hidden = build(row, world, seed)
    knowledge = partly_known(simulated, row.open_edges, seed)
    begun = time.process_time()
    for _ in itertools.islice(sdi.iterate(given, settings, knowledge, seed), WARM_UP):
        pass  # compiles everything; the same iterations, timed again below, tell how much of this that was
    cold, start, warm = time.process_time() - begun, time.process_time(), 0.0
    right, exact, recent = [], [], []
    state = info = None
    for state, info in sdi.iterate(given, settings, knowledge, seed):
        recent = [*recent[-settings.patience + 1 :], info]
        warm = time.process_time() - start if state.iteration <= WARM_UP else warm
    cpu = time.process_time() - start
    for each in recent:
        for environment, found in zip(each.environments, each.targets, strict=True):
            truth = true_target(environment) if hidden is None else hidden[given.environments.index(environment)]
            guess = tuple(np.flatnonzero(found > 0.5).tolist())
            exact.append(guess == truth)
            right.append(int(np.argmax(found)) in truth if truth else not guess)
    parents = np.asarray(info.probabilities) > 0.5
    truth = simulated.graph.parents
    wrong = [
        f"{given.names[j]}->{given.names[i]}"
        + ("+" if parents[i, j] else f"-{max(strength(simulated, i, j, seed), 0.0):.4f}")
        for i, j in np.argwhere(parents != truth)
    ]
    return {
        "row": name,
        "world": world,
        "seed": seed,
        "settings": settings_hash(settings, world),
        "shd": metrics.shd(parents, truth),
        "hamming": metrics.hamming(parents, truth),
        "errors": " ".join(wrong),
        "targets_right": round(float(np.mean(right)), 4),
        "targets_exact": round(float(np.mean(exact)), 4),
        "targets_ceiling": round(
            ceiling(simulated, 400, row.freeze[2] if row.freeze else settings.rows_of_each(len(given.names)), seed), 4
        ),
        "environments": len(right),
        "cpu_seconds": round(cpu, 1),
        "compile_seconds": round(max(cold - warm, 0.0), 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "updates": state.iteration,
        "reason": _reason(state, settings),
        "undecided": info.undecided,
    }


def _reason(state: Any, settings: sdi.Settings) -> str:
    from sdi.method.neural.iterate import stop_reason

    return stop_reason(state, settings) or "?"


# What only tables look at: it does not make another method of the networks.
OF_TABLES = {
    "sample_size",
    "strengths",
    "expected_parents",
    "most_parents",
    "largest_table",
    "chains",
    "sweeps",
    "agreement",
}


@functools.cache
def variables_of(world: str) -> int:
    return len(sdi.named_world(world, rng=np.random.default_rng(0)).names)


def settings_hash(settings: sdi.Settings, world: str) -> str:
    """Of what is used there: rows of an intervention depend on how many variables there are."""
    settings = dataclasses.replace(settings, rows_per_intervention=settings.rows_of_each(variables_of(world)))
    used = {name: value for name, value in dataclasses.asdict(settings).items() if name not in OF_TABLES}
    return hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()[:8]


def run(names: list[str], worlds: list[str] | None, seeds: list[int], path: Path, anew: bool = False) -> None:
    speed, version = round(matmul_gflops(), 1), code_version("neural")
    for seed in seeds:
        jax.clear_caches()  # hundreds of runs in one process would compile more than the system lets it map
        for name in names:
            row = ROWS[name]
            for world in row.worlds:
                if worlds and world not in worlds:
                    continue
                mark = settings_hash(sdi.Settings(method="neural", **row.settings), world)
                wanted = {"row": name, "world": world, "seed": seed, "settings": mark}
                if is_done(path, wanted, version if anew else None):
                    continue
                result = one(name, row, world, seed) | {"matmul_gflops": speed, "version": version}
                append(path, result, COLUMNS)
                print(json.dumps({k: v for k, v in result.items() if k not in ("version", "settings")}), flush=True)


def _place(row: dict[str, str]) -> tuple[int, int]:
    """Where a row stands in the table."""
    worlds = ROWS[row["row"]].worlds
    return list(ROWS).index(row["row"]), worlds.index(row["world"]) if row["world"] in worlds else len(worlds)


def summary(path: Path) -> str:
    """One line for each row and world with today's settings: every seed's Hamming distance, worst, targets, CPU."""
    now = {name: sdi.Settings(method="neural", **row.settings) for name, row in ROWS.items()}
    rows = [r for r in read(path) if r["row"] in now and r["settings"] == settings_hash(now[r["row"]], r["world"])]
    latest = {(r["row"], r["world"]): r["settings"] for r in sorted(rows, key=_place)}
    lines = [
        "| row | world | target | Hamming, by seed | worst | targets right (ceiling) | CPU s (compilation apart) |"
        " updates | stopped |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    shown: list[dict[str, str]] = []
    for (name, world), mark in latest.items():
        mine = {int(r["seed"]): r for r in rows if (r["row"], r["world"], r["settings"]) == (name, world, mark)}
        each = [mine[seed] for seed in sorted(mine)]
        target = ROWS[name].target if name in ROWS else "-"
        hamming = [int(r["hamming"]) for r in each]
        right = np.average([float(r["targets_right"]) for r in each], weights=[int(r["environments"]) for r in each])
        best = np.mean([float(r["targets_ceiling"]) for r in each])
        cpu = np.mean([float(r["cpu_seconds"]) for r in each])
        compiled = max(float(r["compile_seconds"]) for r in each)
        updates = "-".join(str(f([int(r["updates"]) for r in each])) for f in (min, max))
        reasons = ", ".join(sorted({r["reason"] for r in each}))
        lines.append(
            f"| {name} | {world} | {target} | {' '.join(map(str, hamming))} | {max(hamming)} | "
            f"{right:.1%} ({best:.1%}) | {cpu:.1f} ({compiled:.0f}) | {updates} | {reasons} |"
        )
        shown += each
    return "\n".join([*lines, "", by_version(shown, code_version("neural"))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["list", "run", "summary"])
    parser.add_argument("rows", nargs="*", help="rows to run (default: all)")
    parser.add_argument("--worlds", nargs="*")
    parser.add_argument("--seeds", default="1-5", type=seeds_of, help="1-5 or 1,3")
    parser.add_argument("--results", type=Path, default=RESULTS)
    add_anew(parser)
    options = parser.parse_args()
    if options.action == "list":
        for name, row in ROWS.items():
            print(f"{name:16} target {row.target:18} {' '.join(row.worlds)}")
    elif options.action == "summary":
        print(summary(options.results))
    else:
        unknown = [name for name in options.rows if name not in ROWS]
        if unknown:
            sys.exit(f"unknown row {unknown[0]!r}; choose from {', '.join(ROWS)}")
        run(options.rows or list(ROWS), options.worlds, options.seeds, options.results, options.anew)


if __name__ == "__main__":
    main()
