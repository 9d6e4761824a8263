import numpy as np
import pandas as pd
import pytest

from ensemblage.datasets import load_dataset
from ensemblage.papers.inner._inner_networks import BaggedNetworks, as_frame, paper_model


@pytest.fixture(scope="module")
def iris():
    X, y = as_frame(load_dataset("iris"))
    return X[::3], y[::3]


def test_bagging_keeps_every_member(iris):
    bag = paper_model("bagging", 0, n_views=3)
    assert isinstance(bag, BaggedNetworks)
    assert len(bag.fit(*iris).members_) == 3
    assert np.mean(bag.predict(iris[0]) == np.asarray(iris[1])) > 0.8


def test_frames_keep_declared_categories(shared):
    X, y = as_frame(load_dataset("heart-c", shared / "data"))
    assert isinstance(y.dtype, pd.CategoricalDtype)
    assert len(y.cat.categories) == 5
    assert X["cp"].cat.categories.tolist()[0] == "typ_angina"
