from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.bayes import BayesNetClassifier, MDLPDiscretizer


@parametrize_with_checks(
    [
        BayesNetClassifier(),
        BayesNetClassifier(init="empty", criterion="accuracy", max_parents=None),
        BayesNetClassifier(criterion="bic", missing="marginal"),
        MDLPDiscretizer(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
