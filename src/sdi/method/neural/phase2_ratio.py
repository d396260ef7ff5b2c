"""Phase 2 of the default: which variables were touched, by the likelihood ratio of a new mechanism to the old one.

The old mechanism is the observed table where the parents are decided and it is small; as long as they are in doubt,
and rows are quickly counted, the table of those drawn parents that predict best; else the network. A touched variable
may have a new mechanism on its old parents (a new table where that is small, its network with the last layer fitted
again where that is not) or none at all (a table without parents). All are weighed alike.

Legend: M variables, R rows, H hidden units, N categories, E environments, K draws.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax

from sdi.method.neural.batches import Pool
from sdi.method.neural.candidates import Part, narrow, pick
from sdi.method.neural.learner import NEVER, SLOPE, Weights, draw_configurations
from sdi.method.neural.phase2_tables import Tables, count, log_marginal, tables_of
from sdi.method.settings import Settings

SMALL_TABLE = 64  # free numbers up to which a new table says all that a refitted network could


def likelihood_ratios(
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
    """log P(rows of e | mechanism i is new) - log P(rows of e | it is the old one) ``[E, M]``, in nats.

    `observed` holds the `size` rows that the networks were fitted to. Given a `part`, networks look at those columns,
    and variables that are not suspects of an environment get -inf.
    """
    how = (settings.target_configurations, settings.target_steps, settings.target_rate)
    merged = part is None and len(observed.rows) < settings.batch
    looked_at = part and (part.columns, part.suspects)
    return _ratios(weights, observed, size, rows, real, probabilities, key, *how, looked_at, merged)


@partial(jax.jit, static_argnames=("draws", "steps", "merged"))
def _ratios(
    weights: Weights,
    observed: Pool,
    size: float,
    rows: jax.Array,
    real: jax.Array,
    probabilities: jax.Array,
    key: jax.Array,
    draws: int,
    steps: int,
    rate: float,
    part: tuple[jax.Array, jax.Array] | None,
    merged: bool,
) -> jax.Array:
    m, n = weights.b1.shape
    exists = weights.b1 > NEVER / 2  # [M, N]
    tables = tables_of(probabilities > 0.5, exists.sum(axis=1), n, observed, size)
    doubt = ((probabilities > 0) & (probabilities < 1)).any(axis=1)  # [M]
    drawn_tables = None
    if merged:
        key, to_tables = jax.random.split(key)
        parents = draw_configurations(to_tables, probabilities, (draws,)) > 0.5  # [K, M, M]
        by_draw = jax.lax.map(lambda each: tables_of(each, exists.sum(axis=1), n, observed, size), parents)
        drawn_tables = jax.tree.map(lambda leaf: leaf.swapaxes(0, 1), by_draw)  # [M, K, ..]

    def of_environment(drawn: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        rows, real, key = drawn
        seen = jax.nn.one_hot(rows, n).reshape(len(rows), -1)  # [R, M * N]
        each = (weights, tables, drawn_tables, exists, probabilities, doubt, rows.T, jax.random.split(key, m))
        return jax.lax.map(lambda own: _ratio(own, rows, real, seen, draws, steps, rate), each)

    def of_suspects(drawn: tuple[jax.Array, jax.Array, jax.Array, jax.Array]) -> jax.Array:
        rows, real, key, suspects = drawn
        keys = jax.random.split(key, m)

        def of_suspect(i: jax.Array) -> jax.Array:
            own = jax.tree.map(lambda leaf: leaf[i], (narrowed, tables, None, exists, chances, doubt, rows.T, keys))
            seen = jax.nn.one_hot(rows[:, columns[i]], n).reshape(len(rows), -1)  # [R, K * N]
            return _ratio(own, rows, real, seen, draws, steps, rate)

        return jnp.full(m, -jnp.inf).at[suspects].set(jax.lax.map(of_suspect, suspects))

    drawn = (rows, real, jax.random.split(key, len(rows)))
    if part is None:
        return jax.lax.map(of_environment, drawn)
    columns, suspects = part
    narrowed, chances = narrow(weights, columns), pick(probabilities, columns)
    return jax.lax.map(of_suspects, (*drawn, suspects))


def _ratio(
    network: Any, rows: jax.Array, real: jax.Array, seen: jax.Array, draws: int, steps: int, rate: float
) -> jax.Array:
    """Of one variable in one environment, whose rows the network has `seen` as one-hot codes of its inputs."""
    own, table, drawn, exists, chances, doubt, values, key = network
    n = len(exists)
    if drawn is not None:
        tabled = doubt & drawn.fits.all()
        table = jax.lax.cond(tabled, lambda: _best_table(drawn, exists, rows, values, real), lambda: table)
        doubt = doubt & ~tabled
    mask = _best_parents(own, seen, values, real, chances, doubt, key, draws)
    hidden = _hidden(own, seen, mask)
    as_it_was = _fit(own.w1, own.b1, hidden, jax.nn.one_hot(values, n), real)
    old, soft, hard = _tabled(table, exists, rows, values, real)
    exact = table.fits & ~doubt
    small = exact & (table.cells <= SMALL_TABLE)
    refitted = jax.lax.cond(
        small, lambda: -jnp.inf, lambda: as_it_was + _refitted(own, hidden, values, real, steps, rate)
    )
    new = jnp.stack([refitted, soft, hard])
    return jax.nn.logsumexp(new) - jnp.log((new > -jnp.inf).sum()) - jnp.where(exact, old, as_it_was)


def _hidden(own: Weights, seen: jax.Array, mask: jax.Array) -> jax.Array:
    """The hidden layer of one network under the parents in `mask` ``[R, H]``."""
    columns = (own.w0 * mask[:, None, None]).reshape(seen.shape[1], -1)
    return jax.nn.leaky_relu(seen @ columns + own.b0, SLOPE)


def _fit(w1: jax.Array, b1: jax.Array, hidden: jax.Array, values: jax.Array, real: jax.Array) -> jax.Array:
    """Log-likelihood of the real rows."""
    return jnp.sum(jax.nn.log_softmax(hidden @ w1 + b1) * values * real[:, None])


def _best_parents(
    own: Weights,
    seen: jax.Array,
    values: jax.Array,
    real: jax.Array,
    chances: jax.Array,
    doubt: jax.Array,
    key: jax.Array,
    draws: int,
) -> jax.Array:
    """Of some draws, the parents under which the variable is predicted best here ``[M]``.

    A mechanism that was left alone is as good here as ever, given its true parents. Given others it may look changed
    when a cause was touched, so that the benefit of the doubt is due as long as the parents are in doubt.
    """
    wanted = jax.nn.one_hot(values, own.b1.shape[0])

    def best() -> jax.Array:
        drawn = draw_configurations(key, chances, (draws,))  # [K, M]
        fit = jax.lax.map(lambda mask: _fit(own.w1, own.b1, _hidden(own, seen, mask), wanted, real), drawn)
        return drawn[jnp.argmax(fit)]

    return jax.lax.cond(doubt, best, lambda: (chances > 0.5).astype(jnp.float32))


def _best_table(drawn: Tables, exists: jax.Array, rows: jax.Array, values: jax.Array, real: jax.Array) -> Tables:
    """The same by tables of the draws: that of the parents under which the variable is predicted best here."""
    now = jax.lax.map(lambda stride: count(rows, values, stride, real, len(exists)), drawn.stride)  # [K, T, N]
    best = jnp.argmax(log_marginal(now, drawn.counts, exists))
    return jax.tree.map(lambda leaf: leaf[best], drawn)


def _tabled(
    table: Tables, exists: jax.Array, rows: jax.Array, values: jax.Array, real: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Log-likelihood under the old table, under a new one on the same parents, and under one without parents."""
    now = count(rows, values, jnp.where(table.fits, table.stride, 0.0), real, len(exists))  # [T, N]
    alone = jnp.zeros_like(now).at[0].set(now.sum(axis=0))
    nothing = jnp.zeros_like(now)
    old, soft, hard = log_marginal(
        jnp.stack([now, now, alone]), jnp.stack([table.counts, nothing, nothing]), exists
    )  # all at once: what compiles slowly is compiled once
    return old, jnp.where(table.fits, soft, -jnp.inf), hard


