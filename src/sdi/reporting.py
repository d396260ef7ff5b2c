"""What a run says of itself in its report: the title, the command, the warnings, and what to compare with."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdi import data
from sdi.collected import Table
from sdi.commands import command_for
from sdi.formats.run import read_history
from sdi.method.discover import Discovery
from sdi.plans import Plan, versions
from sdi.sources import Cells, Source, Studied

if TYPE_CHECKING:
    from sdi.report import Reference

CELLS = "Human T cells: 11 proteins in 9 conditions (Sachs et al. 2005)"


def warnings(found: Discovery, studied: Studied) -> tuple[str, ...]:
    """What to think of twice: in the method, then in the table."""
    of_table = (str(finding) for finding in studied.findings if finding.severity == "warning")
    return (*found.warnings, *of_table)


def write(
    folder: Path,
    plan: Plan,
    studied: Studied,
    found: Discovery,
    shares: NDArray[np.float64] | None = None,
    refits: int = 0,
) -> tuple[Path, ...]:
    """The page and the figures of a run in its folder; the paths of what was written."""
    from sdi import report  # here, because it brings in Matplotlib, for which only those who want a report should wait

    history = read_history(folder)
    content = report.content_from(
        found,
        studied.world,
        title=_title(plan.source),
        settings=asdict(plan.settings),
        seed=plan.seed,
        command=command_for(plan, folder),
        versions={"Python": python_version(), **versions()},
        method=found.method,
        history=history,
        warnings=warnings(found, studied),
        compared=_compared(found, history),
        bootstrap=None if shares is None else report.Bootstrap(shares, refits),
        chains=None if found.chains is None else report.Chains(*found.chains),
        reference=_reference() if isinstance(plan.source, Cells) else None,
    )
    return report.write_report(folder, content)


def _title(source: Source) -> str:
    if isinstance(source, Cells):
        return CELLS
    return Path(source.path).name if isinstance(source, Table) else source.name


def _compared(found: Discovery, history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each method the number of its edges, and the seconds it took, the verdict with the second."""
    by_tables = max((record["seconds"] for record in history if "r_hat" in record), default=0.0)
    seconds = {"tables": by_tables, "neural": (history[-1]["seconds"] if history else 0.0) - by_tables}
    return [{**each, "edges": len(each["edges"]), "seconds": seconds[each["method"]]} for each in found.compared]


def _reference() -> "Reference":
    from sdi.report import Reference

    return Reference(
        name="consensus network of 17 edges",
        edges=data.SACHS_CONSENSUS,
        targets=data.SACHS_TARGETS,
        note="The network that was agreed on when the data were published, and what each reagent is known to act on. "
        "Both are debated: reagents touch more than they are known for, and feedback is left out. An edge that is "
        "extra or reversed here need not be wrong, and one that agrees need not be right.",
    )
