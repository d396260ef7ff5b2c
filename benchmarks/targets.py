"""How many targets can be named at all: by one who knows the graph and all mechanisms, but not what the new one is.

    python benchmarks/targets.py | tee benchmarks/results/targets.txt

Redrawn binary worlds, an intervention in each. The touched variable is guessed by the ratio that the method takes: a
new table on the same parents or on none, both equally likely (uniform Dirichlet), over the true old mechanism. Beside
it, the same if the new mechanism is known as well. What is missing to 100 % changed too little to be seen in so many
rows.
"""

import numpy as np
from accuracy import log_probability
from scipy.special import gammaln

import sdi
from sdi.worlds.simulated import SimulatedWorld, true_target

WORLDS = [
    "chain3",
    "full3",
    "chain4",
    "full4",
    "chain5",
    "full5",
    "chain8",
    "collider8",
    "full8",
    "chain13",
    "collider13",
]
ROWS = (500, 1_000, 2_000)
SEEDS, EACH = range(1, 6), 300


def new_table(parents: np.ndarray, values: np.ndarray, states: int) -> float:
    """Log marginal likelihood of values under a table with one count for each category to begin with."""
    _, code = np.unique(parents, axis=0, return_inverse=True)
    counts = np.bincount(code.ravel() * states + values, minlength=(int(code.max()) + 1) * states).reshape(-1, states)
    rising = gammaln(counts + 1).sum() - gammaln(counts.sum(axis=1) + states).sum()
    return float(rising + len(counts) * gammaln(states))


def named(world: SimulatedWorld, rows: int, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether the touched variable of one intervention is named, the new mechanism unknown and known."""
    now = world.redraw(rng)
    environment = now.intervene(rng)
    sample, (target,) = environment.observe(rows, rng), true_target(environment) or (-1,)
    unknown, known = [], []
    for i, states in enumerate(now.cardinalities):
        parents, values = sample[:, now.graph.parents[i]], sample[:, i].astype(int)
        old = log_probability(now.mechanisms[i], parents, values)
        tables = np.logaddexp(new_table(parents, values, states), new_table(parents[:, :0], values, states))
        unknown.append(tables - np.log(2) - old)
        new = log_probability(environment._changed.mechanisms[i], parents, values) - old
        known.append(new if i == target else unknown[-1])
    return int(np.argmax(unknown)) == target, int(np.argmax(known)) == target


def main() -> None:
    print(f"Targets named, %, the new mechanism unknown (known); {len(SEEDS)} seeds x {EACH} interventions each.")
    print("world       " + "".join(f"{rows:>16,} rows" for rows in ROWS))
    for name in WORLDS:
        line = f"{name:<12}"
        for rows in ROWS:
            found = []
            for seed in SEEDS:
                rng = np.random.default_rng([seed, rows])
                world = sdi.named_world(name, rng=np.random.default_rng(seed), redrawn=True, categories=2)
                found += [named(world, rows, rng) for _ in range(EACH)]
            share = 100 * np.mean(found, axis=0)
            line += f"{share[0]:>13.1f} ({share[1]:.1f})"
        print(line, flush=True)


if __name__ == "__main__":
    main()
