"""GES (Chickering 2002): a CPDAG by greedy search over equivalence classes, on observational rows.

Source: causal-learn 0.1.4.8, `ges` with its BDeu score, its defaults. Categories are passed as codes and treated as
nominal by the score.
"""

import sdi
from experiments.comparison.result import Result
from experiments.methods.pc import parents_of


def run(dataset: sdi.Dataset, seed: int, seconds: float) -> Result:
    from causallearn.search.ScoreBased.GES import ges

    found = ges(dataset.observational.astype(int), score_func="local_score_BDeu")
    return Result(parents=parents_of(found["G"].graph), partial=True)
