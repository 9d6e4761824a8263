"""What every fitted estimator must have in order, scikit-learn's own among them.

scikit-learn does not look at fitted attributes again when it predicts, and some of its compiled
code follows them blindly.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _is_fitted

from ensemblage.messages import expect, expect_array, expect_fitted

MOST_FEATURES = 2**31
MOST_WORKERS = 1024
# Attributes of scikit-learn's estimators with one entry per feature on their last axis.
PER_FEATURE = ("coef_", "theta_", "mean_", "scale_", "var_", "cluster_centers_", "_fit_X")
FINITE = ("intercept_", "class_prior_", "class_count_")
FITTED_PARTS = ("estimator_", "final_estimator_", "ensemble_", "stratifier_", "encoder_")
LISTED_PARTS = ("estimators_", "anchors_")
MACHINES = frozenset({"SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"})


def check_common(part: Any) -> None:
    """Refuse counts, names, classes and parts of a fitted estimator that no fit sets."""
    own = vars(part)
    if "n_features_in_" in own:
        expect_fitted(part, {"n_features_in_": f"count 1..{MOST_FEATURES}"})
    if "feature_names_in_" in own:
        _check_names(own["feature_names_in_"], own.get("n_features_in_"))
    if "classes_" in own and (_ours(part) or isinstance(own["classes_"], np.ndarray)):
        expect_fitted(part, {"classes_": "labels (*)"})
    if "n_classes_" in own and isinstance(own.get("classes_"), np.ndarray):
        same = own["n_classes_"] == len(own["classes_"])
        expect(isinstance(own["n_classes_"], Integral) and same, "n_classes_ is another number")
    workers = own.get("n_jobs")
    few = isinstance(workers, Integral) and abs(int(workers)) <= MOST_WORKERS
    expect(workers is None or few, "n_jobs is no number of workers")
    if _ours(part):
        _check_own_parts(own)
        if hasattr(part, "_parameter_constraints"):
            part._validate_params()  # noqa: SLF001


def check_foreign(part: Any) -> None:
    """Refuse what no fit of scikit-learn's makes, where its later calls would not notice."""
    own = vars(part)
    for name in PER_FEATURE:
        if own.get(name) is not None:
            _check_per_feature(own[name], name, own.get("n_features_in_"))
    for name in FINITE:
        if name in own:
            _check_floats(np.asarray(own[name]), name)
    kind = type(part).__name__
    if kind in MACHINES:
        _check_machine(part)
    elif "estimators_features_" in own:
        _check_bags(part)
    elif kind in OTHERS:
        OTHERS[kind](part)


def _check_own_parts(own: dict[str, Any]) -> None:
    for name in FITTED_PARTS:
        expect(name not in own or _is_whole(own[name]), f"{name} is not fitted")
    for name in LISTED_PARTS:
        listed = own.get(name, [])
        expect(isinstance(listed, list), f"{name} is no list")
        expect(all(map(_is_whole, listed)), f"a member of {name} is not fitted")
    if "fusion_" in own:
        fuses = hasattr(own["fusion_"], "combine")
        expect(fuses and _is_whole(own["fusion_"]), "fusion_ is not fitted")


def _ours(part: Any) -> bool:
    return type(part).__module__.startswith("ensemblage.")


def _is_whole(part: Any) -> bool:
    """Tell a fitted estimator, or one that does not learn."""
    estimator = isinstance(part, BaseEstimator)
    return estimator and (not getattr(part, "learns", True) or bool(_is_fitted(part)))


def _check_names(names: Any, width: Any) -> None:
    sound = isinstance(names, np.ndarray) and names.shape == (width,)
    sound = sound and all(isinstance(each, str) for each in names.tolist())
    expect(sound, "feature_names_in_ does not name each column")


def _check_per_feature(array: Any, name: str, width: Any) -> None:
    if not issparse(array):
        _check_floats(array, name)
        expect(width is None or array.shape[-1:] == (width,), f"{name} has another shape")


