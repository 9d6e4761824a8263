import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from ensemblage.evaluation import CoSelectionDisplay
from ensemblage.subspace import JointSubspaceSelector


@pytest.fixture(autouse=True)
def no_window():
    pytest.importorskip("matplotlib").use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def test_draws_names_and_shares():
    X, y = load_iris(return_X_y=True, as_frame=True)
    selector = JointSubspaceSelector(n_estimators=2, max_iter=5, random_state=0).fit(X, y)
    display = CoSelectionDisplay.from_estimator(selector)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == list(X.columns)
    np.testing.assert_array_equal(display.im_.get_array(), selector.co_selection_)
    assert display.figure_ is display.ax_.figure


def test_on_given_axes():
    from matplotlib import pyplot as plt

    ax = plt.subplots()[1]
    assert CoSelectionDisplay(np.eye(3)).plot(ax=ax).ax_ is ax


def test_wrong_input():
    with pytest.raises(ValueError, match="expected a square"):
        CoSelectionDisplay(np.ones((2, 3)))
    with pytest.raises(ValueError, match="one name per feature"):
        CoSelectionDisplay(np.eye(2), feature_names=["a"])
    with pytest.raises(NotFittedError):
        CoSelectionDisplay.from_estimator(JointSubspaceSelector())
