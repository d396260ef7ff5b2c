"""Settings: every choice of the method in one frozen record, with the symbol that the paper gives it."""

from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal, get_args

Method = Literal["auto", "tables", "neural"]
Targets = Literal["likelihood-ratio", "deterioration", "likelihood", "known", "random", "ignored"]
Estimator = Literal["flips", "draws", "ratio", "paper"]
Masks = Literal["row", "batch"]
ENOUGH_ROWS, ROWS_OF_FEW = 500, 20_000  # of an intervention; and of one for each pair, where variables are few


def _symbol(default: Any, symbol: str, text: str) -> Any:
    return field(default=default, metadata={"symbol": symbol, "text": text})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to discover. ``Settings()`` is the default, ``Settings.paper()`` what Ke et al. state."""

    method: Method = _symbol("auto", "", "tables, neural networks, or whichever of the two predicts better")

    # The loop
    iterations: int = _symbol(
        60, "I", "times round the three phases, at most; of each method, and anew where rows are added"
    )
    interventions: int | None = _symbol(None, "Q", "interventions in an iteration; None is max(16, 2 M)")
    rows_per_intervention: int | None = _symbol(
        None, "", "rows that are taken from one intervention, at most; None is max(500, 20000 / M^2)"
    )
    observational_rows: int | None = _symbol(50_000, "", "rows observed for an iteration, at most; None is F times B")
    all_interventions: int | None = _symbol(None, "I Q", "interventions in the whole run, at most; None is no limit")

    # Phase 1
    batch: int = _symbol(256, "B", "rows in a batch")
    fit_steps: int = _symbol(900, "F", "optimiser steps when the mechanisms are new")
    shortest_fit: float = _symbol(1 / 3, "", "share of F that is enough where no variable may have many parents")
    refit_steps: int | None = _symbol(100, "", "steps when they are the same as before; None is F")
    fit_rate: float = _symbol(5e-3, "", "Adam on the networks: learning rate")
    anneal: float = _symbol(0.2, "", "share of that rate in the last third of F and in refits; 1 is constant")
    fit_betas: tuple[float, float] = _symbol((0.9, 0.999), "alpha", "Adam on the networks: decay of both moments")
    decay: float = _symbol(2_500.0, "", "weight decay, times the number of observational rows; 0 is off")
    hidden: int | None = _symbol(None, "H", "hidden units of a network; None is max(4 M, 4 N)")
    masks: Masks = _symbol("row", "", "a configuration is drawn for every row or for every batch")
    mask_margin: float = _symbol(0.1, "", "an open edge is drawn at least this often, and left out at least as often")
    dropout: bool = _symbol(True, "", "configurations are drawn from the beliefs; False is all c_ij = 1")

    # Phase 2
    targets: Targets = _symbol("likelihood-ratio", "I_N", "how an undeclared target is found")
    several_targets: bool = _symbol(False, "", "any number of variables may be touched at once, not just one or none")
    target_configurations: int = _symbol(16, "", "likelihood ratio: draws of parents, of which the best is used")
    target_steps: int = _symbol(30, "", "likelihood ratio: steps that refit a last layer")
    target_rate: float = _symbol(0.03, "", "likelihood ratio: their learning rate")
    prediction_batches: int = _symbol(10, "N_P", "deterioration: batches to predict a target from")
    prediction_configurations: int = _symbol(10, "C_P", "deterioration: configurations drawn for each of them")
    estimator: Estimator = _symbol(
        "flips", "g_ij", "what an edge is worth: by paired flips, or from drawn configurations"
    )
    scoring_batches: int = _symbol(10, "N_S", "ratio, paper: batches to score configurations on")
    scoring_configurations: int = _symbol(25, "C_S", "configurations drawn for each batch or block of rows")

    # Phase 3, flips and draws: beliefs follow the evidence
    ordered: bool = _symbol(True, "", "an edge is existence times orientation; False is existence alone")
    edge_cost: float = _symbol(3.0, "", "nats that an edge must bring")
    slack: float = _symbol(5e-4, "", "nats for each row that it must bring, for networks are never quite right")
    caution: float = _symbol(0.5, "", "standard errors by which it must")
    memory: float = _symbol(0.9, "", "share of earlier evidence that is kept while beliefs stay the same")
    stride: float = _symbol(1.0, "", "logits move by at most so much in an iteration")
    # Phase 3, ratio and paper: beliefs descend a gradient
    belief_rate: float = _symbol(5e-2, "", "Adam on the beliefs: learning rate")
    belief_betas: tuple[float, float] = _symbol((0.1, 0.999), "alpha", "Adam on the beliefs: decay of both moments")
    belief_start: float = _symbol(0.1, "gamma_0", "logits start at Uniform(-this, this)")
    belief_limit: float = _symbol(5.0, "", "logits are held between -this and this")
    sparsity: float = _symbol(0.02, "lambda_sparse", "weight of the sum of all edge probabilities; 0 is off")
    acyclicity: float = _symbol(0.1, "lambda_DAG", "weight of the 2-cycle penalty; 0 is off")

    # Tables
    sample_size: float = _symbol(10.0, "alpha", "tables: equivalent sample size of a table's Dirichlet prior")
    strengths: int = _symbol(3, "", "tables: equivalent sample sizes weighed, each ten times the last; 1 is BDeu alone")
    expected_parents: float = _symbol(2.0, "", "tables: parents that a variable has, before any row is seen")
    most_parents: int | None = _symbol(None, "", "tables: parents that a variable may have; None is no limit")
    largest_table: int | None = _symbol(
        None, "", "tables: cells that a table may have; None is a million, or any number where effects add up"
    )
    chains: int = _symbol(4, "", "tables: chains that sample graphs and targets")
    sweeps: int = _symbol(30, "", "tables: draws of each chain in the first iteration, twice as many in each next one")
    agreement: float = _symbol(1.05, "", "tables: R-hat below which chains agree")

    margin: float = _symbol(0.05, "", "a belief is decided when it is this close to 0 or 1")
    patience: int = _symbol(10, "", "stop when the graph was the same, and decided, for so many iterations")
    seconds: float | None = _symbol(None, "", "stop after so many seconds; None is no limit")
    temperature: float = _symbol(2.0, "", "of networks from BIF files, applied where such a world is made")

    def __post_init__(self) -> None:
        _check_choice("method", self.method, get_args(Method))
        _check_choice("targets", self.targets, get_args(Targets))
        _check_choice("estimator", self.estimator, get_args(Estimator))
        _check_choice("masks", self.masks, get_args(Masks))
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type in (int, int | None) and value is not None and (not hasattr(value, "__index__") or value < 1):
                raise ValueError(f"{each.name} must be a whole number of at least 1; got {value!r}")
            if each.type in (float, float | None) and value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{each.name} must be a number of at least 0; got {value}")
        for name in ("fit_betas", "belief_betas"):
            object.__setattr__(self, name, tuple(getattr(self, name)))  # a list, as JSON has it, cannot be compiled for
            if len(getattr(self, name)) != 2 or not all(0 <= beta < 1 for beta in getattr(self, name)):
                raise ValueError(f"{name} must be two numbers from 0 to below 1; got {getattr(self, name)}")
        if self.targets == "likelihood-ratio" and self.estimator in ("ratio", "paper"):
            raise ValueError(
                f"estimator {self.estimator!r} learns from one intervention at a time and cannot find targets by "
                "likelihood-ratio; choose targets='deterioration', or estimator='flips'"
            )
        for name in ("sample_size", "expected_parents"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be a number above 0; got {getattr(self, name)}")
        if not 0 < self.margin < 0.5:
            raise ValueError(f"margin must lie between 0 and 0.5; got {self.margin}")

    def rows_of_each(self, variables: int) -> int:
        """Rows that are taken from one intervention, at most."""
        return self.rows_per_intervention or max(ENOUGH_ROWS, ROWS_OF_FEW // variables**2)

    @property
    def rows_scored(self) -> int:
        """Rows of one intervention by which edges are scored, at most; more only help to tell targets apart."""
        return self.rows_per_intervention or ENOUGH_ROWS

    @classmethod
    def paper(cls, **changes: Any) -> "Settings":
        """The values of the paper and, where it states none, of the program its authors released."""
        stated: dict[str, Any] = {
            "method": "neural",
            "iterations": 500,
            "interventions": 100,
            "rows_per_intervention": 1_000,
            "observational_rows": None,
            "fit_steps": 10_000,
            "shortest_fit": 1.0,
            "refit_steps": None,
            "fit_rate": 5e-2,
            "anneal": 1.0,
            "decay": 0.0,
            "masks": "batch",
            "mask_margin": 0.0,
            "targets": "deterioration",
            "prediction_batches": 100,
            "estimator": "paper",
            "belief_rate": 5e-3,
            "sparsity": 0.1,
            "acyclicity": 0.5,
            "patience": 10,
        }
        return cls(**stated | changes)


PRESETS = {"default": Settings, "paper": Settings.paper}


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"unknown {name} {value!r}; choose from {', '.join(choices)}")


def describe(each: "Field[Any]") -> str:
    """One line on a field of Settings, for help texts."""
    symbol = each.metadata["symbol"]
    return f"{each.metadata['text']}{f' ({symbol})' if symbol else ''}"
