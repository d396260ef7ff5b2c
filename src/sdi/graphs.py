"""Graphs: families by name, a small grammar for one's own, and checks that they are DAGs.

Orientation everywhere: ``parents[i, j]`` is true when variable j is a parent (a direct cause) of variable i.
"""

import difflib
import itertools
import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray

BoolMatrix: TypeAlias = NDArray[np.bool_]

LARGEST = 5_000  # variables of a graph by name: beyond it, a slip of the keyboard would fill the memory


class Graph(NamedTuple):
    """A directed graph: the names of its variables and ``parents[child, parent]``."""

    names: tuple[str, ...]
    parents: BoolMatrix


# ----------------------------------------------------------------------------------------------- families


def variable_names(size: int) -> tuple[str, ...]:
    """A, B, C ... up to 26 variables, X1, X2, X3 ... beyond."""
    return tuple(string.ascii_uppercase[:size]) if size <= 26 else tuple(f"X{i + 1}" for i in range(size))


def _from_edges(size: int, edges: Iterable[tuple[int, int]]) -> BoolMatrix:
    parents = np.zeros((size, size), dtype=bool)
    for cause, effect in edges:
        parents[effect, cause] = True
    return parents


def chain(size: int) -> BoolMatrix:
    """0 -> 1 -> 2 -> ..."""
    return _from_edges(size, ((i, i + 1) for i in range(size - 1)))


def collider(size: int) -> BoolMatrix:
    """All others -> the last."""
    return _from_edges(size, ((i, size - 1) for i in range(size - 1)))


