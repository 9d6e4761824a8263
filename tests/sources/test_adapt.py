import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.datasets import TableEncoder
from ensemblage.persistence import SavedModel, load, save
from ensemblage.sources import (
    AdaptedClassifier,
    AdaptedRegressor,
    PartialPoolingClassifier,
    PartialPoolingRegressor,
    SourceScaler,
    adapt,
    fit_value_calibration,
    recalibrate,
)
from reference.adaptation import adapted_proba, value_calibration

NAMES = ["age", "dose"]


def rows(seed, n_rows=200, shift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    return X, (2 * X[:, 0] + shift + rng.logistic(size=n_rows) > 0).astype(int)


@pytest.fixture(scope="module")
def training():
    X, y = rows(0, 300)
    return {"X_train": X, "y_train": y, "sources": np.repeat(["a", "b", "c"], 100)}


@pytest.fixture(scope="module")
def model(training):
    return LogisticRegression().fit(training["X_train"], training["y_train"])


@pytest.fixture(scope="module")
def pooled(training):
    return PartialPoolingClassifier(cv=2, random_state=0).fit(
        training["X_train"], training["y_train"], sources=training["sources"]
    )


@parametrize_with_checks([AdaptedClassifier(LogisticRegression()), AdaptedRegressor(Ridge())])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_by_hand():
    """One residual of 2: shift 2 / (1 + 1), a third of it, as one row cannot tell."""
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    adapted = adapt(model, [[0.0]], [2.0])
    assert adapted.share_ == pytest.approx(1 / 3)
    assert adapted.shift_ == pytest.approx(1 / 3)
    assert adapted.predict([[5.0]]) == pytest.approx(5 + 1 / 3 / 3)
    assert not adapted.significant_


@pytest.mark.parametrize("n_rows", [1, 7, 40])
def test_values_are_those_of_the_slow_twin(n_rows):
    rng = np.random.default_rng(n_rows)
    predicted, weights = rng.normal(size=n_rows), rng.uniform(0.5, 2, n_rows)
    y = 1 + 1.5 * predicted + rng.normal(size=n_rows)
    found = fit_value_calibration(predicted, y, weights)
    expected = value_calibration(predicted, y, weights)
    np.testing.assert_allclose(
        [found.shift, found.slope, found.probability_of_change], expected, rtol=1e-6
    )


@given(st.integers(0, 300), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
@settings(max_examples=30)
def test_values_change_with_the_unit(seed, origin, unit):
    rng = np.random.default_rng(seed)
    predicted, y, weights = rng.normal(size=12), rng.normal(size=12), np.ones(12)
    found = fit_value_calibration(predicted, y, weights)
    other = fit_value_calibration(origin + unit * predicted, origin + unit * y, weights)
    assert other.shift == pytest.approx(unit * found.shift, rel=1e-5, abs=1e-6 * unit)
    assert other.slope == pytest.approx(found.slope, rel=1e-5)
    assert other.probability_of_change == pytest.approx(found.probability_of_change, rel=1e-4)


@pytest.mark.parametrize("refit", [False, True])
def test_classes_are_those_of_the_slow_twin(model, training, refit):
    X, y = rows(1, 40, 1.0)
    adapted = adapt(model, X, y, **(training if refit else {}))
    expected = adapted_proba(model, X, y, training if refit else None)
    np.testing.assert_allclose(adapted.predict_proba(X), expected, atol=1e-6)


def test_without_training_rows_it_is_a_cautious_recalibration(model):
    X, y = rows(1, 60, 2.0)
    adapted, full = adapt(model, X, y), recalibrate(model, X, y)
    assert adapted.slope_ == full.slope_
    logs, ends = (np.log(each.predict_proba(X)) for each in (model, full))
    between = log_softmax(logs + adapted.share_ * (ends - logs), axis=1)
    np.testing.assert_allclose(np.log(adapted.predict_proba(X)), between)


@pytest.mark.parametrize("kind", ["model", "pooled"])
def test_a_shifted_site_gains(request, training, kind):
    model = request.getfixturevalue(kind)
    X, y = rows(3, 3000, 2.0)
    adapted = adapt(model, *rows(4, 80, 2.0), **training)
    assert log_loss(y, adapted.predict_proba(X)) < 0.9 * log_loss(y, model.predict_proba(X))
    assert adapted.significant_
    assert adapted.share_ > 0.9
    assert adapted.cv_change_ < 0
    assert "The change is significant" in adapted.summary_


def test_partial_pooling_joins_as_a_source_with_the_chosen_penalties(pooled, training):
    before = pooled.coef_.copy()
    adapted = adapt(pooled, *rows(4, 50, 2.0), **training, source_name="north")
    inside = adapted.refitted.estimator
    assert inside.sources_.tolist() == ["a", "b", "c", "north"]
    assert inside.deviation_penalty_ == pooled.deviation_penalty_
    np.testing.assert_array_equal(pooled.coef_, before)


def test_what_the_rows_tell(model, pooled, training):
    X, y = rows(7, 20)
    few = adapt(model, X, y)
    share = f"The probability that calibration has changed is {few.share_:.0%}, and this share"
    assert few.summary_.startswith(f"20 labelled rows (0: {20 - y.sum()}, 1: {y.sum()}): ")
    assert share in few.summary_
    assert "fitted again" not in few.summary_
    for each, how in ((model, "with a weight"), (pooled, "as a source of their own")):
        summary = adapt(each, X, y, **training).summary_
        assert summary.endswith(f"fitted again with these rows {how}; the mean of both is used.")


def test_others_join_with_a_weight(training):
    """At 15 % of 300 rows, each of ten rows weighs 4.5."""
    X, y = rows(5, 10)
    model = LogisticRegression(C=10).fit(training["X_train"], training["y_train"])
    inside = adapt(model, X, y, **training).refitted.estimator
    weights = np.concatenate([np.ones(300), np.full(10, 4.5)])
    joined = np.concatenate([training["X_train"], X]), np.concatenate([training["y_train"], y])
    expected = clone(model).fit(*joined, sample_weight=weights)
    np.testing.assert_allclose(inside.coef_, expected.coef_)


@pytest.mark.parametrize("n_rows", [1, 3])
def test_a_row_of_one_class_is_enough(model, pooled, training, n_rows):
    X, _ = rows(6, n_rows)
    for each in (model, pooled):
        adapted = adapt(each, X, np.ones(n_rows, int), **training)
        proba = adapted.predict_proba(X)
        assert (proba > 0).all()
        assert adapted.class_counts_.tolist() == [0, n_rows]
        assert adapted.cv_change_ is None
        assert not adapted.significant_


def test_several_classes_with_one_missing_at_the_site():
    X, _ = rows(0, 300)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = LogisticRegression().fit(X, y)
    site = X[:, 0] < 0.5
    adapted = adapt(model, X[site][:40], y[site][:40], X_train=X, y_train=y)
    assert (adapted.predict_proba(X) > 0).all()
    assert adapted.intervals_.shape == (4, 2)


@pytest.mark.parametrize("kind", [LinearRegression(), PartialPoolingRegressor(cv=2)])
def test_numbers(training, kind):
    rng = np.random.default_rng(0)
    X, sources = training["X_train"], training["sources"]
    y = X[:, 0] + rng.normal(size=300)
    params = {} if isinstance(kind, LinearRegression) else {"sources": sources}
    model = clone(kind).fit(X, y, **params)
    site, new = rng.normal(size=(30, 2)), rng.normal(size=(500, 2))
    adapted = adapt(
        model, site, site[:, 0] + 3 + rng.normal(size=30), X_train=X, y_train=y, sources=sources
    )
    truth = new[:, 0] + 3
    errors = [np.mean((each.predict(new) - truth) ** 2) for each in (model, adapted)]
    assert errors[1] < 0.3 * errors[0]
    assert adapted.significant_
    assert adapted.summary_.startswith("30 labelled rows: predictions are shifted by ")


@pytest.mark.slow
@pytest.mark.parametrize("numeric", [False, True])
def test_pools_join_as_a_source(training, numeric):
    X, sources = training["X_train"], training["sources"]
    site, labels = rows(4, 40, 2.0)
    y = X[:, 0] if numeric else training["y_train"]
    if numeric:
        pool, labels = EnsemblageRegressor(["ridge", "tree"], cv=2, random_state=0), site[:, 0] + 2
    else:
        pool = EnsemblageClassifier(["logistic", "forest"], cv=2, random_state=0)
    pool.fit(X, y, sources=sources)
    adapted = adapt(pool, site, labels, X_train=X, y_train=y, sources=sources)
    assert len(adapted.refitted.estimator.source_pool_.names) == 4
    assert adapted.score(site, labels) > pool.score(site, labels)


def test_a_pool_of_nested_sources(training):
    X, hospitals = training["X_train"], np.repeat(["a", "b", "c"], 100)
    wards = np.char.add(hospitals, np.tile(["u", "v"], 150))
    given = {"X_train": X, "y_train": X[:, 0], "sources": np.column_stack([hospitals, wards])}
    pool = EnsemblageRegressor(["ridge"], cv=2, random_state=0)
    pool.fit(X, given["y_train"], sources=given["sources"])
    site, _ = rows(4, 40, 2.0)
    adapted = adapt(pool, site, site[:, 0] + 2, **given)
    assert len(adapted.refitted.estimator.source_pool_.names) == 7
    assert adapted.score(site, site[:, 0] + 2) > pool.score(site, site[:, 0] + 2)


OFFSETS = np.array([-2.0, 1.0, 0.0, 2.0, -1.0])


def shifted_sources(n_sources=5, n_rows=200):
    """Only the difference from the source's mean of the first column matters."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_sources * n_rows, 2))
    y = (3 * X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    sources = np.repeat(np.arange(n_sources), n_rows)
    X[:, 0] += OFFSETS[sources]
    return X, y, sources


@pytest.mark.parametrize(
    "made", [np.asarray, pd.DataFrame, pl.DataFrame], ids=["array", "pd", "pl"]
)
def test_columns_are_normalised_where_that_helps(made, tmp_path):
    X, y, sources = shifted_sources()
    table = made(X) if made is np.asarray else made(dict(zip(NAMES, X.T, strict=True)))
    train, site = (table[:800], table[800:])
    given = {"X_train": train, "y_train": y[:800], "sources": sources[:800]}
    model = LogisticRegression().fit(train, y[:800])
    adapted = adapt(model, site, **given)
    assert adapted.summary_.startswith("Columns are normalised by source: leaving sources out (4 ")
    assert adapted.score(site, y[800:]) > model.score(site, y[800:]) + 0.1
    save(adapted, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(again.predict_proba(site), adapted.predict_proba(site))


def test_columns_are_left_where_that_does_not_help(model, training):
    X, _ = rows(7, 50)
    adapted = adapt(model, X, **training)
    assert "Columns are left as they are" in adapted.summary_
    np.testing.assert_allclose(adapted.predict_proba(X), model.predict_proba(X))


def test_numbers_without_labels():
    X, _, sources = shifted_sources()
    y = X[:, 0] - OFFSETS[sources]
    model = Ridge().fit(X[:800], y[:800])
    adapted = adapt(model, X[800:], X_train=X[:800], y_train=y[:800], sources=sources[:800])
    assert adapted.score(X[800:], y[800:]) > 0.5 > model.score(X[800:], y[800:])


def test_categories_pass_through_a_scaler():
    table = np.array([[1.0, "x"], [3.0, None], [None, "y"]], dtype=object)
    scaler = SourceScaler([0], np.array([0.0]), np.array([1.0])).fit(table)
    made = scaler.transform(table)
    assert made[:, 1].tolist() == ["x", None, "y"]
    # two known values with mean 2 and variance 1 count as 2 of 27 rows
    share = 2 / 27
    expected = (np.array([1.0, 3.0]) - 2 * share) / np.sqrt(share + (1 - share))
    np.testing.assert_allclose(made[:2, 0].astype(float), expected)
    assert np.isnan(made[2, 0])


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_and_categories(library):
    rng = np.random.default_rng(0)
    table = {"age": rng.normal(size=90), "job": rng.choice(["cook", "smith"], 90)}
    y = np.where(table["age"] > 0, "ill", "well")
    frame = library.DataFrame(table)
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y)
    adapted = adapt(model, frame[:20], y[:20], X_train=frame, y_train=y)
    assert adapted.predict(frame[20:25]).tolist() == y[20:25].tolist()
    assert adapted.summary_.startswith("20 labelled rows (")


@pytest.mark.parametrize("library", [pd, pl])
def test_source_columns(library):
    X, y = rows(0, 120)
    table = dict(zip(NAMES, X.T, strict=True)) | {"site": np.repeat(["a", "b", "c"], 40)}
    frame = library.DataFrame(table)
    model = PartialPoolingClassifier(cv=2, random_state=0).fit(frame, y, sources="site")
    new = library.DataFrame(table | {"site": ["d"] * 120})[:30]
    adapted = adapt(model, new, y[:30], X_train=frame, y_train=y, sources="site")
    without = library.DataFrame({name: table[name] for name in NAMES})[:30]
    np.testing.assert_allclose(adapted.predict_proba(new), adapted.predict_proba(without))


def test_nested_sources(training):
    X, y = training["X_train"], training["y_train"]
    wards = np.column_stack([np.repeat(["a", "b", "c"], 100), np.tile(["u", "v"], 150)])
    fixed = {"common_penalty": 1.0, "deviation_penalty": 1.0, "intercept_penalty": 1.0}
    with pytest.warns(UserWarning, match="Inner sources are not unique"):
        model = PartialPoolingClassifier(**fixed).fit(X, y, sources=wards)
    with pytest.warns(UserWarning, match="Inner sources are not unique"):
        adapted = adapt(model, *rows(3, 20), X_train=X, y_train=y, sources=wards)
    assert adapted.predict_proba(X).shape == (300, 2)


def test_weights_count_rows(model, training):
    X, y = rows(8, 30, 1.0)
    twice = adapt(model, np.repeat(X, 2, axis=0), np.repeat(y, 2), **training)
    weighted = adapt(model, X, y, **training, sample_weight=np.full(30, 2))
    np.testing.assert_allclose(weighted.predict_proba(X), twice.predict_proba(X), atol=1e-6)


def test_the_same_again(pooled, training):
    X, y = rows(8, 30, 1.0)
    first, second = (adapt(pooled, X, y, **training) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.mark.parametrize("kind", ["model", "pooled"])
def test_saved_models(request, training, tmp_path, kind):
    adapted = adapt(request.getfixturevalue(kind), *rows(8, 30, 1.0), **training)
    save(adapted, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops").model
    assert again.summary_ == adapted.summary_
    X, _ = rows(9)
    np.testing.assert_array_equal(again.predict_proba(X), adapted.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [("share_", 2.0), ("summary_", 3), ("intervals_", np.zeros((2, 2))), ("n_rows_", 0)],
)
def test_damaged_states_are_refused(model, tmp_path, name, value):
    adapted = adapt(model, *rows(8, 30))
    setattr(adapted, name, value)
    save(adapted, tmp_path / "m.skops")
    with pytest.raises(ValueError, match=r"forged or damaged AdaptedClassifier"):
        load(tmp_path / "m.skops")


X, Y = rows(1, 20)


@pytest.mark.parametrize(
    ("site", "given", "message"),
    [
        ((X, np.where(Y, 7, 0)), {}, "not among the model's classes_: 7. Expected some of 0, 1"),
        ((X, np.where(Y, np.nan, 0.0)), {}, "y is missing in .* Omit these rows"),
        ((X, Y[:5]), {}, "y has 5 entries, but there are 20 rows"),
        ((X[:, :1], Y), {}, "X has 1 column, but the model was fitted on 2"),
        ((X,), {}, "Without labels, X_train, y_train and sources are needed"),
        ((X, Y), {"X_train": X}, "X_train was given without y_train"),
        ((X, Y), {"X_train": X, "y_train": 0 * Y}, "y_train lacks the model's classes 1"),
        ((X, Y), {"X_train": X[:, :1], "y_train": Y}, "X_train has 1 column, but X has 2"),
        ((X, Y), {"X_train": pd.DataFrame(X), "y_train": Y}, "are of different types"),
        ((X,), {"X_train": X, "y_train": Y, "sources": [1, 2] * 10}, "2 sources .* at least 3"),
    ],
)
def test_bad_input(model, site, given, message):
    with pytest.raises(ValueError, match=message):
        adapt(model, *site, **given)


def test_columns_of_frames_are_checked():
    frame = pd.DataFrame(X, columns=NAMES)
    model = LogisticRegression().fit(frame, Y)
    with pytest.raises(ValueError, match=r"missing in X: dose\. Did you mean 'dosis'"):
        adapt(model, frame.rename(columns={"dose": "dosis"}), Y)
    with pytest.raises(ValueError, match="not fitted on: size"):
        adapt(model, frame.assign(size=1), Y)
    with pytest.raises(ValueError, match="X_train and X have different columns: size"):
        adapt(model, frame, Y, X_train=frame.assign(size=1), y_train=Y)


def test_sources_are_checked(pooled, training):
    with pytest.raises(ValueError, match="source_name='a' is one of the training sources"):
        adapt(pooled, X, Y, **training, source_name="a")
    with pytest.raises(ValueError, match="was fitted with sources: give the source"):
        adapt(pooled, X, Y, X_train=training["X_train"], y_train=training["y_train"])


def test_an_adapted_model_is_not_fitted_again(model, training):
    X, y = rows(5, 10)
    for each in (adapt(model, X, y), recalibrate(model, *rows(4, 80, 2.0))):
        with pytest.raises(ValueError, match="model is adapted to a source already"):
            adapt(each, X, y, **training)
        assert adapt(each, X, y).n_rows_ == 10


def test_models_are_checked(training):
    with pytest.raises(NotFittedError):
        adapt(LogisticRegression(), X, Y)
    with pytest.raises(TypeError, match="has no predict_proba"):
        adapt(LinearSVC().fit(X, Y), X, Y)
    with pytest.raises(TypeError, match=r"give `load\(path\)\.model`"):
        adapt(SavedModel(None), X, Y)
    with pytest.raises(TypeError, match="neither sources nor sample_weight: omit X_train"):
        adapt(KNeighborsClassifier().fit(X, Y), X, Y, X_train=X, y_train=Y)
    calibrated = CalibratedClassifierCV(FrozenEstimator(LinearSVC().fit(X, Y))).fit(X, Y)
    assert adapt(calibrated, X, Y).predict_proba(X).shape == (20, 2)


def test_nested_sources_of_the_training_rows():
    rng = np.random.default_rng(0)
    X, wards = rng.normal(size=(360, 2)), np.arange(360) % 6
    names = np.column_stack([np.array(list("ABC"))[wards // 2], np.array(list("uvwxyz"))[wards]])
    y = np.where(X[:, 0] + wards // 2 + rng.logistic(size=360) > 1, "ill", "well")
    model = PartialPoolingClassifier(random_state=0).fit(X, y, sources=names)
    site = rng.normal(size=(40, 2))
    labels = np.where(site[:, 0] - 2 + rng.logistic(size=40) > 0, "ill", "well")
    adapted = adapt(model, site, labels, X_train=X, y_train=y, sources=names)
    assert adapted.refitted.sources_.tolist()[-1] == ["new source", "new source"]
    assert log_loss(labels, adapted.predict_proba(site)) < log_loss(
        labels, model.predict_proba(site)
    )
    without = adapt(model, site + 5.0, X_train=X, y_train=y, sources=names)
    assert "leaving sources out (3 sources)" in without.summary_
