"""Exports: a learned graph in the formats that other programs read.

Inside, matrices are [child, parent]; in what is exported an edge goes from its cause to its effect, and
``adjacency[cause][effect]`` is the convention of networkx.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from sdi.formats.bif import Network, Variable, format_bif
from sdi.formats.edges import align, predicted_targets, read_edges, read_environments
from sdi.formats.run import EDGES, ENVIRONMENTS, GRAPH, how_to_go_on, read_settings


class Learned(NamedTuple):
    """What a finished run found."""

    names: tuple[str, ...]
    probabilities: NDArray[np.float64]  # [child, parent]
    parents: NDArray[np.bool_]  # [child, parent], acyclic
    environments: Mapping[str, Mapping[str, float]]  # how probably each environment touched each variable

    @property
    def edges(self) -> list[tuple[str, str, float]]:
        """(cause, effect, probability) of the graph, in the order of the names."""
        return [(self.names[j], self.names[i], float(self.probabilities[i, j])) for j, i in np.argwhere(self.parents.T)]


def read_learned(folder: Path) -> Learned:
    """The results in the folder of a run."""
    read_settings(folder)  # says so where there is no run at all
    missing = [name for name in (GRAPH, EDGES, ENVIRONMENTS) if not (folder / name).is_file()]
    if missing:
        raise ValueError(f"{folder}: no {missing[0]} yet; let the run come to its end with `{how_to_go_on(folder)}`")
    try:
        graph = json.loads((folder / GRAPH).read_bytes())
        names = tuple(str(name) for name in graph["names"])
        index = {name: i for i, name in enumerate(names)}
        parents = np.zeros((len(names), len(names)), dtype=np.bool_)
        for edge in graph["edges"]:
            parents[index[edge["effect"]], index[edge["cause"]]] = True
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{folder / GRAPH}: expected names and edges, got something else ({error}); "
            f"write it again with `{how_to_go_on(folder)}`"
        ) from error
    listed, probabilities = read_edges(folder / EDGES)
    return Learned(names, align(probabilities, listed, names), parents, read_environments(folder / ENVIRONMENTS))


# ------------------------------------------------------------------------------------------------ formats


def as_digraph(learned: Learned) -> "nx.DiGraph[str]":
    """Edges with their `probability`, variables with the environments that touched them (`touched_in`)."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    touched = predicted_targets(learned.environments)
    for name in learned.names:
        graph.add_node(name, touched_in=", ".join(e for e, variables in touched.items() if name in variables))
    for cause, effect, probability in learned.edges:
        graph.add_edge(cause, effect, probability=probability)
    return graph


def _dot(learned: Learned) -> str:
    ids = {name: _dot_id(name, learned.names) for name in learned.names}
    lines = ["digraph {", "  node [shape=box, style=rounded];"]
    for name, touched in as_digraph(learned).nodes(data="touched_in"):
        label = _dot_label(name) + (f"\\n({_dot_label(touched)})" if touched else "")
        lines.append(f'  {ids[name]} [label="{label}"];')
    for cause, effect, p in learned.edges:
        lines.append(
            f'  {ids[cause]} -> {ids[effect]} [label="{p:.2f}", probability={p!r}, penwidth={0.5 + 2 * p:.2f}];'
        )
    return "\n".join([*lines, "}"]) + "\n"


def _dot_id(name: str, names: Sequence[str]) -> str:
    """The name in quotes; where it holds what cannot stand there, another that no variable has."""
    if "\\" in name or not name.isprintable():
        stand_in = f"node {names.index(name)}"
        while stand_in in names:
            stand_in += "'"
        name = stand_in
    return '"' + name.replace('"', '\\"') + '"'


def _dot_label(text: str) -> str:
    """Text that Graphviz shows to the letter: its own escapes are escaped, what cannot be seen is spelled out."""
    doubled = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(c if c.isprintable() else "\\" + ascii(c)[1:-1] for c in doubled)


# All that XML 1.0 can hold; the others have no spelling in it at all.
_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _graphml(learned: Learned) -> str:
    for name in (*learned.names, *learned.environments):
        if _XML.search(name):
            raise ValueError(f"GraphML cannot hold the name {name!r}; rename it, or choose json or networkx-json")
    return "\n".join(nx.generate_graphml(as_digraph(learned), named_key_ids=True)) + "\n"


