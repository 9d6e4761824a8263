"""Clustering of a table."""

import numpy as np
import pytest

from ensemblage.datasets import Table
from ensemblage.studies import Prototype, cluster

ROWS = [["1", "2", "1", "9", "8", ""], ["a", "a", "b", "b", "b", "b"], list("xxxyyy")]
TABLE = Table.from_texts(["size", "rows", "kind"], ROWS)


def test_prototypes_by_hand():
    found = cluster(TABLE, 1, target="kind")
    (only,) = found.prototypes
    # mean of the known values, most frequent category; a column may have any name
    assert only == Prototype(0, 6, {"size": 4.2, "rows": "b"})
    assert found.scores == {"nmi": 0.0, "purity": 0.5}


def test_invalid_parameters_raise():
    with pytest.raises(ValueError, match="Unknown clustering method 'magic'"):
        cluster(TABLE, 2, method="magic")
    with pytest.raises(ValueError, match="No column is left"):
        cluster(TABLE, 2, drop=("size", "rows", "kind"))


def test_the_number_of_clusters_is_chosen_with_a_reason():
    sizes = np.concatenate([np.arange(20) / 100, 5 + np.arange(20) / 100])
    found = cluster(Table(("size",), (sizes,)), None)
    assert len(found.prototypes) == 2
    assert found.reason is not None
    assert found.reason.startswith("2 clusters chosen from 2 to 8")
    assert cluster(Table(("size",), (sizes,)), 2).reason is None


def test_the_typical_date_is_the_mean_date():
    days = np.array(["2024-01-01", "2024-01-04", "NaT", "NaT"], dtype="datetime64[ms]")
    sizes = np.array([1.0, 1.1, 9.0, 9.1])
    found = cluster(Table(("day", "size"), (days, sizes)), 2, seed=0)
    by_size = {each.typical["size"] < 5: each.typical["day"] for each in found.prototypes}
    assert by_size == {True: "2024-01-02", False: None}
