from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.subspace import (
    JointSubspaceClassifier,
    JointSubspaceRegressor,
    JointSubspaceSelector,
    StabilitySelector,
)


@parametrize_with_checks(
    [
        JointSubspaceRegressor(n_estimators=3, random_state=0),
        JointSubspaceRegressor(n_estimators=2, solver="paper", random_state=0),
        JointSubspaceRegressor(n_estimators=2, basis="spline", max_iter=60, random_state=0),
        StabilitySelector(LogisticRegression(), n_pairs=3, max_false=5.0, random_state=0),
        JointSubspaceClassifier(n_estimators=3, random_state=0),
        JointSubspaceSelector(n_estimators=3, random_state=0),
        JointSubspaceSelector(n_estimators=3, loss="squared_error", random_state=0),
        JointSubspaceClassifier(n_estimators=3, solver="paper", random_state=0),
        JointSubspaceClassifier(n_estimators=2, basis="quadratic", max_iter=60, random_state=0),
        JointSubspaceClassifier(n_estimators=2, basis="spline", max_iter=60, random_state=0),
        JointSubspaceClassifier(n_estimators=2, refine="gate", random_state=0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
