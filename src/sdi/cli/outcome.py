"""What a person sees of a run in the end: the graph, the targets, how it came about, and where everything is."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sdi.cli import show
from sdi.formats.run import ENVIRONMENTS
from sdi.method.discover import REASONS, Discovery, in_words
from sdi.runs import Outcome

MOST_ENVIRONMENTS = 40
METHODS = {"tables": "probability tables", "neural": "neural networks"}


def show_outcome(outcome: Outcome, *, finite: bool, refits: int = 0) -> None:
    """The graph, the targets of a finite world, which method and why it stopped, the measures, and the files."""
    found = outcome.discovery
    for text in (*_graph_lines(outcome.graph, refits), *(_target_lines(found) if finite else ())):
        show.line(text)
    show.line("")
    done = f"{_count(found.iterations, 'iteration')} and {_count(found.interventions, 'intervention')}"
    show.line(f"stopped after {done}: {REASONS[found.reason]}")
    why = in_words(found.compared)
    show.line(f"found with {METHODS[found.method]}{f': {why}' if why else ''}")
    for text in outcome.graph["warnings"]:
        show.line(f"warning: {text}")
    if outcome.metrics is not None:
        show.line("")
        show.as_table([{"measure": name, "value": value} for name, value in outcome.metrics.items()])
    show.line("")
    for path in outcome.paths:
        if path != outcome.report:
            show.line(f"wrote {path}")
    if outcome.report is not None:
        show.line(f"the report is {outcome.report}")


def _graph_lines(graph: Mapping[str, Any], refits: int) -> Iterator[str]:
    for edge in graph["edges"]:
        again = f", in {round(edge['share'] * refits)} of {_count(refits, 'refit')}" if "share" in edge else ""
        yield f"{edge['cause']} -> {edge['effect']} {edge['probability']:.2f}{again}"
    if not graph["edges"]:
        yield "no edge: none has a probability above one half"
    for edge in graph["removed"]:
        which = f"{edge['cause']} -> {edge['effect']} {edge['probability']:.2f}"
        yield f"left out, as it does not go together with the others: {which}"


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
