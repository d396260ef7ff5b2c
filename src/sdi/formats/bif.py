r"""BIF files: Bayesian networks read and written without loss.

Read are the files of the Bayesian Network Repository and those of JavaBayes, where commas and '|' may be missing.
Written names stand in double quotes unless they are plain; inside quotes \" \\ \n \r mean quote, backslash, line
feed and carriage return, and any other backslash means itself. A property is kept as it stands between the word
`property` and the next ';' outside quotes, on one line; those of a probability block join those of its variable.
"""

import gzip
import math
import os
import re
import zlib
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.formats.files import write_atomically

# The repository prints seven decimals: 0.1428571 seven times adds up to 1 - 3e-7, the worst row of all its 24 networks.
# One unit of the seventh decimal per state covers numbers rounded or cut there, and catches a typing error before it.
_SLACK_PER_STATE = 1e-7
# A `default` makes a table of any size out of a short file; 2**24 numbers fill 128 MiB, the repository needs 2**19.
_LARGEST_TABLE = 2**24

_GAP = r"(?:\s++|//[^\n]*+|(?>/\*.*?\*/))*+"
_TOKEN = re.compile(
    _GAP + r'([{}()\[\],;|]|"(?:[^"\\]++|\\.)*+"|(?:[^\s{}()\[\],;|"/]++|/(?![/*]))++|\Z|(?P<open>/\*|"))', re.DOTALL
)
_NUMBERS = re.compile(r"([0-9eE.+\-,\s]*+);")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# On one line, because a forgotten ';' must not swallow the next block.
_PROPERTY = re.compile(r'((?:[^";\r\n]++|"(?:[^"\\\r\n]++|\\[^\r\n])*+")*+);')
_PLAIN = re.compile(r"(?:[\w.<>=+-]|/(?![/*]))+")
_MEANINGS = {'\\"': '"', "\\\\": "\\", "\\n": "\n", "\\r": "\r"}
_ESCAPES = {meaning: escape for escape, meaning in _MEANINGS.items()}


class BifError(ValueError):
    """A text that is not a Bayesian network, and where: 'asia.bif:12:7: expected ...'."""

    def __init__(self, message: str, source: str, line: int, column: int) -> None:
        super().__init__(f"{source}:{line}:{column}: {message}")


class Variable(NamedTuple):
    """One variable and its distribution given its parents."""

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    table: NDArray[np.float64]  # [*cardinalities of the parents, own cardinality]
    properties: tuple[str, ...] = ()


class Network(NamedTuple):
    """Variables in the order of their declaration."""

    name: str
    variables: tuple[Variable, ...]
    properties: tuple[str, ...] = ()


def read_bif(path: str | os.PathLike[str]) -> Network:
    """The network in a UTF-8 file, plain or compressed with gzip."""
    source, data = str(path), Path(path).read_bytes()
    try:
        data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except (OSError, EOFError, zlib.error) as error:
        raise BifError(f"broken gzip file ({error}); fetch it again", source, 1, 1) from error
    try:
        return parse_bif(data.decode("utf-8"), source)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        message = f"expected UTF-8 text, found the byte 0x{data[error.start]:02x}; save the file as UTF-8"
        raise _located(message, source, before, len(before)) from error


def write_bif(path: str | os.PathLike[str], network: Network) -> None:
    """Write `network` as a whole file or not at all; compressed if the name ends in '.gz'."""
    data = format_bif(network).encode("utf-8")
    # without a time stamp the same network gives the same bytes
    write_atomically(Path(path), gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data)


def parse_bif(text: str, source: str = "<text>") -> Network:
    """The network that `text` describes; its numbers are kept, not normalised."""
    reader = _Reader(text.removeprefix("\ufeff"), source)
    reader.take("network", "at the start")
    name, _ = reader.name("a network name")
    reader.take("{", "after network name")
    properties = reader.properties_to_brace()
    declared: dict[str, _Declaration] = {}
    blocks: dict[str, _Block] = {}
    while reader.token:
        if reader.token not in ("variable", "probability"):
            raise reader.expected("'variable' or 'probability'")
        if reader.token == "variable":
            variable, declaration = reader.variable()
            if variable in declared:
                raise reader.error(f"variable {variable!r} is declared twice; rename or remove one", declaration.at)
            declared[variable] = declaration
        else:
            variable, block = reader.probability()
            if variable in blocks:
                raise reader.error(f"variable {variable!r} has two probability blocks; remove one", block.at)
            blocks[variable] = block
    return Network(name, _join(reader, declared, blocks), properties)


