"""Beliefs that follow the evidence: orders against all there are, sums against plain loops, what is known."""

import dataclasses
import itertools
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from sdi.method.beliefs import Clamp, Knowledge, edge_probabilities
from sdi.method.neural.phase2_gains import Gains
from sdi.method.neural.phase3_evidence import (
    Weighed,
    _adjacent,
    _likely_order,
    follow,
    heard_of,
    order_probabilities,
    unweighed,
    weigh,
)
from sdi.method.settings import Settings

NAMES = ("A", "B", "C", "D")
SIZE, COUNT = 4, 5  # variables and environments, the same everywhere: one compilation
OFF_DIAGONAL = ~np.eye(SIZE, dtype=bool)
SETTINGS = Settings(edge_cost=3.0, slack=0.01, caution=0.5, memory=0.9, stride=1.0)
ALL_OPEN = Knowledge().clamp(NAMES)
BELIEFS = np.where(OFF_DIAGONAL, 0.25, 0)
Numbers = NDArray[np.float64]


# ------------------------------------------------------------------------------------------------------ orders


def pulls(scale: float, seed: int = 0) -> Numbers:
    """Antisymmetric evidence about who comes first."""
    drawn = np.random.default_rng(seed).normal(0, scale, (SIZE, SIZE))
    return drawn - drawn.T


def over_all_orders(evidence: Numbers) -> Numbers:
    """P(j comes before i), by the sum over all 24 orders; a pair speaks once, for the one that comes later."""
    total, before = 0.0, np.zeros((SIZE, SIZE))
    for order in itertools.permutations(range(SIZE)):
        pairs = [(later, sooner) for k, later in enumerate(order) for sooner in order[:k]]
        weight = np.exp(sum(evidence[pair] for pair in pairs) / 2)
        total += weight
        for pair in pairs:
            before[pair] += weight
    return before / total


@pytest.mark.parametrize("scale", [0.0, 0.5, 2.0])
def test_orders_are_drawn_as_often_as_enumeration_says(scale: float) -> None:
    """12,800 draws: at most 0.0045 standard error were they independent; 0.03 allows for those that are not."""
    found = order_probabilities(jnp.asarray(pulls(scale)), jax.random.key(0), sweeps=2000)
    assert np.abs(found - over_all_orders(pulls(scale)))[OFF_DIAGONAL].max() < 0.03


def test_orders_of_an_iteration_are_right_to_a_few_hundredths() -> None:
    """1,280 draws, as the method makes them; 0.1 is 5 standard errors, were one in two to add nothing."""
    found = order_probabilities(jnp.asarray(pulls(1.0)), jax.random.key(1))
    assert np.abs(found - over_all_orders(pulls(1.0)))[OFF_DIAGONAL].max() < 0.1


@pytest.mark.parametrize("scale", [0.5, 30.0])
def test_one_of_two_comes_first(scale: float) -> None:
    found = np.asarray(order_probabilities(jnp.asarray(pulls(scale)), jax.random.key(2)))
    np.testing.assert_allclose((found + found.T)[OFF_DIAGONAL], 1, atol=1e-6)
    assert ((found > 0) & (found < 1)).all(), "what a sample does not hold is not excluded"


def test_what_is_clear_for_some_pairs_decides_others() -> None:
    """A before B and B before C leave C before A no chance, though nothing was said of these two."""
    evidence = np.zeros((SIZE, SIZE))
    evidence[1, 0] = evidence[2, 1] = 15
    found = np.asarray(order_probabilities(jnp.asarray(evidence - evidence.T), jax.random.key(0)))
    assert found[2, 0] > 0.99
    assert found[3] == pytest.approx([0.75, 0.5, 0.25, 0], abs=0.1), "D may stand at any of four places"


@pytest.mark.parametrize("seed", range(2))
def test_long_chain_of_sure_pairs_is_followed_from_end_to_end(seed: int) -> None:
    """Nothing is said but of neighbours, so that one wrong start would take long to mend, a variable at a time."""
    places = np.random.default_rng(seed).permutation(13)
    evidence = np.zeros((13, 13))
    evidence[places[1:], places[:-1]] = 20
    found = np.asarray(order_probabilities(jnp.asarray(evidence - evidence.T), jax.random.key(seed)))
    position = np.argsort(places)
    assert found[position[None, :] < position[:, None]].min() > 0.99


