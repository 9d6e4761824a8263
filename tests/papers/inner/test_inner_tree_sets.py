import numpy as np
import pytest

from ensemblage.papers.inner._inner_tree_sets import MOST_ROWS, matrix, set_print, tree_rows


def test_words_become_zeros_and_ones_and_gaps_stay():
    columns = [np.array([1.0, np.nan, 3.0]), np.array(["b", None, "a"], dtype=object)]
    X = matrix(columns, ["number", "word"])
    np.testing.assert_array_equal(X, [[1, 0, 1], [np.nan, 0, 0], [3, 1, 0]])
    assert X.dtype == np.float32


def test_large_sets_are_drawn_from(shared):
    folder = str(shared / "data")
    rows = tree_rows("regression/kin8nm", folder, 0)
    assert len(rows.X) == len(rows.y) == MOST_ROWS
    assert rows.X.tolist() != tree_rows("regression/kin8nm", folder, 1).X.tolist()
    assert len(set_print("regression/kin8nm", folder)) == 16
    with pytest.raises(ValueError, match=r"no file regression/none\.csv"):
        set_print("regression/none", folder)


def test_classes_are_codes():
    rows = tree_rows("iris", None, 0)
    assert np.bincount(rows.y).tolist() == [50, 50, 50]
    assert rows.targets.n_classes == 3
