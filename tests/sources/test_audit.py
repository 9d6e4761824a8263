import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

import ensemblage
from ensemblage.datasets import TableEncoder
from ensemblage.sources import (
    SourceAudit,
    _audit,
    balanced_folds,
    cross_predict,
    errors,
    source_audit,
    source_folds,
)
from ensemblage.sources._audit import drop_from_training
from ensemblage.sources._meta_analysis import pool_estimates
from ensemblage.sources._source_measures import calibration_curve, class_curves, source_auc

# rows of three classes in six sources
LABELS = np.array([0, 1, 0, 1, 2, 2] * 10)
SIX_SOURCES = np.repeat(np.arange(6), 10)
X = np.eye(3)[LABELS] + np.random.default_rng(0).normal(size=(60, 3)) / 3


def test_errors_by_hand():
    proba = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    assert errors(proba, np.array([0, 2])).tolist() == [False, True]


def test_balanced_folds_have_every_source_in_training():
    for train, test in balanced_folds(LABELS, SIX_SOURCES, 5, 0):
        assert set(SIX_SOURCES[train]) == set(range(6))
        assert not set(train) & set(test)


@pytest.mark.parametrize(("most", "n_folds"), [(10, 6), (3, 3)])
def test_sources_are_left_out_whole(most, n_folds):
    folds = source_folds(SIX_SOURCES, most)
    assert len(folds) == n_folds
    for train, test in folds:
        assert not set(SIX_SOURCES[train]) & set(SIX_SOURCES[test])
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(60))


def test_same_probabilities_for_frames_and_two_processes():
    folds = balanced_folds(LABELS, SIX_SOURCES, 3, 0)
    found = cross_predict(LogisticRegression(), X, LABELS, folds)
    frame = cross_predict(LogisticRegression(), pd.DataFrame(X), LABELS, folds, n_jobs=2)
    np.testing.assert_array_equal(found, frame)
    assert errors(found, LABELS).mean() < 0.2


def test_classes_missing_in_training_have_probability_zero():
    only_new = np.where(SIX_SOURCES == 0, 2, LABELS % 2)
    found = cross_predict(LogisticRegression(), X, only_new, source_folds(SIX_SOURCES, 10))
    assert (found[SIX_SOURCES == 0, 2] == 0).all()
    one = np.where(SIX_SOURCES == 0, 1, 0)
    alone = cross_predict(LogisticRegression(), X, one, source_folds(SIX_SOURCES, 10))
    assert (alone[SIX_SOURCES == 0] == [1, 0]).all()


def test_dropped_sources_stay_in_the_test_folds():
    folds = source_folds(SIX_SOURCES, 10)
    found = drop_from_training(folds, SIX_SOURCES, [2])
    assert [set(SIX_SOURCES[fold.test]) for fold in found] == [{s} for s in range(6)]
    assert all(2 not in SIX_SOURCES[fold.train] for fold in found)
    two = source_folds(SIX_SOURCES[:20], 10)
    assert [len(fold.train) for fold in drop_from_training(two, SIX_SOURCES[:20], [0])] == [10, 10]


