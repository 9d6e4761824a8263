import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from ensemblage._core import TableBlock
from ensemblage.report import explain_model, render, training_summary
from ensemblage.report._contributions import class_contrast
from ensemblage.report._linear import linear_part
from ensemblage.sources import PartialPoolingClassifier, PartialPoolingRegressor
from ensemblage.strata import ScaledLogisticRegression

X, Y = make_blobs(60, 3, centers=3, random_state=0)
ROWS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]])
MODEL = LogisticRegression().fit(ROWS, ["no", "no", "yes", "yes"])


@pytest.mark.parametrize(
    "member",
    [
        LogisticRegression(),
        ScaledLogisticRegression(),
        SVC(kernel="linear"),
        make_pipeline(StandardScaler(), MinMaxScaler(), LogisticRegression()),
    ],
    ids=str,
)
def test_two_classes(member):
    known = Y < 2
    member.fit(X[known], Y[known])
    coef, intercept = linear_part(member, np.array([0, 1]))
    values = coef @ X[0] + intercept
    expected = member.decision_function(X[:1])[0]
    assert float(class_contrast(values, 1)) == pytest.approx(expected)


def test_three_classes_and_one_that_was_not_seen():
    member = LogisticRegression().fit(X, Y)
    coef, intercept = linear_part(member, np.arange(3))
    np.testing.assert_allclose(coef @ X[0] + intercept, member.decision_function(X[:1])[0])
    narrow = LogisticRegression().fit(X[Y != 1], Y[Y != 1])
    assert linear_part(narrow, np.arange(3))[0][1].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "member",
    [SVC(), SVC(kernel="linear"), make_pipeline(PolynomialFeatures(), LogisticRegression())],
    ids=str,
)
def test_what_is_not_linear_in_its_rows(member):
    assert linear_part(member.fit(X, Y), np.arange(3)) is None


def test_coefficients_the_largest_first():
    _, _, table, legend = explain_model(MODEL, columns=["age", "pay"]).text()
    assert [row[0].text for row in table.rows] == ["age", "pay"]
    assert [column.name for column in table.columns] == ["feature", "coefficient for yes"]
    assert legend.startswith("Change of the log-odds per unit")


def test_a_decision_is_the_log_odds():
    story = explain_model(MODEL, ROWS, columns=["age", "pay"], row=0).document
    decision = story.decision
    assert (story.prediction, decision.label) == ("no", "no")
    assert decision.value == pytest.approx(-MODEL.decision_function(ROWS[:1])[0])
    age = next(each for each in decision.contributions if each.column == "age")
    assert age.contribution == pytest.approx(-MODEL.coef_[0, 0] * (0 - 1.5))
    assert "mean of the rows given" in decision.measure


def test_a_single_row_is_compared_with_zero():
    decision = explain_model(MODEL, ROWS[3:], row=0).document.decision
    assert decision.baseline == pytest.approx(MODEL.intercept_[0])
    assert [each.column for each in decision.contributions] == ["x0", "x1"]


def test_a_page_has_bars():
    explained = explain_model(MODEL, columns=["age", "pay"])
    assert [each.title for each in explained.sections] == ["Coefficients", "All coefficients"]
    assert explained.sentences == ["Logistic regression: one coefficient for each of 2 features."]


@pytest.fixture(scope="module")
def pooled():
    """Rows of three sources, of which the last has another slope; a frame with names."""
    rng = np.random.default_rng(0)
    X, site = rng.normal(size=(300, 2)), np.array(["a", "b", "c"])[np.arange(300) % 3]
    y = X[:, 0] + np.where(site == "c", -2, 1) * X[:, 1] + 0.3 * rng.normal(size=300)
    return X, y, site