def test_likely_order_follows_all_evidence_that_can_be_followed_at_once() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        position = rng.permutation(SIZE)
        earlier = position[None, :] < position[:, None]
        evidence = np.where(earlier & (rng.random((SIZE, SIZE)) < 0.6), 1 + rng.random((SIZE, SIZE)), 0.0)
        order = np.asarray(_likely_order(jnp.asarray(evidence - evidence.T), jax.random.key(seed)))
        assert sorted(order.tolist()) == list(range(SIZE))
        found = np.argsort(order)
        assert (found[None, :] < found[:, None])[evidence > 0].all()


def over_all_graphs(evidence: Numbers, adjacent: NDArray[np.bool_]) -> Numbers:
    """P(j -> i) of adjacent pairs, by the sum over all ways to direct them without a cycle."""
    graphs: dict[bytes, NDArray[np.bool_]] = {}
    for position in map(np.array, itertools.permutations(range(SIZE))):
        graph = adjacent & (position[None, :] < position[:, None])
        graphs[graph.tobytes()] = graph
    weights = [np.exp((evidence * graph).sum() / 2) for graph in graphs.values()]
    return np.asarray(np.average(list(graphs.values()), axis=0, weights=weights))


def both_ways(*pairs: tuple[int, int]) -> NDArray[np.bool_]:
    adjacent = np.zeros((SIZE, SIZE), bool)
    adjacent[tuple(zip(*pairs, strict=True))] = True
    return adjacent | adjacent.T


@pytest.mark.parametrize(
    "adjacent",
    [
        both_ways((0, 1), (1, 2), (2, 3)),
        both_ways((0, 1), (0, 2), (0, 3)),
        both_ways((0, 1), (1, 2), (0, 2)),
        both_ways((0, 1), (1, 2), (2, 3), (3, 0)),
        OFF_DIAGONAL,
    ],
    ids=["chain", "star", "triangle", "square", "all"],
)
def test_every_graph_counts_once_however_many_orders_suit_it(adjacent: NDArray[np.bool_]) -> None:
    """12,800 draws; tolerance as above. By orders alone, the chain and the star are off by 0.18."""
    evidence = pulls(1.0) * adjacent
    found = order_probabilities(jnp.asarray(evidence), jax.random.key(0), jnp.asarray(adjacent), sweeps=2000)
    assert np.abs(found - over_all_graphs(evidence, adjacent))[adjacent].max() < 0.03


def test_edge_in_the_middle_of_a_long_chain_needs_no_more_evidence_than_one_alone() -> None:
    """3 nats are odds of 20 to 1 wherever in the chain; 1,280 draws, of which many add nothing."""
    evidence = np.diag(np.full(12, 3.0), -1)
    adjacent = jnp.asarray(evidence + evidence.T > 0)
    found = order_probabilities(jnp.asarray(evidence - evidence.T), jax.random.key(0), adjacent)
    assert np.diag(found, -1) == pytest.approx(1 / (1 + np.exp(-3)), abs=0.1)


def test_order_of_variables_permutes_the_orders() -> None:
    """Two samples of 12,800 each; tolerance as above, twice."""
    new = np.array([2, 0, 3, 1])
    first, moved = (
        np.asarray(order_probabilities(jnp.asarray(each), jax.random.key(0), sweeps=2000))
        for each in (pulls(1.0), pulls(1.0)[np.ix_(new, new)])
    )
    assert np.abs(moved - first[np.ix_(new, new)])[OFF_DIAGONAL].max() < 0.06


# ---------------------------------------------------------------------------------------------------- weighing

FREE = (1, 2, 1, 3)  # states of each variable, less one


