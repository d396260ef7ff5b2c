"""Runs one method on one file of rows, within limits that it sets itself, and writes down what came out.

    python -m experiments.comparison.worker ROWS.npz RESULT.json TASK.json

TASK holds `call` (module:function), `loads`, `options`, `told`, `seed`, `seconds` and `memory_gb`. It never
holds the truth.
"""

import importlib
import json
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

GIGABYTE = 2**30
OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "RESOURCE_EXHAUSTED", "Cannot allocate memory", "not enough memory")


def main(rows: Path, answer: Path, task: dict[str, Any]) -> int:
    limit = int(task["memory_gb"] * GIGABYTE)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    # Of CPU time, so that a busy machine changes nothing; one second later the system itself ends the process.
    seconds = max(1, round(task["seconds"]))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    try:
        found = work(rows, task)
    except Exception as error:  # every failure is a row of its own
        found = failure(error)
    answer.write_text(json.dumps(found))
    return 0


def failure(error: Exception) -> dict[str, Any]:
    last = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, MemoryError) or any(sign in last for sign in OUT_OF_MEMORY):
        return {"status": "memory", "message": last[:300]}
    if isinstance(error, TimeoutError):  # a method that can tell beforehand that its time will not do
        return {"status": "timeout", "message": last[:300]}
    traceback.print_exc()
    return {"status": "failed", "message": last[:300]}


def work(rows: Path, task: dict[str, Any]) -> dict[str, Any]:
    from experiments.comparison.data import Simulated, load, told, world_of
    from experiments.comparison.result import to_json

    dataset = load(rows)
    if task["told"] == "observational rows only":
        dataset = type(dataset)(dataset.names, dataset.states, dataset.observational, ())
    elif task["told"] == "targets known":
        dataset = told(dataset, tuple(None if each is None else tuple(each) for each in task["targets"]))
    given: Any = dataset
    if task.get("redrawn"):
        given = world_of(Simulated(**task["redrawn"]), task["seed"])
    module, _, name = task["call"].partition(":")
    for each in task["loads"]:  # importing is not the method's work
        importlib.import_module(each)
    method = getattr(importlib.import_module(module), name)
    begun = time.process_time()
    result = method(given, seed=task["seed"], seconds=task["seconds"], **task["options"])
    return {"status": "ok", "cpu_seconds": time.process_time() - begun, **to_json(result)}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text())))
