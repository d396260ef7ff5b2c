"""Tables fitted to rows on a given graph, so that what was learned can be asked questions."""

import math
from collections.abc import Sequence

import numpy as np

from sdi.formats.bif import Network, Variable
from sdi.graphs import BoolMatrix, check_dag
from sdi.worlds.world import Rows

LARGEST = 2**20  # numbers in one table: as text they fill 20 MB, and no data of that size would fill them


def fitted_network(
    name: str,
    names: Sequence[str],
    states: Sequence[Sequence[str]],
    parents: BoolMatrix,
    rows: Rows,
    *,
    prior: float = 1.0,
) -> Network:
    """The network on ``parents[child, parent]`` whose tables are the smoothed shares in `rows`.

    Smoothed: every distribution counts `prior` rows more, spread evenly over the states (a Dirichlet prior of
    prior / states each). Given causes that never occur together it is therefore uniform.
    """
    check_dag(parents, names)
    if not prior > 0:
        raise ValueError(f"prior is a number of rows, above 0; got {prior}: without it unseen cases have no table")
    if rows.ndim != 2 or rows.shape[1] != len(names) or not len(rows):
        raise ValueError(f"expected rows of {len(names)} columns, at least one, got an array of {rows.shape}")
    sizes = [len(each) for each in states]
    variables = []
    for i, variable in enumerate(names):
        causes = np.flatnonzero(parents[i]).tolist()
        shape = (*(sizes[j] for j in causes), sizes[i])
        if math.prod(shape) > LARGEST:
            raise ValueError(
                f"{variable!r} has {len(causes)} causes and would need a table of {math.prod(shape):,} numbers, more "
                f"than {LARGEST:,}; raise --threshold so that fewer causes are left, or choose another format"
            )
        flat = np.ravel_multi_index([rows[:, j] for j in (*causes, i)], shape)
        counts = np.bincount(flat, minlength=math.prod(shape)).reshape(shape) + prior / sizes[i]
        table = counts / counts.sum(axis=-1, keepdims=True)
        variables.append(Variable(variable, tuple(states[i]), tuple(names[j] for j in causes), table))
    return Network(name, tuple(variables))