@cache
def gains_of(scale: float = 20.0, seed: int = 0) -> Gains:
    rng = np.random.default_rng(seed)
    total = rng.normal(0, scale, (COUNT, SIZE, SIZE)) * OFF_DIAGONAL
    square = rng.uniform(0, scale, (COUNT, SIZE, SIZE)) * OFF_DIAGONAL
    return Gains(*(jnp.asarray(each, jnp.float32) for each in (total, square, rng.integers(100, 500, COUNT))))


def touched_of(seed: int = 0) -> Numbers:
    """One target or none in each environment, with some doubt."""
    return np.asarray(np.random.default_rng(seed).dirichlet(np.full(SIZE + 1, 0.3), COUNT)[:, :SIZE])


def by_loops(gains: Gains, touched: Numbers, slack: float, cost: float) -> tuple[Numbers, Numbers, Numbers]:
    """Existence, its square and orientation, one edge and one environment at a time.

    What speaks for an edge whose cause was touched counts up to the cost of that effect in a new mechanism.
    """
    total, square, rows = (np.asarray(each, np.float64) for each in gains)
    result = np.zeros((3, SIZE, SIZE))
    for i, j, e in itertools.product(range(SIZE), range(SIZE), range(COUNT)):
        left_alone, gain = 1 - touched[e, i], total[e, i, j]
        price = cost * FREE[i] * FREE[j]
        counted = (1 - touched[e, j]) * gain + touched[e, j] * min(gain, price)
        result[:, i, j] += [
            left_alone * (counted - slack * rows[e]),
            left_alone * square[e, i, j],
            left_alone * touched[e, j] * counted,
        ]
    return result[0], result[1], result[2]


@pytest.mark.parametrize("seed", range(3))
def test_evidence_is_the_sum_over_environments(seed: int) -> None:
    gains, touched = gains_of(seed=seed), touched_of(seed)
    found = weigh(gains, jnp.asarray(touched), 0.01, jnp.asarray(3.0 * np.multiply.outer(FREE, FREE)))
    for ours, expected in zip(found, by_loops(gains, touched, 0.01, 3.0), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-3)


def sure_targets(*targets: int | None) -> Numbers:
    return np.array([[float(i == target) for i in range(SIZE)] for target in targets])