def _json(learned: Learned) -> str:
    content = {
        "names": list(learned.names),
        "edges": [{"cause": a, "effect": b, "probability": p} for a, b, p in learned.edges],
        "adjacency": learned.parents.T.astype(int).tolist(),  # [cause][effect]
        "probabilities": learned.probabilities.T.tolist(),  # [cause][effect]
        "environments": {name: dict(beliefs) for name, beliefs in learned.environments.items()},
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _csv(learned: Learned) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(("cause", "effect", "probability"))
    writer.writerows(learned.edges)
    return buffer.getvalue()


def _networkx_json(learned: Learned) -> str:
    return json.dumps(nx.node_link_data(as_digraph(learned), edges="edges"), indent=2, allow_nan=False) + "\n"


FORMATS: dict[str, Callable[[Learned], str]] = {
    "dot": _dot,
    "graphml": _graphml,
    "json": _json,
    "csv": _csv,
    "networkx-json": _networkx_json,
}


# ---------------------------------------------------------------------------------------------------- bif

_WORDS = ("network", "variable", "probability", "property", "type", "discrete", "table", "default")
_IDENTIFIER, _INTEGER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*"), re.compile(r"[+-]?[0-9]+")
_MISREAD = re.compile(r"(table|default)([0-9])")  # pgmpy takes what follows for the numbers of a table
_SIGNS = {"<=": "le_", ">=": "ge_", "≤": "le_", "≥": "ge_", "<": "lt_", ">": "gt_"}


class PlainBif(NamedTuple):
    """BIF text in names that every reader knows, and what had to be renamed: (what it is, its new name)."""

    text: str
    renamed: tuple[tuple[str, str], ...]


def plain_bif(network: Network, remarks: tuple[str, ...] = ()) -> PlainBif:
    """`network` as BIF for other programs. They know letters, digits, '_' and '-' only, so that other names get
    plain ones; comments at the top say which, after `remarks`."""
    variables = _plain([each.name for each in network.variables], numbers=False)
    states = {each.name: _plain(each.states, numbers=True) for each in network.variables}
    renamed = [(f"variable {_quoted(old)}", new) for old, new in variables.items() if old != new]
    for name, of_it in states.items():
        renamed += [(f"state {_quoted(old)} of {_quoted(name)}", new) for old, new in of_it.items() if old != new]
    plain = Network(
        _plain([network.name], numbers=False)[network.name],
        tuple(
            Variable(
                variables[each.name],
                tuple(states[each.name][state] for state in each.states),
                tuple(variables[parent] for parent in each.parents),
                each.table,
            )
            for each in network.variables
        ),
    )
    comments = [*remarks, *(f"{old} is written {new}" for old, new in renamed)]
    return PlainBif("".join(f"// {line}\n" for line in comments) + format_bif(plain), tuple(renamed))


def _plain(names: Sequence[str], *, numbers: bool) -> dict[str, str]:
    """A plain name for each, all different; names that are plain already keep theirs."""
    result = {name: name for name in names if _is_plain(name, numbers)}
    taken = set(result)
    for name in names:
        if name not in result:
            base = choice = _nearest_plain(name)
            k = 1
            while choice in taken:
                k += 1
                choice = f"{base}_{k}"
            result[name] = choice
            taken.add(choice)
    return result


def _is_plain(name: str, numbers: bool) -> bool:
    if numbers and _INTEGER.fullmatch(name):
        return True
    return _IDENTIFIER.fullmatch(name) is not None and name not in _WORDS and not _MISREAD.search(name)


def _nearest_plain(name: str) -> str:
    text = re.sub("|".join(map(re.escape, _SIGNS)), lambda sign: _SIGNS[sign[0]], name)
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")
    plain = _MISREAD.sub(r"\1_\2", plain)
    return plain if _is_plain(plain, numbers=False) else f"_{plain}"


def _quoted(name: str) -> str:
    return json.dumps(name)  # on one line, whatever it holds
