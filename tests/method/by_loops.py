"""Marginal likelihoods of tables by the book and by loops: an oracle for what the package does with arrays."""

import itertools
from math import exp, lgamma, log, prod, sqrt
from typing import NamedTuple

import numpy as np

MANY_ROWS = 32  # of a table: with more of them its equivalent samples grow
VARIANCES = (0.1, 0.3, 1.0, 3.0)
ENOUGH = 0.05
FITTED = 3.0  # variance under which shifts are fitted
Values = tuple[int, ...]
Shifts = dict[tuple[int, int], float]  # of a value of a parent and a state of the child


def marginal(rows: np.ndarray, child: int, parents: list[int], cards: tuple[int, ...], alpha: float = 1.0) -> float:
    """Dirichlet-multinomial log marginal likelihood."""
    q = int(np.prod([cards[j] for j in parents]))
    tables: dict[tuple, list[int]] = {}
    for row in rows:
        tables.setdefault(tuple(row[j] for j in parents), [0] * cards[child])[row[child]] += 1
    total = 0.0
    for counts in tables.values():
        total += lgamma(alpha / q) - lgamma(alpha / q + sum(counts))
        total += sum(lgamma(alpha / q / cards[child] + n) - lgamma(alpha / q / cards[child]) for n in counts)
    return total


def own_marginal(rows: np.ndarray, child: int, parents: tuple[int, ...], cards: tuple[int, ...]) -> float:
    """Under BDeu, of an environment that touched the child: one sample beforehand, on the same parents or on none."""
    soft, hard = (marginal(rows, child, list(each), cards) for each in (parents, ()))
    return either(soft, hard)


def either(one: float, other: float) -> float:
    return mean_of([one, other])


def mean_of(logs: list[float]) -> float:
    return max(logs) + log(sum(exp(each - max(logs)) for each in logs) / len(logs))


class Fitted(NamedTuple):
    """A table on some parents, fitted to all rows; the last two are log shares of cells, and what they cost."""

    shares: dict[Values, list[float]]
    level: list[float]
    shifts: tuple[Shifts, ...]
    summed: tuple[dict[Values, list[float]], float] | None
    pushed: tuple[dict[Values, list[float]], float] | None


