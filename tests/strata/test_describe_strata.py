"""What strata are, in the file's own units and words."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import make_multi_source
from ensemblage.strata import HISS, SourceStrata, StrataEnsembleClassifier, describe_strata

HALVES = np.repeat(np.eye(2), 4, axis=0)


def only(described):
    return [[each.column for each in stratum.differences] for stratum in described.strata]


def test_a_frame_with_words_dates_and_gaps():
    frame = pd.DataFrame(
        {
            "age": [20, 21, 22, 23, 60, 61, 62, 63],
            "site": ["Bern"] * 4 + ["Basel"] * 3 + ["Bern"],
            "seen": pd.to_datetime(["2020-01-01"] * 2 + ["2020-01-03"] * 2 + ["2024-05-05"] * 4),
            "lab": [1.0, 2, 3, 4, np.nan, np.nan, np.nan, 5],
            "flag": [True, False] * 4,
        }
    )
    described = describe_strata(frame, HALVES)
    told = {each.column: str(each) for each in described.strata[1].differences}
    assert told["site"] == "site = Basel: 75% (all rows 38%, +0.8)"
    assert told["lab"] == "lab missing: 75% (all rows 38%, +0.8)"
    assert told["age"].startswith("age: 61.5 (all rows 41.5, +")
    assert told["seen"].startswith("seen: 2024-05-05 (all rows 2022-03-")
    assert "flag" not in told  # it does not differ
    assert [each.share for each in described.strata] == [0.5, 0.5]


def test_arrays_have_names_and_kinds_from_outside():
    days = np.array([[18628.0, 0], [18628, 1], [19000, 0], [19000, 1]])
    described = describe_strata(
        days, np.repeat(np.eye(2), 2, axis=0), names=["seen", "sex"], kinds=["date", "number"]
    )
    assert described.names == ["seen early (2021-01-01)", "seen late (2022-01-08)"]
    assert only(describe_strata(days, np.ones((4, 1)))) == [[]]


def test_a_number_of_two_values_is_told_by_its_share():
    X = np.array([[0.0], [0], [0], [0], [1], [1], [1], [0]])
    (low, high) = describe_strata(X, HALVES, names=["sex"]).strata
    assert (low.name, high.name) == ("sex = 0", "sex = 1")
    assert str(high.differences[0]) == "sex = 1: 75% (all rows 38%, +0.8)"


def test_columns_without_a_value_do_not_differ():
    X = np.full((2, 2), np.nan)
    described = describe_strata(X, np.eye(2), kinds=["date", "number"])
    assert only(described) == [[], []]
    assert described.names == ["like all rows (1 of 2)", "like all rows (2 of 2)"]


def test_errors_by_membership():
    wrong = np.array([1, 0, 0, 0, 1, 1, 0, np.nan])
    described = describe_strata(np.arange(8.0)[:, None], HALVES, wrong=wrong)
    assert [each.error for each in described.strata] == pytest.approx([0.25, 2 / 3])
    assert described.error == pytest.approx(3 / 7)
    assert described.error_rows == "given"


def test_three_columns_at_least_and_five_at_most():
    rng = np.random.default_rng(0)
    part = np.repeat([0.0, 1.0], 50)
    X = rng.normal(size=(100, 8))
    X[:, :6] += 4 * part[:, None]
    described = describe_strata(X, np.column_stack([part, np.ones(100)]))
    assert len(described.strata[0].differences) == 5
    assert set(only(described)[0]) < {"x0", "x1", "x2", "x3", "x4", "x5"}
    noise = describe_strata(rng.normal(size=(100, 8)), part[:, None])
    assert len(noise.strata[0].differences) == 3


@given(st.permutations(range(8)))
def test_the_order_of_rows_changes_nothing(order):
    X = np.array([[3.0, 1], [1, 5], [4, 9], [1, 2], [5, 6], [9, 5], [2, 3], [6, 5]])
    order = np.array(order)
    assert describe_strata(X[order], HALVES[order]) == describe_strata(X, HALVES)


@pytest.fixture(scope="module")
def fitted():
    X, y, sources = make_multi_source(3, 240, 4, random_state=0, return_sources=True)
    return X, y, sources, StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)


def test_an_ensemble_has_held_out_errors_of_its_own(fitted):
    X, y, _, model = fitted
    described = model.describe_strata(X)
    assert described.error_rows == "held out"
    assert [each.error for each in described.strata] == model.stratum_errors_
    assert described.error == model.held_out_error_
    given_rows = model.describe_strata(X, y)
    assert given_rows.error_rows == "given"
    assert given_rows.error == pytest.approx(1 - model.score(X, y))
    # strata cover some rows twice and some not at all: the errors are means over their own rows
    wrong = model.predict(X) != y
    memberships = model.stratifier_.transform(X)
    expected = wrong @ memberships / memberships.sum(axis=0)
    assert [each.error for each in given_rows.strata] == pytest.approx(expected.tolist())


def test_a_table_is_told_in_its_own_words(fitted):
    X, _, _, model = fitted
    words = np.where(X[:, :1] > 0, "warm", "cold").astype(object)
    described = model.describe_strata(X, table=pd.DataFrame(words, columns=["weather"]))
    assert {each.column for s in described.strata for each in s.differences} <= {"weather"}


def test_sources_keep_their_names(fitted):
    X, y, sources, _ = fitted
    places = np.array(["Basel", "Bern", "Genf"])[sources]
    model = StrataEnsembleClassifier(SourceStrata(), random_state=0).fit(X, y, sources=places)
    assert model.describe_strata(X).names == ["Basel", "Bern", "Genf"]


def test_without_folds_nothing_is_held_out(fitted):
    X, y, _, _ = fitted
    model = StrataEnsembleClassifier(HISS(2, 0.5), fusion="mean", random_state=0).fit(X, y)
    assert model.held_out_error_ is None
    assert model.stratum_errors_ == [None, None]
    assert model.describe_strata(X).error is None
