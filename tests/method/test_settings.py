"""Settings: the values of the paper, and the values that are refused."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from sdi.method.settings import PRESETS, Settings, describe

# Symbol by symbol, as the appendix of the paper states them under "Sample complexity" and "Hyperparameters".
STATED = {
    "iterations": 500,  # I, 500 to 2,000
    "batch": 256,  # B
    "fit_steps": 10_000,  # F
    "interventions": 100,  # Q
    "prediction_batches": 100,  # N_P
    "prediction_configurations": 10,  # C_P
    "scoring_batches": 10,  # N_S
    "scoring_configurations": 25,  # C_S
    "fit_rate": 5e-2,
    "belief_rate": 5e-3,
    "sparsity": 0.1,  # the L1 norm regularizer
    "acyclicity": 0.5,  # the DAG regularizer
    "hidden": None,  # max(4 M, 4 N)
    "dropout": True,
    "estimator": "paper",
    "temperature": 2.0,
}


@pytest.mark.parametrize(("name", "value"), STATED.items())
def test_paper_preset_has_the_value_that_the_paper_states(name: str, value: object) -> None:
    assert getattr(Settings.paper(), name) == value


def test_paper_preset_has_the_momentum_and_limits_that_the_paper_states() -> None:
    paper = Settings.paper()
    assert paper.fit_betas[0] == 0.9
    assert paper.belief_betas[0] == 0.1
    assert 500 <= (paper.rows_per_intervention or 0) <= 2000
    assert paper.all_interventions is None
    assert paper.seconds is None


def test_paper_preset_does_not_know_the_targets() -> None:
    assert Settings.paper().targets in ("deterioration", "likelihood")


@pytest.mark.parametrize(("variables", "rows"), [(1, 20_000), (3, 2222), (5, 800), (8, 500), (9, 500), (1041, 500)])
def test_few_variables_are_given_more_rows_of_each_intervention(variables: int, rows: int) -> None:
    assert Settings().rows_scored == 500
    assert Settings(rows_per_intervention=70).rows_scored == 70
    assert Settings().rows_of_each(variables) == rows
    assert Settings(rows_per_intervention=70).rows_of_each(variables) == 70


def test_preset_takes_changes() -> None:
    changed = Settings.paper(fit_steps=7, estimator="ratio")
    assert (changed.fit_steps, changed.estimator, changed.prediction_batches) == (7, "ratio", 100)


def test_presets_go_by_name() -> None:
    assert PRESETS["paper"]() == Settings.paper()
    assert PRESETS["default"]() == Settings()


def test_settings_are_frozen_and_can_be_compiled_for() -> None:
    settings = Settings(fit_steps=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.fit_steps = 4  # type: ignore[misc]
    assert hash(settings) == hash(Settings(fit_steps=3))
    assert settings != Settings(fit_steps=4)


def test_settings_that_came_through_json_are_the_same() -> None:
    """A list stands for a tuple there."""
    settings = Settings(fit_betas=[0.8, 0.9], belief_betas=[0.2, 0.9])  # type: ignore[arg-type]
    assert settings == Settings(fit_betas=(0.8, 0.9), belief_betas=(0.2, 0.9))
    assert hash(settings) == hash(Settings(fit_betas=(0.8, 0.9), belief_betas=(0.2, 0.9)))


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert Settings(fit_steps=np.int64(5)) == Settings(fit_steps=5)  # type: ignore[arg-type]


WHOLE = (
    "iterations",
    "batch",
    "fit_steps",
    "interventions",
    "prediction_batches",
    "prediction_configurations",
    "scoring_batches",
    "scoring_configurations",
    "rows_per_intervention",
    "observational_rows",
    "all_interventions",
    "hidden",
    "patience",
)
NUMBERS = (
    "fit_rate",
    "belief_rate",
    "belief_start",
    "belief_limit",
    "sparsity",
    "acyclicity",
    "temperature",
    "seconds",
)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [0, -3, 2.5, 1e3, "10"])
def test_counts_are_whole_numbers_of_at_least_one(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1; got {value!r}"):
        Settings(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_rates_and_weights_are_not_negative(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a number of at least 0; got {value}"):
        Settings(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": "knwon"}, r"unknown targets 'knwon'; choose from .*\bknown\b"),
        ({"estimator": "foo"}, r"unknown estimator 'foo'; choose from .*\bratio\b"),
        ({"estimator": None}, "unknown estimator None"),
        ({"margin": 0.0}, "margin must lie between 0 and 0.5; got 0.0"),
        ({"margin": 0.5}, "margin must lie between 0 and 0.5; got 0.5"),
        ({"fit_betas": (0.9, 1.0)}, r"fit_betas must be two numbers from 0 to below 1; got \(0.9, 1.0\)"),
        ({"belief_betas": (-0.1, 0.9)}, r"belief_betas must be two numbers from 0 to below 1; got \(-0.1, 0.9\)"),
        ({"belief_betas": (0.9,)}, "belief_betas must be two numbers"),
    ],
)
def test_bad_value_is_refused_with_what_was_expected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**changes)


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("targets", {"known", "deterioration", "likelihood", "random", "ignored"}),
        ("estimator", {"ratio", "paper"}),
    ],
)
def test_every_variant_of_the_paper_can_be_chosen_and_is_listed_for_those_who_mistype(
    name: str, choices: set[str]
) -> None:
    for choice in choices:
        assert getattr(Settings.paper(**{name: choice}), name) == choice
    with pytest.raises(ValueError, match="choose from") as raised:
        Settings(**{name: "no such thing"})  # type: ignore[arg-type]
    assert choices <= set(str(raised.value).split("choose from ")[1].split(", "))


def test_targets_by_likelihood_ratio_need_all_environments_at_once() -> None:
    with pytest.raises(ValueError, match="choose targets='deterioration'"):
        Settings(estimator="ratio")


def test_settings_are_given_by_name_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        Settings(500)  # type: ignore[misc]


def test_every_setting_describes_itself() -> None:
    texts = {each.name: describe(each) for each in dataclasses.fields(Settings)}
    assert all(len(text) > 5 for text in texts.values())
    assert texts["prediction_batches"].endswith("(N_P)")
