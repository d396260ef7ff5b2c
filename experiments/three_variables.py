"""The paper's method on its four 3-variable graphs: share recovered, interventions and CPU seconds.

    python -m experiments.three_variables [--seeds 1-5] [--graphs chain3 ...] [--estimators paper ratio]
    python -m experiments.three_variables --summary

Redrawn worlds, binary, unknown targets, the paper's settings; `ratio` differs from the preset in its estimator, and in
the penalties divided by 5, since its gradient is smaller by about that much. Rows go to results/three_variables.csv;
what is there is not run again.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np

import sdi
from experiments.comparison.raw import append, read, seeds_of

RESULTS = Path(__file__).parent / "results" / "three_variables.csv"
GRAPHS = ("chain3", "fork3", "collider3", "confounder3")
LIMIT = 15_000  # interventions
SETTINGS = {
    "paper": sdi.Settings.paper(all_interventions=LIMIT),
    "ratio": sdi.Settings.paper(all_interventions=LIMIT, estimator="ratio", sparsity=0.02, acyclicity=0.1),
}
COLUMNS = (
    *("estimator", "graph", "seed", "first_interventions", "first_cpu_seconds", "lost_again", "hamming"),
    *("interventions", "cpu_seconds", "reason"),
)


def one(estimator: str, name: str, seed: int) -> dict[str, Any]:
    """Run to the method's own stop or the limit, and note when the graph was first right and whether it stayed so."""
    settings = SETTINGS[estimator]
    world = sdi.named_world(name, rng=np.random.default_rng(seed), redrawn=True)
    begun, first, distances = time.process_time(), None, []
    for state, info in sdi.iterate(world, settings, seed=seed):
        last = state
        distances.append(int(((info.probabilities > 0.5) != world.graph.parents).sum()))
        if distances[-1] == 0 and first is None:
            first = (info.interventions, time.process_time() - begun)
    after = distances[distances.index(0) :] if first else []
    return {
        "estimator": estimator,
        "graph": name,
        "seed": seed,
        "first_interventions": first[0] if first else "",
        "first_cpu_seconds": round(first[1], 1) if first else "",
        "lost_again": int(any(after)),
        "hamming": distances[-1],
        "interventions": last.interventions,
        "cpu_seconds": round(time.process_time() - begun, 1),
        "reason": "settled" if last.stable >= settings.patience else "limit",
    }


def run(estimators: list[str], graphs: list[str], seeds: list[int]) -> None:
    for seed in seeds:
        for name in graphs:
            for estimator in estimators:
                if any((r["estimator"], r["graph"], r["seed"]) == (estimator, name, str(seed)) for r in read(RESULTS)):
                    continue
                result = one(estimator, name, seed)
                append(RESULTS, result, COLUMNS)
                print(result, flush=True)


def summary() -> str:
    lines = [
        "| estimator | graph | recovered | Hamming by seed | first right after (interventions, by seed) | lost again |"
        " interventions in all | CPU s to first, median | CPU s in all, median |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    rows = read(RESULTS)
    for estimator in SETTINGS:
        for name in GRAPHS:
            mine = sorted(
                (r for r in rows if (r["estimator"], r["graph"]) == (estimator, name)), key=lambda r: r["seed"]
            )
            if not mine:
                continue
            right = sum(r["hamming"] == "0" for r in mine)
            firsts = [float(r["first_cpu_seconds"]) for r in mine if r["first_cpu_seconds"]]
            lost = sum(r["lost_again"] == "1" for r in mine)
            lines.append(
                f"| {estimator} | {name} | {right} of {len(mine)} | {' '.join(r['hamming'] for r in mine)} | "
                f"{' '.join(r['first_interventions'] or '-' for r in mine)} | {lost} | "
                f"{' '.join(r['interventions'] for r in mine)} | "
                f"{np.median(firsts) if firsts else float('nan'):.0f} | "
                f"{np.median([float(r['cpu_seconds']) for r in mine]):.0f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-5", type=seeds_of)
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--estimators", nargs="*", default=list(SETTINGS))
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    if options.summary:
        print(summary())
    else:
        run(options.estimators, options.graphs, options.seeds)


if __name__ == "__main__":
    main()