def format_bif(network: Network) -> str:
    """`network` as text from which `parse_bif` makes the same network, bit for bit."""
    _check_writable(network)
    states = {variable.name: [_quote(state) for state in variable.states] for variable in network.variables}
    lines = [f"network {_quote(network.name)} {{", *_property_lines(network.properties), "}"]
    for variable in network.variables:
        own = states[variable.name]
        lines.append(f"variable {_quote(variable.name)} {{")
        lines.append(f"  type discrete [ {len(own)} ] {{ {', '.join(own)} }};")
        lines += [*_property_lines(variable.properties), "}"]
    for variable in network.variables:
        given = f" | {', '.join(map(_quote, variable.parents))}" if variable.parents else ""
        lines.append(f"probability ( {_quote(variable.name)}{given} ) {{")
        rows = variable.table.reshape(-1, len(variable.states)).tolist()
        for condition, row in zip(product(*(states[parent] for parent in variable.parents)), rows, strict=True):
            head = f"({', '.join(condition)})" if condition else "table"
            lines.append(f"  {head} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


class _Declaration(NamedTuple):
    at: int
    states: tuple[str, ...]
    properties: tuple[str, ...]


class _Entry(NamedTuple):
    at: int
    kind: str  # "table", "default" or "("
    states: list[tuple[str, int]]
    values: list[float]


class _Block(NamedTuple):
    at: int
    parents: list[tuple[str, int]]
    entries: list[_Entry]
    properties: tuple[str, ...]


class _Reader:
    """A text, the token ahead in it ('' at the end), and the rules of the grammar, one method each."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self.token, self.at, self.end = "", 0, 0
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.end)
        if match is None or match["open"]:
            at = self.end if match is None else match.start(1)
            kind = "string" if self.text[at] == '"' else "comment"
            raise self.error(f"this {kind} is never closed", at)
        self.token, self.at, self.end = match[1], match.start(1), match.end()

    def error(self, message: str, at: int) -> BifError:
        return _located(message, self.source, self.text, at)

    def expected(self, what: str) -> BifError:
        shown = self.token if len(self.token) <= 40 else self.token[:40] + "..."
        return self.error(f"expected {what}, found {repr(shown) if shown else 'the end of the text'}", self.at)

    def take(self, token: str, where: str) -> None:
        if self.token != token:
            raise self.expected(f"{token!r} {where}")
        self.advance()

    def name(self, what: str) -> tuple[str, int]:
        """A word or a string without its quotes, and its position."""
        token, at = self.token, self.at
        if not token or token in "{}()[],;|":
            raise self.expected(what)
        self.advance()
        if token[0] == '"':
            token = re.sub(r"\\.", lambda match: _MEANINGS.get(match[0], match[0]), token[1:-1], flags=re.DOTALL)
        return token, at

    def names(self, close: str, what: str) -> list[tuple[str, int]]:
        """Names up to the mark `close`; commas between them may be missing."""
        found = []
        while self.token != close:
            if self.token == ",":
                self.advance()
            else:
                found.append(self.name(f"{what} or {close!r}"))
        self.advance()
        return found

    def property(self) -> str:
        match = _PROPERTY.match(self.text, self.end)
        if match is None:
            raise self.error("this property has no ';' on its line, or a quote that is never closed", self.at)
        self.end = match.end()
        self.advance()
        return match[1].strip()

    def properties_to_brace(self) -> tuple[str, ...]:
        found = []
        while self.token == "property":
            found.append(self.property())
        self.take("}", "or 'property'")
        return tuple(found)

    def variable(self) -> tuple[str, _Declaration]:
        self.advance()
        name, at = self.name("a variable name")
        self.take("{", "after variable name")
        properties = []
        while self.token == "property":
            properties.append(self.property())
        self.take("type", "of the variable")
        states = self.states(name)
        return name, _Declaration(at, states, (*properties, *self.properties_to_brace()))

    def states(self, name: str) -> tuple[str, ...]:
        self.take("discrete", "after 'type'")
        self.take("[", "after 'discrete'")
        if not re.fullmatch("[0-9]{1,9}", self.token):
            raise self.expected("the number of states")
        count, at = int(self.token), self.at
        self.advance()
        self.take("]", "after the number of states")
        self.take("{", "before the states")
        found = self.names("}", "a state")
        self.take(";", "after the states")
        states = tuple(state for state, _ in found)
        if len(states) != count or not states:
            listed = f"{len(states)} ({', '.join(states)})"
            remedy = "correct the number, and quote states with spaces" if states else "a variable needs one or more"
            raise self.error(f"{name!r} announces {count} states and lists {listed}; {remedy}", at)
        self.refuse_repeats(found, f"state of {name!r}")
        return states

    def refuse_repeats(self, found: list[tuple[str, int]], what: str) -> None:
        repeat = _first_repeat([name for name, _ in found])
        if repeat is not None:
            name, at = found[repeat]
            raise self.error(f"the {what} {name!r} is listed twice; rename or remove one", at)

    def probability(self) -> tuple[str, _Block]:
        self.advance()
        self.take("(", "after 'probability'")
        name, at = self.name("a variable name")
        if self.token == "|":
            self.advance()
        parents = self.names(")", "a parent")
        self.refuse_repeats(parents, f"parent of {name!r}")
        self.take("{", "before the probabilities")
        entries: list[_Entry] = []
        properties = []
        while self.token != "}":
            if self.token == "property":
                properties.append(self.property())
            elif self.token != "(" and any(entry.kind == self.token for entry in entries):
                raise self.error(f"{name!r} has a second {self.token!r}; remove one", self.at)
            else:
                entries.append(self.entry())
        self.advance()
        return name, _Block(at, parents, entries, tuple(properties))

    def entry(self) -> _Entry:
        kind, at = self.token, self.at
        if kind not in ("(", "table", "default"):
            raise self.expected("'table', 'default', '(', 'property' or '}'")
        self.advance()
        states = self.names(")", "a state") if kind == "(" else []
        return _Entry(at, kind, states, self.numbers())

    def numbers(self) -> list[float]:
        """The probabilities up to the next ';': at once if they are nothing but numbers, else token by token."""
        match = _NUMBERS.match(self.text, self.at)
        if match:
            try:
                values = [float(word) for word in match[1].replace(",", " ").split()]
            except ValueError:
                values = []
            if values and min(values) >= 0:
                self.end = match.end()
                self.advance()
                return values
        values = []
        while self.token != ";":
            if self.token != ",":
                if not _NUMBER.fullmatch(self.token):
                    raise self.expected("a probability or ';'" if values else "a probability")
                values.append(float(self.token))
                if values[-1] < 0:
                    raise self.error(f"the probability {self.token} is negative", self.at)
            self.advance()
        self.advance()
        return values


def _join(reader: _Reader, declared: dict[str, _Declaration], blocks: dict[str, _Block]) -> tuple[Variable, ...]:
    """Declarations and probability blocks as variables, once they fit together."""
    for name, block in blocks.items():
        for mentioned, at in [(name, block.at), *block.parents]:
            if mentioned not in declared:
                raise reader.error(f"variable {mentioned!r} is not declared; add a variable block for it", at)
    for name, declaration in declared.items():
        if name not in blocks:
            raise reader.error(f"variable {name!r} has no probability block; add one", declaration.at)
    parents = {name: tuple(parent for parent, _ in blocks[name].parents) for name in declared}
    if cycle := _cycle(parents):
        raise reader.error(f"the graph has a cycle: {' -> '.join(cycle)}", blocks[cycle[0]].at)
    variables = []
    for name, (_, states, properties) in declared.items():
        given = {parent: declared[parent].states for parent in parents[name]}
        table = _table(reader, name, blocks[name], given, len(states))
        variables.append(Variable(name, states, parents[name], table, properties + blocks[name].properties))
    return tuple(variables)


def _table(
    reader: _Reader, name: str, block: _Block, given: dict[str, tuple[str, ...]], own: int
) -> NDArray[np.float64]:
    """The entries of a block at their places; every row must be given once, or left to the default."""
    shape = (*map(len, given.values()), own)
    rows = math.prod(shape) // own
    if rows * own > _LARGEST_TABLE:
        raise reader.error(f"{name!r} needs a table of {rows * own} numbers, more than {_LARGEST_TABLE}", block.at)
    table = np.empty((rows, own))
    origin = np.zeros(rows, dtype=np.int64)  # the position of the entry that filled a row; none stands at 0
    for entry in sorted(block.entries, key=lambda entry: entry.kind == "default"):
        wanted = rows * own if entry.kind == "table" else own
        if len(entry.values) != wanted:
            raise reader.error(f"expected {wanted} probabilities for {name!r}, found {len(entry.values)}", entry.at)
        row = _row(reader, entry, given) if entry.kind == "(" else 0
        filled = slice(row, row + 1) if entry.kind == "(" else slice(rows) if entry.kind == "table" else origin == 0
        if origin[filled].any():
            repeated = row + int(np.argmax(origin[filled] > 0))
            raise reader.error(f"the row of {_row_name(name, given, repeated)} is given twice", entry.at)
        # a `table` runs through the rows for the first state of the child, then for the second ...
        table[filled] = np.reshape(entry.values, (own, -1)).T
        origin[filled] = entry.at
    if not origin.all():
        whom = _row_name(name, given, int(np.argmin(origin > 0)))
        raise reader.error(f"no probabilities for {whom}; add this row or a default", block.at)
    if fault := _fault(table, name, given):
        raise reader.error(fault[1], int(origin[fault[0]]))
    return table.reshape(shape)


def _row(reader: _Reader, entry: _Entry, given: dict[str, tuple[str, ...]]) -> int:
    """The row that belongs to the states named by an entry; the last parent changes fastest."""
    if len(entry.states) != len(given):
        parents = f"one for each of {', '.join(given)}" if given else "for there are no parents"
        raise reader.error(f"expected {len(given)} states, {parents}; found {len(entry.states)}", entry.at)
    row = 0
    for (state, at), (parent, states) in zip(entry.states, given.items(), strict=True):
        if state not in states:
            raise reader.error(f"{state!r} is not a state of {parent!r}; choose from {', '.join(states)}", at)
        row = row * len(states) + states.index(state)
    return row


def _row_name(name: str, given: dict[str, tuple[str, ...]], row: int) -> str:
    """'lung' given smoke=yes, asia=no."""
    parts = []
    for parent, states in reversed(given.items()):
        row, state = divmod(row, len(states))
        parts.append(f"{parent}={states[state]}")
    return f"{name!r} given {', '.join(reversed(parts))}" if parts else repr(name)


def _fault(rows: NDArray[np.float64], name: str, given: dict[str, tuple[str, ...]]) -> tuple[int, str] | None:
    """The first row that is no distribution, and what is wrong with it."""
    slack = _SLACK_PER_STATE * rows.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):  # the sum of huge numbers is as wrong as infinity
        totals = rows.sum(axis=1)
    good = (np.abs(totals - 1) <= slack) & (rows >= 0).all(axis=1)  # false for NaN
    if good.all():
        return None
    row = int(np.argmin(good))
    whom = _row_name(name, given, row)
    if not (rows[row] >= 0).all():
        return row, f"the probabilities of {whom} must be numbers from 0 to 1, found {rows[row].tolist()}"
    return row, f"the probabilities of {whom} add up to {totals[row]:.9g}, expected 1 within {slack:.0e}"


def _cycle(parents: dict[str, tuple[str, ...]]) -> list[str]:
    """A cycle from cause to effect, its first name repeated at the end; empty if there is none."""
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        ring: list[str] = error.args[1][:-1]
        start = ring.index(next(name for name in parents if name in ring))
        return [*ring[start:], *ring[: start + 1]]
    return []


def _located(message: str, source: str, text: str, at: int) -> BifError:
    return BifError(message, source, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _quote(name: str) -> str:
    """A plain name as it is, any other in quotes."""
    if _PLAIN.fullmatch(name):
        return name
    return '"' + re.sub(r'["\\\n\r]', lambda match: _ESCAPES[match[0]], name) + '"'


def _property_lines(properties: Iterable[str]) -> list[str]:
    for text in properties:
        if not _PROPERTY.fullmatch(f"{text};") or text != text.strip():
            rule = "it needs one line, closed quotes, a ';' only in quotes, and no blanks around it"
            raise ValueError(f"cannot write the property {text!r}: {rule}")
    return [f"  property {text};" for text in properties]


def _check_writable(network: Network) -> None:
    """Refuse what `parse_bif` would refuse to read."""
    states = {variable.name: variable.states for variable in network.variables}
    _refuse_repeat("variable", [variable.name for variable in network.variables])
    for name, own, parents, table, _ in network.variables:
        _refuse_repeat(f"state of {name!r}", own)
        _refuse_repeat(f"parent of {name!r}", parents)
        for parent in parents:
            if parent not in states:
                raise ValueError(f"the parent {parent!r} of {name!r} is not a variable; add it or leave it out")
        given = {parent: states[parent] for parent in parents}
        shape = (*map(len, given.values()), len(own))
        if table.shape != shape or 0 in shape:
            raise ValueError(
                f"the table of {name!r} has the shape {table.shape}, its states and parents ask for {shape}"
            )
        if fault := _fault(table.reshape(-1, len(own)), name, given):
            raise ValueError(fault[1])
    if cycle := _cycle({variable.name: variable.parents for variable in network.variables}):
        raise ValueError(f"the graph has a cycle: {' -> '.join(cycle)}")


def _refuse_repeat(what: str, names: Sequence[str]) -> None:
    repeat = _first_repeat(names)
    if repeat is not None:
        raise ValueError(f"the {what} {names[repeat]!r} is listed twice; rename or remove one")


def _first_repeat(names: Sequence[str]) -> int | None:
    """The place of the first name that stood before."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            return place
        seen.add(name)
    return None
