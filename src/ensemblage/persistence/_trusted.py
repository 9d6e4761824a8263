"""Types that a model file may contain, and checks of their fitted state."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import isabstract
from itertools import takewhile
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from ensemblage._core import DamagedStateError, expect, expect_array, expect_fitted, is_fitted

# Largest number of features of an estimator.
MAX_FEATURES = 2**31
# Largest absolute value of n_jobs.
MAX_WORKERS = 1024
# Attributes of scikit-learn's estimators with one entry per feature on their last axis.
PER_FEATURE = ("coef_", "theta_", "mean_", "scale_", "var_", "cluster_centers_", "_fit_X")
# Attributes that must be finite.
FINITE = ("intercept_", "class_prior_", "class_count_")
# Attributes of our estimators that are a fitted estimator, ...
FITTED_PARTS = ("estimator_", "final_estimator_", "ensemble_", "stratifier_", "encoder_")
# ... or a list of them.
LISTED_PARTS = ("estimators_", "anchors_")
# Estimators of libsvm.
SVM_NAMES = frozenset({"SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"})


def check_common(part: Any) -> None:
    """Refuse counts, names, classes and nested estimators that no fit produces."""
    own = vars(part)
    if "n_features_in_" in own:
        expect_fitted(part, {"n_features_in_": f"count 1..{MAX_FEATURES}"})
    if "feature_names_in_" in own:
        _check_names(own["feature_names_in_"], own.get("n_features_in_"))
    if "classes_" in own and (_ours(part) or isinstance(own["classes_"], np.ndarray)):
        expect_fitted(part, {"classes_": "labels (*)"})
    if "n_classes_" in own and isinstance(own.get("classes_"), np.ndarray):
        same = own["n_classes_"] == len(own["classes_"])
        expect(isinstance(own["n_classes_"], Integral) and same, "n_classes_ is wrong")
    workers = own.get("n_jobs")
    few = isinstance(workers, Integral) and abs(int(workers)) <= MAX_WORKERS
    expect(workers is None or few, "n_jobs is invalid")
    if _ours(part):
        _check_own_parts(own)
        if hasattr(part, "_parameter_constraints"):
            part._validate_params()  # noqa: SLF001


def check_sklearn(part: Any) -> None:
    """Refuse states of scikit-learn's estimators that no fit produces and no later call checks."""
    own = vars(part)
    for name in PER_FEATURE:
        if own.get(name) is not None:
            _check_per_feature(own[name], name, own.get("n_features_in_"))
    for name in FINITE:
        if name in own:
            _check_floats(np.asarray(own[name]), name)
    kind = type(part).__name__
    if kind in SVM_NAMES:
        _check_svm(part)
    elif "estimators_features_" in own:
        _check_bagging(part)
    elif kind in CHECKS:
        CHECKS[kind](part)


def _check_own_parts(own: dict[str, Any]) -> None:
    for name in FITTED_PARTS:
        expect(name not in own or _is_fitted_part(own[name]), f"{name} is not fitted")
    for name in LISTED_PARTS:
        listed = own.get(name, [])
        expect(isinstance(listed, list), f"{name} is not a list")
        expect(all(map(_is_fitted_part, listed)), f"a member of {name} is not fitted")
    if "fusion_" in own:
        fuses = hasattr(own["fusion_"], "combine")
        expect(fuses and _is_fitted_part(own["fusion_"]), "fusion_ is not fitted")


def _ours(part: Any) -> bool:
    return type(part).__module__.startswith("ensemblage.")


def _has_params(part: Any) -> bool:
    """Whether a value is an estimator or a fusion."""
    return hasattr(part, "get_params") and not isinstance(part, type)


def _is_fitted_part(part: Any) -> bool:
    return _has_params(part) and bool(is_fitted(part))


def _check_names(names: Any, width: Any) -> None:
    valid = isinstance(names, np.ndarray) and names.shape == (width,)
    valid = valid and all(isinstance(each, str) for each in names.tolist())
    expect(valid, "feature_names_in_ does not match the columns")


def _check_per_feature(array: Any, name: str, width: Any) -> None:
    if not issparse(array):
        _check_floats(array, name)
        expect(width is None or array.shape[-1:] == (width,), f"{name} has the wrong shape")


def _check_floats(array: Any, name: str) -> None:
    valid = isinstance(array, np.ndarray) and array.dtype.kind in "fiu"
    expect(valid and bool(np.isfinite(array).all()), f"{name} is not finite")


