"""How long a step of phase 1 and an intervention take, compiled and written out plainly, in one run on one thread.

    taskset -c 1 python benchmarks/phases.py --json phases.json

Times are of the processor, not of the clock, so that others on the machine disturb them less. The plain step is NumPy
with its gradient derived by hand; before it is timed it is checked against the compiled one.
"""
# ruff: noqa: E402  the number of threads is read when NumPy and JAX are imported

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdi.method.beliefs import Knowledge
from sdi.method.neural.batches import Pool, pool
from sdi.method.neural.descend import learn
from sdi.method.neural.learner import Weights, initial_weights, log_likelihood
from sdi.method.neural.phase1_fit import fit, unfitted
from sdi.method.neural.phase3_update import initial_structure
from sdi.method.settings import Settings

BATCH, REPEATS = 256, 3
Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class Size:
    """A world to time, and how much of each thing is done in one measurement."""

    variables: int
    categories: int
    steps: int  # of the compiled phase 1
    plain_steps: int
    interventions: int

    @property
    def cardinalities(self) -> tuple[int, ...]:
        return (self.categories,) * self.variables


SIZES = (
    Size(3, 2, 4000, 400, 40),
    Size(8, 2, 2000, 200, 10),
    Size(13, 2, 600, 100, 5),
    Size(25, 10, 60, 20, 1),
    Size(37, 4, 40, 15, 1),
)


