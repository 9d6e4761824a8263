from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from ensemblage.inner import (
    InnerKMeans,
    InnerTreeClassifier,
    InnerTreeRegressor,
    PrototypeDisplay,
    TreeDisplay,
)
from inner.test_tree_drawing import LONG, full_tree


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
    regressor = InnerTreeRegressor(max_leaf_nodes=4, random_state=0)
    regressor.fit(*load_diabetes(return_X_y=True))
    assert TreeDisplay.from_estimator(regressor, ax=plt.gca()).ax_ is plt.gca()


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


mpl.use("Agg")


IRIS = load_iris(as_frame=True).data


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_prototypes_of_an_estimator_carry_names_sizes_and_values():
    model = InnerKMeans(3, random_state=0).fit(IRIS)
    display = PrototypeDisplay.from_estimator(model, IRIS)
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == list(IRIS.columns)
    assert display.sizes.sum() == 150
    assert len(display.ax_.texts) == 12
    steps = (model.cluster_centers_ - IRIS.to_numpy().mean(axis=0)) / IRIS.to_numpy().std(axis=0)
    np.testing.assert_allclose(display.image_.get_array(), steps)


def test_means_are_drawn_without_prototypes_also_of_constant_features():
    X = np.column_stack([np.arange(6.0), np.ones(6)])
    _, ax = plt.subplots()
    display = PrototypeDisplay.from_predictions(X, [0, 0, 0, 1, 1, 1], ax=ax)
    np.testing.assert_array_equal(display.prototypes, [[1, 1], [4, 1]])
    assert display.ax_ is ax
    assert np.isfinite(display.image_.get_array()).all()


def test_values_of_many_prototypes_are_not_written():
    X = np.random.default_rng(0).normal(size=(20, 150))
    display = PrototypeDisplay.from_predictions(X, np.arange(20) % 2)
    assert not display.ax_.texts
