"""What no method could tell: for worlds of 25 variables, for smaller ones in which an edge was missed, and for barley,
what rows say to one who knows every mechanism.

    python benchmarks/limits.py | tee benchmarks/results/limits.txt
    python benchmarks/limits.py --learnt --worlds chain25 collider25 full25 | tee benchmarks/results/limits_learnt.txt

Which way an edge goes can only be told by environments that touched one of its ends, unless turning it shows in what
goes together elsewhere. Here the true edge is compared with the turned one, each with the very mechanisms that the
true distribution gives it, in those environments: nats for the truth. Turning may bring further parents at no cost, so
that other rows say the same under both. Where this is below zero, one who is told everything but that direction gets it
wrong; who has to learn mechanisms from the same rows knows less. An edge may also have no effect at all: the
probabilities in barley do not depend on some of its parents.

With --learnt, the same for one who knows the graph and all targets but has to learn mechanisms: networks are fitted to
all rows that touched no end of a missed edge, with these edges as they are and turned. Missed edges that share an end
are turned together.
"""

import argparse

import networkx as nx
import numpy as np
from accuracy import RESULTS, ROWS, build, settings_hash, strength
from raw import read, seeds_of

import sdi
from sdi.method.neural.predict import log_predictive
from sdi.worlds.simulated import SimulatedWorld

WORLDS = sorted(ROWS["fixed-5k-hard"].worlds, key=lambda world: "25" not in world)  # the large ones first
CASES = [
    *(("fixed-5k-hard", world) for world in WORLDS),
    *(("fixed-50k-soft", world) for world in WORLDS),
    ("barley-50-open", "barley"),
]
LITTLE = 3.0  # nats: odds of one to twenty
NOTHING = 1e-9  # nats a row: no effect at all, but for rounding
TINY = 1e-300


def nats_for(world: SimulatedWorld, touched: list[tuple[int, np.ndarray]], child: int, cause: int) -> float:
    """Log-likelihood of cause -> child less that of the turned edge, where one of them was the touched variable."""
    of_child, of_cause = (np.flatnonzero(world.graph.parents[each]) for each in (child, cause))
    column, total = int(np.flatnonzero(of_child == cause)[0]), 0.0
    for target, rows in touched:
        if target not in (child, cause):
            continue
        every, x, y = np.arange(len(rows)), rows[:, cause], rows[:, child]
        before = world.mechanisms[cause].probabilities(rows[:, of_cause])  # [R, states of the cause]
        seen = rows[:, of_child]
        joint = np.empty((len(rows), world.cardinalities[cause], world.cardinalities[child]))
        for value in range(world.cardinalities[cause]):
            seen[:, column] = value
            joint[:, value] = before[:, [value]] * world.mechanisms[child].probabilities(seen)
        both, alone, cause_alone = joint[every, x, y], joint.sum(axis=1)[every, y], before[every, x]
        # Touched cause: its effect given it, or without it. Touched effect: the cause without it, or given it.
        true, turned = (both / np.maximum(cause_alone, TINY), alone)
        if target == child:
            true, turned = cause_alone, both / np.maximum(alone, TINY)
        total += float((np.log(np.maximum(true, TINY)) - np.log(np.maximum(turned, TINY))).sum())
    return total


def turnable(world: SimulatedWorld) -> list[tuple[int, int]]:
    """Edges that can be turned alone without closing a cycle ``(child, cause)``."""
    edges = [(int(i), int(j)) for i, j in np.argwhere(world.graph.parents)]
    found = []
    for i, j in edges:
        rest = nx.DiGraph([(b, a) for a, b in edges if (a, b) != (i, j)])
        rest.add_nodes_from((i, j))
        if not nx.has_path(rest, j, i):
            found.append((i, j))
    return found


def missed(world: SimulatedWorld, errors: str) -> list[tuple[int, int]]:
    """The true edges among the `errors` of a raw row ``(child, cause)``."""
    place = {name: k for k, name in enumerate(world.names)}
    pairs = [tuple(each.split("->")) for each in errors.split() if not each.endswith("+")]
    # The strength stands behind the effect, and one of nothing may have been written as minus nothing.
    return [(place[effect.rsplit("-", 1)[0].rstrip("-")], place[cause]) for cause, effect in pairs]


