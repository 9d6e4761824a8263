"""Errors name the value received, what was expected and what to do."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    KMeansStrata,
    MixtureStrata,
    StrataEnsembleClassifier,
)

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.array(["a", "b", "c"] * 10)
GAUSSIANS = [HISS(3, 0.4), MixtureStrata(3), KMeansStrata(3)]
ALL = [*GAUSSIANS, BootstrapStrata(3), StrataEnsembleClassifier(HISS(3, 0.4))]
EACH_GAUSSIAN = pytest.mark.parametrize("strata", GAUSSIANS, ids=lambda e: type(e).__name__)
EACH = pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)


def assert_refused(estimator, message, X=X, y=Y, **fit_params):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y, **fit_params)


def test_more_strata_than_rows():
    assert_refused(HISS(31, 0.4), "n_strata=31 is larger than n_samples=30.*fewer strata")


@pytest.mark.parametrize("size", [0, -0.1, 1.01, float("nan")])
def test_stratum_size_out_of_range(size):
    assert_refused(
        HISS(3, size), r"'stratum_size' parameter of HISS must be a float in the range \(0"
    )


def test_a_stratum_smaller_than_a_row():
    assert_refused(
        HISS(3, 0.03), "stratum_size=0.03 of n_samples=30 rows is less than one row.*0.0333"
    )


@pytest.mark.parametrize(
    ("size", "total", "message"),
    [
        ((0.5, 0.2), 1.0, r"must be a pair with 0 < low <= high <= 1"),
        ((0.1, 0.2, 0.3), 1.0, "must be a float or a pair"),
        (("a", "b"), 1.0, "must be a float or a pair"),
        ((0.1, 0.2), None, "total_size=None is infeasible.*between 0.3 and 0.6"),
        ((0.1, 0.2), 2.0, "total_size=2.0 is infeasible for 3 strata"),
        (0.4, 1.0, "total_size=1.0 requires a pair"),
    ],
)
def test_bounds_that_make_no_sense(size, total, message):
    assert_refused(HISS(3, size, total_size=total), message)


def test_start_centres_of_the_wrong_shape():
    assert_refused(HISS(3, 0.4, init=X[:2]), r"init has shape \(2, 3\).*\(3, 3\)")


@EACH
def test_missing_values(estimator):
    bad = X.copy()
    bad[4, 1] = np.nan
    if hasattr(estimator, "encode"):
        estimator = clone(estimator).set_params(encode=None)
    assert_refused(estimator, "Input X contains NaN", bad)


@EACH
def test_infinity(estimator):
    bad = X.copy()
    bad[4, 1] = np.inf
    assert_refused(estimator, "Input X contains infinity", bad)


@EACH_GAUSSIAN
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_whose_squares_overflow(strata, dtype):
    huge = 1e300 if dtype == np.float64 else 1e30
    bad = X.astype(dtype)
    bad[3, 2] = huge
    assert_refused(
        strata, rf"values as large as 1e\+{int(np.log10(huge))}.*overflow.*Scale the columns", bad
    )


def test_values_whose_squares_overflow_in_the_ensemble():
    bad = X.copy()
    bad[3, 2] = 1e300
    assert_refused(StrataEnsembleClassifier(), r"values as large as 1e\+300", bad)


@pytest.mark.parametrize("estimator", [*GAUSSIANS, ALL[-1]], ids=lambda e: type(e).__name__)
def test_one_row(estimator):
    assert_refused(estimator, r"1 sample\(s\).*minimum of 2", X[:1], Y[:1])


def test_one_class():
    assert_refused(ALL[-1], "y holds one class only, .*'a'", X, np.full(30, "a"))


@EACH_GAUSSIAN
def test_constant_columns(strata):
    rows = X.copy()
    rows[:, 1] = 7.0
    with pytest.warns(ConvergenceWarning, match=r"Columns \[1\] of X are constant"):
        strata.fit(rows)
    assert np.isfinite(strata.log_affinity(rows)).all()


def test_constant_columns_are_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["age", "site", "pay"]).assign(site=1.0)
    with pytest.warns(ConvergenceWarning, match=r"Columns \['site'\] of X are constant"):
        HISS(3, 0.4).fit(frame)


@EACH_GAUSSIAN
def test_all_rows_equal(strata):
    rows = np.full((10, 2), 3.0)
    with pytest.warns(ConvergenceWarning, match="All rows of X are equal"):
        strata.fit(rows)
    for values in (strata.memberships_, strata.means_, strata.transform(rows + 1)):
        assert np.isfinite(values).all()


def test_all_rows_equal_in_the_ensemble():
    rows = np.full((10, 2), 3.0)
    with pytest.warns(ConvergenceWarning, match="All rows of X are equal"):
        ensemble = StrataEnsembleClassifier(HISS(2, 0.8)).fit(rows, np.arange(10) % 2)
    assert np.isfinite(ensemble.predict_proba(rows)).all()


@EACH
def test_negative_weights(estimator):
    weights = np.ones(30)
    weights[2] = -1
    assert_refused(
        estimator, "Negative values in data passed to `sample_weight`", sample_weight=weights
    )


def test_weights_that_leave_a_class_out():
    assert_refused(
        ALL[-1],
        "sample_weight is zero for all rows of class .*'b'",
        sample_weight=np.where(Y == "b", 0, 1),
    )


def test_members_that_take_no_weights():
    knn = KNeighborsClassifier()
    assert_refused(
        StrataEnsembleClassifier(HISS(3, 0.4), knn),
        "sample_weight requires members that take.*KNeighborsClassifier.fit does not",
        sample_weight=np.ones(30),
    )
    assert_refused(
        StrataEnsembleClassifier(HISS(3, 0.4), knn, membership="soft"),
        "membership='soft' requires members",
    )


class WithoutWeights(BootstrapStrata):
    def fit(self, X, y=None):
        return super().fit(X, y)


def test_a_stratifier_that_takes_no_weights():
    assert_refused(
        StrataEnsembleClassifier(WithoutWeights(3)),
        "WithoutWeights.fit does not take it",
        sample_weight=np.ones(30),
    )


def test_an_estimator_that_is_not_a_stratifier():
    with pytest.raises(TypeError, match=r"StandardScaler\(\) sets no memberships_"):
        StrataEnsembleClassifier(StandardScaler()).fit(X, Y)


def test_no_target():
    assert_refused(ALL[-1], "requires y to be passed", y=None)


def test_a_continuous_target():
    assert_refused(ALL[-1], "Unknown label type: continuous", y=X[:, 0])


@EACH
def test_the_wrong_number_of_columns_later(estimator):
    estimator.fit(X, Y)
    later = estimator.predict if hasattr(estimator, "predict") else estimator.transform
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        later(X[:, :2])


@EACH
def test_columns_in_another_order_later(estimator):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    estimator.fit(frame, Y)
    later = estimator.predict if hasattr(estimator, "predict") else estimator.transform
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        later(frame[["b", "a", "c"]])


def test_categories_in_numeric_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(site="x")
    as_they_are = clone(ALL[-1]).set_params(encode=None)
    assert_refused(as_they_are, "could not convert string to float", frame)
