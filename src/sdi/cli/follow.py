"""Runs from the command line: begun or gone on with, shown while they last, left resumable when interrupted."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from sdi.cli import show
from sdi.cli.interrupt import Signals, in_background, leave
from sdi.cli.options import edge_from
from sdi.formats.run import check_free, how_to_go_on, read_settings
from sdi.method.settings import Settings
from sdi.sources import Simulated, Table, study

if TYPE_CHECKING:  # it brings in JAX, for which an error in what was typed should not have to wait
    from sdi.runs import Run


def begin(
    out: Path,
    source: Simulated | Table,
    settings: Settings,
    seed: int,
    *,
    require: Sequence[str] = (),
    forbid: Sequence[str] = (),
    force: bool = False,
    as_json: bool = False,
    command: str = "discover",
) -> None:
    """A new run in `out`, to its end."""
    check_free(out, force=force)
    with show.progress("starting"):
        studied = study(source, temperature=settings.temperature, seed=seed)
        from sdi.method.beliefs import Knowledge
        from sdi.plans import Plan
        from sdi.runs import started

        names = studied.world.names
        knowledge = Knowledge(
            required=tuple(edge_from(text, names) for text in require),
            forbidden=tuple(edge_from(text, names) for text in forbid),
        )
        plan = Plan(source=source, settings=settings, knowledge=knowledge, seed=seed, command=command)
    _follow(started(out, plan, studied, force=force), out, as_json)


def go_on(folder: Path, *, as_json: bool = False) -> None:
    """The run in `folder`, from its last checkpoint to its end."""
    made_of = read_settings(folder)
    with show.progress("starting"):
        from sdi.plans import other_versions
        from sdi.runs import resumed

        for name, (then, now) in other_versions(made_of).items():
            show.remark(f"note: this run began with {name} {then} and goes on with {now}: its bits may differ")
    _follow(resumed(folder), folder, as_json)


def _follow(opening: "AbstractContextManager[Run]", folder: Path, as_json: bool) -> None:
    from sdi.cli.watch import Watch, show_outcome

    with Signals() as signals:
        with opening as run:
            if run.finished:
                show.remark(f"the run in {folder} has finished already; its results are written again")
            elif run.state.iteration:
                show.remark(f"going on after iteration {run.state.iteration}")
            with Watch(run) as watch:
                for step in in_background(run.steps(), signals.came):
                    watch.show(run.keep(step))
            interrupted = signals.came() and not run.finished
            outcome = run.finish("interrupted" if interrupted else None) if run.state.iteration else None
        if outcome is not None and as_json:
            show.as_json({**outcome.graph, "metrics": outcome.metrics})
        elif outcome is not None:
            show_outcome(outcome, finite=bool(run.studied.world.environments))
        if interrupted:
            show.remark(f"interrupted; go on with `{how_to_go_on(folder)}`")
            leave(128 + (signals.received or 0))
