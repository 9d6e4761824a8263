import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage.consensus import co_association
from ensemblage.consensus._co_association import condensed_distances
from ensemblage.consensus._partitions import check_partitions, indicators
from reference.consensus import co_association as literal

some_partitions = arrays(int, (4, 7), elements=st.integers(-1, 3)).filter(
    lambda p: (p != -1).any(axis=1).all()
)


def test_clusters_are_numbered_from_zero_and_missing_rows_kept():
    coded = check_partitions([[7, 7, -1, 3], [0, 1, 2, 10**12], [-5, -1, -5, 2]])
    assert coded.tolist() == [[1, 1, -1, 0], [0, 1, 2, 3], [0, -1, 0, 1]]


def test_indicators_have_one_entry_per_row_and_partition_that_saw_it():
    matrix = indicators(check_partitions([[0, 0, 1], [-1, 0, 1]]))
    assert matrix.toarray().tolist() == [[1, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]


def test_co_association_counts_only_partitions_that_saw_both():
    shares = co_association([[0, 0, 1], [0, -1, 0], [0, 0, -1]]).toarray()
    np.testing.assert_allclose(shares, [[1, 1, 0.5], [1, 1, 0], [0.5, 0, 1]])


@given(some_partitions)
def test_co_association_equals_the_pairwise_count(partitions):
    expected = literal(partitions)
    np.testing.assert_allclose(co_association(partitions).toarray(), expected, atol=1e-12)
    distances = condensed_distances(check_partitions(partitions))
    pairs = np.triu_indices(7, 1)
    np.testing.assert_allclose(distances, 1 - expected[pairs], atol=1e-6)


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ([[0, 1], [0, 1, 1]], "label arrays of one length"),
        ([[0, 1, 1]], "at least 2 are needed"),
        ([], "at least 2 are needed"),
        ([[0, 1], [-1, -1]], "partition 1 has no row"),
        ([[0.5, 1.0], [0, 1]], "expected whole numbers"),
        ([[[0, 1]], [[0, 1]]], "label arrays of one length"),
    ],
)
def test_bad_partitions_are_named(partitions, message):
    with pytest.raises(ValueError, match=message):
        check_partitions(partitions)