def rows_of_sites(n_sources=5, n_rows=120, inverted=None, seed=0):
    rng = np.random.default_rng(seed)
    sources = np.repeat([f"site {s}" for s in range(n_sources)], n_rows)
    X = rng.normal(size=(len(sources), 3))
    X[:, 2] += 3 * (sources == "site 1")
    y = (2 * X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    if inverted is not None:
        y = np.where(sources == inverted, 1 - y, y)
    return X, y, sources


def audited(*rows, **options):
    options = {"random_state": 0, "learning_curve": False} | options
    return source_audit(LogisticRegression(), *rows, **options)


@pytest.fixture(scope="module")
def whole():
    """Every part: eight sources and their times."""
    X, y, sources = rows_of_sites(8, 60)
    time = np.random.default_rng(0).integers(2010, 2017, len(y))
    return audited(X, y, sources, time=time, learning_curve=True)


def test_each_source_is_predicted_by_a_model_of_the_others():
    X, y, sources = rows_of_sites()
    found = audited(X, y, sources)
    assert [each.n for each in found.sources] == [120] * 5
    for each in found.sources:
        own = sources == each.source
        proba = LogisticRegression().fit(X[~own], y[~own]).predict_proba(X[own])
        assert each.measures["auc"].value == pytest.approx(roc_auc_score(y[own], proba[:, 1]))
        assert each.measures["log_loss"].value == pytest.approx(log_loss(y[own], proba))
        assert each.measures["oe"].value == pytest.approx(y[own].sum() / proba[:, 1].sum())
        assert each.events == y[own].sum()
        for one in each.measures.values():
            if one.low is not None:
                assert one.low <= one.value <= one.high
                assert one.se > 0
        assert sum(s.measures["auc"].weight for s in found.sources) == pytest.approx(1.0)


def test_similar_sources_have_about_the_figures_of_cross_validation():
    found = audited(*rows_of_sites())
    auc = found["auc"]
    assert auc.mean == pytest.approx(auc.cross_validation, abs=0.03)
    assert auc.new_low <= auc.low <= auc.mean <= auc.high <= auc.new_high
    assert auc.n_sources == 5
    assert found.inverted_sources == ()
    assert (found.column_shifts[0].column, found.column_shifts[0].source) == ("x2", "site 1")
    with pytest.raises(KeyError, match="'gini' is not one of the measures auc"):
        found["gini"]


@pytest.mark.parametrize("interval", ["profile", "hartung-knapp"])
def test_the_summary_pools_the_sources(interval):
    X, y, sources = rows_of_sites()
    found = audited(X, y, sources, interval=interval)["auc"]
    codes = np.unique(sources, return_inverse=True)[1]
    proba = cross_predict(LogisticRegression(), X, y, source_folds(codes, 30))
    groups = [np.flatnonzero(codes == s) for s in range(5)]
    areas = source_auc(proba[:, 1], y == 1, groups)
    expected = pool_estimates(areas.estimates, areas.variances, interval)
    back = 1 / (1 + np.exp(-np.array(expected[:5])))
    np.testing.assert_allclose(
        [found.mean, found.low, found.high, found.new_low, found.new_high], back
    )
    assert (found.tau, found.i2) == pytest.approx((expected.tau, expected.i2))


def test_references_are_the_prevalence_and_a_regression(whole):
    none, regression = whole.references
    assert none.measures["auc"].value == pytest.approx(0.5, abs=1e-6)
    assert none.cross_validation["auc"] == pytest.approx(0.5)
    assert none.measures["slope"].value is None
    assert none.difference < 0
    assert none.high < 0
    assert "significantly better than the prevalence alone" in whole.sentences[2]
    # the model is a logistic regression too, up to the scale of its columns
    assert regression.measures["auc"].value == pytest.approx(whole["auc"].mean, abs=0.01)


def test_an_inverted_source_is_found():
    found = audited(*rows_of_sites(inverted="site 3"))
    assert found.inverted_sources == ("site 3",)
    assert "Check site 3 first" in str(found)


@pytest.fixture
def heart(shared):
    table = pd.read_csv(shared / "data" / "multi-source" / "heart.csv")
    return table.drop(columns=["source", "class"]), table["class"], table["source"]


@pytest.mark.parametrize("inverted", ["", "cleveland", "hungarian"])
def test_an_inverted_hospital_of_the_real_table_is_found(heart, inverted):
    X, y, sources = heart
    model = make_pipeline(TableEncoder(), LogisticRegression(max_iter=2000))
    labels = np.where(sources == inverted, 1 - y, y)
    found = source_audit(model, X, labels, sources, learning_curve=False, random_state=0)
    assert found.inverted_sources == ((inverted,) if inverted else ())


def test_a_source_with_another_rate_is_not_inverted():
    rng = np.random.default_rng(0)
    sources = np.repeat(["a", "b", "c", "d"], 200)
    X = rng.normal(size=(800, 2))
    y = (X[:, 0] - 3.5 * (sources == "d") + 1.5 + rng.logistic(size=800) > 0).astype(int)
    found = audited(X, y, sources)
    assert found.inverted_sources == ()
    assert ("d", "prevalence") in {(each.source, each.kind) for each in found.suspects}
    labels = np.where(sources == "d", 1 - y, y)
    assert audited(X, labels, sources).inverted_sources == ("d",)


def test_two_inverted_of_six_are_both_named():
    X, y, sources = rows_of_sites(6)
    y = np.where(np.isin(sources, ["site 2", "site 5"]), 1 - y, y)
    assert audited(X, y, sources).inverted_sources == ("site 2", "site 5")


@pytest.fixture
def fresh(monkeypatch):
    """One entry for each fit that was computed, not taken from the cache."""
    computed, once = [], _audit._fit_and_predict

    def counted(*task):
        computed.append(None)
        return once(*task)

    monkeypatch.setattr(_audit, "_fit_and_predict", counted)
    return computed


def test_stored_fits_are_not_repeated_and_all_bits_are_equal(fresh):
    X, y, sources = rows_of_sites(6)
    y = np.where(np.isin(sources, ["site 2", "site 5"]), 1 - y, y)
    plain, n_planned, calls = audited(X, y, sources, cv=2), 16, []
    # and those without inverted sources, where one fold is as it was
    assert len(fresh) == n_planned + 6
    cache = {}
    del fresh[:]
    assert audited(X, y, sources, cv=2, cache=cache) == plain
    assert len(fresh) == len(cache) == n_planned + 5
    del fresh[:]
    assert plain == audited(X, y, sources, cv=2, cache=cache, progress=lambda *p: calls.append(p))
    assert (fresh, calls) == ([], [(n_planned, n_planned)])
    part = {key: cache[key] for key in list(cache)[::3]}
    stored = len(part)
    assert audited(X, y, sources, cv=2, cache=part) == plain
    assert len(fresh) == len(cache) - stored
    assert part.keys() == cache.keys()
    assert all(np.array_equal(part[key], cache[key]) for key in cache)


def changed(what, X, y):
    """Change one fact; give the model and its rows."""
    models = {
        "parameter": LogisticRegression(C=2.0), "seed": LogisticRegression(random_state=1),
        "model": make_pipeline(StandardScaler(), LogisticRegression()),
    }  # fmt: skip
    X, y = X.copy(), y.copy()
    if what == "value":
        X[7, 1] = np.nextafter(X[7, 1], 9)
    elif what == "label":
        y[7] = 1 - y[7]
    elif what == "type":
        X = X.astype(np.float32)
    return models.get(what, LogisticRegression()), X, y


@pytest.mark.parametrize(
    ("what", "n_computed"),
    # a change of the model leaves the reference, logistic regression, as it was
    [("nothing", 0), ("parameter", 4), ("seed", 4), ("model", 4), ("value", 8), ("label", 8),
     ("type", 8), ("version", 8)],
)  # fmt: skip
def test_what_is_changed_is_computed_again(what, n_computed, fresh, monkeypatch):
    X, y, sources = rows_of_sites(2, 60)
    cache, options = {}, {"random_state": 0, "cv": 2}
    source_audit(LogisticRegression(), X, y, sources, cache=cache, **options)
    stored = dict(cache)
    model, X, y = changed(what, X, y)
    if what == "version":
        monkeypatch.setattr(ensemblage, "__version__", "99")
    del fresh[:]
    found = source_audit(model, X, y, sources, cache=cache, **options)
    assert len(fresh) == n_computed == len(cache) - len(stored)
    assert all(cache[key] is each for key, each in stored.items())
    assert found == source_audit(model, X, y, sources, **options)


FOREIGN = [
    None, "text", [[0.5, 0.5]], np.zeros((3, 2)), np.full((60, 2), np.nan),
    np.full((60, 2), 0.7), np.full((60, 2), [1.5, -0.5]), np.full((60, 2), 0.5, np.float32),
    np.full((60, 2), "0.5"), np.array(0.5),
]  # fmt: skip


def test_foreign_entries_are_computed_again(fresh):
    rows, cache = rows_of_sites(3, 60), {}
    plain = audited(*rows, cv=3, cache=cache)
    whole = dict(cache)
    assert len(whole) == 12
    cache |= zip(whole, [*FOREIGN, *FOREIGN], strict=False)
    cache |= zip(reversed(whole), FOREIGN, strict=False)
    del fresh[:]
    assert audited(*rows, cv=3, cache=cache) == plain
    assert len(fresh) == len(cache) == 12
    assert all(np.array_equal(cache[key], whole[key]) for key in whole)


@pytest.mark.parametrize("model", [LinearRegression(), BayesianRidge()])
def test_values_and_intervals_are_stored(model, fresh):
    X, _, sources = rows_of_sites(2, 40)
    cache, rows, options = {}, (X, X[:, 0] ** 2, sources), {"random_state": 0, "cv": 2}
    plain = source_audit(model, *rows, cache=cache, **options)
    own = [np.isnan(each).any() for each in cache.values()]
    assert own.count(False) == (4 if isinstance(model, BayesianRidge) else 0)
    del fresh[:]
    assert source_audit(model, *rows, cache=cache, **options) == plain
    assert fresh == []
    cache |= {key: each * np.inf for key, each in cache.items()}
    assert source_audit(model, *rows, cache=cache, **options) == plain
    assert len(fresh) == len(cache) == 8


def test_frames_and_equal_copies_have_the_same_key(fresh):
    X, y, sources = rows_of_sites(2, 60)
    X = pd.DataFrame(X, columns=list("abc")).assign(d=["u", "v"] * 60)
    model = make_pipeline(TableEncoder(), LogisticRegression())
    options = {"random_state": 0, "cv": 2, "cache": {}}
    plain = source_audit(model, X, y, sources, **options)
    del fresh[:]
    assert source_audit(clone(model), X.copy(), list(y), list(sources), **options) == plain
    assert fresh == []


def test_what_is_no_cache_is_refused_before_any_fit(fresh):
    rows = rows_of_sites(2)
    with pytest.raises(TypeError, match=r"cache='folder' is not a mapping: give a dict, or"):
        audited(*rows, cache="folder")
    local = make_pipeline(FunctionTransformer(lambda X: X), LogisticRegression())
    with pytest.raises(TypeError, match="Pipeline cannot be hashed, which a cache needs"):
        source_audit(local, *rows, cache={})
    assert fresh == []


def test_it_prints_sentences_and_tables(whole):
    text = str(whole)
    assert text.startswith("Expected AUC at a new source: 0.")
    assert "in the next period at a new source" in text
    assert "site 2" in text
    assert max(map(len, text.splitlines()[12:])) <= 120
    table = whole.table()
    assert [row[0].text for row in table.rows[-3:]] == [
        "all", "a new source (95% prediction interval)", "cross-validation",
    ]  # fmt: skip
    assert whole._repr_html_().count("<table>") == 2


def test_csv_and_latex(whole):
    frame = pd.read_csv(pd.io.common.StringIO(whole.to_csv()))
    assert list(frame.columns[:5]) == ["source", "n", "events", "measure", "value"]
    auc = frame[frame.measure == "auc"].set_index("source")
    assert auc.value["site 3"] == whole.sources[3].measures["auc"].value
    assert auc.low["new"] == whole["auc"].new_low
    latex = whole.to_latex()
    assert latex.startswith("\\begin{tabular}{lrrrrrr}\n\\toprule\nsource & rows")
    assert "95\\%" in latex
    assert latex.count("\\midrule") == 2


def test_a_document_that_json_gives_back(whole):
    text = msgspec.json.encode(whole)
    assert b"NaN" not in text
    assert b"Infinity" not in text
    back = msgspec.json.decode(text, type=SourceAudit)
    assert back == whole
    assert [each.measure for each in back.summary][:8] == [
        "auc", "oe", "intercept", "slope", "log_loss", "brier", "brier_scaled", "error",
    ]  # fmt: skip


def test_several_classes_categorical_columns_and_processes():
    X, _, sources = rows_of_sites(4)
    frame = pd.DataFrame({"a": X[:, 0], "job": np.where(X[:, 1] > 0, "cook", "smith")})
    y = np.digitize(X[:, 0], [-0.5, 0.5]).astype(str)
    model = make_pipeline(TableEncoder(), LogisticRegression())
    one = source_audit(model, frame, y, sources, random_state=0)
    assert one == source_audit(model, frame, y, sources, random_state=0, n_jobs=2)
    assert {each.column for each in one.column_shifts} == {"a", "job"}
    assert [each.event for each in one.classes] == ["0", "1", "2"]
    assert [each.measure for each in one.summary] == [
        "auc", "slope", "log_loss", "brier", "brier_scaled", "error",
    ]  # fmt: skip
    assert [each.measure for each in one.classes[0].summary] == ["auc", "oe", "intercept", "slope"]


def test_a_numeric_target():
    X, _, sources = rows_of_sites(6)
    y = X[:, 0] + np.random.default_rng(0).normal(size=len(X))
    found = source_audit(LinearRegression(), X, y, sources, random_state=0)
    assert (found.task, found.event, found.events) == ("regression", None, None)
    own = sources == "site 2"
    predicted = LinearRegression().fit(X[~own], y[~own]).predict(X[own])
    each = found.sources[2].measures
    assert each["r2"].value == pytest.approx(r2_score(y[own], predicted))
    assert each["bias"].value == pytest.approx((y[own] - predicted).mean())
    assert 0.85 < found["coverage"].mean < 0.95
    assert [one.reference for one in found.references] == ["no-information", "ridge-regression"]
    assert found.sentences[0].startswith("Expected R² at a new source")
    inverted = source_audit(
        GradientBoostingRegressor(n_estimators=20, random_state=0), X,
        np.where(sources == "site 4", -y, y), sources, learning_curve=False, random_state=0,
    )  # fmt: skip
    assert inverted.inverted_sources == ("site 4",)


def test_columns_by_name_are_no_features():
    X, y, sources = rows_of_sites()
    frame = pd.DataFrame(X, columns=list("abc")).assign(site=sources, year=np.arange(len(y)) % 4)
    found = audited(frame, y, "site", time="year")
    assert found == audited(frame[list("abc")], y, sources, time=frame["year"])
    assert {each.column for each in found.column_shifts} == set("abc")


def test_periods_are_predicted_from_the_past(whole):
    known, new = whole.time
    assert [each.source for each in known.periods] == [str(year) for year in range(2011, 2017)]
    assert (known.new_sources, new.new_sources) == (False, True)
    X, y, sources = rows_of_sites(8, 60)
    time = np.random.default_rng(0).integers(2010, 2017, len(y))
    past, own = time < 2012, time == 2012
    proba = LogisticRegression().fit(X[past], y[past]).predict_proba(X[own])[:, 1]
    assert known.periods[1].measures["auc"].value == pytest.approx(roc_auc_score(y[own], proba))
    assert known.periods[1].n_train == past.sum()
    risk = np.full(len(y), np.nan)
    for site in np.unique(sources):
        train, test = past & (sources != site), own & (sources == site)
        risk[test] = LogisticRegression().fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    assert new.periods[1].measures["auc"].value == pytest.approx(roc_auc_score(y[own], risk[own]))


def test_time_without_sources():
    X, y, _ = rows_of_sites(8, 60)
    found = audited(X, y, time=np.arange(len(y)) // 80)
    assert found.sources == ()
    assert found["auc"].n_sources == 5
    assert found.sentences[0].startswith("Expected AUC in the next period")
    assert "next period" in str(found)
    assert found.table().columns[0].name == "period"
    few = audited(X, y, time=np.arange(len(y)) // 200)
    assert few["auc"].mean is None
    assert "with fewer than four nothing is said of the next one" in str(few)


def test_the_loss_by_the_number_of_sources(whole):
    curve = whole.learning
    assert curve.n_sources == (3, 4, 5, 6, 7)
    assert curve.values[-1] == pytest.approx(whole["log_loss"].mean)
    assert curve.low <= curve.expected_of_twice <= curve.high
    slope = (curve.expected_of_one_more - curve.values[-1]) / (1 / 8 - 1 / 7)
    inverse = 1 / np.array(curve.n_sources)
    assert slope == pytest.approx(np.polyfit(inverse, curve.values, 1)[0])
    assert audited(*rows_of_sites(5), learning_curve=True).learning is None


def test_groups_of_many_sources_are_left_out():
    X, y, sources = rows_of_sites(35, 12)
    found = audited(X, y, sources)
    assert len(found.sources) == 35
    assert found["auc"].n_sources >= 30
    assert "With 35 sources, 30 groups of sources were left out." in found.sentences


def test_curves():
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.05, 0.95, 4000)
    events = rng.random(4000) < risk
    for predicted, observed in calibration_curve(risk, events):
        assert observed == pytest.approx(predicted, abs=0.06)
    assert calibration_curve(np.full(4, 0.3), np.array([1, 0, 0, 0], bool)) == ((0.3, 0.25),)
    made = class_curves(risk, events, np.array([0.2, 0.5]), np.linspace(0, 1, 11))
    assert made.net_benefit[1] == pytest.approx(
        (events & (risk >= 0.5)).mean() - (~events & (risk >= 0.5)).mean()
    )
    assert made.treat_all[0] == pytest.approx(events.mean() - (~events).mean() / 4)
    assert sum(made.risk_of_events) + sum(made.risk_of_others) == 4000


def test_invalid_input_is_refused_before_any_fit():
    class Unfittable(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError

    X, y, sources = rows_of_sites(2)

    def refused(message, *rows, model=None, error=ValueError, **options):
        with pytest.raises(error, match=message):
            source_audit(model or Unfittable(), *rows, **options)

    refused("sources has 1 source, '0'", X, y, np.zeros(len(y), dtype=int))
    refused("most have one row", X, y, np.arange(len(y)))
    refused("one class only, 0", X, np.zeros(len(y), dtype=int), sources)
    refused("sources is missing for 1 of", X, y, np.append(sources[1:].astype(object), None))
    refused("y is missing in 1 of 240 rows", X, np.append(y[1:].astype(float), np.nan), sources)
    refused("sources and time are both missing", X, y)
    refused("not a date such as", X, y, sources, time=["x"] * len(y))
    refused("time is missing for 1", X, y, sources, time=np.append(np.nan, np.arange(239.0)))
    refused("SVC gives no probabilities", X, y, sources, model=SVC(), error=TypeError)
    refused("neither a classifier nor", X, y, sources, model=TableEncoder(), error=TypeError)
    refused("threshold=1.5: expected risks between 0 and 1", X, y, sources, threshold=1.5)
    refused("threshold=0.5 is for classes", X, X[:, 0], sources, threshold=0.5,
            model=LinearRegression())  # fmt: skip
    refused("event='ill' is not a class", X, y, sources, event="ill")
    refused("interval='wald' is not one of", X, y, sources, interval="wald")
    frame = pd.DataFrame(X, columns=list("abc"))
    refused("sources='sit' is not a column of X", frame.assign(site=sources), y, "sit")
    refused("time='yer' is not a column of X", frame.assign(year=1), y, sources, time="yer")


def test_two_sources_have_figures_but_nothing_is_pooled():
    found = audited(*rows_of_sites(2))
    assert found["auc"].mean is None
    assert found["auc"].n_sources == 2
    assert found.sources[0].measures["auc"].value > 0.5
    assert any("sources has two sources" in each for each in found.sentences)
    assert "AUC of the left-out rows: 0." in found.sentences[0]


def test_a_source_of_one_class_is_named_and_the_others_are_pooled():
    X, y, sources = rows_of_sites(5)
    y = np.where(sources == "site 0", 1, y)
    found = audited(X, y, sources)
    first = found.sources[0]
    assert first.measures["auc"].value is None
    assert first.measures["log_loss"].value is not None
    assert found["auc"].n_sources == 4
    assert found["oe"].n_sources == 5
    assert "One class only, so no AUC and no slope: site 0 (1 in all 120 rows)." in found.sentences
    assert found.inverted_sources == ()


def test_limits_are_possible_values():
    found = audited(*rows_of_sites(3, 30, inverted="site 2"))
    assert found["brier"].new_high == 1.0
    for each in found.summary:
        if "net_benefit" in each.measure or each.measure.startswith(("auc", "error", "sens")):
            assert each.new_high <= 1.0


def test_thresholds_and_event():
    X, y, sources = rows_of_sites(4)
    found = audited(X, np.where(y == 1, "ill", "well"), sources, event="ill", threshold=[0.2, 0.4])
    names = [each.measure for each in found.summary if "@" in each.measure]
    assert names[::5] == ["sensitivity@0.2", "sensitivity@0.4"]
    assert found.event == "ill"
    assert found.events == (y == 1).sum()
    usual = audited(X, y, sources)
    shown = {each.measure.partition("@")[2] for each in usual.summary} - {""}
    assert shown == {"0.5", f"{float(f'{y.mean():.2g}'):g}"}


@pytest.fixture
def study(monkeypatch):
    path = Path(__file__).parents[2] / "studies" / "study_audit.py"
    spec = spec_from_file_location("study_audit", path)
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("n_sources", [4, 16])
def test_coverage_of_intervals_in_simulation(study, n_sources):
    found = study.coverage(n_sources, 30)
    for (name, interval, what), share in found.items():
        if interval == "profile":
            # thirty runs: two standard errors of a share of .95 are .08, of new sources about .04
            assert share >= (0.86 if what == "mean" else 0.89), (name, what)


@pytest.mark.slow
def test_inverted_labels_are_found_and_noise_is_not(study):
    flagged, alarms, found = study.alarms(60)
    assert flagged <= 0.02
    assert alarms <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 60)
    assert found >= 0.7
