"""GIES (Hauser & Bühlmann 2012): greedy search over interventional equivalence classes, targets known.

Source: gies 0.0.3, `gies.fit` with all three phases, iterated, and the interventional BDeu score of `bdeu.py` in which
an environment that touched a variable has a table of its own for it. Categories are passed as codes and are nominal.
An environment whose target nobody declared is left out.
"""

import numpy as np

import sdi
from experiments.comparison.result import Result
from experiments.methods.bdeu import InterventionalBDeu


def run(dataset: sdi.Dataset, seed: int, seconds: float) -> Result:
    import gies

    used, note = declared(dataset)
    adjacency, _ = gies.fit(InterventionalBDeu(used))  # [cause, effect]; an undirected edge goes both ways
    return Result(parents=np.asarray(adjacency, dtype=bool).T, partial=True, note=note)


def declared(dataset: sdi.Dataset) -> tuple[sdi.Dataset, str]:
    """The part of the dataset whose targets are known, and a word on the rest."""
    known = tuple(environment for environment in dataset.environments if environment.target is not None)
    left_out = len(dataset.environments) - len(known)
    used = sdi.Dataset(dataset.names, dataset.states, dataset.observational, known)
    return used, f"{left_out} environments without a declared target left out" if left_out else ""
