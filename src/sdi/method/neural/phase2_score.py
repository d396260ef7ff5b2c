"""Phase 2, second half: how well drawn configurations predict an environment."""

from functools import partial
from typing import NamedTuple

import jax

from sdi.method.neural.batches import Pool, draw_batch
from sdi.method.neural.learner import Weights, draw_configurations, log_likelihood
from sdi.method.settings import Settings


class Scores(NamedTuple):
    """N_S batches, C_S configurations for each, and the log-likelihood of each variable under each of them."""

    configurations: jax.Array  # [S, C, M, M]
    log_likelihood: jax.Array  # [S, C, M], of a whole batch


@partial(jax.jit, static_argnames="settings")
def score(weights: Weights, pool: Pool, probabilities: jax.Array, key: jax.Array, settings: Settings) -> Scores:
    """All configurations of one intervention. The target is masked later: it is a given, not an outcome."""

    def of_batch(key: jax.Array) -> Scores:
        to_rows, to_configurations = jax.random.split(key)
        batch = draw_batch(to_rows, pool, settings.batch)
        drawn = draw_configurations(to_configurations, probabilities, (settings.scoring_configurations,))
        mean = jax.vmap(lambda c: log_likelihood(weights, batch.rows, c) @ batch.share)(drawn)
        return Scores(drawn, settings.batch * mean)

    return jax.lax.map(of_batch, jax.random.split(key, settings.scoring_batches))
