import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage._core import deal_folds
from ensemblage.datasets import Column, TableEncoder, feature_categories
from ensemblage.datasets._encoder import cross_fitted_means, feature_codes, one_hot, split_rare
from ensemblage.persistence import load, save

JOBS = Column("job", values=["b", "a", None, "a", "c", "a", "b"])
RNG = np.random.default_rng(0)
CODES = RNG.integers(12, size=(90, 2)).astype(np.int32)
TARGETS = {
    "regression": RNG.normal(size=90),
    "two classes": RNG.choice(["no", "yes"], size=90),
    "three classes": RNG.choice([3, 7, 9], size=90),
    "a rare class": np.where(np.arange(90) < 2, "rare", RNG.choice(["a", "b"], size=90)),
}
DAYS = pd.to_datetime(["2024-01-01", None, "2024-01-03", "2024-01-05"])
FRAME = pd.DataFrame(
    {
        "age": [1.0, np.nan, 3.0, 8.0],
        "day": DAYS,
        "job": ["cook", "smith", None, "cook"],
        "smokes": [True, False, False, True],
        "same": ["x"] * 4,
        "nothing": [np.nan] * 4,
    }
)
NAMES = [
    "age", "day", "age missing", "day missing", "job = cook", "job = missing", "job = smith",
    "smokes = False", "smokes = True",
]  # fmt: skip


def test_missing_is_a_category():
    assert split_rare(JOBS, None, None) == (["a", "b", "c", "missing"], [])


@pytest.mark.parametrize(
    ("min_frequency", "max_categories", "expected"),
    [(2, None, ["a", "b"]), (0.3, None, ["a"]), (None, 2, ["a"]), (None, 3, ["a", "b"])],
)
def test_rare_categories_are_grouped(min_frequency, max_categories, expected):
    frequent, rare = split_rare(JOBS, min_frequency, max_categories)
    assert frequent == expected
    assert sorted(frequent + rare) == ["a", "b", "c", "missing"]


def test_unseen_categories_and_missing_values_by_hand():
    column = Column("job", values=["c", "z", None, "a", "b"])
    out = one_hot(column, ["a", "missing"], ["b", "c"])
    assert out.tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert feature_codes(Column("job", values=[None]), ["a"], []).tolist() == [1]


@given(
    st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1),
    st.none() | st.integers(1, 3),
    st.none() | st.integers(2, 4),
)
def test_one_hot_rows_sum_to_one(values, min_frequency, max_categories):
    column = Column("x", values=values)
    out = one_hot(column, *split_rare(column, min_frequency, max_categories))
    assert (out.sum(axis=1) == 1).all()
    assert (out.sum(axis=0) > 0).all()
    assert max_categories is None or out.shape[1] <= max_categories


def crossed(y, n_folds=3):
    labels = np.unique(y, return_inverse=True)[1] if y.dtype != float else np.zeros(90, int)
    folds = deal_folds(labels, n_folds, np.random.default_rng(1))
    return cross_fitted_means(TargetEncoder().fit(CODES, y), CODES, y, folds), folds


def test_cross_fitted_means_by_hand():
    codes, y = np.array([[0], [0], [1], [1]], dtype=np.int32), np.array([1.5, 3.5, 5.5, 5.5])
    folds = [(np.array([0, 2]), np.array([1, 3])), (np.array([1, 3]), np.array([0, 2]))]
    found = cross_fitted_means(TargetEncoder().fit(codes, y), codes, y, folds)
    # one row per category in each fold: its value is the mean
    np.testing.assert_array_equal(found, [[3.5], [1.5], [5.5], [5.5]])


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
@pytest.mark.usefixtures("callbacks")  # as new as folds are
def test_cross_fitted_means_equal_scikit_learn(y):
    found, folds = crossed(y)
    np.testing.assert_array_equal(found, TargetEncoder(cv=folds).fit_transform(CODES, y))


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_own_target_is_not_in_the_mean(y):
    found, folds = crossed(y)
    other = y.copy()
    other[folds[0].test] = y[folds[0].test][::-1]
    again = cross_fitted_means(TargetEncoder().fit(CODES, other), CODES, other, folds)
    np.testing.assert_array_equal(again[folds[0].test], found[folds[0].test])
    assert (again != found).any()


