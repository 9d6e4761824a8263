import numpy as np
import pytest

from ensemblage.datasets import Dataset, load_dataset
from ensemblage.studies import audit


@pytest.fixture(scope="module")
def sites():
    rng = np.random.default_rng(0)
    X = np.empty((180, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.normal(size=180), rng.choice(["cook", "smith", None], 180)
    y = np.where(X[:, 0].astype(float) + rng.logistic(size=180) > 0, "ill", "well")
    sources = np.repeat(["north", "south", "west"], 60)
    return Dataset("sites", X, y, ("age", "job"), ("numeric", "categorical"), sources=sources)


def test_categorical_columns_names_and_progress(sites):
    calls = []
    found = audit(sites, "logistic", n_splits=3, progress=lambda *place: calls.append(place))
    assert [each.name for each in found.audit.sources] == ["north", "south", "west"]
    assert {each.column for each in found.audit.column_shifts} == {"age", "job"}
    assert found.sentences[0].startswith("Expected error at a new source: 0.")
    assert found.data.sources == {"north": 60, "south": 60, "west": 60}
    assert calls[0] == (0, 9)
    assert calls[-1] == (9, 9)


def test_a_dataset_without_sources_is_refused():
    with pytest.raises(ValueError, match="needs the source of each row"):
        audit(load_dataset("iris"))


def test_a_method_without_probabilities_is_refused(sites):
    with pytest.raises(ValueError, match="'svm' gives no probabilities"):
        audit(sites, "svm")
