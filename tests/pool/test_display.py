import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from ensemblage.evaluation import interval_reliability, reliability
from ensemblage.pool import EnsemblageClassifier, EnsemblageRegressor, PoolDisplay


@pytest.fixture(autouse=True)
def no_window():
    pytest.importorskip("matplotlib").use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def test_reliability_by_hand():
    probabilities = [[0.6, 0.4]] * 2 + [[0.1, 0.9]] * 2
    found = reliability(probabilities, [0, 1, 1, 1], n_bins=2)
    np.testing.assert_allclose(found.confidence, [0.6, 0.9])
    np.testing.assert_allclose(found.accuracy, [0.5, 1.0])
    np.testing.assert_allclose(found.share, [0.5, 0.5])
    assert found.error == pytest.approx(0.1)


@given(st.integers(0, 100))
def test_bins_hold_all_rows(seed):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(0, 3, 50)
    found = reliability(probabilities, y)
    assert found.share.sum() == pytest.approx(1)
    assert (np.diff(found.confidence) > 0).all()
    assert found.share @ found.accuracy == pytest.approx((probabilities.argmax(axis=1) == y).mean())


def test_a_pool_is_plotted_from_its_out_of_fold_outputs():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    X = rng.normal(size=(90, 2)) + y[:, None]
    pool = EnsemblageClassifier([GaussianNB(), RandomForestClassifier(5)], cv=2, random_state=0)
    display = PoolDisplay.from_estimator(pool.fit(X, y))
    assert display.names == ["GaussianNB", "RandomForestClassifier"]
    assert display.weights.sum() == pytest.approx(1)
    predicted = pool.out_of_fold_.outputs.argmax(axis=2)
    assert display.disagreement[0, 1] == (predicted[0] != predicted[1]).mean()
    assert display.disagreement[0, 0] == 0
    assert [bar.get_width() for bar in display.axes_[0].patches] == display.weights.tolist()
    assert display.axes_[1].get_title().startswith("Calibration error 0.")


def test_on_given_axes():
    from matplotlib import pyplot as plt

    axes = plt.subplots(1, 3)[1]
    curve = reliability([[0.8, 0.2]] * 4, [0, 0, 0, 1])
    display = PoolDisplay(["svm"], np.ones(1), curve, np.zeros((1, 1))).plot(axes=axes)
    assert display.figure_ is axes[0].figure


PROBA = np.array([[0.8, 0.2], [0.4, 0.6]])


@pytest.mark.parametrize(
    ("probabilities", "y", "options", "message"),
    [
        (PROBA[:, 1], [0, 1], {}, r"got arrays of shapes \(2,\) and \(2,\)"),
        (PROBA, [0], {}, r"got arrays of shapes \(2, 2\) and \(1,\)"),
        (PROBA[:0], [], {}, r"got arrays of shapes \(0, 2\) and \(0,\)"),
        (PROBA * np.nan, [0, 1], {}, "Probabilities must be finite"),
        (PROBA, ["no", "yes"], {}, "y must hold class indices from 0 to 1"),
        (PROBA, [0, 2], {}, "y must hold class indices from 0 to 1"),
        (PROBA, [0, 1], {"n_bins": 0}, "n_bins=0 must be at least 1"),
    ],
)
def test_reliability_of_invalid_probabilities(probabilities, y, options, message):
    with pytest.raises(ValueError, match=message):
        reliability(probabilities, y, **options)


def test_interval_reliability_of_invalid_standard_deviations():
    with pytest.raises(ValueError, match="one value per row in each"):
        interval_reliability([1.0, 2.0], [1.0], [1.0])
    certain = interval_reliability([1.0, 2.0], [1.0, 3.0], [0.0, 0.0])
    assert (certain.accuracy == 0.5).all()


def test_interval_reliability_by_hand():
    # half a standard deviation holds 38 %, two hold 95.4 %
    found = interval_reliability([0.5, -2.0], [0.0, 0.0], [1.0, 1.0])
    assert found.confidence[0] == pytest.approx(0.05)
    observed = dict(zip(found.confidence.round(2), found.accuracy, strict=True))
    assert (observed[0.35], observed[0.4], observed[0.95]) == (0.0, 0.5, 0.5)


def test_intervals_of_normal_targets_have_nominal_coverage():
    y = np.random.default_rng(0).normal(3.0, 2.0, size=20_000)
    found = interval_reliability(y, np.full(len(y), 3.0), np.full(len(y), 2.0))
    assert found.error < 0.01


def test_a_regression_pool():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    pool = EnsemblageRegressor(["ridge", "svr"], cv=2, random_state=0).fit(X, X[:, 0] * 9)
    display = PoolDisplay.from_estimator(pool)
    assert display.axes_[1].get_ylabel() == "observed coverage"
    np.testing.assert_array_equal(np.diag(display.disagreement), 0)
    ridge, svr = pool.out_of_fold_.outputs[..., 0]
    distance = np.abs(ridge - svr).mean() / pool.out_of_fold_.y.std()
    assert display.disagreement[0, 1] == pytest.approx(distance)
