"""Rows kept by column, which are an array to whoever asks for one."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array

from ensemblage.datasets import Table, TableRows

AGES, JOBS = np.array([31.0, np.nan]), np.array(["cook", None], dtype=object)


def test_words_beside_numbers_are_objects():
    rows = TableRows(AGES, JOBS)
    assert (len(rows), rows.shape, rows.ndim, rows.dtype) == (2, (2, 2), 2, object)
    assert np.asarray(rows)[0].tolist() == [31.0, "cook"]
    assert rows[:, 1].tolist() == ["cook", None]


def test_numbers_alone_are_one_matrix_of_doubles():
    rows = TableRows(AGES, 2 * AGES)
    assert np.asarray(rows).dtype == np.float64
    np.testing.assert_array_equal(rows, [[31.0, 62.0], [np.nan, np.nan]])
    assert np.asarray(rows, dtype=np.float32).dtype == np.float32


def test_the_matrix_is_made_once():
    rows = TableRows(AGES, JOBS)
    assert np.asarray(rows) is np.asarray(rows)
    assert np.array(rows) is not np.asarray(rows)


def test_scikit_learn_takes_them_for_an_array():
    rows = TableRows(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    model = LogisticRegression().fit(rows, ["no", "yes"])
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(rows[:]))
    with pytest.raises(ValueError, match="could not convert string to float: 'cook'"):
        check_array(TableRows(AGES, JOBS))


def test_dates_of_a_table_are_days():
    when = np.array(["2024-03-01T12:00", "NaT"], dtype="datetime64[ms]")
    rows = Table(("when",), (when,)).to_rows()
    np.testing.assert_array_equal(rows.by_column[0], [19783.5, np.nan])
