from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ensemblage._core import TableBlock
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.report import explain_model, training_summary
from ensemblage.report._pool import calibration_bars, learned


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 90)]
    X = rng.normal(size=(90, 2)) + (y == "yes")[:, None]
    pool = EnsemblageClassifier(["logistic", GaussianNB()], cv=2, random_state=0)
    return make_pipeline(StandardScaler(), pool).fit(X, y), X, y


def test_facts_of_the_pool(fitted):
    model, _, _ = fitted
    facts = explain_model(model).document
    board = model[-1].leaderboard_
    assert [each.member for each in facts.members] == [each.member for each in board]
    assert facts.members[0].log_loss == board[0].log_loss
    assert {each.group for each in facts.ablation} == {"standard", "user"}
    assert 0 <= facts.calibration_error < 0.3
    assert facts.failures == []


def test_tables_for_a_terminal_and_sections_of_a_page(fitted):
    model, X, _ = fitted
    found = explain_model(model)
    captions = [each.caption for each in found.text() if isinstance(each, TableBlock)]
    assert captions == ["The pool and its members", "Ablation: log loss without each group"]
    assert [each.title for each in found.sections] == [
        "Members",
        "Calibration",
        "Ablation by group",
    ]
    with_row = explain_model(model, X, row=2)
    assert with_row.row_sections[0].title == "Row 2"
    text, _, _, legend = with_row.text()
    assert text.startswith(f"Row 2: predicted {model.predict(X[2:3])[0]} (no 0.")
    assert legend.startswith("Probabilities of the classes.")


def test_bars_are_in_the_order_of_their_shares(fitted):
    bars = explain_model(fitted[0]).sections[0].blocks[0].bars
    assert [bar.value for bar in bars] == sorted((bar.value for bar in bars), reverse=True)
    assert not any(bar.ours for bar in bars)  # neither anchors nor what a user gave


def test_member_predictions_of_a_row(fitted):
    model, X, _ = fitted
    story = explain_model(model, X, row=2).document
    assert story.prediction == model.predict(X[2:3])[0]
    np.testing.assert_allclose(story.scores, model.predict_proba(X[2:3])[0])
    assert {each.member for each in story.member_predictions} == {"logistic", "GaussianNB"}


def test_training_summary(fitted):
    lines = list(training_summary(fitted[0], ["a", "b"]))
    assert lines[-2].startswith("out-of-fold log loss 0.")
    assert lines[-1].startswith("weights: ")


def test_it_is_drawn(fitted):
    pytest.importorskip("matplotlib").use("Agg")
    assert explain_model(fitted[0]).draw().startswith(b"\x89PNG")


def test_a_row_of_categories_reaches_members_that_read_tables():
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 90)]
    town = np.where(rng.uniform(size=90) < 0.8, np.where(y == "yes", "Rome", "Cairo"), "Lima")
    X = np.column_stack([rng.normal(size=90).astype(object), town])
    pool = EnsemblageClassifier(["network", "logistic"], cv=2, random_state=0).fit(X, y)
    assert "table" in pool.member_inputs_
    story = explain_model(pool, X, row=2).document
    np.testing.assert_allclose(story.scores, pool.predict_proba(X[2:3])[0])
    as_it_is = FunctionTransformer(feature_names_out="one-to-one").fit(X)
    passed = make_pipeline(as_it_is, pool)
    assert training_summary(passed, ["age", "town"])[0] == "2 columns, encoded as 4 features"


def test_calibration_shows_confidence_and_accuracy():
    pooled = np.array([[0.9, 0.1]] * 10 + [[0.4, 0.6]] * 20)
    record = SimpleNamespace(pool_outputs=pooled, y=np.array([0] * 8 + [1] * 17 + [0] * 5))
    less, more = calibration_bars(record).bars
    assert (less.label, less.value, less.reference) == (
        "confidence 60.0%",
        0.75,
        pytest.approx(0.6),
    )
    assert less.error == pytest.approx((16 / 22 * 6 / 22 / 20) ** 0.5)
    assert (more.label, more.value, more.text) == ("confidence 90.0%", 0.8, "80.0%")


def test_source_aware_pool_of_known_sources_is_shown():
    rng = np.random.default_rng(0)
    X, site = rng.normal(size=(120, 2)), np.array(["Bern", "Basel"])[np.arange(120) % 2]
    y = X[:, 0] * np.where(site == "Bern", 1, -1) + 0.3 * rng.normal(size=120) > 0
    pool = EnsemblageClassifier(["logistic"], cv=2, random_state=0).fit(X, y, sources=site)
    found = explain_model(pool)
    assert found.document.known_sources[0].accuracy > 0.8 > found.document.members[0].accuracy
    assert "Rows of 2 known sources (Basel, Bern) are predicted by source-aware members:" in (
        found.text()
    )
    assert [each.title for each in found.sections][:3] == [
        "Known sources", "Differences of sources", "Members for unknown sources",
    ]  # fmt: skip
    piped = make_pipeline(FunctionTransformer(feature_names_out="one-to-one").fit(X), pool)
    lines = list(training_summary(piped, ["a", "b"]))[-4:]
    assert lines[0].startswith("known source (one of 2): out-of-fold log loss 0.")
    assert lines[2].startswith("unknown source: out-of-fold log loss 0.")
    explained = explain_model(pool, X, sources=site, row=0)
    assert explained.document.source == "Bern"
    assert explained.text()[0].endswith(", by source-aware members (source Bern).")
    assert explain_model(pool, X, row=0).document.source is None


def test_a_regression_pool():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = 50 + 8 * X[:, 0] + rng.normal(size=90)
    pool = EnsemblageRegressor(["ridge", "svr"], cv=2, random_state=0)
    model = make_pipeline(StandardScaler(), pool).fit(X, y)
    facts = explain_model(model).document
    assert [each.rmse for each in facts.members] == [each.score for each in pool.leaderboard_]
    assert (facts.calibration_error, facts.members[0].accuracy) == (None, None)
    explained = explain_model(model)
    assert [each.title for each in explained.sections] == ["Members", "Ablation by group"]
    told = pool.leaderboard_[0]
    assert f"RMSE {told.score:.4g} ± {told.score_se:.2g}." in explained.sentences[0]
    assert facts.members[0].score_se == told.score_se
    found = explain_model(model, X, row=2)
    mean, std = model.predict(X[2:3], return_std=True)
    assert found.document.scores == pytest.approx([mean[0], std[0]])
    assert found.text()[0].endswith(f"with a standard deviation of {std[0]:.4g}.")
    added = sum(each.contribution for each in found.document.member_predictions)
    assert y.mean() + added == pytest.approx(mean[0])
    assert next(learned(pool, ())).startswith("out-of-fold log loss ")
