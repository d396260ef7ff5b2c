"""What several tests share: a network read once, and the library whose exact inference is the oracle."""

import warnings
from types import ModuleType

import pytest

from sdi import networks
from sdi.formats.bif import Network


@pytest.fixture(scope="session")
def asia() -> Network:
    return networks.load("asia")


@pytest.fixture(scope="session")
def pyagrum() -> ModuleType:
    """Imported with warnings let pass: its compiled part warns on import, and crashes where that is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pyagrum

    return pyagrum
