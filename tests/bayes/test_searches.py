import numpy as np
import pytest
from sklearn.datasets import load_iris

from ensemblage.bayes import BayesNetClassifier, NetworkConstraints
from ensemblage.bayes._reading import read_training
from ensemblage.bayes._searches import SEARCHES, criterion_of, plan_search


def test_parameters_become_a_space():
    X, y = load_iris(return_X_y=True, as_frame=True)
    first, second, third, fourth = X.columns
    rules = NetworkConstraints(required=[(fourth, first)], tiers=[[third], [second]])
    model = BayesNetClassifier(None, "empty", "bic", constraints=rules)
    space = plan_search(model, read_training(model, X, y, None))
    assert (space.order, space.init, space.max_parents) == ([3, 4, 1, 2], "empty", 5)
    assert space.local
    assert space.first().parents == ((), (4,), (), (), ())
    assert not plan_search(BayesNetClassifier(), read_training(model, X, y, None)).local


def test_a_tree_has_a_criterion_of_its_own():
    assert criterion_of(BayesNetClassifier(search="tan")) == "likelihood"
    assert criterion_of(BayesNetClassifier(search="tabu")) == "probability"


@pytest.mark.parametrize("search", sorted(SEARCHES))
def test_every_search_learns(search):
    X, y = load_iris(return_X_y=True)
    network = BayesNetClassifier(search=search).fit(X, y)
    assert network.score(X, y) > 0.93
    assert np.isfinite(network.predict_log_proba(X)).all()
    if search == "tan":
        assert sorted(len(parents) for parents in network.parents_.values()) == [0, 1, 2, 2, 2]


def test_an_unknown_search_is_refused():
    with pytest.raises(ValueError, match="'search' parameter"):
        BayesNetClassifier(search="luck").fit([[1.0], [2.0]], [0, 1])
