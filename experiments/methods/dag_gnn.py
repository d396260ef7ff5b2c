"""DAG-GNN (Yu et al. 2019): a DAG as the adjacency of a variational autoencoder, on observational rows.

Source: gcastle 1.0.4, `castle.algorithms.DAG_GNN` on torch, its defaults (MLPs of 64, weights below 0.3 dropped) but
for the seed, and for 100 epochs in each round where it has 300: these take 2 CPU minutes on asia, and 300 were never
run to their end here, so what they would find is not known. The authors' program keeps three graphs,
those of the best mean square error, likelihood and evidence bound; gcastle keeps the last one alone, so there is one
row here.

Categories are passed in one of two ways, both reported: `codes`, each variable one number, or `one-hot`, each variable
a vector with a 1 at its category (padded with zeros to the largest number of categories), which is how the authors
treat discrete variables. Its likelihood is Gaussian either way.
"""

import numpy as np

import sdi
from experiments.comparison.result import Result

EPOCHS, ROUNDS = 100, 100


def run(
    dataset: sdi.Dataset, seed: int, seconds: float, coding: str, epochs: int = EPOCHS, rounds: int = ROUNDS
) -> Result:
    import torch
    from castle.algorithms import DAG_GNN

    torch.set_num_threads(1)
    rows = dataset.observational.astype(int)
    one_hot = np.eye(max(dataset.cardinalities))[rows]  # [n, M, N]
    data = rows.astype(float)[:, :, None] if coding == "codes" else one_hot
    model = DAG_GNN(seed=seed, epochs=epochs, k_max_iter=rounds)
    model.learn(data)
    adjacency = np.asarray(model.causal_matrix, dtype=bool)  # [cause, effect]
    return Result(parents=adjacency.T & ~np.eye(len(adjacency), dtype=bool), note=f"categories as {coding}")
