"""The cells that ship with the package: what is said about them is so."""

import gzip
from importlib.resources import files

import sdi
from sdi import networks
from sdi.data import SACHS_CONSENSUS, SACHS_ENVIRONMENT, SACHS_OBSERVATIONAL, SACHS_TARGETS, sachs_cytometry

ROWS = {
    **{"cd3cd28": 853, "cd3cd28_icam2": 902, "akt_inhibitor": 911, "g0076": 723, "psitectorigenin": 810},
    **{"u0126": 799, "ly294002": 848, "pma": 913, "b2camp": 707},
}


def test_cells_come_with_their_conditions_in_order() -> None:
    cells = sachs_cytometry()
    assert cells.shape == (7466, 12)
    assert cells[SACHS_ENVIRONMENT].value_counts(sort=False).to_dict() == dict(sorted(ROWS.items()))
    assert list(dict.fromkeys(cells[SACHS_ENVIRONMENT])) == list(ROWS)
    assert cells.iloc[0, :3].tolist() == [26.4, 13.2, 8.82]
    assert (cells.iloc[:, :-1] > 0).all(axis=None)


def test_cells_make_a_dataset_as_they_are() -> None:
    dataset = sdi.dataset_from_table(
        sachs_cytometry(), SACHS_ENVIRONMENT, observational=SACHS_OBSERVATIONAL, targets=SACHS_TARGETS, bins=3
    )
    assert len(dataset.observational) == 853 + 902
    assert [len(environment.rows) for environment in dataset.environments] == list(ROWS.values())[2:]
    assert dataset.cardinalities == (3,) * 11
    targets = {e.name: None if e.target is None else [dataset.names[i] for i in e.target] for e in dataset.environments}
    assert targets == {name: list(SACHS_TARGETS[name]) if name in SACHS_TARGETS else None for name in targets}
    assert targets["ly294002"] is None


def test_consensus_is_that_of_the_repository() -> None:
    edges = {(parent, variable.name) for variable in networks.load("sachs").variables for parent in variable.parents}
    assert set(SACHS_CONSENSUS) == edges
    assert len(SACHS_CONSENSUS) == 17


def test_file_is_the_same_whenever_it_is_packed() -> None:
    packed = (files("sdi.data") / "sachs_cytometry.csv.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # no time in its header
    assert gzip.decompress(packed).startswith(b"Raf,Mek,Plcg,PIP2,PIP3,Erk,Akt,PKA,PKC,P38,Jnk,condition\r\n")
