"""Which types a model file may hold, and checks of what they hold."""

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

MAX_FEATURES = 2**31
MAX_WORKERS = 1024
# Attributes of scikit-learn's estimators with one entry per feature on their last axis.
PER_FEATURE = ("coef_", "theta_", "mean_", "scale_", "var_", "cluster_centers_", "_fit_X")
# Attributes that must be finite.
FINITE = ("intercept_", "class_prior_", "class_count_")
# Attributes of our estimators that hold a fitted part, or a list of them.
FITTED_PARTS = ("estimator_", "final_estimator_", "ensemble_", "stratifier_", "encoder_")
LISTED_PARTS = ("estimators_", "anchors_")
# Estimators of libsvm.
MACHINES = frozenset({"SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"})


def check_common(part: Any) -> None:
    """Refuse counts, names, classes and parts of a fitted estimator that no fit sets."""
    own = vars(part)
    if "n_features_in_" in own:
        expect_fitted(part, {"n_features_in_": f"count 1..{MAX_FEATURES}"})
    if "feature_names_in_" in own:
        _check_names(own["feature_names_in_"], own.get("n_features_in_"))
    if "classes_" in own and (_ours(part) or isinstance(own["classes_"], np.ndarray)):
        expect_fitted(part, {"classes_": "labels (*)"})
    if "n_classes_" in own and isinstance(own.get("classes_"), np.ndarray):
        same = own["n_classes_"] == len(own["classes_"])
        expect(isinstance(own["n_classes_"], Integral) and same, "n_classes_ is another number")
    workers = own.get("n_jobs")
    few = isinstance(workers, Integral) and abs(int(workers)) <= MAX_WORKERS
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
        expect(name not in own or _is_fitted_part(own[name]), f"{name} is not fitted")
    for name in LISTED_PARTS:
        listed = own.get(name, [])
        expect(isinstance(listed, list), f"{name} is no list")
        expect(all(map(_is_fitted_part, listed)), f"a member of {name} is not fitted")
    if "fusion_" in own:
        fuses = hasattr(own["fusion_"], "combine")
        expect(fuses and _is_fitted_part(own["fusion_"]), "fusion_ is not fitted")


def _ours(part: Any) -> bool:
    return type(part).__module__.startswith("ensemblage.")


def _has_params(part: Any) -> bool:
    """Tell estimators and fusions from other values."""
    return hasattr(part, "get_params") and not isinstance(part, type)


def _is_fitted_part(part: Any) -> bool:
    return _has_params(part) and bool(is_fitted(part))


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
    expect(all(map(_is_fitted_part, members)), "a member is not fitted")
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


TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"

# Beyond scikit-learn's public estimators, NumPy arrays and plain Python values, a model of ours
# needs exactly the following; a test fits every method to prove it.
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
    "ensemblage.pool.EnsemblageClassifier",
    "ensemblage.pool.EnsemblageRegressor",
    "ensemblage.pool.FittedPool",
    "ensemblage.pool.CompactForestClassifier",
    "ensemblage.pool.CompactForestRegressor",
    "ensemblage.pool.CompactSVC",
    "ensemblage.pool.CompactSVR",
    "ensemblage.pool.Leaderboard",
    "ensemblage.pool.LeaderboardRow",
    "ensemblage.pool.LightGBMClassifier",
    "ensemblage.pool.LightGBMRegressor",
    "ensemblage.pool.OutOfFold",
    "ensemblage.pool.SourceAwareClassifier",
    "ensemblage.pool.SourcePool",
    "ensemblage.strata.BootstrapStrata",
    "ensemblage.strata.HISS",
    "ensemblage.strata.MixtureStrata",
    "ensemblage.sources.PartialPoolingClassifier",
    "ensemblage.sources.PartialPoolingRegressor",
    "ensemblage.sources.RecalibratedClassifier",
    "ensemblage.strata.ScaledLogisticRegression",
    "ensemblage.strata.ScaledRidge",
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
# Parts of gradient boosting that skops trusts by itself, as scikit-learn's fits make them.
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
# NumPy's elementwise functions, as they name their home; the second before NumPy 2.2
UFUNC_HOMES = frozenset({"numpy", "numpy._core._multiarray_umath"})
NO_ESTIMATORS = frozenset({"conftest", "experimental", "externals", "tests"})


