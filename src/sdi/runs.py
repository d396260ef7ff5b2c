"""A run on disk: discover with a history and checkpoints, and go on after any interruption."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi import bootstrap, reporting
from sdi.bootstrap import Refit
from sdi.formats import run as files
from sdi.formats.checkpoint import Checkpoint
from sdi.graphs import BoolMatrix
from sdi.method.discover import Discovery, State, Step, conclude, initial_state, stop_reason
from sdi.method.discover import run as iterations
from sdi.plans import Plan, as_dict, plan_from_dict
from sdi.sources import Studied, check_unchanged, lasting
from sdi.states import from_arrays, to_arrays
from sdi.worlds.simulated import SimulatedEnvironment, true_target


class Outcome(NamedTuple):
    """What was found, the same as JSON, how far it is from the truth if that is known, and where it is written."""

    discovery: Discovery
    graph: dict[str, Any]
    metrics: dict[str, float | int | None] | None
    paths: tuple[Path, ...]
    report: Path | None  # the page among these


class Run:
    """A run under way: ask for its `steps` and `keep` each of them, likewise its `refits`, and `finish`."""

    def __init__(self, folder: Path, plan: Plan, studied: Studied, start: State, journal: files.Journal) -> None:
        self.folder, self.plan, self.studied = folder, plan, studied
        self._journal = journal
        self.state, self.seconds = start, 0.0
        if journal.checkpoint is not None:
            arrays = journal.checkpoint.arrays
            like = initial_state(studied.world, plan.settings, plan.seed, tuple(arrays))
            self.state, self.seconds = from_arrays(like, arrays), journal.checkpoint.seconds

    @property
    def finished(self) -> bool:
        """Whether no iteration is left."""
        limit = self.plan.settings.seconds
        return stop_reason(self.state, self.plan.settings) is not None or (limit is not None and self.seconds >= limit)

    @property
    def last(self) -> dict[str, Any] | None:
        """The record of the latest iteration."""
        return self._journal.last

    def steps(self) -> Iterator[Step]:
        """The iterations that are left. Nothing is written: `keep` does that."""
        if self.finished:
            return iter(())
        plan = self.plan
        return iterations(self.studied.world, plan.settings, plan.knowledge, plan.seed, self.state, self.seconds)

    def keep(self, step: Step) -> dict[str, Any]:
        """Write the record of `step`, and a checkpoint now and then; the record."""
        record = {**step.record, **_measure(step, self.studied)}
        self._journal.add(record)
        self.state, self.seconds = step.state, step.record["seconds"]
        if self._journal.due():
            self._save()
        return record

    def conclude(self, reason: str | None = None) -> Discovery:
        """What is believed by now."""
        plan = self.plan
        return conclude(self.studied.world, self.state, plan.settings, plan.knowledge, reason=reason)

    @property
    def refitted(self) -> int:
        """How many refits there are so far."""
        return len(files.read_refits(self.folder))

    def refits(self) -> Iterator[Refit]:
        """The refits that are left once the run is finished, by the method that is trusted. Nothing is written."""
        plan, there = self.plan, {refit["refit"] for refit in files.read_refits(self.folder)}
        left = [number for number in range(1, plan.bootstrap + 1) if number not in there]
        if not (left and self.finished):
            return iter(())
        self._save()
        trusted: Any = self.conclude().method
        settings = replace(plan.settings, method=trusted)
        return bootstrap.refits(bootstrap.check_finite(self.studied.world), settings, plan.knowledge, plan.seed, left)

    def keep_refit(self, refit: Refit) -> int:
        """Write it down; how many there are now."""
        names = self.studied.world.names
        edges = [[names[j], names[i]] for j, i in np.argwhere(refit.parents.T)]
        files.add_refit(self.folder, {"refit": refit.number, "edges": edges})
        return self.refitted

    def finish(self, reason: str | None = None) -> Outcome:
        """Write the last checkpoint, the results and the report; `reason` where it is not the method that stopped."""
        self._save()
        plan, studied, found, made = self.plan, self.studied, self.conclude(reason), self._refits()
        shares = bootstrap.shares(made) if made else None
        graph = as_graph(found, reporting.warnings(found, studied), shares)
        metrics = _metrics(found, studied, self.last)
        paths = files.write_results(
            self.folder,
            names=found.names,
            probabilities=found.probabilities,
            environments=dict(zip(found.environments, found.targets, strict=True)),
            graph=graph,
            metrics=metrics,
            shares=shares,
        )
        shown = reporting.write(self.folder, plan, studied, found, shares, len(made)) if plan.report else ()
        return Outcome(found, graph, metrics, (*paths, *shown), shown[0] if shown else None)

    def _refits(self) -> list[BoolMatrix]:
        index = {name: i for i, name in enumerate(self.studied.world.names)}
        made = []
        for refit in files.read_refits(self.folder):
            parents = np.zeros((len(index), len(index)), dtype=bool)
            for cause, effect in refit["edges"]:
                parents[index[effect], index[cause]] = True
            made.append(parents)
        return made

    def _save(self) -> None:
        self._journal.save(Checkpoint(to_arrays(self.state), self.state.iteration, self.seconds))


@contextmanager
def started(folder: Path, plan: Plan, studied: Studied, *, force: bool = False) -> Iterator[Run]:
    """A new run in `folder`. An error before its first iteration leaves no run behind."""
    plan = replace(plan, source=lasting(plan.source))
    start = initial_state(studied.world, plan.settings, plan.seed)
    plan.knowledge.clamp(studied.world.names)  # errors before anything is written
    if plan.bootstrap:
        bootstrap.check_finite(studied.world)
    files.check_free(folder, force=force)
    files.make_folder(folder)
    with files.locked(folder):
        files.begin(folder, as_dict(plan, studied), force=force)
        with files.Journal(folder, _like(plan, studied)) as journal:
            try:
                yield Run(folder, plan, studied, start, journal)
            except Exception:
                if journal.last is None:
                    files.clear(folder)
                raise


@contextmanager
def resumed(folder: Path) -> Iterator[Run]:
    """The run in `folder`, from its last checkpoint, with exactly what it was started with."""
    made_of = files.read_settings(folder)
    plan = plan_from_dict(made_of)
    studied = plan.study()
    check_unchanged(studied.files, made_of.get("files", {}))
    start = initial_state(studied.world, plan.settings, plan.seed)
    with files.locked(folder):
        files.sweep(folder)
        with files.Journal(folder, _like(plan, studied)) as journal:
            yield Run(folder, plan, studied, start, journal)


def _like(plan: Plan, studied: Studied) -> Callable[[tuple[str, ...]], Mapping[str, NDArray[Any]]]:
    """What a checkpoint with leaves of these names must look like."""
    return lambda names: to_arrays(initial_state(studied.world, plan.settings, plan.seed, names))


def as_graph(
    found: Discovery, warnings: tuple[str, ...] = (), shares: NDArray[np.float64] | None = None
) -> dict[str, Any]:
    """The graph and how it came about, as JSON; edges in the order of their causes."""

    def edge(cause: int, effect: int) -> dict[str, Any]:
        probability = float(found.probabilities[effect, cause])
        share = {} if shares is None else {"share": float(shares[effect, cause])}
        return {"cause": found.names[cause], "effect": found.names[effect], "probability": probability, **share}

    index = {name: i for i, name in enumerate(found.names)}
    return {
        "names": list(found.names),
        "edges": [edge(j, i) for j, i in np.argwhere(found.parents.T)],
        "removed": [edge(index[cause], index[effect]) for cause, effect in found.removed],
        "reason": found.reason,
        "iterations": found.iterations,
        "interventions": found.interventions,
        "method": found.method,
        "warnings": list(warnings),
    }


# ------------------------------------------------------------------------------------------------ measures


def _measure(step: Step, studied: Studied) -> dict[str, float | int | None]:
    """How far one iteration is from the truth; nothing where that is not known."""
    if studied.truth is None:
        return {}
    from sdi import metrics  # here, because it takes a second to import, which a run without a truth need not wait for

    info = step.info
    touched = [true_target(each) for each in info.environments if isinstance(each, SimulatedEnvironment)]
    accuracy = None
    if touched and len(touched) == len(info.environments):
        found = [tuple(np.flatnonzero(row > 0.5).tolist()) for row in info.targets]
        accuracy = metrics.target_accuracy(found, touched)
    return {"hamming": metrics.hamming(info.probabilities > 0.5, studied.truth), "target_accuracy": accuracy}


def _metrics(
    found: Discovery, studied: Studied, last: Mapping[str, Any] | None
) -> dict[str, float | int | None] | None:
    """Every measure: of the graph where it is one of graphs, of the beliefs where it is one of beliefs."""
    if studied.truth is None:
        return None
    from sdi import metrics

    of_beliefs = metrics.evaluate(found.probabilities, studied.truth)
    of_graph = metrics.evaluate(found.parents, studied.truth)
    on_beliefs = ("auroc", "auprc", "edge_cross_entropy")
    measures = {name: (of_beliefs if name in on_beliefs else of_graph)[name] for name in of_graph}
    return {**measures, "target_accuracy": (last or {}).get("target_accuracy")}
