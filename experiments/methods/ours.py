"""sdi itself: this library's presets and methods, on the same rows as the others.

Options: `preset` (default, paper) and any field of `sdi.Settings`. A run stops at four fifths of its CPU seconds (the
paper's preset, whose iterations are long, at half of them) with what it believes then, and the note says so. The note
also names the method whose graph this is, and, where both were tried, how well each predicts held-out rows (mean
log-likelihood of a value). Categories are passed as codes and are nominal. With targets known they are declared in the
dataset; a redrawn world is given as it is, without end.
"""

from typing import Any

import numpy as np

import sdi
from experiments.comparison.result import Result

SHARE = {"default": 0.8, "paper": 0.5}  # of the time allowed: the limit is looked at between iterations only


def run(world: Any, seed: int, seconds: float, preset: str = "default", **changes: Any) -> Result:
    make = sdi.Settings.paper if preset == "paper" else sdi.Settings
    found = sdi.discover(world, make(seconds=SHARE[preset] * seconds, **changes), seed=seed)
    targets = None
    if world.environments:
        targets = tuple(tuple(np.flatnonzero(each > 0.5).tolist()) for each in found.targets)
    return Result(
        parents=found.parents,
        probabilities=found.probabilities.astype(float),
        targets=targets,
        note=f"{found.reason} after {found.iterations} iterations; {trusted(found)}",
    )


def trusted(found: sdi.Discovery) -> str:
    """Which method the graph comes from, and the verdict where there was one."""
    figures = ", ".join(f"{each['method']} {each['log_likelihood']:.4f}" for each in found.compared)
    return f"trusted: {found.method}" + (f" ({figures} nats)" if figures else "")
