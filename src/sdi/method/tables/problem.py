"""What is sampled from: the parent sets of every variable, their scores under any targets, and what is known."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.beliefs import Clamp
from sdi.method.tables.phase1_count import Block, Family
from sdi.method.tables.phase2_likelihood import Prior, Vector
from sdi.method.tables.phase2_score import Scores, prior_odds, set_priors
from sdi.method.tables.phase2_targets import Tables, environment_tables, touch_ratios
from sdi.method.tables.shelf import Shelf, new_owner
from sdi.worlds.world import Target


class Problem:
    """The posterior over graphs and targets, given blocks of rows."""

    def __init__(
        self,
        blocks: Sequence[Block],
        families: Sequence[Family],
        scores: Sequence[Sequence[Scores]],
        targets: Sequence[Sequence[Target | None]],
        clamp: Clamp,
        *,
        priors: Sequence[Prior],
        expected_parents: float,
        several: bool,
        shelf: Shelf,
    ) -> None:
        self.blocks, self.families, self.scores, self.clamp = blocks, families, scores, clamp
        self.priors, self.several, self._shelf, self.owner = priors, several, shelf, new_owner()
        size = len(families)
        self.cells = sum(int(family.first_cell[-1]) for family in families) * len(blocks) / size  # of a variable
        self._odds = prior_odds(size, expected_parents)
        self.target_odds = -np.log(size) if several else 0.0
        required = clamp.value > 0.5
        self.required = required.sum(axis=1).tolist()  # so many candidates of each family come first, in every set
        self._priors = [set_priors(family, self._odds, required[family.child]) for family in families]
        self.declared = [[None if t is None else np.isin(np.arange(size), t) for t in each] for each in targets]
        self.open_targets = [np.array([t is None for t in each], dtype=bool) for each in targets]
        self._bits = [[(1 << j, 1 << k) for k, j in enumerate(family.candidates)] for family in families]
        self._turnable = [
            [
                [j for j in (family.candidates[k] for k in each) if clamp.open[j, i] and clamp.open[i, j]]
                for each in family.sets
            ]
            for i, family in enumerate(families)
        ]
        near = np.zeros((size, size), dtype=bool)
        for i, family in enumerate(families):
            near[i, list(family.candidates)] = True
        self.pairs = [(int(i), int(j)) for i, j in np.argwhere(near | near.T)]

    def choices(self, parents: BoolMatrix) -> list[int]:
        """The set of each family with these parents, or the largest considered one inside them."""
        return [_closest(family, parents[family.child]) for family in self.families]

    def local_mask(self, i: int, variables: int) -> int:
        """Bits of variables as bits of the candidates of i."""
        found = 0
        for bit, local in self._bits[i]:
            if variables & bit:
                found |= local
        return found

    def weights(self, i: int, touched: Sequence[BoolMatrix]) -> Vector:
        """Log posterior of each parent set of i, up to a constant ``[S]``."""
        result = self._priors[i]
        for of_block, each in zip(self.scores, touched, strict=True):
            result = result + of_block[i](frozenset(np.flatnonzero(each[:, i]).tolist()))
        return result

    def ratios(self, b: int, i: int, s: int, touched: NDArray[np.bool_]) -> Vector:
        """Nats for "i was touched in e" in block b, the other environments being as `touched` says ``[E]``."""
        name = (self.owner, b, i, s, touched.tobytes())
        return self._shelf.get(name, lambda: touch_ratios(self._tables(b, i, s), touched))

    def _tables(self, b: int, i: int, s: int) -> Tables:
        family, scores = self.families[i], self.scores[b][i]
        given = family.order(s), family.cardinalities, scores.prior, scores.presumed
        return self._shelf.get((self.owner, b, i, s), lambda: environment_tables(self.blocks[b], i, *given))

    def with_one_more(self, i: int, s: int) -> list[int]:
        """The parent sets of i that hold one more than this one."""
        masks, size = self.families[i].masks, len(self.families[i].sets[s])
        larger = np.flatnonzero(masks & masks[s] == masks[s]).tolist()
        return [t for t in larger if len(self.families[i].sets[t]) == size + 1]

    def target_noise(self, environments: int, rng: np.random.Generator | None) -> Vector:
        """What makes a draw out of the likeliest: one number for each variable and for "none" ``[E, M + 1]``."""
        shape = environments, len(self.families) + 1
        if rng is None:
            return np.zeros(shape)
        return rng.logistic(size=shape) if self.several else rng.gumbel(size=shape)

    def draw_target(self, ratios: Vector, noise: Vector, coldness: float) -> NDArray[np.bool_]:
        """Which variables one environment touched ``[M]``."""
        size = len(ratios)
        if self.several:
            return np.asarray((ratios + self.target_odds) * coldness + noise[:size] > 0)
        return np.arange(size) == int(np.argmax(np.append(ratios * coldness, 0.0) + noise))

    def turnable(self, i: int, s: int) -> list[int]:
        """Parents in a set of i whose edge may as well point the other way."""
        return self._turnable[i][s]

    def targets_prior(self, touched: Sequence[BoolMatrix]) -> float:
        """Log prior of targets, up to a constant."""
        return float(sum(each.sum() for each in touched) * self.target_odds)

    def split(self, touched: BoolMatrix) -> list[BoolMatrix]:
        """Targets of all environments ``[E, M]`` as those of each block."""
        ends = np.cumsum([block.environments for block in self.blocks])
        return np.split(touched, ends[:-1])

    def no_targets(self) -> list[BoolMatrix]:
        """What was declared; nothing else touched."""
        size = len(self.families)
        return [
            np.array([np.zeros(size, bool) if t is None else t for t in each], dtype=bool).reshape(-1, size)
            for each in self.declared
        ]


def _closest(family: Family, parents: NDArray[np.bool_]) -> int:
    wanted = parents[list(family.candidates)]
    inside = ~(family.members & ~wanted).any(axis=1)
    return int(np.argmax(np.where(inside, family.members.sum(axis=1), -1)))
