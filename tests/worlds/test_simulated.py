"""Simulated worlds against exact answers: enumeration, another library's inference, and the formulas themselves.

Sampled frequencies are compared with exact probabilities by chi-square tests. There are fewer than 1,000 comparisons
in this file and each has a false alarm rate of 1e-9, so a correct program fails for at most one in a million choices
of seeds. `test_comparison_notices_one_percent` shows what the comparison is able to see.
"""

import gzip
import hashlib
import inspect
import itertools
import subprocess
import sys
import tracemalloc
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sdi import networks
from sdi.graphs import graph
from sdi.worlds.named import named_world
from sdi.worlds.neural import MLP, neural_world
from sdi.worlds.simulated import (
    Interventions,
    Mechanism,
    SimulatedEnvironment,
    SimulatedWorld,
    true_target,
)
from sdi.worlds.tables import Table, table_world
from sdi.worlds.world import Rows

FALSE_ALARM = 1e-9
ROWS = 100_000

Array = NDArray[np.float64]


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# ------------------------------------------------------------------------------------------------- oracles


def p_value(rows: Rows, expected: Array) -> float:
    """Of the chi-square test that rows ``[n, axes of expected]`` follow `expected`; 0 if an impossible row occurs."""
    codes = np.ravel_multi_index(tuple(rows.T.astype(np.intp)), expected.shape)
    counts, hopes = np.bincount(codes, minlength=expected.size), len(rows) * expected.ravel()
    if counts[hopes == 0].any():
        return 0.0
    rare = hopes < 10  # too few for the chi-square distribution: counted together
    counts = np.append(counts[~rare], counts[rare].sum())
    hopes = np.append(hopes[~rare], hopes[rare].sum())
    kept = hopes > 1e-9
    return float(stats.chisquare(counts[kept], hopes[kept], sum_check=False).pvalue) if kept.sum() > 1 else 1.0


def joint(tables: list[Array], parents: list[list[int]]) -> Array:
    """P(all variables), by multiplying out every table: ``[N_0, N_1, ...]``."""
    pieces = itertools.chain.from_iterable(
        (table, [*above, i]) for i, (table, above) in enumerate(zip(tables, parents, strict=True))
    )
    return np.asarray(np.einsum(*pieces, list(range(len(tables)))))


def forward(mlp: MLP) -> Array:
    """The table of a neural mechanism, each entry by the formula on one-hot vectors."""
    sizes = [len(weights) for weights in mlp.w0]
    table = np.empty((*sizes, mlp.cardinality))
    for values in itertools.product(*map(range, sizes)):
        one_hot = [np.eye(size)[value] for size, value in zip(sizes, values, strict=True)]
        hidden = sum((x @ w for x, w in zip(one_hot, mlp.w0, strict=True)), start=mlp.b0)
        logits = np.array([h if h > 0 else 0.1 * h for h in hidden]) @ mlp.w1 + mlp.b1
        table[values] = np.exp(logits) / np.exp(logits).sum()
    return table


def exact_table(mechanism: Mechanism) -> Array:
    assert isinstance(mechanism, MLP | Table)
    return forward(mechanism) if isinstance(mechanism, MLP) else mechanism.table


def changed_tables(tables: list[Array], environment: SimulatedEnvironment, kind: str, rows: Rows) -> list[Array]:
    """The tables under an intervention. A hard one is put in from its definition, not from the program's mechanism."""
    (target,) = true_target(environment)
    shape = tables[target].shape
    if kind == "soft":
        replaced = exact_table(environment._changed.mechanisms[target])
        assert replaced.shape == shape
        assert not np.allclose(replaced, tables[target])
    elif kind == "uniform":
        replaced = np.full(shape, 1 / shape[-1])
    else:
        assert len(np.unique(rows[:, target])) == 1
        replaced = np.zeros(shape)
        replaced[..., rows[0, target]] = 1
    return [replaced if i == target else table for i, table in enumerate(tables)]


def small_world(name: str, kind: str) -> tuple[SimulatedWorld, list[Array], list[list[int]]]:
    """A world small enough to enumerate, with its tables from the file or from the formula, and their axes."""
    how = Interventions(kind=kind)  # type: ignore[arg-type]
    if name == "asia":
        network = networks.load("asia")
        names = [variable.name for variable in network.variables]
        world = table_world(network, interventions=how)
        axes = [[names.index(parent) for parent in variable.parents] for variable in network.variables]
        return world, [variable.table for variable in network.variables], axes
    size = len(graph(name).names)
    world = neural_world(graph(name), [2, 3, 4, 3][:size], rng=generator(1), interventions=how)
    axes = [np.flatnonzero(row).tolist() for row in world.graph.parents]
    return world, [exact_table(mechanism) for mechanism in world.mechanisms], axes


# ------------------------------------------------------------------- sampled frequencies and exact marginals


