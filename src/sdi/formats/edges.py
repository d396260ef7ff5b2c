"""Edges, truths and targets as CSV.

Matrices are [child, parent]; files name the cause first. Cells are taken to the letter: a variable may be called
"NA" or hold commas, quotes and line breaks. Rows are counted as a spreadsheet shows them: the header is row 1.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, islice, permutations
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdi.formats.files import write_atomically

Scalar = TypeVar("Scalar", bound=np.generic)


def read_edges(path: Path | str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Names in order of first appearance, and probabilities[child, parent], from `cause,effect,probability`.

    Ordered pairs that are not listed have probability 0; without a column `probability` those listed have 1.
    """
    edges: dict[tuple[str, str], float] = {}
    for row, (cause, effect, cell) in _read(path, ("cause", "effect"), probability="1"):
        _check_ends(cause, effect, path, row)
        edges[cause, effect] = _probability(cell, path, row)
    if not edges:
        advice = "list the pairs, with probability 0 where there is no edge"
        raise _fault(path, 2, "a row per ordered pair of variables", "a header alone", advice)
    index = _index(dict.fromkeys(chain.from_iterable(edges)))
    probabilities = np.zeros((len(index), len(index)))  # [M, M]
    for (cause, effect), probability in edges.items():
        probabilities[index[effect], index[cause]] = probability
    return tuple(index), probabilities


def read_truth(path: Path | str, names: Sequence[str] | None = None) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Names, and parents[child, parent], from `cause,effect`.

    With `names` the matrix is over exactly these, in their order: those without a row are isolated variables, and
    a row with any other name is an error. Without it the names come in order of first appearance.
    """
    known = None if names is None else _index(names)
    edges: list[tuple[str, str]] = []
    for row, (cause, effect, cell) in _read(path, ("cause", "effect"), probability=""):
        _check_ends(cause, effect, path, row)
        if cell:  # a file of beliefs lists every pair: taken as a truth it would make all of them edges
            advice = "keep the rows that are edges and drop the column"
            raise _fault(path, 1, "true edges alone", "a column 'probability'", advice)
        for name in (cause, effect):
            if known is not None and name not in known:
                raise _fault(path, row, "a known variable", repr(name), _nearest(name, known))
        edges.append((cause, effect))
    index = _index(dict.fromkeys(chain.from_iterable(edges))) if known is None else known
    parents = np.zeros((len(index), len(index)), dtype=np.bool_)  # [M, M]
    for cause, effect in edges:
        parents[index[effect], index[cause]] = True
    return tuple(index), parents


def align(matrix: NDArray[Scalar], names: Sequence[str], onto: Sequence[str]) -> NDArray[Scalar]:
    """The matrix [child, parent] over `names`, rearranged over `onto`; variables that only `onto` has get zeros."""
    _check_square(matrix, names)
    index = _index(onto)
    for name in names:
        if name not in index:
            raise ValueError(f"expected a known variable, got {name!r}; {_nearest(name, index)}")
    places = [index[name] for name in names]
    aligned = np.zeros((len(onto), len(onto)), dtype=matrix.dtype)
    aligned[np.ix_(places, places)] = matrix
    return aligned


def write_edges(path: Path | str, names: Sequence[str], probabilities: ArrayLike, column: str = "probability") -> None:
    """Write `cause,effect,probability`, one row per ordered pair: reading gives back the names and the bits."""
    matrix = np.asarray(probabilities, dtype=np.float64)
    _check_square(matrix, names)
    rows = (
        (cause, effect, _cell(matrix[child, parent], f"{cause!r} -> {effect!r}"))
        for (parent, cause), (child, effect) in permutations(enumerate(names), 2)
    )
    _write(path, ("cause", "effect", column), rows)


def write_truth(path: Path | str, names: Sequence[str], parents: ArrayLike) -> None:
    """Write `cause,effect`, one row per edge; isolated variables leave no row."""
    matrix = np.asarray(parents, dtype=np.bool_)
    _check_square(matrix, names)
    pairs = permutations(enumerate(names), 2)
    rows = ((cause, effect) for (parent, cause), (child, effect) in pairs if matrix[child, parent])
    _write(path, ("cause", "effect"), rows)


def read_targets(path: Path | str) -> dict[str, tuple[str, ...]]:
    """The variables touched in each environment, from `environment,target`; an empty target: nothing touched."""
    targets: dict[str, tuple[str, ...]] = {}
    for row, (environment, target) in _read(path, ("environment", "target")):
        earlier = targets.get(environment)
        if earlier is not None and not (earlier and target):
            got = f"{environment!r} with an empty target and with others"
            raise _fault(path, row, "touched variables or nothing touched", got, "delete the wrong row")
        targets[environment] = (*(earlier or ()), target) if target else ()
    return targets


def write_targets(path: Path | str, targets: Mapping[str, Sequence[str]]) -> None:
    """Write `environment,target`, one row per touched variable, one with an empty target where there is none."""
    for names in (targets, *targets.values()):
        _index(names)
    rows = ((environment, name) for environment, touched in targets.items() for name in touched or ("",))
    _write(path, ("environment", "target"), rows)


def read_environments(path: Path | str) -> dict[str, dict[str, float]]:
    """How probably each environment touched each variable, from `environment,variable,probability`."""
    environments: dict[str, dict[str, float]] = {}
    for row, (environment, variable, cell) in _read(path, ("environment", "variable", "probability")):
        environments.setdefault(environment, {})[variable] = _probability(cell, path, row)
    return environments


def write_environments(path: Path | str, names: Sequence[str], environments: Mapping[str, ArrayLike]) -> None:
    """Write `environment,variable,probability`, one row per pair; each environment's array is [M]."""
    index = _index(names)
    _index(environments)
    rows = []
    for environment, given in environments.items():
        probabilities = np.asarray(given, dtype=np.float64)
        if probabilities.shape != (len(names),):
            raise ValueError(
                f"expected {len(names)} probabilities, one per variable, in environment {environment!r}, "
                f"got shape {probabilities.shape}; give them in the order of the names"
            )
        for name, i in index.items():
            rows.append((environment, name, _cell(probabilities[i], f"{name!r} in {environment!r}")))
    _write(path, ("environment", "variable", "probability"), rows)


