from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayes.coded import draw, space
from ensemblage._core import draw_seeds
from ensemblage.bayes import (
    BayesNetClassifier,
    BayesNetwork,
    Candidates,
    Structure,
    Training,
    code_sample,
    k2_search,
    make_measure,
    read_training,
)
from ensemblage.datasets import Column
from ensemblage.inner import InnerBayesNetClassifier, ViewSampler, _bayes_net, draw_views
from ensemblage.inner._bayes_net import common_column, common_cuts, draw_bag
from ensemblage.persistence import load, save
from reference import inner_boosting as slow


@pytest.mark.slow
def test_pooled_tables_are_more_accurate_than_the_plain_network(shared):
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


def test_pooled_tables_are_one_valid_network():
    X, y = load_iris(return_X_y=True, as_frame=True)
    network = InnerBayesNetClassifier(n_views=10, random_state=0).fit(X, y)
    for table in network.tables_.values():
        np.testing.assert_allclose(table.probabilities.sum(axis=1), 1.0)
    assert BayesNetwork.from_xmlbif(network.to_xmlbif()) == network.graph()
    plain = BayesNetClassifier().fit(X, y)
    assert len(network.cut_points_["sepal length (cm)"]) > len(
        plain.cut_points_["sepal length (cm)"]
    )


def test_pooled_tables_of_categories_are_the_geometric_mean():
    """Without numeric columns all bootstraps have the same categories."""
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
    monkeypatch.setattr(_bayes_net, "GRID_ENTRIES", 70)
    network = InnerBayesNetClassifier(n_views=5, random_state=0).fit(X, y)
    sizes = [table.probabilities.size for table in network.tables_.values()]
    assert max(sizes) <= 70 * 3
    assert network.score(X, y) > 0.95