def tree(size: int) -> BoolMatrix:
    """A binary tree, edges from the root outwards."""
    return _from_edges(size, (((i - 1) // 2, i) for i in range(1, size)))


def jungle(size: int) -> BoolMatrix:
    """A binary tree in which every node is also joined to its grandparent."""
    grandparents = ((((i - 1) // 2 - 1) // 2, i) for i in range(3, size))
    return tree(size) | _from_edges(size, grandparents)


def bidiag(size: int) -> BoolMatrix:
    """A chain with every two-step edge added."""
    return chain(size) | _from_edges(size, ((i, i + 2) for i in range(size - 2)))


def full(size: int) -> BoolMatrix:
    """Every variable -> every later one."""
    return np.tri(size, k=-1, dtype=bool)


def three_variable_dags() -> tuple[BoolMatrix, ...]:
    """All 25 DAGs on three labelled variables, in a fixed order."""
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    candidates = (_from_edges(3, itertools.compress(pairs, bits)) for bits in itertools.product((0, 1), repeat=6))
    return tuple(parents for parents in candidates if find_cycle(parents) is None)


def random_dag(size: int, edges: float, rng: np.random.Generator) -> BoolMatrix:
    """An Erdos-Renyi DAG in a random causal order with this many edges expected."""
    possible = size * (size - 1) / 2
    if not 0 <= edges <= possible:
        raise ValueError(
            f"random{size}:{edges:g} asks for {edges:g} expected edges; "
            f"{size} variables have room for 0 to {possible:g}"
        )
    parents = full(size) & (rng.random((size, size)) < edges / possible)
    return _shuffled(parents, rng)


def scale_free_dag(size: int, edges_per_variable: int, rng: np.random.Generator) -> BoolMatrix:
    """A preferential-attachment DAG: each new variable joins this many earlier ones, older -> newer, then shuffled."""
    if not 1 <= edges_per_variable < size:
        raise ValueError(
            f"scalefree{size}:{edges_per_variable} asks for {edges_per_variable} edges per variable; "
            f"choose 1 to {size - 1}"
        )
    grown = nx.barabasi_albert_graph(size, edges_per_variable, seed=int(rng.integers(2**31)))
    return _shuffled(_from_edges(size, ((min(edge), max(edge)) for edge in grown.edges)), rng)


def _shuffled(parents: BoolMatrix, rng: np.random.Generator) -> BoolMatrix:
    order = rng.permutation(len(parents))
    return np.ascontiguousarray(parents[np.ix_(order, order)])


FAMILIES: dict[str, Callable[[int], BoolMatrix]] = {
    "chain": chain,
    "collider": collider,
    "tree": tree,
    "bidiag": bidiag,
    "jungle": jungle,
    "full": full,
}
THREE_VARIABLES = {"fork3": "A->{B,C}", "confounder3": "A->{B,C}, B->C"}
KNOWN_FORMS = (
    f"a family with its size, at least 3 ({', '.join(f'{name}8' for name in FAMILIES)}), {', '.join(THREE_VARIABLES)}, "
    "dag3:0 to dag3:24, random25:60 (60 expected edges), scalefree25:2 (2 edges per variable) "
    "or arrows such as 'A->B->C, {A-D}->E'"
)


def is_graph_name(text: str) -> bool:
    """Whether `text` has the form of a graph (which may still be malformed)."""
    return "->" in text or "<-" in text or text in THREE_VARIABLES or _NAME.fullmatch(text) is not None


_NAME = re.compile(rf"(?P<family>{'|'.join(FAMILIES)}|dag|random|scalefree)(?P<size>\d+)(?::(?P<detail>[\d.]+))?")


def graph(text: str, rng: np.random.Generator | None = None) -> Graph:
    """The graph that `text` names: ``chain8``, ``random25:60``, ``A->B->C, {A-D}->E``.

    Random families need `rng`. Raises ValueError, with the known forms, for anything else.

    >>> graph("collider3").parents.astype(int)
    array([[0, 0, 0],
           [0, 0, 0],
           [1, 1, 0]])
    """
    if "->" in text or "<-" in text:
        return _parse_arrows(text)
    if text in THREE_VARIABLES:
        return _parse_arrows(THREE_VARIABLES[text])
    match = _NAME.fullmatch(text)
    if match is None:
        near = difflib.get_close_matches(text.rstrip("0123456789"), FAMILIES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f"unknown graph {text!r}.{hint} Expected {KNOWN_FORMS}")
    family, size, detail = match["family"], int(match["size"]), match["detail"]
    if not 3 <= size <= LARGEST:
        raise ValueError(f"{text!r} has {size} variables; a family has at least 3 and at most {LARGEST}")
    return Graph(variable_names(size), _family(text, family, size, detail, rng))


def _family(text: str, family: str, size: int, detail: str | None, rng: np.random.Generator | None) -> BoolMatrix:
    if family in FAMILIES:
        if detail is not None:
            raise ValueError(f"{text!r}: {family} takes no number after the colon; write {family}{size}")
        return FAMILIES[family](size)
    if detail is None or re.fullmatch(r"\d+(\.\d*)?|\.\d+", detail) is None:
        raise ValueError(f"{text!r} needs a number after a colon, as in random25:60, scalefree25:2 or dag3:7")
    if family == "dag":
        dags = three_variable_dags()
        if size != 3 or not detail.isdigit() or int(detail) >= len(dags):
            raise ValueError(f"{text!r} is not known; dag3:0 to dag3:{len(dags) - 1} are the DAGs on three variables")
        return dags[int(detail)]
    if family == "scalefree" and not detail.isdigit():
        raise ValueError(f"{text!r} needs a whole number of edges per variable, as in scalefree{size}:2")
    if rng is None:
        raise ValueError(f"{text!r} is random: pass rng=numpy.random.default_rng(seed)")
    return random_dag(size, float(detail), rng) if family == "random" else scale_free_dag(size, int(detail), rng)


# ------------------------------------------------------------------------------------------------ grammar


def _parse_arrows(text: str) -> Graph:
    """Comma-separated paths of single names and {groups}; in a group, ``A-D`` or ``X1-X4`` is a range."""
    edges: list[tuple[str, str]] = []
    names: dict[str, None] = {}  # an ordered set
    for path in _split_outside_braces(text):
        pieces = re.split(r"(->|<-)", path)
        groups = [_parse_group(piece, text) for piece in pieces[::2]]
        for name in itertools.chain.from_iterable(groups):
            names.setdefault(name)
        for left, arrow, right in zip(groups, pieces[1::2], groups[1:], strict=False):
            causes, effects = (left, right) if arrow == "->" else (right, left)
            edges += itertools.product(causes, effects)
    index = {name: i for i, name in enumerate(names)}
    result = Graph(tuple(names), _from_edges(len(names), ((index[a], index[b]) for a, b in edges)))
    check_dag(result.parents, result.names)
    return result


def _split_outside_braces(text: str) -> list[str]:
    if text.count("{") != text.count("}") or re.search(r"\{[^}]*\{", text):
        raise ValueError(f"braces do not match in {text!r}; write groups as {{A,B}} or {{A-D}}")
    return re.split(r",(?![^{]*\})", text)


def _parse_group(piece: str, text: str) -> list[str]:
    piece = piece.strip()
    members = piece[1:-1].split(",") if piece.startswith("{") and piece.endswith("}") else [piece]
    return list(itertools.chain.from_iterable(_parse_member(member.strip(), text) for member in members))


def _parse_member(member: str, text: str) -> list[str]:
    if re.fullmatch(r"\w+", member):
        return [member]
    match = re.fullmatch(r"([A-Za-z_]*?)(\d+)\s*-\s*\1(\d+)|([A-Z])\s*-\s*([A-Z])|([a-z])\s*-\s*([a-z])", member)
    if match is None:
        raise ValueError(
            f"cannot read {member!r} in {text!r}: expected a name (letters, digits, _) or a range such as A-D or X1-X4"
        )
    first, last = match[4] or match[6], match[5] or match[7]
    numbers = range(ord(first), ord(last) + 1) if first else range(int(match[2]), int(match[3]) + 1)
    if not numbers:
        turned = "-".join(reversed(re.split(r"\s*-\s*", member)))
        raise ValueError(f"the range {member!r} in {text!r} is empty; write {turned}")
    if numbers[-1] - numbers[0] >= LARGEST:
        raise ValueError(f"the range {member!r} in {text!r} has more than {LARGEST} variables")
    return [chr(number) if first else f"{match[1]}{number}" for number in numbers]


# ------------------------------------------------------------------------------------------------- checks


def _digraph(parents: BoolMatrix) -> "nx.DiGraph[int]":
    result: nx.DiGraph[int] = nx.DiGraph()
    result.add_nodes_from(range(len(parents)))
    result.add_edges_from((int(j), int(i)) for i, j in np.argwhere(parents))
    return result


def find_cycle(parents: BoolMatrix) -> list[int] | None:
    """The variables of one directed cycle in causal order, or None if there is none."""
    try:
        return [edge[0] for edge in nx.find_cycle(_digraph(parents))]
    except nx.NetworkXNoCycle:
        return None


def check_dag(parents: BoolMatrix, names: Sequence[str]) -> None:
    """Raise ValueError with the cycle spelled out unless `parents` is acyclic."""
    cycle = find_cycle(parents)
    if cycle is not None:
        path = " -> ".join(names[i] for i in [*cycle, cycle[0]])
        raise ValueError(f"the graph has a cycle: {path}; remove or turn one of these edges")


def causal_order(parents: BoolMatrix) -> tuple[int, ...]:
    """The variables with every parent before its children; ties by index."""
    return tuple(nx.lexicographical_topological_sort(_digraph(parents)))


def descendants(parents: BoolMatrix) -> BoolMatrix:
    """``[i, j]``: j is i or comes of it."""
    reach = np.eye(len(parents), dtype=bool) | parents.T
    for _ in range(max(1, int(np.ceil(np.log2(len(parents)))))):
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
    return np.asarray(reach)
