"""scikit-learn's logistic regression and the plain way to it: the same bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from ensemblage.strata._plain_logistic import PlainRows, Settings, solve_plain

USUAL = Settings(C=1.0, fit_intercept=True, tol=1e-4, max_iter=100)


def rows_of(seed, n_classes, weighted=False):
    rng = np.random.default_rng(seed)
    codes = np.arange(40) % n_classes
    X = rng.normal(size=(40, 4)) + codes[:, None] * [1.0, 0.0, -0.5, 0.2]
    return PlainRows(X, codes, rng.random(40) if weighted else None)


def same_bits(rows, settings):
    theirs = LogisticRegression(**settings._asdict()).fit(rows.X, rows.codes, rows.weights)
    coef, intercept, n_iter = solve_plain(rows, settings)
    np.testing.assert_array_equal(coef, theirs.coef_)
    np.testing.assert_array_equal(intercept, theirs.intercept_)
    assert n_iter == theirs.n_iter_[0]


def test_by_hand():
    # w minimises 4 log(1 + exp(-w)) + w^2 / 2, without an intercept by symmetry
    rows = PlainRows(np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1]), None)
    coef, intercept, _ = solve_plain(rows, USUAL._replace(tol=1e-10))
    assert coef[0, 0] == pytest.approx(4 / (1 + np.exp(coef[0, 0])), abs=1e-7)
    assert intercept[0] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_as_scikit_learn_to_the_bit(n_classes, fit_intercept, weighted):
    rows = rows_of(0, n_classes, weighted)
    same_bits(rows, USUAL._replace(fit_intercept=fit_intercept, C=0.3, tol=1e-6))


@given(st.integers(0, 1000), st.sampled_from([2, 3]), st.sampled_from([0.01, 1.0, 100.0]))
def test_as_scikit_learn_on_any_rows(seed, n_classes, C):
    same_bits(rows_of(seed, n_classes), USUAL._replace(C=C))


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations.*Raise `max_iter` \(now 2\)"):
        solve_plain(rows_of(0, 2), USUAL._replace(max_iter=2))