def report(name: str, world_name: str, seed: int, errors: str, hamming: int) -> str:
    """One line: what was found, what one who knows every mechanism would find, and every edge that was missed."""
    world, given, hidden = build(ROWS[name], world_name, seed)
    assert hidden is not None
    touched = [(who[0], np.asarray(e.rows).astype(int)) for who, e in zip(hidden, given.environments, strict=True)]
    open_edges = turnable(world)
    if name.startswith("barley"):
        none = [strength(world, i, j, seed) < NOTHING for i, j in missed(world, errors)]
        return f"{name} {world_name} {seed}: {hamming} errors, {sum(none)} of them edges without any effect"
    nats = {edge: nats_for(world, touched, *edge) for edge in open_edges}
    each = [
        f"{world.names[j]}->{world.names[i]} {nats.get((i, j), nats_for(world, touched, i, j)):.1f}"
        for i, j in missed(world, errors)
    ]
    wrong, weak = (sum(value < limit for value in nats.values()) for limit in (0, LITTLE))
    return (
        f"{name} {world_name} {seed}: {hamming} errors; of {len(nats)} edges that can be turned alone {wrong} have less"
        f" than nothing and {weak} less than {LITTLE:.0f} nats; missed: {', '.join(each) or 'none'}"
    )


def report_learnt(name: str, world_name: str, seed: int, errors: str, hamming: int) -> str:
    """One line: nats for the missed edges as they are, to networks that are told all other edges and all targets."""
    world, given, hidden = build(ROWS[name], world_name, seed)
    assert hidden is not None
    edges = missed(world, errors)
    turned = world.graph.parents.copy()
    for i, j in edges:
        turned[i, j], turned[j, i] = False, True
    touched = [(who[0], np.asarray(e.rows)) for who, e in zip(hidden, given.environments, strict=True)]
    ends = {each for edge in edges for each in edge}
    known = np.concatenate([given.observational, *(rows for who, rows in touched if who not in ends)])
    test = np.concatenate([rows for who, rows in touched if who in ends])
    where = np.concatenate([np.full(len(rows), who) for who, rows in touched if who in ends])
    settings = sdi.Settings(method="neural")

    def predicted(parents: np.ndarray) -> np.ndarray:
        """Log-likelihood of each value ``[R, M]``, two networks of each variable put together."""
        each = [log_predictive(known, test, parents, given.cardinalities, settings, k) for k in range(2)]
        return np.logaddexp(*each) - np.log(2)

    ahead, parts = predicted(world.graph.parents) - predicted(turned), []
    for group in nx.connected_components(nx.Graph(edges)):
        nats = sum(float(ahead[(where == e), k].sum()) for k in group for e in group if e != k)
        which = " ".join(f"{world.names[j]}->{world.names[i]}" for i, j in edges if i in group)
        parts.append(f"{which} {nats:.1f}")
    return f"{name} {world_name} {seed}: {hamming} errors; learnt from {len(known)} rows, missed: {', '.join(parts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-5", type=seeds_of)
    parser.add_argument("--worlds", nargs="*", help="these alone")
    parser.add_argument("--learnt", action="store_true", help="by one who has to learn mechanisms")
    options = parser.parse_args()
    latest = {
        (row["row"], row["world"], int(row["seed"])): row
        for row in read(RESULTS)
        if row["row"] in ROWS
        and row["settings"] == settings_hash(sdi.Settings(method="neural", **ROWS[row["row"]].settings), row["world"])
    }
    for name, world in CASES:
        for seed in options.seeds:
            row = latest.get((name, world, seed))
            if (
                row is None
                or (options.worlds and world not in options.worlds)
                or ("25" not in world and not row["errors"])
                or (options.learnt and (not row["errors"] or world == "barley"))
            ):
                continue
            line = report_learnt if options.learnt else report
            print(line(name, world, seed, row["errors"], int(row["hamming"])), flush=True)


if __name__ == "__main__":
    main()
