"""The default from end to end, targets unknown: one small world of each kind, found and settled by its own rule."""

from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import sdi
from sdi.method.neural.iterate import Info, stop_reason
from sdi.metrics import hamming, target_accuracy
from sdi.worlds.dataset import Frozen
from sdi.worlds.simulated import SimulatedWorld, true_target

DEFAULT = sdi.Settings(method="neural")  # one record and few shapes: compiling takes longer than all that is compiled
SEVERAL = sdi.Settings(method="neural", several_targets=True)


def world_of(name: str, seed: int = 1, *, how: dict[str, Any] | None = None, **kind: Any) -> SimulatedWorld:
    interventions = sdi.Interventions(**how or {})
    return sdi.named_world(name, rng=np.random.default_rng(seed), interventions=interventions, **kind)


class Run(NamedTuple):
    """How a run ended, and what it said of the targets in its last ten iterations."""

    reason: str | None
    probabilities: NDArray[np.float32]
    found: list[tuple[int, ...]]  # variables more likely touched than not
    likeliest: list[int]
    true: list[tuple[int, ...]]

    def right(self) -> float:
        """Share of touched environments in which the likeliest variable is one that was touched."""
        pairs = zip(self.likeliest, self.true, strict=True)
        return float(np.mean([guess in true for guess, true in pairs if true]))


def run(world: SimulatedWorld, settings: sdi.Settings = DEFAULT, seed: int = 1) -> Run:
    steps = list(sdi.iterate(world, settings, seed=seed))
    last = [info for _, info in steps[-10:]]
    seen = [pair for info in last for pair in zip(info.environments, info.targets, strict=True)]
    return Run(
        stop_reason(steps[-1][0], settings),
        last[-1].probabilities,
        [touched_of(row) for _, row in seen],
        [int(row.argmax()) for _, row in seen],
        [true_target(environment) for environment, _ in seen],
    )


def touched_of(row: NDArray[np.floating]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(row > 0.5).tolist())


# ----------------------------------------------------------------------------------------------- simulated worlds


def test_redrawn_world_is_found() -> None:
    """New mechanisms at every iteration; some that replace another hardly differ from it, and nobody could tell."""
    world = world_of("chain3", redrawn=True)
    result = run(world)
    assert result.reason == "settled"
    assert hamming(result.probabilities > 0.5, world.graph.parents) == 0
    assert len(result.true) == 160
    assert result.right() >= 0.9


def test_edge_that_networks_have_come_to_rely_on_is_not_confirmed_by_that() -> None:
    """Early on, A seems to speak to C past B; networks that always saw A from then on would do worse without it."""
    world = world_of("chain4", seed=3, redrawn=True)
    result = run(world, seed=3)
    assert result.reason == "settled"
    assert hamming(result.probabilities > 0.5, world.graph.parents) == 0


@pytest.mark.parametrize("how", [{}, {"kind": "uniform"}, {"untouched": 0.25}], ids=["soft", "hard", "untouched"])
def test_network_of_fixed_tables_is_found(how: dict[str, Any]) -> None:
    world = world_of("cancer", temperature=2.0, how=how)
    result = run(world)
    assert result.reason == "settled"
    assert hamming(result.probabilities > 0.5, world.graph.parents) == 0
    assert result.right() >= 0.9
    if how.get("untouched"):
        left_alone = [found for found, true in zip(result.found, result.true, strict=True) if not true]
        assert len(left_alone) > 20
        assert np.mean([found == () for found in left_alone]) >= 0.75


# ------------------------------------------------------------------------------------------------------- datasets


@cache
def frozen(kind: str = "soft") -> Frozen:
    """A chain of four with five categories: 5,000 rows left alone, 300 of each variable touched, nothing declared."""
    world = world_of("chain4", categories=5, how={"kind": kind})
    return sdi.freeze(world, observational=5000, environments=4, rows=300, rng=np.random.default_rng(1))


def fitted(table: pd.DataFrame) -> sdi.SDI:
    return sdi.SDI(DEFAULT, seed=1).fit(table, environment="environment")


CHAIN = [("A", "B"), ("B", "C"), ("C", "D")]


@pytest.mark.parametrize("kind", ["soft", "uniform"])
def test_dataset_is_explained(kind: str) -> None:
    dataset, truth = frozen(kind)
    model = fitted(dataset.frame())
    assert model.discovery_.reason == "settled"
    assert sorted(model.graph_.edges) == CHAIN
    assert target_accuracy([touched_of(row) for row in model.targets_.to_numpy()], truth) == 1


def test_order_of_columns_permutes_the_graph() -> None:
    """And the targets: what is called C is touched where C was touched."""
    dataset, truth = frozen()
    moved = fitted(dataset.frame()[["C", "A", "environment", "D", "B"]])
    assert list(moved.adjacency_.index) == ["C", "A", "D", "B"]
    assert moved.discovery_.settled
    assert sorted(moved.graph_.edges) == CHAIN
    names = [tuple(sorted(moved.targets_.columns[list(touched_of(row))])) for row in moved.targets_.to_numpy()]
    assert names == [tuple("ABCD"[i] for i in target) for target in truth]


def test_two_touched_at_once_are_both_found() -> None:
    """In most environments, and the graph with them."""
    world = world_of("chain4", seed=5, categories=5, how={"at_once": 2})
    dataset, truth = sdi.freeze(world, observational=5000, environments=8, rows=300, rng=np.random.default_rng(5))
    found = sdi.discover(dataset, SEVERAL, seed=5)
    assert found.settled
    assert hamming(found.parents, world.graph.parents) == 0
    assert {len(target) for target in truth} == {2}
    assert target_accuracy([touched_of(row) for row in found.targets], truth) >= 0.75


# ------------------------------------------------------------------------------------------------------- variants


@pytest.mark.parametrize(
    "changes",
    [{"estimator": "draws"}, {"masks": "batch"}, {"ordered": False}, {"targets": "deterioration"}],
    ids=lambda changes: "-".join(map(str, next(iter(changes.items())))),
)
def test_every_choice_can_be_another(changes: dict[str, Any]) -> None:
    """Two iterations, with as little of everything as there can be."""
    settings = sdi.Settings(
        method="neural", fit_steps=20, rows_per_intervention=50, observational_rows=500, batch=16, **changes
    )
    infos: list[Info] = [info for _, info in islice(sdi.iterate(world_of("chain3", redrawn=True), settings), 2)]
    assert [info.interventions for info in infos] == [16, 32]
    for info in infos:
        assert np.isfinite(info.loss)
        assert info.targets.shape == (16, 3)
        assert (info.targets >= 0).all()
        assert (info.targets.sum(axis=1) <= 1 + 1e-5).all()
        inside = (info.probabilities > 0) & (info.probabilities < 1)
        assert (inside == ~np.eye(3, dtype=bool)).all()
        both = (info.probabilities + info.probabilities.T)[0, 1:]
        assert (both <= 1).all() or not settings.ordered
    assert (infos[0].probabilities != infos[1].probabilities).any(), "beliefs move"
