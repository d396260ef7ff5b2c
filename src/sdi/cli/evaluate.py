"""`sdi evaluate`: how far learned edges are from the truth."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from sdi.cli import show
from sdi.formats.edges import align, predicted_targets, read_edges, read_environments, read_targets, read_truth

Targets = list[tuple[int, ...]]


def evaluate(
    edges: Annotated[Path, typer.Argument(metavar="EDGES", help="Learned edges: cause,effect,probability.")],
    truth: Annotated[Path, typer.Argument(metavar="TRUTH", help="True edges: cause,effect.")],
    *,
    environments: Annotated[
        Path | None, typer.Option(help="Learned targets: environment,variable,probability.")
    ] = None,
    targets: Annotated[Path | None, typer.Option(help="True targets: environment,target.")] = None,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="An edge or a target is there where its probability exceeds this.")
    ] = 0.5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print every measure of the distance between learned edges and the truth."""
    if (environments is None) != (targets is None):
        raise ValueError("--environments and --targets go together: what was learned, and what is true")
    names, probabilities, parents = _read(edges, truth)
    predicted, true = None, None
    if environments is not None and targets is not None:
        predicted, true = _read_targets(environments, targets, threshold, names)
    with show.progress("comparing"):
        from sdi import metrics  # here, because it takes a second to import, which no other command needs to wait for

        result = metrics.evaluate(
            probabilities, parents, threshold=threshold, predicted_targets=predicted, true_targets=true
        )
    if as_json:
        show.as_json(result)
    else:
        show.as_table([{"measure": name, "value": value} for name, value in result.items()])


def _read(edges: Path, truth: Path) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.bool_]]:
    """All variables of both files, what is believed and what is true, over these."""
    learned, probabilities = read_edges(edges)
    true, _ = read_truth(truth)
    missing = [name for name in true if name not in learned]
    if true and len(missing) == len(true):
        raise ValueError(f"{edges} and {truth} have no variable in common; are they of the same system?")
    if missing:  # a file of other origin may list the edges it found and no more
        show.remark(f"note: not in {edges}, so taken as without edges: {', '.join(missing)}")
    names = (*learned, *missing)
    return names, align(probabilities, learned, names), read_truth(truth, names)[1]


def _read_targets(
    environments: Path, targets: Path, threshold: float, names: tuple[str, ...]
) -> tuple[Targets, Targets]:
    """What was learned and what is true of the environments in `targets`, as positions in `names`."""
    learned, true = predicted_targets(read_environments(environments), threshold), read_targets(targets)
    for environment in true:
        if environment not in learned:
            raise ValueError(f"{environments}: environment {environment!r} of {targets} has no row here; add it")
    index = {name: i for i, name in enumerate(names)}
    for path, touched in ((environments, learned), (targets, true)):
        for environment, variables in touched.items():
            for variable in variables:
                if variable not in index:
                    raise ValueError(f"{path}: target {variable!r} of {environment!r} is no variable of the graph")

    def positions(touched: dict[str, tuple[str, ...]]) -> Targets:
        return [tuple(index[variable] for variable in touched[environment]) for environment in true]

    return positions(learned), positions(true)
