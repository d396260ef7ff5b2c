"""Findings: what is wrong or remarkable in a table, and what to do about it, in the same words everywhere."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sdi.worlds.bins import Rule, as_text
from sdi.worlds.columns import FEW, Column

Severity = Literal["error", "warning", "note"]  # no dataset with it; think twice; what is done, for the record
Missing = Literal["refuse", "drop", "category"]

FEWEST_ROWS = 10  # an environment with fewer rows says too little about what was changed
SMALL = 50  # rows of an environment below which little can be certain
MANY = 50  # categories above which tables become large and thin
MOST = 1000  # categories that no table of counts can carry
NEARLY_ALL = 0.9  # share of rows with a value of their own that makes an identifier
SHOWN = 5  # findings of one kind that are told apart


@dataclass(frozen=True)
class Finding:
    """What was found, how grave it is, and the remedy (or, of a note, what is done about it)."""

    severity: Severity
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"


# --------------------------------------------------------------------------------------------------- columns


def of_columns(columns: Sequence[Column], rows: int, missing: Missing) -> Iterator[Finding]:
    """What there is to say about columns of `rows` rows, missing values apart."""
    for column in columns:
        yield from _of_column(column, rows, missing)
    uncut = [column.name for column in columns if column.fractions and not column.states and not column.no_logarithm]
    if uncut:  # usually of all measurements alike, so they are told at once
        listed = ", ".join(map(repr, uncut[:SHOWN])) + (", ..." if len(uncut) > SHOWN else "")
        what = (
            f"column {listed} holds fractions" if len(uncut) == 1 else f"{len(uncut)} columns hold fractions ({listed})"
        )
        yield Finding("error", what, f"cut {'it' if len(uncut) == 1 else 'them'} into categories first, with bins")


def _of_column(column: Column, rows: int, missing: Missing) -> Iterator[Finding]:
    what = f"column {column.name!r}"
    if column.different == 0:
        if missing != "refuse":
            yield Finding("error", f"{what} holds nothing but missing values", "drop it")
    elif column.different == 1 and not (column.missing and missing == "category"):
        yield Finding("error", f"{what} holds one value only ({column.example})", "drop it")
    elif column.kind == "mixed types":
        yield Finding("error", f"{what} mixes types: {column.odd_text}", "make all its values of one type")
    elif column.kind == "numbers":
        yield from _of_numbers(column, what, rows)
    else:
        if column.rule is not None and not column.in_text:
            remedy = "leave it out of bins"
            yield Finding("error", f"{what} holds {column.kind}, which cannot be cut into bins", remedy)
        yield from _of_categories(column, what, rows)


def of_missing(counts: Mapping[str, int], unlabelled: int, rows: int, left: int, missing: Missing) -> Iterator[Finding]:
    """What so many missing values in each column mean, and `unlabelled` environments; `left` of `rows` rows stay."""
    if not left:
        yield Finding("error", "every row has a missing value", "drop the columns that miss most")
    if unlabelled and missing != "drop":
        yield Finding("error", f"the environment is missing in {unlabelled} rows", "fill them in or drop the rows")
    elif unlabelled:
        yield Finding("note", f"the environment is missing in {unlabelled} rows", "they are dropped")
    for name, count in counts.items():
        what = f"column {name!r} holds {count} missing value{'' if count == 1 else 's'}"
        if count and missing == "refuse":
            yield Finding("error", what, "drop or fill them first, or set missing to drop or category")
        elif count and missing == "drop":
            yield Finding("warning" if count > rows / 2 else "note", what, "their rows are dropped")
        elif count:
            yield Finding("note", what, "they are a category of their own")


def _of_numbers(column: Column, what: str, rows: int) -> Iterator[Finding]:
    if column.infinite:
        yield Finding("error", f"{what} holds {column.infinite} infinities", "replace them or drop their rows")
    elif column.no_logarithm:
        count = column.no_logarithm
        yield Finding("error", f"{what} holds {count} values of zero or less", "cut it without log, or by quantiles")
    elif column.edges is not None and column.rule is not None:
        yield _of_cut(column, column.rule, column.edges)
    elif column.states:
        if column.rule is not None:
            done = f"they stay categories, since {column.rule.count} bins would hold no fewer"
            yield Finding("note", f"{what} holds {column.different} different numbers", done)
        yield from _of_categories(column, what, rows)


def _of_cut(column: Column, rule: Rule, edges: Sequence[float]) -> Finding:
    what = f"column {column.name!r}"
    scale = " of the logarithm" if rule.log and rule.how == "uniform" else ""
    done = f"cut into {len(edges) + 1} {rule.how} bins{scale} at {', '.join(map(as_text, edges))}"
    if len(edges) + 1 == rule.count:
        return Finding("note", f"{what} holds {column.different} different numbers", done)
    too_many = "repeats some numbers so often" if rule.how == "quantile" else "leaves so wide gaps between its numbers"
    return Finding("warning", f"{what} {too_many} that {rule.count} bins are too many", done)


def _of_categories(column: Column, what: str, rows: int) -> Iterator[Finding]:
    number = column.different
    if column.in_text * 2 >= number and column.odd_text:
        found = f"{what} mixes numbers and text: {column.in_text} different numbers, and {column.odd_text}"
        yield Finding("error", found, "correct such cells, or leave them empty, which is a missing value")
    elif column.in_text == number > FEW:
        remedy = "save them as numbers, with a decimal point"
        yield Finding("error", f"{what} holds numbers as text, such as {column.example}", remedy)
    elif number == rows > 2:
        remedy = f"it looks like an identifier: drop it{_or_cut(column)}"
        yield Finding("error", f"{what} has a different value in every row", remedy)
    elif number > FEW and number >= NEARLY_ALL * rows:
        remedy = f"it looks like an identifier: drop it{_or_cut(column)}"
        yield Finding("error", f"{what} has {number} different values in {rows} rows", remedy)
    elif number > MOST:
        remedy = f"drop it or merge rare ones{_or_cut(column)}"
        yield Finding("error", f"{what} has {number} categories, and {MOST} are the most", remedy)
    elif number > MANY:
        remedy = f"merge rare ones{_or_cut(column)}, or expect little certainty about its edges"
        yield Finding("warning", f"{what} has {number} categories", remedy)


def _or_cut(column: Column) -> str:
    return ", or cut it with bins" if column.kind == "numbers" else ""


# ---------------------------------------------------------------------------------------------- environments


def of_environments(
    counts: Mapping[str, int],
    left_alone: Sequence[str],
    targets: Mapping[str, Sequence[str] | None],
    names: Sequence[str],
) -> Iterator[Finding]:
    """What there is to say about environments of so many rows, those left alone, and what is known of the others."""
    for name in left_alone:
        if name not in counts:
            unknown = unknown_name("observational environment", name, list(counts))
            yield Finding("error", unknown, "say which environments were left alone")
    if not left_alone:
        remedy = f"name at least one environment that was left alone, of {', '.join(counts)}"
        yield Finding("error", "no observational rows", remedy)
    yield from _of_sizes(counts)
    for environment, target in targets.items():
        if environment not in counts:
            yield Finding("error", unknown_name("environment", environment, list(counts)), "correct it in the targets")
        if environment in left_alone and target:
            what = f"environment {environment!r} was left alone and has the target {', '.join(target)}"
            yield Finding("error", what, "it can be one of the two only")
        for variable in target or ():
            if variable not in names:
                what = unknown_name(f"target of {environment!r}: variable", variable, names)
                yield Finding("error", what, "correct it in the targets")


def _of_sizes(counts: Mapping[str, int]) -> Iterator[Finding]:
    tiny = {name: count for name, count in counts.items() if count < FEWEST_ROWS}
    for name, count in list(tiny.items())[:SHOWN]:
        what = f"environment {name!r} has too few rows: {count}, at least {FEWEST_ROWS} are needed"
        yield Finding("error", what, "merge or drop it")
    if len(tiny) > SHOWN:
        what = f"{len(tiny) - SHOWN} more environments have too few rows"
        yield Finding("error", what, "is this the column that names the environment?")
    small = {name: count for name, count in counts.items() if FEWEST_ROWS <= count < SMALL}
    for name, count in list(small.items())[:SHOWN]:
        yield Finding("warning", f"environment {name!r} has {count} rows", "expect little certainty from so few")
    if len(small) > SHOWN:
        what = f"{len(small) - SHOWN} more environments have fewer than {SMALL} rows"
        yield Finding("warning", what, "expect little certainty from so few")


def unknown_name(what: str, name: str, choices: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, choices, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    listed = ", ".join(choices[:20]) + (", ..." if len(choices) > 20 else "")
    return f"unknown {what} {name!r}; {hint}found: {listed}"
