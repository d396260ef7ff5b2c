"""Five seeds in one compiled call against five in turn: CPU seconds for an iteration of the paper's method, and ratio.

python benchmarks/seeds.py
"""

import os
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np

import sdi
from sdi.method.neural.seeds import iterate_seeds

SEEDS = (1, 2, 3, 4, 5)
ITERATIONS = 3  # the first compiles and is not counted


def main() -> None:
    for name, change in {"chain3": {}, "chain8": {"fit_steps": 1_000, "interventions": 3}}.items():
        settings = sdi.Settings.paper(iterations=ITERATIONS, observational_rows=50_000, **change)
        worlds = [sdi.named_world(name, rng=np.random.default_rng(seed), redrawn=True) for seed in SEEDS]
        in_turn = 0.0
        for world, seed in zip(worlds, SEEDS, strict=True):
            in_turn += timed(sdi.iterate(world, settings, seed=seed))
        at_once = timed(iterate_seeds(worlds, settings, SEEDS))
        print(f"{name}: in turn {in_turn:.2f} s, at once {at_once:.2f} s, ratio {in_turn / at_once:.2f}", flush=True)


def timed(steps: object) -> float:
    """CPU seconds of all iterations but the first."""
    next(steps)
    start = time.process_time()
    for _ in steps:
        pass
    return (time.process_time() - start) / (ITERATIONS - 1)


if __name__ == "__main__":
    main()