def test_bootstraps_are_discretised_separately_and_put_on_one_grid():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200).astype(np.int32)
    values = rng.normal(size=200) + 3 * labels
    columns = [Column("x", values), Column("w", values=rng.choice(["a", "b"], 200).tolist())]
    training = Training(columns, "class", np.array([0, 1]), labels, np.ones(200))
    bags = [draw_bag(training, "mdlp", 10**6, seed) for seed in range(3)]
    assert [bag.weights.sum() for bag in bags] == [200, 200, 200]
    structure = Structure.start(2, "naive")
    plain = code_sample(training, "mdlp", 10**6)
    cuts = common_cuts(bags, structure, 10**6)
    assert list(cuts) == [1]
    np.testing.assert_array_equal(cuts[1], np.unique([bag.coders[0].cuts for bag in bags]))
    common = common_column(0, training, plain.coders[0], cuts[1], bags)
    categorical = common_column(1, training, plain.coders[1], None, bags)
    assert categorical.coder is plain.coders[1]
    bins = np.searchsorted(cuts[1], values)
    expected = np.bincount(bins, minlength=len(cuts[1]) + 1) + 0.5 / (len(cuts[1]) + 1)
    np.testing.assert_array_equal(common.weights, expected)
    narrow = common_cuts(bags, structure, 2 * 2)
    assert len(narrow[1]) == 1
    assert common.shares == [None] * 3
    merged = common_column(0, training, plain.coders[0], narrow[1], bags)
    (cut,), bins = narrow[1], np.searchsorted(bags[0].coders[0].cuts, values)
    middles = [
        np.sort(side)[len(side) // 2] for side in (values[values <= cut], values[values > cut])
    ]
    assert merged.bag_codes[0].tolist() == np.searchsorted(bags[0].coders[0].cuts, middles).tolist()
    for v, shares in enumerate(merged.shares[0] if merged.shares[0] is not None else []):
        above = np.mean(values[bins == v] > cut)
        np.testing.assert_allclose(shares, [1 - above, above], atol=0.05)


def test_merged_bins_hold_all_their_rows(monkeypatch):
    """A merged bin was once taken for the last of a bag's bins inside it: half were wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = np.column_stack([y + rng.normal(size=600), rng.normal(size=600)])
    whole = InnerBayesNetClassifier(n_views=5, random_state=0).fit(X, y)
    monkeypatch.setattr(_bayes_net, "GRID_ENTRIES", 2)
    merged = InnerBayesNetClassifier(n_views=5, random_state=0).fit(X, y)
    assert len(whole.cut_points_["x0"]) > len(merged.cut_points_["x0"]) == 1
    shares = [np.mean(X[y == k, 0] <= merged.cut_points_["x0"][0]) for k in (0, 1)]
    np.testing.assert_allclose(merged.tables_["x0"].probabilities[:, 0], shares, atol=0.02)


@parametrize_with_checks(
    [
        InnerBayesNetClassifier(n_views=3),
        InnerBayesNetClassifier(n_views=3, tables="plain"),
        InnerBayesNetClassifier(n_views=3, views="weighted"),
        InnerBayesNetClassifier(n_views=3, combine="boosting"),
        InnerBayesNetClassifier(sampler=ViewSampler(3, 0.5, random_state=0)),
    ],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "views are drawn among rows at random",
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("criterion", ["probability", "accuracy", "log", "bic"])
@pytest.mark.parametrize("init", ["naive", "empty"])
def test_a_single_identity_view_is_the_plain_network_bit_for_bit(criterion, init):
    X, y = load_wine(return_X_y=True)
    weights = np.random.default_rng(0).integers(1, 3, len(y))
    plain = BayesNetClassifier(criterion=criterion, init=init).fit(X, y, sample_weight=weights)
    inner = InnerBayesNetClassifier(
        n_views=1, view_size=1.0, tables="plain", criterion=criterion, init=init
    ).fit(X, y, sample_weight=weights)
    assert inner.parents_ == plain.parents_
    np.testing.assert_array_equal(inner.predict_proba(X), plain.predict_proba(X))


def test_the_same_seed_gives_the_same_bits_for_any_number_of_jobs():
    X, y = load_wine(return_X_y=True)
    first, second = (
        InnerBayesNetClassifier(n_views=4, random_state=3, n_jobs=n).fit(X, y) for n in (None, 2)
    )
    assert first.parents_ == second.parents_
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    other = InnerBayesNetClassifier(n_views=4, random_state=4).fit(X, y)
    assert not np.array_equal(other.predict_proba(X), first.predict_proba(X))


def test_missing_values_and_unseen_categories_at_prediction():
    X = pd.DataFrame(
        {"size": [1.0, 2.0, np.nan, 8.0, 9.0] * 20, "colour": ["r", "g", "r", None, "b"] * 20}
    )
    y = [0, 0, 0, 1, 1] * 20
    for missing in ("mode", "marginal"):
        network = InnerBayesNetClassifier(n_views=5, random_state=0, missing=missing).fit(X, y)
        odd = pd.DataFrame({"size": [np.nan, 8.5], "colour": ["zebra", None]})
        assert np.isfinite(network.predict_log_proba(odd)).all()
        assert network.predict(odd)[1] == 1


def test_one_class_predicts_the_prior():
    network = InnerBayesNetClassifier(n_views=2).fit([[1.0], [2.0]], ["a", "a"])
    assert network.predict([[3.0]]).tolist() == ["a"]


def test_more_than_all_rows_needs_replacement():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="asks for 225 of 150 items without replacement"):
        InnerBayesNetClassifier(view_size=1.5).fit(X, y)
    InnerBayesNetClassifier(2, view_size=1.5, replace=True).fit(X, y)


def test_a_failed_fit_does_not_affect_the_next():
    """Bootstraps of a fit that ended in the search must not be pooled by a later one."""
    X, y = load_iris(return_X_y=True)

    def out_of_luck(scores):
        raise RuntimeError("out of luck")

    network = InnerBayesNetClassifier(3, random_state=0, combine=out_of_luck)
    with pytest.raises(RuntimeError, match="out of luck"):
        network.fit(X, y)
    network.set_params(tables="plain", combine="mean").fit(X, y)
    fresh = InnerBayesNetClassifier(3, random_state=0, tables="plain").fit(X, y)
    np.testing.assert_array_equal(network.predict_proba(X), fresh.predict_proba(X))
    assert set(vars(network)) == set(vars(fresh))


def test_the_share_of_the_views_that_choose_an_arc():
    """Four views of all rows agree; of halves each is searched alone."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :5]
    agreed = InnerBayesNetClassifier(4, view_size=1.0, tables="plain", random_state=0).fit(X, y)
    shares = {name: dict.fromkeys(sorted(p), 1.0) for name, p in agreed.parents_.items()}
    found = {name: dict(sorted(p.items())) for name, p in agreed.arc_confidence_.items()}
    assert found == shares
    settings = {"tables": "plain", "criterion": "bic", "calibration": None}
    network = InnerBayesNetClassifier(3, view_size=0.5, random_state=0, **settings).fit(X, y)
    views = draw_views(len(y), draw_seeds(0, 6)[:3], 0.5)
    sample = code_sample(read_training(network, X, y, None), "mdlp", 10**6)
    alone = []
    for view in views:
        score = partial(make_measure("bic", sample.rows, 0.5), view=view)
        alone.append(k2_search(score, space(range(1, 6))))
    names = ["target", *X.columns]
    for node, name in enumerate(names):
        for parent, share in network.arc_confidence_[name].items():
            votes = [names.index(parent) in each.parents[node] for each in alone]
            assert share == pytest.approx(np.mean(votes))
        assert set(network.parents_[name]) <= set(network.arc_confidence_[name])
    without = network.set_params(arc_confidence=False).fit(X, y)
    assert not hasattr(without, "arc_confidence_")


@pytest.mark.parametrize("search", ["tan", "hill-climbing", "tabu"])
def test_a_single_identity_view_is_the_plain_network_with_any_search(search):
    X, y = load_iris(return_X_y=True)
    for criterion in ("probability", "bic"):
        plain = BayesNetClassifier(search=search, criterion=criterion).fit(X, y)
        inner = InnerBayesNetClassifier(
            1, view_size=1.0, tables="plain", search=search, criterion=criterion
        ).fit(X, y)
        assert inner.parents_ == plain.parents_
        np.testing.assert_array_equal(inner.predict_proba(X), plain.predict_proba(X))


def draw_categories(seed, n_rows=22, sizes=(2, 3, 2)):
    """Draw a table of categories, the class, and both as rows of codes for the reference."""
    rows = draw(seed, n_rows, (2, *sizes))
    codes = rows.nodes.codes
    X = pd.DataFrame(
        {
            f"x{j}": pd.Categorical.from_codes(codes[j + 1], [str(v) for v in range(size)])
            for j, size in enumerate(sizes)
        }
    )
    y = pd.Series(pd.Categorical.from_codes(codes[0], ["no", "yes"]), name="y")
    return X, y, codes.T.tolist(), [2, *sizes]


def decide_by(drawn, **settings):
    """Make a network that decides by these views alone."""
    return InnerBayesNetClassifier(
        sampler=lambda _: drawn, tables="plain", calibration=None, arc_confidence=False, **settings
    )


def found_structure(network):
    names = list(network.parents_)
    return [[names.index(parent) for parent in network.parents_[name]] for name in names]


REWEIGHTED = [{"combine": "boosting"}, {"views": "weighted"}]


@pytest.mark.parametrize("seed", range(4))
def test_boosted_structures_equal_the_loop(seed):
    X, y, rows, sizes = draw_categories(seed)
    views = draw_views(len(y), range(seed, seed + 3), 0.6)
    network = decide_by(views, combine="boosting").fit(X, y)
    expected = slow.k2(
        lambda trials: slow.boosted_decision(rows, views.tolist(), sizes, trials), len(sizes), 3
    )
    assert found_structure(network) == expected


@pytest.mark.parametrize("seed", range(4))
def test_structures_by_weighted_views_equal_the_loop(seed):
    X, y, rows, sizes = draw_categories(seed)
    views = draw_views(len(y), range(seed, seed + 3), 0.6)
    weights = np.random.default_rng(seed).choice([1.0, 2.0], len(y))
    network = decide_by(views, views="weighted").fit(X, y, sample_weight=weights)
    weighted = (views * weights).tolist()
    expected = slow.k2(
        lambda trials: slow.weighted_decision(rows, weighted, weights.tolist(), sizes, trials),
        len(sizes),
        3,
    )
    assert found_structure(network) == expected


def test_losses_and_scores_of_rows_with_an_importance_equal_the_loop():
    for seed in range(3):
        _, _, rows, sizes = draw_categories(seed)
        view = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 2.7], len(rows))
        coded = draw(seed, 22, tuple(sizes))
        measure = make_measure("probability", coded, 0.5, importance=True)
        candidates = Candidates(Structure(((), (0,), (0,), (0,))), 3, np.array([-1, 1, 2]))
        trials = [[[], [0], [0], [0, *extra]] for extra in ([], [1], [2])]
        expected = [slow.importance_score(rows, view.tolist(), sizes, each) for each in trials]
        np.testing.assert_allclose(measure(candidates, view), expected, atol=1e-13)
        for best, trial in enumerate(trials):
            losses = 1 - np.array(slow.true_probabilities(rows, view.tolist(), sizes, trial))
            np.testing.assert_allclose(
                measure.item_losses(candidates, best, view), losses, atol=1e-13
            )


