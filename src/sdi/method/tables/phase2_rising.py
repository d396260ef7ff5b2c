"""Phase 2, likelihood: log Gamma(n + a) - log Gamma(a), of which all likelihoods of tables are made, and sums of it.

Legend: Z equivalent sample sizes, G groups into which terms are added up, K terms.
"""

from math import log, log1p

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.compiled import compiled

MULTIPLIED = 12  # factors that are multiplied; of more of them Stirling's series is the logarithm ...
PRECISE = 8.0  # ... to all digits, from here on
LARGEST = 1e20  # factor of a product
Vector = NDArray[np.float64]
Places = NDArray[np.intp]


@compiled
def log_rising(n: float, a: float) -> float:
    """log of a (a + 1) ... (a + n - 1), for a whole number n and a positive a."""
    product = 1.0
    if n <= MULTIPLIED and a < LARGEST:
        for k in range(int(n)):
            product *= a + k
        return log(product)
    while a < PRECISE:  # fewer than n steps
        product *= a
        a += 1.0
        n -= 1.0
    return log(product) + n * log(a) + (a + n - 0.5) * log1p(n / a) - n + _tail(a + n) - _tail(a)


@compiled
def _tail(x: float) -> float:
    """What the first terms of Stirling's series lack of log Gamma(x)."""
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x


@compiled
def sums_of_rising(n: Vector, place: Places, group: Places, sizes: Vector, mass: Vector) -> Vector:
    """Of counts at these places ``[K]`` with a prior of its size times `mass` ``[K]``, added up by group ``[Z, G]``."""
    result = np.zeros(sizes.shape)
    for z in range(len(sizes)):
        for k in range(len(place)):
            result[z, group[k]] += log_rising(n[place[k]], sizes[z, group[k]] * mass[k])
    return result


@compiled
def changed_sums(
    n: Vector, before: Vector, place: Places, group: Places, sizes: Vector, mass: Vector, whole: Vector
) -> Vector:
    """The same for other counts, given those `before` and what they came to: only where they differ there is work."""
    result = whole.copy()
    for k in range(len(place)):
        now, then = n[place[k]], before[place[k]]
        if now == then:
            continue
        for z in range(len(sizes)):
            prior = sizes[z, group[k]] * mass[k]
            if now > then:
                result[z, group[k]] += log_rising(now - then, prior + then)
            else:
                result[z, group[k]] -= log_rising(then - now, prior + now)
    return result
