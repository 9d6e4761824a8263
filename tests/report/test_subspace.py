import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import softmax
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import load_dataset
from ensemblage.report import explain_model
from ensemblage.report._subspace import (
    SubspaceDocument,
    co_selection_figure,
    integrated_gradients,
    learned,
)
from ensemblage.studies import make_model
from ensemblage.subspace import (
    JointSubspaceClassifier,
    JointSubspaceRegressor,
    JointSubspaceSelector,
    StabilitySelector,
)
from report.documents import total_of


def test_names_of_an_encoded_table():
    wine = load_dataset("wine")
    model = make_model("subspace", wine.columns, seed=0)
    model.set_params(model__n_estimators=2, model__fusion="product", model__max_iter=5)
    found = explain_model(model.fit(wine.X, wine.y), columns=wine.feature_names).document
    assert set(found.features) <= set(wine.feature_names)
    assert (np.diff(np.diag(found.co_selection)) <= 0).all()


def test_names_of_a_frame():
    X, y = load_wine(return_X_y=True, as_frame=True)
    ensemble = JointSubspaceClassifier(2, max_iter=5, random_state=0).fit(X, y)
    assert set(explain_model(ensemble).document.features) <= set(X.columns)


def made(seed, n_members=3, n_classes=2, n_features=2):
    rng = np.random.default_rng(seed)
    shapes = (n_members, n_classes, n_features), (n_members, n_classes)
    gates = (n_members, n_features), (n_members,)
    members, gate = (tuple(2 * rng.normal(size=s) for s in sizes) for sizes in (shapes, gates))
    return members, gate, rng.normal(size=n_features)


def odds(members, gate, z, label):
    """Log odds by the definition: the class against the other one, or the mean of all."""
    weights = softmax(gate[0] @ z + gate[1])
    logs = np.log(weights @ softmax(members[0] @ z + members[1], axis=1))
    return logs[label] - (logs[1 - label] if len(logs) == 2 else logs.mean())


def test_constant_members_leave_all_to_the_gate():
    # log odds of +2 and -2, of which the gate takes one at z = 0 as much as the other
    members = np.zeros((2, 2, 2)), np.array([[0.0, 2.0], [0.0, -2.0]])
    gate = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2)
    start, end, amounts = integrated_gradients(members, gate, np.array([1.0, 5.0]), 1)
    assert start == pytest.approx(0)
    high, low = 1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(2.0))
    share = 1 / (1 + np.exp(-2.0))  # of the first member at z = 1
    proba = share * high + (1 - share) * low
    assert end == pytest.approx(np.log(proba / (1 - proba)))
    assert amounts == pytest.approx([end, 0.0], abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parts_are_slopes_along_the_way(n_classes):
    members, gate, z = made(1, n_classes=n_classes)
    (_, _, amounts), step = integrated_gradients(members, gate, z, 1), 1e-5
    for d, unit in enumerate(np.eye(len(z))):

        def slope(t, unit=unit):
            ahead, behind = (odds(members, gate, t * z + sign * step * unit, 1) for sign in (1, -1))
            return (ahead - behind) / (2 * step)

        assert amounts[d] == pytest.approx(z[d] * quad(slope, 0, 1)[0], abs=1e-5)


@settings(max_examples=25)
@given(st.integers(0, 1000), st.integers(2, 4))
def test_parts_add_up(seed, n_classes):
    members, gate, z = made(seed, n_classes=n_classes, n_features=4)
    start, end, amounts = integrated_gradients(members, gate, z, 0)
    assert start == pytest.approx(odds(members, gate, np.zeros(4), 0))
    assert end == pytest.approx(odds(members, gate, z, 0))
    assert start + amounts.sum() == pytest.approx(end, abs=1e-4)


def test_contributions_of_a_gated_model_add_up_to_its_prediction():
    X, y = make_classification(120, 5, n_informative=4, n_redundant=0, random_state=0)
    model = JointSubspaceClassifier(3, refine="gate", random_state=0).fit(X, y)
    story = explain_model(model, X, row=2).document
    shares = model.predict_proba(X[2:3])[0]
    label = int(story.prediction)
    assert story.decision.value == pytest.approx(np.log(shares[label] / shares[1 - label]))
    assert total_of(story.decision) == pytest.approx(story.decision.value, abs=1e-3)
    assert story.decision.measure.startswith("log-odds; ")
    assert "integrated gradient" in story.decision.measure


def test_pairs_are_coloured_and_printed_by_number():
    figure = co_selection_figure(SubspaceDocument(["age", "pay"], [[1.0, 0.5], [0.5, 0.5]]))
    assert "Most frequent pair: age and pay, in 50% of the members." in figure.caption
    assert figure.columns == ["1", "2"]
    assert figure.rows[1] == ("2 pay", [("50", 0.5), ("50", 0.5)])


def test_use_of_each_feature():
    X, y = make_classification(60, 2, n_informative=2, n_redundant=0, random_state=0)
    model = JointSubspaceClassifier(2, random_state=0).fit(X, y)
    model.co_selection_ = np.array([[1.0, 0.5], [0.5, 0.5]])
    explained = explain_model(model, columns=["age", "pay"])
    assert explained.sentences == [
        "Of the 2 most frequently used features, 1 is used by every member."
    ]
    assert [(bar.label, bar.text, bar.strong) for bar in explained.sections[0].blocks[0].bars] == [
        ("age", "100%", True), ("pay", "50%", False),
    ]  # fmt: skip


def test_features_that_no_member_uses_are_left_out():
    X, y = make_classification(60, 3, n_informative=2, n_redundant=0, random_state=0)
    model = JointSubspaceClassifier(2, random_state=0).fit(X, y)
    model.co_selection_ = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]])
    explained = explain_model(model)
    assert explained.document.features == ["x1", "x2"]
    assert explained.document.co_selection == [[0.5, 0.5], [0.5, 0.5]]
    assert list(learned(model, ()))[1] == "no feature is used by every member"


