import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from ensemblage.report import explain_model
from ensemblage.report._contributions import class_contrast
from ensemblage.report._linear import linear_part
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
