"""Raw rows of a benchmark: kept as those of experiments are, which a script of this folder does not find by itself."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent))

from experiments.comparison.raw import append, read, seeds_of
from experiments.comparison.versions import code_version

__all__ = ["add_anew", "append", "by_version", "code_version", "is_done", "read", "seeds_of"]


def add_anew(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--anew", action="store_true", help="also run again what another version of the code has run")


def is_done(path: Path, row: dict[str, Any], version: str | None) -> bool:
    """Whether there is a row with these values, by any version of the code or by this one."""
    wanted = {name: str(value) for name, value in row.items()} | ({} if version is None else {"version": version})
    return any(all(each[name] == value for name, value in wanted.items()) for each in read(path))


def by_version(rows: Iterable[dict[str, str]], today: str) -> str:
    """A line on which code these rows are of."""
    many = Counter(row["version"] for row in rows)
    named = [f"{version}{' (this one)' if version == today else ''}: {count}" for version, count in many.most_common()]
    return f"Rows shown, by the version of the code that made them: {'; '.join(named)}. This one is {today}."