@parametrize_with_checks([TableEncoder(), TableEncoder(scale=False, missing_values="keep")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_kind_of_column_by_hand():
    encoder = TableEncoder(scale=False)
    out = encoder.fit_transform(FRAME)
    assert encoder.kinds_ == [
        "numeric",
        "date",
        "categorical",
        "categorical",
        "categorical",
        "numeric",
    ]
    assert encoder.get_feature_names_out().tolist() == NAMES
    expected = [
        [1, 19723, 0, 0, 1, 0, 0, 0, 1],
        [3, 19725, 1, 1, 0, 0, 1, 1, 0],  # medians of 1, 3, 8 and of days 0, 2, 4
        [3, 19725, 0, 0, 0, 1, 0, 1, 0],
        [8, 19727, 0, 0, 1, 0, 0, 0, 1],
    ]
    assert out.tolist() == expected
    assert encoder.feature_columns_.tolist() == [0, 1, 0, 1, 2, 2, 2, 3, 3]


def test_numeric_features_and_missing_indicators_are_standardised():
    out = TableEncoder().fit_transform(FRAME)
    np.testing.assert_allclose(out[:, :4].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(out[:, :4].std(axis=0), 1)


def test_unseen_categories_are_zeros_and_missing_values_medians():
    X = np.array([[1.0, "a"], [2.0, "b"], [9.0, "a"]], dtype=object)
    encoder = TableEncoder(scale=False).fit(X)
    new = np.array([[None, "z"], [np.nan, None]], dtype=object)
    assert encoder.transform(new).tolist() == [[2.0, 0.0, 0.0]] * 2


def test_missing_values_can_be_kept():
    X = FRAME[["age", "job", "nothing"]]
    encoder = TableEncoder(missing_values="keep", scale=False)
    out = encoder.fit_transform(X)
    assert encoder.get_feature_names_out().tolist()[:2] == ["age", "job = cook"]
    np.testing.assert_array_equal(out[:, 0], X["age"])
    scaled = TableEncoder(missing_values="keep").fit_transform(X)[:, 0]
    np.testing.assert_allclose([np.nanmean(scaled), np.nanstd(scaled)], [0, 1], atol=1e-12)


def test_constant_features_are_kept_if_all_are_constant():
    out = TableEncoder().fit_transform(np.array([[1.0, "a"], [1.0, "a"]], dtype=object))
    assert out.tolist() == [[0.0, 1.0]] * 2


def test_pandas_polars_arrow_and_objects_give_the_same_bits():
    frame = FRAME.drop(columns="day")
    others = [pl.from_pandas(frame), pl.from_pandas(frame).to_arrow(), frame.to_numpy(object)]
    expected = TableEncoder().fit_transform(frame)
    for X in others:
        np.testing.assert_array_equal(TableEncoder().fit_transform(X), expected)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    out = TableEncoder().set_output(transform=library).fit_transform(FRAME)
    assert type(out).__module__.startswith(library)
    assert list(out.columns) == NAMES


def test_kinds_and_categories_override_dtypes():
    X = pd.DataFrame({"grade": [1, 2, 10, 2], "when": ["2024-01-02", "1970-01-02", None, None],
                      "size": ["1.5", "2", None, "4"]})  # fmt: skip
    encoder = TableEncoder(
        kinds={"when": "date", "size": "numeric"}, categories={"grade": [1, 2, 3, 10]}, scale=False
    )
    out = encoder.fit_transform(X)
    assert encoder.get_feature_names_out().tolist() == [
        "when", "size", "when missing", "size missing", "grade = 1", "grade = 2", "grade = 10",
    ]  # fmt: skip
    assert out[1].tolist() == [1, 2, 0, 0, 0, 1, 0]
    zip_codes = TableEncoder(kinds=["categorical", None, None]).fit(X[["grade", "when", "size"]])
    assert zip_codes.get_feature_names_out()[0] == "grade = 1"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"kinds": {"ages": "categorical"}},
            r"`kinds` contains 'ages', which is not a column. Did you mean 'ag",
        ),
        ({"kinds": ["categorical"]}, "`kinds` has 1 entry, but `X` has 6 columns"),
        (
            {"kinds": {"age": "name"}},
            "`kinds` contains 'name'; expected one of 'numeric', 'categorical'",
        ),
        ({"kinds": {"job": "numeric"}}, "Column 'job' cannot be converted to numbers"),
        ({"kinds": {"job": "date"}}, "Column 'job' cannot be converted to dates"),
        (
            {"categories": {"job": ["cook"]}},
            "'job' contains 'smith', which is not one of its `categ",
        ),
    ],
)
def test_invalid_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(**parameters).fit(FRAME)


