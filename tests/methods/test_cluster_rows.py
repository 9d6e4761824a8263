"""Rows of a table put into clusters."""

import pytest

from ensemblage.datasets import Table
from ensemblage.methods import Prototype, cluster_table

ROWS = [["1", "2", "1", "9", "8", ""], ["a", "a", "b", "b", "b", "b"], list("xxxyyy")]
TABLE = Table.from_texts(["size", "rows", "kind"], ROWS)


def test_prototypes_by_hand():
    found = cluster_table(TABLE, 1, target="kind")
    (only,) = found.prototypes
    # the mean of the numbers there are, the most frequent word; a column may be called anything
    assert only == Prototype(0, 6, {"size": 4.2, "rows": "b"})
    assert found.scores == {"nmi": 0.0, "purity": 0.5}


def test_a_parameter_is_named_as_the_library_does():
    with pytest.raises(ValueError, match="give `n_clusters`, or choose a consensus"):
        cluster_table(TABLE, None)
    with pytest.raises(ValueError, match="No column is left"):
        cluster_table(TABLE, 2, drop=("size", "rows", "kind"))
