"""sdi finds causes: the graph behind categorical data in which something unknown was changed now and then.

The public names are imported when first used, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdi.collected import dataset_from_dcdi
    from sdi.estimator import SDI
    from sdi.graphs import graph
    from sdi.method.beliefs import Knowledge
    from sdi.method.discover import Discovery, discover, iterate
    from sdi.method.settings import Settings
    from sdi.worlds.dataset import Dataset, freeze
    from sdi.worlds.from_arrays import dataset_from_arrays, dataset_from_masks
    from sdi.worlds.from_table import dataset_from_table, inspect_table
    from sdi.worlds.named import named_world
    from sdi.worlds.simulated import Interventions

_HOMES = {
    "SDI": "estimator",
    "graph": "graphs",
    "Knowledge": "method.beliefs",
    "Discovery": "method.discover",
    "discover": "method.discover",
    "iterate": "method.discover",
    "Settings": "method.settings",
    "dataset_from_dcdi": "collected",
    "Dataset": "worlds.dataset",
    "freeze": "worlds.dataset",
    "dataset_from_arrays": "worlds.from_arrays",
    "dataset_from_masks": "worlds.from_arrays",
    "dataset_from_table": "worlds.from_table",
    "inspect_table": "worlds.from_table",
    "named_world": "worlds.named",
    "Interventions": "worlds.simulated",
}

__all__ = [
    "SDI",
    "Dataset",
    "Discovery",
    "Interventions",
    "Knowledge",
    "Settings",
    "dataset_from_arrays",
    "dataset_from_dcdi",
    "dataset_from_masks",
    "dataset_from_table",
    "discover",
    "freeze",
    "graph",
    "inspect_table",
    "iterate",
    "named_world",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sdi' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"sdi.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
