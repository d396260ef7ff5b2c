"""Commands: the line to type that makes a run again."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from sdi.collected import Table
from sdi.formats.knowledge import KnownPairs, read_knowledge
from sdi.method.beliefs import Pair
from sdi.method.settings import PRESETS, Settings
from sdi.plans import Plan
from sdi.sources import Cells, Simulated

_SHORT = ("method", "iterations", "seconds")  # settings with an option of their own


def command_for(plan: Plan, folder: Path) -> str:
    """`sdi discover ...`, or the other command that made the plan, with every option that is not its default."""
    words = ["sdi", plan.command]
    if plan.command == "discover":
        words += [*_source(plan.source), *_settings(plan.settings), *_knowledge(plan)]
    elif isinstance(plan.source, Simulated):
        words.append("--simulated")
    words += ["--bootstrap", str(plan.bootstrap)] if plan.bootstrap else []
    words += [] if plan.report else ["--no-report"]
    return shlex.join([*words, "--seed", str(plan.seed), "--out", str(folder)])


def as_typed(value: object) -> str:
    """The value of a setting as it would be typed."""
    if isinstance(value, tuple):
        return ",".join(map(as_typed, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _source(source: Simulated | Table | Cells) -> Iterator[str]:
    """The world and what was said about it."""
    yield source.path if isinstance(source, Table) else getattr(source, "name", "")
    for each in fields(source):
        value = getattr(source, each.name)
        if each.name in ("path", "name") or value == each.default:
            continue
        option = "--" + each.name.replace("_", "-")
        if each.name == "observational":
            yield from (option, ",".join(value))
        elif isinstance(value, tuple):
            yield from (word for item in value for word in (option, item))
        else:
            yield from (option,) if value is True else (option, str(value))


def _settings(settings: Settings) -> Iterator[str]:
    """What differs from the preset that is nearest."""

    def changes(preset: str) -> dict[str, Any]:
        make: Callable[[], Settings] = PRESETS[preset]  # type: ignore[assignment]
        usual = make()
        given = {each.name: getattr(settings, each.name) for each in fields(settings)}
        return {name: value for name, value in given.items() if value != getattr(usual, name)}

    preset = min(PRESETS, key=lambda name: len(changes(name)))
    if preset != "default":
        yield from ("--preset", preset)
    for name, value in changes(preset).items():
        plain = name in _SHORT and value is not None
        yield from (f"--{name}", as_typed(value)) if plain else ("--set", f"{name}={as_typed(value)}")


def _knowledge(plan: Plan) -> Iterator[str]:
    """The edges that were typed; those in a file come with it."""
    path, in_file = getattr(plan.source, "knowledge", None), KnownPairs()
    if path is not None:
        with suppress(ValueError):  # gone since the run began; its edges are told one by one
            in_file = read_knowledge(path)

    def typed(pairs: Any, known: tuple[Pair, ...]) -> list[str]:
        return [f"{cause}->{effect}" for cause, effect in pairs if (cause, effect) not in known]

    for option, pairs, known in (
        ("--require", plan.knowledge.required, in_file.required),
        ("--forbid", plan.knowledge.forbidden, in_file.forbidden),
    ):
        yield from (word for text in typed(pairs, known) for word in (option, text))
