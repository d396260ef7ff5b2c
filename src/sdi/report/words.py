"""The words of a report: what was found, what the numbers mean, how to repeat and cite it."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from sdi.method.discover import in_words
from sdi.report.content import Content

METHODS = {"neural": "neural networks", "tables": "probability tables"}

PAPER = (
    "Nan Rosemary Ke, Olexa Bilaniuk, Anirudh Goyal, Stefan Bauer, Hugo Larochelle, Bernhard Schölkopf, "
    "Michael C. Mozer, Chris Pal and Yoshua Bengio: Learning Neural Causal Models from Unknown Interventions. "
    "arXiv:1910.01075, 2019."
)
BIBTEX = """\
@article{ke2019learning,
  author  = {Ke, Nan Rosemary and Bilaniuk, Olexa and Goyal, Anirudh and Bauer, Stefan and
             Larochelle, Hugo and Sch{\\"o}lkopf, Bernhard and Mozer, Michael C. and
             Pal, Chris and Bengio, Yoshua},
  title   = {Learning Neural Causal Models from Unknown Interventions},
  journal = {arXiv preprint arXiv:1910.01075},
  year    = {2019}
}
@software{sdi,
  author  = {{The sdi developers}},
  title   = {sdi: causal graphs from categorical data with unknown interventions},
  version = {VERSION}
}"""

_SIGMOID = (
    "They are the beliefs of the neural method: each is the sigmoid of a number that rises as long as the edge helps "
    "to predict rows of environments in which something was changed, and falls as long as it does not. Near 0 or 1 the "
    "method has made up its mind. They are not calibrated posterior probabilities: of many edges at 0.9, nine in ten "
    "need not be right, and with few rows the method can be sure and wrong."
)
_POSTERIOR = (
    "They are posterior probabilities under the model: the weight of all graphs that hold the edge, each graph "
    "weighted by how well it explains all rows, observed and changed. They are as good as the model: its categories, "
    "its prior and the assumptions below. Where those fail, the probabilities can be far too sure."
)
_ASSUMED = (
    "An edge stands for a direct cause if nothing that was left out causes two of the variables, if causes form no "
    "cycle, if every environment changed some variables and left the way in which the others come about as it was, "
    "and if the categories keep what matters. No number in this report can tell whether that is so."
)


def lead(content: Content) -> str:
    """One or two sentences on the run as a whole."""
    edges, size = len(content.edges), len(content.names)
    first = f"{count(edges, 'edge')} among {count(size, 'variable')}, found with {method_name(content.method)}"
    if content.iterations:
        first += f" in {count(content.iterations, 'iteration')}"
    return f"{first}. It stopped because {content.reason}." if content.reason else f"{first}."


def method_name(method: str) -> str:
    return METHODS.get(method, method)


def facts(content: Content) -> list[tuple[str, str]]:
    """The numbers at the top, each with what it counts."""
    found = [("variables", f"{len(content.names):,}"), ("edges", f"{len(content.edges):,}")]
    if content.environments and content.lasting:
        found.append(("environments", f"{len(content.environments):,}"))
    elif content.interventions:
        found.append(("interventions", f"{content.interventions:,}"))
    rows = [content.observational, *(each.rows for each in content.environments)]
    if content.lasting and all(number is not None for number in rows):
        found.append(("rows", f"{sum(number or 0 for number in rows):,}"))
    if content.seconds is not None:
        found.append(("time", duration(content.seconds)))
    if content.seed is not None:
        found.append(("seed", str(content.seed)))
    return found


def targets_hint(content: Content) -> str:
    """What the rows and frames of the target matrix are."""
    text = "How probable it is that the environment changed the way in which the variable comes about. "
    if any(each.declared for each in content.environments):
        text += "Framed cells were declared known beforehand. "
    if not content.lasting:
        text += "A simulated world makes new environments in every iteration; these are those of the last one."
    return text.strip()


def forming_hint(drawn: int, believed: int) -> str:
    text = (
        "Lines in colour are edges of the graph, grey ones were dropped on the way. Point at a line to read its name."
    )
    more = f" Of {believed} edges that rose above one half at some time, {drawn} are drawn." if believed > drawn else ""
    return text + more


def meaning(content: Content) -> list[tuple[str, str]]:
    """Headings and paragraphs on what the numbers are and are not."""
    found = [("Probabilities of edges", _POSTERIOR if content.method == "tables" else _SIGMOID)]
    if content.bootstrap is not None:
        found.append(
            (
                f"Shares of {content.bootstrap.refits} refits",
                "Rows and environments were drawn again with replacement and everything was repeated. The share says "
                "in how many refits the edge came out: how much it depends on which rows happened to be there. It is "
                "not the probability that the edge is true, for a mistake in the assumptions repeats itself in every "
                "refit.",
            )
        )
    if content.chains is not None:
        found.append(
            (
                "Did the search come to rest?",
                f"Chains that were started apart agree with an R-hat of {content.chains.r_hat:.3f} (1 is full "
                f"agreement, above 1.05 is a reason to run longer), and are worth "
                f"{content.chains.effective:,.0f} independent draws.",
            )
        )
    found.append(
        (
            "The graph",
            "It holds the edges above one half. Where these would close a cycle, the least probable edge of the cycle "
            "was taken out. Where a link is certain but its direction, or which of two causes it is, is not, neither "
            "may be above one half: tables then keep what the most probable graph has. The slider changes what is "
            "drawn, not what was found.",
        )
    )
    if content.environments:
        found.append(
            (
                "Touched variables",
                "What an environment changed is inferred from its rows unless it was declared. A variable counts as "
                "touched above one half. That its values changed is not enough: they also change when a cause was "
                "touched, and it is that cause which should be named.",
            )
        )
    return [*found, ("What is taken for granted", _ASSUMED)]


def repeat_note(content: Content) -> str:
    parts = [f"{name} {number}" for name, number in content.versions.items()]
    seed = "" if content.seed is None else f"The seed is {content.seed}. "
    with_ = f"It was made with {', '.join(parts)}. " if parts else ""
    return f"{seed}{with_}The same command, data, seed and versions give the same numbers."


def settings(content: Content) -> list[tuple[str, str]]:
    return [(name, _value(value)) for name, value in content.settings.items()]


def _value(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


LABELS = {
    "method": "Method",
    "log_likelihood": "Held-out log-likelihood per value",
    "error": "Standard error of the difference",
    "settled": "Settled",
    "edges": "Edges",
    "seconds": "Time",
}


def compared(content: Content) -> dict[str, Any]:
    """A header, rows, which row is the method of this report, and why."""
    columns = list(dict.fromkeys(key for row in content.compared for key in row))
    rows = [[_compared_cell(key, row) for key in columns] for row in content.compared]
    methods = [row.get("method") for row in content.compared]
    chosen = methods.index(content.method) if content.method in methods else None
    header = [LABELS.get(key, key.replace("_", " ")) for key in columns]
    judged = len(content.compared) == 2 and all("log_likelihood" in row for row in content.compared)
    why = in_words(content.compared) if judged else ""
    return {"header": header, "rows": rows, "chosen": chosen, "why": why}


def _compared_cell(key: str, row: Mapping[str, Any]) -> str:
    value = row.get(key)
    if value is None:
        return "-"
    if key == "seconds":
        return duration(float(value))
    if key == "method":
        return method_name(str(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def citations() -> list[str]:
    return [f"The method: {PAPER}", f"The program: sdi {version('sdi')}."]


def bibtex() -> str:
    return BIBTEX.replace("VERSION", version("sdi"))


def duration(seconds: float) -> str:
    """'48 s', '2 min 5 s' or '3 h 20 min'."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
