import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes.networks import table
from ensemblage.bayes import (
    BayesNetClassifier,
    BayesNetwork,
    EntryCapError,
)


@pytest.mark.parametrize("form", ["xmlbif", "bif"])
def test_round_trips_are_exact(form, iris, sprinkler):
    for network in (iris.graph(), sprinkler):
        text = getattr(network, f"to_{form}")()
        again = getattr(BayesNetwork, f"from_{form}")(text)
        assert again == network
        assert getattr(again, f"to_{form}")() == text


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1,
    max_size=6,
)  # fmt: skip


@settings(max_examples=60)
@given(
    st.lists(NAMES, min_size=2, max_size=2, unique=True),
    st.lists(NAMES, min_size=2, max_size=3, unique=True),
    st.floats(0, 1),
)
def test_round_trips_are_exact_for_any_names_and_numbers(names, states, chance):
    first, second = names
    rest = [1 - chance, *[0.0] * (len(states) - 2)]
    network = BayesNetwork(
        {first: states, second: ["a b", "_x5f_"]},
        {
            first: table([], [[]], [[chance, *rest]]),
            second: table([first], np.arange(len(states)), [[chance, 1 - chance]] * len(states)),
        },
    )
    assert BayesNetwork.from_bif(network.to_bif()) == network
    assert BayesNetwork.from_xmlbif(network.to_xmlbif()) == network


def test_a_table_too_large_to_write_out_is_named():
    states = {f"n{i}": [str(j) for j in range(100)] for i in range(5)}
    tables = {name: table([], [[]], [[0.01] * 100]) for name in states}
    tables["n4"] = table(["n0", "n1", "n2", "n3"], [[0] * 4], [[0.01] * 100])
    with pytest.raises(EntryCapError, match="table of 'n4' given 'n0', 'n1', 'n2', 'n3'"):
        BayesNetwork(states, tables).to_xmlbif()


def peers_network(shared_frame=None):
    frame = pd.DataFrame(
        {"size": [1.0, 2.0, 8.0, 9.0] * 10, "my colour": ["r", "g", "b & w", "g"] * 10}
    )
    return BayesNetClassifier().fit(frame, pd.Series([0, 0, 1, 1] * 10, name="verdict"))


def test_pgmpy_reads_our_files(tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="pgmpy is not installed")
    network = peers_network().graph()
    (tmp_path / "n.bif").write_text(network.to_bif())
    (tmp_path / "n.xml").write_text(network.to_xmlbif())
    for reader in (
        readwrite.BIFReader(str(tmp_path / "n.bif")),
        readwrite.XMLBIFReader(str(tmp_path / "n.xml")),
    ):
        assert len(reader.get_model().edges()) == len(network.edges)


def test_pyagrum_reads_our_files(tmp_path):
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed")
    network = peers_network().graph()
    for form in ("bif", "bifxml"):
        path = tmp_path / f"n.{form}"
        path.write_text(network.to_bif() if form == "bif" else network.to_xmlbif())
        assert len(gum.loadBN(str(path)).arcs()) == len(network.edges)