def least(task: Callable[[], Any]) -> float:
    """The least processor time of a few runs, in seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        jax.block_until_ready(task())
        times.append(time.process_time() - start)
    return min(times)


def compiled(function: Any, *arguments: Any) -> tuple[Callable[[], Any], float]:
    """A call of the compiled `function` (its last argument is static) and the seconds that compiling took."""
    start = time.process_time()
    ready = function.lower(*arguments).compile()
    seconds = time.process_time() - start
    return lambda: ready(*arguments[:-1]), seconds


# ------------------------------------------------------------------------------------------- the plain step


class Plain:
    """The same networks in NumPy: forward, backward by hand, Adam, one operation after the other."""

    def __init__(self, weights: Weights, settings: Settings) -> None:
        self.weights = [np.array(each, np.float32) for each in weights]
        self.first = [np.zeros_like(each) for each in self.weights]
        self.second = [np.zeros_like(each) for each in self.weights]
        self.settings, self.count = settings, 0

    def gradient(self, rows: NDArray[np.integer], configuration: Numbers) -> list[Numbers]:
        """Of -log P(rows | configuration), the mean over rows and the sum over variables."""
        w0, b0, w1, b1 = self.weights
        m, _, n, h = w0.shape
        seen = np.eye(n, dtype=np.float32)[rows]  # [B, M, N]
        inputs = seen.reshape(len(rows), m * n)
        masked = (w0 * configuration[:, :, None, None]).reshape(m, m * n, h)
        before = inputs @ masked + b0[:, None]  # [M, B, H]
        hidden = np.where(before > 0, before, np.float32(0.1) * before)
        logits = hidden @ w1 + b1[:, None]  # [M, B, N]
        odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
        error = (odds / odds.sum(axis=-1, keepdims=True) - seen.transpose(1, 0, 2)) / np.float32(len(rows))
        back = (error @ w1.transpose(0, 2, 1)) * np.where(before > 0, np.float32(1), np.float32(0.1))  # [M, B, H]
        of_w0 = (inputs.T @ back).reshape(w0.shape) * configuration[:, :, None, None]
        return [of_w0, back.sum(axis=1), hidden.transpose(0, 2, 1) @ error, error.sum(axis=1)]

    def step(self, rows: NDArray[np.integer], configuration: Numbers) -> None:
        """One step of Adam."""
        rate, (beta1, beta2) = self.settings.fit_rate, self.settings.fit_betas
        self.count += 1
        for k, gradient in enumerate(self.gradient(rows, configuration)):
            self.first[k] = beta1 * self.first[k] + (1 - beta1) * gradient
            self.second[k] = beta2 * self.second[k] + (1 - beta2) * gradient**2
            mean = self.first[k] / (1 - beta1**self.count)
            spread = np.sqrt(self.second[k] / (1 - beta2**self.count))
            self.weights[k] -= rate * mean / (spread + 1e-8)

    def run(self, rows: NDArray[np.integer], probabilities: Numbers, steps: int, rng: np.random.Generator) -> None:
        """Phase 1: every step draws its rows and its configuration."""
        for _ in range(steps):
            configuration = (rng.random(probabilities.shape) < probabilities).astype(np.float32)
            self.step(rows[rng.integers(len(rows), size=BATCH)], configuration)


def check_agreement(size: Size, weights: Weights, rows: NDArray[np.integer]) -> float:
    """The largest relative difference between plain and compiled, in a gradient and after five steps of Adam.

    The steps are taken on copies of one row under a sure configuration: then nothing is left to chance.
    """
    configuration = np.tri(size.variables, k=-1, dtype=np.float32)
    settings = Settings.paper(batch=BATCH, fit_steps=5, estimator="ratio")

    def loss(weights: Weights) -> jax.Array:
        return -log_likelihood(weights, rows[:BATCH], jnp.asarray(configuration)).mean(axis=1).sum()

    plain = Plain(weights, settings)
    pairs = list(zip(plain.gradient(rows[:BATCH], configuration), jax.jit(jax.grad(loss))(weights), strict=True))
    for _ in range(5):
        plain.step(np.repeat(rows[:1], BATCH, axis=0), configuration)
    sure = pool(rows[:1], size.cardinalities, BATCH)
    (fitted, _), _ = fit(unfitted(weights, settings), sure, jnp.asarray(configuration), jax.random.key(0), settings)
    pairs += [
        (ours - start, theirs - start) for ours, theirs, start in zip(plain.weights, fitted, weights, strict=True)
    ]
    difference = max(float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)) for ours, theirs in pairs)
    if difference > 1e-3:
        raise SystemExit(f"plain and compiled differ by {difference:.1e} at {size}; the ratio would mean nothing")
    return difference


# --------------------------------------------------------------------------------------------- measurements


def time_phase1(size: Size, weights: Weights, rows: NDArray[np.integer], rng: np.random.Generator) -> dict[str, float]:
    settings = Settings.paper(batch=BATCH, fit_steps=size.steps)
    probabilities = np.full((size.variables,) * 2, 0.5, np.float32) * (1 - np.eye(size.variables, dtype=np.float32))
    made = pool(rows, size.cardinalities, BATCH)
    run, compile_seconds = compiled(fit, unfitted(weights, settings), made, probabilities, jax.random.key(1), settings)
    agreement = check_agreement(size, weights, rows)
    plain = least(lambda: Plain(weights, settings).run(rows, probabilities, size.plain_steps, rng)) / size.plain_steps
    step = least(run) / size.steps
    return {
        "rows_evaluated": min(len(made.rows), BATCH),
        "step_us": 1e6 * step,
        "plain_step_us": 1e6 * plain,
        "ratio": plain / step,
        "difference": agreement,
        "compile_fit_s": compile_seconds,
    }


def time_interventions(size: Size, weights: Weights, rows: NDArray[np.integer]) -> dict[str, float]:
    """Target, scores and update of one intervention: the difference between `interventions` + 1 of them and 1."""
    settings = Settings.paper(
        batch=BATCH,
        prediction_batches=100,
        prediction_configurations=10,
        scoring_batches=10,
        scoring_configurations=25,
        targets="deterioration",
        estimator="paper",
    )
    structure = initial_structure(jax.random.key(2), size.variables, settings)
    clamp = Knowledge().clamp([f"X{i}" for i in range(size.variables)])
    observed, one = pool(rows, size.cardinalities, BATCH), pool(rows[:1000], size.cardinalities, BATCH)
    seconds, compile_seconds = [], 0.0
    for count in (1, 1 + size.interventions):
        pools = Pool(*(np.stack([part] * count) for part in one))
        unknown = np.full((count, size.variables), np.nan, np.float32)
        run, compile_seconds = compiled(
            learn, structure, weights, observed, pools, unknown, clamp, jax.random.key(3), settings
        )
        seconds.append(least(run))
    of_one = (seconds[1] - seconds[0]) / size.interventions
    return {"intervention_us": 1e6 * of_one, "compile_learn_s": compile_seconds}


def matrix_speed() -> float:
    """GFLOP/s of a product of two 1024 x 1024 float32 matrices."""
    matrix = jnp.asarray(np.random.default_rng(0).random((1024, 1024), np.float32))
    product = jax.jit(lambda a: a @ a)
    jax.block_until_ready(product(matrix))
    return 2 * 1024**3 / least(lambda: [product(matrix) for _ in range(10)]) * 10 / 1e9


def measure(size: Size) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    rows = rng.integers(size.categories, size=(20_000, size.variables)).astype(np.uint8)
    weights = initial_weights(jax.random.key(0), size.cardinalities)
    return {**asdict(size), **time_phase1(size, weights, rows, rng), **time_interventions(size, weights, rows)}


COLUMNS = {
    "variables": ("variables", "d"),
    "categories": ("categories", "d"),
    "rows_evaluated": ("rows", "d"),
    "step_us": ("step us", ",.0f"),
    "plain_step_us": ("plain us", ",.0f"),
    "ratio": ("ratio", ".1f"),
    "difference": ("difference", ".0e"),
    "intervention_us": ("intervention us", ",.0f"),
    "compile_fit_s": ("compile fit s", ".1f"),
    "compile_learn_s": ("compile learn s", ".1f"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a step of phase 1 and an intervention.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--variables", type=int, nargs="*", help="only these sizes, of 3, 8, 13, 25 and 37")
    chosen = parser.parse_args()
    speed = matrix_speed()
    print(f"JAX {jax.__version__}, NumPy {np.__version__}, {jax.devices()[0]}, {len(os.sched_getaffinity(0))} core(s)")
    print(f"1024 x 1024 float32 product: {speed:.1f} GFLOP/s")
    print(f"Batches of {BATCH}; rows: those evaluated in a step (all combinations, where they are fewer than a batch).")
    print("Interventions of the paper: 100 x 10 evaluations for the target, 10 x 25 scores, one update.")
    print("  ".join(head for head, _ in COLUMNS.values()))
    results = []
    for size in SIZES:
        if chosen.variables and size.variables not in chosen.variables:
            continue
        results.append(measure(size))
        cells = (f"{results[-1][key]:{form}}".rjust(len(head)) for key, (head, form) in COLUMNS.items())
        print("  ".join(cells), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps({"gflops": speed, "sizes": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
