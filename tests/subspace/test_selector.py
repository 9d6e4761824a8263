import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

from ensemblage.datasets import make_hidden_features, make_quarter_circle
from ensemblage.persistence import load, save
from ensemblage.subspace import JointSubspaceClassifier, JointSubspaceSelector, co_selection
from ensemblage.subspace._selector import _ranks

QUICK = {"n_estimators": 5, "patience": 20, "max_iter": 100, "random_state": 0}


@pytest.fixture(scope="module")
def circle():
    return make_quarter_circle(100, n_dummies=6, random_state=1)


def test_finds_the_two_true_features(circle):
    selector = JointSubspaceSelector(2, **QUICK).fit(*circle)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1])
    assert selector.transform(circle[0]).shape == (200, 2)


@pytest.mark.parametrize(("wanted", "count"), [(3, 3), (0.5, 4), (0.01, 1)])
def test_number_of_selected_features(circle, wanted, count):
    assert JointSubspaceSelector(wanted, **QUICK).fit(*circle).support_.sum() == count


def test_default_selects_features_that_most_members_use(circle):
    selector = JointSubspaceSelector(**QUICK).fit(*circle)
    assert selector.support_.sum() == max(1, (selector.frequencies_ > 0.5).sum())


def test_feature_names_out(circle):
    frame = pd.DataFrame(circle[0], columns=list("abcdefgh"))
    selector = JointSubspaceSelector(2, **QUICK).set_output(transform="pandas")
    assert list(selector.fit_transform(frame, circle[1]).columns) == ["a", "b"]
    assert list(selector.get_feature_names_out()) == ["a", "b"]


def test_true_pair_is_the_top_pair(circle):
    selector = JointSubspaceSelector(**QUICK).fit(*circle)
    marks = co_selection(selector.supports_, binary=True, top_pairs=1, top_features=2)
    assert marks[:2, :2].all()
    assert marks.sum() == 4


def test_in_a_pipeline(circle):
    model = make_pipeline(
        JointSubspaceSelector(2, **QUICK), JointSubspaceClassifier(2, random_state=0)
    )  # fmt: skip
    assert model.fit(*circle).score(*circle) > 0.9


def test_more_features_than_available_raise():
    with pytest.raises(ValueError, match="n_features_to_select=99, but X has 13 features"):
        JointSubspaceSelector(99, **QUICK).fit(*load_wine(return_X_y=True))


def test_ties_are_not_broken_by_column_order():
    scores, reserve = np.zeros(50), np.zeros(50)
    first = [int(np.argmin(_ranks(scores, reserve, np.random.default_rng(s)))) for s in range(40)]
    assert len(set(first)) > 20
    reserve[33] = 1.0
    assert _ranks(scores, reserve, np.random.default_rng(0))[33] == 1
    scores[7] = 0.1
    assert _ranks(scores, reserve, np.random.default_rng(0))[7] == 1


def share_found(kind, seeds, **options):
    """Mean number of relevant features among the top ranked."""
    counts = []
    for seed in seeds:
        X, y, relevant = make_hidden_features(kind, 200, random_state=seed)
        selector = JointSubspaceSelector(int(relevant.sum()), random_state=seed, **options)
        counts.append(int(relevant[selector.fit(X, y).support_].sum()))
    return float(np.mean(counts))


def test_copies_are_reported_as_a_group():
    X, y, relevant = make_hidden_features("copies", 200, random_state=0)
    selector = JointSubspaceSelector(3, **QUICK).fit(X, y)
    np.testing.assert_array_equal(selector.support_, relevant)
    assert len(set(selector.groups_[relevant])) == 1
    assert len(set(selector.groups_)) == 28
    assert len(set(selector.scores_[relevant])) == 1
    assert (selector.supports_[:, relevant].sum(axis=1) % 3 == 0).all()
    alone = JointSubspaceSelector(3, group_correlation=None, **QUICK).fit(X, y)
    np.testing.assert_array_equal(alone.groups_, np.arange(30))


