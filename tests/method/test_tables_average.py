"""Averages over chains: those of all draws, though none is kept."""

import numpy as np
from test_tables_sample import make_problem, start

from sdi.method.tables.phase3_average import walk_on


def test_averages_and_agreement_are_those_of_all_draws() -> None:
    problem, draws = make_problem(), 40
    walked = walk_on([start(problem, seed) for seed in range(3)], draws)
    halves = []
    for seed in range(3):
        again = start(problem, seed)
        again.look_around()
        for _ in range(draws // 10):
            again.sweep()
        seen = np.stack([np.concatenate([again.sweep(), *again.touched]) for _ in range(draws)])
        halves += [seen[: draws // 2], seen[draws // 2 :]]
    mean = np.mean(halves, axis=(0, 1))
    np.testing.assert_allclose(walked.probabilities, mean[:4], atol=1e-12)
    np.testing.assert_allclose(walked.targets, mean[4:], atol=1e-12)
    within = np.mean([each.var(axis=0, ddof=1) for each in halves], axis=0)
    total = within * (1 - 2 / draws) + np.var([each.mean(axis=0) for each in halves], axis=0, ddof=1)
    varies = total > 1e-4
    np.testing.assert_allclose(walked.agreement.r_hat, np.sqrt((total / np.maximum(within, 1e-5))[varies].max()))
