"""Sums of log Gamma(n + a) - log Gamma(a): against SciPy, and for counts of which few differ from known ones."""

import numpy as np
import pytest
from scipy.special import gammaln

from sdi.method.tables.phase2_rising import changed_sums, log_rising, sums_of_rising

COUNTS = [0, 1, 2, 11, 12, 13, 100, 4_096, 10**7]
PRIORS = [1e-9, 1e-3, 0.5, 1.0, 7.9, 8.0, 8.1, 1e3, 1e8]


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("a", PRIORS)
def test_rising_is_a_quotient_of_gamma_functions(n: int, a: float) -> None:
    """Where both logarithms are large their difference has lost digits; a sum of logarithms has not."""
    exact = np.log(a + np.arange(n)).sum() if n < 10**5 else gammaln(n + a) - gammaln(a)
    assert log_rising(float(n), a) == pytest.approx(exact, rel=1e-12, abs=1e-12)


def test_prior_without_limit_overflows_no_product() -> None:
    assert log_rising(3.0, 1e200) == pytest.approx(3 * np.log(1e200), rel=1e-12)


def test_sums_go_by_group_and_size() -> None:
    rng = np.random.default_rng(0)
    n, place = rng.integers(0, 30, 8).astype(float), np.array([5, 0, 0, 3, 7, 7], np.intp)
    group, mass, sizes = np.array([0, 0, 1, 1, 1, 3], np.intp), rng.random(6), rng.random((2, 4)) * 10
    expected = np.zeros((2, 4))
    for k, g in enumerate(group):
        expected[:, g] += gammaln(n[place[k]] + sizes[:, g] * mass[k]) - gammaln(sizes[:, g] * mass[k])
    np.testing.assert_allclose(sums_of_rising(n, place, group, sizes, mass), expected, rtol=1e-12)


def test_other_counts_come_to_the_same_from_scratch_and_from_what_is_known() -> None:
    rng = np.random.default_rng(1)
    before, place = rng.integers(0, 30, 50).astype(float), rng.integers(0, 50, 200)
    group, mass, sizes = np.sort(rng.integers(0, 4, 200)), rng.random(200), rng.random((3, 4)) * 10
    n = np.where(rng.random(50) < 0.3, rng.integers(0, 30, 50), before).astype(float)
    whole = sums_of_rising(before, place, group, sizes, mass)
    changed = changed_sums(n, before, place, group, sizes, mass, whole)
    np.testing.assert_allclose(changed, sums_of_rising(n, place, group, sizes, mass), rtol=1e-11)
    np.testing.assert_array_equal(changed_sums(before, before, place, group, sizes, mass, whole), whole)
