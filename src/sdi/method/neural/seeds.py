"""Several seeds of the paper's method at once, in one compiled call for all of them.

That pays where a single seed leaves the processor waiting: at 3 binary variables, not at 8 (docs/choices.md).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sdi.method.beliefs import Clamp, Knowledge
from sdi.method.neural.descend import gather, learn
from sdi.method.neural.iterate import EVIDENCE, Info, State, believed, conclude, initial_state, look, stop_reason
from sdi.method.neural.phase1_fit import fit
from sdi.method.neural.scene import Learnt
from sdi.method.settings import Settings
from sdi.worlds.world import World


def iterate_seeds(
    worlds: Sequence[World], settings: Settings, seeds: Sequence[int], knowledge: Knowledge | None = None
) -> Iterator[dict[int, tuple[State, Info]]]:
    """For each seed that has not stopped, what `iterate` yields, up to rounding: all seeds run side by side.

    `worlds` has one world for each seed, all of the same variables. Only for estimators that descend a gradient.
    """
    if settings.estimator in EVIDENCE:
        raise ValueError(f"seeds run at once for ratio and paper only; estimator is {settings.estimator!r}")
    if len(worlds) != len(seeds) or len({(world.names, world.cardinalities) for world in worlds}) != 1:
        raise ValueError(f"expected a world for each of {len(seeds)} seeds, all of the same variables")
    clamp = (knowledge or Knowledge()).clamp(worlds[0].names)
    states = [initial_state(world, settings, seed) for world, seed in zip(worlds, seeds, strict=True)]
    running = [stop_reason(state, settings) is None for state in states]
    while any(running):
        after = _iteration(states, worlds, settings, clamp, seeds)
        yield {seed: each for seed, each, on in zip(seeds, after, running, strict=True) if on}
        # a seed that has stopped stays in the batch, so that nothing is compiled anew, and stays as it was
        states = [new if on else old for old, (new, _), on in zip(states, after, running, strict=True)]
        running = [on and stop_reason(state, settings) is None for state, on in zip(states, running, strict=True)]


def _iteration(
    states: list[State], worlds: Sequence[World], settings: Settings, clamp: Clamp, seeds: Sequence[int]
) -> list[tuple[State, Info]]:
    """The same steps as in `iterate`, each for all seeds."""
    seen = [look(state, world, settings, seed) for state, world, seed in zip(states, worlds, seeds, strict=True)]
    before = jnp.stack([believed(state, clamp) for state in states])
    observed = _stack([each.observed for each in seen])
    keys = _stack([(each.to_fit, each.to_learn) for each in seen])
    fitted, loss = _fit(_stack([state.fitted for state in states]), observed, before, keys[0], settings, seen[0].again)
    most = max(each.interventions for each in seen)
    gathered = [gather(each.world, most, each.rng, settings) for each in seen]
    pools, given = _stack([each.pools for each in gathered]), np.stack([each.given for each in gathered])
    structure = _stack([state.structure for state in states])
    structure, found = _learn(structure, fitted.weights, observed, pools, given, clamp, keys[1], settings)
    return [
        conclude(
            state,
            _pick(fitted, s),
            float(loss[s]),
            Learnt(_pick(structure, s), gathered[s].visited, np.asarray(found[s])),
            seen[s].world,
            clamp,
            settings,
        )
        for s, state in enumerate(states)
    ]


@partial(jax.jit, static_argnames=("settings", "again"))
def _fit(fitted: Any, observed: Any, before: jax.Array, keys: jax.Array, settings: Settings, again: bool) -> Any:
    return jax.vmap(partial(fit, settings=settings, again=again))(fitted, observed, before, keys)


@partial(jax.jit, static_argnames="settings")
def _learn(
    structure: Any,
    weights: Any,
    observed: Any,
    pools: Any,
    given: jax.Array,
    clamp: Clamp,
    keys: jax.Array,
    settings: Settings,
) -> Any:
    return jax.vmap(lambda s, w, o, p, g, k: learn(s, w, o, p, g, clamp, k, settings))(
        structure, weights, observed, pools, given, keys
    )


def _stack(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _pick(tree: Any, index: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[index], tree)
