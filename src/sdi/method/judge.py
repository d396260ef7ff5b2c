"""Which graph predicts interventions better: each with its own kind of mechanism, on rows that neither was fitted to.

This is the paper's own criterion: a wrong mechanism fails where something was changed.

Legend: M variables, E environments, R rows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.graphs import BoolMatrix
from sdi.method.settings import Settings
from sdi.method.tables.phase1_count import Block, make_block
from sdi.method.tables.phase2_likelihood import Prior, prior_of
from sdi.method.tables.phase2_targets import environment_tables, touch_ratios
from sdi.worlds.world import Environment, Rows, Target, World

HELD_OUT = 5  # one row in so many


class Part(NamedTuple):
    """Rows of one environment, as an environment."""

    name: str
    rows: Rows
    target: Target | None

    def observe(self, n: int, rng: np.random.Generator) -> Rows:
        return self.rows if n >= len(self.rows) else self.rows[rng.choice(len(self.rows), n, replace=False)]


class Sample(NamedTuple):
    """A world that is only the rows to fit to, and beside it the rows of each environment to judge by."""

    names: tuple[str, ...]
    cardinalities: tuple[int, ...]
    observed: Rows
    environments: tuple[Part, ...]
    held_out: tuple[Rows, ...]

    def observe(self, n: int, rng: np.random.Generator) -> Rows:
        return Part("", self.observed, None).observe(n, rng)

    def intervene(self, rng: np.random.Generator) -> Environment:
        return self.environments[int(rng.integers(len(self.environments)))]

    def redraw(self, rng: np.random.Generator) -> "Sample":
        return self


def take_sample(world: World, settings: Settings, seed: int) -> Sample:
    """All rows of a finite world, one in five of each environment held out; of another world new rows."""
    rng = np.random.default_rng([seed, 2**31])
    studied = world.redraw(rng)
    if world.environments:
        visited, most = world.environments, 2**62
        observed = studied.observe(most, rng)
    else:
        count = settings.interventions or max(16, 2 * len(world.names))
        visited, most = tuple(studied.intervene(rng) for _ in range(count)), settings.rows_of_each(len(world.names))
        observed = studied.observe(settings.observational_rows or settings.fit_steps * settings.batch, rng)
    parts, held_out = [], []
    for each in visited:
        rows = rng.permutation(each.observe(most, rng))
        few = max(1, len(rows) // HELD_OUT)
        parts.append(Part(each.name, rows[few:], each.target))
        held_out.append(rows[:few])
    return Sample(world.names, world.cardinalities, observed, tuple(parts), tuple(held_out))


def untouched(sample: Sample, parents: BoolMatrix, settings: Settings) -> NDArray[np.float64]:
    """The probability that each variable was left alone in each environment, if this is the graph ``[E, M]``."""
    block = make_block(sample.observed, [each.rows for each in sample.environments])
    prior = prior_of(block, sample.cardinalities, settings.sample_size, settings.strengths)
    ratios = np.stack([_ratios(block, i, parents[i], sample.cardinalities, prior) for i in range(len(parents))], 1)
    if settings.several_targets:
        touched = 1 / (1 + np.exp(np.clip(np.log(len(parents)) - ratios, -700, 700)))
    else:
        weights = np.append(ratios, np.zeros((len(ratios), 1)), axis=1)
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        touched = (weights / weights.sum(axis=1, keepdims=True))[:, :-1]
    for row, each in zip(touched, sample.environments, strict=True):
        if each.target is not None:
            row[:] = np.isin(np.arange(len(parents)), each.target)
    return np.asarray(1 - touched)


def _ratios(
    block: Block, i: int, parents: NDArray[np.bool_], cardinalities: tuple[int, ...], prior: Prior
) -> NDArray[np.float64]:
    members = tuple(np.flatnonzero(parents).tolist())
    tables = environment_tables(block, i, members, cardinalities, prior)
    return touch_ratios(tables, np.zeros(block.environments, bool))


class Verdict(NamedTuple):
    """Mean log-likelihood of an untouched variable in a held-out row, given the graph of each method."""

    tables: float
    neural: float
    error: float  # standard error of their difference


def judge(sample: Sample, tables: BoolMatrix, neural: BoolMatrix, settings: Settings, seed: int) -> Verdict:
    """How well the graph of each predicts the held-out rows, over variables that by both were left alone.

    Each mechanism is of the kind that does better for that variable: graphs are compared, not smoothness, and where
    both have the same parents neither is ahead.
    """
    from sdi.method.neural.predict import log_predictive as by_networks
    from sdi.method.tables.predict import log_predictive as by_tables

    alone = untouched(sample, tables, settings) * untouched(sample, neural, settings)  # [E, M]
    weights = np.repeat(alone, [len(rows) for rows in sample.held_out], axis=0)
    weights /= max(float(weights.sum()), 1e-9)
    rows = np.concatenate(sample.held_out)

    def worth(graph: BoolMatrix) -> NDArray[np.float64]:
        """What each value adds to the mean ``[R, M]``."""
        priors = settings.sample_size, settings.strengths
        of_tables = by_tables(sample.observed, rows, graph, sample.cardinalities, *priors) * weights
        of_networks = by_networks(sample.observed, rows, graph, sample.cardinalities, settings, seed) * weights
        return np.where(of_networks.sum(axis=0) > of_tables.sum(axis=0), of_networks, of_tables)

    by_row = worth(tables).sum(axis=1), worth(neural).sum(axis=1)
    ends = np.cumsum([len(each) for each in sample.held_out])[:-1]
    parts = np.split(by_row[1] - by_row[0], ends)  # by environment: what differs between these is no chance
    error = float(np.sqrt(sum(len(part) * np.var(part) for part in parts)))
    return Verdict(float(by_row[0].sum()), float(by_row[1].sum()), error)