def test_a_single_feature_has_no_pair():
    alone = co_selection_figure(SubspaceDocument(["age"], [[1.0]]))
    assert alone.caption.endswith("that use the feature.")


def test_columns_add_up_to_the_log_odds_of_a_product():
    X, y = make_classification(80, 5, random_state=0)
    model = JointSubspaceClassifier(3, fusion="product", random_state=0).fit(X, y)
    for row in (0, 5):
        story = explain_model(model, X, row=row).document
        shares = model.predict_proba(X[row : row + 1])[0]
        label = int(story.prediction)
        odds = np.log(shares[label] / shares[1 - label])
        assert story.decision.value == pytest.approx(odds, rel=1e-6)
        assert total_of(story.decision) == pytest.approx(story.decision.value)


def test_a_selector_predicts_no_row():
    X, y = make_classification(60, 5, random_state=0)
    selector = JointSubspaceSelector(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="has no predictions to explain"):
        explain_model(selector, X, row=0)


def test_a_basis_of_products_has_no_parts_by_column():
    X, y = make_classification(80, 5, random_state=0)
    model = JointSubspaceClassifier(2, basis="quadratic", max_iter=20, random_state=0).fit(X, y)
    story = explain_model(model, X, row=0).document
    assert story.prediction in {"0", "1"}
    assert story.decision is None


def test_a_regression_shows_its_features_and_no_row():
    X, y = make_classification(80, 5, random_state=0)
    model = JointSubspaceRegressor(2, max_iter=20, random_state=0).fit(X, X[:, 0] + 0.1 * y)
    explained = explain_model(model)
    assert "x0" in explained.document.features
    assert next(learned(model, ())).startswith("2 members on ")
    with pytest.raises(ValueError, match="only a classifier's predictions are explained"):
        explain_model(model, X, row=0)


def test_a_stable_selection_shows_its_pairs():
    X, y = make_classification(80, 5, random_state=0)
    model = StabilitySelector(LogisticRegression(), n_pairs=3, max_false=3.0, random_state=0)
    explained = explain_model(model.fit(X, y))
    assert explained.document.co_selection[0][0] == 1
    assert len(list(learned(model, ()))) == 1
