"""Knowledge: what is known about a graph beforehand, from a text file of one statement a line.

::

    # what the textbook says
    required PKC -> Raf
    forbidden Akt -> PKC
    tier 1: PKC, PKA
    tier 2: Raf, Mek

A variable of a later tier cannot cause one of an earlier tier; those in no tier are free. A name that holds an arrow, a
comma, a quote or a space at its ends is put in double quotes, and its own quotes are doubled.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

Pair = tuple[str, str]  # (cause, effect)

_NAME = r'"(?:[^"]|"")*"|(?:(?!->)[^",])+'
_EDGE = re.compile(rf"(required|forbidden)\s+({_NAME})\s*->\s*({_NAME})")
_TIER = re.compile(rf"tier\s+(\d+)\s*:\s*((?:{_NAME})\s*(?:,\s*(?:{_NAME})\s*)*)")


class KnownPairs(NamedTuple):
    """Edges that are there, and edges that are not, tiers included."""

    required: tuple[Pair, ...] = ()
    forbidden: tuple[Pair, ...] = ()


def read_knowledge(path: Path | str, names: Sequence[str] | None = None) -> KnownPairs:
    """The pairs that the file requires and forbids; with `names` a name that is not among these is an error."""
    stated: dict[str, dict[Pair, int]] = {"required": {}, "forbidden": {}}
    tiers: dict[str, tuple[int, int]] = {}  # of a variable: its tier, and the line that says so
    for k, line in enumerate(_lines(path), start=1):
        if not line or line.startswith("#"):
            continue
        if edge := _EDGE.fullmatch(line):
            pair = _name(edge[2]), _name(edge[3])
            _check(path, k, pair, names)
            if pair[0] == pair[1]:
                raise _fault(path, k, "two different variables", f"{pair[0]!r} twice", "drop the line")
            stated[edge[1]].setdefault(pair, k)
        elif tier := _TIER.fullmatch(line):
            members = [_name(text) for text in re.findall(rf"\s*({_NAME})\s*(?:,|$)", tier[2])]
            _check(path, k, members, names)
            for name in members:
                if name in tiers and tiers[name][0] != int(tier[1]):
                    raise _fault(
                        path, k, "one tier for each variable", f"a second for {name!r}", f"see line {tiers[name][1]}"
                    )
                tiers[name] = int(tier[1]), k
        else:
            expected = "'required A -> B', 'forbidden A -> B' or 'tier 1: A, B'"
            raise _fault(path, k, expected, repr(line), "put names that hold '->', ',' or '\"' in double quotes")
    return _pairs(path, stated["required"], stated["forbidden"], tiers)


def _pairs(
    path: Path | str, required: dict[Pair, int], forbidden: dict[Pair, int], tiers: dict[str, tuple[int, int]]
) -> KnownPairs:
    later = {
        (cause, effect): line
        for cause, (own, line) in tiers.items()
        for effect, (other, _) in tiers.items()
        if own > other
    }
    ruled_out = {**later, **forbidden}
    for (cause, effect), line in required.items():
        if (cause, effect) in ruled_out:
            got = f"{cause} -> {effect}, which line {ruled_out[cause, effect]} rules out"
            raise _fault(path, line, "an edge that can be there", got, "drop one of the two lines")
    return KnownPairs(tuple(required), tuple(ruled_out))


def _lines(path: Path | str) -> list[str]:
    try:
        return [line.strip() for line in Path(path).read_bytes().decode("utf-8-sig").split("\n")]
    except OSError as error:
        raise ValueError(f"{path}: expected a text file, got {error.strerror!r}; check the path") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected text in UTF-8, got {error.reason}; save the file as UTF-8") from error


def _name(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace('""', '"') if text.startswith('"') else text


def _check(path: Path | str, line: int, found: Iterable[str], names: Sequence[str] | None) -> None:
    for name in found:
        if not name:
            raise _fault(path, line, "the name of a variable", "nothing", "write it down")
        if names is not None and name not in names:
            near = get_close_matches(name, names, n=1)
            listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            advice = f"did you mean {near[0]!r}?" if near else f"the known ones are {listed}"
            raise _fault(path, line, "a known variable", repr(name), advice)


def _fault(path: Path | str, line: int, expected: str, got: str, advice: str) -> ValueError:
    return ValueError(f"{path}, line {line}: expected {expected}, got {got}; {advice}")
