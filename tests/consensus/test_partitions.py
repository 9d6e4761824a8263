import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage.consensus._partitions import check_partitions, indicators

some_partitions = arrays(int, (4, 7), elements=st.integers(-1, 3)).filter(
    lambda p: (p != -1).any(axis=1).all()
)


def test_clusters_are_numbered_from_zero_and_missing_rows_kept():
    coded = check_partitions([[7, 7, -1, 3], [0, 1, 2, 10**12], [-5, -1, -5, 2]])
    assert coded.tolist() == [[1, 1, -1, 0], [0, 1, 2, 3], [0, -1, 0, 1]]


def test_indicators_have_one_entry_per_row_and_partition_that_saw_it():
    matrix = indicators(check_partitions([[0, 0, 1], [-1, 0, 1]]))
    assert matrix.toarray().tolist() == [[1, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]


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
