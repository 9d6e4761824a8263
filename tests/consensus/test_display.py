import matplotlib as mpl
import numpy as np
import pytest

from ensemblage.consensus import ClusterStabilityDisplay, StabilityCurve

mpl.use("Agg")
from matplotlib import pyplot as plt

# two clusters: every pair is always or never together; three: half of the pairs are in doubt
CDF = np.array([np.where(np.arange(101) < 100, 0.5, 1.0), np.linspace(0, 1, 101)])
CURVE = StabilityCurve(np.array([2, 3]), CDF, np.array([[0.3, 0.8], [0.5, 0.6]]))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_ambiguity_is_drawn_beside_the_references():
    display = ClusterStabilityDisplay.from_curve(CURVE)
    data, without = display.lines_
    np.testing.assert_allclose(data.get_ydata(), [0.0, 0.79])
    np.testing.assert_allclose(without.get_ydata(), [0.4, 0.7])


def test_each_number_has_a_distribution_and_a_growth():
    _, ax = plt.subplots()
    display = ClusterStabilityDisplay.from_curve(CURVE, kind="cdf", ax=ax)
    assert display.ax_ is ax
    assert [line.get_label() for line in display.lines_] == ["2", "3"]
    growth = ClusterStabilityDisplay.from_curve(CURVE, kind="delta-area").lines_[0].get_ydata()
    np.testing.assert_allclose(growth, CURVE.delta_area)


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match=r"kind='area' is not one of: stability, cdf, delta-area"):
        ClusterStabilityDisplay.from_curve(CURVE, kind="area")
