"""Several seeds at once do what each would do alone."""

import numpy as np
import pytest

import sdi
from sdi.method.neural.iterate import iterate
from sdi.method.neural.seeds import iterate_seeds

SETTINGS = sdi.Settings.paper(
    iterations=3, fit_steps=60, interventions=5, prediction_batches=2, scoring_batches=2, batch=64, belief_rate=0.2
)


def world(seed: int, name: str = "chain3") -> object:
    return sdi.named_world(name, rng=np.random.default_rng(seed), redrawn=True)


def test_each_seed_gets_what_it_would_get_alone_up_to_rounding() -> None:
    together = list(iterate_seeds([world(1), world(2)], SETTINGS, [1, 2]))
    assert len(together) == SETTINGS.iterations
    for seed in (1, 2):
        alone = list(iterate(world(seed), SETTINGS, seed=seed))
        for (state, info), both in zip(alone, together, strict=True):
            assert both[seed][0].interventions == state.interventions
            assert (both[seed][1].targets == info.targets).all()
            np.testing.assert_allclose(both[seed][1].probabilities, info.probabilities, atol=1e-4)


def test_a_seed_that_has_stopped_is_left_alone_while_others_go_on() -> None:
    limited = sdi.Settings.paper(**{**vars(SETTINGS), "margin": 0.49, "patience": 1, "iterations": 8})
    steps = list(iterate_seeds([world(1), world(2), world(3)], limited, [1, 2, 3]))
    lengths = {seed: sum(seed in step for step in steps) for seed in (1, 2, 3)}
    for seed, length in lengths.items():
        assert length == len(list(iterate(world(seed), limited, seed=seed)))
        assert all(seed in step for step in steps[:length])


@pytest.mark.parametrize(
    ("worlds", "seeds", "settings", "message"),
    [
        ([world(1)], [1], sdi.Settings(), "ratio and paper only"),
        ([world(1)], [1, 2], SETTINGS, "a world for each of 2 seeds"),
        ([world(1), world(1, "chain4")], [1, 2], SETTINGS, "all of the same variables"),
    ],
)
def test_what_cannot_run_at_once_is_refused(
    worlds: list[object], seeds: list[int], settings: sdi.Settings, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        next(iterate_seeds(worlds, settings, seeds))
