"""Networks of the Bayesian Network Repository that ship with the package."""

from importlib.resources import as_file, files

from sdi.formats.bif import Network, read_bif

_SUFFIX = ".bif.gz"


def names() -> tuple[str, ...]:
    """The names that `load` knows, in alphabetical order."""
    found = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


def load(name: str) -> Network:
    """The network called `name`, its numbers as they stand in the repository."""
    if name not in names():
        raise ValueError(f"unknown network {name!r}; choose from {', '.join(names())}")
    with as_file(files(__name__) / f"{name}{_SUFFIX}") as path:
        return read_bif(path)
