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
    """Adam's direction; the rate and the decay come later."""
    return optax.scale_by_adam(*settings.fit_betas)


def unfitted(weights: Weights, settings: Settings) -> Fitted:
    """Networks before the first step."""
    return Fitted(weights, _optimiser(settings).init(weights))


@partial(jax.jit, static_argnames=("settings", "again"))
def fit(
    fitted: Fitted,
    pool: Pool,
    probabilities: jax.Array,
    key: jax.Array,
    settings: Settings,
    rows: jax.Array | float = float("inf"),
    again: bool = False,
) -> tuple[Fitted, jax.Array]:
    """F steps of Adam on -log P(X | C); also the mean of that loss over the last tenth of the steps.

    `rows` is how many rows there are behind the pool: the fewer, the stronger the weight decay. `again` is a shorter
    fit to mechanisms that the networks know already.
    """
    steps = (settings.refit_steps if again else None) or settings.fit_steps
    slow = jnp.arange(steps) >= (0 if again else 2 * steps // 3)
    rates = settings.fit_rate * jnp.where(slow, settings.anneal, 1.0)
    shrink = settings.decay / rows
    open_ = (probabilities > 0) & (probabilities < 1)
    most = 1 - settings.mask_margin if settings.dropout else 1.0
    least = settings.mask_margin if settings.dropout else 1.0
    # What no batch shows could not be learnt, and what all show would be learnt by heart.
    drawn_from = jnp.where(open_, jnp.clip(probabilities, least, most), probabilities)

    def loss(weights: Weights, batch: Batch, configuration: jax.Array) -> jax.Array:
        return -jnp.sum(log_likelihood(weights, batch.rows, configuration) @ batch.share)

    def step(fitted: Fitted, drawn: tuple[jax.Array, jax.Array]) -> tuple[Fitted, jax.Array]:
        key, rate = drawn
        to_rows, to_configuration = jax.random.split(key)
        batch = draw_batch(to_rows, pool, settings.batch)
        shape = (len(batch.rows),) if settings.masks == "row" else ()
        configuration = draw_configurations(to_configuration, drawn_from, shape)
        value, gradient = jax.value_and_grad(loss)(fitted.weights, batch, configuration)
        direction, moments = _optimiser(settings).update(gradient, fitted.moments)
        weights = jax.tree.map(lambda w, d: w - rate * d, fitted.weights, direction)
        smaller = 1 - rate * shrink
        return Fitted(weights._replace(w0=weights.w0 * smaller, w1=weights.w1 * smaller), moments), value

    fitted, losses = jax.lax.scan(step, fitted, (jax.random.split(key, steps), rates))
    return fitted, losses[-max(1, steps // 10) :].mean()
