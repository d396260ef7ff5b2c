"""ICP (Peters et al. 2016): the parents of each variable as what every invariant set of predictors shares.

Source: causalicp 0.1.1, `causalicp.fit`, run once with every variable as the response, level 0.05 / M each. Linear with
Gaussian noise: categories are passed as their codes, which is arbitrary where there are more than two.

ICP assumes that no environment touched the response. With targets unknown it is given all environments all the same;
with targets known those that touched the response are left out when its parents are sought, and so are those whose
target nobody declared.

All sets of predictors are tested up to 11 variables (two CPU minutes); with more, those of at most two, which is enough
for the chains and jungles of 13. Where a response has more parents, the set of them is not tested, and what the others
share is no longer sure to be a cause.
"""

from itertools import combinations

import numpy as np

import sdi
from experiments.comparison.result import Result
from experiments.methods.gies import declared

LEVEL = 0.05
FEW, MOST = 11, 2  # variables up to which all sets are tested, and how large a set is with more of them


def run(dataset: sdi.Dataset, seed: int, seconds: float) -> Result:
    import causalicp

    known = declared(dataset)[0].environments
    environments, size = known or dataset.environments, len(dataset.names)
    parents, rejected = np.zeros((size, size), dtype=bool), []
    for response, name in enumerate(dataset.names):
        kept = [e.rows for e in environments if response not in (e.target or ())]
        data = [rows.astype(float) for rows in (dataset.observational, *kept)]
        others = [j for j in range(size) if j != response]
        sets = [set(each) for k in range(MOST + 1) for each in combinations(others, k)] if size > FEW else None
        estimate = causalicp.fit(data, response, alpha=LEVEL / size, sets=sets, precompute=True).estimate
        if estimate is None:  # not even one set was invariant
            rejected.append(name)
        parents[response, sorted(estimate or ())] = True
    return Result(parents=parents, note=f"no invariant set for {len(rejected)} of {size} variables")
