import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from ensemblage.strata import HISS, BootstrapStrata, stratifier_checks
from ensemblage.subspace import (
    JointSubspaceClassifier,
    JointSubspaceRegressor,
    JointSubspaceSelector,
    StabilitySelector,
)

CHECKS = {check.__name__: check for check in stratifier_checks()}


class Broken(BootstrapStrata):
    """Fails one check at a time."""

    breaks = None

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X)
        if self.breaks == "range":
            self.memberships_ = self.memberships_ * 2
        if self.breaks == "labels" and y is not None:
            self.memberships_ = 1 - self.memberships_
        if self.breaks == "weights" and sample_weight is not None:
            self.memberships_ = 1 - self.memberships_
        if self.breaks == "seed":
            self.memberships_ = np.random.default_rng().random(self.memberships_.shape)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.breaks == "demand"
        return tags

    def log_affinity(self, X):
        affinity = super().log_affinity(X)
        return affinity[:, :1] if self.breaks == "shape" else affinity

    def get_feature_names_out(self, input_features=None):
        names = super().get_feature_names_out(input_features)
        return names[:1] if self.breaks == "names" else names


@pytest.mark.parametrize(
    ("breaks", "check", "message"),
    [
        ("range", "check_memberships", "keep memberships between 0 and 1"),
        ("shape", "check_new_rows", "transform new rows|give log_affinity"),
        ("labels", "check_labels", "with and without labels"),
        ("demand", "check_labels", "raise ValueError without the labels"),
        ("seed", "check_reproducibility", "same random_state"),
        ("weights", "check_sample_weight", "all weights are doubled"),
        ("names", "check_feature_names_out", "a unique name"),
    ],
)
def test_failed_checks_are_named(breaks, check, message):
    stratifier = Broken(n_strata=3)
    Broken.breaks = breaks
    try:
        with pytest.raises(AssertionError, match=message):
            CHECKS[check](stratifier)
    finally:
        Broken.breaks = None


def test_labels_may_count_where_tags_require_them():
    balanced = HISS(3, 0.5, class_balance=True)
    for check in CHECKS.values():
        check(balanced)


@parametrize_with_checks(
    [
        JointSubspaceRegressor(n_estimators=3, random_state=0),
        JointSubspaceRegressor(n_estimators=2, solver="paper", random_state=0),
        JointSubspaceRegressor(n_estimators=2, basis="spline", max_iter=60, random_state=0),
        StabilitySelector(LogisticRegression(), n_pairs=3, max_false=5.0, random_state=0),
        JointSubspaceClassifier(n_estimators=3, random_state=0),
        JointSubspaceSelector(n_estimators=2, patience=5, max_iter=10, random_state=0),
        JointSubspaceSelector(n_estimators=3, basis="linear", random_state=0),
        JointSubspaceSelector(n_estimators=3, loss="squared_error", basis="linear", random_state=0),
        JointSubspaceClassifier(n_estimators=3, solver="paper", random_state=0),
        JointSubspaceClassifier(n_estimators=2, basis="quadratic", max_iter=60, random_state=0),
        JointSubspaceClassifier(n_estimators=2, basis="spline", max_iter=60, random_state=0),
        JointSubspaceClassifier(n_estimators=2, refine="gate", random_state=0),
        JointSubspaceClassifier(n_estimators=2, loss="hinge", max_iter=20, random_state=0),
        JointSubspaceClassifier(n_estimators=2, loss="squared", max_iter=20, random_state=0),
        JointSubspaceClassifier(n_estimators=2, loss="focal", max_iter=20, random_state=0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
