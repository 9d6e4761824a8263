import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import softmax
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import load_dataset
from ensemblage.report import co_selected, explain_model
from ensemblage.report._subspace import (
    GatedMixture,
    SubspacesExplanation,
    SubspacesFacts,
    parts_of_the_way,
    way_measure,
)
from ensemblage.studies import make_model
from ensemblage.subspace import (
    JointSubspaceClassifier,
    JointSubspaceRegressor,
    JointSubspaceSelector,
    StabilitySelector,
)


def test_names_of_an_encoded_table():
    wine = load_dataset("wine")
    model = make_model("subspace", wine.columns, seed=0)
    model.set_params(model__n_estimators=2, model__fusion="product", model__max_iter=5)
    found = co_selected(model.fit(wine.X, wine.y), top=4)
    assert len(found.feature_names) == 4
    assert found.matrix.shape == (4, 4)
    assert (np.diff(np.diag(found.matrix)) <= 0).all()


def test_frame_names_and_models_without_a_matrix():
    X, y = load_wine(return_X_y=True, as_frame=True)
    ensemble = JointSubspaceClassifier(2, max_iter=5, random_state=0).fit(X, y)
    assert set(co_selected(ensemble).feature_names) == set(X.columns)
    assert co_selected(LogisticRegression()) is None


def made(seed, n_members=3, n_classes=2, n_features=2):
    rng = np.random.default_rng(seed)
    shapes = (n_members, n_classes, n_features), (n_members, n_classes)
    gates = (n_members, n_features), (n_members,)
    return GatedMixture(*(2 * rng.normal(size=shape) for shape in shapes + gates)), rng.normal(
        size=n_features
    )


def odds(mixture, z, label):
    """Log odds by the definition: the class against the other one, or the mean of all."""
    gate = softmax(mixture.gate_coef @ z + mixture.gate_intercept)
    logs = np.log(gate @ softmax(mixture.coef @ z + mixture.intercept, axis=1))
    return logs[label] - (logs[1 - label] if len(logs) == 2 else logs.mean())


def test_constant_members_leave_all_to_the_gate():
    # log odds of +2 and -2, of which the gate takes one at z = 0 as much as the other
    mixture = GatedMixture(
        np.zeros((2, 2, 2)), np.array([[0.0, 2.0], [0.0, -2.0]]),
        np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2),
    )  # fmt: skip
    found = parts_of_the_way(mixture, np.array([1.0, 5.0]), 1)
    assert found.start == pytest.approx(0)
    high, low = 1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(2.0))
    share = 1 / (1 + np.exp(-2.0))  # of the first member at z = 1
    proba = share * high + (1 - share) * low
    assert found.end == pytest.approx(np.log(proba / (1 - proba)))
    assert found.amounts == pytest.approx([found.end, 0.0], abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parts_are_slopes_along_the_way(n_classes):
    mixture, z = made(1, n_classes=n_classes)
    found, step = parts_of_the_way(mixture, z, 1), 1e-5
    for d, unit in enumerate(np.eye(len(z))):

        def slope(t, unit=unit):
            ahead, behind = (odds(mixture, t * z + sign * step * unit, 1) for sign in (1, -1))
            return (ahead - behind) / (2 * step)

        assert found.amounts[d] == pytest.approx(z[d] * quad(slope, 0, 1)[0], abs=1e-5)


@settings(max_examples=25)
@given(st.integers(0, 1000), st.integers(2, 4))
def test_parts_add_up(seed, n_classes):
    mixture, z = made(seed, n_classes=n_classes, n_features=4)
    found = parts_of_the_way(mixture, z, 0)
    assert found.start == pytest.approx(odds(mixture, np.zeros(4), 0))
    assert found.end == pytest.approx(odds(mixture, z, 0))
    assert found.start + found.amounts.sum() == pytest.approx(found.end, abs=1e-4)


def test_a_gated_model_gives_reasons_that_add_up_to_what_it_says():
    X, y = make_classification(120, 5, n_informative=4, n_redundant=0, random_state=0)
    model = JointSubspaceClassifier(3, refine="gate", random_state=0).fit(X, y)
    story = explain_model(model, X, row=2).document
    shares = model.predict_proba(X[2:3])[0]
    label = int(story.prediction)
    assert story.decision.value == pytest.approx(np.log(shares[label] / shares[1 - label]))
    total = story.decision.base + sum(each.amount for each in story.decision.contributions)
    assert total == pytest.approx(story.decision.value, abs=1e-3)
    assert story.decision.measure == way_measure(2)
    assert way_measure(3).startswith("log probability against the mean of the classes; ")


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
