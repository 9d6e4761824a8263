import pytest
from sklearn.datasets import load_iris

from bayes.networks import table
from ensemblage.bayes import BayesNetClassifier, BayesNetwork


@pytest.fixture(scope="package")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return BayesNetClassifier().fit(X, y)


@pytest.fixture
def sprinkler():
    return BayesNetwork(
        {
            "rain": ["no", "yes"],
            "sprinkler": ["off", "on"],
            "wet": ["no", "yes"],
            "moss": ["0", "1"],
        },
        {
            "rain": table([], [[]], [[0.8, 0.2]]),
            "sprinkler": table(["rain"], [[0], [1]], [[0.6, 0.4], [0.99, 0.01]]),
            "wet": table(
                ["sprinkler", "rain"], [[0, 0], [1, 0], [1, 1]], [[1, 0], [0.1, 0.9], [0, 1]]
            ),
            "moss": table([], [[]], [[0.5, 0.5]]),
        },
    )
