"""Plans: all that makes a run, and the same as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from sdi.method.beliefs import Knowledge
from sdi.method.settings import Settings
from sdi.sources import Source, Studied, absolute, from_dict, study, to_dict

PACKAGES = ("sdi", "jax", "numpy", "scipy")  # that decide the bits of a result


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that makes a run: with the same plan it comes out the same, bit for bit."""

    source: Source
    settings: Settings = Settings()
    knowledge: Knowledge = Knowledge()
    seed: int = 0
    command: str = "discover"  # that made it
    bootstrap: int = 0  # refits on resampled rows
    report: bool = True  # whether a page and figures are made

    def study(self) -> Studied:
        return study(self.source, temperature=self.settings.temperature, seed=self.seed)


def versions() -> dict[str, str]:
    return {name: version(name) for name in PACKAGES}


def as_dict(plan: Plan, studied: Studied) -> dict[str, Any]:
    """`plan` as JSON, with the versions and the files that it was begun with."""
    only = plan.knowledge.only
    return {
        "command": plan.command,
        "versions": versions(),
        "world": to_dict(plan.source),
        "files": {absolute(path): digest for path, digest in studied.files.items()},
        "seed": plan.seed,
        "settings": asdict(plan.settings),
        "knowledge": {
            "required": [list(pair) for pair in plan.knowledge.required],
            "forbidden": [list(pair) for pair in plan.knowledge.forbidden],
            "only": None if only is None else [list(pair) for pair in only],
        },
        "bootstrap": plan.bootstrap,
        "report": plan.report,
    }


def plan_from_dict(made_of: Mapping[str, Any]) -> Plan:
    """The plan that `as_dict` described."""
    try:
        settings: dict[str, Any] = {name: _tuples(value) for name, value in made_of["settings"].items()}
        knowledge: dict[str, Any] = {name: _tuples(pairs) for name, pairs in made_of["knowledge"].items()}
        return Plan(
            source=from_dict(made_of["world"]),
            settings=Settings(**settings),
            knowledge=Knowledge(**knowledge),
            seed=int(made_of["seed"]),
            command=str(made_of["command"]),
            bootstrap=int(made_of["bootstrap"]),
            report=bool(made_of["report"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"expected the settings of a run by sdi {version('sdi')}, got others ({error}); "
            "go on with the version that began it, or start over"
        ) from error


def other_versions(made_of: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The packages whose version is not the one that the run began with: (then, now)."""
    before = dict.fromkeys(PACKAGES, "unknown") | dict(made_of.get("versions", {}))
    return {name: (before[name], version(name)) for name in PACKAGES if before[name] != version(name)}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
