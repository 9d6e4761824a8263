"""Features chosen together, of made-up facts and of a fitted model."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from ensemblage.explain import explain_model
from ensemblage.explain._subspaces_model import SubspacesExplanation, SubspacesFacts
from ensemblage.subspace import (
    JointSubspaceClassifier,
    JointSubspaceRegressor,
    JointSubspaceSelector,
    StabilitySelector,
)

SMALL = SubspacesExplanation(SubspacesFacts(["age", "pay"], [[1.0, 0.5], [0.5, 0.5]]))


def test_the_matrix_in_a_terminal_numbers_its_columns():
    _, table = SMALL.text()
    assert [column.name for column in table.columns] == ["feature", "1", "2"]
    assert [field.text for field in table.rows[1]] == ["2 pay", "50%", "50%"]


def test_a_page_tells_use_and_pairs():
    page = SMALL.page()
    assert page.summary == [
        "Of the 2 features shown, the most used first, 1 is used by every member."
    ]
    use, together = page.sections
    assert [(bar.label, bar.text, bar.strong) for bar in use.blocks[0].bars] == [
        ("age", "100%", True), ("pay", "50%", False),
    ]  # fmt: skip
    figure, table = together.blocks
    assert "Most often together: age and pay, in 50% of the members." in figure.caption
    assert [field.text for field in table.rows[0]] == ["age", "100%", "50%"]


def test_features_that_no_member_uses_are_left_out():
    X, y = make_classification(60, 3, n_informative=2, n_redundant=0, random_state=0)
    model = JointSubspaceClassifier(2, random_state=0).fit(X, y)
    model.co_selection_ = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]])
    explained = explain_model(model)
    assert explained.facts.features == ["x1", "x2"]
    assert explained.facts.co_selection == [[0.5, 0.5], [0.5, 0.5]]
    learned = list(type(explained).learned(model, ()))
    assert learned[1] == "no feature is used by every member"


def test_a_single_feature_has_no_pair():
    alone = SubspacesExplanation(SubspacesFacts(["age"], [[1.0]]))
    assert alone.page().sections[1].blocks[0].caption.endswith("at all.")


def test_columns_add_up_to_the_log_odds_of_a_product():
    X, y = make_classification(80, 5, random_state=0)
    model = JointSubspaceClassifier(3, fusion="product", random_state=0).fit(X, y)
    for row in (0, 5):
        story = explain_model(model, X, row=row).document
        shares = model.predict_proba(X[row : row + 1])[0]
        label = int(story.prediction)
        odds = np.log(shares[label] / shares[1 - label])
        assert story.decision.value == pytest.approx(odds, rel=1e-6)
        total = story.decision.base + sum(each.amount for each in story.decision.contributions)
        assert total == pytest.approx(story.decision.value)


def test_a_selector_decides_about_no_row():
    X, y = make_classification(60, 5, random_state=0)
    selector = JointSubspaceSelector(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="selects features and decides nothing about a row"):
        explain_model(selector, X, row=0)


def test_a_basis_of_products_has_no_parts_by_column():
    X, y = make_classification(80, 5, random_state=0)
    model = JointSubspaceClassifier(2, basis="quadratic", max_iter=20, random_state=0).fit(X, y)
    story = explain_model(model, X, row=0).document
    assert story.prediction in {"0", "1"}
    assert story.decision is None


def test_numbers_show_their_features_and_no_row():
    X, y = make_classification(80, 5, random_state=0)
    model = JointSubspaceRegressor(2, max_iter=20, random_state=0).fit(X, X[:, 0] + 0.1 * y)
    explained = explain_model(model)
    assert "x0" in explained.facts.features
    assert next(type(explained).learned(model, ())).startswith("2 members on ")
    with pytest.raises(ValueError, match="only decisions between classes are explained row by row"):
        explain_model(model, X, row=0)


def test_a_stable_selection_shows_its_pairs():
    X, y = make_classification(80, 5, random_state=0)
    model = StabilitySelector(LogisticRegression(), n_pairs=3, max_false=3.0, random_state=0)
    explained = explain_model(model.fit(X, y))
    assert max(explained.facts.used) == 1
    assert len(list(type(explained).learned(model, ()))) == 1
