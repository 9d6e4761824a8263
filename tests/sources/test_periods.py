"""Periods of time, and folds that train on the past."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from ensemblage.sources import source_folds
from ensemblage.sources._source_codes import expanding_folds, read_periods
from ensemblage.sources._source_measures import SourceEstimates, next_period


def test_few_distinct_times_are_periods():
    found = read_periods([2019, 2018, 2019, 2020], 4)
    assert found.names == ["2018", "2019", "2020"]
    assert found.codes.tolist() == [1, 0, 1, 2]
    assert found.notes == []


def test_dates_become_years_months_or_parts():
    days = pd.to_datetime("2015-03-01") + pd.to_timedelta(np.arange(0, 1500, 5), unit="D")
    assert read_periods(days, 300).names == ["2015", "2016", "2017", "2018", "2019"]
    texts = [str(day.date()) for day in days[:50]]
    assert read_periods(texts, 50).names[:2] == ["2015-03", "2015-04"]
    long = read_periods(days[0] + pd.to_timedelta(np.arange(300) * 40, unit="D"), 300)
    assert len(long.names) == 6
    assert long.names[0].startswith("2015-03-01 to 20")
    assert np.bincount(long.codes).tolist() == [50] * 6


def test_ties_stay_together_with_a_sentence():
    found = read_periods(np.r_[np.zeros(200), np.arange(1, 101)], 300)
    assert len(set(found.codes[:200])) == 1
    assert "Many rows share the same time" in found.notes[0]


def test_bad_times_are_named():
    with pytest.raises(ValueError, match="'spring', which is not a date such as 2024-03-01"):
        read_periods(["2019-01-01", "spring"], 2)
    with pytest.raises(ValueError, match="time is missing for 1 of 3 rows"):
        read_periods([1.0, np.nan, 2.0], 3)
    with pytest.raises(ValueError, match="time is missing for 1 of 3 rows"):
        read_periods(np.array(["2019-01-01", "NaT", "2020-01-01"], "M8[D]"), 3)
    with pytest.raises(ValueError, match="one value only, 2019"):
        read_periods([2019, 2019], 2)
    with pytest.raises(ValueError, match=r"one entry per row, 3 .* got shape \(2,\)"):
        read_periods([1, 2], 3)


def test_training_is_on_the_past_only():
    periods = np.array([0, 1, 2, 0, 1, 2])
    folds = expanding_folds(periods)
    assert [each.train.tolist() for each in folds] == [[0, 3], [0, 1, 3, 4]]
    assert [each.test.tolist() for each in folds] == [[1, 4], [2, 5]]
    left_out = source_folds(np.array([0, 0, 0, 1, 1, 1]), 10)
    for train, test in expanding_folds(periods, left_out):
        assert periods[train].max() < periods[test].min()
        assert not {r // 3 for r in train} & {r // 3 for r in test}


def test_the_next_period_by_hand():
    y = np.array([0.1, 0.3, 0.2, 0.4])
    found = next_period(SourceEstimates(y, y, np.full(4, 1e-3), "identity"))
    half = student.ppf(0.975, 3) * y.std(ddof=1)
    assert found.mean == pytest.approx(0.25)
    assert found.new_high - found.mean == pytest.approx(half * np.sqrt(1.25))
    assert found.high - found.mean == pytest.approx(half / 2)
    assert next_period(SourceEstimates(y[:3], y[:3], np.full(3, 1e-3), "identity")) is None
