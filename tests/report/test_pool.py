import warnings
from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ensemblage._core import TableBlock
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor
from ensemblage.report import explain_model, render, training_summary
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
    text, _, _, legend, *columns = with_row.text()
    assert text.startswith(f"Row 2: predicted {model.predict(X[2:3])[0]} (no 0.")
    assert legend.startswith("Probabilities of the classes.")
    assert columns[0].startswith("Contributions to the prediction of ")


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


def sourced(n_sources=4, *, helps=True, numeric=False, nested=False, n=240):
    """A pool of rows whose intercept and first coefficient depend on the source, or on nothing."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(n, 2)), np.arange(n) % n_sources
    ward = np.arange(n) // n_sources % 2
    strength = 2.0 * helps
    line = X[:, 0] + strength * rng.normal(size=n_sources)[codes]
    line += strength * nested * rng.normal(size=(n_sources, 2))[codes, ward]
    y = line + 0.5 * rng.normal(size=n) if numeric else line + rng.logistic(size=n) > 0
    names = np.array([f"H{code:02}" for code in codes])
    sources = np.column_stack([names, np.where(ward == 1, "w1", "w0")]) if nested else names
    kind = EnsemblageRegressor if numeric else EnsemblageClassifier
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Inner sources are not unique")
        pool = kind(["ridge" if numeric else "logistic"], cv=3, random_state=0)
        return pool.fit(X, y, sources=sources), X, sources


@pytest.fixture(scope="module")
def of_classes():
    return sourced()


def test_scores_by_source_are_those_of_the_records(of_classes):
    pool, _, names = of_classes
    facts = explain_model(pool).document.sources
    aware, blind = pool.source_pool_.pool.out_of_fold, pool.out_of_fold_
    right = aware.pool_outputs.argmax(axis=1) == aware.y
    log_losses = -np.log(blind.pool_outputs[np.arange(len(blind.y)), blind.y])
    assert [each.source for each in facts.scores] == ["H00", "H01", "H02", "H03"]
    for each in facts.scores:
        here = names == each.source
        assert each.rows == here.sum()
        assert each.accuracy_known == pytest.approx(right[here].mean())
        assert each.log_loss_unknown == pytest.approx(log_losses[here].mean())
    assert facts.overall.log_loss_known == pytest.approx(pool.source_pool_.leaderboard[0].log_loss)
    assert facts.change == pytest.approx(-pool.source_pool_.gain)
    assert facts.helps
    assert explain_model(pool).sentences[0].startswith("Knowing the source helps: out-of-fold log")


def test_partial_pooling_of_a_pool_has_names(of_classes):
    found = explain_model(of_classes[0], columns=["age", "dose"]).document.sources
    pooling = found.partial_pooling
    assert pooling.features == ["age", "dose"]
    assert pooling.sources == ["H00", "H01", "H02", "H03"]
    assert {each.feature for each in pooling.differences} <= {"age", "dose"}
    assert [each.source for each in pooling.intercepts] == pooling.sources
    assert all(each.low < each.value < each.high for each in pooling.intercepts)
    assert 0 < found.partial_pooling_weight <= 1


def test_offsets_have_intervals(of_classes):
    pool, _, _ = of_classes
    known = pool.source_pool_
    changed = copy(pool)
    offsets = np.column_stack([-np.arange(4.0), np.arange(4.0)]) / 8
    changed.source_pool_ = replace(known, offsets=offsets, offset_penalty=4.0)
    found = explain_model(changed)
    facts = found.document.sources
    proba = known.pool.out_of_fold.pool_outputs[:, 1]
    for code, each in enumerate(facts.offsets):
        here = known.codes == code
        sd = ((proba * (1 - proba))[here].sum() + 4.0) ** -0.5
        assert (each.label, each.value) == ("True", pytest.approx(code / 4))
        assert each.high - each.value == pytest.approx(1.959964 * sd, rel=1e-4)
    table = next(
        each for each in found.text() if getattr(each, "caption", "") == "Offsets of sources"
    )
    assert [row[0].text for row in table.rows] == ["H03", "H02", "H01", "H00"]
    assert "Added to the log-odds for a source" in table.legend
    assert "Positive values favour True." in table.legend
    assert "Offsets of sources" in render(found)


def test_a_gain_that_is_not_significant_is_no_help():
    pool, _, _ = sourced(helps=False)
    assert pool.source_pool_.helps
    found = explain_model(pool)
    assert found.sentences[0].startswith("Knowing the source does not change the loss significant")
    assert found.facts["knowing the source"] == "no significant change"


def test_where_the_source_does_not_help_this_is_said():
    pool, X, names = sourced(n_sources=8, helps=False)
    assert not pool.source_pool_.helps
    found = explain_model(pool)
    assert found.sentences[0].startswith("Knowing the source does not help: out-of-fold log loss")
    assert found.sentences[0].endswith("all rows are predicted by the source-blind pool.")
    assert found.document.sources.partial_pooling is None
    assert found.facts["knowing the source"] == "does not help"
    assert any("which are not used" in each for each in found.text() if isinstance(each, str))
    assert "knowing the source does not help: rows are predicted as of an unknown source" in (
        list(learned(pool, ()))
    )
    assert explain_model(pool, X, sources=names, row=0).document.source is None


def test_a_page_of_sixty_sources_counts_those_that_are_not_shown():
    pool, _, _ = sourced(60, numeric=True, n=600)
    found = explain_model(pool)
    assert len(found.document.sources.scores) == 60
    tables = {each.caption: each for each in found.text() if isinstance(each, TableBlock)}
    scores = tables["Scores by source"]
    assert len(scores.rows) == 13
    assert scores.rows[-1][0].text == "(all)"
    assert "48 other sources are in the last line only." in scores.legend
    intercepts = tables["Intercepts of sources"]
    assert len(intercepts.rows) == 12
    values = [row[1].value for row in intercepts.rows]
    assert values == sorted(values, reverse=True)
    text = "Shown are the 12 furthest from zero in standard errors; 48 are not."
    assert intercepts.legend.endswith(text)
    assert "and 52 more" in render(found)


def test_nested_sources_of_a_pool():
    pool, X, names = sourced(numeric=True, nested=True)
    found = explain_model(pool, columns=["age", "dose"])
    facts = found.document.sources
    assert [each.source for each in facts.scores][3:6] == ["H03", "H00 / w0", "H00 / w1"]
    assert sum(each.rows for each in facts.scores[:4]) == facts.overall.rows == 240
    assert facts.overall.rmse_known == pytest.approx(pool.source_pool_.leaderboard[0].score)
    assert facts.partial_pooling.outer_sources == ["H00", "H01", "H02", "H03"]
    assert facts.partial_pooling.sources[:2] == ["H00 / w0", "H00 / w1"]
    known = {*facts.partial_pooling.outer_sources, *facts.partial_pooling.sources}
    assert {each.source for each in facts.partial_pooling.intercepts} <= known
    captions = [each.caption for each in found.text() if isinstance(each, TableBlock)]
    assert {"Scores by outer source", "Scores by inner source", "Penalties"} <= {*captions}
    assert explain_model(pool, X, sources=names, row=0).document.source == "H00 / w0"


@pytest.fixture(scope="module")
def mixed():
    """A pool of a table with a numeric, a categorical and a date column, and new rows."""
    rng = np.random.default_rng(0)
    town = rng.choice(["Rome", "Cairo", "Lima"], 240)
    X = pd.DataFrame(
        {
            "noise": rng.normal(size=240),
            "age": rng.normal(50, 10, 240),
            "town": town,
            "day": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 90, 240), "D"),
        }
    )
    y = np.where((X["age"] - 50) / 5 + 3 * (town == "Rome") + rng.logistic(size=240) > 1, "b", "a")
    pool = EnsemblageClassifier(["logistic", "forest"], cv=2, random_state=0)
    return pool.fit(X[:140], y[:140]), X[140:].reset_index(drop=True), y[140:]


def test_importance_and_partial_dependence_come_first(mixed):
    model, X, y = mixed
    explained = explain_model(model, X, y)
    assert [each.title for each in explained.sections][:3] == [
        "Column importance", "Partial dependence", "Members",
    ]  # fmt: skip
    found = explained.document.columns
    assert (found.measure, found.rows) == ("log loss", 100)
    assert {each.column for each in found.importance[:2]} == {"age", "town"}
    assert all(each.low > 0 for each in found.importance[:2])
    given = model.permutation_importance(X, y, random_state=0)
    assert found.loss == pytest.approx(given.loss)
    by_name = {each.column: each for each in found.importance}
    for each in given:
        low, high = by_name[each.column].low, by_name[each.column].high
        assert low - 0.05 < each.importance < high + 0.05
    assert explained.sentences[-1].startswith("Important columns on the 100 rows given")
    assert "Permutation importance" in explained.text()
    assert explain_model(model, X, y, row=1).row_sections[1].title == "Contributions of the columns"
    assert explain_model(model).document.columns is None


def test_partial_dependence_is_a_mean_of_predictions(mixed):
    model, X, y = mixed
    explained = explain_model(model, X, y)
    curves = {each.column: each for each in explained.document.columns.partial_dependence}
    assert curves["town"].values == ["Cairo", "Lima", "Rome"]
    means = model.predict_proba(X.assign(town="Rome")).mean(axis=0)
    np.testing.assert_allclose(curves["town"].predictions[2], means)
    ages = curves["age"]
    assert (ages.kind, len(ages.values)) == ("numeric", 20)
    risks = np.array(ages.predictions)[:, 1]
    assert risks[-1] > risks[0] + 0.3
    text, panels, *bars = explained.sections[1].blocks
    assert text.startswith("Mean prediction when all rows")
    assert panels.panels.panels[0].title == "age"
    assert panels.panels.labels == {"model": "mean probability of b"}
    assert "town: mean probability of b." in [each.caption for each in bars]
    pytest.importorskip("jinja2")
    assert "Partial dependence" in render(explained, name="pool")


def test_contributions_of_columns_to_a_row(mixed):
    model, X, _ = mixed
    row = explain_model(model, X, row=3).document
    assert row.prediction == row.decision.label == model.predict(X[3:4])[0]
    added = sum(each.contribution for each in row.decision.contributions)
    assert row.decision.baseline + added == pytest.approx(row.decision.value, abs=1e-9)
    code = list(model.classes_).index(row.prediction)
    shares = model.predict_proba(X[3:4])[0]
    assert row.decision.value == pytest.approx(np.log(shares[code] / shares[1 - code]), abs=1e-9)
    assert all(0 <= each.standard_error < 0.03 for each in row.decision.contributions)
    values = {each.column: each.value for each in row.decision.contributions}
    assert values["town"] == X["town"][3]
    assert values["day"] == str(X["day"][3].date())
    assert explain_model(model, X[:1], row=0).document.decision is None  # no background


def test_columns_before_a_pipeline_are_explained(fitted):
    model, X, y = fitted
    found = explain_model(model, X, y).document.columns
    assert {each.column for each in found.importance} == {"x0", "x1"}
    row = explain_model(model, X, row=2).document
    assert {each.value for each in row.decision.contributions} == {f"{v:.6g}" for v in X[2]}


def test_unknown_targets_are_left_out_of_the_importance(mixed):
    model, X, y = mixed
    some = np.where(np.arange(100) < 10, "c", y)
    assert explain_model(model, X, some).document.columns.rows == 90
    assert explain_model(model, X, np.full(100, "c")).document.columns is None


def test_effects_of_columns_on_a_numeric_target_and_of_known_sources():
    rng = np.random.default_rng(0)
    X, site = rng.normal(size=(160, 3)), np.array(["Bern", "Basel"])[np.arange(160) % 2]
    y = 50 + 8 * X[:, 0] * np.where(site == "Bern", 1, -1) + rng.normal(size=160)
    pool = EnsemblageRegressor(["ridge"], cv=2, random_state=0).fit(X, y, sources=site)
    found = explain_model(pool, X, y, sources=site).document.columns
    assert (found.measure, found.importance[0].column) == ("squared error", "x0")
    assert found.importance[0].low > 50
    row = explain_model(pool, X, sources=site, row=0).document
    assert row.decision.value == pytest.approx(pool.predict(X[:1], sources=["Bern"])[0])
    assert row.decision.contributions[0].column == "x0"


def test_more_classes_show_the_one_that_varies_most():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.digitize(X[:, 0] + 0.2 * rng.normal(size=150), [-0.5, 0.5])
    pool = EnsemblageClassifier(["logistic"], cv=2, random_state=0).fit(X, y)
    explained = explain_model(pool, X, y)
    assert len(explained.document.columns.partial_dependence[0].predictions[0]) == 3
    labels = explained.sections[1].blocks[1].panels.labels
    assert labels["model"].startswith("mean probability of ")
