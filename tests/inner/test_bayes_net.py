from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayes.coded import space
from ensemblage.bayes import BayesNetClassifier
from ensemblage.bayes._coding import code_sample
from ensemblage.bayes._k2_search import k2_search, make_measure
from ensemblage.bayes._reading import read_training
from ensemblage.inner import InnerBayesNetClassifier, draw_views
from ensemblage.parallel import draw_seeds


@parametrize_with_checks(
    [InnerBayesNetClassifier(n_views=3), InnerBayesNetClassifier(n_views=3, tables="plain")],
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


def test_gaps_and_unseen_categories_at_prediction():
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


def test_a_fit_that_failed_leaves_nothing_to_the_next():
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


def test_the_share_of_the_crowd_that_chooses_an_arc():
    """Four views of all rows are of one mind; of halves each is searched alone."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :5]
    agreed = InnerBayesNetClassifier(4, 1.0, tables="plain", random_state=0).fit(X, y)
    shares = {name: dict.fromkeys(sorted(p), 1.0) for name, p in agreed.parents_.items()}
    found = {name: dict(sorted(p.items())) for name, p in agreed.arc_confidence_.items()}
    assert found == shares
    settings = {"tables": "plain", "criterion": "bic", "calibration": None}
    network = InnerBayesNetClassifier(3, 0.5, random_state=0, **settings).fit(X, y)
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
            1, 1.0, tables="plain", search=search, criterion=criterion
        ).fit(X, y)
        assert inner.parents_ == plain.parents_
        np.testing.assert_array_equal(inner.predict_proba(X), plain.predict_proba(X))
