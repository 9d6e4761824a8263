import math
from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import make_multi_source
from ensemblage.sources import SourceStrata
from ensemblage.strata import (
    HISS,
    ColumnDifference,
    StrataDescription,
    StrataEnsembleClassifier,
    StratumDescription,
    describe_strata,
)
from ensemblage.strata._describe import (
    NORMAL_RANGE,
    cohens_h,
    median_effect_sizes,
    name_strata,
    weighted_quantiles,
)
from reference.standing_out import median_distance, quantile, share_distance

sizes = st.integers(2, 12)


def test_medians_by_hand():
    # the part holds 7 and 9: median 8, quartiles 7 and 9; all rows: median 4, quartiles 2 and 7
    values = np.array([1.0, 2, 3, 5, 7, 9])
    strata, all_rows, sizes = median_effect_sizes(
        values, np.array([[0.0], [0], [0], [0], [1], [1]])
    )
    assert (strata[0], all_rows) == (8.0, 4.0)
    pooled = math.sqrt(((2 / NORMAL_RANGE) ** 2 + (5 / NORMAL_RANGE) ** 2) / 2)
    assert sizes[0] == pytest.approx(4 / pooled)


def test_shares_by_hand():
    # half of all rows have code 0; the part, three quarters
    memberships = np.array([[1.0], [0.5], [0.5], [0.0]])
    strata, all_rows, h = cohens_h(np.array([0, 0, 1, 1]), 2, memberships)
    np.testing.assert_allclose(strata, [[0.75, 0.25]])
    np.testing.assert_allclose(all_rows, [0.5, 0.5])
    # asin of the roots of 3/4 and 1/2 are 60 and 45 degrees
    np.testing.assert_allclose(h, [[math.pi / 6, -math.pi / 6]])


def test_where_quartiles_coincide_standard_deviations_are_used():
    values = np.array([0.0, 0, 0, 0, 0, 0, 0, 1])
    *_, sizes = median_effect_sizes(values, np.eye(8)[:, 7:])
    assert sizes[0] == pytest.approx(1 / math.sqrt((0 + 7 / 64) / 2))


def test_a_constant_column_and_an_empty_stratum_have_no_effect_size():
    assert median_effect_sizes(np.ones(3), np.ones((3, 1)))[2].tolist() == [0.0]
    assert median_effect_sizes(np.arange(3.0), np.zeros((3, 1)))[2].tolist() == [0.0]
    assert cohens_h(np.array([0, 1]), 2, np.zeros((2, 1)))[2].tolist() == [[0.0, 0.0]]


@given(data=st.data(), n=sizes)
def test_the_slow_twin_agrees(data, n):
    values = data.draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n))
    parts = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=n, max_size=n).filter(any)
    weights = data.draw(parts)
    memberships = np.array(weights)[:, None]
    medians, _, found = median_effect_sizes(np.array(values, dtype=float), memberships)
    assert found[0] == pytest.approx(median_distance(values, weights), abs=1e-9)
    assert medians[0] == quantile(values, weights, 0.5)
    codes = [value % 3 for value in values]
    *_, h = cohens_h(np.array(codes), 3, memberships)
    expected = [share_distance(codes, code, weights) for code in range(3)]
    assert h[0].tolist() == pytest.approx(expected, abs=1e-7)


@given(
    values=st.lists(st.integers(-50, 50), min_size=2, max_size=12),
    scale=st.sampled_from([0.5, 4.0]),
    shift=st.integers(-8, 8),
)
def test_units_change_nothing_but_the_medians(values, scale, shift):
    column = np.array(values, dtype=float)
    parts = np.column_stack([np.arange(len(values)) % 2 == 0, np.ones(len(values))]).astype(float)
    medians, _, plain = median_effect_sizes(column, parts)
    changed_medians, _, changed = median_effect_sizes(scale * column + shift, parts)
    np.testing.assert_allclose(changed, plain, atol=1e-9)
    np.testing.assert_allclose(changed_medians, scale * medians + shift)
    # a part that is all rows does not stand out
    assert plain[1] == 0
    *_, mirrored = median_effect_sizes(-column, parts)
    np.testing.assert_allclose(mirrored, -plain, atol=1e-9)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 4)), min_size=1, max_size=8))
