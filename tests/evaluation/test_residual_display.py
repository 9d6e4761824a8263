import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from ensemblage.evaluation import ResidualDisplay

Y = np.arange(80.0)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_residuals_and_means_are_drawn():
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


def test_an_estimator_is_asked_and_given_axes_are_used():
    X = Y[:, None]
    axes = plt.subplots(1, 2)[1]
    model = LinearRegression().fit(X, Y)
    display = ResidualDisplay.from_estimator(model, X, Y, sources=Y % 2, axes=axes)
    assert display.axes_[0] is axes[0]
    np.testing.assert_allclose(display.predicted, Y)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="One prediction per number"):
        ResidualDisplay(Y, Y[:-1]).plot()
