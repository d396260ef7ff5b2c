"""BIF files: Bayesian networks read and written without loss."""

import gzip
import math
import os
import zlib
from collections import Counter
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdi.formats.bif_grammar import PROPERTY, BifError, Block, Entry, Reader, located, quote
from sdi.formats.files import write_atomically

__all__ = ["BifError", "Network", "Variable", "format_bif", "parse_bif", "read_bif", "write_bif"]

# Files often carry three or four decimals (0.333 0.333 0.333), and worlds renormalise; a sum further from 1 than this
# is rather a typing error. The 1e-9 lets 0.499 0.499 pass, which in binary misses 1 by a hair more than 0.002.
_LARGEST_MISS = 0.002 + 1e-9
# A `default` makes a table of any size out of a short file; 2**24 numbers fill 128 MiB, the repository needs 2**19.
_LARGEST_TABLE = 2**24


class Variable(NamedTuple):
    """One variable and its distribution given its parents."""

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    table: NDArray[np.float64]  # [*cardinalities of the parents, own cardinality]
    properties: tuple[str, ...] = ()  # those of the probability block come last


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
        raise located(f"broken gzip file ({error}); fetch it again", source, "", 0) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        message = f"expected UTF-8 text, found the byte 0x{data[error.start]:02x}; save the file as UTF-8"
        raise located(message, source, before, len(before)) from error
    return parse_bif(text, source)


def write_bif(path: str | os.PathLike[str], network: Network) -> None:
    """Write `network` as a whole file or not at all; compressed if the name ends in '.gz'."""
    data = format_bif(network).encode("utf-8")
    # without a time stamp the same network gives the same bytes
    write_atomically(Path(path), gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data)


def parse_bif(text: str, source: str = "<text>") -> Network:
    """The network that `text` describes; its numbers are kept, not normalised."""
    reader = Reader(text.removeprefix("\ufeff"), source)
    name, properties, declarations, blocks = reader.network()
    if cycle := _cycle({name: tuple(blocks[name].parents) for name in declarations}):
        raise reader.error(f"the graph has a cycle: {' -> '.join(cycle)}", blocks[cycle[0]].at)
    variables = []
    for variable, declaration in declarations.items():
        block = blocks[variable]
        given = {parent: declarations[parent].states for parent in block.parents}
        table = _table(reader, variable, block, given, len(declaration.states))
        own = declaration.properties + block.properties
        variables.append(Variable(variable, declaration.states, tuple(given), table, own))
    return Network(name, tuple(variables), properties)


def format_bif(network: Network) -> str:
    """`network` as text from which `parse_bif` makes the same network, bit for bit."""
    _check_writable(network)
    states = {variable.name: [quote(state) for state in variable.states] for variable in network.variables}
    lines = [f"network {quote(network.name)} {{", *_property_lines(network.properties), "}"]
    for variable in network.variables:
        own = states[variable.name]
        lines.append(f"variable {quote(variable.name)} {{")
        lines.append(f"  type discrete [ {len(own)} ] {{ {', '.join(own)} }};")
        lines += [*_property_lines(variable.properties), "}"]
    for variable in network.variables:
        given = f" | {', '.join(map(quote, variable.parents))}" if variable.parents else ""
        lines.append(f"probability ( {quote(variable.name)}{given} ) {{")
        rows = variable.table.reshape(-1, len(variable.states)).tolist()
        for condition, row in zip(product(*(states[parent] for parent in variable.parents)), rows, strict=True):
            head = f"({', '.join(condition)})" if condition else "table"
            lines.append(f"  {head} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _table(reader: Reader, name: str, block: Block, given: dict[str, tuple[str, ...]], own: int) -> NDArray[np.float64]:
    """The entries of a block at their places; every row must be given once, or left to the default."""
    shape = (*map(len, given.values()), own)
    size = math.prod(shape)
    if size > _LARGEST_TABLE:
        raise reader.error(f"{name!r} needs a table of {size} numbers, more than {_LARGEST_TABLE}", block.at)
    table = np.empty((size // own, own))
    origin = np.zeros(len(table), dtype=np.int64)  # the place of the entry that filled a row; none stands at 0
    for entry in sorted(block.entries, key=lambda entry: entry.kind == "default"):
        wanted = size if entry.kind == "table" else own
        if len(entry.values) != wanted:
            raise reader.error(f"expected {wanted} probabilities for {name!r}, found {len(entry.values)}", entry.at)
        if entry.kind == "(":
            rows = np.array([_row(reader, entry, given)])
        else:
            rows = np.flatnonzero(origin == 0) if entry.kind == "default" else np.arange(len(table))
        repeated = rows[origin[rows] > 0]
        if repeated.size:
            raise reader.error(f"the row of {_row_name(name, given, repeated[0])} is given twice", entry.at)
        # a `table` runs through the rows for the first state of the child, then for the second ...
        table[rows] = np.reshape(entry.values, (own, -1)).T
        origin[rows] = entry.at
    if not origin.all():
        whom = _row_name(name, given, np.argmin(origin))
        raise reader.error(f"no probabilities for {whom}; add this row or a default", block.at)
    if fault := _fault(table, name, given):
        raise reader.error(fault[1], int(origin[fault[0]]))
    return table.reshape(shape)


def _row(reader: Reader, entry: Entry, given: dict[str, tuple[str, ...]]) -> int:
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


def _row_name(name: str, given: dict[str, tuple[str, ...]], row: np.intp) -> str:
    """'lung' given smoke=yes, asia=no."""
    if not given:
        return repr(name)
    places = np.unravel_index(row, [len(states) for states in given.values()])
    conditions = (f"{parent}={given[parent][place]}" for parent, place in zip(given, places, strict=True))
    return f"{name!r} given {', '.join(conditions)}"


def _fault(rows: NDArray[np.float64], name: str, given: dict[str, tuple[str, ...]]) -> tuple[np.intp, str] | None:
    """The first row that is no distribution, and what is wrong with it."""
    with np.errstate(over="ignore", invalid="ignore"):  # the sum of huge numbers is as wrong as infinity
        totals = rows.sum(axis=1)
    good = (np.abs(totals - 1) <= _LARGEST_MISS) & (rows >= 0).all(axis=1)  # false for NaN
    if good.all():
        return None
    row = np.argmin(good)
    whom, smallest = _row_name(name, given, row), rows[row].min()
    if not smallest >= 0:
        return row, f"the probabilities of {whom} must be numbers from 0 to 1, found {smallest}; correct this row"
    return row, f"the probabilities of {whom} add up to {totals[row]:.9g}, expected 1 within 0.002; correct this row"


def _cycle(parents: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A cycle from cause to effect, its first name repeated at the end; empty if there is none."""
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def _check_writable(network: Network) -> None:
    """Refuse what `parse_bif` would refuse to read."""
    states = {variable.name: variable.states for variable in network.variables}
    _refuse_repeats("variable", (variable.name for variable in network.variables))
    for name, own, parents, table, _ in network.variables:
        _refuse_repeats(f"state of {name!r}", own)
        _refuse_repeats(f"parent of {name!r}", parents)
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


def _refuse_repeats(what: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"the {what} {name!r} is listed twice; rename or remove one")


def _property_lines(properties: Iterable[str]) -> list[str]:
    for text in properties:
        if not PROPERTY.fullmatch(f"{text};") or text != text.strip():
            rule = "it needs one line, closed quotes, a ';' only in quotes, and no blanks around it"
            raise ValueError(f"cannot write the property {text!r}: {rule}")
    return [f"  property {text};" for text in properties]