def test_environment_of_a_target_never_counts_for_its_own_row() -> None:
    """Whatever it says of that row, bit for bit; of all other rows it does speak."""
    touched = sure_targets(0, 1, 2, 3, None)
    other = np.array(gains_of().total)
    other[np.arange(SIZE), np.arange(SIZE)] = 1e6
    loud = gains_of()._replace(total=jnp.asarray(other), square=gains_of().square.at[0, 0].set(1e9))
    for ours, theirs in zip(one_update(gains_of(), touched), one_update(loud, touched), strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
    other[0, 1] = -1e6
    loud = gains_of()._replace(total=jnp.asarray(other))
    assert (one_update(loud, touched)[0] != one_update(gains_of(), touched)[0]).any(axis=1).tolist() == [
        False,
        True,
        False,
        False,
    ]


def one_update(gains: Gains, touched: Numbers) -> list[Any]:
    """Logits, orders and evidence after it."""
    after = updated(start(), gains, touched)
    return [after.gamma, after.precedes, *after.evidence]


# ----------------------------------------------------------------------------------------------------- updates


def start() -> Weighed:
    return unweighed(SIZE, SETTINGS)


def updated(
    structure: Weighed,
    gains: Gains,
    touched: Numbers,
    beliefs: Numbers = BELIEFS,
    *,
    scale: float = 1.0,
    clamp: Clamp = ALL_OPEN,
    settings: Settings = SETTINGS,
    fresh: bool = True,
) -> Weighed:
    return follow(
        structure,
        gains,
        jnp.asarray(touched, jnp.float32),
        jnp.asarray(beliefs, jnp.float32),
        jnp.asarray(scale, jnp.float32),
        jnp.asarray(FREE),
        Clamp(*map(jnp.asarray, clamp)),
        jax.random.key(0),
        settings,
        fresh,
    )


def now(seed: int = 0) -> Numbers:
    """The evidence of one iteration: existence, its square, orientation ``[3, M, M]``."""
    return np.stack(by_loops(gains_of(seed=seed), touched_of(), SETTINGS.slack, SETTINGS.edge_cost))


def gathered(structure: Weighed) -> Numbers:
    return np.stack([np.asarray(each, np.float64) for each in structure.evidence[:3]])


def after_each(seeds: Any, *, fresh: bool, beliefs: Any = BELIEFS, scale: float = 1.0) -> Numbers:
    """The evidence after updates with the gains of these seeds, under beliefs that may differ from one to the next."""
    structure = start()
    each = [beliefs] * len(seeds) if np.ndim(beliefs) == 2 else beliefs
    for seed, held in zip(seeds, each, strict=True):
        structure = updated(structure, gains_of(seed=seed), touched_of(), held, fresh=fresh, scale=scale)
    return gathered(structure)


def test_first_evidence_is_that_of_the_first_iteration() -> None:
    """Times the share of environments that were not looked at, if any."""
    for fresh, scale in ((True, 1.0), (False, 1.0), (False, 2.5)):
        np.testing.assert_allclose(after_each([0], fresh=fresh, scale=scale), scale * now(), rtol=1e-4, atol=1e-2)


def test_fresh_evidence_adds_up() -> None:
    """New rows every time: the sum, of which a tenth is forgotten at each update."""
    expected = now(2) + 0.9 * now(1) + 0.81 * now(0)
    np.testing.assert_allclose(after_each([0, 1, 2], fresh=True), expected, rtol=1e-4, atol=1e-2)


def test_evidence_of_the_same_rows_is_averaged() -> None:
    """The plain mean at first; from the tenth update on the newest counts a tenth."""
    expected = np.mean([now(seed) for seed in range(4)], axis=0)
    np.testing.assert_allclose(after_each(range(4), fresh=False), expected, rtol=1e-4, atol=1e-2)
    ten = np.mean([now(seed) for seed in range(10)], axis=0)
    found = after_each([*range(10), 0, 1], fresh=False)
    np.testing.assert_allclose(found, 0.81 * ten + 0.09 * now(0) + 0.1 * now(1), rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("fresh", [True, False])
def test_evidence_is_forgotten_where_beliefs_about_the_rest_of_the_row_have_moved(fresh: bool) -> None:
    """By exp of how far they moved together; the other rows keep theirs."""
    moved = BELIEFS.copy()
    moved[2, [0, 3]] = 0.9, 0.05
    found = after_each([0, 1], fresh=fresh, beliefs=[BELIEFS, moved])
    kept = np.full((SIZE, 1), 0.9 if fresh else 0.5)
    kept[2] *= np.exp(-0.65 - 0.2)
    expected = kept * now(0) + (1 if fresh else 1 - kept) * now(1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("stride", [0.3, 1.0])
def test_logits_move_by_at_most_a_stride(stride: float) -> None:
    """And by all of it where the evidence is overwhelming, until they reach a limit."""
    settings = Settings(**{**vars(SETTINGS), "stride": stride})
    structure, touched = start(), sure_targets(None, None, None, None, None)
    for _ in range(8):
        before = np.asarray(structure.gamma)
        structure = updated(structure, gains_of(100.0), touched, settings=settings)
        assert (np.abs(structure.gamma - before) <= stride + 1e-5).all()
    wanted = np.sign(np.asarray(structure.evidence.existence))
    clear = OFF_DIAGONAL & (np.abs(structure.evidence.existence) > 100)
    assert clear.sum() > 6
    np.testing.assert_allclose(structure.gamma[clear], wanted[clear] * min(8 * stride, 6), atol=1e-4)


def test_logits_settle_at_what_the_evidence_says() -> None:
    """Less the chance part and what an edge must bring."""
    structure, touched = start(), sure_targets(None, None, None, None, None)
    gains = gains_of(1.0)._replace(total=gains_of(1.0).total + 4)
    for _ in range(12):
        structure = updated(structure, gains, touched, fresh=False)
    existence, square, _ = by_loops(gains, touched, SETTINGS.slack, SETTINGS.edge_cost)
    expected = np.clip(existence - 0.5 * np.sqrt(square) - 3.0, -6, 6)
    np.testing.assert_allclose(structure.gamma, expected, atol=1e-3)
    assert (np.abs(expected) < 5).mean() > 0.5, "most are at no limit"


# ---------------------------------------------------------------------------------------------- what is believed


def believed(structure: Weighed, clamp: Clamp = ALL_OPEN) -> Numbers:
    return np.asarray(edge_probabilities(structure.gamma, clamp, structure.precedes), np.float64)


def long_after(clamp: Clamp = ALL_OPEN, *, total: Any = None, touched: Any = None, times: int = 12) -> Weighed:
    """Many updates with the same gains; without `total` every edge is worth a lot both ways."""
    gains = gains_of()._replace(total=jnp.asarray(np.full((COUNT, SIZE, SIZE), 50.0) if total is None else total))
    structure = start()
    for _ in range(times):
        given = sure_targets(0, 1, 2, 3, None) if touched is None else touched
        structure = updated(structure, gains, given, believed(structure, clamp), clamp=clamp)
    return structure


def test_before_any_evidence_everything_is_open() -> None:
    np.testing.assert_allclose(believed(start())[OFF_DIAGONAL], 0.25)
    assert (np.diagonal(believed(start())) == 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_two_cycle_is_never_believed(seed: int) -> None:
    """However much both directions are worth, in every update on the way."""
    rng = np.random.default_rng(seed)
    structure = start()
    for _ in range(6):
        gains = gains_of()._replace(total=jnp.asarray(rng.uniform(0, 100, (COUNT, SIZE, SIZE)), jnp.float32))
        structure = updated(structure, gains, touched_of(seed), believed(structure))
        found = believed(structure)
        assert ((found + found.T)[OFF_DIAGONAL] <= 1).all()
    assert (found + found.T)[OFF_DIAGONAL].min() > 0.9, "each pair is joined, one way or the other"


def test_without_orders_a_two_cycle_can_be_believed() -> None:
    plain = Settings(**{**vars(SETTINGS), "ordered": False})
    structure = unweighed(SIZE, plain)
    gains = gains_of()._replace(total=jnp.full((COUNT, SIZE, SIZE), 50.0))
    for _ in range(5):
        structure = updated(structure, gains, touched_of(), believed(structure), settings=plain)
    assert (np.asarray(structure.precedes) == 1).all()
    assert believed(structure)[OFF_DIAGONAL].min() > 0.9


def test_edge_is_turned_towards_what_did_not_notice() -> None:
    """Touching A leaves A a good predictor of B; touching B makes B a bad one of A: A comes first."""
    total = np.zeros((COUNT, SIZE, SIZE), np.float32)
    total[:, 0, 1] = total[:, 1, 0] = 40
    total[1, 0, 1] = -60  # where B was touched
    found = believed(long_after(total=total))
    assert found[1, 0] > 0.95
    assert found[0, 1] < 0.01
    quiet = OFF_DIAGONAL.copy()
    quiet[:2, :2] = False
    assert found[quiet].max() < 0.05


@pytest.mark.parametrize(
    ("told", "logit", "reverse", "heard"),
    [
        (10.0, 50.0, 50.0, 10.0),  # for an edge that is there
        (10.0, 50.0, -50.0, 10.0),  # whatever there is the other way
        (10.0, -50.0, 50.0, 0.0),  # for an edge that cannot be
        (-10.0, 50.0, 50.0, -10.0),  # against one of two directions
        (-10.0, 50.0, -50.0, 0.0),  # against the only one that there could be
        (-10.0, -50.0, 50.0, 0.0),
        (-10.0, 0.0, 0.0, -2.5),
    ],
)
def test_against_an_edge_speaks_for_its_reverse_only_if_that_may_be(
    told: float, logit: float, reverse: float, heard: float
) -> None:
    orientation = jnp.zeros((SIZE, SIZE)).at[1, 0].set(told)
    gamma = jnp.zeros((SIZE, SIZE)).at[1, 0].set(logit).at[0, 1].set(reverse)
    expected = np.zeros((SIZE, SIZE))
    expected[1, 0] = heard
    np.testing.assert_allclose(heard_of(orientation, gamma), expected, atol=1e-6)


def test_cause_of_a_cause_does_not_come_last_because_it_is_no_parent() -> None:
    """A -> B -> C: where B is not believed, A looks like a parent of C, which fails wherever A is touched."""
    orientation = jnp.zeros((SIZE, SIZE)).at[1, 0].set(50.0).at[2, 1].set(50.0)
    orientation = orientation.at[2, 0].set(-270.0).at[0, 2].set(-2_000.0)
    gamma = jnp.full((SIZE, SIZE), -6.0).at[1, 0].set(6.0).at[2, 1].set(6.0).at[2, 0].set(6.0)
    heard = heard_of(orientation, gamma)
    before = order_probabilities(jnp.clip(heard - heard.T, -20, 20), jax.random.key(0))
    assert before[1, 0] > 0.95
    assert before[2, 1] > 0.95


def test_forbidden_edges_stay_out_and_required_ones_in() -> None:
    """Against all that the evidence says, in every update on the way."""
    clamp = Knowledge(required=[("D", "A")], forbidden=[("A", "B"), ("C", "B")]).clamp(NAMES)
    total = np.full((COUNT, SIZE, SIZE), 50.0, np.float32)
    total[:, 0, 3] = -100  # D -> A
    for times in (1, 3, 10):
        found = believed(long_after(clamp, total=total, times=times), clamp)
        assert [found[1, 0], found[1, 2], found[0, 3], found[3, 0]] == [0, 0, 1, 0]
        assert (found[clamp.open] > 0).all()


def test_required_edges_set_the_order() -> None:
    """Of the variables between them too, from the first update, and against all evidence of orientation."""
    clamp = Knowledge(required=[("D", "C"), ("C", "B")]).clamp(NAMES)
    for times in (1, 10):
        structure = long_after(clamp, times=times)
        before = np.asarray(structure.precedes)
        assert [before[2, 3], before[1, 2], before[1, 3]] == pytest.approx([0.999] * 3, abs=1e-5)
        assert believed(structure, clamp)[3, 1] < 0.01, "B -> D would close a cycle"


# ------------------------------------------------------------------------------------------- orders and graphs


@pytest.mark.parametrize("fresh", [False, True], ids=["same rows", "new rows"])
def test_graphs_count_once_whether_rows_are_new_or_the_same(fresh: bool) -> None:
    """A star: A has an edge with each of the others, and 1 nat says that it comes after each."""
    total = np.full((COUNT, SIZE, SIZE), -50.0)
    total[:, 0, 1:] = total[:, 1:, 0] = 50.0
    total[1:4, 0, 1:], total[0, 1:, 0] = 1.0, 0.0
    gains = Gains(jnp.asarray(total), jnp.zeros((COUNT, SIZE, SIZE)), jnp.zeros(COUNT))
    late = start()._replace(
        gamma=jnp.full((SIZE, SIZE), 6.0), evidence=start().evidence._replace(updates=jnp.array(9.0))
    )
    settings = dataclasses.replace(SETTINGS, memory=0.0, stride=20.0)
    after = updated(late, gains, sure_targets(0, 1, 2, 3, None), settings=settings, fresh=fresh)
    star = np.asarray(after.gamma > 0)
    assert star.tolist() == both_ways((0, 1), (0, 2), (0, 3)).tolist()
    pull = np.where(star, np.sign(np.arange(SIZE)[None, :] - np.arange(SIZE)[:, None]), 0.0)
    assert np.abs(np.asarray(after.precedes) - over_all_graphs(pull, star))[star].max() < 0.05
    assert np.abs(over_all_orders(pull) - over_all_graphs(pull, star))[star].max() > 0.09


def test_pairs_may_be_adjacent_by_belief_or_by_knowledge() -> None:
    gamma = np.full((SIZE, SIZE), -6.0)
    gamma[1, 0] = gamma[3, 2] = 6.0
    clamp = Knowledge(required=[("A", "D")], forbidden=[("C", "D")]).clamp(NAMES)
    assert np.asarray(_adjacent(jnp.asarray(gamma), clamp)).tolist() == both_ways((0, 1), (0, 3)).tolist()
