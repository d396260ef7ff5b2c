"""Phase 1: fit the networks to observations, under configurations drawn from the beliefs."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from sdi.method.neural.batches import Batch, Pool, draw_batch
from sdi.method.neural.candidates import narrow, pick, widen
from sdi.method.neural.learner import Weights, draw_configurations, log_likelihood
from sdi.method.settings import Settings

CANDIDATE = 0.02  # a parent more probable than this may be one
MANY_PARENTS = 6  # so many candidates, or all others, take all F steps
FEW_PARENTS = 3.0  # on a finite table, networks with more parents decay faster, in proportion
LEAST_STEPS = 10  # of a refit to a finite table, however little beliefs have moved ...
LEAST_SHOWN = 0.25  # ... and so many of its rows, if that is more


class Fitted(NamedTuple):
    """The networks and their optimiser."""

    weights: Weights
    moments: optax.ScaleByAdamState


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
    earlier: jax.Array | None = None,
    columns: jax.Array | None = None,
) -> tuple[Fitted, jax.Array]:
    """F steps of Adam on -log P(X | C); also the mean of that loss over the last tenth of the steps.

    `rows` is how many rows there are behind the pool: the fewer, the stronger the weight decay. `again` is a shorter
    fit to mechanisms that the networks know already. `earlier` are the beliefs of the fit before, given
    where rows are the same every time. They would be learnt by heart: a refit is as long and as fast as beliefs have
    moved, and a network decays faster the more parents it has. With `columns` ``[M, K]`` network i sees those of row
    i alone, and learns of no other.
    """
    most_steps = (settings.refit_steps if again else None) or settings.fit_steps
    drawn_from = _shown(probabilities, settings)
    steps: Any = most_steps if again else enough_steps(fitted, probabilities, settings)
    early: Any = settings.anneal if again else 1.0  # share of the rate before the last third of the steps
    shrink: Any = settings.decay / rows
    if earlier is not None:
        shrink *= jnp.maximum(1.0, probabilities.sum(axis=1) / FEW_PARENTS)[:, None, None]
    if earlier is not None and again:
        moved = jnp.minimum(jnp.abs(drawn_from - _shown(earlier, settings)).sum(axis=1).max(), 1.0)
        fewest = jnp.clip(LEAST_SHOWN * rows / settings.batch, min(LEAST_STEPS, most_steps), most_steps)
        steps = jnp.maximum(fewest, most_steps * moved).astype(jnp.int32)
        early = jnp.maximum(early, moved)

    whole = fitted
    if columns is not None:
        fitted, drawn_from = _narrow(fitted, columns), pick(drawn_from, columns)

    def loss(weights: Weights, batch: Batch, configuration: jax.Array) -> jax.Array:
        return -jnp.sum(log_likelihood(weights, batch.rows, configuration, columns) @ batch.share)

    keys = jax.random.split(key, most_steps)

    def step(k: jax.Array, carry: tuple[Fitted, jax.Array]) -> tuple[Fitted, jax.Array]:
        fitted, total = carry
        to_rows, to_configuration = jax.random.split(keys[k])
        batch = draw_batch(to_rows, pool, settings.batch)
        shape = (len(batch.rows),) if settings.masks == "row" else ()
        configuration = draw_configurations(to_configuration, drawn_from, shape)
        value, gradient = jax.value_and_grad(loss)(fitted.weights, batch, configuration)
        direction, moments = _optimiser(settings).update(gradient, fitted.moments)
        rate = settings.fit_rate * jnp.where(k >= 2 * steps // 3, settings.anneal, early)
        weights = jax.tree.map(lambda w, d: w - rate * d, fitted.weights, direction)
        smaller = 1 - rate * shrink
        total += jnp.where(k >= steps - last, value, 0.0)
        return Fitted(weights._replace(w0=weights.w0 * smaller[..., None], w1=weights.w1 * smaller), moments), total

    last = max(1, most_steps // 10) if isinstance(steps, int) else jnp.maximum(1, steps // 10)
    fitted, total = jax.lax.fori_loop(0, steps, step, (fitted, jnp.zeros(())))
    return fitted if columns is None else _widen(fitted, columns, whole), total / last


def _narrow(fitted: Fitted, columns: jax.Array) -> Fitted:
    moments = fitted.moments
    kept = moments._replace(mu=narrow(moments.mu, columns), nu=narrow(moments.nu, columns))
    return Fitted(narrow(fitted.weights, columns), kept)


def _widen(fitted: Fitted, columns: jax.Array, whole: Fitted) -> Fitted:
    new, old = fitted.moments, whole.moments
    kept = new._replace(mu=widen(new.mu, columns, old.mu), nu=widen(new.nu, columns, old.nu))
    return Fitted(widen(fitted.weights, columns, whole.weights), kept)


def _shown(probabilities: jax.Array, settings: Settings) -> jax.Array:
    """How often each parent is drawn. What no batch shows could not be learnt, what all show is learnt by heart."""
    open_ = (probabilities > 0) & (probabilities < 1)
    most = 1 - settings.mask_margin if settings.dropout else 1.0
    least = settings.mask_margin if settings.dropout else 1.0
    return jnp.where(open_, jnp.clip(probabilities, least, most), probabilities)


def enough_steps(fitted: Fitted, probabilities: jax.Array, settings: Settings) -> int | jax.Array:
    """F for new networks and where some variable may have many parents; less, down to a share of it, elsewhere."""
    if settings.shortest_fit == 1:
        return settings.fit_steps
    most = (probabilities > CANDIDATE).sum(axis=1).max()
    share = jnp.clip(most / min(MANY_PARENTS, len(probabilities) - 1), settings.shortest_fit, 1.0)
    new = fitted.moments.count == 0
    return jnp.where(new, settings.fit_steps, settings.fit_steps * share).astype(jnp.int32)
