"""Settings and edges out of what was typed."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import typer

from sdi.cli import show
from sdi.commands import as_typed
from sdi.method.settings import PRESETS, Settings, describe

_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def settings_from(preset: str, texts: Sequence[str], **shortcuts: object) -> Settings:
    """The settings of `preset`, changed by each ``name=value`` of `texts` and each shortcut that is not None."""
    if preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}; choose from {', '.join(PRESETS)}")
    changes = {name: value for name, value in shortcuts.items() if value is not None}
    for text in texts:
        name, value = _parse(text)
        if name in changes:
            raise ValueError(f"the setting {name} is given twice; give it once")
        changes[name] = value
    make: Callable[..., Settings] = PRESETS[preset]  # type: ignore[assignment]
    return make(**changes)


def list_settings(wanted: bool) -> None:
    """Print every setting with its default, where a preset differs, and what it means; then leave."""
    if not wanted:
        return
    usual, presets = Settings(), {preset: settings_from(preset, ()) for preset in PRESETS}
    for each in fields(Settings):
        value = getattr(usual, each.name)
        others = {preset: getattr(made, each.name) for preset, made in presets.items()}
        differing = "".join(f"; {preset}: {as_typed(other)}" for preset, other in others.items() if other != value)
        show.line(f"{each.name}={as_typed(value)}{differing}")
        show.line(f"    {describe(each)}")
    raise typer.Exit


def _parse(text: str) -> tuple[str, Any]:
    types = {each.name: each.type for each in fields(Settings)}
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals:
        raise ValueError(f"--set: expected name=value such as sparsity=0.2, got {text!r}")
    if name not in types:
        near = get_close_matches(name, types, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"unknown setting {name!r}; {hint}choose from {', '.join(types)}")
    try:
        return name, _convert(value.strip(), types[name])
    except ValueError as error:
        raise ValueError(f"--set {name}: expected {error}, got {value!r}") from error


def _convert(text: str, type_: Any) -> Any:
    """`text` as a value of `type_`; else a ValueError that says what was expected."""
    origin, inner = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        if NoneType in inner and text.lower() == "none":
            return None
        (only,) = (each for each in inner if each is not NoneType)
        return _convert_or_none(text, only)
    if origin is Literal:
        if text not in inner:
            raise ValueError(f"one of {', '.join(inner)}")
        return text
    if origin is tuple:
        return _convert_tuple(text, inner)
    if type_ is bool:
        if text.lower() not in _BOOLEANS:
            raise ValueError("true or false")
        return _BOOLEANS[text.lower()]
    try:
        return type_(text)
    except ValueError:
        raise ValueError({int: "a whole number", float: "a number"}[type_]) from None


def _convert_or_none(text: str, type_: Any) -> Any:
    try:
        return _convert(text, type_)
    except ValueError as error:
        raise ValueError(f"{error} or none") from None


def _convert_tuple(text: str, inner: tuple[Any, ...]) -> tuple[Any, ...]:
    parts = text.split(",")
    types = inner[:1] * len(parts) if inner[-1] is Ellipsis else inner
    if len(parts) != len(types):
        raise ValueError(f"{len(types)} values separated by commas")
    return tuple(_convert(part.strip(), type_) for part, type_ in zip(parts, types, strict=True))


def edge_from(text: str, names: Sequence[str]) -> tuple[str, str]:
    """(cause, effect) from ``cause->effect``; a name may hold an arrow itself."""
    pieces = text.split("->")
    splits = [("->".join(pieces[:k]).strip(), "->".join(pieces[k:]).strip()) for k in range(1, len(pieces))]
    known = [pair for pair in splits if pair[0] in names and pair[1] in names]
    if len(known) == 1 or len(splits) == 1:
        return (known or splits)[0]
    raise ValueError(f"expected one edge such as 'A->B' between two variables, got {text!r}; give each edge on its own")
