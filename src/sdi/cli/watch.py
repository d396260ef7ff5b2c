"""What a person sees of a run: a live line on stderr while it goes on, and in the end what was found."""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from sdi.cli import show
from sdi.formats.run import ENVIRONMENTS
from sdi.method.discover import REASONS, Discovery
from sdi.runs import Outcome, Run

QUIET = 5.0  # seconds between two lines where there is no terminal to be live on
MOST_ENVIRONMENTS = 40

_err = Console(stderr=True, highlight=False, emoji=False)


class Watch:
    """A context that shows how `run` comes along."""

    def __init__(self, run: Run) -> None:
        names, knowledge = run.studied.world.names, run.plan.knowledge
        self._open = int(knowledge.clamp(names).open.sum())
        self._limit = run.plan.settings.iterations
        self._record = run.last
        self._start = time.monotonic() - run.seconds
        self._said = -QUIET
        self._spinner = Spinner("dots")
        self._live: AbstractContextManager[object] = (
            Live(get_renderable=self._render, console=_err, refresh_per_second=8, transient=True)
            if _err.is_terminal
            else nullcontext()
        )

    def __enter__(self) -> "Watch":
        self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._live.__exit__(*error)

    def show(self, record: Mapping[str, Any]) -> None:
        """The latest record."""
        self._record = dict(record)
        if not _err.is_terminal and time.monotonic() - self._said >= QUIET:
            show.remark(self._line())
            self._said = time.monotonic()

    def _render(self) -> Spinner:
        self._spinner.update(text=Text(self._line(), no_wrap=True, overflow="ellipsis"))
        return self._spinner

    def _line(self) -> str:
        seconds = f"{time.monotonic() - self._start:.0f} s"
        record = self._record
        if record is None:
            return f"compiling, then iteration 1 of at most {self._limit}, {seconds}"
        parts = [
            f"iteration {record['iteration']} of at most {self._limit}",
            f"{record['interventions']} interventions",
            f"{self._open - record['undecided']} of {self._open} edges decided",
            seconds,
        ]
        if "hamming" in record:
            parts.append(f"distance from the truth {record['hamming']}")
        if record.get("target_accuracy") is not None:
            parts.append(f"targets right {record['target_accuracy']:.0%}")
        return ", ".join(parts)


def show_outcome(outcome: Outcome, *, finite: bool) -> None:
    """The graph, the targets of a finite world, why it stopped, the measures, and the files."""
    found = outcome.discovery
    for text in (*_graph_lines(outcome.graph), *(_target_lines(found) if finite else ())):
        show.line(text)
    show.line("")
    done = f"{_count(found.iterations, 'iteration')} and {_count(found.interventions, 'intervention')}"
    show.line(f"stopped after {done}: {REASONS[found.reason]}")
    if outcome.metrics is not None:
        show.line("")
        show.as_table([{"measure": name, "value": value} for name, value in outcome.metrics.items()])
    show.line("")
    for path in outcome.paths:
        show.line(f"wrote {path}")


def _graph_lines(graph: Mapping[str, Any]) -> Iterator[str]:
    for edge in graph["edges"]:
        yield f"{edge['cause']} -> {edge['effect']} {edge['probability']:.2f}"
    if not graph["edges"]:
        yield "no edge: none has a probability above one half"
    for edge in graph["removed"]:
        yield f"taken out because it closed a cycle: {edge['cause']} -> {edge['effect']} {edge['probability']:.2f}"


def _target_lines(found: Discovery) -> Iterator[str]:
    yield ""
    pairs = list(zip(found.environments, found.targets, strict=True))
    for name, probabilities in pairs[:MOST_ENVIRONMENTS]:
        touched = [f"{found.names[i]} {probabilities[i]:.2f}" for i in np.flatnonzero(probabilities > 0.5)]
        yield f"touched in {name}: {', '.join(touched) or 'nothing'}"
    if len(pairs) > MOST_ENVIRONMENTS:
        yield f"and {len(pairs) - MOST_ENVIRONMENTS} more environments in {ENVIRONMENTS}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
