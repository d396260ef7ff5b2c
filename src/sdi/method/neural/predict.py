"""What networks predict: the probability of each value given its parents, after a fit to some rows."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.neural.batches import pool
from sdi.method.neural.learner import initial_weights, log_likelihood
from sdi.method.neural.phase1_fit import fit, unfitted
from sdi.method.settings import Settings
from sdi.worlds.world import Rows

AT_ONCE = 4096  # rows


def log_predictive(
    train: Rows, test: Rows, parents: BoolMatrix, cardinalities: tuple[int, ...], settings: Settings, seed: int
) -> NDArray[np.float64]:
    """log P(value | its parents) of every value of `test`, by networks fitted to `train` ``[R, M]``."""
    to_weights, to_fit = jax.random.split(jax.random.key(seed))
    mask = jnp.asarray(parents, jnp.float32)
    start = unfitted(initial_weights(to_weights, cardinalities, settings.hidden), settings)
    given = pool(train, cardinalities, settings.batch), mask, to_fit, settings, float(len(train))
    fitted, _ = fit(start, *given, earlier=mask)  # the same rows every time: more parents, more decay
    parts = [
        np.asarray(log_likelihood(fitted.weights, jnp.asarray(test[at : at + AT_ONCE]), mask)).T
        for at in range(0, len(test), AT_ONCE)
    ]
    return np.concatenate(parts).astype(np.float64)