@pytest.mark.parametrize("name", ["asia", "chain3", "collider4"])
def test_observed_rows_follow_the_exact_joint_distribution(name: str) -> None:
    world, tables, axes = small_world(name, "soft")
    assert p_value(world.observe(ROWS, generator(2)), joint(tables, axes)) > FALSE_ALARM


@pytest.mark.parametrize("kind", ["soft", "uniform", "pinned"])
@pytest.mark.parametrize("name", ["asia", "chain3", "collider4"])
def test_rows_under_an_intervention_follow_the_exact_joint_distribution(name: str, kind: str) -> None:
    world, _, _ = small_world(name, kind)
    tables = [exact_table(mechanism) for mechanism in world.mechanisms]
    axes = [np.flatnonzero(row).tolist() for row in world.graph.parents]
    before, rng = joint(tables, axes), generator(3)
    for target in world.names:
        environment = world.intervene(rng, targets=[target])
        rows = environment.observe(ROWS, rng)
        expected = joint(changed_tables(tables, environment, kind, rows), axes)
        assert p_value(rows, expected) > FALSE_ALARM, target
        if not np.allclose(expected, before):  # asia's smoke is uniform, and so the same when it is drawn uniformly
            assert p_value(rows, before) < FALSE_ALARM, f"{target} was not touched at all"


@pytest.fixture
def alarm_file(tmp_path: Path) -> Path:
    path = tmp_path / "alarm.bif"
    path.write_bytes(gzip.decompress((files("sdi.networks") / "alarm.bif.gz").read_bytes()))
    return path


@pytest.mark.parametrize(
    ("kind", "target"),
    [(None, None), ("soft", "CATECHOL"), ("soft", "LVFAILURE"), ("uniform", "HR"), ("pinned", "VENTALV")],
)
def test_rows_of_alarm_follow_the_exact_inference_of_another_library(
    kind: str | None, target: str | None, alarm_file: Path, pyagrum: ModuleType
) -> None:
    """Every variable together with its parents: 37 tables in each situation."""
    oracle = pyagrum.loadBN(str(alarm_file))
    world = table_world(networks.load("alarm"), interventions=Interventions(kind=kind or "soft"))  # type: ignore[arg-type]
    rng = generator(4)
    if kind is None or target is None:
        rows = world.observe(ROWS, rng)
    else:
        environment = world.intervene(rng, targets=[target])
        rows = environment.observe(ROWS, rng)
        put_in(oracle, world, environment, kind, rows)
    inference = pyagrum.LazyPropagation(oracle)
    families = [{name, *(oracle.variable(j).name() for j in oracle.parents(name))} for name in world.names]
    for family in families:
        inference.addJointTarget(family)
    inference.makeInference()
    for family in families:
        columns = sorted(family)
        expected = in_order(inference.jointPosterior(family), columns, world)
        assert p_value(rows[:, [world.names.index(name) for name in columns]], expected) > FALSE_ALARM, columns


def in_order(tensor: Any, names: list[str], world: SimulatedWorld) -> Array:
    """A tensor of the other library with its axes in the order of `names` and its states in that of `world`."""
    array = tensor.reorganize(names[::-1]).toarray()  # its arrays have the axes of its names turned round
    for axis, name in enumerate(names):
        labels = list(tensor.variable(name).labels())
        order = [labels.index(state) for state in world.states[world.names.index(name)]]
        array = np.take(array, order, axis=axis)
    return np.asarray(array)


def put_in(oracle: Any, world: SimulatedWorld, environment: SimulatedEnvironment, kind: str, rows: Rows) -> None:
    """Make the other library's network the one under the intervention."""
    (target,) = true_target(environment)
    above = np.flatnonzero(world.graph.parents[target]).tolist()
    shape = [world.cardinalities[j] for j in (*above, target)]
    placeholder = [np.empty(shape if i == target else ()) for i in range(len(world.names))]
    table = changed_tables(placeholder, environment, kind, rows)[target]
    involved = [(world.names[j], world.states[j]) for j in (*above, target)]
    instance = oracle.cpt(world.names[target])
    for codes in itertools.product(*map(range, shape)):
        where = {name: states[code] for (name, states), code in zip(involved, codes, strict=True)}
        instance[where] = float(table[codes])


def test_comparison_notices_one_percent() -> None:
    """A table that is off by one percent in one entry, and an impossible row, are both seen."""
    right, wrong = np.array([[0.3, 0.2], [0.4, 0.1]]), np.array([[0.31, 0.19], [0.4, 0.1]])
    codes = generator(5).choice(4, ROWS, p=right.ravel())
    rows = np.stack(np.unravel_index(codes, (2, 2)), axis=1)
    assert p_value(rows, right) > FALSE_ALARM
    assert p_value(rows, wrong) < FALSE_ALARM
    assert p_value(rows, np.array([[0.3, 0.2], [0.5, 0.0]])) == 0


# ------------------------------------------------------------------ an intervention moves one conditional only


