from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.subspace import JointSubspaceClassifier, JointSubspaceSelector


@parametrize_with_checks(
    [
        JointSubspaceClassifier(n_estimators=3, random_state=0),
        JointSubspaceSelector(n_estimators=3, random_state=0),
        JointSubspaceClassifier(n_estimators=3, solver="paper", random_state=0),
        JointSubspaceClassifier(n_estimators=2, refine="gate", random_state=0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