def is_trusted(name: str) -> bool:
    """Whether a model file may hold a type of that name; nothing but scikit-learn is imported."""
    return (
        name in TRUSTED_TYPES
        or name in BOOSTING_TYPES
        or _is_public_estimator(name)
        or _is_ufunc(name)
    )


def _is_public_estimator(name: str) -> bool:
    """Whether scikit-learn shows a class by that name to users, of those that can be fitted."""
    module, _, attribute = name.rpartition(".")
    if attribute.startswith("_") or NO_ESTIMATORS & set(module.split(".")):
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
    """Whether it is an elementwise function of NumPy's or SciPy's: these have no side effects."""
    module, _, attribute = name.rpartition(".")
    if module not in UFUNC_HOMES and not module.startswith(special.__name__):
        return False
    return isinstance(getattr(sys.modules.get(module), attribute, None), np.ufunc)


def check_parts(model: Any) -> None:
    """Refuse parts of a model that no fit makes: indices that point outside, arrays that differ.

    scikit-learn follows the node indices of a tree without looking at them, and compiled code of
    ours does so with codes, so that a forged file could crash the process or read foreign memory.
    This is why skops does not trust trees by itself; they are trusted here because they are
    looked at, and so is everything of ours that has a ``_check_fitted``.
    """
    for part, n_features in _walk(model, np.inf, set()):
        if _name(part) in {TREE, PREDICTOR}:
            check = _tree_is_sound if _name(part) == TREE else _predictor_is_sound
            if not check(part, n_features):
                raise ValueError("holds a decision tree with forged or damaged nodes")
        elif isinstance(part, np.ndarray) and not _is_plain(part.dtype):
            raise ValueError(f"holds a forged or damaged array, of dtype {part.dtype}")
        elif _is_whole(part):
            _check_state(part)


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Tell what fits make from raw bytes and other orders of bytes, which compiled code refuses."""
    return dtype.isnative and dtype.kind in "biufMmOSU"


def _is_whole(part: Any) -> bool:
    """Tell fitted estimators, and values of our own, from estimators that are parameters."""
    return _is_fitted_part(part) if _has_params(part) else hasattr(part, "_check_fitted")


def _check_state(part: Any) -> None:
    try:
        if _has_params(part):
            check_common(part)
        if hasattr(part, "_check_fitted"):
            part._check_fitted()  # noqa: SLF001  a check of ours, of a part
        elif _name(part).startswith("sklearn."):
            check_foreign(part)
    except DamagedStateError as error:
        raise ValueError(f"holds a forged or damaged {type(part).__name__} ({error})") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # what is missing or of another type cannot even be looked at
        raise ValueError(
            f"holds a forged or damaged {type(part).__name__}, or one of another version"
        ) from error


def _walk(value: Any, n_features: float, seen: set[int]) -> Iterator[tuple[Any, float]]:
    """Give each object below a value, with the fewest features that any of its owners takes."""
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
    """Count the columns that an estimator's parts take; one that encodes tables gives them more."""
    own = getattr(value, "__dict__", {})
    try:
        if "encoder_" not in own:
            return float(own.get("n_features_in_", np.inf))
        return float(len(own["encoder_"].get_feature_names_out()))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"holds a forged or damaged {type(value).__name__}") from error


def _added(value: Any) -> int:
    """Count the columns that a value of ours puts behind those that it is given."""
    return int(value._columns_added) if hasattr(type(value), "_columns_added") else 0  # noqa: SLF001


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple | set):
        return list(value)
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else []
    return list(getattr(value, "__dict__", {}).values())


def _tree_is_sound(tree: Any, n_features: float) -> bool:
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    below = np.arange(tree.node_count)[inner]
    return bool(
        (inner == (right != -1)).all()
        and _in_order(left[inner], below, tree.node_count)
        and _in_order(right[inner], below, tree.node_count)
        and _inside(tree.feature[inner], min(n_features, tree.n_features))
    )


def _predictor_is_sound(predictor: Any, n_features: float) -> bool:
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
    # Children stand after their parent in every tree that scikit-learn grows: no loops.
    return bool((children.astype(np.int64) > parents).all() and (children < count).all())


def _inside(indices: NDArray[Any], count: float) -> bool:
    values = indices.astype(np.int64)
    return bool((values >= 0).all() and (values < count).all())
