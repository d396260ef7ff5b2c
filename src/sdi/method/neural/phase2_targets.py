"""Phase 2, first half: which variable was touched in an environment that does not say."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from sdi.method.neural.batches import Pool, draw_batch
from sdi.method.neural.candidates import SUSPECTS, Part
from sdi.method.neural.learner import Weights, draw_configurations, log_likelihood
from sdi.method.neural.phase2_ratio import likelihood_ratios, target_probabilities
from sdi.method.neural.phase2_suspects import strangest
from sdi.method.settings import Settings


@partial(jax.jit, static_argnames="settings")
def surprise(weights: Weights, pool: Pool, probabilities: jax.Array, key: jax.Array, settings: Settings) -> jax.Array:
    """-log P_i(X | C_i) averaged over N_P batches and C_P configurations for each of them ``[M]``."""

    def of_batch(key: jax.Array) -> jax.Array:
        to_rows, to_configurations = jax.random.split(key)
        batch = draw_batch(to_rows, pool, settings.batch)
        drawn = draw_configurations(to_configurations, probabilities, (settings.prediction_configurations,))
        return -jax.vmap(lambda c: log_likelihood(weights, batch.rows, c) @ batch.share)(drawn).mean(axis=0)

    return jax.lax.map(of_batch, jax.random.split(key, settings.prediction_batches)).mean(axis=0)


# Each takes the surprise on the environment, the surprise on observations and a random key, and returns the
# probability that each variable is the target. NOTE Algorithm 1 takes the highest surprise; the text of the paper
# says deterioration, which needs the observational surprise as a baseline. A variable that is hard to predict at all
# times is not a target: see docs/choices.md.
PREDICTIONS: dict[str, Callable[[jax.Array, jax.Array, jax.Array], jax.Array]] = {
    "deterioration": lambda now, before, key: jax.nn.one_hot(jnp.argmax(now - before), len(now)),
    "likelihood": lambda now, before, key: jax.nn.one_hot(jnp.argmax(now), len(now)),
    "random": lambda now, before, key: jax.nn.one_hot(jax.random.randint(key, (), 0, len(now)), len(now)),
    "ignored": lambda now, before, key: jnp.zeros(len(now)),
    "known": lambda now, before, key: jnp.zeros(len(now)),  # nothing to predict: every environment declares its own
}


def predict_target(
    weights: Weights, pool: Pool, probabilities: jax.Array, baseline: jax.Array, key: jax.Array, settings: Settings
) -> jax.Array:
    """The probability that each variable was touched ``[M]``; `baseline` is the surprise on observations."""
    to_surprise, to_choice = jax.random.split(key)
    if settings.targets in ("deterioration", "likelihood"):
        now = surprise(weights, pool, probabilities, to_surprise, settings)
    else:
        now = baseline
    return PREDICTIONS[settings.targets](now, baseline, to_choice)


def find_targets(
    weights: Weights,
    observed: Pool,
    size: float,
    rows: jax.Array,
    real: jax.Array,
    probabilities: jax.Array,
    key: jax.Array,
    settings: Settings,
    part: Part | None = None,
) -> jax.Array:
    """The same for many environments at once ``[E, M]``: rows ``[E, R, M]``, of which `real` are no padding.

    `observed` holds the `size` rows of the world left alone. Likelihood ratios look at a `part`, where one is given.
    """
    if settings.targets == "likelihood-ratio":
        if part is not None and settings.several_targets:  # where all may be touched, all are suspects
            part = part._replace(suspects=np.tile(np.arange(rows.shape[2], dtype=np.int32), (len(rows), 1)))
        elif part is not None and part.suspects is None:
            strange = strangest(weights, observed, rows, real, probabilities, part.columns, SUSPECTS)
            part = part._replace(suspects=np.asarray(strange))
        ratios = likelihood_ratios(weights, observed, size, rows, real, probabilities, key, settings, part)
        return target_probabilities(ratios, settings.several_targets)
    to_baseline, to_each = jax.random.split(key)
    baseline = surprise(weights, observed, probabilities, to_baseline, settings)
    cumulative = jnp.cumsum(real, axis=1) / real.sum(axis=1, keepdims=True)

    def one(drawn: tuple[Pool, jax.Array]) -> jax.Array:
        return predict_target(weights, drawn[0], probabilities, baseline, drawn[1], settings)

    return jax.lax.map(one, (Pool(rows, cumulative), jax.random.split(to_each, len(rows))))
