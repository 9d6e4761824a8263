import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayes.mixed import mixed_rows
from ensemblage.bayes import BayesNetClassifier, MDLPDiscretizer


@parametrize_with_checks(
    [
        BayesNetClassifier(),
        BayesNetClassifier(init="empty", criterion="accuracy", max_parents=None, calibration=None),
        BayesNetClassifier(criterion="bic", missing="marginal", calibration=None),
        BayesNetClassifier(search="tan", calibration=None),
        BayesNetClassifier(search="tabu", criterion="bdeu", calibration=None),
        MDLPDiscretizer(),
    ],
    expected_failed_checks=lambda estimator: (
        {"check_sample_weight_equivalence_on_dense_data": "folds are dealt among rows at random"}
        if getattr(estimator, "calibration", None)
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_one_class_and_one_row_predict_the_prior():
    one = BayesNetClassifier().fit([[1.0], [2.0]], ["a", "a"])
    np.testing.assert_array_equal(one.predict_proba([[5.0]]), [[1.0]])
    row = BayesNetClassifier().fit([[1.0]], ["a"])
    assert row.parents_ == {"class": [], "x0": []}
    assert row.predict([[3.0]]).tolist() == ["a"]


@pytest.mark.parametrize("order", [["b"], [0, 0], ["b", "c"], [1, 2], ["class", "a", "b"]])
def test_an_invalid_order_is_named(order):
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="order must name each of the 2 features exactly once"):
        BayesNetClassifier(order=order).fit(X, [0, 1])


@pytest.mark.parametrize("order", [["b", "a"], [1, 0]])
def test_parents_come_before_their_children(order):
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    X = pd.DataFrame({"a": first, "b": second}).map("v{}".format)
    network = BayesNetClassifier(order=order).fit(X, first ^ second)
    assert network.order_ == ["class", "b", "a"]
    assert network.parents_ == {"class": [], "a": ["class", "b"], "b": ["class"]}


def test_contributions_add_up_to_the_decision():
    X, y = load_wine(return_X_y=True)
    network = BayesNetClassifier().fit(X, y)
    parts = network.explain(X)
    assert parts.shape == (178, 14, 3)
    total = np.exp(parts.sum(axis=1))
    np.testing.assert_allclose(
        total / total.sum(axis=1, keepdims=True), network.predict_proba(X), atol=1e-12
    )
    two = network.fit(X, y == 0)
    chances = two.predict_log_proba(X)
    np.testing.assert_allclose(two.explain(X).sum(axis=1), chances[:, 1] - chances[:, 0])


@pytest.mark.usefixtures("callbacks")
def test_progress_is_reported_once_per_node():
    class Counter:
        def __init__(self):
            self.count = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.count += 1
            return False

    X, y = load_iris(return_X_y=True)
    counter = Counter()
    BayesNetClassifier().set_callbacks(counter).fit(X, y)
    assert counter.count == 5  # four nodes and the fit itself


def test_the_classifier_samples_rows_like_its_training_rows(iris):
    X, y = iris.sample(2000, random_state=0)
    assert X.shape == (2000, 4)
    assert set(np.unique(y)) == {0, 1, 2}
    assert X[0, 3] in iris.categories_["petal width (cm)"]
    assert iris.markov_blanket() == list(iris.feature_names_in_)
    narrow = X[y == 0, 3] == "(-inf, 0.8]"
    assert narrow.mean() > 0.95


def test_the_network_gives_the_classifiers_probabilities(iris):
    X, _ = load_iris(return_X_y=True, as_frame=True)
    codes = iris._codes(X)
    network = iris.graph()
    joint = np.ones((150, 3))
    for label in range(3):
        codes[0] = label
        values = dict(zip(network.nodes, codes, strict=True))
        for name in network.nodes:
            joint[:, label] *= network.table(name)[
                tuple(values[p] for p in (*network.parents[name], name))
            ]
    assert iris.temperature_ != 1
    cooled = joint ** (1 / iris.temperature_)
    expected = cooled / cooled.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(iris.predict_proba(X), expected, atol=1e-12)


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


def test_bagging_works_with_categories_and_missing_values():
    columns, y = mixed_rows()
    X = pd.DataFrame(columns).drop(columns="flag")
    X["colour"] = X["colour"].astype("category")
    bag = BaggingClassifier(BayesNetClassifier(), n_estimators=5, random_state=0).fit(X, y)
    assert bag.score(X, y) > 0.8


@pytest.mark.parametrize("criterion", ["log", "k2", "bdeu", "bic"])
def test_other_criteria_find_a_working_network(criterion):
    X, y = load_wine(return_X_y=True)
    assert BayesNetClassifier(criterion=criterion).fit(X, y).score(X, y) > 0.95
