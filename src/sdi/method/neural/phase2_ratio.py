"""Phase 2 of the default: which variables were touched, by the likelihood ratio of a new mechanism to the old one.

A touched variable may have a new mechanism on its old parents (its network with the last layer fitted again, or, where
believed parents have few combinations, a new table) or none at all (a table without parents). All are weighed alike
against the network as it is.

Legend: M variables, R rows, H hidden units, N categories, E environments.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.scipy.special import gammaln

from sdi.method.neural.learner import NEVER, Weights, draw_configurations, hidden_layer, log_likelihood
from sdi.method.settings import Settings

LARGEST_TABLE = 64  # combinations of parents up to which a new mechanism is also sought as a table


@partial(jax.jit, static_argnames="settings")
def likelihood_ratios(
    weights: Weights, rows: jax.Array, real: jax.Array, probabilities: jax.Array, key: jax.Array, settings: Settings
) -> jax.Array:
    """log P(rows of e | mechanism i is new) - log P(rows of e | it is the old one) ``[E, M]``, in nats."""

    def of_environment(drawn: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        rows, real, key = drawn
        configuration = _best_configuration(weights, rows, real, probabilities, key, settings)
        hidden = hidden_layer(weights, rows, configuration)  # [M, R, H]
        values = jax.nn.one_hot(rows, weights.b1.shape[1]).transpose(1, 0, 2)  # [M, R, N]
        old = jax.vmap(partial(_fit, real=real))(weights.w1, weights.b1, hidden, values)
        refitted = jax.vmap(partial(_refitted, real=real, settings=settings))(weights.w1, weights.b1, hidden, values)
        states = (weights.b1 > NEVER / 2).sum(axis=1)  # [M]
        table = jax.vmap(partial(_table, rows=rows, states=states, values=values, real=real))
        soft = table(probabilities > 0.5, jnp.arange(len(states)))
        hard = table(jnp.zeros_like(probabilities, bool), jnp.arange(len(states)))
        return jax.nn.logsumexp(jnp.stack([refitted, soft - old, hard - old]), axis=0) - jnp.log(3.0)

    return jax.lax.map(of_environment, (rows, real, jax.random.split(key, len(rows))))


def _best_configuration(
    weights: Weights, rows: jax.Array, real: jax.Array, probabilities: jax.Array, key: jax.Array, settings: Settings
) -> jax.Array:
    """Of some draws, the parents under which each variable is predicted best here ``[M, M]``.

    A mechanism that was left alone is as good here as ever, given its true parents. Given others it may look changed
    when a cause was touched, so that the benefit of the doubt is due as long as the parents are in doubt.
    """
    drawn = draw_configurations(key, probabilities, (settings.target_configurations,))  # [K, M, M]
    fit = jax.lax.map(lambda each: log_likelihood(weights, rows, each) @ real, drawn)  # [K, M]
    return drawn[jnp.argmax(fit, axis=0), jnp.arange(drawn.shape[1])]


def _fit(w1: jax.Array, b1: jax.Array, hidden: jax.Array, values: jax.Array, real: jax.Array) -> jax.Array:
    """Log-likelihood of the real rows."""
    return jnp.sum(jax.nn.log_softmax(hidden @ w1 + b1) * values * real[:, None])


def _refitted(
    w1: jax.Array, b1: jax.Array, hidden: jax.Array, values: jax.Array, real: jax.Array, settings: Settings
) -> jax.Array:
    """Gain of a refitted last layer, each half of the rows judged by the fit to the other half."""
    optimiser = optax.adam(settings.target_rate)
    half = real * (jnp.arange(len(real)) % 2)

    def refit(train: jax.Array, test: jax.Array) -> jax.Array:
        def loss(layer: tuple[jax.Array, jax.Array]) -> jax.Array:
            return -_fit(*layer, hidden, values, train) / jnp.maximum(train.sum(), 1)

        def step(carry: Any, _: None) -> tuple[Any, None]:
            layer, moments = carry
            change, moments = optimiser.update(jax.grad(loss)(layer), moments)
            return (optax.apply_updates(layer, change), moments), None

        start = (w1, b1)
        (layer, _), _ = jax.lax.scan(step, (start, optimiser.init(start)), length=settings.target_steps)
        return _fit(*layer, hidden, values, test) - _fit(w1, b1, hidden, values, test)

    return refit(half, real - half) + refit(real - half, half)


def _table(
    parents: jax.Array, own: jax.Array, rows: jax.Array, states: jax.Array, values: jax.Array, real: jax.Array
) -> jax.Array:
    """Log marginal likelihood of a table on `parents` (Dirichlet, one count for each category); -inf if too large."""
    sizes = jnp.where(parents, states, 1)
    stride = jnp.concatenate([jnp.ones(1), jnp.cumprod(sizes.astype(jnp.float32))])  # float: it may be huge
    fits = stride[-1] <= LARGEST_TABLE
    position = jnp.where(fits, (rows * jnp.where(parents, stride[:-1], 0.0)).sum(axis=1), 0).astype(jnp.int32)
    counts = jax.ops.segment_sum(values[own] * real[:, None], position, LARGEST_TABLE)  # [T, N]
    n = states[own]
    each = gammaln(n) - gammaln(n + counts.sum(axis=1)) + gammaln(1 + counts).sum(axis=1)
    return jnp.where(fits, each.sum(), -jnp.inf)


def target_probabilities(ratios: jax.Array, several: bool) -> jax.Array:
    """P(i was touched in e) ``[E, M]``: one of them or none, or each for itself, all equally likely beforehand."""
    if several:
        return jax.nn.sigmoid(ratios - jnp.log(ratios.shape[1]))
    none = jnp.zeros((len(ratios), 1))
    return jax.nn.softmax(jnp.concatenate([ratios, none], axis=1), axis=1)[:, :-1]
