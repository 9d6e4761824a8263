from dataclasses import replace

import numpy as np
import pytest

from ensemblage.datasets import open_dataset
from ensemblage.explain import what_was_learned
from ensemblage.methods import METHODS, get_method, make_model, predict_rows, train
from ensemblage.persistence import load, save


@pytest.fixture
def people(table_file):
    return open_dataset(str(table_file), "class")


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore:.* strata hold one class only")
@pytest.mark.filterwarnings("ignore:.* constant and tell strata nothing")
def test_every_method_learns_mixed_columns_and_survives_its_file(name, people, tmp_path):
    sites = np.array(["north", "south"] * (len(people.y) // 2))
    trained = train(replace(people, sources=sites), name, n_splits=2)
    before = predict_rows(trained.model, people.X)
    assert set(before.labels) <= set(before.classes)
    save(trained.model, tmp_path / "m.skops", columns=people.feature_names, kinds=people.kinds)
    after = predict_rows(load(tmp_path / "m.skops").model, people.X)
    np.testing.assert_array_equal(before.labels, after.labels)
    if before.probabilities is not None:
        np.testing.assert_array_equal(before.probabilities, after.probabilities)
        np.testing.assert_allclose(before.probabilities.sum(axis=1), 1.0)
    assert what_was_learned(trained.fitted)[0].startswith("3 columns, encoded as ")


def test_methods_are_ours_or_baselines():
    baselines = [name for name, each in METHODS.items() if not each.ours]
    assert baselines == ["majority", "logistic", "svm", "forest", "boosting"]
    assert all(each.label and each.description for each in METHODS.values())


def test_unknown_method_names_the_closest():
    with pytest.raises(
        ValueError, match=r"no method 'forrest'\. Did you mean 'forest'\? There are"
    ):
        get_method("forrest")


def test_constant_columns_are_dropped():
    X = np.column_stack([np.arange(20.0), np.full(20, 7.0)])
    y = np.array(["a", "b"] * 10)
    model = make_model("logistic", ["number", "number"], seed=0).fit(X, y)
    assert model[:-1].transform(X).shape == (20, 1)
