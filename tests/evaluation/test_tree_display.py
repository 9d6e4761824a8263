from itertools import pairwise

import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import load_diabetes, load_iris

from ensemblage.evaluation import TreeDisplay
from ensemblage.inner import InnerTreeClassifier, InnerTreeRegressor
from pages.test_tree_drawing import LONG, full_tree


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_a_fitted_tree_is_drawn_with_its_leaves():
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = InnerTreeClassifier(random_state=0).fit(X, y)
    display = TreeDisplay.from_estimator(tree)
    assert display.text_[0].get_text().startswith("petal")
    assert len([text for text in display.text_ if "rows" in text.get_text()]) == len(
        tree.tree_.left
    )
    numbers = InnerTreeRegressor(max_leaves=4, random_state=0).fit(*load_diabetes(return_X_y=True))
    assert TreeDisplay.from_estimator(numbers, ax=plt.gca()).ax_ is plt.gca()


@pytest.mark.parametrize("leaves", [16, 64])
def test_texts_are_inside_the_figure_and_do_not_overlap(leaves):
    display = TreeDisplay(full_tree(leaves, LONG + " $x"), ["yes", "no"], 350).plot()
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.text_]
    whole = display.figure_.bbox
    for box in boxes:
        assert whole.x0 <= box.x0
        assert box.x1 <= whole.x1 + 1
    for above, below in pairwise(boxes):
        assert below.y1 <= above.y0 + 3  # the letters' own margins
