import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

from ensemblage.evaluation import MemberDiversityDisplay, disagreement, kappa_error
from ensemblage.evaluation._diversity import member_labels

X, y = load_wine(return_X_y=True)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(8, random_state=0).fit(X[::2], y[::2])


def test_it_draws_what_was_measured(forest):
    display = MemberDiversityDisplay.from_estimator(forest, X[1::2], y[1::2])
    labels = member_labels(forest, X[1::2])
    points = kappa_error(labels, y[1::2])
    np.testing.assert_array_equal(
        display.scatter_.get_offsets(), np.column_stack([points.kappa, points.error])
    )
    assert display.measures.disagreement == disagreement(labels, y[1::2])
    assert display.ensemble_error == pytest.approx(1 - forest.score(X[1::2], y[1::2]))
    assert display.ax_.get_xlabel() == "agreement of two members (kappa)"
    assert display.figure_ is display.ax_.figure
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[0] == "28 pairs of 8 members"


def test_it_takes_predictions_and_axes():
    ax = plt.figure().add_subplot()
    display = MemberDiversityDisplay.from_predictions([[0, 1], [0, 1]], [0, 1], ax=ax)
    assert display.ax_ is ax
    assert display.measures.pairwise_kappa == 1.0
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "1 pair of 2 members",
        "their mean",
    ]


def test_the_perfect_ensemble_is_in_view():
    display = MemberDiversityDisplay.from_predictions(
        [[0, 1, 1], [0, 0, 1]], [0, 1, 1], ensemble_error=0.0
    )
    low, high = display.ax_.get_ylim()
    assert low < 0 < display.points.error.max() < high
