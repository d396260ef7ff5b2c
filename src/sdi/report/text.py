"""Names as they are shown: any text becomes one visible line, cut where there is no room."""

import unicodedata

# Directions that a name could impose on the text around it, and line breaks that only some programs know.
_STEERING = frozenset("\u2028\u2029\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def shown(name: str) -> str:
    """`name` with everything that is not to be seen written out (\\n, \\x1b, \\u202e): safe in XML and on one line."""
    return "".join(ascii(c)[1:-1] if _hidden(c) else c for c in name)


def _hidden(character: str) -> bool:
    unseen = unicodedata.category(character) in ("Cc", "Cs", "Cn", "Co")
    return unseen or character in _STEERING


def units(text: str) -> int:
    """How wide `text` is, in Latin letters."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, most: int) -> str:
    """`text` in at most `most` letters' width, with an ellipsis where something is missing."""
    if units(text) <= most:
        return text
    kept, room = "", most - 1
    for character in text:
        room -= units(character)
        if room < 0:
            break
        kept += character
    return kept.rstrip() + "…"
