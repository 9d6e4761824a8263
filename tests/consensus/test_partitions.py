import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ensemblage.consensus import MCLA
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


def test_words_are_labels_and_none_is_not_sampled():
    partitions = check_partitions([["a", "a", "b", None], np.array(["x", "-1", "y", "y"])])
    assert partitions.tolist() == [[0, 0, 1, -1], [0, -1, 1, 1]]
    mixed = check_partitions([[2, "a", 2, None], [True, False, True, False]])
    assert mixed.tolist() == [[0, 1, 0, -1], [1, 0, 1, 0]]
    model = MCLA(2, random_state=0).fit_partitions([list("aabb")] * 2)
    assert model.labels_.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    with pytest.raises(ValueError, match="labels of type float64, expected whole numbers"):
        check_partitions([[0.5, 1.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="partition 1 has no row"):
        check_partitions([["a", "b"], [None, None]])
