"""Settings: every choice of the method in one frozen record, with the symbol that the paper gives it."""

from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal, get_args

Targets = Literal["known", "deterioration", "likelihood", "random", "ignored"]
Estimator = Literal["ratio", "paper"]


def _symbol(default: Any, symbol: str, text: str) -> Any:
    return field(default=default, metadata={"symbol": symbol, "text": text})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to discover. ``Settings()`` is the default, ``Settings.paper()`` what Ke et al. state."""

    iterations: int = _symbol(500, "I", "times round the three phases, at most")
    batch: int = _symbol(256, "B", "rows in a batch")
    fit_steps: int = _symbol(2_000, "F", "phase 1: optimiser steps in an iteration")
    interventions: int = _symbol(100, "Q", "phase 2: interventions in an iteration, each with an update of the beliefs")
    prediction_batches: int = _symbol(10, "N_P", "batches to predict a target from")
    prediction_configurations: int = _symbol(10, "C_P", "configurations drawn for each of them")
    scoring_batches: int = _symbol(10, "N_S", "batches to score configurations on")
    scoring_configurations: int = _symbol(25, "C_S", "configurations drawn for each of them")
    rows_per_intervention: int = _symbol(1_000, "", "rows that are taken from one intervention, at most")
    observational_rows: int | None = _symbol(None, "", "rows observed for an iteration, at most; None is F times B")
    all_interventions: int | None = _symbol(None, "I Q", "interventions in the whole run, at most; None is no limit")

    hidden: int | None = _symbol(None, "H", "hidden units of a network; None is max(4 M, 4 N)")
    fit_rate: float = _symbol(5e-2, "", "Adam on the networks: learning rate")
    fit_betas: tuple[float, float] = _symbol((0.9, 0.999), "alpha", "Adam on the networks: decay of both moments")
    belief_rate: float = _symbol(5e-3, "", "Adam on the beliefs: learning rate")
    belief_betas: tuple[float, float] = _symbol((0.1, 0.999), "alpha", "Adam on the beliefs: decay of both moments")
    belief_start: float = _symbol(0.1, "gamma_0", "logits start at Uniform(-this, this)")
    belief_limit: float = _symbol(5.0, "", "logits are held between -this and this")
    sparsity: float = _symbol(0.1, "lambda_sparse", "weight of the sum of all edge probabilities; 0 is off")
    acyclicity: float = _symbol(0.5, "lambda_DAG", "weight of the 2-cycle penalty; 0 is off")
    dropout: bool = _symbol(True, "", "phase 1 draws configurations from the beliefs; False is all c_ij = 1")
    targets: Targets = _symbol("deterioration", "I_N", "how an undeclared target is found")
    estimator: Estimator = _symbol("ratio", "g_ij", "how scores become a gradient of the beliefs")
    temperature: float = _symbol(2.0, "", "of networks from BIF files, applied where such a world is made")

    margin: float = _symbol(0.05, "", "a belief is decided when it is this close to 0 or 1")
    patience: int = _symbol(10, "", "stop when all beliefs were decided, the same way, for so many iterations")
    seconds: float | None = _symbol(None, "", "stop after so many seconds; None is no limit")

    def __post_init__(self) -> None:
        _check_choice("targets", self.targets, get_args(Targets))
        _check_choice("estimator", self.estimator, get_args(Estimator))
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type in (int, int | None) and value is not None and value < 1:
                raise ValueError(f"{each.name} must be at least 1; got {value}")
            if each.type in (float, float | None) and value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{each.name} must be a number of at least 0; got {value}")
        if not 0 < self.margin < 0.5:
            raise ValueError(f"margin must lie between 0 and 0.5; got {self.margin}")

    @classmethod
    def paper(cls, **changes: Any) -> "Settings":
        """The values of the paper and, where it states none, of the program its authors released."""
        return cls(
            **{
                "fit_steps": 10_000,
                "prediction_batches": 100,
                "estimator": "paper",
                **changes,
            }
        )


PRESETS = {"default": Settings, "paper": Settings.paper}


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"unknown {name} {value!r}; choose from {', '.join(choices)}")


def describe(each: "Field[Any]") -> str:
    """One line on a field of Settings, for help texts."""
    symbol = each.metadata["symbol"]
    return f"{each.metadata['text']}{f' ({symbol})' if symbol else ''}"
