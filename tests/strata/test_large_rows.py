"""Ensembles on strata of rows that are not in memory."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensemblage.blocks import MemoryBlocks, open_blocks
from ensemblage.datasets import make_multi_source
from ensemblage.persistence import load, save
from ensemblage.strata import (
    HISS,
    BootstrapStrata,
    MixtureStrata,
    StrataEnsembleClassifier,
    StrataEnsembleRegressor,
)
from ensemblage.strata._large_rows import (
    read_source,
    sample_classes,
    sample_rows,
    sample_strata,
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    X, y = make_multi_source(4, n_samples=3000, random_state=0)
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(path, X)
    return path, X, y


def small(**options):
    settings = {"max_member_rows": 300, "random_state": 0} | options
    return StrataEnsembleClassifier(HISS(4, 0.25, max_iter=20), **settings)


class Halves:
    """Rows above zero are in the first stratum, others in the second; at zero in neither."""

    def transform(self, X):
        return np.column_stack([X[:, 0] > 0, X[:, 0] < 0]).astype(float)


def drawn(X, most, weights=None, block_rows=64):
    return sample_strata(Halves(), MemoryBlocks(X, weights, block_rows=block_rows), most, seed=3)


def test_rows_are_drawn_from_their_strata_alone():
    X = np.repeat([1.0, -1.0, 0.0], [500, 90, 410])[:, None]
    first, second = drawn(X, most=100)
    assert len(first) == len(set(first.tolist())) == 100
    assert len(second) == 90  # all there are
    assert first.max() < 500 <= second.min()
    assert second.max() < 590


def test_a_row_of_more_weight_is_drawn_more_often():
    X = np.ones((2000, 1))
    X[:1000] = -1.0
    weights = np.where(np.arange(2000) % 2, 3.0, 1.0)
    first, second = drawn(X, most=200, weights=weights)
    for own in (first, second):
        assert 0.65 < (own % 2).mean() < 0.85  # three quarters of the weight


def test_a_model_is_the_same_whether_rows_are_in_one_file_or_behind_blocks(stored):
    path, X, y = stored
    a, b = small().fit(path, y), small().fit(MemoryBlocks(X), y)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert max(a.member_sizes_) <= 300
    assert a.n_features_in_ == X.shape[1]
    assert type(a.stratifier_) is HISS
    assert a.score(X, y) > 0.9


def test_number_and_size_are_chosen_and_the_model_can_be_saved(stored, tmp_path):
    path, X, y = stored
    model = StrataEnsembleClassifier(max_member_rows=200, random_state=0).fit(str(path), y)
    assert {each["error"] for each in model.trials_}
    assert model.stratum_size_ in {0.05, 0.1, 0.2, 0.4}
    assert model.score(X, y) > 0.9
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").model
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_rare_class_is_not_lost(stored):
    path, _, y = stored
    labels = np.where(y == 1, "yes", "no").astype(object)
    labels[[7, 70, 700]] = "rare"
    with pytest.warns(UserWarning, match="'rare' has 3 rows"):
        model = small(max_member_rows=20).fit(path, labels)
    assert model.classes_.tolist() == ["no", "rare", "yes"]


def test_numeric_targets_and_names(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    X, y = make_multi_source(3, n_samples=2000, task="regression", random_state=0)
    names = [f"c{j}" for j in range(X.shape[1])]
    pandas.DataFrame(X, columns=names).to_parquet(tmp_path / "rows.parquet")
    strata = MixtureStrata(3, max_iter=20)
    model = StrataEnsembleRegressor(strata, max_member_rows=200, random_state=0)
    model.fit(tmp_path / "rows.parquet", np.rint(100 * y).astype(int))  # whole, but no classes
    assert model.feature_names_in_.tolist() == names
    assert model.score(pandas.DataFrame(X, columns=names), 100 * y) > 0.5


@pytest.mark.parametrize("name", ["sources", "groups"])
def test_sources_and_groups_need_rows_in_memory(stored, name):
    path, _, y = stored
    with pytest.raises(ValueError, match="require rows in memory"):
        small().fit(path, y, **{name: y})


@pytest.mark.parametrize(
    "stratifier", [BootstrapStrata(3), make_pipeline(StandardScaler(), HISS(3, 0.3))]
)
def test_other_stratifiers_need_rows_in_memory(stored, stratifier):
    path, _, y = stored
    with pytest.raises(TypeError, match="takes rows in memory only"):
        StrataEnsembleClassifier(stratifier).fit(path, y)


def test_as_many_classes_as_rows(stored):
    path, _, y = stored
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small().fit(path, y[:-1])
    with pytest.raises(ValueError, match="one class only"):
        small().fit(open_blocks(path), np.zeros(len(y)))


def test_rows_without_weight_are_drawn_for_nothing():
    X, y = np.arange(400.0)[:, None], np.repeat([0, 1], 200)
    weights = (np.arange(400) % 4 == 0).astype(float)
    source, _, classes = read_source(small(), MemoryBlocks(X), y, weights)
    for drawn in (
        sample_rows(source.weights, classes, seed=0),
        sample_classes(classes, np.random.default_rng(0)),
    ):
        assert len(drawn) == 100
        assert (drawn % 4 == 0).all()