def test_hand_computed_weighted_views():
    # class 0 0 1 1, feature 0 0 1 0: see test_search.py for the probabilities of the true class
    X = pd.DataFrame({"x": pd.Categorical(["a", "a", "b", "a"])})
    y = np.array([0, 0, 1, 1])
    network = InnerBayesNetClassifier(1, view_size=1.0, tables="plain", views="weighted")
    training = read_training(network, X, y, None)
    sample = code_sample(training, "mdlp", 10**6)
    score, _, _ = network._plan(training, sample)
    right = np.array([0.6, 0.6, 0.9 / 1.9, 0.0])
    own, other = 1.5 / 4 * 0.5 / 2, 2.5 / 4 * 2.5 / 3
    right[3] = own / (own + other)
    own, other = 1.5 / 4 * 1.5 / 2, 2.5 / 4 * 1.5 / 3
    right[:2] = own / (own + other)
    own, other = 1.5 / 4 * 0.5 / 2, 2.5 / 4 * 0.5 / 3
    right[2] = own / (own + other)
    weights = (1.5 - right) / (1.5 - right).mean()
    rows = [[0, 0], [0, 0], [1, 1], [1, 0]]
    expected = slow.importance_score(rows, weights.tolist(), [2, 2], [[], [0]])
    found = score(Candidates(Structure(((), (0,))), 1, np.array([-1])))
    np.testing.assert_allclose(found, [expected])


