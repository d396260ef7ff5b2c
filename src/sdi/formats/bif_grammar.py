"""The grammar of BIF: from a text to its statements, every error with its place."""

import re
from typing import NamedTuple

# No possessive repeat of what may fail half-way: Python 3.11.2 would go on from there. What follows always fits.
_TOKEN = re.compile(
    r"""(?: \s+ | //[^\n]* | /\*.*?\*/ )*         # blanks and comments, and then
    ( [{}()\[\],;|]                               # a mark,
    | "(?: [^"\\] | \\. )*+"                      # a string,
    | (?: [^\s{}()\[\],;|"/]++ | (?!/[/*])/ )++   # a word,
    | \Z                                          # the end,
    | (?P<open> " | /\* ) )                       # or a string or comment without an end
    """,
    re.DOTALL | re.VERBOSE,
)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Taken as it stands, for it may hold anything; on one line, because a forgotten ';' must not swallow the next block.
PROPERTY = re.compile(r'((?:[^";\r\n]|"(?:[^"\\\r\n]|\\[^\r\n])*+")*);')
# What stands bare in the files of the repository; all else is written in quotes.
_PLAIN = re.compile(r"(?:[\w.<>=+-]|/(?![/*]))+")
# Line ends are escaped, so that a change of them leaves names alone; any other backslash means itself.
_MEANINGS = {'\\"': '"', "\\\\": "\\", "\\n": "\n", "\\r": "\r"}
_ESCAPES = {meaning: escape for escape, meaning in _MEANINGS.items()}


class BifError(ValueError):
    """A text that is not a Bayesian network, and where: 'asia.bif:12:7: expected ...'."""


class Declaration(NamedTuple):
    """A `variable` block."""

    at: int
    states: tuple[str, ...]
    properties: tuple[str, ...]


class Entry(NamedTuple):
    """One statement of a `probability` block, its states with their places."""

    at: int
    kind: str  # "table", "default" or "("
    states: list[tuple[str, int]]
    values: list[float]


class Block(NamedTuple):
    """A `probability` block, its parents with their places."""

    at: int
    parents: dict[str, int]
    entries: list[Entry]
    properties: tuple[str, ...]


class Statements(NamedTuple):
    """A whole text; declarations and blocks are about the same variables."""

    name: str
    properties: tuple[str, ...]
    declarations: dict[str, Declaration]
    blocks: dict[str, Block]


def located(message: str, source: str, text: str, at: int) -> BifError:
    """An error at the character `at` of `text`, as line and column."""
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return BifError(f"{source}:{line}:{column}: {message}")


def quote(name: str) -> str:
    """A plain name as it is, any other in quotes."""
    if _PLAIN.fullmatch(name):
        return name
    return '"' + re.sub(r'["\\\n\r]', lambda match: _ESCAPES[match[0]], name) + '"'


def _unquote(token: str) -> str:
    if token[0] != '"':
        return token
    return re.sub(r"\\.", lambda match: _MEANINGS.get(match[0], match[0]), token[1:-1], flags=re.DOTALL)


