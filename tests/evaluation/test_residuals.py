import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from ensemblage.evaluation import PredictedValues, ResidualDisplay, source_residuals
from ensemblage.evaluation._residuals import binned_means

ROWS = PredictedValues.of(
    [1.0, 2.0, 3.0, 10.0], [0.0, 2.0, 2.0, 12.0], [[-1, 1], [1, 3], [1.9, 2.1], [11, 13]],
    ["a", "a", "a", "b"],
)  # fmt: skip


def test_residuals_of_each_source_by_hand():
    first, second = source_residuals(ROWS)
    assert (first.source, first.rows, second.source, second.rows) == ("a", 3, "b", 1)
    assert first.bias == pytest.approx(2 / 3)
    assert first.rmse == pytest.approx(np.sqrt(2 / 3))
    assert first.coverage == pytest.approx(2 / 3)
    assert (second.bias, second.rmse, second.coverage) == (-2.0, 2.0, 0.0)


def test_without_sources_there_are_no_source_residuals():
    plain = PredictedValues.of([1.0, 2.0], [1.0, 1.0])
    assert (plain.names, source_residuals(plain)) == ([], ())
    (found,) = source_residuals(PredictedValues.of([1.0], [2.0], sources=["x"]))
    assert found.coverage is None


def test_means_are_of_rows_in_order_of_prediction():
    y, predicted = np.arange(40.0), np.arange(40.0)[::-1]
    means = binned_means(PredictedValues.of(y, predicted))
    np.testing.assert_allclose(means[0], [4.5, 14.5, 24.5, 34.5])
    np.testing.assert_allclose(means[1], [34.5, 24.5, 14.5, 4.5])
    few = binned_means(PredictedValues.of(y[:3], predicted[:3]))
    assert [len(each) for each in few] == [1, 1]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (([1.0], [1.0, 2.0]), "one prediction per row"),
        (([1.0, np.inf], [1.0, 2.0]), "finite"),
        (([1.0], [1.0], None, ["a", "b"]), "one source per row"),
    ],
)
def test_inconsistent_arrays_are_refused(given, problem):
    with pytest.raises(ValueError, match=problem):
        PredictedValues.of(*given)


Y = np.arange(80.0)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_residuals_and_means_are_plotted():
    display = ResidualDisplay(Y, Y + 1).plot()
    left, right = display.axes_
    (points,) = left.collections
    np.testing.assert_allclose(points.get_offsets()[:, 1], -1)
    diagonal, means = right.lines
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    np.testing.assert_allclose(means.get_xdata() - means.get_ydata(), 1)
    assert left.get_legend() is None
    assert display.figure_ is left.figure


def test_each_source_has_a_colour_and_the_small_ones_share_one():
    names = np.repeat([f"s{i}" for i in range(8)], 10)
    display = ResidualDisplay(Y, Y, names).plot()
    texts = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert texts == ["others", *(f"s{i}" for i in range(6))]
    assert len(display.axes_[1].lines) == 8


def test_from_estimator_with_given_axes():
    X = Y[:, None]
    axes = plt.subplots(1, 2)[1]
    model = LinearRegression().fit(X, Y)
    display = ResidualDisplay.from_estimator(model, X, Y, sources=Y % 2, axes=axes)
    assert display.axes_[0] is axes[0]
    np.testing.assert_allclose(display.predicted, Y)


def test_residual_display_refuses_inconsistent_arrays():
    with pytest.raises(ValueError, match="one prediction per row"):
        ResidualDisplay(Y, Y[:-1]).plot()