def _check_bagging(part: Any) -> None:
    """Refuse bagging estimators with feature indices out of range."""
    members, features = part.estimators_, part.estimators_features_
    expect(isinstance(members, list) and isinstance(features, list), "its members are not a list")
    expect(len(members) == len(features) > 0, "estimators_features_ has the wrong length")
    expect(all(map(_is_fitted_part, members)), "a member is not fitted")
    for each in features:
        inside = each.dtype.kind in "iu" and each.ndim == 1
        expect(inside and bool(((each >= 0) & (each < part.n_features_in_)).all()),
               "a feature index is out of range")  # fmt: skip


def _check_logistic(part: Any) -> None:
    rows = 1 if len(part.classes_) == 2 else len(part.classes_)
    expect(
        isinstance(part.classes_, np.ndarray) and len(part.classes_) > 1, "fewer than two classes"
    )
    expect_array(part, "coef_", [rows, None])
    expect_array(part, "intercept_", [rows])


def _check_ridge(part: Any) -> None:
    expect(isinstance(part.coef_, np.ndarray) and part.coef_.ndim < 3, "coef_ is not an array")


def _check_dummy(part: Any) -> None:
    """Refuse class priors that do not match the classes, for a single output."""
    expect_fitted(part, {"n_outputs_": "count 1.."})
    if part.n_outputs_ == 1:
        expect(isinstance(part.classes_, np.ndarray), "classes_ is not an array")
        expect_array(part, "class_prior_", [len(part.classes_)], low=0, high=1 + 1e-9)
    expect(part._strategy in STRATEGIES, "_strategy is unknown")  # noqa: SLF001


def _check_neighbours(part: Any) -> None:
    expect(part._fit_method in {"brute", "kd_tree", "ball_tree"}, "_fit_method is unknown")  # noqa: SLF001
    expect(isinstance(part.effective_metric_, str), "effective_metric_ is not a string")
    if not issparse(part._fit_X):  # noqa: SLF001
        expect_array(part, "_fit_X", [part.n_samples_fit_, None])


STRATEGIES = ("most_frequent", "prior", "stratified", "uniform", "constant")
CHECKS: dict[str, Callable[[Any], None]] = {
    "DummyClassifier": _check_dummy,
    "LogisticRegression": _check_logistic,
    "NearestNeighbors": _check_neighbours,
    "Ridge": _check_ridge,
    "RidgeCV": _check_ridge,
}


def _check_svm(part: Any) -> None:
    """Refuse support vectors that libsvm would read out of bounds."""
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
        expect(bool(same), "the number of support vectors does not match n_support_")
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
            expect(len(vars(part)[name]) in {0, pairs}, f"{name} has the wrong length")


TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"