class Extending:
    """Log marginal likelihood of tables that extend one another.

    What they are around is fitted to `everything`; how often a row of a table would be seen is known from `masses`, and
    which tables are sparse from `whole`.
    """

    def __init__(
        self,
        everything: np.ndarray,
        cards: tuple[int, ...],
        sizes: tuple[float, ...],
        sweeps: int = 12,
        masses: np.ndarray | None = None,
        whole: np.ndarray | None = None,
    ) -> None:
        self.everything, self.cards, self.sizes, self.sweeps = everything.tolist(), cards, sizes, sweeps
        self.masses = self.everything if masses is None else masses.tolist()
        self.whole = self.masses if whole is None else whole.tolist()
        self.known: dict[tuple, Fitted] = {}

    def __call__(self, rows: np.ndarray, child: int, order: Values) -> float:
        """Of these rows, with parents that were added in this order."""
        value = marginal(rows, child, [], self.cards, self.sizes[0])
        for k in range(1, len(order) + 1):
            grown = max(1.0, prod(self.cards[j] for j in order[:k]) / MANY_ROWS)
            gains = [self._gain(rows.tolist(), child, order[:k], size * grown) for size in self.sizes]
            fit = self._fitted(child, order[:k])
            seen = self._counts(rows.tolist(), child, order[:k])
            sparse = self._sparse(child, order[:k])
            if fit.pushed is None or fit.summed is None:
                value += mean_of([min(gain, 0.0) if sparse else gain for gain in gains])
                continue
            pushed, summed = (
                sum(n * logs[values][x] for values, each in seen.items() for x, n in enumerate(each)) - cost
                for logs, cost in (fit.pushed, fit.summed)
            )
            if sparse:
                gains = [*(-1e6 for _ in gains[1:]), min(gains[-1], 0.0)]
            value = either(mean_of([*(value + gain for gain in gains), pushed]), summed)
        return value

    def own(self, rows: np.ndarray, child: int, order: Values) -> float:
        """Of an environment that touched the child: its tables are fitted to its rows alone, with smaller samples."""
        sizes = tuple(size * min(self.sizes[0], 1.0) / self.sizes[0] for size in self.sizes)
        if not len(rows):
            return 0.0
        its = Extending(rows, self.cards, sizes, self.sweeps, np.array(self.masses), rows)
        return either(its(rows, child, order), marginal(rows, child, [], self.cards, sizes[0]))

    def _sparse(self, child: int, order: Values) -> bool:
        """Whether hardly any cell was seen twice."""
        seen = self._counts(self.whole, child, order)
        return len(self.whole) < 2 * sum(n > 0 for counts in seen.values() for n in counts)

    def _counts(self, rows: list[list[int]], child: int, order: Values) -> dict[Values, list[int]]:
        seen: dict[Values, list[int]] = {}
        for row in rows:
            seen.setdefault(tuple(row[j] for j in order), [0] * self.cards[child])[row[child]] += 1
        return seen

    def _gain(self, rows: list[list[int]], child: int, order: Values, size: float) -> float:
        """Of the last parent: its table, around what is fitted without it, against that without it, around itself."""
        shares, total = self._fitted(child, order[:-1]).shares, 0.0
        for values, counts in self._counts(rows, child, order).items():
            total += self._dirichlet(counts, size * self._share(order, values), shares[values[:-1]])
        for values, counts in self._counts(rows, child, order[:-1]).items():
            total -= self._dirichlet(counts, size * self._share(order[:-1], values), shares[values])
        return total

    @staticmethod
    def _dirichlet(counts: list[int], mass: float, centre: list[float]) -> float:
        inside = sum(lgamma(n + mass * c) - lgamma(mass * c) for n, c in zip(counts, centre, strict=True) if n)
        return inside - (lgamma(sum(counts) + mass) - lgamma(mass))

    def _share(self, parents: Values, values: Values) -> float:
        each = [
            (sum(row[j] == value for row in self.masses) + 1 / self.cards[j]) / (len(self.masses) + 1)
            for j, value in zip(parents, values, strict=True)
        ]
        return prod(each)

    # ------------------------------------------------------------------------------------ what all rows come to

    def _fitted(self, child: int, order: Values) -> Fitted:
        key = child, order
        if key not in self.known:
            self.known[key] = self._fit(child, order)
        return self.known[key]

    def _fit(self, child: int, order: Values) -> Fitted:
        states = self.cards[child]
        seen = {values: [0] * states for values in itertools.product(*(range(self.cards[j]) for j in order))}
        seen |= self._counts(self.everything, child, order)
        if not order:
            counts = seen.get((), [0] * states)
            shares = [(n + 1 / states) / (sum(counts) + 1) for n in counts]
            return Fitted({(): shares}, [0.0] * states, (), None, None)
        base = self._fitted(child, order[:-1])
        level, shifts = base.level, (*base.shifts, {})
        around = {values: base.shares[values[:-1]] for values in seen}
        chances = {values: shares_of(self._logs(level, shifts, values)) for values in seen}
        for _ in range(self.sweeps):
            gained = 0.0
            for p in reversed(range(len(order))):
                shifts, chances, more = self._moved(seen, chances, shifts, p, order[p])
                gained += more
            steps = [newton(seen, chances, list(seen), x, level[x]) for x in range(states)]
            level = [now + step for now, (step, _) in zip(level, steps, strict=True)]
            chances = {v: shifted(chances[v], [exp(step) for step, _ in steps]) for v in seen}
            if gained + sum(more for _, more in steps) < ENOUGH:
                break
        root, alone = (
            self._fitted(child, ()).shares[()],
            marginal(np.array(self.everything), child, [], self.cards, self.sizes[0]),
        )
        of_root = sum(n * log(share) for counts in seen.values() for n, share in zip(counts, root, strict=True) if n)
        summed = logs_of(chances), self._cost(seen, chances, shifts, order, 0) + of_root - alone
        last: tuple[Shifts, ...] = tuple({} for _ in order)
        pushed_to = around
        for _ in range(self.sweeps):
            last, pushed_to, gained = self._moved(seen, pushed_to, last, len(order) - 1, order[-1])
            if gained < ENOUGH:
                break
        price = self._cost(seen, pushed_to, last[-1:], order[-1:], len(order) - 1)
        of_these, of_those = (
            sum(n * log(share) for v in seen for n, share in zip(seen[v], shares[v], strict=True) if n)
            for shares in (pushed_to, around)
        )
        gain = of_these - of_those - price
        whole = self(np.array(self.everything), child, order[:-1]) + gain if self.everything else 0.0
        pushed = logs_of(pushed_to), of_these - whole
        expected_now = pushed_to if gain > 0 else around
        return Fitted(self._firm(seen, expected_now), level, shifts, summed, pushed)

    def _logs(self, level: list[float], shifts: tuple[Shifts, ...], values: Values) -> list[float]:
        return [
            each + sum(by.get((value, x), 0.0) for by, value in zip(shifts, values, strict=True))
            for x, each in enumerate(level)
        ]

    def _moved(
        self,
        seen: dict[Values, list[int]],
        chances: dict[Values, list[float]],
        shifts: tuple[Shifts, ...],
        p: int,
        parent: int,
    ) -> tuple[tuple[Shifts, ...], dict[Values, list[float]], float]:
        """New shifts of one parent, the shares that they lead to, and about how much was gained."""
        states, new, gained = len(next(iter(seen.values()), [])), dict(shifts[p]), 0.0
        odds: dict[int, list[float]] = {}
        for value in range(self.cards[parent]):
            here = [v for v in seen if v[p] == value]
            odds[value] = []
            for x in range(states):
                step, more = newton(seen, chances, here, x, new.get((value, x), 0.0))
                new[value, x] = new.get((value, x), 0.0) + step
                odds[value].append(exp(step))
                gained += more
        return (*shifts[:p], new, *shifts[p + 1 :]), {v: shifted(chances[v], odds[v[p]]) for v in seen}, gained

    def _cost(
        self,
        seen: dict[Values, list[int]],
        chances: dict[Values, list[float]],
        shifts: tuple[Shifts, ...],
        parents: Values,
        first: int,
    ) -> float:
        """Laplace's: shifts and what is known of them, without what is alike for all states or for all values."""
        costs, states = [], len(next(iter(seen.values()), []))
        whole = sum(sum(counts) for counts in seen.values())
        for variance in VARIANCES:
            cost = 0.0
            for p, (parent, by) in enumerate(zip(parents, shifts, strict=True), start=first):
                values = self.cards[parent]
                free = (1 - 1 / values) * (1 - 1 / states)
                for value, x in itertools.product(range(values), range(states)):
                    here = [v for v in seen if v[p] == value]
                    known = sum(sum(seen[v]) * chances[v][x] * (1 - chances[v][x]) for v in here)
                    known *= 1 - sum(sum(seen[v]) for v in here) / whole if whole else 1.0
                    of_state = sum(by[other, x] for other in range(values)) / values
                    of_value = sum(by[value, other] for other in range(states)) / states
                    alone = by[value, x] - of_state - of_value + sum(by.values()) / values / states
                    each, info = variance / free, known / free
                    firm = 1 / each
                    if each < FITTED:
                        firm = (info + 2 / FITTED - each / FITTED**2) / (1 + each * info)
                    cost += alone**2 * firm / 2 + free * log(1 + each * info) / 2
            costs.append(-cost)
        return -mean_of(costs)

    @staticmethod
    def _firm(seen: dict[Values, list[int]], around: dict[Values, list[float]]) -> dict[Values, list[float]]:
        """What is expected counts the more, the less what was seen scatters around it beyond what chance does."""
        beyond = more = chance = 0.0
        for v, counts in ((v, counts) for v, counts in seen.items() if sum(counts)):
            expected = [sum(counts) * share for share in around[v]]
            square = sum((n - e) ** 2 / max(e, 1e-6) for n, e in zip(counts, expected, strict=True))
            beyond += square / (len(counts) - 1) - 1
            n, free = sum(counts), len(counts) - 1
            more += n - 1
            inverse = sum(1 / max(share, 1e-6) for share in around[v])
            chance += (2 * free + max(inverse - (free + 1) ** 2 - 2 * free, -2 * free * n) / n) / free**2
        firm = min(max(more / max(beyond - 2 * sqrt(max(chance, 0)), 1e-6) - 1, 1.0), 1e6)
        return {
            v: [(n + firm * share) / (sum(counts) + firm) for n, share in zip(counts, around[v], strict=True)]
            for v, counts in seen.items()
        }


def newton(
    seen: dict[Values, list[int]], chances: dict[Values, list[float]], rows: list[Values], x: int, shift: float
) -> tuple[float, float]:
    """The step for one shift of all these rows, and about how much it gains."""
    states, variance = len(next(iter(seen.values()), [0, 0])), 3.0
    slope = sum(sum(seen[v]) * chances[v][x] * (1 - chances[v][x]) for v in rows) / (1 - 1 / states)
    beyond = sum(seen[v][x] - sum(seen[v]) * chances[v][x] for v in rows) - shift / variance
    step = min(max(beyond / (slope + 1 / variance), -2.0), 2.0)
    return step, step * beyond / 2


def shifted(shares: list[float], odds: list[float]) -> list[float]:
    each = [share * by for share, by in zip(shares, odds, strict=True)]
    return [max(one / sum(each), 1e-12) for one in each]


def shares_of(logs: list[float]) -> list[float]:
    return shifted([exp(each) for each in logs], [1.0] * len(logs))


def logs_of(chances: dict[Values, list[float]]) -> dict[Values, list[float]]:
    return {values: [log(each) for each in shares] for values, shares in chances.items()}
