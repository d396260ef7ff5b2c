"""PC (Spirtes, Glymour & Scheines): a CPDAG from tests of conditional independence, on observational rows.

Source: causal-learn 0.1.4.8, `pc` with the G-square test at level 0.01, stable skeleton, its other defaults. Categories
are passed as codes and treated as nominal by the test. An edge that two v-structures would turn against each other is
left without a direction.
"""

import numpy as np
from numpy.typing import NDArray

import sdi
from experiments.comparison.result import Result

LEVEL = 0.01


def run(dataset: sdi.Dataset, seed: int, seconds: float) -> Result:
    from causallearn.search.ConstraintBased.PC import pc

    rows = dataset.observational.astype(int)
    found = pc(rows, alpha=LEVEL, indep_test="gsq", show_progress=False)
    return Result(parents=parents_of(found.G.graph), partial=True)


def parents_of(marks: NDArray[np.integer]) -> NDArray[np.bool_]:
    """causal-learn's end marks as [child, parent]: -1 at the tail of an edge, 1 at its head."""
    joined = (marks != 0) & (marks.T != 0)
    into = (marks == 1) & (marks.T == -1)  # the head is here, the tail there
    undirected = joined & (marks == marks.T)
    return into | undirected
