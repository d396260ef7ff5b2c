"""Phase 3, with what networks leave: what that makes of the evidence for an edge and for its direction.

It is a second account of the same rows, better where effects are weak and rows are few, rough where effects are strong.
So it can speak for an edge, not against one, and for a direction only by more than it may be wrong.
"""

import jax
import jax.numpy as jnp

from sdi.method.neural.phase2_residuals import Left

BOTH_WAYS = 3.0  # times what speaks for the other direction is the most that can speak for this one
ROUGH = 0.1  # nats may be wrong by this share of them
MORE = 0.5  # parents by which one end must have more than the other


def averaged(before: Left, now: Left, kept: jax.Array) -> Left:
    """What was found before, as far as it is `kept`, with what was found now. Networks differ from time to time."""
    any_asked, again = now.asked.any(), now.asked & before.asked
    apart, touched = (
        jnp.where(any_asked, jnp.where(again, kept * old + (1 - kept) * new, new), kept * old)
        for old, new in zip(before[:2], now[:2], strict=True)
    )
    return Left(apart, touched, jnp.where(any_asked, now.asked, before.asked))


def overlooked(left: Left, edge_cost: float) -> jax.Array:
    """Logits of edges that are left to be found ``[M, M]``, -inf where there is none.

    They must stand out among all pairs, of which one is bound to look best by chance.
    """
    m = len(left.asked)
    over = _mutual(left) + left.touched - edge_cost - jnp.log(max(1, m * (m - 1) // 2))
    return jnp.where(over > 0, over, -jnp.inf)


def either_account(orientation: jax.Array, left: Left) -> jax.Array:
    """Nats for j -> i where j was touched ``[M, M]``: which of two accounts is the better one is as open as a coin."""
    return jnp.where(left.asked, jnp.logaddexp(orientation, left.touched) - jnp.log(2.0), orientation)


def explained(left: Left, parents: jax.Array) -> jax.Array:
    """Nats for j -> i rather than i -> j in rows that touched neither: one end may have `parents` that the other lacks.

    What an edge adds to many parents is understated, as it takes no part in what they do together. So the difference
    counts where it speaks for the end that has more of them.
    """
    others = parents.sum(axis=1)[:, None] - parents  # [M, M], of i without j
    apart = _mutual(left)
    beyond = apart - apart.T - ROUGH * jnp.maximum(apart, apart.T)
    told = jnp.where(left.asked & left.asked.T & (others > others.T + MORE), jax.nn.relu(beyond), 0.0)
    return told - told.T


def _mutual(left: Left) -> jax.Array:
    """Nats for edges where neither end was touched, as far as each end tells about the other ``[M, M]``.

    What networks leave because they have not learnt what parents do together may go with a third variable that these
    parents tell about. Asked the other way round, it is gone.
    """
    return jnp.where(left.asked.T, jnp.minimum(left.apart, BOTH_WAYS * left.apart.T), left.apart)
