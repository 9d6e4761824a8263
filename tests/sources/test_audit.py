import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ensemblage.datasets import Column, TableEncoder
from ensemblage.sources import (
    AuditedSource,
    ColumnShift,
    SourceAudit,
    as_log_proba,
    balanced_folds,
    cross_predict,
    errors,
    source_audit,
    source_folds,
)
from ensemblage.sources._audit import (
    calibrate_sources,
    column_shift,
    coverages,
    drop_from_training,
    find_inverted,
    inversion_evidence,
    log_losses,
    recalibrated_loss,
    reference_class,
)

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]
SOURCES = np.repeat([0, 1, 2], 100)
# rows of three classes in six sources
LABELS = np.array([0, 1, 0, 1, 2, 2] * 10)
SIX_SOURCES = np.repeat(np.arange(6), 10)
X = np.eye(3)[LABELS] + np.random.default_rng(0).normal(size=(60, 3)) / 3
NORTH = AuditedSource(
    "north", 10, 0.1, 0.3, 0.2, 0.5, 0.21, 0.1, 0.4, 0.4, 0.6, 0.9, 0.8, 1.0, -0.5, -0.9, -0.1, 0.85
)  # fmt: skip


def test_numeric_column_shifted_in_one_source():
    values = RNG.normal(size=300) + 5 * (SOURCES == 1)
    found = column_shift(Column("age", values), SOURCES, NAMES)
    assert found.source == "b"
    assert found.strength > 0.7
    assert float(found.in_source) == pytest.approx(5, abs=0.5)
    assert float(found.in_others) == pytest.approx(0, abs=0.5)


def test_columns_with_the_same_distribution_in_all_sources():
    numeric = column_shift(Column("age", RNG.normal(size=300)), SOURCES, NAMES)
    categorical = Column("job", values=RNG.choice(["x", "y", None], 300).tolist())
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


def test_errors_and_losses_by_hand():
    proba = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    assert errors(proba, np.array([0, 2])).tolist() == [False, True]
    np.testing.assert_allclose(log_losses(proba, np.array([1, 2])), [np.log(4), 12 * np.log(10)])


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