# Types that models of ours need beyond scikit-learn's public estimators, NumPy arrays and plain
# Python values; a test fits every method to check that the list is complete and minimal.
TRUSTED_TYPES = (
    "ensemblage.bayes.NetworkConstraints",
    "ensemblage.bayes.Coder",
    "ensemblage.bayes.MDLPDiscretizer",
    "ensemblage.bayes.BayesNetClassifier",
    "ensemblage.bayes.FittedNetwork",
    "ensemblage.bayes.NodeTable",
    "ensemblage.consensus.EvidenceAccumulation",
    "ensemblage.consensus.CSPA",
    "ensemblage.consensus.HBGF",
    "ensemblage.consensus.HGPA",
    "ensemblage.consensus.MCLA",
    "ensemblage.fusion.AffinityGate",
    "ensemblage.fusion.AnchoredGate",
    "ensemblage.fusion.Mean",
    "ensemblage.fusion.Vote",
    "ensemblage.fusion.LocalCompetence",
    "ensemblage.fusion.LogLinearPool",
    "ensemblage.fusion.MemberStackingClassifier",
    "ensemblage.fusion.Product",
    "ensemblage.fusion.SoftmaxGate",
    "ensemblage.fusion.Stacking",
    "ensemblage.inner.InnerBayesNetClassifier",
    "ensemblage.inner.FittedTree",
    "ensemblage.inner.InnerKMeans",
    "ensemblage.inner.InnerTreeClassifier",
    "ensemblage.inner.InnerTreeRegressor",
    "ensemblage.inner.ViewSampler",
    "ensemblage.pool.EnsemblageClassifier",
    "ensemblage.pool.EnsemblageRegressor",
    "ensemblage.pool.FittedPool",
    "ensemblage.pool.CatBoostClassifier",
    "ensemblage.pool.CatBoostRegressor",
    "ensemblage.pool.CompactForestClassifier",
    "ensemblage.pool.CompactForestRegressor",
    "ensemblage.pool.CompactSVC",
    "ensemblage.pool.CompactSVR",
    "ensemblage.pool.Leaderboard",
    "ensemblage.pool.LeaderboardRow",
    "ensemblage.pool.LightGBMClassifier",
    "ensemblage.pool.LightGBMRegressor",
    "ensemblage.pool.OutOfFold",
    "ensemblage.pool.GivenNormals",
    "ensemblage.pool.GivenProbabilities",
    "ensemblage.pool.SourceAwareClassifier",
    "ensemblage.pool.SourceAwareRegressor",
    "ensemblage.pool.ColumnPool",
    "ensemblage.pool.SourcePool",
    "ensemblage.strata.BootstrapStrata",
    "ensemblage.strata.HISS",
    "ensemblage.strata.KMeansStrata",
    "ensemblage.strata.MixtureStrata",
    "ensemblage.sources.AdaptedClassifier",
    "ensemblage.sources.AdaptedRegressor",
    "ensemblage.sources.PartialPoolingClassifier",
    "ensemblage.sources.PartialPoolingRegressor",
    "ensemblage.sources.RecalibratedClassifier",
    "ensemblage.strata.ScaledLogisticRegression",
    "ensemblage.strata.ScaledRidge",
    "ensemblage.sources.SourceScaler",
    "ensemblage.sources.SourceStrata",
    "ensemblage.strata.StrataEnsembleClassifier",
    "ensemblage.strata.StrataEnsembleRegressor",
    "ensemblage.subspace.FeatureBasis",
    "ensemblage.subspace.JointSubspaceClassifier",
    "ensemblage.subspace.JointSubspaceRegressor",
    "ensemblage.subspace.JointSubspaceSelector",
    "ensemblage.subspace.StabilitySelector",
    "ensemblage.datasets.TableEncoder",
    "numpy.dtype",
    PREDICTOR,
    TREE,
)
# Parts of gradient boosting that skops trusts by default.
BOOSTING_TYPES = frozenset(
    {f"sklearn._loss.link.{name}" for name in (
        "HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit",
    )}
    | {f"sklearn._loss.loss.{name}" for name in (
        "AbsoluteError", "ExponentialLoss", "HalfBinomialLoss", "HalfGammaLoss",
        "HalfMultinomialLoss", "HalfPoissonLoss", "HalfSquaredError", "HuberLoss", "PinballLoss",
    )}
    | {"sklearn.ensemble._hist_gradient_boosting.binning._BinMapper"}
)  # fmt: skip
# Modules of NumPy's ufuncs; the second before NumPy 2.2
UFUNC_MODULES = frozenset({"numpy", "numpy._core._multiarray_umath"})
# Modules of scikit-learn without public estimators.
PRIVATE_MODULES = frozenset({"conftest", "experimental", "externals", "tests"})


def is_trusted(name: str) -> bool:
    """Whether a model file may contain a type of that name; imports scikit-learn only."""
    return (
        name in TRUSTED_TYPES
        or name in BOOSTING_TYPES
        or _is_public_estimator(name)
        or _is_ufunc(name)
    )


def _is_public_estimator(name: str) -> bool:
    """Whether the name is that of a public, concrete estimator of scikit-learn."""
    module, _, attribute = name.rpartition(".")
    if attribute.startswith("_") or PRIVATE_MODULES & set(module.split(".")):
        return False
    public = list(takewhile(lambda part: not part.startswith("_"), module.split(".")))
    if public[:1] != ["sklearn"]:
        return False
    try:
        kind: Any = getattr(import_module(".".join(public)), attribute, None)
    except ImportError:
        return False
    fits = isinstance(kind, type) and issubclass(kind, BaseEstimator) and kind is not BaseEstimator
    return fits and f"{kind.__module__}.{kind.__name__}" == name and not isabstract(kind)


def _is_ufunc(name: str) -> bool:
    """Whether the name is that of a ufunc of NumPy or SciPy, which has no side effects."""
    module, _, attribute = name.rpartition(".")
    if module not in UFUNC_MODULES and not module.startswith(special.__name__):
        return False
    return isinstance(getattr(sys.modules.get(module), attribute, None), np.ufunc)


