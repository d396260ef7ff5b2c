"""The picture in the README: beliefs about asia (temperature 2, unknown targets) at four moments of one run.

python -m experiments.beliefs_forming docs/beliefs.png
"""

import sys

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import sdi

SEED, MOMENTS = 1, (1, 4, 8)  # iterations; the last panel is the end


def main(path: str) -> None:
    world = sdi.named_world("asia", rng=np.random.default_rng(SEED), temperature=2)
    infos = [info for _, info in sdi.iterate(world, sdi.Settings(method="neural"), seed=SEED)]
    chosen = [infos[k - 1] for k in MOMENTS] + [infos[-1]]
    figure, axes = plt.subplots(1, len(chosen), figsize=(13, 3.9), sharey=True, layout="constrained")
    ticks = range(len(world.names))
    for axis, info in zip(axes, chosen, strict=True):
        image = axis.imshow(info.probabilities, cmap="Blues", vmin=0, vmax=1)
        for i, j in np.argwhere(world.graph.parents):
            axis.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="tab:orange", linewidth=1.5))
        axis.set_title(f"after {info.interventions} interventions")
        axis.set_xticks(ticks, world.names, rotation=60, ha="right", rotation_mode="anchor")
        axis.set_yticks(ticks, world.names)
        axis.set_xlabel("cause")
    axes[0].set_ylabel("effect")
    figure.colorbar(image, ax=axes, label="probability of the edge", shrink=0.8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
