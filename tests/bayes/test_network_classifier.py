import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score

from bayes.mixed import mixed_rows
from ensemblage.bayes import BayesNetClassifier


def test_the_criterion_is_an_ordinary_parameter():
    X, y = load_iris(return_X_y=True)
    network = BayesNetClassifier(criterion="accuracy").fit(X, y)
    assert network.get_params()["criterion"] == "accuracy"
    assert network.score(X, y) > 0.9
    assert clone(network).get_params()["criterion"] == "accuracy"
    assert "criterion='accuracy'" in repr(network)
    assert cross_val_score(BayesNetClassifier(), X, y, cv=3).mean() > 0.85
    search = GridSearchCV(BayesNetClassifier(), {"criterion": ["accuracy", "log"]}, cv=3).fit(X, y)
    assert search.best_params_["criterion"] in {"accuracy", "log"}
    with pytest.raises(ValueError, match="'criterion' parameter"):
        BayesNetClassifier(criterion="luck").fit(X, y)


def test_bagging_works_with_words_and_gaps():
    columns, y = mixed_rows()
    X = pd.DataFrame(columns).drop(columns="flag")
    X["colour"] = X["colour"].astype("category")
    bag = BaggingClassifier(BayesNetClassifier(), n_estimators=5, random_state=0).fit(X, y)
    assert bag.score(X, y) > 0.8


@pytest.mark.parametrize("criterion", ["log", "k2", "bdeu", "bic"])
def test_other_criteria_find_a_working_network(criterion):
    X, y = load_wine(return_X_y=True)
    assert BayesNetClassifier(criterion=criterion).fit(X, y).score(X, y) > 0.95
