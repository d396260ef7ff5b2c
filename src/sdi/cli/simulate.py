"""`sdi simulate`: a simulated world as a folder of files."""

import io
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sdi.cli import show
from sdi.formats.edges import write_targets, write_truth
from sdi.formats.files import write_atomically
from sdi.worlds.dataset import Frozen, freeze
from sdi.worlds.named import named_world
from sdi.worlds.simulated import Interventions, Kind, SimulatedWorld


class Format(StrEnum):
    """How the rows are written."""

    CSV = "csv"
    PARQUET = "parquet"


def simulate(
    world: Annotated[
        str,
        typer.Argument(
            metavar="WORLD",
            help="A family (chain8, random25:60), arrows ('A->B->C, {A-D}->E'), a shipped network or a BIF file.",
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="The folder to write to; made if it does not exist.")],
    observational: Annotated[int, typer.Option(min=1, help="Rows of the system left alone.")] = 5000,
    environments: Annotated[int, typer.Option(min=0, help="Environments in which something was changed.")] = 16,
    rows: Annotated[int, typer.Option(min=1, help="Rows of each environment.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same files.")] = 0,
    categories: Annotated[int, typer.Option(min=2, help="Categories per variable (families and arrows).")] = 2,
    temperature: Annotated[float, typer.Option(help="Flattens tables (networks); the paper takes 2.")] = 1.0,
    intervention: Annotated[
        Kind | None,
        typer.Option(
            help="soft: a new mechanism; uniform: drawn uniformly; pinned: held at one value.", show_default="soft"
        ),
    ] = None,
    hard: Annotated[bool, typer.Option("--hard", help="Short for --intervention uniform.")] = False,
    at_once: Annotated[int, typer.Option(min=1, help="Variables changed together.")] = 1,
    untouched: Annotated[float, typer.Option(help="Share of environments in which nothing was changed.")] = 0.0,
    format: Annotated[Format, typer.Option(help="How the rows are written.")] = Format.CSV,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Write rows of a simulated world, its true edges and the true targets of its environments."""
    if hard and intervention == "soft":
        raise ValueError("--hard and --intervention soft exclude each other; give one of them")
    kind = intervention or ("uniform" if hard else "soft")
    paths = _free_paths(out, format, force)
    how = Interventions(kind=kind, at_once=at_once, untouched=untouched)
    mechanisms, sampling = np.random.default_rng(seed).spawn(2)
    with show.progress("sampling"):
        studied = named_world(world, rng=mechanisms, categories=categories, temperature=temperature, interventions=how)
        _make_folder(out)
        frozen = freeze(studied, observational=observational, environments=environments, rows=rows, rng=sampling)
    with show.progress("writing"):
        _write(paths, studied, frozen)
    summary = {
        "world": world,
        "seed": seed,
        "variables": len(studied.names),
        "edges": int(studied.graph.parents.sum()),
        "rows": observational + environments * rows,
        "files": {name: str(path) for name, path in paths.items()},
    }
    if as_json:
        show.as_json(summary)
        return
    show.line(f"{world}: {summary['variables']} variables, {summary['edges']} edges, {summary['rows']} rows")
    for path in paths.values():
        show.line(f"wrote {path}")


def _free_paths(out: Path, format: Format, force: bool) -> dict[str, Path]:
    """Where the files go; an error if one is there already."""
    paths = {"data": out / f"data.{format}", "truth": out / "truth.csv", "targets": out / "targets.csv"}
    for path in paths.values():
        if path.exists() and not force:
            raise ValueError(f"{path} exists already; choose another folder or add --force to overwrite it")
    return paths


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(f"cannot make the folder {path}: {error.strerror}; choose another --out") from error


def _write(paths: dict[str, Path], studied: SimulatedWorld, frozen: Frozen) -> None:
    frame = frozen.dataset.frame()
    if paths["data"].suffix == ".csv":
        content = frame.to_csv(index=False, lineterminator="\n").encode()
    else:
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        content = buffer.getvalue()
    write_atomically(paths["data"], content)
    write_truth(paths["truth"], studied.names, studied.graph.parents)
    touched = ([studied.names[i] for i in target] for target in frozen.targets)
    names = (environment.name for environment in frozen.dataset.environments)
    write_targets(paths["targets"], dict(zip(names, touched, strict=True)))
