"""Phase 3 of the default: beliefs follow the evidence.

An edge j -> i is an existence times an orientation. Existence: the log-likelihood gained by it over all environments
that left i alone, less what chance could have given and what an edge must bring. Orientation: only environments that
touched j or i speak, j's on row i against i's on row j; all pairs together give a posterior over causal orders, so that
what is clear for some pairs decides others and no cycle is believed.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from sdi.method.beliefs import Clamp
from sdi.method.neural.phase2_gains import Gains
from sdi.method.neural.phase2_residuals import Left, nothing_asked
from sdi.method.neural.phase3_left import averaged, either_account, explained, overlooked
from sdi.method.settings import Settings

SURE = 20.0  # nats of evidence for an order that nothing will turn
LARGEST_LOGIT = 6.0
TURNABLE = 10.0  # nats that networks have for a direction and could be wrong about
LEANING = 2.0  # logit of what another method has decided: enough to begin with, easy to overcome


class Evidence(NamedTuple):
    """Nats for each edge ``[M, M]``, and the beliefs under which they were gathered."""

    existence: jax.Array
    existence_square: jax.Array
    orientation: jax.Array
    left: Left  # of networks
    beliefs: jax.Array
    updates: jax.Array


class Weighed(NamedTuple):
    """Beliefs about edges, and what they rest on."""

    gamma: jax.Array  # [M, M] logit that the edge exists, if the order allows it
    precedes: jax.Array  # [M, M] probability that j comes before i
    evidence: Evidence


def unweighed(size: int, settings: Settings, start: NDArray[np.floating] | None = None) -> Weighed:
    """Before any evidence: every edge may exist, every order may be; with a leaning to `start` where it is not nan."""
    nothing = jnp.zeros((size, size))
    evidence = Evidence(nothing, nothing, nothing, nothing_asked(size), nothing, jnp.zeros(()))
    order = jnp.full((size, size), 0.5 if settings.ordered else 1.0, jnp.float32)  # not weakly typed: one compilation
    if start is None:
        return Weighed(nothing, order, evidence)
    known = jnp.asarray(np.nan_to_num(start, nan=0.5))
    either = jnp.clip(known + known.T, 1e-3, 1 - 1e-3)
    gamma = jnp.clip(jax.scipy.special.logit(either), -LEANING, LEANING)
    unknown = jnp.asarray(np.isnan(start) | np.isnan(start.T))
    if settings.ordered:
        order = jnp.where(unknown | (either < 0.5), 0.5, jnp.clip(known / either, 0.1, 0.9))
    return Weighed(jnp.where(unknown, 0.0, gamma), order, evidence)


def weigh(gains: Gains, touched: jax.Array, slack: float, price: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Existence, its square and orientation of every edge, from environments and the probabilities of their targets."""
    alone = 1 - touched  # [E, M]
    # Where j was touched, the two may go together because i is a parent of j's new mechanism, at the price of one more
    # parent. So what speaks for j -> i there counts up to that price; what speaks against it counts in full.
    fair = gains.total - touched[:, None, :] * jax.nn.relu(gains.total - price)
    existence = jnp.einsum("ei,eij->ij", alone, fair - slack * gains.rows[:, None, None])
    square = jnp.einsum("ei,eij->ij", alone, gains.square)
    orientation = jnp.einsum("ei,ej,eij->ij", alone, touched, fair)
    return existence, square, orientation