def test_text_in_a_numeric_column_is_refused():
    encoder = TableEncoder().fit(FRAME[["age"]])
    with pytest.raises(ValueError, match="Column 'age' cannot be converted to numbers"):
        encoder.transform(pd.DataFrame({"age": ["old"]}))
    assert encoder.transform(pd.DataFrame({"age": [None]}, dtype=object)).shape == (1, 2)


def cities(n_rows=600, n_cities=150, seed=0):
    rng = np.random.default_rng(seed)
    city = rng.integers(n_cities, size=n_rows)
    rich = rng.random(n_cities)
    y = np.where(rng.random(n_rows) < rich[city], "yes", "no")
    return pd.DataFrame({"city": [f"city {c}" for c in city], "size": rng.normal(size=n_rows)}), y


def test_high_cardinality_columns_are_target_encoded():
    X, y = cities()
    encoder = TableEncoder(random_state=0, scale=False)
    crossed = encoder.fit_transform(X, y)
    assert encoder.get_feature_names_out().tolist() == ["size", "city: share of yes"]
    own = encoder.transform(X)
    np.testing.assert_array_equal(crossed[:, 0], own[:, 0])
    is_yes = y == "yes"
    # without cross fitting, a row's own label is in its mean
    assert np.corrcoef(own[:, 1], is_yes)[0, 1] > np.corrcoef(crossed[:, 1], is_yes)[0, 1] + 0.1
    unseen = encoder.transform(pd.DataFrame({"city": ["elsewhere"], "size": [0.0]}))
    assert unseen[0, 1] == pytest.approx(is_yes.mean())
    np.testing.assert_array_equal(clone(encoder).fit(X, y).transform(X), own)


def test_random_high_cardinality_column_does_not_leak():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"code": [f"c{i}" for i in rng.integers(400, size=800)]})
    y = rng.integers(2, size=800)
    model = make_pipeline(TableEncoder(random_state=0), LogisticRegression())
    assert abs(cross_val_score(model, X, y).mean() - 0.5) < 0.05
    assert model.fit(X, y).score(X, y) < 0.85


def test_target_encoding_of_several_classes_and_of_regression():
    X, y = cities()
    three = np.where(X["size"] > 1, "big", y)
    encoder = TableEncoder(random_state=0).fit(X, three)
    names = ["city: share of big", "city: share of no", "city: share of yes"]
    assert encoder.get_feature_names_out()[1:].tolist() == names
    measured = TableEncoder(random_state=0).fit(X, X["size"].to_numpy() ** 2)
    assert measured.get_feature_names_out()[1] == "city: mean of the target"


def test_rare_categories_are_grouped_without_target():
    X, y = cities()
    for encoder, target in ((TableEncoder(), None), (TableEncoder(high_cardinality="rare"), y)):
        out = encoder.fit_transform(X, target)
        assert out.shape == (600, 101)
        assert encoder.get_feature_names_out()[-1] == "city = other"


def test_saved_encoder_is_equal(tmp_path):
    X, y = cities()
    X["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)), unit="h")
    encoder = TableEncoder(random_state=0).fit(X, y)
    save(encoder, tmp_path / "e.skops")
    again = load(tmp_path / "e.skops").model
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    ("attribute", "forged"),
    [
        ("target_columns_", np.array([7])),
        ("varying_", np.array([True])),
        ("kinds_", ["numeric"]),
    ],
)
def test_forged_encoder_is_refused(tmp_path, attribute, forged):
    encoder = TableEncoder(random_state=0).fit(*cities())
    setattr(encoder, attribute, forged)
    save(encoder, tmp_path / "e.skops")
    with pytest.raises(ValueError, match=f"forged or damaged TableEncoder .*{attribute}"):
        load(tmp_path / "e.skops")


def test_large_table_is_fast():
    rng = np.random.default_rng(0)
    X = np.empty((50_000, 30), dtype=object)
    X[:, :15] = rng.normal(size=(50_000, 15))
    X[:, 15:] = rng.choice(["red", "green", "blue", None], size=(50_000, 15))
    X[::9, 3] = np.nan
    start = time.process_time()
    TableEncoder().fit_transform(X)
    # about 0.4 s where this was written; loops over rows take many times as long
    assert time.process_time() - start < 2.0


def test_feature_categories():
    encoder = TableEncoder(scale=False).fit(FRAME)
    names = encoder.get_feature_names_out().tolist()
    categories = dict(zip(names, feature_categories(encoder), strict=True))
    assert categories["age"] is categories["age missing"] is None
    assert (categories["job = cook"], categories["job = missing"], categories["smokes = True"]) == (
        "cook", "missing", "True",
    )  # fmt: skip
