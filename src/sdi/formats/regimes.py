"""Regimes and interventions: a line for each row of a table, as DCDI keeps them beside its data.

The one file holds the number of the regime that a row was taken in. The other holds the variables that were touched,
counted from 0 and separated by commas; an empty line says that nothing was touched. Neither has a header.
"""

import re
from pathlib import Path


def read_regimes(path: Path | str) -> list[str]:
    """The regime of every row."""
    lines = _lines(path)
    for k, line in enumerate(lines, start=1):
        if not re.fullmatch(r"\d+(\.0*)?", line):
            raise ValueError(f"{path}, line {k}: expected the number of a regime, got {line!r}; one for each row")
    return [line.partition(".")[0] for line in lines]


def read_interventions(path: Path | str) -> list[str]:
    """What was touched in every row, as it is written: numbers with commas, or nothing."""
    lines = _lines(path)
    for k, line in enumerate(lines, start=1):
        if line and not re.fullmatch(r"\d+(\s*,\s*\d+)*", line):
            raise ValueError(
                f"{path}, line {k}: expected numbers of variables, counted from 0 and separated by commas, or nothing; "
                f"got {line!r}"
            )
    return lines


def _lines(path: Path | str) -> list[str]:
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path}: expected a file, got {error.strerror!r}; check the path") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected text in UTF-8, got {error.reason}; save the file as UTF-8") from error
    lines = text.replace("\r\n", "\n").split("\n")  # an empty line is a row: nothing was touched in it
    return [line.strip() for line in (lines if lines[-1] else lines[:-1])]