@partial(jax.jit, static_argnames=("settings", "fresh"))
def follow(
    structure: Weighed,
    gains: Gains,
    touched: jax.Array,
    probabilities: jax.Array,
    scale: jax.Array,
    free: jax.Array,
    clamp: Clamp,
    key: jax.Array,
    settings: Settings,
    fresh: bool,
    looked: jax.Array | None = None,
    left: Left | None = None,
) -> Weighed:
    """One update. `fresh` evidence adds up (new rows every time), the other kind is averaged (the same rows again).

    `free` ``[M]`` numbers tell the distribution of a variable, and their product for two the effect of one on another:
    so much dearer than between two coins is a new mechanism with one more parent.
    Given `looked` ``[M, M]``, only those pairs were looked at; what is known of the others stays as it is. `left` is
    what speaks for edges in what networks could not explain, where that was asked this time.
    """
    before = structure.evidence
    kept = _kept(before, probabilities, settings, fresh)  # [M, 1]
    new = 1.0 if fresh else 1 - kept
    price = price_of(free, settings)
    existence, square, orientation = (
        kept * old + new * scale * now
        for old, now in zip(before[:3], weigh(gains, touched, settings.slack, price), strict=True)
    )
    if looked is not None:
        existence, square, orientation = (
            jnp.where(looked, now, old) for old, now in zip(before[:3], (existence, square, orientation), strict=True)
        )
    left = before.left if left is None else averaged(before.left, left, kept)
    evidence = Evidence(existence, square, orientation, left, probabilities, before.updates + 1)
    goal = jnp.maximum(brought(evidence, settings), overlooked(left, settings.edge_cost))
    goal = jnp.clip(goal, -LARGEST_LOGIT, LARGEST_LOGIT)
    gamma = structure.gamma + jnp.clip(goal - structure.gamma, -settings.stride, settings.stride)
    if settings.ordered:
        heard = heard_of(either_account(orientation, left), gamma)
        limit = jnp.minimum(settings.stride * before.updates, SURE)  # no order is believed before edges have formed
        pull = jnp.clip(heard - heard.T + explained(left, probabilities), -limit, limit)
        pull += SURE * (clamp.value - clamp.value.T)
        precedes = order_probabilities(pull, key, _adjacent(gamma, clamp))
    else:
        precedes = jnp.ones_like(gamma)
    return Weighed(gamma, precedes, evidence)


def heard_of(orientation: jax.Array, gamma: jax.Array) -> jax.Array:
    """Nats for j before i ``[M, M]`` from what environments say about j -> i, where such an edge may be.

    What speaks against it speaks for i before j only as far as there may be an edge from i to j. If there can be
    neither, the two go together by way of a third variable, and that says nothing about their order.
    """
    exists = jax.nn.sigmoid(gamma)
    return exists * (jax.nn.relu(orientation) - exists.T * jax.nn.relu(-orientation))


def price_of(free: jax.Array, settings: Settings) -> jax.Array:
    """Nats that a new mechanism pays for one more parent ``[M, M]``, by what each variable's `free` numbers are."""
    return settings.edge_cost * free[:, None] * free


def brought(evidence: Evidence, settings: Settings) -> jax.Array:
    """Nats that each edge has brought to the networks, less chance and what it must bring ``[M, M]``."""
    return evidence.existence - settings.caution * jnp.sqrt(evidence.existence_square) - settings.edge_cost


def in_doubt(structure: Weighed, settings: Settings) -> jax.Array:
    """Pairs about which networks say little: whether there is an edge, or which way it goes ``[M, M]``."""
    sure = brought(structure.evidence, settings) >= LARGEST_LOGIT
    linked = structure.gamma > 0
    turnable = jnp.abs(structure.evidence.orientation - structure.evidence.orientation.T) < TURNABLE
    return ~(sure | sure.T) | ((linked | linked.T) & turnable)


def _kept(before: Evidence, probabilities: jax.Array, settings: Settings, fresh: bool) -> jax.Array:
    """The share of old evidence that still counts: it was gathered under other beliefs about the rest of the row."""
    moved = jnp.abs(probabilities - before.beliefs).sum(axis=1, keepdims=True)
    most = settings.memory if fresh else jnp.minimum(settings.memory, before.updates / (before.updates + 1))
    return jnp.where(before.updates > 0, most * jnp.exp(-moved), 0.0)


def _adjacent(gamma: jax.Array, clamp: Clamp) -> jax.Array:
    """Pairs with an edge one way or the other, by what is believed now ``[M, M]``."""
    edge = ((gamma > 0) & clamp.open) | (clamp.value > 0)
    return edge | edge.T