@pytest.mark.parametrize("kind", ["soft", "uniform", "pinned"])
@pytest.mark.parametrize("name", ["asia", "jungle8"])
def test_intervention_replaces_the_mechanism_of_its_target_alone(name: str, kind: str) -> None:
    world = named_world(name, rng=generator(), interventions=Interventions(kind=kind))  # type: ignore[arg-type]
    rng = generator(6)
    for _ in range(30):
        environment = world.intervene(rng)
        moved = [a is not b for a, b in zip(world.mechanisms, environment._changed.mechanisms, strict=True)]
        assert tuple(np.flatnonzero(moved).tolist()) == true_target(environment)
        assert len(true_target(environment)) == 1


def difference_of_conditionals(world: SimulatedWorld, first: Rows, second: Rows, i: int) -> float:
    """The p-value that P(variable i | parents) is the same in both: a chi-square of two samples per parent values."""
    parents, size = np.flatnonzero(world.graph.parents[i]), world.cardinalities[i]
    sizes = [world.cardinalities[j] for j in parents]
    keys = [
        np.ravel_multi_index(tuple(rows[:, parents].T.astype(np.intp)), sizes) if sizes else np.zeros(len(rows), int)
        for rows in (first, second)
    ]
    statistic, freedom = 0.0, 0
    for key in np.intersect1d(*keys):
        samples = (rows[of == key, i] for rows, of in zip((first, second), keys, strict=True))
        table = np.stack([np.bincount(sample, minlength=size) for sample in samples])
        table = table[:, table.sum(axis=0) >= 20]  # too rare for the chi-square distribution
        if table.shape[1] >= 2 and table.sum(axis=1).min() >= 20:
            result = stats.chi2_contingency(table, correction=False)
            statistic, freedom = statistic + result.statistic, freedom + result.dof
    return float(stats.chi2.sf(statistic, freedom)) if freedom else 1.0


@pytest.mark.parametrize("name", ["asia", "jungle8"])
def test_intervention_moves_the_sampled_conditional_of_its_target_alone(name: str) -> None:
    world = named_world(name, rng=generator(7), categories=3, temperature=2)
    rng = generator(8)
    left_alone = world.observe(ROWS, rng)
    for target in range(len(world.names)):
        touched = world.intervene(rng, targets=[target]).observe(ROWS, rng)
        moved = [difference_of_conditionals(world, left_alone, touched, i) for i in range(len(world.names))]
        assert [p < FALSE_ALARM for p in moved] == [i == target for i in range(len(world.names))], (target, moved)


def test_interventions_do_not_stack() -> None:
    world = named_world("asia", rng=generator())
    rng = generator(9)
    environments = [world.intervene(rng, targets=[i]) for i in range(8)]
    for i, environment in enumerate(environments):
        kept = [j for j in range(8) if environment._changed.mechanisms[j] is world.mechanisms[j]]
        assert kept == [j for j in range(8) if j != i]


# ------------------------------------------------------------------------------------------ neural mechanisms


@pytest.mark.parametrize(("name", "categories"), [("full4", 2), ("full4", [5, 2, 7, 3]), ("collider8", 2)])
def test_neural_mechanism_is_the_formula_on_one_hot_vectors(name: str, categories: Any) -> None:
    world = neural_world(graph(name), categories, rng=generator(20))
    for mechanism in world.mechanisms:
        table = exact_table(mechanism)
        every = np.indices(table.shape[:-1]).reshape(table.ndim - 1, table[..., 0].size).T
        assert np.allclose(mechanism.probabilities(every).reshape(table.shape), table, atol=1e-12)


@pytest.mark.parametrize("name", ["chain13", "alarm"])
def test_sampling_takes_little_memory_besides_its_result(name: str) -> None:
    """Half a megabyte and 16 kB per variable (one block of rows), however many rows are asked for."""
    world = named_world(name, rng=generator())
    world.observe(1, generator())
    tracemalloc.start()
    rows = world.observe(200_000, generator())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - rows.nbytes < 600_000 + 17_000 * len(world.names)


# ------------------------------------------------------------------------------------------ same seed, same bits


def bits() -> str:
    """A digest of rows from every kind of simulated world, observed, intervened upon and redrawn."""
    digest = hashlib.sha256()
    for name in ("jungle8", "random12:20", "scalefree12:2", "asia", "A->B->C, {A-D}->E"):
        rng = np.random.default_rng(26)
        world = named_world(name, rng=rng, categories=3, temperature=2, redrawn=True)
        for _ in range(3):
            world = world.redraw(rng)
            digest.update(world.observe(20_000, rng).tobytes())
            digest.update(world.intervene(rng).observe(500, rng).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_same_seed_gives_the_same_bits_in_another_process(hash_seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
    imports = "import hashlib\nimport numpy as np\nfrom sdi.worlds.named import named_world\n"
    program = imports + inspect.getsource(bits) + "print(bits())"
    elsewhere = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert elsewhere.stdout.strip() == bits()
