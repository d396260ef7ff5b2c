"""The methods written here (greedy search, Eaton & Murphy, nonlinear ICP), wrapped for the comparison.

Their sources and settings are told in their own files; here they run with their defaults. Limits on parents are theirs
too: Eaton & Murphy sums over sets of up to 5, nonlinear ICP tests sets of up to 3 of the 10 best predictors, of
up to 2 where there are ten categories.
"""

import resource

import numpy as np

import sdi
from experiments.comparison.result import Result
from experiments.methods import eaton_murphy, greedy, nonlinear_icp
from experiments.methods.gies import declared

SHARE = 0.75  # of the memory allowed: the rest is for what its own estimate leaves out


def climb(dataset: sdi.Dataset, seed: int, seconds: float) -> Result:
    """Greedy search, targets known; environments whose target nobody declared are left out."""
    used, note = declared(dataset)
    return Result(parents=greedy.run(used, seed=seed).parents, note=note)


def exact(dataset: sdi.Dataset, seed: int, seconds: float) -> Result:
    """Eaton & Murphy: probabilities of edges and of targets; sizes that cannot fit say so before they start."""
    cost = eaton_murphy.estimate(dataset, max_parents=5, max_indicators=2)
    if cost.seconds > seconds:
        raise TimeoutError(f"would take about {cost.seconds:.0f} seconds for {cost.families:.2g} families")
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    memory = SHARE * allowed if allowed != resource.RLIM_INFINITY else 8e9
    found = eaton_murphy.run(dataset, seed=seed, memory_limit=memory, time_limit=seconds)
    return Result(
        probabilities=found.probabilities,
        targets=tuple(tuple(np.flatnonzero(each > 0.5).tolist()) for each in found.targets),
    )


def invariant(dataset: sdi.Dataset, seed: int, seconds: float) -> Result:
    """Nonlinear ICP; with targets known the environments that touched a variable are left out for it."""
    used, note = declared(dataset)
    known = [environment.target or () for environment in used.environments]
    found = nonlinear_icp.run(used, known, seed) if known else nonlinear_icp.run(dataset, None, seed)
    empty = int((found.accepted == 0).sum())
    words = f"no invariant set for {empty} of {len(dataset.names)} variables"
    return Result(parents=found.parents, note=f"{words}; {note}" if known and note else words)
