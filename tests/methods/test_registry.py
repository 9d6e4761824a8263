from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ensemblage.datasets import Columns, Dataset, load_dataset, open_dataset, read_table
from ensemblage.explain import what_was_learned
from ensemblage.methods import METHODS, get_method, make_model, predict_rows, train
from ensemblage.persistence import load, save


@pytest.fixture
def people(table_file):
    return open_dataset(str(table_file), "class")


# the pool is all of them at once, and has tests of its own
SLOW = {"auto"}
NAMES = [pytest.param(each, marks=pytest.mark.slow) if each in SLOW else each for each in METHODS]


@pytest.mark.parametrize("name", NAMES)
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
    model = make_model("logistic", Columns(("a", "b"), ("number",) * 2, (None,) * 2), seed=0).fit(
        X, y
    )
    assert model[:-1].transform(X).shape == (20, 1)


def as_frame(dataset):
    """The same rows in a frame whose types declare the categories."""
    columns = {}
    for name, kind, known, values in zip(*dataset.columns, dataset.X.T, strict=True):
        columns[name] = values if kind == "word" else values.astype(float)
        if known is not None:
            columns[name] = pd.Categorical(values, categories=list(known))
    return pd.DataFrame(columns)


def assert_parity(method, dataset):
    """A network on the command line is the network in Python, to the last bit."""
    model = make_model(method, dataset.columns, seed=0).fit(dataset.X, dataset.y)
    frame = as_frame(dataset)
    network = get_method(method).factory(0, None).fit(frame, dataset.y)
    found, expected = model.predict_proba(dataset.X), network.predict_proba(frame)
    np.testing.assert_array_equal(found, expected)
    assert list(model[-1].categories_.values()) == list(network.categories_.values())


@pytest.mark.parametrize("name", ["credit-a", "hepatitis", "vote", "lymph", "heart-c", "labor"])
def test_declared_categories_reach_networks(shared, name):
    dataset = load_dataset(name, shared / "data")
    assert any(known is not None for known in dataset.columns.categories)
    assert_parity("bayesnet", dataset)


ARFF = """@relation r
@attribute grade {1, 2, 3, 10}
@attribute colour {red, green, 'dark blue', violet}
@attribute size numeric
@attribute class {no, yes}
@data
"""


@pytest.mark.parametrize("method", ["bayesnet", "inner-bayesnet"])
def test_declared_categories_that_never_occur_reach_networks(tmp_path, method):
    rng = np.random.default_rng(0)
    grades, colours = rng.choice(["1", "2", "10"], 60), rng.choice(["red", "'dark blue'", "?"], 60)
    labels = np.where((grades == "10") | (colours == "red"), "yes", "no")
    rows = zip(grades, colours, rng.normal(size=60).round(2), labels, strict=True)
    (tmp_path / "t.arff").write_text(ARFF + "\n".join(",".join(map(str, row)) for row in rows))
    dataset = Dataset.from_table(read_table(tmp_path / "t.arff"), "class")
    assert dataset.columns.categories[0] == ("1", "2", "3", "10")
    assert_parity(method, dataset)
    model = make_model(method, dataset.columns, seed=0).fit(dataset.X, dataset.y)
    assert model[-1].categories_["x1"] == ["red", "green", "dark blue", "violet"]