def sites(intercepts, n_rows=400, seed=0):
    """Rows of sources with given calibration intercepts."""
    rng = np.random.default_rng(seed)
    sources = np.repeat(np.arange(len(intercepts)), n_rows)
    log_odds = rng.normal(size=len(sources))
    truth = log_odds + np.array(intercepts)[sources]
    labels = (rng.random(len(sources)) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    p = 1 / (1 + np.exp(-log_odds))
    return np.column_stack([1 - p, p]), labels, sources


def test_calibration_intercepts_and_slopes():
    log_slopes, intercepts = calibrate_sources(*sites([0.0, 1.0, -1.0, 0.0], n_rows=1500), 1)
    np.testing.assert_allclose(intercepts.values, [0, 1, -1, 0], atol=0.3)
    np.testing.assert_allclose(np.exp(log_slopes.values), 1.0, atol=0.25)
    assert (intercepts.low < intercepts.values).all()


def test_small_sources_are_shrunk_towards_the_others():
    proba, labels, sources = sites([0.0, 0.0, 0.0, 0.0], n_rows=200)
    few = np.arange(603)
    labels = labels.copy()
    labels[600:603] = 1
    _, intercepts = calibrate_sources(proba[few], labels[few], sources[few], 1)
    assert abs(intercepts.values[3]) < 0.7


def test_intervals_cover_known_truths():
    rng = np.random.default_rng(0)
    hits = []
    for run in range(30):
        intercepts = 0.6 * rng.normal(size=8)
        _, found = calibrate_sources(*sites(intercepts, 120, run), 1)
        hits.append(((found.low <= intercepts) & (intercepts <= found.high)).mean())
    assert 0.9 < np.mean(hits) < 0.99


def test_coverage_of_similar_sources_and_of_a_different_one():
    found = coverages(*sites([0.0, 0.0, 0.0, -4.0], n_rows=1000), 0.9)
    assert found[3] < 0.8
    alike = coverages(*sites([0.0, 0.0, 0.0], n_rows=1000), 0.9)
    np.testing.assert_allclose(alike, 0.9, atol=0.03)


def test_recalibration_lowers_the_loss_of_a_miscalibrated_source():
    proba, labels, sources = sites([0.0, 2.5])
    own = proba[sources == 1], labels[sources == 1]
    assert recalibrated_loss(*own) < 0.8 * log_losses(*own).mean()


def test_rates_are_of_the_second_class_or_of_the_most_frequent_one():
    assert reference_class(np.array([0, 0, 1]), 2) == 1
    assert reference_class(np.array([2, 2, 1]), 3) == 2


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
    assert find_inverted(proba, labels, sources, predict) == [2]
    assert asked == [[2]]


def test_with_two_sources_both_are_named():
    shares, labels = rows(400, slope=-1.0)
    sources = np.repeat([0, 1], 200)
    proba = np.exp(log_softmax(as_log_proba(shares), axis=1))
    assert find_inverted(proba, labels, sources, None) == [0, 1]


def made(**changes):
    facts = {
        "sources": (NORTH,), "reference_class": 1, "cv_error": 0.1, "cv_log_loss": 0.3,
        "leave_source_out_error": 0.2, "leave_source_out_error_ci_low": 0.12,
        "leave_source_out_error_ci_high": 0.28, "leave_source_out_log_loss": 0.5,
        "prediction_limit": 0.35, "source_accuracy": 0.9, "source_majority_rate": 0.5,
        "column_shifts": (ColumnShift("age", 0.7, "north", "61", "40"),), "worst_source": "north",
        "recommendation": "Check its labels and codes first.",
    }  # fmt: skip
    return SourceAudit(**(facts | changes))


def test_summary_and_sentences():
    assert made().sentences == (
        made().summary,
        "Source identifiable from the features: 90% of rows (chance, the largest source: 50%).",
        "Largest covariate shift: age (61 in north, 40 in the other sources).",
        "Highest leave-source-out log loss: north. Check its labels and codes first.",
    )
    assert made().summary == (
        "Expected error at a new source: 0.200 (95% CI 0.12 to 0.28); cross-validation: 0.100. 90% "
        "prediction limit for one new source: 0.350."
    )
    too_few = "1 sources are too few for a 90% prediction limit."
    assert made(prediction_limit=1.0).summary.endswith(too_few)
    assert made().error_ratio == 2.0
    assert made(cv_error=0.0).error_ratio == float("inf")


def test_the_table_has_a_row_per_source():
    shown = str(made()).splitlines()[-1].split()
    assert shown[:5] == ["north", "10", "0.100", "0.200", "0.10-0.40"]
    assert shown[-1] == "85%"


@pytest.fixture
def no_forest(monkeypatch):
    """Skip the prediction of the source from the features, which takes most of the time."""
    monkeypatch.setattr("ensemblage.sources._audit._source_accuracy", lambda *_: 0.5)


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
    return source_audit(LogisticRegression(), *rows, random_state=0, **options)


def test_similar_sources_have_about_the_cv_error():
    found = audited(*rows_of_sites())
    assert found.leave_source_out_error == pytest.approx(found.cv_error, abs=0.03)
    assert found.inverted_sources == ()
    assert found.prediction_limit > found.leave_source_out_error
    assert [each.n_rows for each in found.sources] == [120] * 5
    assert found.column_shifts[0].column == "x2"
    assert found.column_shifts[0].source == "site 1"
    assert 0.2 < found.source_accuracy < 0.6


def test_an_inverted_source_is_found():
    found = audited(*rows_of_sites(inverted="site 3"))
    assert found.inverted_sources == ("site 3",)
    assert found.leave_source_out_error > found.cv_error
    assert "Check site 3 first" in str(found)
    assert found.worst_source == "site 3"
    assert "Check its labels" in found.recommendation


@pytest.fixture
def heart(shared):
    table = pd.read_csv(shared / "data" / "multi-source" / "heart.csv")
    return table.drop(columns=["source", "class"]), table["class"], table["source"]


@pytest.mark.parametrize("inverted", ["", "cleveland", "hungarian", "switzerland", "va"])
def test_every_inverted_hospital_of_the_real_table_is_found(heart, inverted, no_forest):
    X, y, sources = heart
    model = make_pipeline(TableEncoder(), LogisticRegression(max_iter=2000))
    labels = np.where(sources == inverted, 1 - y, y)
    found = source_audit(model, X, labels, sources, random_state=0)
    assert found.inverted_sources == ((inverted,) if inverted else ())


def test_a_source_with_another_rate_is_not_inverted(no_forest):
    rng = np.random.default_rng(0)
    sources = np.repeat(["a", "b", "c", "d"], 200)
    X = rng.normal(size=(800, 2))
    y = (X[:, 0] - 3.5 * (sources == "d") + 1.5 + rng.logistic(size=800) > 0).astype(int)
    found = audited(X, y, sources)
    assert y[sources == "d"].mean() < 0.25
    assert y[sources == "a"].mean() > 0.7
    assert found.sources[3].leave_source_out_error > 0.5
    assert found.inverted_sources == ()
    labels = np.where(sources == "d", 1 - y, y)
    assert audited(X, labels, sources).inverted_sources == ("d",)


def test_two_inverted_of_six_are_both_named(no_forest):
    X, y, sources = rows_of_sites(6)
    y = np.where(np.isin(sources, ["site 2", "site 5"]), 1 - y, y)
    assert audited(X, y, sources).inverted_sources == ("site 2", "site 5")


def test_it_prints_a_summary_and_a_table():
    found = audited(*rows_of_sites(3))
    text = str(found)
    assert text.startswith("Expected error at a new source: 0.")
    assert "site 2" in text
    assert max(map(len, text.splitlines()[-4:])) <= 120
    assert found._repr_html_().count("<tr>") == 4


def test_several_classes_categorical_columns_and_processes():
    X, _, sources = rows_of_sites(4)
    frame = pd.DataFrame({"a": X[:, 0], "job": np.where(X[:, 1] > 0, "cook", "smith")})
    y = np.digitize(X[:, 0], [-0.5, 0.5]).astype(str)
    model = make_pipeline(TableEncoder(), LogisticRegression())
    one = source_audit(model, frame, y, sources, random_state=0)
    assert one == source_audit(model, frame, y, sources, random_state=0, n_jobs=2)
    assert one.reference_class in {"0", "1", "2"}
    assert {each.column for each in one.column_shifts} == {"a", "job"}


def test_invalid_input_is_refused_before_any_fit():
    X, y, sources = rows_of_sites(2)
    with pytest.raises(ValueError, match="sources has 1 source; an audit needs two or more"):
        audited(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="most have one row"):
        audited(X, y, np.arange(len(y)))
    with pytest.raises(ValueError, match="one class only, 0"):
        audited(X, np.zeros(len(y), dtype=int), sources)
    with pytest.raises(ValueError, match="sources is missing for 1 of"):
        audited(X, y, np.append(sources[1:].astype(object), None))


def test_a_source_of_one_class_is_audited():
    X, y, sources = rows_of_sites(4)
    y = np.where(sources == "site 0", 1, y)
    found = audited(X, y, sources)
    assert found.sources[0].observed_rate == 1.0
    assert np.isfinite(found.sources[0].calibration_intercept)
    assert not found.sources[0].inverted


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
def test_coverage_of_intervals_and_prediction_limit_in_simulation(study, n_sources):
    found = study.coverage(n_sources, 40)
    # forty runs: their own standard errors are .035 for the mean and about .01 for the others
    assert found["expected error"] >= 0.85
    assert 0.85 <= found["prediction limit"] <= 0.96
    for name in ("error", "slope", "intercept"):
        assert 0.92 <= found[name] <= 0.985
    assert abs(found["bias"]) < 0.02