def test_weights_count_as_copies(rows):
    values, weights = (np.array(each, dtype=float) for each in zip(*rows, strict=True))
    copies = np.repeat(values, weights.astype(int))
    (found,) = weighted_quantiles(values, weights[:, None], (0.5,))
    assert found[0] == np.median(copies)


AGE = ColumnDifference("age", "numeric", None, 61.0, 54.0, 0.75)


SITE = ColumnDifference("site", "categorical", "Basel", 0.92, 0.31, 1.4)


DESCRIBED = StrataDescription((StratumDescription(0, "site = Basel", 0.25, 0.1, (SITE, AGE)),), 40)


@pytest.mark.parametrize(
    ("difference", "phrase", "text"),
    [
        (AGE, "age high (61)", "age: 61 (all rows 54, +0.8)"),
        (SITE, "site = Basel", "site = Basel: 92% (all rows 31%, +1.4)"),
        (
            ColumnDifference("site", "categorical", "Bern", 0.0, 0.5, -1.6),
            "site not Bern",
            "site = Bern: 0% (all rows 50%, -1.6)",
        ),
        (
            ColumnDifference("seen", "date", None, 18628.0, 19000.5, -2.0),
            "seen early (2021-01-01)",
            "seen: 2021-01-01 (all rows 2022-01-08, -2.0)",
        ),
        (
            ColumnDifference("lab", "missing", None, 0.8, 0.2, 1.3),
            "lab missing",
            "lab missing: 80% (all rows 20%, +1.3)",
        ),
        (
            ColumnDifference("pay", "numeric", None, 123456.0, 20000.0, 1.0),
            "pay high (123456)",
            "pay: 123456 (all rows 20000, +1.0)",
        ),
    ],
)
def test_phrases_and_texts_of_differences(difference, phrase, text):
    assert difference.phrase == phrase
    assert str(difference) == text


def test_the_absence_of_a_rare_category_is_not_distinctive():
    assert not ColumnDifference("cp", "categorical", "rare", 0.0, 0.06, -0.5).is_distinctive
    assert ColumnDifference("cp", "categorical", "common", 0.0, 0.5, -1.5).is_distinctive
    assert not ColumnDifference("age", "numeric", None, 1.0, 1.1, -0.1).is_distinctive


def test_a_table_and_html():
    described = DESCRIBED.with_errors([0.1], 0.15, "out-of-fold")
    head, _, row = str(described).splitlines()
    assert head.split() == ["stratum", "name", "rows", "error", "differs", "in"]
    assert row.split()[:6] == ["0", "site", "=", "Basel", "25.0%", "10.0%"]
    assert "Error: error rate, out-of-fold; on all rows 15.0%." in described.legend
    assert "<td" in described._repr_html_()
    assert "error" not in str(DESCRIBED).splitlines()[0]


def test_rows_are_in_several_strata_only_if_shares_exceed_one():
    # one stratum of a quarter of the rows; five of them hold some rows twice
    assert "a row may be in several" not in DESCRIBED.legend
    assert "a row may be in several" in replace(DESCRIBED, strata=DESCRIBED.strata * 5).legend


def test_errors_that_are_not_known_are_left_out():
    assert DESCRIBED.with_errors([None], None, "out-of-fold") == DESCRIBED


def test_it_goes_through_json():
    text = msgspec.json.encode(DESCRIBED)
    assert msgspec.json.decode(text, type=StrataDescription) == DESCRIBED


def test_two_phrases_and_more_only_where_needed():
    phrases = [["a high", "b low", "c = x"], ["a high", "b low", "c = y"], ["d = z", "a low", "e"]]
    assert name_strata(phrases) == ["a high, b low, c = x", "a high, b low, c = y", "d = z, a low"]


def test_what_does_not_differ_is_numbered():
    assert name_strata([[], [], ["a"]]) == [
        "like all rows (1 of 2)",
        "like all rows (2 of 2)",
        "a",
    ]
    assert name_strata([["a"], ["a"]]) == ["a (1 of 2)", "a (2 of 2)"]
    assert name_strata([]) == []


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=4), max_size=8))
def test_no_name_stands_twice(phrases):
    names = name_strata(phrases)
    assert len(set(names)) == len(names) == len(phrases)


