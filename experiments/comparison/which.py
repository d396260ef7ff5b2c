"""docs/which_method.md: its figures, tables and every sentence with a number in it, filled in from the raw rows."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, median

from experiments.comparison.data import Simulated
from experiments.comparison.suites import SUITES, matches
from experiments.comparison.sweeps import OURS, SEEDS, SWEEPS, Place, ahead, places, regrets, trust, won
from experiments.comparison.tables import FAILED, SETTING, Case, Line, Row, by_case, markdown

ROOT = Path(__file__).resolve().parents[2]
PAIRS = {"parents": ("parents", "density"), "rows": ("observations", "rows")}  # the panels of each figure
TITLES = {
    "parents": "Hamming distance against the number of parents",
    "rows": "Hamming distance against the number of rows",
    "time": "Hamming distance against CPU seconds",
}
IN_TIME = (  # the panels of the third figure: known networks, and of two sweeps what is easy and what is hard
    *SUITES["networks"].sources,
    *(SUITES["parents"].sources[k] for k in (1, -1)),
    *(SUITES["observations"].sources[k] for k in (1, 3)),
)
TOLERATED = 1  # error more than the better of the two, in one run
SHOWN = 12  # of a list of exceptions; the rest is counted


def write(
    rows: Iterable[Row], page: Path = ROOT / "docs" / "which_method.md", figures: Path | None = None
) -> list[Path]:
    """Fill in the page and draw its figures; the paths of all that was written."""
    folder, cases = figures or ROOT / "experiments" / "results", by_case(rows)
    sweeps = {name: places(name, cases) for name in SWEEPS}
    text, written = page.read_text(), []
    contents = {name: "\n\n".join(section(each, sweeps[each]) for each in pair) for name, pair in PAIRS.items()}
    panels = in_time(cases)
    contents |= {"time": time_table(panels), "default": default_words(sweeps), "missing": missing_words(sweeps, panels)}
    for name, content in contents.items():
        figure = draw(name, folder / f"which_{name}.png", sweeps, panels)
        if figure:
            written.append(figure)
            content = f"![{TITLES[name]}]({os.path.relpath(figure, page.parent)})\n\n{content}"
        text = fill(text, name, content, page)
    page.write_text(text)
    return [page, *written]


def fill(text: str, name: str, content: str, page: Path) -> str:
    """`text` with `content` between the two marks of this name."""
    found = re.search(rf"<!-- {name} -->\n.*?<!-- end -->", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{page}: expected the marks <!-- {name} --> and <!-- end -->; put them where it belongs")
    return f"{text[: found.start()]}<!-- {name} -->\n{content}\n<!-- end -->{text[found.end() :]}"


def draw(
    name: str, path: Path, sweeps: Mapping[str, Sequence[Place]], panels: Mapping[str, Sequence[Line]]
) -> Path | None:
    """The figure of this name, where there is one and there are rows for it."""
    from experiments.comparison import figures, sweep_figures

    if name == "time" and panels:
        return figures.saved(sweep_figures.against_time(panels), path)
    having = [each for each in PAIRS.get(name, ()) if _has_rows(sweeps[each])]
    if having:
        return figures.saved(sweep_figures.along([(SWEEPS[each], sweeps[each]) for each in having]), path)
    return None


def _has_rows(sweep: Iterable[Place]) -> bool:
    return any(place.errors(method) for place in sweep for method in OURS)


def section(name: str, sweep: Sequence[Place]) -> str:
    """A sweep as a table with every seed, and in words who is ahead where."""
    parts = [f"**{SUITES[name].title}.** {SUITES[name].text}"]
    if not _has_rows(sweep):
        return "\n\n".join([*parts, f"No rows yet: `{command(name)}` makes them."])
    header = [SWEEPS[name].label]
    for method in OURS.values():
        header += [f"{method}: Hamming by seed (mean)", "CPU s"]
    header += ["seeds won, tables : networks", "trusted by the default"]
    parts.append(markdown(header, [_cells(place) for place in sweep if any(place.rows.values())]))
    found = ahead(sweep)
    words = [f"{verb} at {listed(xs)}" for verb, xs in zip(WINNERS, found.values(), strict=True) if xs]
    if words:
        parts.append(f"Mean over the seeds that both ended, by {SWEEPS[name].label}: {'; '.join(words)}.")
    return "\n\n".join(parts)


WINNERS = ("tables have fewer errors", "networks have fewer errors", "level")  # in the order of `ahead`


def command(name: str) -> str:
    return f"python -m experiments compare {name} --methods {','.join(OURS)} --seeds {SEEDS[0]}-{SEEDS[-1]}"


def listed(numbers: Iterable[float]) -> str:
    *first, last = [f"{x:,.0f}" if float(x).is_integer() else f"{x:g}" for x in numbers]
    return f"{', '.join(first)} and {last}" if first else last


def _cells(place: Place) -> list[str]:
    cells = [listed([place.x])]
    for method in OURS:
        rows = [row for _, row in sorted(place.rows[method].items())]
        marks = " ".join(row["hamming"] if row["status"] == "ok" else FAILED[row["status"]] for row in rows)
        errors = place.errors(method)
        cells += [f"{marks} ({mean(errors.values()):.1f})" if errors else marks, _seconds(place, method)]
    ours, theirs = won(place, "sdi_tables", "sdi_neural")
    both = place.errors("sdi_tables").keys() & place.errors("sdi_neural").keys()
    return [*cells, f"{ours} : {theirs} of {len(both)}" if both else "", str(trust(place))]


def _seconds(place: Place, method: str) -> str:
    found = [float(row["cpu_seconds"]) for row in place.good(method).values()]
    return f"{median(found):.1f}" if found else ""


def in_time(cases: Mapping[Case, Sequence[Line]]) -> dict[str, list[Line]]:
    """The lines of each panel of the third figure that has any."""
    panels: dict[str, list[Line]] = {}
    for source in IN_TIME:
        for case, lines in cases.items():
            if matches(source, dict(zip(SETTING, case, strict=True))):
                panels.setdefault(_panel_name(source), []).extend(line for line in lines if line.good)
    return {name: lines for name, lines in panels.items() if lines}


def _panel_name(source: object) -> str:
    assert isinstance(source, Simulated)
    return f"{source.world}, {source.observational:,} rows" if source.world.startswith("random") else source.world


def time_table(panels: Mapping[str, Sequence[Line]]) -> str:
    """For each case the least mean error of any method, the cheapest method that has it, and ours."""
    if not panels:
        return "No rows yet: `python -m experiments compare networks --methods all --seeds 1-5` makes them."
    rows = []
    for name, lines in panels.items():
        able = [line for line in lines if line.complete] or list(lines)
        best = min(able, key=lambda line: (_error(line), median(line.numbers("cpu_seconds"))))
        mine = {line.method: line for line in lines}
        ours = [_at(mine[method]) if method in mine else "" for method in OURS]
        rows.append([name, f"{best.method}, {best.rows[0]['told']}: {_at(best)}", *ours])
    return markdown(("case", "fewest errors, then fewest CPU s", *OURS.values()), rows)


def _error(line: Line) -> float:
    """Undirected edges half right, as on the page of the other methods."""
    return mean([*line.numbers("hamming"), *line.numbers("hamming_worst")])


def _at(line: Line) -> str:
    return f"{_error(line):.1f} in {median(line.numbers('cpu_seconds')):.2g} s (n = {len(line.good)})"


def default_words(sweeps: Mapping[str, Sequence[Place]]) -> str:
    """The default beside the better of the two, run by run; exceptions by name."""
    runs = {(each.place.name, each.seed): each for sweep in sweeps.values() for each in regrets(sweep)}
    if not runs:
        return "No rows yet on which all three ran."
    worse = [each for each in runs.values() if each.default > each.better + TOLERATED]
    counted = f"{len(runs) - len(worse)} of {len(runs)} runs on which all three ended"
    parts = [f"In {counted}, the default has at most {TOLERATED} error more than the better of the two."]
    if worse:
        worse.sort(key=lambda each: each.better - each.default)
        named = [f"{each.place.name} seed {each.seed}: {each.default:.0f} against {each.better:.0f}" for each in worse]
        parts.append("The others: " + _some(named))
    return "\n\n".join(parts)


def _some(named: Sequence[str]) -> str:
    more = f"; and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return "; ".join(named[:SHOWN]) + more + "."


def missing_words(sweeps: Mapping[str, Sequence[Place]], panels: Mapping[str, Sequence[Line]]) -> str:
    """What was not run, what failed, what ran out of time, and whether more than one version of ours is shown."""
    words = [found for name, sweep in sweeps.items() if (found := _not_run(name, sweep))]
    without = [name for name in map(_panel_name, IN_TIME) if name not in panels]
    words += [f"no rows for these panels of the last figure: {'; '.join(without)}."] if without else []
    labelled = {  # a case may belong to two sweeps
        f"{place.name} {OURS[method]} seed {seed}": row
        for sweep in sweeps.values()
        for place in sweep
        for method in OURS
        for seed, row in place.rows[method].items()
    }
    failed = [f"{label}: {row['status']}" for label, row in labelled.items() if row["status"] != "ok"]
    words += [f"failed: {_some(failed)}"] if failed else []
    stopped = [label for label, row in labelled.items() if row["note"].startswith("seconds")]
    words += [f"stopped by the limit on time and shown as they were then: {_some(stopped)}"] if stopped else []
    in_panels = [row for lines in panels.values() for line in lines if line.method in OURS for row in line.rows]
    versions = {(row["method"], row["version"]) for row in [*labelled.values(), *in_panels]}
    mixed = [name for method, name in OURS.items() if sum(each == method for each, _ in versions) > 1]
    words += [f"rows of more than one version of the library are shown of: {', '.join(mixed)}."] if mixed else []
    return "\n".join(f"- {each}" for each in words) or "Nothing is missing, and nothing failed."


def _not_run(name: str, sweep: Sequence[Place]) -> str | None:
    """Which cases of a sweep want seeds, and the command that runs them."""
    named = []
    for place in sweep:
        wanting = [OURS[method] for method in OURS if not set(SEEDS) <= place.rows[method].keys()]
        which = "" if len(wanting) == len(OURS) else f": {', '.join(wanting)}"
        named += [place.name + which] if wanting else []
    if not named:
        return None
    found = _some(named) if _has_rows(sweep) else "all of it."
    return f"`{command(name)}` has not run to its end; wanting: {found}"
