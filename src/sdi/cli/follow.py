"""Runs from the command line: begun or gone on with, shown while they last, left resumable when interrupted."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from sdi.cli import show
from sdi.cli.interrupt import Signals, in_background, leave
from sdi.cli.options import edge_from
from sdi.formats.knowledge import KnownPairs, read_knowledge
from sdi.formats.run import check_free, how_to_go_on, read_settings
from sdi.method.settings import Settings
from sdi.sources import Source, study

if TYPE_CHECKING:  # it brings in JAX, for which an error in what was typed should not have to wait
    from sdi.runs import Run


def begin(
    out: Path,
    source: Source,
    settings: Settings,
    seed: int,
    *,
    require: Sequence[str] = (),
    forbid: Sequence[str] = (),
    knowledge: Path | None = None,
    bootstrap: int = 0,
    report: bool = True,
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
        in_file = KnownPairs() if knowledge is None else read_knowledge(knowledge, names)
        known = Knowledge(
            required=(*(edge_from(text, names) for text in require), *in_file.required),
            forbidden=(*(edge_from(text, names) for text in forbid), *in_file.forbidden),
        )
        plan = Plan(
            source=source,
            settings=settings,
            knowledge=known,
            seed=seed,
            command=command,
            bootstrap=bootstrap,
            report=report,
        )
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
    from sdi.cli.outcome import show_outcome
    from sdi.cli.watch import Watch

    with Signals() as signals:
        with opening as run:
            _say_where(run, folder)
            with Watch(run) as watch:
                for step in in_background(run.steps(), signals.came):
                    watch.show(run.keep(step))
                for refit in in_background(run.refits(), signals.came):
                    watch.show_refit(run.keep_refit(refit))
            interrupted = signals.came() and not (run.finished and run.refitted == run.plan.bootstrap)
            with show.progress("writing the results"):
                reason = "interrupted" if interrupted and not run.finished else None
                outcome = run.finish(reason) if run.state.iteration else None
        if outcome is not None and as_json:
            show.as_json({**outcome.graph, "metrics": outcome.metrics})
        elif outcome is not None:
            show_outcome(outcome, finite=bool(run.studied.world.environments), refits=run.refitted)
        if interrupted:
            show.remark(f"interrupted; go on with `{how_to_go_on(folder)}`")
            leave(128 + (signals.received or 0))


def _say_where(run: "Run", folder: Path) -> None:
    """Where a run goes on that is not new."""
    if not run.finished:
        if run.state.iteration:
            show.remark(f"going on after iteration {run.state.iteration}")
    elif run.refitted < run.plan.bootstrap:
        show.remark(f"going on after refit {run.refitted}")
    else:
        show.remark(f"the run in {folder} has finished already; its results are written again")
