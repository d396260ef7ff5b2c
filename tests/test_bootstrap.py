"""Refits: what is drawn again, that each depends on its own number alone, and what the shares count."""

import numpy as np
import pytest

from sdi.bootstrap import check_finite, refits, resample, shares
from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings
from sdi.worlds.dataset import Dataset, FiniteEnvironment, freeze
from sdi.worlds.named import named_world

SETTINGS = Settings(method="tables", iterations=1, sweeps=5, chains=2)


@pytest.fixture(scope="module")
def chain() -> Dataset:
    """A -> B -> C, where B and C nearly always do as their cause does, in four environments."""
    rng = np.random.default_rng(0)

    def rows(count: int, shares: tuple[float, float, float], cut: int | None = None) -> np.ndarray:
        made = np.zeros((count, 3), np.uint8)
        for i in range(3):
            copied = made[:, i - 1] ^ (rng.random(count) < 0.1) if i else rng.random(count) < 0.5
            made[:, i] = rng.random(count) < shares[i] if i == cut else copied
        return made

    touched = (("a", 0), ("b", 1), ("c", 2), ("b again", 1))
    environments = tuple(FiniteEnvironment(name, rows(200, (0.9, 0.8, 0.9), cut)) for name, cut in touched)
    return Dataset(("A", "B", "C"), (("0", "1"),) * 3, rows(400, (0.5, 0.5, 0.5)), environments)


def numbered(sizes: list[int]) -> Dataset:
    """Every row is the number of its environment and its own."""
    states = tuple(tuple(map(str, range(100))) for _ in range(2))

    def rows(e: int, size: int) -> np.ndarray:
        return np.stack([np.full(size, e), np.arange(size)], axis=1)

    changed = tuple(FiniteEnvironment(f"e{e}", rows(e, size), (e % 2,)) for e, size in enumerate(sizes[1:], start=1))
    return Dataset(("E", "R"), states, rows(0, sizes[0]), changed)


def test_rows_are_drawn_within_their_environment_and_environments_among_those_that_were_changed() -> None:
    world = numbered([50, 20, 30, 40, 25])
    again = resample(world, np.random.default_rng(1))
    assert len(again.observational) == 50
    assert (again.observational[:, 0] == 0).all()
    assert 1 < len(set(again.observational[:, 1].tolist())) < 50  # with replacement
    assert len(again.environments) == 4
    for copy in again.environments:
        (number,) = set(copy.rows[:, 0].tolist())
        origin = world.environments[number - 1]
        assert copy.name.startswith(f"{origin.name} (")
        assert (len(copy.rows), copy.target) == (len(origin.rows), origin.target)


def test_environment_that_is_drawn_twice_is_two_with_other_rows() -> None:
    world = numbered([20, 30])
    for seed in range(5):
        assert [each.name for each in resample(world, np.random.default_rng(seed)).environments] == ["e1 (1)"]
    drawn = [resample(numbered([20, 30, 30]), np.random.default_rng(seed)).environments for seed in range(20)]
    twice = [(first, second) for first, second in drawn if first.rows[0, 0] == second.rows[0, 0]]
    assert 0 < len(twice) < len(drawn)
    for first, second in twice:  # Dataset refuses a name that occurs twice
        assert first.name.partition(" ")[0] == second.name.partition(" ")[0]
        assert first.rows.tolist() != second.rows.tolist()


def test_refit_depends_on_its_number_and_the_seed_alone(chain: Dataset) -> None:
    made = {refit.number: refit.parents for refit in refits(chain, SETTINGS, Knowledge(), 1, [1, 2, 3, 4])}
    (alone,) = refits(chain, SETTINGS, Knowledge(), 1, [3])
    assert (alone.parents == made[3]).all()
    drawn = [resample(chain, np.random.default_rng([seed, 2**31 + 1, 3])).observational for seed in (1, 2)]
    assert (drawn[0] != drawn[1]).any()


def test_shares_count_refits_and_strong_edges_come_out_every_time(chain: Dataset) -> None:
    made = [refit.parents for refit in refits(chain, SETTINGS, Knowledge(), 1, range(1, 7))]
    counted = shares(made)
    assert (counted == sum(parents.astype(float) for parents in made) / 6).all()
    assert (counted[1, 0] + counted[0, 1], counted[2, 1] + counted[1, 2]) == (1, 1)
    assert counted[1, 0] > 0.5
    assert counted[2, 0] < 0.5


def test_knowledge_holds_in_every_refit(chain: Dataset) -> None:
    known = Knowledge(required=[("C", "A")], forbidden=[("A", "B"), ("B", "A")])
    for refit in refits(chain, SETTINGS, known, 1, [1, 2]):
        assert refit.parents[0, 2]
        assert not refit.parents[1, 0]
        assert not refit.parents[0, 1]


def test_only_finite_worlds_can_be_drawn_again() -> None:
    world = named_world("chain3", rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="write a table of it with `sdi simulate` first"):
        check_finite(world)
    dataset = freeze(world, observational=10, environments=2, rows=10, rng=np.random.default_rng(0)).dataset
    assert check_finite(dataset) is dataset
