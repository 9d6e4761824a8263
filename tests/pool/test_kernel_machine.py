import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from ensemblage.messages import DamagedStateError
from ensemblage.pool import _kernel_machine
from ensemblage.pool._kernel_machine import KernelMachine, KernelMachineRegressor


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("gamma", ["scale", 0.3])
def test_says_what_the_machine_of_scikit_learn_says(rows, classes, gamma, monkeypatch):
    monkeypatch.setattr(_kernel_machine, "MOST_ENTRIES", 2_000)  # a few rows at a time
    kept = rows.y < classes
    X, y = 3 * rows.X[kept] + 1, rows.y[kept]
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    own = KernelMachine(10.0, gamma=gamma).fit(X, y, weights)
    theirs = make_pipeline(StandardScaler(), SVC(C=10.0, gamma=gamma))
    theirs.fit(X, y, standardscaler__sample_weight=weights, svc__sample_weight=weights)
    np.testing.assert_allclose(own.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(own.predict(X), theirs.predict(X))


def test_a_row_twice_and_a_weight_of_two_are_the_same(rows):
    twice = KernelMachine().fit(np.repeat(rows.X, 2, axis=0), np.repeat(rows.y, 2))
    weighted = KernelMachine().fit(rows.X, rows.y, np.full(len(rows.y), 2.0))
    np.testing.assert_allclose(
        twice.decision_function(rows.X), weighted.decision_function(rows.X), atol=1e-2
    )


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("means_", np.zeros(3), r"means_ has shape \(3,\)"),
        ("scales_", np.zeros(4), "scales_ are not above zero"),
        ("vectors_", np.zeros((7, 9)), "vectors_"),
        ("weights_", np.zeros((7, 3)), "weights_"),
        ("intercepts_", np.full(3, np.nan), "intercepts_ holds values that are not finite"),
        ("width_", np.nan, "width_ is no width"),
    ],
)
def test_forged_machines_are_refused(rows, name, value, told):
    own = KernelMachine().fit(rows.X, rows.y)
    own.__check_state__()
    setattr(own, name, value)
    with pytest.raises(DamagedStateError, match=told):
        own.__check_state__()


def test_numbers_are_those_of_scikit_learn_on_a_standardised_target(rows):
    y = 100 + 7 * np.sin(rows.X[:, 0])
    own = KernelMachineRegressor(10.0).fit(rows.X, y)
    theirs = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), SVR(C=10.0)), transformer=StandardScaler()
    ).fit(rows.X, y)
    np.testing.assert_allclose(own.predict(rows.X), theirs.predict(rows.X))
    assert own.__check_state__() is None


def test_numbers_within_the_tube_need_no_vectors(rows):
    y = np.where(np.arange(len(rows.y)) == 0, 1.0, 0.0)
    with np.errstate(all="raise"):
        model = KernelMachineRegressor(1e-9).fit(rows.X, y)
    assert np.isfinite(model.predict(rows.X)).all()


def test_forged_weights_of_numbers_are_refused(rows):
    forged = KernelMachineRegressor().fit(rows.X, rows.X[:, 0])
    forged.weights_ = forged.weights_[:-1]
    with pytest.raises(DamagedStateError):
        forged.__check_state__()
