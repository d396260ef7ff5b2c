"""Accuracy and speed of tables: any row, any seeds, raw rows appended to a CSV.

    python benchmarks/tables.py list
    python benchmarks/tables.py run small alarm --seeds 1-5
    python benchmarks/tables.py calibration --seeds 1-50
    python benchmarks/tables.py summary

Targets are unknown, worlds are fixed. A run that is in the CSV already is not run again, unless `--anew` asks for it
and another version of the code made that row; the latest row counts. One thread. Networks that do not ship with sdi are
read from the BIF files in the wheel of pgmpy.
"""

import argparse
import os
import resource
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from raw import add_anew, append, by_version, code_version, is_done, read, seeds_of  # noqa: E402

import sdi  # noqa: E402
from sdi import metrics, networks  # noqa: E402
from sdi.method.tables.phase1_count import make_block  # noqa: E402
from sdi.method.tables.phase2_likelihood import prior_of  # noqa: E402
from sdi.method.tables.phase2_score import graph_score, prior_odds  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "tables.csv"
CALIBRATION = Path(__file__).parent / "results" / "tables_calibration.csv"
COLUMNS = (
    *("row", "world", "seed", "method", "variables", "edges", "shd", "hamming", "errors", "above_truth"),
    *("targets_right", "targets_exact", "targets_ceiling", "environments", "r_hat", "cpu_seconds", "peak_mb"),
    *("iterations", "reason", "trusted", "version"),
)


class Row(NamedTuple):
    """Worlds, the rows that are taken of each, and how many environments (None is one for each variable)."""

    worlds: tuple[str, ...]
    observational: int
    rows: int
    environments: int | None = None


ROWS = {
    "small": Row(("asia", "sachs", "earthquake", "cancer", "survey"), 2_000, 500),
    "alarm": Row(("alarm",), 5_000, 500),
    "medium": Row(("barley", "hailfinder", "mildew"), 5_000, 500),
    "large": Row(("andes", "diabetes", "pigs", "link", "munin"), 10_000, 200, 100),
}


def world_of(name: str, rng: np.random.Generator, **options: Any) -> Any:
    spec = find_spec("pgmpy")
    if name in networks.names() or spec is None or spec.origin is None:
        return sdi.named_world(name, rng=rng, temperature=2.0, **options)
    path = Path(spec.origin).parent / "utils" / "example_models" / f"{name}.bif.gz"
    return sdi.named_world(str(path) if path.exists() else name, rng=rng, temperature=2.0, **options)


