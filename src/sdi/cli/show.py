"""What the commands print: results on stdout, progress and remarks on stderr."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

Value: TypeAlias = str | float | int | None

_out = Console(highlight=False, emoji=False, soft_wrap=True)
_err = Console(highlight=False, emoji=False, soft_wrap=True, stderr=True)


def progress(text: str) -> AbstractContextManager[object]:
    """A sign of life while something takes its time; nothing at all where stderr is not a terminal."""
    return _err.status(_plain(text))


def line(text: str) -> None:
    _out.print(_plain(text))


def remark(text: str) -> None:
    _err.print(_plain(text))


def as_json(value: object) -> None:
    typer.echo(json.dumps(_without_nan(value), indent=2))


def as_table(rows: Sequence[Mapping[str, Value]]) -> None:
    """One line for each of `rows`, numbers to the right; None and nan are shown as '-'."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, value in rows[0].items():
        table.add_column(_plain(name), justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*(_plain(_cell(value)) for value in row.values()))
    _out.print(table)


def _cell(value: Value) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    """Text of any origin such that the terminal shows it and obeys nothing in it."""
    return escape("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text))


def _without_nan(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
