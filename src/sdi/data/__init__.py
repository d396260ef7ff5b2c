"""Data that ship with the package: real cells, the network that biologists agree on, and what was done to them."""

from importlib.resources import as_file, files

import pandas as pd

from sdi.formats.table import read_table

SACHS_FILE = "sachs_cytometry.csv.gz"
SACHS_ENVIRONMENT = "condition"
SACHS_OBSERVATIONAL = ("cd3cd28", "cd3cd28_icam2")

# Sachs et al., Science 308:523 (2005), as the Bayesian Network Repository lists it: (cause, effect)
SACHS_CONSENSUS = (
    ("Erk", "Akt"),
    ("Mek", "Erk"),
    ("PIP3", "PIP2"),
    ("PKA", "Akt"),
    ("PKA", "Erk"),
    ("PKA", "Jnk"),
    ("PKA", "Mek"),
    ("PKA", "P38"),
    ("PKA", "Raf"),
    ("PKC", "Jnk"),
    ("PKC", "Mek"),
    ("PKC", "P38"),
    ("PKC", "PKA"),
    ("PKC", "Raf"),
    ("Plcg", "PIP2"),
    ("Plcg", "PIP3"),
    ("Raf", "Mek"),
)

# What reagents act on, as far as it was measured. LY294002 blocks PI3K, which was not: what it touches is left open
SACHS_TARGETS = {
    "akt_inhibitor": ("Akt",),
    "g0076": ("PKC",),
    "psitectorigenin": ("PIP2",),
    "u0126": ("Mek",),
    "pma": ("PKC",),
    "b2camp": ("PKA",),
}


def sachs_cytometry() -> pd.DataFrame:
    """7,466 human T cells, 11 phosphorylated proteins, and the condition of each cell in the last column."""
    with as_file(files(__name__) / SACHS_FILE) as path:
        return read_table(path, SACHS_ENVIRONMENT)