def predicted_targets(
    environments: Mapping[str, Mapping[str, float]], threshold: float = 0.5
) -> dict[str, tuple[str, ...]]:
    """The variables that each environment touched with a probability above `threshold`."""
    return {
        environment: tuple(variable for variable, probability in beliefs.items() if probability > threshold)
        for environment, beliefs in environments.items()
    }


def _read(path: Path | str, columns: Sequence[str], **defaults: str) -> Iterator[tuple[int, list[str]]]:
    """Row number and cells of `columns`, then of the optional columns in `defaults`; the first two are the key."""
    table = _table(path)
    header = [cell.strip() for cell in table[0]]
    for column in (*columns, *defaults):
        if header.count(column) > 1 or (column not in header and column not in defaults):
            expected, got = f"one column {column!r}", f"the columns {', '.join(map(repr, header))}"
            raise _fault(path, 1, expected, got, "name the columns in the first row, separated by commas")
    absent = [column for column in defaults if column not in header]
    places = [(header + absent).index(column) for column in (*columns, *defaults)]
    filled = [defaults[column] for column in absent]
    seen: dict[tuple[str, ...], int] = {}
    for row, record in enumerate(table[1:], start=2):
        if not record:
            continue  # a blank line
        if len(record) != len(header):
            advice = "put names that hold commas or quotes in double quotes"
            raise _fault(path, row, f"{len(header)} cells", f"{len(record)}", advice)
        complete = record + filled
        cells = [complete[place] for place in places]
        for column, cell in zip(columns, cells, strict=False):
            if not cell and column != "target":  # an empty target says that nothing was touched
                raise _fault(path, row, f"a value for {column!r}", "an empty cell", "fill it in or delete the row")
        key = tuple(cells[:2])
        if key in seen:
            expected, got = f"each pair of {columns[0]} and {columns[1]} once", f"{key} again"
            raise _fault(path, row, expected, got, f"delete this row or row {seen[key]}")
        seen[key] = row
        yield row, cells


def _table(path: Path | str) -> list[list[str]]:
    """All records of a CSV file, the header first."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path}: expected a CSV file, got {error.strerror!r}; check the path") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected text in UTF-8, got {error}; save the file as UTF-8") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        table = list(reader)
    except csv.Error as error:
        raise _fault(path, reader.line_num, "CSV", f"{error}", "double the quotes inside quoted cells") from error
    if not table or not table[0]:
        raise _fault(path, 1, "a header", "an empty row or file", "name the columns in the first row")
    return table


def _write(path: Path | str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = (",".join(map(_quoted, row)) + "\n" for row in chain((header,), rows))
    write_atomically(Path(path), "".join(lines).encode())


def _quoted(cell: str) -> str:
    # By hand, since the csv module of Python 3.11 leaves a lone carriage return unquoted.
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell


def _cell(probability: float, what: str) -> str:
    if not 0 <= probability <= 1:
        raise ValueError(f"expected a probability from 0 to 1 for {what}, got {probability}; correct it first")
    return repr(float(probability))


def _probability(cell: str, path: Path | str, row: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if not 0 <= value <= 1:
        raise _fault(path, row, "a probability from 0 to 1", repr(cell), "write a number such as 0.85")
    return value


def _check_ends(cause: str, effect: str, path: Path | str, row: int) -> None:
    if cause == effect:
        raise _fault(path, row, "two different variables", f"{cause!r} twice", "delete the row")


def _check_square(matrix: NDArray[np.generic], names: Sequence[str]) -> None:
    _index(names)
    if matrix.shape != (len(names), len(names)):
        raise ValueError(
            f"expected a matrix [child, parent] over the {len(names)} names, got shape {matrix.shape}; "
            "give one row and one column per name"
        )


def _index(names: Iterable[str]) -> dict[str, int]:
    """Position of every name; all of them must differ and hold something."""
    index: dict[str, int] = {}
    for name in names:
        if not name or name in index:
            raise ValueError(f"expected different names, none of them empty, got {name!r}; rename it")
        index[name] = len(index)
    return index


def _nearest(name: str, known: Iterable[str]) -> str:
    matches = get_close_matches(name, known, n=1)
    if matches:
        return f"did you mean {matches[0]!r}?"
    return f"the known ones are {', '.join(map(repr, islice(known, 10)))}, up to ten of them"


def _fault(path: Path | str, row: int, expected: str, got: str, advice: str) -> ValueError:
    return ValueError(f"{path}, row {row}: expected {expected}, got {got}; {advice}")
