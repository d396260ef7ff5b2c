"""What a method hands back, and its way through JSON."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Result:
    """A graph or probabilities, or both; targets where the method names them."""

    parents: NDArray[np.bool_] | None = None  # [child, parent]; None is probabilities > 0.5
    probabilities: NDArray[np.float64] | None = None  # [child, parent]
    partial: bool = False  # whether an edge both ways is one without a direction (a CPDAG) rather than two claims
    targets: tuple[tuple[int, ...], ...] | None = None  # the variables touched in each environment
    note: str = ""

    @property
    def graph(self) -> NDArray[np.bool_]:
        if self.parents is not None:
            return np.asarray(self.parents, dtype=bool)
        if self.probabilities is None:
            raise ValueError("a method must give parents or probabilities; this one gave neither")
        return np.asarray(self.probabilities) > 0.5


def to_json(result: Result) -> dict[str, Any]:
    return {
        "parents": result.graph.astype(int).tolist(),
        "probabilities": None if result.probabilities is None else np.asarray(result.probabilities).tolist(),
        "partial": result.partial,
        "targets": None if result.targets is None else [[int(i) for i in each] for each in result.targets],
        "note": result.note,
    }


def from_json(fields: dict[str, Any]) -> Result:
    probabilities, targets = fields["probabilities"], fields["targets"]
    return Result(
        parents=np.array(fields["parents"], dtype=bool),
        probabilities=None if probabilities is None else np.array(probabilities, dtype=float),
        partial=fields["partial"],
        targets=None if targets is None else tuple(tuple(each) for each in targets),
        note=fields["note"],
    )
