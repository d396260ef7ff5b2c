"""The default and tables on the rows of accuracy.py, beside networks: is the default ever much worse than the better?

    python benchmarks/default.py run networks fixed-5k-hard --seeds 1-3
    python benchmarks/default.py summary

Worlds, rows and seeds are those of accuracy.py, whose CSV has the rows of networks. A run that is in the CSV already is
not run again, unless `--anew` asks for it and another version of the code made that row; the latest row counts. One
thread; CPU seconds include compilation.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import accuracy  # sets one thread before numpy and JAX are there
import numpy as np
from raw import add_anew, append, by_version, code_version, is_done, read, seeds_of

import sdi
from sdi import metrics

RESULTS = Path(__file__).parent / "results" / "default.csv"
METHODS = ("tables", "auto")


def one(name: str, world: str, seed: int, method: str) -> dict[str, Any]:
    """Run one world with one seed to the method's own stop."""
    row = accuracy.ROWS[name]
    simulated, given, hidden = accuracy.build(row, world, seed)
    knowledge = accuracy.partly_known(simulated, row.open_edges, seed)
    begun = time.process_time()
    found = sdi.discover(given, sdi.Settings(method=method, **row.settings), knowledge, seed=seed)  # type: ignore[arg-type]
    seconds = time.process_time() - begun
    right = None
    if hidden is not None:
        guesses = [tuple(np.flatnonzero(each > 0.5).tolist()) for each in found.targets]
        right = round(float(np.mean([guess == truth for guess, truth in zip(guesses, hidden, strict=True)])), 4)
    return {
        **{"row": name, "world": world, "seed": seed, "method": method},
        **{"shd": metrics.shd(found.parents, simulated.graph.parents)},
        **{"hamming": metrics.hamming(found.parents, simulated.graph.parents), "targets_exact": right},
        **{"trusted": found.method, "reason": found.reason, "cpu_seconds": round(seconds, 1)},
    }


def run(
    names: list[str], worlds: list[str] | None, seeds: list[int], methods: list[str], path: Path, anew: bool = False
) -> None:
    versions = {method: code_version(method) for method in methods}
    for seed in seeds:
        for name in names:
            for world in accuracy.ROWS[name].worlds:
                for method in methods:
                    wanted = {"row": name, "world": world, "seed": seed, "method": method}
                    version = versions[method] if anew else None
                    if (worlds and world not in worlds) or is_done(path, wanted, version):
                        continue
                    result = one(name, world, seed, method) | {"version": versions[method]}
                    append(path, result)
                    print({key: value for key, value in result.items() if key != "version"}, flush=True)


def summary(path: Path = RESULTS, networks: Path = accuracy.RESULTS) -> str:
    """A line for each row and world: all seeds of all three, and by how much the default is worse than the better."""
    rows: dict[tuple[str, str], dict[str, dict[int, dict[str, str]]]] = {}
    for each in read(path):
        place = rows.setdefault((each["row"], each["world"]), {})
        place.setdefault(each["method"], {})[int(each["seed"])] = each
    for each in read(networks):
        settings = sdi.Settings(method="neural", **accuracy.ROWS[each["row"]].settings)
        if each["settings"] == accuracy.settings_hash(settings, each["world"]) and (each["row"], each["world"]) in rows:
            rows[each["row"], each["world"]].setdefault("neural", {})[int(each["seed"])] = each
    lines = [
        "| row | world | seeds | tables | networks | default | trusted | worse by at most | CPU s of default |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    order, shown = list(accuracy.ROWS), list[dict[str, str]]()
    for (name, world), place in sorted(rows.items(), key=lambda item: order.index(item[0][0])):
        default = place.get("auto", {})
        seeds = sorted(default)
        if not seeds:
            continue
        errors = {m: [place.get(m, {}).get(s, {}).get("hamming", "-") for s in seeds] for m in ("tables", "neural")}
        better = [
            min(int(e) for e in pair if e != "-") for pair in zip(*errors.values(), strict=True) if pair != ("-", "-")
        ]
        mine = [int(default[s]["hamming"]) for s in seeds]
        worse = max((a - b for a, b in zip(mine, better, strict=False)), default=0)
        trusted = " ".join("T" if default[s]["trusted"] == "tables" else "N" for s in seeds)
        cpu = np.mean([float(default[s]["cpu_seconds"]) for s in seeds])
        lines.append(
            f"| {name} | {world} | {' '.join(map(str, seeds))} | {' '.join(errors['tables'])} |"
            f" {' '.join(errors['neural'])} | {' '.join(map(str, mine))} | {trusted} | {max(worse, 0)} | {cpu:.0f} |"
        )
        shown += default.values()
    return "\n".join([*lines, "", by_version(shown, code_version("auto"))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "summary"))
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--worlds", nargs="*")
    parser.add_argument("--seeds", default="1-3", type=seeds_of)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=METHODS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    add_anew(parser)
    given = parser.parse_args()
    unknown = [name for name in given.rows if name not in accuracy.ROWS]
    if unknown:
        parser.error(f"unknown row {unknown[0]!r}; choose from {', '.join(accuracy.ROWS)}")
    if given.command == "summary":
        print(summary(given.results))
    else:
        run(given.rows or list(accuracy.ROWS), given.worlds, given.seeds, given.methods, given.results, given.anew)


if __name__ == "__main__":
    main()