def _refitted(
    own: Weights, hidden: jax.Array, values: jax.Array, real: jax.Array, steps: int, rate: float
) -> jax.Array:
    """Gain of a refitted last layer: each part of the rows is predicted by a fit to those before, as they came in.

    A quarter, another by the first, half by the first half: a product of predictions, and so a likelihood, which no
    sum over the folds of a cross-validation is.
    """
    optimiser = optax.adam(rate)
    wanted = jax.nn.one_hot(values, own.b1.shape[0])
    start = (own.w1, own.b1)
    even = (hidden[::2], wanted[::2])
    fourth, place = jnp.arange(len(even[0])) % 2 == 0, jnp.arange(len(real)) % 4

    def gain(parts: tuple[jax.Array, jax.Array]) -> jax.Array:
        train, test = parts

        def loss(layer: tuple[jax.Array, jax.Array]) -> jax.Array:
            return -_fit(*layer, *even, train) / jnp.maximum(train.sum(), 1)

        def step(carry: Any, _: None) -> tuple[Any, None]:
            layer, moments = carry
            change, moments = optimiser.update(jax.grad(loss)(layer), moments)
            return (optax.apply_updates(layer, change), moments), None

        (layer, _), _ = jax.lax.scan(step, (start, optimiser.init(start)), length=steps)
        return _fit(*layer, hidden, wanted, test) - _fit(*start, hidden, wanted, test)

    train = jnp.stack([real[::2] * fourth, real[::2]])
    test = jnp.stack([real * (place == 2), real * (place % 2)])
    return jax.lax.map(gain, (train, test)).sum()


@partial(jax.jit, static_argnames="several")
def target_probabilities(ratios: jax.Array, several: bool) -> jax.Array:
    """P(i was touched in e) ``[E, M]``: one of them or none, or each for itself, all equally likely beforehand."""
    if several:
        return jax.nn.sigmoid(ratios - jnp.log(ratios.shape[1]))
    none = jnp.zeros((len(ratios), 1))
    return jax.nn.softmax(jnp.concatenate([ratios, none], axis=1), axis=1)[:, :-1]