def test_a_quadratic_basis_selects_both_factors_of_a_product():
    options = {**QUICK, "basis": "quadratic"}
    X, y, relevant = make_hidden_features("xor", 200, n_features=12, random_state=0)
    selector = JointSubspaceSelector(2, **options).fit(X, y)
    np.testing.assert_array_equal(selector.support_, relevant)
    assert selector.coefs_.shape == (5, 2, 12 + 12 * 13 // 2)
    assert selector.supports_.shape == (5, 12)


def test_a_spline_basis_finds_a_band():
    X, y, relevant = make_hidden_features("band", 300, n_features=12, random_state=0)
    selector = JointSubspaceSelector(3, **{**QUICK, "basis": "spline", "C": 0.1}).fit(X, y)
    np.testing.assert_array_equal(selector.support_, relevant)


def test_the_paper_solver_with_a_basis():
    X, y, relevant = make_hidden_features("xor", 300, n_features=9, random_state=0)
    options = {**QUICK, "basis": "quadratic", "solver": "paper", "tol": 1e-6}
    assert JointSubspaceSelector(2, **options).fit(X, y).support_[relevant].all()


def selection_regression(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 15))
    return X, 100 + 20 * X[:, 3] - 10 * X[:, 7] + 10 * rng.normal(size=n_rows)


def test_selects_for_a_numeric_target():
    X, y = selection_regression()
    selector = JointSubspaceSelector(2, loss="squared_error", **QUICK).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [3, 7])
    assert not hasattr(selector, "classes_")
    assert selector.coefs_.shape == (5, 15)


def test_rescaling_the_target_does_not_change_the_selection():
    X, y = selection_regression()
    one, other = (
        JointSubspaceSelector(2, loss="squared_error", **QUICK).fit(X, scale * y + shift)
        for scale, shift in ((1, 0), (1e6, -3e7))
    )
    np.testing.assert_array_equal(one.supports_, other.supports_)
    np.testing.assert_array_equal(one.ranking_, other.ranking_)


def test_attributes_of_an_earlier_loss_are_removed(circle):
    selector = JointSubspaceSelector(2, **QUICK).fit(*circle)
    selector.set_params(loss="squared_error").fit(*circle)
    assert not hasattr(selector, "classes_")
    selector.set_params(loss="log_loss").fit(*circle)
    assert not hasattr(selector, "target_mean_")


@pytest.mark.parametrize(("options", "message"), [
    ({"basis": "cubic"}, "basis"),
    ({"group_correlation": 0.0}, "group_correlation"),
    ({"loss": "hinge"}, "loss"),
])  # fmt: skip
def test_invalid_options_raise(circle, options, message):
    with pytest.raises(ValueError, match=message):
        JointSubspaceSelector(**options).fit(*circle)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "options", "least"), [
    ("copies", {}, 2.9),
    ("linear", {}, 2.8),
    ("xor", {"basis": "quadratic", "C": "auto"}, 1.8),
    ("band", {"basis": "spline", "C": "auto"}, 2.0),
])  # fmt: skip
def test_features_that_are_hard_to_find(kind, options, least):
    assert share_found(kind, range(2000, 2040), **options) >= least


def test_classifier_and_selector_fit_the_same_members():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    options = {"n_estimators": 2, "flip_probability": 0.1, "max_iter": 20, "random_state": 0}
    one = JointSubspaceClassifier(**options).fit(X, y)
    other = JointSubspaceSelector(**options).fit(X, y)
    np.testing.assert_array_equal(one.coefs_, other.coefs_)
    np.testing.assert_array_equal(one.supports_, other.supports_)


def test_saved_selector_selects_the_same(tmp_path):
    X, y = make_quarter_circle(30, n_dummies=1, random_state=0)
    selector = JointSubspaceSelector(2, n_estimators=2, max_iter=5, random_state=0).fit(X, y)
    save(selector, tmp_path / "m.skops", columns=list("abc"), kinds=["numeric"] * 3)
    again = load(tmp_path / "m.skops").model
    np.testing.assert_array_equal(again.transform(X), selector.transform(X))