def test_partial_pooling_shows_where_sources_differ(pooled):
    X, y, site = pooled
    model = make_pipeline(StandardScaler(), PartialPoolingRegressor(random_state=0))
    model.fit(X, y, partialpoolingregressor__sources=site)
    found = explain_model(model, columns=["age", "dose"])
    facts = found.document
    assert found.sentences[0] == (
        "Partial pooling: linear regression on 2 features with coefficients of 3 sources, shrunk "
        "towards common ones."
    )
    first = facts.differences[0]
    own = model[-1].deviations()
    assert (first.source, first.feature, first.label) == ("c", "dose", None)
    assert [(each.value, each.low, each.high) for each in facts.differences] == [
        (each.value, each.low, each.high) for each in own
    ]
    assert facts.common_coefficients == [pytest.approx(model[-1].common_coef_)]
    (apart,) = [each for each in model[-1].deviations(1.0, intercepts=True)
                if (each.source, each.column) == ("b", "intercept")]  # fmt: skip
    assert [each.source for each in facts.intercepts] == ["a", "b", "c"]
    assert (facts.intercepts[1].value, facts.intercepts[1].high) == (apart.value, apart.high)
    names = [each.name for each in facts.penalties]
    assert names == ["common coefficients", "coefficients of a source", "intercept of a source"]
    assert facts.penalties[1].value == model[-1].deviation_penalty_
    captions = [each.caption for each in found.text() if isinstance(each, TableBlock)]
    assert captions[:2] == [
        "Intercepts of sources", "Differing coefficients, the most significant first",
    ]  # fmt: skip
    assert "Differing coefficients, the most significant first. Difference from" in render(found)


def test_infinite_penalties_are_explained(pooled):
    X, y, site = pooled
    model = PartialPoolingClassifier(
        common_penalty=1.0, deviation_penalty=float("inf"), intercept_penalty=1.0
    ).fit(X, y > 0, sources=site)
    facts = explain_model(model).document
    assert [each.value for each in facts.penalties] == [1.0, None, 1.0]
    assert facts.penalties[1].meaning == "equal to the common ones"
    assert (facts.tested, facts.differences) == (0, [])
    assert len(facts.intercepts) == 3
    text = list(training_summary(make_pipeline(StandardScaler().fit(X), model)))
    assert text[-3].startswith("the 95 % interval excludes zero for ")
    assert text[-2] == "all sources have the same coefficients"
    assert text[-1] == (
        "penalties: common coefficients 1, coefficients of a source infinite, intercept of a "
        "source 1"
    )


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_row_is_explained_by_the_coefficients_of_its_source(pooled, n_classes):
    X, y, site = pooled
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)).astype(str)
    kind = PartialPoolingClassifier if n_classes else PartialPoolingRegressor
    model = kind(random_state=0).fit(X, y, sources=site)
    found = explain_model(model, X, sources=site, row=2).document
    assert found.source == "c"
    decision, scores = found.decision, found.scores
    total = sum(each.contribution for each in decision.contributions)
    assert decision.value == pytest.approx(decision.baseline + total)
    if not n_classes:
        assert decision.value == pytest.approx(model.predict(X[2:3], site[2:3])[0])
    else:
        assert scores == pytest.approx(model.predict_proba(X[2:3], site[2:3])[0])
        logs = np.log(scores)
        label = int(np.argmax(scores))
        against = logs[1 - label] if n_classes == 2 else logs.mean()
        assert decision.value == pytest.approx(logs[label] - against)
    unknown = explain_model(model, X, row=2).document
    assert unknown.source is None
    assert "the coefficients of an unknown source" in unknown.decision.measure


def test_many_classes_are_named_in_differences(pooled):
    X, y, site = pooled
    y = np.digitize(y, [-1, 1]).astype(str)
    found = explain_model(PartialPoolingClassifier(random_state=0).fit(X, y, sources=site))
    _, table, *_ = [each for each in found.text() if isinstance(each, TableBlock)]
    named = {(row[1].text, row[2].text) for row in table.rows}
    assert named & {("x1", "class 0"), ("x1", "class 2")}


def test_a_column_may_be_called_intercept(pooled):
    X, y, site = pooled
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["age", "intercept"])
    facts = explain_model(PartialPoolingRegressor(random_state=0).fit(frame, y, sources=site))
    assert facts.document.differences[0].feature == "intercept"
    assert len(facts.document.intercepts) in {0, 3}
