"""Estimators that encode raw tables."""

import json

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import EncodeMixin, TableEncoder, as_pipeline, is_raw_table
from ensemblage.evaluation._diversity import member_labels
from ensemblage.inner import InnerTreeRegressor
from ensemblage.persistence import load, save
from ensemblage.pool import EnsemblageRegressor
from ensemblage.report import explain_model
from ensemblage.strata import HISS, BootstrapStrata, StrataDisplay, StrataEnsembleClassifier
from ensemblage.subspace import JointSubspaceClassifier, JointSubspaceRegressor

RNG = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(40, 9, N)),
        "job": RNG.choice(["cook", "smith", None], N),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(900, size=N), "D"),
        "smokes": RNG.random(N) < 0.5,
    }
)
Y = np.where((FRAME["job"] == "cook") ^ (RNG.random(N) < 0.1), "yes", "no")
ESTIMATORS = [
    StrataEnsembleClassifier(HISS(3, 0.5), random_state=0),
    JointSubspaceClassifier(n_estimators=2, random_state=0),
]


@pytest.mark.parametrize(
    ("X", "raw"),
    [
        (np.ones((2, 2)), False),
        (np.array([[1.0, np.nan]]), True),
        (np.array([[1.0, 2]], dtype=object), False),
        (np.array([[1.0, "a"]], dtype=object), True),
        (np.array([["1.5"]]), False),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), True),
        ([[1, "a"]], True),
        (csr_array(np.ones((2, 2))), False),
        (np.array([[1j]]), False),
        (pd.DataFrame({"a": [1, 2], "b": [True, False]}), False),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), True),
        (pl.DataFrame({"a": [1.0, None]}), True),
        (pl.DataFrame({"a": ["x"]}), True),
    ],
)
def test_what_needs_an_encoder(X, raw):
    assert is_raw_table(X) is raw


def test_missing_values_alone_need_no_encoder_if_kept():
    assert not is_raw_table(np.array([[1.0, np.nan]]), missing_values=False)
    assert is_raw_table(np.array([[None, "a"]], dtype=object), missing_values=False)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
class TestTables:
    def test_dataframes_with_all_kinds_and_missing_values(self, estimator, tmp_path):
        model = clone(estimator).fit(FRAME, Y)
        assert model.score(FRAME, Y) > 0.8
        assert model.n_features_in_ == 4
        assert model.feature_names_in_.tolist() == list(FRAME.columns)
        assert model.encoder_.get_feature_names_out()[0] == "age"
        save(model, tmp_path / "m.skops")
        again = load(tmp_path / "m.skops").model
        np.testing.assert_array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(FRAME[["job", "age", "since", "smokes"]])

    def test_equals_a_pipeline_with_table_encoder(self, estimator):
        model = clone(estimator).fit(FRAME, Y)
        apart = make_pipeline(TableEncoder(random_state=0), clone(estimator)).fit(FRAME, Y)
        np.testing.assert_array_equal(model.predict_proba(FRAME), apart.predict_proba(FRAME))
        assert not hasattr(apart[-1], "encoder_")

    def test_polars_objects_and_lists_give_equal_results(self, estimator):
        frame = FRAME.drop(columns="since")
        expected = clone(estimator).fit(frame, Y).predict_proba(frame)
        objects = frame.to_numpy(object)
        for X in (pl.from_pandas(frame), objects, objects.tolist()):
            np.testing.assert_array_equal(clone(estimator).fit(X, Y).predict_proba(X), expected)

    def test_numeric_rows_need_no_encoder_and_refit_removes_it(self, estimator):
        X = FRAME[["age"]].fillna(40.0).to_numpy()
        X = np.column_stack([X, np.arange(N) % 7])
        model = clone(estimator).fit(FRAME, Y).fit(X, Y)
        assert not hasattr(model, "encoder_")
        plain = clone(estimator).set_params(encode=None).fit(X, Y)
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))

    def test_custom_encoder(self, estimator):
        encoder = TableEncoder(kinds={"smokes": "categorical"}, min_frequency=5)
        model = clone(estimator).set_params(encode=encoder).fit(FRAME, Y)
        assert model.encoder_.min_frequency == 5
        assert not hasattr(encoder, "kinds_")

    @pytest.mark.parametrize("encode", [None, False])
    def test_missing_values_without_encoder_are_refused(self, estimator, encode):
        with pytest.raises(ValueError, match="contains NaN"):
            clone(estimator).set_params(encode=encode).fit(FRAME[["age"]], Y)

    def test_target_is_required(self, estimator):
        with pytest.raises(ValueError, match="requires y to be passed"):
            clone(estimator).fit(FRAME, None)


