import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from ensemblage.bayes import BayesNetClassifier, NetworkDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_children_stand_below_their_parents():
    parents = {"c": [], "a": ["c"], "b": ["c", "a"], "d": ["c"], "lone": []}
    places = NetworkDisplay(parents, "c").positions
    for child, names in parents.items():
        assert all(places[child][1] < places[parent][1] for parent in names)
    assert len(set(places.values())) == len(parents)


def test_a_fitted_classifier_is_drawn():
    X, y = load_iris(return_X_y=True, as_frame=True)
    network = BayesNetClassifier().fit(X, y)
    display = NetworkDisplay.from_estimator(network)
    names = {text.get_text().replace("\n", " ") for text in display.text_}
    assert names == set(network.parents_)
    display.figure_.canvas.draw()
    ax = plt.figure().subplots()
    assert NetworkDisplay.from_network(network.graph(), ax=ax).ax_ is ax


def test_no_name_leaves_its_box_and_none_touch_another():
    names = [f"a column name of some forty letters, {k}" for k in range(20)]
    display = NetworkDisplay({"class": [], **{name: ["class"] for name in names}}, "class").plot()
    display.figure_.canvas.draw()
    extents = [text.get_window_extent() for text in display.text_]
    boxes = [
        patch.get_window_extent()
        for patch in display.ax_.patches
        if type(patch).__name__ == "FancyBboxPatch"
    ]
    for k, (text, box) in enumerate(zip(extents, boxes, strict=True)):
        assert box.x0 <= text.x0 < text.x1 <= box.x1
        assert not any(box.overlaps(other) for other in boxes[:k])


def test_names_with_dollar_signs_are_not_formulas():
    display = NetworkDisplay({"$x^$": []}).plot()
    display.figure_.canvas.draw()  # a formula would be refused here
    assert [box.get_text() for box in display.text_] == [r"\$x^\$"]


def test_an_unfitted_classifier_is_refused():
    with pytest.raises(NotFittedError):
        NetworkDisplay.from_estimator(BayesNetClassifier())


def test_arrow_width_shows_the_arc_confidence():
    parents = {"c": [], "a": ["c"], "b": ["c", "a"]}
    display = NetworkDisplay(parents, "c", {"a": {"c": 1.0}, "b": {"a": 0.1, "c": 1.0}}).plot()
    lines = [patch for patch in display.ax_.patches if type(patch).__name__ == "PathPatch"]
    assert sorted(line.get_linewidth() for line in lines) == pytest.approx([0.67, 2.2, 2.2])
