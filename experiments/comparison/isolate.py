"""Runs a method in a process of its own, so that whatever happens to it happens to it alone."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from experiments.comparison.worker import OUT_OF_MEMORY

ROOT = Path(__file__).resolve().parents[2]
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "PYTHONHASHSEED": "0",  # sets of names are walked in the same order every time
}
PAUSE = 0.02  # seconds between looks at the process


class Outcome(NamedTuple):
    """What became of a method: its answer if `status` is ok, else why there is none."""

    status: str  # ok, timeout, memory, failed
    answer: dict[str, Any]
    message: str
    process_cpu_seconds: float
    peak_mb: float


def isolated(folder: Path, rows: Path, task: dict[str, Any], wall_seconds: float) -> Outcome:
    """Run `task` on `rows` and wait for it; files go to `folder`."""
    answer, order, errors = folder / "answer.json", folder / "task.json", folder / "stderr.txt"
    answer.unlink(missing_ok=True)
    order.write_text(json.dumps(task))
    command = [sys.executable, "-m", "experiments.comparison.worker", str(rows), str(answer), str(order)]
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | ONE_THREAD,
            stdin=subprocess.DEVNULL,
            stdout=stderr,  # some libraries print what they do
            stderr=stderr,
            start_new_session=True,
        )
        try:
            code, used, late = _wait(process, time.monotonic() + wall_seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    seconds = used.ru_utime + used.ru_stime
    late = late or code == -signal.SIGXCPU or (code == -signal.SIGKILL and seconds > task["seconds"] - 2)
    status, found, message = _verdict(code, late, answer, errors.read_text(errors="replace"))
    return Outcome(status, found, message, seconds, used.ru_maxrss / 1024)


def _wait(process: "subprocess.Popen[bytes]", deadline: float) -> tuple[int, Any, bool]:
    """Exit code, what was used, and whether it had to be stopped. wait4 tells of this child what no sum of all does."""
    late = False
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used, late
        if not late and time.monotonic() > deadline:
            late = True
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(PAUSE)


def _verdict(code: int, late: bool, answer: Path, errors: str) -> tuple[str, dict[str, Any], str]:
    if late:
        return "timeout", {}, "still running when its time was up"
    if code == -signal.SIGKILL:  # not by us: the system does so when the machine has no more memory
        return "memory", {}, "ended by the system before its time was up"
    if code == 0 and answer.exists():
        found = json.loads(answer.read_text())
        return found.pop("status"), found, found.get("message", "")
    lines = [line.strip() for line in errors.splitlines() if line.strip()] or ["no word"]
    how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    kind = "memory" if any(sign in errors for sign in OUT_OF_MEMORY) else "failed"
    return kind, {}, f"{how}: {lines[-1]}"[:300]
