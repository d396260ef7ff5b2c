"""docs/comparison.md, written from the raw rows: tables with every seed, figures, and who is best where."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from experiments.comparison.registry import METHODS, about
from experiments.comparison.suites import SUITES, Suite, matches
from experiments.comparison.tables import (
    HEADER,
    SETTING,
    Case,
    Line,
    Row,
    by_case,
    cells,
    described,
    markdown,
)

ROOT = Path(__file__).resolve().parents[2]
INTRODUCTION = """# Other methods, side by side

This page is written by `python -m experiments page` from `experiments/results/compare.csv`, which holds a row for
every run, failures included. `python -m experiments compare WORLD --methods all --seeds 1-5` adds rows.

How to read it

- Every method gets the same rows. *Told* says what else: nothing but the observational rows, all environments without
  their targets, or all environments and what each of them touched.
- Hamming is the paper's distance (a reversed edge counts 2); SHD counts a reversed edge as 1. Both at probability 0.5
  where a method gives probabilities. All seeds are shown; *worst* is the paper's figure.
- PC, GES and GIES may leave edges without a direction. The tables take the best case: right where there is a true
  edge either way, one false edge where there is none. For the question who is best, best and worst case are averaged.
- NOTEARS and DAG-GNN take numbers; categories are passed as codes and as one-hot vectors, each a row of its own.
  *Targets* is the share of environments whose touched variables were named exactly, by methods that name them.
- Settings of UT-IGSP and NOTEARS were chosen by the true graphs of cancer, asia and sachs, on rows of other seeds; that
  favours them on these networks. DAG-GNN has 10 of its 300 epochs a round and at most 2,000 rows; other departures are
  told in each method's file.
- CPU s is the median over seeds, importing excluded, one thread. MB is the largest memory of the process.
- In the figures a square is told the observational rows only, a circle all rows, a triangle the targets too; ours have
  a black edge.
- sdi_paper, this library's preset of the paper, asks for up to 500 iterations, and one takes 8 to 18 CPU s on 7 or 8
  binary variables, 45 to 50 on 13. Its runs had 60 to 120 CPU s and ended after 1 to 13 of them, far from settled:
  they show how far it comes in the time that the default takes, not where it would end. On three variables it runs to
  its own stop in [results.md](results.md).
- Rows of ours come from several states of the code, in the column `version` of the CSV; the latest of each case and
  seed is shown. Of the latest, in which effects of causes add up, are sdi_tables and sdi_default along the sweeps of
  [which_method.md](which_method.md) and on known networks, as far as they ran; elsewhere tables have not yet had that.
- Where a method has run with fewer seeds than another, its mean is over those: the columns by seed tell which.
- A run that failed is shown by t (out of time), m (out of memory) or x (an error), and means are over the others.
"""


def write(rows: Iterable[Row], page: Path = ROOT / "docs" / "comparison.md", figures: Path | None = None) -> list[Path]:
    """Write the page and its figures; the paths of all that was written."""
    folder = figures or ROOT / "experiments" / "results"
    cases, parts, written = by_case(rows), [INTRODUCTION, methods_table()], []
    for name, suite in SUITES.items():
        mine = {
            case: cases[case] for case in sorted(cases, key=lambda case: _place(case, suite)) if _belongs(case, suite)
        }
        if mine:
            figure = draw(folder / f"compare_{name}.png", mine, suite)
            written.append(figure)
            parts.append(section(suite.title, suite.text, mine, os.path.relpath(figure, page.parent)))
    others = {case: lines for case, lines in cases.items() if not any(_belongs(case, s) for s in SUITES.values())}
    if others:
        parts.append(section("Other cases", "Rows that belong to none of the sets above.", others, None))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(part.strip() for part in parts) + "\n")
    return [page, *written]


def methods_table() -> str:
    rows = [(name, method.told, about(method), ", ".join(method.needs)) for name, method in METHODS.items()]
    return "## The methods\n\n" + markdown(("method", "told", "what it is", "packages"), rows)


def section(title: str, text: str, cases: Mapping[Case, Sequence[Line]], figure: str | None) -> str:
    parts = [f"## {title}", text, overview(cases)]
    parts += [sentence for case, lines in cases.items() for sentence in verdicts(case[0], lines)]
    if figure:
        parts.append(f"![{title}]({figure})")
    for case, lines in cases.items():
        parts += [f"### {described(case)}", markdown(HEADER, map(cells, lines))]
    return "\n\n".join(parts)


def overview(cases: Mapping[Case, Sequence[Line]]) -> str:
    """The paper's form: worst Hamming distance of all seeds, with the mean; of variants, the better one."""
    families = dict.fromkeys(family(line.method) for lines in cases.values() for line in lines)
    names = names_of(list(cases))
    rows = []
    for each in families:
        row = [each]
        for lines in cases.values():
            mine = [line for line in lines if family(line.method) == each]
            row.append(_worst_and_mean(min(mine, key=_badness), len(mine) > 1) if mine else "")
        rows.append(row)
    return "Worst Hamming distance, and the mean.\n\n" + markdown(("method", *names), rows)


