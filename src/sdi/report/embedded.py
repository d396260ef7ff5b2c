"""The data that a page carries: all of a report's content as JSON, rounded to what can be seen."""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sdi.graphs import causal_order
from sdi.report import words
from sdi.report.content import THRESHOLD, Content, Reference, agreement
from sdi.report.drawing import NARROW, WIDE, Drawing, drawing
from sdi.report.text import shown

MOST_CELLS = 80  # variables of a matrix that a browser shows without effort
MOST_ENVIRONMENTS = 200
MOST_LINES, MOST_RECORDS = 60, 160
RECORDED = {"undecided": "Edges not yet decided", "loss": "Loss: minus log-likelihood of a row"}


def embedded(content: Content) -> dict[str, Any]:
    """What the scripts of the page read."""
    return {
        "title": shown(content.title),
        "lead": words.lead(content),
        "facts": words.facts(content),
        "warnings": [shown(text) for text in content.warnings],
        "names": [shown(name) for name in content.names],
        "states": [[shown(state) for state in states] for states in content.states],
        "cardinalities": list(content.cardinalities),
        "beliefs": _rounded(content.probabilities),
        "shares": None if content.bootstrap is None else _rounded(content.bootstrap.shares),
        "refits": None if content.bootstrap is None else content.bootstrap.refits,
        "edges": content.edges,
        "removed": _removed(content),
        "order": list(causal_order(np.asarray(content.parents))),
        "drawings": {"wide": _drawing(drawing(content, WIDE)), "narrow": _drawing(drawing(content, NARROW))},
        "threshold": THRESHOLD,
        **_environments(content),
        "history": history(content),
        "compared": words.compared(content),
        "reference": None if content.reference is None else _reference(content.reference, content),
        "meaning": words.meaning(content),
        "settings": [(shown(name), shown(value)) for name, value in words.settings(content)],
        "command": shown(content.command),
        "repeat_note": words.repeat_note(content),
        "citations": words.citations(),
        "bibtex": words.bibtex(),
        "made_by": f"Made by sdi {version('sdi')}. This page needs no network and sends nothing anywhere.",
        "most_cells": MOST_CELLS,
        "most_environments": MOST_ENVIRONMENTS,
    }


def as_script(value: Mapping[str, Any]) -> str:
    """JSON that is the same inside a script element: in it no character could end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII only, so U+2028 is escaped too
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _rounded(matrix: ArrayLike) -> Any:
    return np.round(np.nan_to_num(np.asarray(matrix, dtype=float)), 4).tolist()


def _removed(content: Content) -> list[tuple[int, int]]:
    index = {name: i for i, name in enumerate(content.names)}
    return [(index[cause], index[effect]) for cause, effect in content.removed]


def _drawing(made: Drawing) -> dict[str, Any]:
    layout = made.layout
    return {
        "width": math.ceil(layout.width),
        "height": math.ceil(layout.height),
        "labels": made.labels,
        "marks": made.marks,
        "boxes": [[round(number, 1) for number in box] for box in layout.boxes],
        "edges": [
            [*edge, [round(x, 1) for x in line.curve.ravel().tolist()], *(round(x, 1) for x in line.label)]
            for edge, line in made.edges.items()
        ],
    }


def _environments(content: Content) -> dict[str, Any]:
    index = {name: i for i, name in enumerate(content.names)}
    targets = np.asarray(content.targets, dtype=float)
    return {
        "environments": [
            {
                "name": shown(each.name),
                "rows": each.rows,
                "declared": None if each.declared is None else [index[name] for name in each.declared],
            }
            for each in content.environments
        ],
        "targets": _rounded(targets) if targets.size else [],
        "touched": [
            np.flatnonzero(targets[:, v] > THRESHOLD).tolist() if targets.size else [] for v in range(len(index))
        ],
        "targets_hint": words.targets_hint(content),
    }


def _reference(reference: Reference, content: Content) -> dict[str, Any]:
    names = content.names
    found = agreement([(names[j], names[i]) for j, i in content.edges], reference.edges, names)
    groups: list[tuple[str, str, Sequence[tuple[str, str]]]] = [
        ("agree", "good", found.agreeing),
        ("reversed, as published", "warn", found.reversed),
        ("missed", "bad", found.missed),
        ("extra", "bad", found.extra),
    ]
    if found.elsewhere:
        groups.append(("of variables not in the data", "", found.elsewhere))
    rows = []
    for e, each in enumerate(content.environments):
        if each.name in reference.targets and np.size(content.targets):
            known = set(reference.targets[each.name])
            inferred = [names[v] for v in np.flatnonzero(np.asarray(content.targets)[e] > THRESHOLD)]
            rows.append((each.name, sorted(known), inferred, _verdict(known, set(inferred))))
    return {
        "name": shown(reference.name),
        "note": shown(reference.note),
        "groups": [
            {"title": title, "tone": tone, "edges": [tuple(map(shown, edge)) for edge in edges]}
            for title, tone, edges in groups
        ],
        "targets": [
            (shown(name), [shown(v) for v in known], [shown(v) for v in inferred], verdict)
            for name, known, inferred, verdict in rows
        ],
    }


def _verdict(known: set[str], found: set[str]) -> str:
    if found == known:
        return "found"
    if known <= found:
        return "found, with others"
    return "found in part" if known & found else "missed"


def history(content: Content) -> dict[str, Any] | None:
    """Lines over the iterations: beliefs that mattered, and what else was recorded."""
    records = [record for record in content.history if "iteration" in record]
    if len(records) < 2:
        return None
    chosen = np.unique(np.linspace(0, len(records) - 1, min(len(records), MOST_RECORDS)).round().astype(int))
    records = [records[k] for k in chosen]
    lines, believed = _lines(content, records)
    others = []
    for key, label in RECORDED.items():
        values = [_number(record.get(key)) for record in records]
        if sum(value is not None for value in values) > 1:
            others.append({"label": label, "values": values})
    return {
        "iterations": [record["iteration"] for record in records],
        "lines": lines,
        "others": others,
        "hint": words.forming_hint(len(lines), believed) if lines else "",
    }


def _lines(content: Content, records: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Edges of the graph, then others that were believed at some time, with their beliefs; and how many there were."""
    if not all(np.shape(record.get("probabilities", ())) == np.shape(content.parents) for record in records):
        return [], 0
    beliefs = np.array([record["probabilities"] for record in records], dtype=float)  # [T, M, M]
    highest = beliefs.max(axis=0)
    rank = np.where(content.parents, 2.0, 0.0) + highest
    np.fill_diagonal(rank, 0.0)
    pairs = [(int(j), int(i)) for i, j in np.argwhere(rank > THRESHOLD)]
    first = sorted(pairs, key=lambda edge: -rank[edge[1], edge[0]])[:MOST_LINES]
    lines = [{"cause": j, "effect": i, "values": beliefs[:, i, j].round(3).tolist()} for j, i in first]
    return lines, len(pairs)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
