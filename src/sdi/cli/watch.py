"""What a person sees of a run while it goes on: what it is doing, how far it is, and how long it may take."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from sdi.cli import show
from sdi.method.auto import State as Both
from sdi.method.discover import State
from sdi.method.tables import iterate as tables
from sdi.runs import Run

QUIET = 5.0  # seconds between two lines where there is no terminal to be live on
TOO_FAR = 100 * 3600  # seconds ahead of which nothing is foretold

_err = Console(stderr=True, highlight=False, emoji=False)


class Watch:
    """A context that shows how `run` comes along."""

    def __init__(self, run: Run) -> None:
        names, knowledge = run.studied.world.names, run.plan.knowledge
        self._run, self._settings = run, run.plan.settings
        self._open = int(knowledge.clamp(names).open.sum())
        self._record = run.last
        self._took: float | None = None  # seconds of the latest iteration
        self._refits = self._before = run.refitted
        self._start = time.monotonic() - run.seconds
        self._latest = time.monotonic()  # when the latest iteration ended
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
        now = time.monotonic()
        self._record, self._took, self._latest = dict(record), now - self._latest, now
        self._tick()

    def show_refit(self, made: int) -> None:
        """How many refits there are."""
        self._refits = made
        self._tick()

    def _tick(self) -> None:
        if not _err.is_terminal and time.monotonic() - self._said >= QUIET:
            show.remark(self._line())
            self._said = time.monotonic()

    def _render(self) -> Spinner:
        self._spinner.update(text=Text(self._line(), no_wrap=True, overflow="ellipsis"))
        return self._spinner

    def _line(self) -> str:
        seconds = f"{time.monotonic() - self._start:.0f} s"
        run, record = self._run, self._record
        if run.plan.bootstrap and run.finished:
            return ", ".join([f"{self._refits} of {run.plan.bootstrap} refits", seconds, *self._refits_left()])
        stage, iteration = _stage(run.state)
        of = f"iteration {iteration} of at most {self._settings.iterations}"
        if record is None:
            doing = "compiling, then" if self._settings.method == "neural" else "searching the space of graphs, then"
            return f"{doing} iteration 1 of at most {self._settings.iterations}, {seconds}"
        if _between(run.state, run):
            return f"tables are done, compiling networks to compare with, {seconds}"
        parts = [
            f"{stage}: {of}" if self._settings.method == "auto" else of,
            f"{record['interventions']} interventions",
            f"{self._open - record['undecided']} of {self._open} edges decided",
            *([f"R-hat {record['r_hat']:.2f}"] if record.get("r_hat") is not None else []),
            seconds,
            *self._left(stage, iteration),
        ]
        if "hamming" in record:
            parts.append(f"distance from the truth {record['hamming']}")
        if record.get("target_accuracy") is not None:
            parts.append(f"targets right {record['target_accuracy']:.0%}")
        return ", ".join(parts)

    def _left(self, stage: str, iteration: int) -> list[str]:
        """How long it may take at most, as far as that can be told from the latest iteration."""
        if self._took is None or self._run.finished:
            return []
        # on rows that stay the same, tables draw twice as long in every iteration
        growth = 2.0 if stage == "tables" and self._run.studied.world.environments else 1.0
        ahead = min(self._settings.iterations - iteration, 64)
        longest = self._took * sum(growth**k for k in range(1, ahead + 1))
        if self._settings.seconds is not None:
            longest = min(longest, max(self._settings.seconds - (time.monotonic() - self._start), 0.0))
        if longest < TOO_FAR:
            return [f"at most {duration(longest)} left"]
        return [f"the next in about {duration(self._took * growth)}"]

    def _refits_left(self) -> list[str]:
        made, ahead = self._refits - self._before, self._run.plan.bootstrap - self._refits
        spent = time.monotonic() - self._latest
        return [f"about {duration(spent / made * ahead)} left"] if made and ahead else []


def _stage(state: State) -> tuple[str, int]:
    """Which method is at work, and its own iteration."""
    if isinstance(state, Both):
        if state.neural is None:
            return "tables", state.tables.iteration
        return (
            "networks with all rows" if state.neural.begun else "networks",
            state.neural.iteration - state.neural.begun,
        )
    return ("tables" if isinstance(state, tables.State) else "networks"), state.iteration


def _between(state: State, run: Run) -> bool:
    """Whether tables have ended and networks have not yet begun."""
    ended = isinstance(state, Both) and state.neural is None
    return ended and not run.finished and tables.stop_reason(state.tables, run.plan.settings) is not None


def duration(seconds: float) -> str:
    """'48 s', '2 min 5 s' or '3 h 20 min'."""
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
