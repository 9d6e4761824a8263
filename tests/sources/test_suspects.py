"""What is peculiar in a source."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, log_softmax

from ensemblage.datasets import Column
from ensemblage.sources import as_log_proba
from ensemblage.sources._source_measures import Predicted, source_auc
from ensemblage.sources._suspects import (
    column_shift,
    find_inverted,
    inversion_evidence,
    missing_counts,
    other_coding,
    other_missingness,
    other_prevalence,
    without_signal,
)

NAMES = ["a", "b", "c"]
SOURCES = np.repeat([0, 1, 2], 100)
GROUPS = [np.arange(100), np.arange(100, 200), np.arange(200, 300)]


def test_numeric_column_shifted_in_one_source():
    values = np.random.default_rng(0).normal(size=300) + 5 * (SOURCES == 1)
    found = column_shift(Column("age", values), SOURCES, NAMES)
    assert found.source == "b"
    assert found.strength > 0.7
    assert float(found.in_source) == pytest.approx(5, abs=0.5)
    assert float(found.in_others) == pytest.approx(0, abs=0.5)


def test_columns_with_the_same_distribution_in_all_sources():
    numeric = column_shift(Column("age", np.random.default_rng(0).normal(size=300)), SOURCES, NAMES)
    categorical = Column(
        "job", values=np.random.default_rng(0).choice(["x", "y", None], 300).tolist()
    )
    assert numeric.strength < 0.15
    assert column_shift(categorical, SOURCES, NAMES).strength < 0.15


def test_categorical_column_by_hand():
    """In c all rows have y, in the other sources half: expected are 100/3 of x and 200/3 of y."""
    values = ["x", "y"] * 100 + ["y"] * 100
    found = column_shift(Column("job", values=values), SOURCES, NAMES)
    assert (found.source, found.in_source, found.in_others) == ("c", "y 100%", "y 50%")
    chi2 = 2 * (50 / 3) ** 2 / (100 / 3) + 100 / 3 + 2 * (50 / 3) ** 2 / (200 / 3) + 50 / 3
    corrected = (chi2 / 300 - 2 / 299) / (2 - 1 / 299 - 1)
    assert found.strength == pytest.approx(np.sqrt(corrected))


def test_means_are_shown_if_medians_are_equal():
    values = np.where((SOURCES == 0) & (np.arange(300) % 4 == 0), 1.0, 0.0)
    found = column_shift(Column("paid", values), SOURCES, NAMES)
    assert (found.in_source, found.in_others) == ("mean 0.25", "mean 0")


def test_constant_and_empty_columns_do_not_shift():
    assert column_shift(Column("one", np.ones(300)), SOURCES, NAMES).strength == 0
    empty = Column("none", np.full(300, np.nan))
    assert column_shift(empty, SOURCES, NAMES).strength == 0


def rows(n_rows, intercept=0.0, slope=1.0, seed=0):
    """Probabilities of two classes, and labels with a calibration slope and intercept."""
    rng = np.random.default_rng(seed)
    log_odds = 1.5 * rng.normal(size=n_rows)
    labels = (rng.random(n_rows) < expit(slope * log_odds + intercept)).astype(np.int64)
    return np.column_stack([expit(-log_odds), expit(log_odds)]), labels


@given(st.integers(0, 50))
def test_inversion_changes_the_sign_of_the_evidence(seed):
    shares, labels = rows(40, seed=seed)
    log_proba = as_log_proba(shares)
    original = inversion_evidence(log_proba, labels)
    assert inversion_evidence(log_proba[:, ::-1], labels) == pytest.approx(-original, abs=1e-6)
    assert inversion_evidence(log_proba, 1 - labels) == pytest.approx(-original, abs=1e-3)


@pytest.mark.parametrize("intercept", [-4.0, -2.0, 0.0, 2.0, 4.0])
def test_another_class_frequency_is_not_inversion(intercept):
    shares, labels = rows(300, intercept)
    assert inversion_evidence(as_log_proba(shares), labels) < 0
    shares, labels = rows(300, intercept, slope=-1.0)
    assert inversion_evidence(as_log_proba(shares), labels) > 0


def test_noise_is_not_inverted():
    shares, labels = rows(300, slope=0.0)
    assert inversion_evidence(as_log_proba(shares), labels) < 4


def test_others_are_tested_again_without_the_strongest():
    """The second seems inverted until the third, which is, is left out."""
    good, inverted = rows(200, seed=1), rows(200, slope=-1.0, seed=2)
    distorted = rows(60, slope=-1.0, seed=3)
    labels = np.concatenate([good[1], distorted[1], inverted[1]])
    sources = np.repeat([0, 1, 2], [200, 60, 200])
    asked = []

    def predict(dropped):
        asked.append(list(dropped))
        return np.concatenate([good[0], distorted[0][:, ::-1], inverted[0]])

    proba = np.concatenate([good[0], distorted[0], inverted[0]])
    assert find_inverted(Predicted(proba, labels), sources, predict) == [2]
    assert asked == [[2]]


def test_with_two_sources_both_are_named():
    shares, labels = rows(400, slope=-1.0)
    sources = np.repeat([0, 1], 200)
    proba = np.exp(log_softmax(as_log_proba(shares), axis=1))
    assert find_inverted(Predicted(proba, labels), sources, None) == [0, 1]


def test_no_signal_is_not_inversion():
    sources = np.repeat(np.arange(4), 50)
    flagged = 0
    for seed in range(40):
        proba, labels = rows(200, slope=0.0, seed=seed)
        flagged += len(find_inverted(Predicted(proba, labels), sources, lambda _, p=proba: p))
    assert flagged <= 0.02 * 160


def test_a_source_without_signal_is_named_if_the_others_have_one():
    shares, labels = zip(
        *(rows(400, slope=s, seed=k) for k, s in enumerate([1, 1, 1, 0])), strict=True
    )
    risk, events = np.concatenate(shares)[:, 1], np.concatenate(labels) == 1
    groups = list(np.arange(1600).reshape(4, 400))
    areas = source_auc(risk, events, groups)
    [found] = without_signal(areas, areas.pooled(), ["n", "e", "w", "s"])
    assert (found.source, found.kind) == ("s", "no signal")
    assert "no signal" in found.sentence
    assert without_signal(areas, None, ["n", "e", "w", "s"]) == []


def test_another_prevalence():
    events = np.concatenate([np.arange(100) < n for n in (10, 12, 60)])
    [found] = other_prevalence(events, GROUPS, NAMES)
    assert (found.source, found.kind) == ("c", "prevalence")
    assert found.sentence == "c: other prevalence, 60% of rows are events, elsewhere 11%."


def test_another_unit_and_another_scale():
    weight = 70 + 10 * np.random.default_rng(0).normal(size=300)
    pounds = np.where(SOURCES == 1, 2.2046 * weight, weight)
    [found] = other_coding([Column("weight", pounds)], GROUPS, NAMES)
    assert (found.source, found.kind, found.column) == ("b", "unit", "weight")
    assert "about 2.2 times as large" in found.sentence
    celsius = 37 + 0.7 * np.random.default_rng(0).normal(size=300)
    mixed = np.where(SOURCES == 2, celsius + 273.15, celsius)
    [found] = other_coding([Column("temperature", mixed)], GROUPS, NAMES)
    assert (found.source, found.kind) == ("c", "scale")
    assert other_coding([Column("weight", weight)], GROUPS, NAMES) == []


def test_other_codes():
    sex = [str(each) for each in np.random.default_rng(0).choice(["f", "m"], 300)]
    sex[:100] = ["female" if each == "f" else "male" for each in sex[:100]]
    [found] = other_coding([Column("sex", values=sex)], GROUPS, NAMES)
    assert found.kind == "coding"
    assert found.sentence == (
        "a: sex has female and male, which no other source has (elsewhere f and m): another "
        "population, or another coding."
    )
    smoker = np.random.default_rng(0).integers(0, 2, 300) + 1.0 * (SOURCES == 2)
    [found] = other_coding([Column("smoker", smoker)], GROUPS, NAMES)
    assert found.sentence == (
        "c: smoker has 2, which no other source has (elsewhere 0 and 1): another "
        "population, or another coding."
    )


def test_other_missingness():
    values = np.where(
        (SOURCES == 1) & (np.arange(300) % 10 > 1),
        np.nan,
        np.random.default_rng(0).normal(size=300),
    )
    counts = missing_counts([Column("crp", values)], GROUPS)
    [found] = other_missingness(counts, GROUPS, NAMES)
    assert found.sentence == "b: crp is missing in 80% of rows, elsewhere in 0%."
    assert other_coding([Column("crp", values)], GROUPS, NAMES) == []


def test_dates_are_shown_as_dates():
    days = np.tile(np.arange(100.0), 3) + 19_000 + 500 * (SOURCES == 2)
    found = column_shift(Column("admitted", days, is_date=True), SOURCES, NAMES)
    assert (found.source, found.in_source, found.in_others) == ("c", "2023-07-11", "2022-02-26")