class Reader:
    """A text, the token ahead in it ('' at the end), and the rules of the grammar, one method each."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self.token, self.at, self.end = "", 0, 0
        self._advance()

    def error(self, message: str, at: int) -> BifError:
        return located(message, self.source, self.text, at)

    def network(self) -> Statements:
        self._take("network", "at the start")
        name, _ = self._name("a network name")
        self._take("{", "after network name")
        properties = self._properties()
        self._take("}", "or 'property'")
        declarations: dict[str, Declaration] = {}
        blocks: dict[str, Block] = {}
        while self.token:
            if self.token == "variable":
                variable, declaration = self._variable()
                if variable in declarations:
                    raise self.error(f"variable {variable!r} is declared twice; rename or remove one", declaration.at)
                declarations[variable] = declaration
            elif self.token == "probability":
                variable, block = self._probability()
                if variable in blocks:
                    raise self.error(f"variable {variable!r} has two probability blocks; remove one", block.at)
                blocks[variable] = block
            else:
                raise self._expected("'variable' or 'probability'")
        self._check_pairs(declarations, blocks)
        return Statements(name, properties, declarations, blocks)

    def _check_pairs(self, declarations: dict[str, Declaration], blocks: dict[str, Block]) -> None:
        for name, block in blocks.items():
            for mentioned, at in [(name, block.at), *block.parents.items()]:
                if mentioned not in declarations:
                    raise self.error(f"variable {mentioned!r} is not declared; add a variable block for it", at)
        for name, declaration in declarations.items():
            if name not in blocks:
                raise self.error(f"variable {name!r} has no probability block; add one", declaration.at)

    def _variable(self) -> tuple[str, Declaration]:
        self._advance()
        name, at = self._name("a variable name")
        self._take("{", "after variable name")
        before = self._properties()
        self._take("type", "of the variable")
        states = self._states(name)
        after = self._properties()
        self._take("}", "or 'property'")
        return name, Declaration(at, states, before + after)

    def _states(self, name: str) -> tuple[str, ...]:
        self._take("discrete", "after 'type'")
        self._take("[", "after 'discrete'")
        if not re.fullmatch("[0-9]{1,9}", self.token):
            raise self._expected("the number of states")
        count, at = int(self.token), self.at
        self._advance()
        self._take("]", "after the number of states")
        self._take("{", "before the states")
        states = tuple(self._distinct("}", "state"))
        self._take(";", "after the states")
        if len(states) != count or not states:
            listed = f"{len(states)} ({', '.join(states)})"
            remedy = "correct the number, and quote states with spaces" if states else "a variable needs one or more"
            raise self.error(f"{name!r} announces {count} states and lists {listed}; {remedy}", at)
        return states

    def _probability(self) -> tuple[str, Block]:
        self._advance()
        self._take("(", "after 'probability'")
        name, at = self._name("a variable name")
        if self.token == "|":  # JavaBayes leaves it out
            self._advance()
        parents = self._distinct(")", "parent")
        self._take("{", "before the probabilities")
        properties = self._properties()
        entries: list[Entry] = []
        while self.token != "}":
            if self.token != "(" and any(entry.kind == self.token for entry in entries):
                raise self.error(f"{name!r} has a second {self.token!r}; remove one", self.at)
            entries.append(self._entry())
            properties += self._properties()
        self._advance()
        return name, Block(at, parents, entries, properties)

    def _entry(self) -> Entry:
        kind, at = self.token, self.at
        if kind not in ("(", "table", "default"):
            raise self._expected("'table', 'default', '(', 'property' or '}'")
        self._advance()
        states = self._names(")", "state") if kind == "(" else []
        return Entry(at, kind, states, self._numbers())

    def _numbers(self) -> list[float]:
        found = []
        while self.token != ";":
            if self.token != ",":
                if not _NUMBER.fullmatch(self.token) or float(self.token) < 0:
                    raise self._expected("a probability or ';'")
                found.append(float(self.token))
            self._advance()
        self._advance()
        return found

    def _properties(self) -> tuple[str, ...]:
        found = []
        while self.token == "property":
            match = PROPERTY.match(self.text, self.end)
            if match is None:
                raise self.error("this property has no ';' on its line, or a quote that is never closed", self.at)
            found.append(match[1].strip())
            self.end = match.end()
            self._advance()
        return tuple(found)

    def _distinct(self, close: str, what: str) -> dict[str, int]:
        """Names up to the mark `close`, none of them twice, and their places."""
        found: dict[str, int] = {}
        for name, at in self._names(close, what):
            if name in found:
                raise self.error(f"the {what} {name!r} is listed twice; rename or remove one", at)
            found[name] = at
        return found

    def _names(self, close: str, what: str) -> list[tuple[str, int]]:
        """Names up to the mark `close` and their places; JavaBayes leaves out the commas between them."""
        found = []
        while self.token != close:
            if self.token == ",":
                self._advance()
            else:
                found.append(self._name(f"a {what} or {close!r}"))
        self._advance()
        return found

    def _name(self, what: str) -> tuple[str, int]:
        """A word, or a string without its quotes, and its place."""
        token, at = self.token, self.at
        if not token or token in "{}()[],;|":
            raise self._expected(what)
        self._advance()
        return _unquote(token), at

    def _take(self, token: str, where: str) -> None:
        if self.token != token:
            raise self._expected(f"{token!r} {where}")
        self._advance()

    def _expected(self, what: str) -> BifError:
        shown = self.token if len(self.token) <= 40 else self.token[:40] + "..."
        return self.error(f"expected {what}, found {repr(shown) if shown else 'the end of the text'}", self.at)

    def _advance(self) -> None:
        match = _TOKEN.match(self.text, self.end)
        assert match is not None  # whatever comes, one of the five kinds fits
        self.token, self.at, self.end = match[1], match.start(1), match.end()
        if match["open"]:
            kind = "string" if self.token == '"' else "comment"
            raise self.error(f"this {kind} is never closed", self.at)