def test_strata_explain_a_raw_row():
    model = clone(ESTIMATORS[0]).fit(FRAME, Y)
    explained = model.explain_row(FRAME.iloc[[3]])
    assert explained["prediction"] == model.predict(FRAME.iloc[[3]])[0]
    objects = clone(ESTIMATORS[0]).fit(FRAME.to_numpy(object), Y)
    again = objects.explain_row(FRAME.to_numpy(object)[3].tolist())
    np.testing.assert_array_equal(again["scores"], explained["scores"])


def test_displays_accept_the_raw_table():
    model = clone(ESTIMATORS[0]).fit(FRAME, Y)
    display = StrataDisplay.from_estimator(model, FRAME)
    by_hand = StrataDisplay.from_estimator(model.stratifier_, model.encoder_.transform(FRAME))
    np.testing.assert_array_equal(display.points, by_hand.points)
    assert member_labels(model, FRAME).shape == (3, N)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas])
def test_explanation_uses_raw_columns(estimator, make):
    model = clone(estimator).fit(make(FRAME), Y)
    facts = explain_model(model, make(FRAME), Y, row=3)
    explained = json.loads(msgspec.json.encode(facts.document))
    decision = explained.get("decision") or explained["row"]["decision"]
    fields = {each["column"]: each["value"] for each in decision["contributions"]}
    assert fields.keys() == set(FRAME.columns)
    assert fields["since"] == str(FRAME["since"][3].date())


def test_as_pipeline():
    model = clone(ESTIMATORS[1]).fit(FRAME, Y)
    shown = as_pipeline(make_pipeline("passthrough", model))[-1]
    assert [name for name, _ in shown.steps] == ["table", "model"]
    np.testing.assert_array_equal(shown.predict_proba(FRAME), model.predict_proba(FRAME))
    assert hasattr(model, "encoder_")
    assert as_pipeline(LogisticRegression) is LogisticRegression


def test_members_that_accept_raw_tables_get_them():
    model = StrataEnsembleClassifier(
        make_pipeline(make_column_transformer((StandardScaler(), ["smokes"])), BootstrapStrata(2)),
        BayesNetClassifier(), random_state=0,
    ).fit(FRAME.drop(columns="age"), Y)  # fmt: skip
    assert not hasattr(model, "encoder_")
    assert "job" in model.estimators_[0].categories_
    forced = model.set_params(encode=TableEncoder(), stratifier=BootstrapStrata(2))
    assert forced.fit(FRAME, Y).encoder_.n_features_in_ == 4


class NanClassifier(EncodeMixin, ClassifierMixin, BaseEstimator):
    """A classifier that handles NaN."""

    _keeps_missing = True

    def __init__(self, encode="auto"):
        self.encode = encode

    def fit(self, X, y):
        self.rows_, self.labels_ = self._training_rows(X, y)
        return self


def test_missing_values_are_kept():
    model = NanClassifier().fit(FRAME, Y)
    np.testing.assert_array_equal(model.rows_[:, 0], FRAME["age"])
    assert "age missing" not in model.encoder_.get_feature_names_out()
    assert not hasattr(NanClassifier().fit(FRAME[["age"]].to_numpy(), Y), "encoder_")


def test_column_transformer_as_encoder():
    by_hand = make_column_transformer((OneHotEncoder(), ["smokes"]))
    model = StrataEnsembleClassifier(
        BootstrapStrata(2), LogisticRegression(), encode=by_hand, random_state=0
    ).fit(FRAME, Y)
    assert model.estimators_[0].n_features_in_ == 2


@pytest.mark.parametrize("model", [
    EnsemblageRegressor(["ridge", "svr"], random_state=0), JointSubspaceRegressor(random_state=0),
    InnerTreeRegressor(random_state=0),
])  # fmt: skip
def test_rows_of_zero_weight_are_ignored(model):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "size": rng.normal(size=120), "colour": rng.choice(["red", "green"], size=120),
    })  # fmt: skip
    y = frame["size"].to_numpy() + (frame["colour"] == "red") + 0.1 * rng.normal(size=120)
    frame.loc[::7, "size"] = np.nan
    weights = np.repeat([1.0, 0.0], [90, 30])
    frame.loc[90:, "size"] += 50
    frame.loc[95:, "colour"] = "blue"
    there = model.fit(frame, y, sample_weight=weights).predict(frame[:90])
    absent = model.fit(frame[:90], y[:90], sample_weight=weights[:90]).predict(frame[:90])
    np.testing.assert_allclose(there, absent, rtol=1e-12)
