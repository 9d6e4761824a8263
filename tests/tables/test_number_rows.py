"""Rows of numbers: dates, words and what overflows are named."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator

from ensemblage.tables import (
    are_usual,
    refuse_dates,
    refuse_infinite,
    refuse_overflow,
    validate_numbers,
)

DATES = pd.DataFrame({"size": [1.0, 2.0], "seen": pd.to_datetime(["2026-01-01", "2026-01-02"])})


@pytest.mark.parametrize("frame", [DATES, pl.DataFrame(DATES.to_dict("list"))])
def test_a_column_of_dates_is_named(frame):
    with pytest.raises(ValueError, match="Column 'seen' of X holds dates or durations; BaseEst"):
        refuse_dates(BaseEstimator(), frame)
    refuse_dates(BaseEstimator(), frame[["size"]])


def test_an_array_of_durations_is_refused():
    with pytest.raises(ValueError, match="Column 0 of X holds dates"):
        validate_numbers(BaseEstimator(), np.zeros((2, 2), dtype="timedelta64[s]"))


def test_what_overflows_is_told_by_its_value():
    refuse_overflow(np.array([[1e150, np.nan]]))
    with pytest.raises(ValueError, match=r"as large as 1e\+200, whose squares overflow float64"):
        refuse_overflow(np.array([[0.0, -1e200]]))
    with pytest.raises(ValueError, match="overflow float32"):
        validate_numbers(BaseEstimator(), np.full((3, 1), 1e30, np.float32), squares=True)
    assert validate_numbers(BaseEstimator(), np.eye(2), squares=True).shape == (2, 2)


def test_words_as_numbers_to_predict_are_named():
    with pytest.raises(ValueError, match="y holds 'low', which is no number"):
        validate_numbers(BaseEstimator(), np.eye(2), ["low", "high"], y_numeric=True)


def test_infinite_predictions_are_refused():
    given = np.array([1.0, 2.0])
    assert refuse_infinite(given) is given
    with pytest.raises(ValueError, match="so far from the training rows"):
        refuse_infinite(np.array([np.inf]))


def test_usual_values():
    assert are_usual(np.array([-1e149, 1e149]))
    assert not are_usual(np.array([np.nan]))
    assert not are_usual(np.array([1e151]))
