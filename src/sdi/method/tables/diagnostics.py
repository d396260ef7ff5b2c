"""Do independent chains agree? R-hat and effective sample size, after Gelman et al., Bayesian Data Analysis."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST = 1e-4  # a quantity that varies less than this is the same everywhere


class Agreement(NamedTuple):
    """How well the halves of all chains agree, in the worst quantity."""

    r_hat: float  # 1 is perfect; above 1.05 they tell different stories
    effective: float  # independent draws that the draws are worth


def agreement(means: NDArray[np.floating], variances: NDArray[np.floating], draws: int) -> Agreement:
    """Of quantities with these means and variances in each half of a chain ``[halves, ...]`` of so many draws."""
    halves = len(means)
    within = variances.mean(axis=0)
    between = means.var(axis=0, ddof=1)  # of a mean: B / n
    total = within * (draws - 1) / draws + between
    varies = total > LEAST
    if not varies.any():
        return Agreement(1.0, float(halves * draws))
    within, between, total = within[varies], between[varies], total[varies]
    r_hat = np.sqrt(total / np.maximum(within, LEAST / 10))
    effective = halves * draws * np.minimum(1.0, total / np.maximum(draws * between, 1e-12))
    return Agreement(float(r_hat.max()), float(effective.min()))