def one(name: str, world_name: str, seed: int, method: str) -> dict[str, Any]:
    """Run one world with one seed to the method's own stop."""
    row, rng = ROWS[name], np.random.default_rng(seed)
    world = world_of(world_name, rng)
    size = len(world.names)
    frozen = sdi.freeze(
        world, observational=row.observational, environments=row.environments or size, rows=row.rows, rng=rng
    )
    data, truth = frozen.dataset, world.graph.parents
    begun = time.process_time()
    found = sdi.discover(data, sdi.Settings(method=method), seed=seed)  # type: ignore[arg-type]
    seconds = time.process_time() - begun
    right = np.array([np.isin(np.arange(size), target) for target in frozen.targets])
    said = found.targets > 0.5
    block = make_block(data.observational, [each.rows for each in data.environments])
    settings = sdi.Settings()
    odds = prior_odds(size, settings.expected_parents)
    prior = prior_of(block, data.cardinalities, settings.sample_size, settings.strengths)
    above = graph_score(block, found.parents, said, data.cardinalities, odds, prior)
    above -= graph_score(block, truth, right, data.cardinalities, odds, prior)
    wrong = [
        f"{'+' if found.parents[i, j] else '-'}{world.names[j]}->{world.names[i]}"
        for i, j in np.argwhere(found.parents != truth)
    ]
    return {
        **{"row": name, "world": world_name, "seed": seed, "method": method, "variables": size},
        **{"edges": int(truth.sum()), "shd": metrics.shd(found.parents, truth)},
        **{"hamming": metrics.hamming(found.parents, truth), "errors": " ".join(wrong[:60])},
        **{"above_truth": round(above, 2), "targets_right": round(float((said == right).all(axis=1).mean()), 4)},
        **{"targets_exact": int((said == right).all(axis=1).sum()), "environments": len(right)},
        **{"targets_ceiling": round(ceiling(block, truth, right, data.cardinalities, prior), 4)},
        **{"r_hat": None if found.chains is None else round(found.chains[0], 4)},
        **{"cpu_seconds": round(seconds, 2), "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024},
        **{"iterations": found.iterations, "reason": found.reason, "trusted": found.method},
    }


def ceiling(block: Any, truth: np.ndarray, right: np.ndarray, cardinalities: tuple[int, ...], prior: Any) -> float:
    """Share of targets that the same score finds if it is told the true graph and all other targets."""
    from sdi.method.tables.phase2_targets import environment_tables, touch_ratios

    ratios = np.empty(right.shape)
    for i in range(len(truth)):
        members = tuple(np.flatnonzero(truth[i]).tolist())
        tables = environment_tables(block, i, members, cardinalities, prior)
        ratios[:, i] = touch_ratios(tables, right[:, i])
    best = np.append(ratios, np.zeros((len(ratios), 1)), axis=1).argmax(axis=1)
    return float((right[np.arange(len(best)), np.minimum(best, len(truth) - 1)] & (best < len(truth))).mean())


def run(
    names: list[str], worlds: list[str] | None, seeds: list[int], method: str, path: Path, anew: bool = False
) -> None:
    version = code_version(method)
    for name in names:
        for seed in seeds:
            for world in ROWS[name].worlds:
                wanted = {"row": name, "world": world, "seed": seed, "method": method}
                if (worlds and world not in worlds) or is_done(path, wanted, version if anew else None):
                    continue
                row = one(name, world, seed, method) | {"version": version}
                append(path, row, COLUMNS)
                print({key: row[key] for key in ("world", "seed", "hamming", "above_truth", "cpu_seconds")}, flush=True)


def calibration(seeds: list[int], path: Path, anew: bool = False) -> None:
    """Edge probabilities of worlds with weak edges, beside whether each edge is there."""
    version = code_version("tables")
    for seed in seeds:
        if is_done(path, {"seed": seed}, version if anew else None):
            continue
        rng = np.random.default_rng(seed)
        world = sdi.named_world("random10:15", rng=rng, categories=3)
        frozen = sdi.freeze(world, observational=1_000, environments=10, rows=100, rng=rng)
        found = sdi.discover(frozen.dataset, sdi.Settings(method="tables"), seed=seed)
        for i, j in np.argwhere(~np.eye(10, dtype=bool)):
            edge = {"seed": seed, "cause": int(j), "effect": int(i), "true": int(world.graph.parents[i, j])}
            append(path, {**edge, "probability": round(float(found.probabilities[i, j]), 5), "version": version})
    print(f"expected calibration error {calibration_error(latest_edges(path)):.4f}")


def latest_edges(path: Path) -> list[dict[str, str]]:
    """Of each edge of each world the row that was made last."""
    return list({(row["seed"], row["cause"], row["effect"]): row for row in read(path)}.values())


def calibration_error(rows: list[dict[str, str]], bins: int = 10) -> float:
    """Mean distance between what was said and what was so, over bins of what was said, weighed by their edges."""
    said = np.array([float(row["probability"]) for row in rows])
    so = np.array([float(row["true"]) for row in rows])
    which = np.minimum((said * bins).astype(int), bins - 1)
    parts = [which == k for k in range(bins) if (which == k).any()]
    return float(sum(part.mean() * abs(said[part].mean() - so[part].mean()) for part in parts))


def calibration_summary(path: Path, bins: int = 10) -> str:
    """What was said beside what was so, in bins of what was said."""
    rows = latest_edges(path)
    if not rows:
        return "Not measured yet."
    said = np.array([float(row["probability"]) for row in rows])
    so = np.array([float(row["true"]) for row in rows])
    which = np.minimum((said * bins).astype(int), bins - 1)
    worlds = len({row["seed"] for row in rows})
    lines = [
        f"Expected calibration error {calibration_error(rows):.4f}: {worlds} worlds, {len(rows)} possible edges.",
        "",
        "| probability | edges | mean probability | share that is there |",
        "|---|---|---|---|",
    ]
    for k in range(bins):
        part = which == k
        if part.any():
            between = f"{k / bins:.1f}-{(k + 1) / bins:.1f}"
            lines.append(f"| {between} | {part.sum()} | {said[part].mean():.3f} | {so[part].mean():.3f} |")
    return "\n".join([*lines, "", by_version(rows, code_version("tables"))])


def summary(path: Path) -> str:
    """A line for each world: all seeds, worst and mean."""
    lines = [
        "| row | world | method | Hamming by seed | worst | mean | targets right | ceiling | nats above truth, least |"
        " CPU s, mean | memory, MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows, shown = read(path), list[dict[str, str]]()
    for key in dict.fromkeys((row["row"], row["world"], row["method"]) for row in rows):
        latest = {int(r["seed"]): r for r in rows if (r["row"], r["world"], r["method"]) == key}
        mine = [latest[seed] for seed in sorted(latest)]
        errors = [int(r["hamming"]) for r in mine]
        mean = {name: np.mean([float(r[name]) for r in mine]) for name in COLUMNS[-11:-3] if name != "r_hat" and mine}
        lines.append(
            f"| {key[0]} | {key[1]} | {key[2]} | {' '.join(map(str, errors))} | {max(errors)} | {np.mean(errors):.1f} |"
            f" {mean['targets_right']:.1%} | {mean['targets_ceiling']:.1%} |"
            f" {min(float(r['above_truth']) for r in mine):.1f} | {mean['cpu_seconds']:.1f} |"
            f" {max(int(r['peak_mb']) for r in mine)} |"
        )
        shown += [r for r in mine if key[2] == "tables"]
    return "\n".join([*lines, "", by_version(shown, code_version("tables"))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("list", "run", "calibration", "summary"))
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--worlds", nargs="*")
    parser.add_argument("--seeds", default="1-5", type=seeds_of)
    parser.add_argument("--method", default="tables", choices=("tables", "neural", "auto"))
    parser.add_argument("--results", type=Path)
    add_anew(parser)
    given = parser.parse_args()
    if given.command == "list":
        for name, row in ROWS.items():
            print(f"{name:8} {row.observational} + {row.rows} rows  {' '.join(row.worlds)}")
    elif given.command == "run":
        run(given.rows or list(ROWS), given.worlds, given.seeds, given.method, given.results or RESULTS, given.anew)
    elif given.command == "calibration":
        calibration(given.seeds, given.results or CALIBRATION, given.anew)
    else:
        print(summary(given.results or RESULTS))


if __name__ == "__main__":
    main()
