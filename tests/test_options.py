"""Settings and edges out of what was typed."""

from dataclasses import fields

import pytest
from typer.testing import CliRunner

from sdi.cli.app import app
from sdi.cli.options import edge_from, settings_from
from sdi.method.settings import Settings


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("batch=10_000", "batch", 10_000),
        ("hidden=none", "hidden", None),
        ("hidden = 12", "hidden", 12),
        ("seconds=1e3", "seconds", 1000.0),
        ("belief_betas=0.9, 0.999", "belief_betas", (0.9, 0.999)),
        ("dropout=false", "dropout", False),
        ("dropout=ON", "dropout", True),
        ("estimator=draws", "estimator", "draws"),
    ],
)
def test_setting_takes_the_type_of_its_field(text: str, name: str, value: object) -> None:
    made = settings_from("default", [text])
    assert made == Settings(**{name: value})  # type: ignore[arg-type]
    assert type(getattr(made, name)) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch=1.5", "expected a whole number"),
        ("hidden=x", "expected a whole number or none"),
        ("belief_betas=0.9", "expected 2 values separated by commas"),
        ("belief_betas=0.9,x", "expected a number"),
        ("dropout=maybe", "expected true or false"),
        ("estimator=foo", "expected one of "),
        ("sparsity=nan", "sparsity must be"),
        ("=1", "unknown setting ''"),
    ],
)
def test_value_of_another_type_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings_from("default", [text])


def test_every_setting_can_be_typed_as_it_is_listed() -> None:
    lines = CliRunner().invoke(app, ["discover", "--list-settings"]).stdout.splitlines()[::2]
    texts = [line.split(";")[0] for line in lines]
    assert len(texts) == len(fields(Settings))
    assert settings_from("paper", texts) == Settings()


def test_preset_is_what_it_says() -> None:
    assert settings_from("paper", ["sparsity=0.3"]) == Settings.paper(sparsity=0.3)


def test_shortcut_counts_where_it_is_given() -> None:
    made = settings_from("default", [], iterations=7, seconds=None, temperature=3.0)
    assert made == Settings(iterations=7, temperature=3.0)


@pytest.mark.parametrize(
    ("text", "names", "pair"),
    [
        ("A->B", ("A", "B"), ("A", "B")),
        (" A -> B ", ("A", "B"), ("A", "B")),
        ("A->B->C", ("A->B", "C"), ("A->B", "C")),
        ("A->B->C", ("A", "B->C"), ("A", "B->C")),
        ("A->X", ("A", "B"), ("A", "X")),
    ],
)
def test_edge_is_split_where_both_ends_are_variables(text: str, names: tuple[str, ...], pair: tuple[str, str]) -> None:
    assert edge_from(text, names) == pair