@pytest.mark.parametrize("settings", REWEIGHTED, ids=str)
def test_reweighted_networks_are_the_same_for_any_number_of_jobs(settings):
    X, y = load_iris(return_X_y=True)
    first, second = (
        InnerBayesNetClassifier(3, random_state=3, n_jobs=n, **settings).fit(X, y)
        for n in (None, 2)
    )
    assert first.parents_ == second.parents_
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_boosting_a_single_view_of_all_rows_is_the_plain_network_bit_for_bit():
    X, y = load_wine(return_X_y=True)
    plain = BayesNetClassifier().fit(X, y)
    one = InnerBayesNetClassifier(1, view_size=1.0, tables="plain", combine="boosting").fit(X, y)
    assert one.parents_ == plain.parents_
    np.testing.assert_array_equal(one.predict_proba(X), plain.predict_proba(X))


def test_a_sampler_of_the_same_views_is_the_default_bit_for_bit():
    X, y = load_wine(return_X_y=True)
    seeds = draw_seeds(0, 8)[:4]
    default = InnerBayesNetClassifier(4, random_state=0).fit(X, y)
    sampled = InnerBayesNetClassifier(random_state=0, sampler=lambda n: draw_views(n, seeds, 0.6))
    np.testing.assert_array_equal(sampled.fit(X, y).predict_proba(X), default.predict_proba(X))
    assert sampled.arc_confidence_ == default.arc_confidence_