@partial(jax.jit, static_argnames=("sweeps", "chains"))
def order_probabilities(
    evidence: jax.Array, key: jax.Array, adjacent: jax.Array | None = None, sweeps: int = 200, chains: int = 8
) -> jax.Array:
    """P(j comes before i) ``[M, M]`` where an order weighs exp(half the sum of evidence[i, j] over j before i).

    `evidence` is antisymmetric, in nats. Gibbs sampling: one variable at a time is put back at a place drawn from its
    exact conditional distribution. Left at that, a graph counts once for every order that suits it, and a chain, which
    suits one, needs many nats against a chain with an edge turned in its middle. Given the `adjacent` pairs ``[M, M]``
    every acyclic way to direct these counts once: an order also weighs what `_log_share` says, by accepting moves.
    """
    m = len(evidence)
    places = jnp.arange(m)

    def move(order: jax.Array, drawn: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        variable, noise, leniency = drawn
        moved = _put_back(order, variable, noise, evidence)
        if adjacent is None:
            return moved, None
        loss = _log_share(order, adjacent) - _log_share(moved, adjacent)
        return jnp.where(loss < leniency, moved, order), None

    def sweep(order: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        leniency = jax.random.exponential(jax.random.fold_in(key, 1), (m,))
        order, _ = jax.lax.scan(move, order, (places, jax.random.gumbel(key, (m, m)), leniency))
        position = jnp.argsort(order)
        return order, position[None, :] < position[:, None]

    def chain(key: jax.Array) -> jax.Array:
        to_start, to_sweeps = jax.random.split(key)
        start = _likely_order(evidence, to_start)
        _, before = jax.lax.scan(sweep, start, jax.random.split(to_sweeps, sweeps))
        return before[sweeps // 5 :].mean(axis=0)

    share = jax.vmap(chain)(jax.random.split(key, chains)).mean(axis=0)
    return jnp.clip(share, 1e-3, 1 - 1e-3)  # a sample never excludes what it does not hold


def _put_back(order: jax.Array, variable: jax.Array, noise: jax.Array, evidence: jax.Array) -> jax.Array:
    """The order with this variable at a place drawn from its distribution given the order of all others."""
    m = len(order)
    places = jnp.arange(m)
    others = order[jnp.where(places[:-1] >= jnp.argmax(order == variable), places[1:], places[:-1])]
    weight = jnp.concatenate([jnp.zeros(1), jnp.cumsum(evidence[variable, others])])  # after the first p of them
    place = jnp.argmax(weight + noise)  # a draw from the softmax of the weights, the noise being Gumbel's
    shifted = jnp.where(places < place, others[jnp.minimum(places, m - 2)], others[jnp.maximum(places - 1, 0)])
    return jnp.where(places == place, variable, shifted)


def _log_share(order: jax.Array, adjacent: jax.Array) -> jax.Array:
    """Log-probability of this order among those that suit the graph it makes of the `adjacent` pairs.

    For orders that are drawn from a graph by taking next, at random, one of the variables whose parents are all taken.
    """
    places = jnp.arange(len(order))
    met = adjacent[order[:, None], order] & (places < places[:, None])  # [l, k], the k-th is a parent of the l-th
    free = jnp.max(jnp.where(met, places + 1, 0), axis=1)  # [l], when the last of its parents is taken
    choices = ((free[:, None] <= places) & (places <= places[:, None])).sum(axis=0)  # [k]
    return -jnp.log(choices).sum()


def _likely_order(evidence: jax.Array, key: jax.Array) -> jax.Array:
    """An order that goes against as little evidence as can be seen from one variable to the next ``[M]``.

    Next comes the variable that the least speaks for putting after one that is still to come, ties at random. Where
    all evidence can be followed at once, it is: moving one variable at a time would take long to get there.
    """
    m = len(evidence)
    later = jax.nn.relu(evidence)  # [i, j], nats for j before i

    def pick(left: jax.Array, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
        chosen = jnp.argmin(jnp.where(left, later @ left + noise, jnp.inf))
        return left & (jnp.arange(m) != chosen), chosen

    _, order = jax.lax.scan(pick, jnp.ones(m, bool), jax.random.uniform(key, (m, m)))
    return order
