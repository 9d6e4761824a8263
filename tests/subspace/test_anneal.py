import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import make_quarter_circle
from ensemblage.subspace._anneal import anneal, converge
from ensemblage.subspace._member import as_rows, member_logits, standardise
from ensemblage.subspace._objectives import weighted_accuracy
from ensemblage.subspace._settings import Walk, step_length
from ensemblage.subspace._steps import first_member

PRICE, MAX_ITER = 0.02, 300


def walk_on(rows, **changed):
    walk = Walk(0.1, step_length(rows), PRICE, decay=1e-3, patience=50, tol=1e-6, max_iter=MAX_ITER)
    return walk._replace(**changed)


def fit(rows, seed=0, **changed):
    return anneal(rows, rows.weights, np.random.default_rng(seed), walk_on(rows, **changed))


def wine():
    X, y = load_wine(return_X_y=True)
    return as_rows(X, y, 3, standardise(X))


def circle(n_rows=100):
    X, y = make_quarter_circle(n_rows, n_dummies=6, random_state=0)
    return as_rows(X, y, 2, standardise(X))


def test_converged_member_is_a_logistic_regression():
    rows = wine()
    start = first_member(rows, np.random.default_rng(0))
    member = converge(rows, rows.weights, start, 1 / rows.total, 1e-9)
    peer = LogisticRegression(C=1.0, tol=1e-9, max_iter=1000).fit(rows.features.T, rows.targets)
    np.testing.assert_allclose(member.coef, peer.coef_, atol=1e-4)


def test_masked_coefficients_are_frozen():
    rows = wine()
    start = first_member(rows, np.random.default_rng(0))
    half = np.arange(13) < 6
    member = converge(rows, rows.weights, start._replace(support=half), 0.01)
    np.testing.assert_array_equal(member.coef[:, ~half], start.coef[:, ~half])
    assert (member.coef[:, half] != start.coef[:, half]).all()


def test_dummies_are_dropped_and_never_everything():
    for seed in range(5):
        member = fit(circle(), seed)
        assert member.support[:2].all()
        assert member.support.sum() < 8


def test_a_price_beyond_all_gains_leaves_one_feature():
    member = fit(circle(), price=10.0)
    assert member.support.sum() == 1


def test_returns_the_best_it_met():
    rows = circle()
    member = fit(rows)
    accuracy = weighted_accuracy(member_logits(rows.features, member), rows.targets, rows.weights)
    assert accuracy - PRICE * member.support.sum() > member.accuracy_path[0] - PRICE * 8


def test_no_flips_keep_all_features():
    member = fit(circle(), flip_probability=0.0)
    assert member.support.all()
    assert len(member.accuracy_path) == 1


def test_patience_ends_the_walk():
    member = fit(circle(), patience=3)
    assert member.n_iter < MAX_ITER
    assert len(member.accuracy_path) == member.n_iter + 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(dtype):
    X, y = make_quarter_circle(50, n_dummies=2, random_state=0)
    X = X.astype(dtype)
    rows = as_rows(X, y, 2, standardise(X))
    member = fit(rows)
    assert member.coef.dtype == member.intercept.dtype == dtype
