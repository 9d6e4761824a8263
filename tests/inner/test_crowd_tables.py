import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from ensemblage.bayes import BayesNetClassifier, BayesNetwork
from ensemblage.bayes._coding import Target, Training, code_sample
from ensemblage.bayes._search_space import Structure
from ensemblage.inner import InnerBayesNetClassifier, _crowd_tables
from ensemblage.inner._crowd_tables import (
    common_coders,
    common_columns,
    common_cuts,
    draw_bag,
)
from ensemblage.parallel import draw_seeds
from ensemblage.tables import Column


@pytest.mark.slow
def test_crowd_tables_beat_the_plain_network(shared):
    from sklearn.model_selection import StratifiedKFold

    from bayes.uci import load

    gains = []
    for name in ("ecoli", "glass", "heart-c", "iris", "labor", "liver", "lymph"):
        X, y = load(shared, name)
        codes = y.cat.codes.to_numpy()
        rare = np.bincount(codes)[codes] >= 5
        X, y, codes = X[rare], y[rare], codes[rare]
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, codes):
            scores = [
                np.mean(m.fit(X.iloc[train], y.iloc[train]).predict(X.iloc[test]) == y.iloc[test])
                for m in (BayesNetClassifier(), InnerBayesNetClassifier(random_state=0))
            ]
            gains.append(scores[1] - scores[0])
    assert np.mean(gains) > 0.01


def test_crowd_tables_are_one_proper_network():
    X, y = load_iris(return_X_y=True, as_frame=True)
    network = InnerBayesNetClassifier(n_views=10, random_state=0).fit(X, y)
    for table in network.tables_.values():
        np.testing.assert_allclose(table.probabilities.sum(axis=1), 1.0)
    assert BayesNetwork.from_xmlbif(network.to_xmlbif()) == network.graph()
    plain = BayesNetClassifier().fit(X, y)
    assert len(network.cut_points_["sepal length (cm)"]) > len(
        plain.cut_points_["sepal length (cm)"]
    )


def test_crowd_tables_of_categories_are_the_geometric_mean():
    """Without numbers all bags share one grid: the pool is the normalised mean of logs."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.choice(["a", "b", "c"], 40)})
    y = rng.integers(0, 2, 40)
    network = InnerBayesNetClassifier(n_views=3, random_state=0, max_parents=1).fit(X, y)
    logs = []
    for seed in draw_seeds(0, 6)[3:]:
        rows = np.random.default_rng(seed).integers(40, size=40)
        counts = np.array(
            [[np.sum((y[rows] == k) & (X["x"][rows] == v)) for v in "abc"] for k in (0, 1)]
        )
        logs.append(np.log((counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 1.5)))
    pooled = np.exp(np.mean(logs, axis=0))
    np.testing.assert_allclose(
        network.tables_["x"].probabilities, pooled / pooled.sum(axis=1, keepdims=True)
    )


def test_bins_are_merged_when_a_table_would_grow_too_large(monkeypatch):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(_crowd_tables, "GRID_ENTRIES", 70)
    network = InnerBayesNetClassifier(n_views=5, random_state=0).fit(X, y)
    sizes = [table.probabilities.size for table in network.tables_.values()]
    assert max(sizes) <= 70 * 3
    assert network.score(X, y) > 0.95


def test_bags_are_cut_alone_and_put_on_one_grid():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200).astype(np.int32)
    numbers = rng.normal(size=200) + 3 * labels
    columns = [Column("x", numbers), Column("w", values=rng.choice(["a", "b"], 200).tolist())]
    training = Training(columns, Target("class", labels, np.array([0, 1])), np.ones(200))
    bags = [draw_bag(training, "mdlp", 10**6, seed) for seed in range(3)]
    assert [bag.weights.sum() for bag in bags] == [200, 200, 200]
    structure = Structure.start(2, "naive")
    plain = code_sample(training, "mdlp", 10**6)
    cuts = common_cuts(bags, structure, 10**6)
    assert list(cuts) == [1]
    np.testing.assert_array_equal(cuts[1], np.unique([bag.coders[0].cuts for bag in bags]))
    coders = common_coders(training, plain, cuts)
    common = common_columns(bags, training, coders)
    assert common[2].coder is plain.coders[1]
    bins = np.searchsorted(cuts[1], numbers)
    expected = np.bincount(bins, minlength=len(cuts[1]) + 1) + 0.5 / (len(cuts[1]) + 1)
    np.testing.assert_array_equal(common[1].masses, expected)
    narrow = common_cuts(bags, structure, 2 * 2)
    assert len(narrow[1]) == 1
    assert common[1].shares == [None] * 3
    merged = common_columns(bags, training, common_coders(training, plain, narrow))[1]
    (cut,), bins = narrow[1], np.searchsorted(bags[0].coders[0].cuts, numbers)
    middles = [
        np.sort(side)[len(side) // 2] for side in (numbers[numbers <= cut], numbers[numbers > cut])
    ]
    assert merged.bag_codes[0].tolist() == np.searchsorted(bags[0].coders[0].cuts, middles).tolist()
    for v, shares in enumerate(merged.shares[0] if merged.shares[0] is not None else []):
        above = np.mean(numbers[bins == v] > cut)
        np.testing.assert_allclose(shares, [1 - above, above], atol=0.05)


def test_merged_bins_hold_all_their_rows(monkeypatch):
    """A merged bin was once taken for the last of a bag's bins inside it: half were wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = np.column_stack([y + rng.normal(size=600), rng.normal(size=600)])
    whole = InnerBayesNetClassifier(n_views=5, random_state=0).fit(X, y)
    monkeypatch.setattr(_crowd_tables, "GRID_ENTRIES", 2)
    merged = InnerBayesNetClassifier(n_views=5, random_state=0).fit(X, y)
    assert len(whole.cut_points_["x0"]) > len(merged.cut_points_["x0"]) == 1
    shares = [np.mean(X[y == k, 0] <= merged.cut_points_["x0"][0]) for k in (0, 1)]
    np.testing.assert_allclose(merged.tables_["x0"].probabilities[:, 0], shares, atol=0.02)
