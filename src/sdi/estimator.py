"""The scikit-learn-shaped front door: SDI().fit(table, environment=...)."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sdi.method.beliefs import Knowledge
from sdi.method.discover import discover
from sdi.method.settings import Settings
from sdi.worlds.dataset import OBSERVATIONAL
from sdi.worlds.from_table import Options, dataset_from_table


class SDI(BaseEstimator):  # type: ignore[misc]
    """Causal discovery from a table with unknown interventions.

    Parameters are those of :func:`sdi.discover`. After ``fit``:

    - ``edge_probabilities_``: table of P(cause -> effect), causes down, effects across
    - ``adjacency_``: the same shape, true where the graph has an edge
    - ``graph_``: the graph as networkx, edges with their ``probability``
    - ``targets_``: table of P(variable was touched), environments down, variables across
    - ``discovery_``: everything else that is known about the run
    """

    def __init__(self, settings: Settings | None = None, knowledge: Knowledge | None = None, seed: int = 0) -> None:
        self.settings = settings
        self.knowledge = knowledge
        self.seed = seed

    def fit(
        self,
        table: pd.DataFrame | np.ndarray[Any, Any],
        y: None = None,
        *,
        environment: str | Sequence[object],
        targets: Mapping[str, str | Sequence[str] | None] | None = None,
        observational: str | Sequence[str] = OBSERVATIONAL,
        **options: Unpack[Options],
    ) -> "SDI":
        """Discover the graph behind `table`: one row a sample, one column a variable.

        `environment` is the column (or the values) that says in which environment each row was taken, `observational`
        the environments that were left alone, `targets` what is known to have been touched in some of the others.
        `bins`, `missing`, `drop` and `keep` are those of :func:`sdi.dataset_from_table`.
        """
        if not isinstance(table, pd.DataFrame):
            array = np.asarray(table)
            if array.ndim != 2:
                raise ValueError(f"expected a table of rows and columns, got an array of shape {array.shape}")
            table = pd.DataFrame(array, columns=[f"X{j + 1}" for j in range(array.shape[1])])
        world = dataset_from_table(table, environment, observational=observational, targets=targets, **options)
        found = discover(world, self.settings, self.knowledge, self.seed)
        causes, effects = pd.Index(world.names, name="cause"), pd.Index(world.names, name="effect")
        self.discovery_ = found
        self.feature_names_in_ = np.array(world.names, dtype=object)
        self.n_features_in_ = len(world.names)
        self.edge_probabilities_ = pd.DataFrame(found.probabilities.T, causes, effects)
        self.adjacency_ = pd.DataFrame(found.parents.T, causes, effects)
        self.graph_ = found.graph
        self.targets_ = pd.DataFrame(
            found.targets, pd.Index(found.environments, name="environment"), pd.Index(world.names, name="variable")
        )
        return self

    def edges(self) -> list[tuple[str, str, float]]:
        """The edges of the graph as (cause, effect, probability), the most believed first."""
        check_is_fitted(self)
        listed = [(cause, effect, data["probability"]) for cause, effect, data in self.graph_.edges(data=True)]
        return sorted(listed, key=lambda edge: -edge[2])
