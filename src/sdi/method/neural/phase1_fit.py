"""Phase 1: fit the networks to observations, under configurations drawn from the beliefs."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from sdi.method.neural.batches import Batch, Pool, draw_batch
from sdi.method.neural.learner import Weights, draw_configurations, log_likelihood
from sdi.method.settings import Settings


class Fitted(NamedTuple):
    """The networks and their optimiser."""

    weights: Weights
    moments: optax.OptState


def _optimiser(settings: Settings) -> optax.GradientTransformation:
    return optax.adam(settings.fit_rate, *settings.fit_betas)


def unfitted(weights: Weights, settings: Settings) -> Fitted:
    """Networks before the first step."""
    return Fitted(weights, _optimiser(settings).init(weights))


@partial(jax.jit, static_argnames="settings")
def fit(
    fitted: Fitted, pool: Pool, probabilities: jax.Array, key: jax.Array, settings: Settings
) -> tuple[Fitted, jax.Array]:
    """F steps of Adam on -log P(X | C); also the mean of that loss over the last tenth of the steps."""
    to_rows, to_configurations = jax.random.split(key)
    steps = settings.fit_steps
    batches = jax.random.split(to_rows, steps)
    drawn_from = probabilities if settings.dropout else 1.0 - jnp.eye(len(probabilities))
    configurations = draw_configurations(to_configurations, drawn_from, (steps,))

    def loss(weights: Weights, batch: Batch, configuration: jax.Array) -> jax.Array:
        return -jnp.sum(log_likelihood(weights, batch.rows, configuration) @ batch.share)

    def step(fitted: Fitted, drawn: tuple[jax.Array, jax.Array]) -> tuple[Fitted, jax.Array]:
        to_batch, configuration = drawn
        batch = draw_batch(to_batch, pool, settings.batch)
        value, gradient = jax.value_and_grad(loss)(fitted.weights, batch, configuration)
        change, moments = _optimiser(settings).update(gradient, fitted.moments)
        return Fitted(optax.apply_updates(fitted.weights, change), moments), value

    fitted, losses = jax.lax.scan(step, fitted, (batches, configurations))
    return fitted, losses[-max(1, steps // 10) :].mean()
