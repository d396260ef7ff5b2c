"""Every method of the comparison: what is called, what it is told, and what its version is."""

import ast
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from experiments.comparison.versions import code_version, fingerprint, program

Told = Literal["observational rows only", "targets unknown", "targets known"]


@dataclass(frozen=True)
class Method:
    """`call` is module:function, called as ``function(dataset, seed=..., seconds=..., **options) -> Result``."""

    call: str
    told: Told
    family: str  # variants of one method share it; the page reports the best of them and says which
    needs: tuple[str, ...] = ()  # packages from an index, as they are called there
    loads: tuple[str, ...] = ()  # modules to import before the clock starts
    options: dict[str, Any] = field(default_factory=dict)
    ours: Literal["", "tables", "neural", "auto"] = ""  # the part of the library that it is, if it is ours
    endless: bool = False  # can use a world that is redrawn at every look
    builds_on: tuple[str, ...] = ()  # modules of this folder whose change makes another version


_LOADS = {  # the module of each package that takes long to import
    "gcastle": "castle.algorithms",
    "causalicp": "causalicp",
    "causal-learn": "causallearn.search.ConstraintBased.PC",
    "graphical-model-learning": "graphical_model_learning",
    "gies": "gies",
}


def _method(module: str, told: Told, *needs: str, function: str = "run", **rest: Any) -> Method:
    loads = tuple(_LOADS[name] for name in needs if name in _LOADS)
    return Method(f"experiments.methods.{module}:{function}", told, rest.pop("family", module), needs, loads, **rest)


def _plain(function: str, told: Told, family: str, *builds_on: str) -> Method:
    return _method("plain", told, function=function, family=family, builds_on=builds_on)


def _ours(told: Told, family: str, part: Literal["tables", "neural", "auto"], **options: Any) -> Method:
    endless = told == "targets unknown"
    return Method(
        *("experiments.methods.ours:run", told, family, (), ("sdi.method.discover",), options),
        ours=part,
        endless=endless,
    )


_OBSERVED: Told = "observational rows only"
_UNKNOWN: Told = "targets unknown"
_KNOWN: Told = "targets known"

METHODS: dict[str, Method] = {
    # From the paper
    "notears_codes": _method("notears", _OBSERVED, "gcastle", options={"coding": "codes"}),
    "notears_one_hot": _method("notears", _OBSERVED, "gcastle", options={"coding": "one-hot"}),
    "dag_gnn_codes": _method("dag_gnn", _OBSERVED, "gcastle", "torch", options={"coding": "codes"}),
    "dag_gnn_one_hot": _method("dag_gnn", _OBSERVED, "gcastle", "torch", options={"coding": "one-hot"}),
    "icp": _method("icp", _UNKNOWN, "causalicp"),
    "icp_known": _method("icp", _KNOWN, "causalicp", family="icp_known"),
    "nonlinear_icp": _plain("invariant", _UNKNOWN, "nonlinear_icp", "nonlinear_icp", "bdeu"),
    "nonlinear_icp_known": _plain("invariant", _KNOWN, "nonlinear_icp_known", "nonlinear_icp", "bdeu"),
    "eaton_murphy": _plain("exact", _UNKNOWN, "eaton_murphy", "eaton_murphy", "bdeu"),
    # Absent from the paper
    "pc": _method("pc", _OBSERVED, "causal-learn"),
    "ges": _method("ges", _OBSERVED, "causal-learn"),
    "ut_igsp": _method("ut_igsp", _UNKNOWN, "graphical-model-learning"),
    "gies": _method("gies", _KNOWN, "gies", builds_on=("bdeu",)),
    "greedy": _plain("climb", _KNOWN, "greedy", "greedy", "bdeu"),
    # Ours
    "sdi_paper": _ours(_UNKNOWN, "sdi_paper", "neural", preset="paper"),
    "sdi_default": _ours(_UNKNOWN, "sdi_default", "auto"),
    "sdi_known": _ours(_KNOWN, "sdi_known", "auto"),
    "sdi_tables": _ours(_UNKNOWN, "sdi_tables", "tables", method="tables"),
    "sdi_neural": _ours(_UNKNOWN, "sdi_neural", "neural", method="neural"),
}


def chosen(names: str) -> dict[str, Method]:
    """The methods that a comma-separated list names, in the order of METHODS; `all` is all of them."""
    wanted = list(METHODS) if names == "all" else [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in METHODS:
            raise ValueError(f"unknown method {name!r}; choose from {', '.join(METHODS)}, or all")
    return {name: method for name, method in METHODS.items() if name in wanted}


def missing(method: Method) -> str | None:
    """The first package that is needed and not installed."""
    return next((name for name in method.needs if _version(name) is None), None)


def method_version(method: Method) -> str:
    """The packages that it calls, and a fingerprint of the code here that calls them, comments left out."""
    module = method.call.partition(":")[0]
    files = [_file(module), *(_file(f"{module.rpartition('.')[0]}.{name}") for name in method.builds_on)]
    code = fingerprint(map(program, files), repr(method.options))
    # A change of the library is another version of ours long before its number says so.
    library = [f"sdi {code_version(method.ours)}"] if method.ours else []
    return ", ".join([*(f"{name} {_version(name)}" for name in method.needs), *library, code])


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _file(module: str) -> str:
    found = find_spec(module)
    if found is None or found.origin is None:
        raise ValueError(f"expected a module {module}, found none; check its name in comparison/registry.py")
    return found.origin


def about(method: Method) -> str:
    """The first line of the file that tells of the method: its own, or that of what its wrapper calls."""
    module = method.call.partition(":")[0]
    wrapped = module.endswith(".plain") and method.builds_on
    return first_line(f"experiments.methods.{method.builds_on[0]}" if wrapped else module)


def first_line(module: str) -> str:
    """The first line of a module's docstring, read without running it."""
    text = ast.get_docstring(ast.parse(Path(_file(module)).read_text())) or ""
    return text.partition("\n")[0]