def check_parts(model: Any) -> None:
    """Refuse parts of a model that no fit produces: indices out of range, inconsistent arrays.

    scikit-learn does not check the node indices of a tree, and our compiled code does not check
    codes, so that a forged file could crash the process or read foreign memory. Therefore skops
    does not trust trees by default. Here they are trusted because they are checked, as is
    everything of ours with a method ``_check_fitted``.
    """
    for part, n_features in _walk(model, np.inf, set()):
        if _name(part) in {TREE, PREDICTOR}:
            check = _tree_is_valid if _name(part) == TREE else _predictor_is_valid
            if not check(part, n_features):
                raise ValueError("contains a decision tree with forged or damaged nodes")
        elif isinstance(part, np.ndarray) and not _is_plain(part.dtype):
            raise ValueError(f"contains a forged or damaged array of dtype {part.dtype}")
        elif _has_fitted_state(part):
            _check_state(part)


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is native and not raw bytes, as compiled code requires."""
    return dtype.isnative and dtype.kind in "biufMmOSU"


def _has_fitted_state(part: Any) -> bool:
    """Whether a part is fitted, rather than an unfitted estimator that is a parameter."""
    return _is_fitted_part(part) if _has_params(part) else hasattr(part, "_check_fitted")


def _check_state(part: Any) -> None:
    try:
        if _has_params(part):
            check_common(part)
        if hasattr(part, "_check_fitted"):
            part._check_fitted()  # noqa: SLF001
        elif _name(part).startswith("sklearn."):
            check_sklearn(part)
    except DamagedStateError as error:
        raise ValueError(f"contains a forged or damaged {type(part).__name__} ({error})") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # missing attributes and wrong types raise other errors
        raise ValueError(
            f"contains a forged or damaged {type(part).__name__}, or one of another version"
        ) from error


def _walk(value: Any, n_features: float, seen: set[int]) -> Iterator[tuple[Any, float]]:
    """Yield each nested object, with the smallest number of features of its parents."""
    if id(value) in seen or isinstance(value, str | bytes | int | float | None):
        return
    seen.add(id(value))
    yield value, n_features
    if _name(value) not in {TREE, PREDICTOR}:
        for part in _parts(value):
            yield from _walk(part, min(n_features, _features(value)) + _added(value), seen)


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _features(value: Any) -> float:
    """Count the features of an estimator's parts, after encoding if it has an encoder."""
    own = getattr(value, "__dict__", {})
    try:
        if "encoder_" not in own:
            return float(own.get("n_features_in_", np.inf))
        return float(len(own["encoder_"].get_feature_names_out()))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"contains a forged or damaged {type(value).__name__}") from error


def _added(value: Any) -> int:
    """Count the columns that an estimator of ours appends to its input."""
    return int(value._columns_added) if hasattr(type(value), "_columns_added") else 0  # noqa: SLF001


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple | set):
        return list(value)
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else []
    return list(getattr(value, "__dict__", {}).values())


def _tree_is_valid(tree: Any, n_features: float) -> bool:
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    below = np.arange(tree.node_count)[inner]
    return bool(
        (inner == (right != -1)).all()
        and _in_order(left[inner], below, tree.node_count)
        and _in_order(right[inner], below, tree.node_count)
        and _inside(tree.feature[inner], min(n_features, tree.n_features))
    )


def _predictor_is_valid(predictor: Any, n_features: float) -> bool:
    nodes = predictor.nodes
    inner = nodes[nodes["is_leaf"] == 0]
    below = np.flatnonzero(nodes["is_leaf"] == 0)
    bitsets = len(predictor.raw_left_cat_bitsets)
    return bool(
        _in_order(inner["left"], below, len(nodes))
        and _in_order(inner["right"], below, len(nodes))
        and _inside(inner["feature_idx"], n_features)
        and _inside(inner["bitset_idx"][inner["is_categorical"] != 0], bitsets)
    )


def _in_order(children: NDArray[Any], parents: NDArray[Any], count: int) -> bool:
    # scikit-learn stores children after their parent, so that there are no cycles
    return bool((children.astype(np.int64) > parents).all() and (children < count).all())


def _inside(indices: NDArray[Any], count: float) -> bool:
    values = indices.astype(np.int64)
    return bool((values >= 0).all() and (values < count).all())
