"""Linear models: coefficients, and decisions that add up."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ensemblage.explain import explain_model

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]])
MODEL = LogisticRegression().fit(X, ["no", "no", "yes", "yes"])


def test_coefficients_the_largest_first():
    said, table, legend = explain_model(MODEL, columns=["age", "pay"]).text()
    assert said == "Logistic regression: a coefficient per feature"
    assert [row[0].text for row in table.rows] == ["age", "pay"]
    assert [column.name for column in table.columns] == ["feature", "for yes"]
    assert legend.startswith("Change of the log odds per unit")


def test_a_decision_is_the_log_odds():
    story = explain_model(MODEL, X, columns=["age", "pay"], row=0).document
    decision = story.decision
    assert (story.prediction, decision.label) == ("no", "no")
    assert decision.value == pytest.approx(-MODEL.decision_function(X[:1])[0])
    age = next(each for each in decision.contributions if each.column == "age")
    assert age.amount == pytest.approx(-MODEL.coef_[0, 0] * (0 - 1.5))
    assert "mean of the rows given" in decision.measure


def test_a_row_alone_is_told_from_zero():
    decision = explain_model(MODEL, X[3:], row=0).document.decision
    assert decision.base == pytest.approx(MODEL.intercept_[0])
    assert [each.column for each in decision.contributions] == ["x0", "x1"]


def test_a_page_has_bars():
    page = explain_model(MODEL, columns=["age", "pay"]).page()
    assert [section.title for section in page.sections] == ["Coefficients", "All coefficients"]
    assert page.summary == ["Logistic regression: one coefficient for each of 2 features."]
