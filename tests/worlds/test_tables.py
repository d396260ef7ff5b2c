"""Tables: temperature, soft interventions and zeros, each against the formula it stands for."""

import math

import numpy as np
import pytest
from scipy import stats

from sdi.formats.bif import Network
from sdi.worlds.simulated import cumulate, draw_by_inversion
from sdi.worlds.tables import Table, table_world, tempered

FALSE_ALARM = 1e-9  # of a test with random numbers, over the choice of its seed


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_either_of_asia_stays_a_logical_or_under_any_temperature(asia: Network) -> None:
    for temperature in (0.5, 1, 2, 10):
        world = table_world(asia, temperature=temperature)
        rows = world.observe(100_000, generator(17))
        tub, lung, either = (
            rows[:, world.names.index(name)] == world.states[world.names.index(name)].index("yes")
            for name in ("tub", "lung", "either")
        )
        assert (either == (tub | lung)).all()
        assert (tub & ~lung).any()
        assert (~tub & lung).any()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 7.5])
def test_temperature_raises_rows_to_its_inverse_and_keeps_zeros(temperature: float) -> None:
    table = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0], [0.0, 0.25, 0.75]])
    for row, result in zip(table.tolist(), tempered(table, temperature).tolist(), strict=True):
        powers = [p ** (1 / temperature) if p else 0.0 for p in row]
        assert result == pytest.approx([power / math.fsum(powers) for power in powers], rel=1e-12)
        assert [p == 0 for p in result] == [p == 0 for p in row]


def test_temperature_one_leaves_the_tables_alone(asia: Network) -> None:
    world = table_world(asia, temperature=1)
    for mechanism, variable in zip(world.mechanisms, asia.variables, strict=True):
        assert mechanism.table.ravel() == pytest.approx(variable.table.ravel(), rel=1e-6)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_temperature_that_is_not_positive_is_refused(temperature: float, asia: Network) -> None:
    with pytest.raises(ValueError, match="temperature must be above 0"):
        table_world(asia, temperature=temperature)


def test_redrawn_table_is_the_softmax_of_uniform_numbers() -> None:
    """log p0/p1 is a difference of two Uniform(-2.5, 2.5): the triangle on [-5, 5]."""
    table = Table(np.full((50_000, 2), 0.5)).redrawn(generator(18)).table
    ratios = np.log(table[:, 0] / table[:, 1])
    assert stats.kstest(ratios, stats.triang(0.5, -5, 10).cdf).pvalue > FALSE_ALARM


def test_parents_in_any_order_in_the_file_give_the_same_distribution(asia: Network) -> None:
    turned = asia._replace(
        variables=tuple(
            variable._replace(
                parents=variable.parents[::-1],
                table=np.transpose(variable.table, [*range(len(variable.parents))[::-1], len(variable.parents)]),
            )
            for variable in asia.variables
        )
    )
    first, second = (table_world(network).observe(5000, generator(19)) for network in (asia, turned))
    assert (first == second).all()


def test_probability_zero_is_never_drawn_and_one_always() -> None:
    cumulative = cumulate(np.array([0.0, 0.1, 0.2, 0.0, 0.7, 0.0]))
    uniforms = np.array([0.0, np.nextafter(0.1, 0), 0.1, 0.5, np.nextafter(1, 0)])
    assert draw_by_inversion(cumulative, uniforms).tolist() == [1, 1, 2, 4, 4]


def test_row_that_adds_up_to_less_than_one_still_never_draws_its_zeros() -> None:
    """Files round their numbers: a uniform number above the sum must not fall through to the last state."""
    cumulative = cumulate(np.array([0.3, 0.7 - 3e-7, 0.0]))
    assert draw_by_inversion(cumulative, np.array([np.nextafter(1, 0)])).tolist() == [1]
