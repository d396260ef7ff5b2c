"""Phase 2, likelihood: log Gamma(n + a) - log Gamma(a), of which all likelihoods of tables are made, and sums of it.

Legend: Z equivalent sample sizes, G groups into which terms are added up, K terms.
"""

from math import log, log1p

import numpy as np
from numpy.typing import NDArray

from sdi.method.tables.compiled import compiled

MULTIPLIED = 12  # factors that are multiplied; of more of them Stirling's series is the logarithm ...
PRECISE = 8.0  # ... to all digits, from here on
SMALLEST, LARGEST = 1e-20, 1e20  # factors of a product
FAR = 1e50  # from one that a product may be before its logarithm is taken: the next factors leave it finite
Vector = NDArray[np.float64]
Places = NDArray[np.intp]


@compiled
def log_rising(n: float, a: float) -> float:
    """log of a (a + 1) ... (a + n - 1), for a whole number n and a positive a."""
    product, result = 1.0, 0.0
    if n <= MULTIPLIED and a < LARGEST:
        if n >= 1:
            result = log(a)  # apart: it may be next to nothing
        for k in range(1, int(n)):
            product *= a + k
        return result + log(product)
    if a < SMALLEST:
        result, a, n = log(a), a + 1, n - 1
    while a < PRECISE:  # fewer than n steps
        product *= a
        a += 1.0
        n -= 1.0
    return result + log(product) + n * log(a) + (a + n - 0.5) * log1p(n / a) - n + _tail(a + n) - _tail(a)


@compiled
def _tail(x: float) -> float:
    """What the first terms of Stirling's series lack of log Gamma(x)."""
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x


@compiled
def _raise(product: float, logs: float, n: float, a: float) -> tuple[float, float]:
    """A product and the logarithms beside it, with that of n and a: where factors are few, one logarithm does for many
    such products."""
    if n > MULTIPLIED or not SMALLEST < a < LARGEST:
        return product, logs + log_rising(n, a)
    for k in range(int(n)):
        product *= a + k
    if not 1 / FAR < product < FAR:
        return 1.0, logs + log(product)
    return product, logs


@compiled
def sums_of_rising(n: Vector, place: Places, group: Places, sizes: Vector, mass: Vector) -> Vector:
    """Of counts at these places ``[K]`` with a prior of its size times `mass` ``[K]``, added up by group ``[Z, G]``."""
    result = np.zeros(sizes.shape)
    for z in range(len(sizes)):
        product, logs, last = 1.0, 0.0, 0
        for k in range(len(place)):
            if group[k] != last:
                result[z, last] += logs + log(product)
                product, logs, last = 1.0, 0.0, group[k]
            product, logs = _raise(product, logs, n[place[k]], sizes[z, last] * mass[k])
        if len(place):
            result[z, last] += logs + log(product)
    return result


@compiled
def changed_sums(
    n: Vector, before: Vector, place: Places, group: Places, sizes: Vector, mass: Vector, whole: Vector
) -> Vector:
    """The same for other counts, given those `before` and what they came to: only where they differ there is work."""
    differ, many, result = np.empty(len(place), np.intp), 0, whole.copy()
    for k in range(len(place)):
        if n[place[k]] != before[place[k]]:
            differ[many] = k
            many += 1
    for z in range(len(sizes)):
        more, less, logs, last = 1.0, 1.0, 0.0, 0
        for k in differ[:many]:
            if group[k] != last:
                result[z, last] += logs + log(more) - log(less)
                more, less, logs, last = 1.0, 1.0, 0.0, group[k]
            now, then, prior = n[place[k]], before[place[k]], sizes[z, last] * mass[k]
            if now > then:
                more, logs = _raise(more, logs, now - then, prior + then)
            else:
                less, opposite = _raise(less, 0.0, then - now, prior + now)
                logs -= opposite
        if many:
            result[z, last] += logs + log(more) - log(less)
    return result
