import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from ensemblage.bayes import BayesNetClassifier
from ensemblage.evaluation import NetworkDisplay
from ensemblage.evaluation._network_display import layered_positions

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_children_stand_below_their_parents():
    parents = {"c": [], "a": ["c"], "b": ["c", "a"], "d": ["c"], "lone": []}
    places = layered_positions(parents)
    for child, names in parents.items():
        assert all(places[child][1] < places[parent][1] for parent in names)
    assert len(set(places.values())) == len(parents)


def test_a_fitted_classifier_is_drawn():
    X, y = load_iris(return_X_y=True, as_frame=True)
    network = BayesNetClassifier().fit(X, y)
    display = NetworkDisplay.from_estimator(network)
    assert {box.get_text() for box in display.text_} == set(network.parents_)
    display.figure_.canvas.draw()
    ax = plt.figure().subplots()
    assert NetworkDisplay.from_network(network.graph(), ax=ax).ax_ is ax


def test_names_with_dollar_signs_are_not_formulas():
    display = NetworkDisplay({"$x^$": []}).plot()
    display.figure_.canvas.draw()  # a formula would be refused here
    assert [box.get_text() for box in display.text_] == [r"\$x^\$"]


def test_an_unfitted_classifier_is_refused():
    with pytest.raises(NotFittedError):
        NetworkDisplay.from_estimator(BayesNetClassifier())
