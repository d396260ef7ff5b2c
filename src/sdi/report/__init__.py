"""Reports: what a run found as one page that explains itself, and as figures."""

from pathlib import Path

from sdi.formats.files import write_atomically
from sdi.report.content import Bootstrap, Chains, Condition, Content, Reference, agreement, content_from
from sdi.report.figures import beliefs_png, graph_png, graph_svg, training_png
from sdi.report.page import page

__all__ = [
    "FILES",
    "Bootstrap",
    "Chains",
    "Condition",
    "Content",
    "Reference",
    "agreement",
    "content_from",
    "write_report",
]

FILES = ("report.html", "graph.png", "graph.svg", "beliefs.png", "training.png")


def write_report(folder: Path, content: Content) -> tuple[Path, ...]:
    """Write the page and the figures into `folder`; the paths that were written.

    All of them are made before the first is written, so that an error leaves the folder as it was. There is no
    training.png where there is no history to draw; one of an earlier report is removed.
    """
    made = (
        page(content).encode("utf-8"),
        graph_png(content),
        graph_svg(content),
        beliefs_png(content),
        training_png(content),
    )
    paths = [(folder / name, data) for name, data in zip(FILES, made, strict=True)]
    for path, data in paths:
        if data is None:
            path.unlink(missing_ok=True)
        else:
            write_atomically(path, data)
    return tuple(path for path, data in paths if data is not None)
