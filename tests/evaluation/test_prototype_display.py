import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_iris

from ensemblage.evaluation import PrototypeDisplay
from ensemblage.inner import InnerKMeans

mpl.use("Agg")
from matplotlib import pyplot as plt

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


def test_means_are_drawn_when_there_are_no_prototypes_and_constants_do_no_harm():
    X = np.column_stack([np.arange(6.0), np.ones(6)])
    _, ax = plt.subplots()
    display = PrototypeDisplay.from_predictions(X, [0, 0, 0, 1, 1, 1], ax=ax)
    np.testing.assert_array_equal(display.prototypes, [[1, 1], [4, 1]])
    assert display.ax_ is ax
    assert np.isfinite(display.image_.get_array()).all()


def test_too_many_numbers_are_left_out():
    X = np.random.default_rng(0).normal(size=(20, 150))
    display = PrototypeDisplay.from_predictions(X, np.arange(20) % 2)
    assert not display.ax_.texts