HALVES = np.repeat(np.eye(2), 4, axis=0)


def only(described):
    return [[each.column for each in stratum.differences] for stratum in described.strata]


def test_a_frame_with_categories_dates_and_missing_values():
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
    texts = {each.column: str(each) for each in described.strata[1].differences}
    assert texts["site"] == "site = Basel: 75% (all rows 38%, +0.8)"
    assert texts["lab"] == "lab missing: 75% (all rows 38%, +0.8)"
    assert texts["age"].startswith("age: 61.5 (all rows 41.5, +")
    assert texts["seen"].startswith("seen: 2024-05-05 (all rows 2022-03-")
    assert "flag" not in texts  # it does not differ
    assert [each.share for each in described.strata] == [0.5, 0.5]


def test_arrays_have_names_and_kinds_from_outside():
    days = np.array([[18628.0, 0], [18628, 1], [19000, 0], [19000, 1]])
    described = describe_strata(
        days, np.repeat(np.eye(2), 2, axis=0), names=["seen", "sex"], kinds=["date", "numeric"]
    )
    assert described.names == ["seen early (2021-01-01)", "seen late (2022-01-08)"]
    assert only(describe_strata(days, np.ones((4, 1)))) == [[]]


def test_a_numeric_column_of_two_values_is_categorical():
    X = np.array([[0.0], [0], [0], [0], [1], [1], [1], [0]])
    (low, high) = describe_strata(X, HALVES, names=["sex"]).strata
    assert (low.name, high.name) == ("sex = 0", "sex = 1")
    assert str(high.differences[0]) == "sex = 1: 75% (all rows 38%, +0.8)"


def test_columns_without_a_value_do_not_differ():
    X = np.full((2, 2), np.nan)
    described = describe_strata(X, np.eye(2), kinds=["date", "numeric"])
    assert only(described) == [[], []]
    assert described.names == ["like all rows (1 of 2)", "like all rows (2 of 2)"]


def test_errors_by_membership():
    wrong = np.array([1, 0, 0, 0, 1, 1, 0, np.nan])
    described = describe_strata(np.arange(8.0)[:, None], HALVES, errors=wrong)
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


def test_an_ensemble_has_out_of_fold_errors(fitted):
    X, y, _, model = fitted
    described = model.describe_strata(X)
    assert described.error_rows == "out-of-fold"
    assert [each.error for each in described.strata] == model.stratum_errors_
    assert described.error == model.out_of_fold_error_
    given_rows = model.describe_strata(X, y)
    assert given_rows.error_rows == "given"
    assert given_rows.error == pytest.approx(1 - model.score(X, y))
    # strata cover some rows twice and some not at all: the errors are means over their own rows
    wrong = model.predict(X) != y
    memberships = model.stratifier_.transform(X)
    expected = wrong @ memberships / memberships.sum(axis=0)
    assert [each.error for each in given_rows.strata] == pytest.approx(expected.tolist())


def test_a_table_is_described_by_its_categories(fitted):
    X, _, _, model = fitted
    categories = np.where(X[:, :1] > 0, "warm", "cold").astype(object)
    described = model.describe_strata(X, table=pd.DataFrame(categories, columns=["weather"]))
    assert {each.column for s in described.strata for each in s.differences} <= {"weather"}


def test_sources_keep_their_names(fitted):
    X, y, sources, _ = fitted
    places = np.array(["Basel", "Bern", "Genf"])[sources]
    model = StrataEnsembleClassifier(SourceStrata(), random_state=0).fit(X, y, sources=places)
    assert model.describe_strata(X).names == ["Basel", "Bern", "Genf"]


def test_without_folds_there_are_no_out_of_fold_errors(fitted):
    X, y, _, _ = fitted
    model = StrataEnsembleClassifier(HISS(2, 0.5), fusion="mean", random_state=0).fit(X, y)
    assert model.out_of_fold_error_ is None
    assert model.stratum_errors_ == [None, None]
    assert model.describe_strata(X).error is None