def names_of(cases: Sequence[Case]) -> list[str]:
    """The shortest labels that tell the cases apart."""
    differing = [k for k in range(len(SETTING)) if len({case[k] for case in cases}) > 1] or [0]
    return [" ".join(case[k] if k == 0 else f"{SETTING[k]} {case[k]}" for k in differing) for case in cases]


def _worst_and_mean(line: Line, variants: bool) -> str:
    failed = len(line.rows) - len(line.good)
    if not line.numbers("hamming"):
        return line.rows[0]["status"] if failed else ""
    found = f"{max(line.numbers('hamming')):.0f} ({line.mean('hamming'):.1f})"
    note = f", {failed} failed" if failed else ""
    which = f", {line.method.removeprefix(family(line.method) + '_').replace('_', '-')}" if variants else ""
    return found + which + note


def _badness(line: Line) -> float:
    """The mean distance with undirected edges half right; a method that failed on any seed comes after all others."""
    best, worst = line.mean("hamming"), line.mean("hamming_worst")
    if best is None or worst is None or not line.complete:
        return float("inf")
    return (best + worst) / 2


def verdicts(world: str, lines: Sequence[Line]) -> list[str]:
    """Who is best, among all and among those that are told no targets; plain where that is not us."""
    found = []
    for told, words in ((None, "of all methods"), ("targets known", "of those that are not told the targets")):
        able = [line for line in lines if line.rows[0]["told"] != told and _badness(line) < float("inf")]
        if not able:
            continue
        best, mine = min(able, key=_badness), [line for line in able if is_ours(line)]
        equal = [line.method for line in able if _badness(line) == _badness(best)]
        if not mine:
            found.append(f"{world}: {words}, best is {_named(equal, best)}. Ours has not run here.")
        elif min(map(_badness, mine)) > _badness(best):
            ours = min(mine, key=_badness)
            found.append(
                f"**{world}: {words}, best is {_named(equal, best)}, which beats ours** "
                f"({ours.method}, {_badness(ours):.1f}, {_median_seconds(ours)} CPU s)."
            )
        else:
            found.append(f"{world}: {words}, none is better than {_named(equal, best)}.")
    return found


def _named(equal: Sequence[str], best: Line) -> str:
    return f"{' and '.join(equal)} (mean Hamming {_badness(best):.1f}, {_median_seconds(best)} CPU s)"


def _median_seconds(line: Line) -> str:
    return cells(line)[HEADER.index("CPU s")]


def draw(path: Path, cases: Mapping[Case, Sequence[Line]], suite: Suite) -> Path:
    from experiments.comparison.figures import error_against_time, error_along

    named = dict(zip(names_of(list(cases)), cases.values(), strict=True))
    return error_along(path, named, suite.title) if suite.sweep else error_against_time(path, named)


def family(method: str) -> str:
    return METHODS[method].family if method in METHODS else method


def is_ours(line: Line) -> bool:
    return line.method in METHODS and bool(METHODS[line.method].ours)


def _belongs(case: Case, suite: Suite) -> bool:
    return _place(case, suite) < len(suite.sources)


def _place(case: Case, suite: Suite) -> int:
    """Where the case stands in the suite; after all others where it does not."""
    row = dict(zip(SETTING, case, strict=True))
    return next((k for k, source in enumerate(suite.sources) if matches(source, row)), len(suite.sources))