def _check_floats(array: Any, name: str) -> None:
    sound = isinstance(array, np.ndarray) and array.dtype.kind in "fiu"
    expect(sound and bool(np.isfinite(array).all()), f"{name} holds no finite numbers")


def _check_bags(part: Any) -> None:
    """Refuse members of a bagging that look at columns which there are not."""
    members, features = part.estimators_, part.estimators_features_
    expect(isinstance(members, list) and isinstance(features, list), "its members are no list")
    expect(len(members) == len(features) > 0, "its members are not as many as their features")
    expect(all(map(_is_whole, members)), "a member is not fitted")
    for each in features:
        inside = each.dtype.kind in "iu" and each.ndim == 1
        expect(inside and bool(((each >= 0) & (each < part.n_features_in_)).all()),
               "a member looks at no column")  # fmt: skip


def _check_logistic(part: Any) -> None:
    rows = 1 if len(part.classes_) == 2 else len(part.classes_)
    expect(isinstance(part.classes_, np.ndarray) and len(part.classes_) > 1, "there is one class")
    expect_array(part, "coef_", [rows, None])
    expect_array(part, "intercept_", [rows])


def _check_ridge(part: Any) -> None:
    expect(isinstance(part.coef_, np.ndarray) and part.coef_.ndim < 3, "coef_ is no array")


def _check_dummy(part: Any) -> None:
    """Refuse shares that are not of the classes, where one target is predicted."""
    expect_fitted(part, {"n_outputs_": "count 1.."})
    if part.n_outputs_ == 1:
        expect(isinstance(part.classes_, np.ndarray), "classes_ is no array")
        expect_array(part, "class_prior_", [len(part.classes_)], low=0, high=1 + 1e-9)
    expect(part._strategy in STRATEGIES, "_strategy is none")  # noqa: SLF001


def _check_neighbours(part: Any) -> None:
    expect(part._fit_method in {"brute", "kd_tree", "ball_tree"}, "_fit_method is none")  # noqa: SLF001
    expect(isinstance(part.effective_metric_, str), "effective_metric_ is no word")
    if not issparse(part._fit_X):  # noqa: SLF001
        expect_array(part, "_fit_X", [part.n_samples_fit_, None])


STRATEGIES = ("most_frequent", "prior", "stratified", "uniform", "constant")
OTHERS: dict[str, Callable[[Any], None]] = {
    "DummyClassifier": _check_dummy,
    "LogisticRegression": _check_logistic,
    "NearestNeighbors": _check_neighbours,
    "Ridge": _check_ridge,
    "RidgeCV": _check_ridge,
}


def _check_machine(part: Any) -> None:
    """Refuse support vectors that libsvm would read beyond their end."""
    n_vectors = len(part.support_)
    classes = len(part.classes_) if hasattr(part, "classes_") else 2
    pairs = classes * (classes - 1) // 2
    rows = part.shape_fit_[0]
    expect_array(part, "support_", [n_vectors], "integer", low=0, high=rows - 1)
    numbers = {"_gamma": "number 0..", "epsilon": "number 0..", "nu": "number 0..1"}
    expect_fitted(part, {**numbers, "fit_status_": "count 0..1"})
    counts = "_n_support" if "_n_support" in vars(part) else "n_support_"
    expect_array(part, counts, [None], "integer", low=0)
    if hasattr(part, "classes_"):
        same = vars(part)[counts].sum() == n_vectors and len(vars(part)[counts]) == classes
        expect(bool(same), "support vectors are not as many as counted")
        expect_array(part, "class_weight_", [classes], low=0)
    if not getattr(part, "_sparse", False):
        expect_array(part, "support_vectors_", [n_vectors, part.n_features_in_])
        for name in ("dual_coef_", "_dual_coef_"):
            expect_array(part, name, [classes - 1, n_vectors])
    for name in ("intercept_", "_intercept_"):
        expect_array(part, name, [pairs])
    for name in ("_probA", "_probB"):
        if name in vars(part):
            expect_array(part, name, [None])
            expect(len(vars(part)[name]) in {0, pairs}, f"{name} has another length")