def test_a_sampler_gets_the_rows_with_a_weight_and_may_weight_them():
    X, y = load_iris(return_X_y=True)
    asked = []

    def all_rows_by_weight(n_rows):
        asked.append(n_rows)
        return np.random.default_rng(0).random((2, n_rows))

    network = InnerBayesNetClassifier(sampler=all_rows_by_weight, random_state=0)
    network.fit(X, y, sample_weight=np.arange(150) % 3 > 0)
    assert asked == [100]
    assert network.score(X, y) > 0.9


@pytest.mark.parametrize("scale", [1e-320, 1e308])
@pytest.mark.parametrize("settings", [{}, *REWEIGHTED], ids=str)
def test_weights_of_any_size_give_finite_probabilities(scale, settings):
    X, y = load_iris(return_X_y=True)
    network = InnerBayesNetClassifier(
        sampler=lambda n: scale * draw_views(n, range(3), 0.6), random_state=0, **settings
    ).fit(X, y)
    assert np.isfinite(network.predict_log_proba(X)).all()
    assert network.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"combine": "boosting", "search": "tan"}, "search='k2' does, got search='tan'"),
        ({"combine": "boosting", "search": "tabu"}, "search='k2' does, got search='tabu'"),
        ({"combine": "boosting", "criterion": "bic"}, "leave-one-out.*criterion='bic'"),
        ({"views": "weighted", "search": "hill-climbing"}, "but search='hill-climbing' compares"),
        ({"views": "hard"}, "The 'views' parameter"),
        ({"combine": "vote"}, "The 'combine' parameter"),
        ({"sampler": 3}, "The 'sampler' parameter"),
        ({"sampler": ViewSampler(2, 1.5)}, "asks for 225 of 150 items without replacement"),
        ({"sampler": lambda n: np.ones((2, n - 1))}, r"shape \(n_views, 150\)"),
        ({"sampler": lambda n: np.full((2, n), -1.0)}, r"not negative, got -1\.0"),
        ({"sampler": lambda n: np.full((2, n), np.nan)}, "finite weights"),
        ({"sampler": lambda n: np.zeros((2, n))}, "view 0 of 2 has none"),
    ],
)
def test_invalid_views_and_combinations_are_named(settings, problem):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=problem):
        InnerBayesNetClassifier(2, **settings).fit(X, y)


@pytest.mark.parametrize(
    "settings",
    [
        {"views": "weighted", "search": "tan"},
        {"views": "weighted", "criterion": "bic"},
        {"views": "weighted", "criterion": "log", "combine": "median"},
        {"views": "weighted", "criterion": "accuracy", "combine": "boosting"},
    ],
    ids=str,
)
def test_weighted_views_with_other_searches_and_criteria(settings):
    X, y = load_wine(return_X_y=True)
    network = InnerBayesNetClassifier(4, random_state=0, **settings).fit(X, y)
    assert np.isfinite(network.predict_log_proba(X)).all()
    assert network.score(X, y) > 0.95


def test_a_network_with_a_view_sampler_is_saved(tmp_path):
    X, y = load_iris(return_X_y=True)
    sampler = ViewSampler(3, 0.5, random_state=0)
    network = InnerBayesNetClassifier(
        sampler=sampler, views="weighted", combine="boosting", random_state=0
    ).fit(X, y)
    save(network, tmp_path / "network.skops")
    loaded = load(tmp_path / "network.skops").model
    np.testing.assert_array_equal(loaded.predict_proba(X), network.predict_proba(X))
    np.testing.assert_array_equal(loaded.sampler(20), sampler(20))
    np.testing.assert_array_equal(clone(loaded).fit(X, y).predict_proba(X), loaded.predict_proba(X))
