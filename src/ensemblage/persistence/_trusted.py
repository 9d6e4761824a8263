"""The types that a model file may hold, and a check of what scikit-learn itself does not check."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import isabstract
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _is_fitted

from ensemblage.messages import DamagedStateError
from ensemblage.persistence._foreign_state import check_common, check_foreign

TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"

# Beyond scikit-learn's public estimators, NumPy arrays and plain Python values, a model of ours
# needs exactly the following; a test fits every method to prove it.
TRUSTED_TYPES = (
    "ensemblage.bayes._arc_constraints.NetworkConstraints",
    "ensemblage.bayes._coding.Coder",
    "ensemblage.bayes._discretizer.MDLPDiscretizer",
    "ensemblage.bayes._network_classifier.BayesNetClassifier",
    "ensemblage.bayes._network_tables.FittedNetwork",
    "ensemblage.bayes._network_tables.NodeTable",
    "ensemblage.consensus._evidence_accumulation.EvidenceAccumulation",
    "ensemblage.consensus._graph_cuts.CSPA",
    "ensemblage.consensus._graph_cuts.HBGF",
    "ensemblage.consensus._hgpa.HGPA",
    "ensemblage.consensus._mcla.MCLA",
    "ensemblage.fusion._affinity_gate.Gate",
    "ensemblage.fusion._anchored_gate.AnchoredGate",
    "ensemblage.fusion._density_gate.DensityGate",
    "ensemblage.fusion._density_pool.DensityPool",
    "ensemblage.fusion._density_rules.DensityMean",
    "ensemblage.fusion._density_rules.DensityStacking",
    "ensemblage.fusion._fixed_rules.Mean",
    "ensemblage.fusion._fixed_rules.Vote",
    "ensemblage.fusion._local_competence.LocalCompetence",
    "ensemblage.fusion._log_pool.LogPool",
    "ensemblage.fusion._member_stacking.MemberStackingClassifier",
    "ensemblage.fusion._product.Product",
    "ensemblage.fusion._softmax_gate.SoftmaxGate",
    "ensemblage.fusion._stacking.Stacking",
    "ensemblage.inner._bayes_net.InnerBayesNetClassifier",
    "ensemblage.inner._fitted_tree.FittedTree",
    "ensemblage.inner._kmeans.InnerKMeans",
    "ensemblage.inner._tree.InnerTreeClassifier",
    "ensemblage.inner._tree.InnerTreeRegressor",
    "ensemblage.kernels._node_tables.LookUp",
    "ensemblage.pool._ensemblage_classifier.EnsemblageClassifier",
    "ensemblage.pool._ensemblage_regressor.EnsemblageRegressor",
    "ensemblage.pool._fitted_pool.FittedPool",
    "ensemblage.pool._forest.Forest",
    "ensemblage.pool._forest.ForestRegressor",
    "ensemblage.pool._held_out_record.HeldOutRecord",
    "ensemblage.pool._kernel_machine.KernelMachine",
    "ensemblage.pool._kernel_machine.KernelMachineRegressor",
    "ensemblage.pool._known_sources.KnownSources",
    "ensemblage.pool._leaderboard.Leaderboard",
    "ensemblage.pool._leaderboard.NumberStanding",
    "ensemblage.pool._leaderboard.Standing",
    "ensemblage.pool._lightgbm_trees.LightGBMTrees",
    "ensemblage.pool._lightgbm_trees.LightGBMTreesRegressor",
    "ensemblage.pool._new_sources.LeftOutScores",
    "ensemblage.pool._source_members.BySource",
    "ensemblage.strata._bootstrap.BootstrapStrata",
    "ensemblage.strata._hiss.HISS",
    "ensemblage.strata._intervals.HeldOutScores",
    "ensemblage.strata._mixture.MixtureStrata",
    "ensemblage.strata._partial_pooling.PartialPoolingClassifier",
    "ensemblage.strata._pooling_regressor.PartialPoolingRegressor",
    "ensemblage.strata._recalibrate.RecalibratedClassifier",
    "ensemblage.strata._scaled_logistic.ScaledLogisticRegression",
    "ensemblage.strata._scaled_ridge.ScaledRidge",
    "ensemblage.strata._sources.SourceStrata",
    "ensemblage.strata._strata_ensemble.StrataEnsembleClassifier",
    "ensemblage.strata._strata_regressor.StrataEnsembleRegressor",
    "ensemblage.subspace._basis.FeatureBasis",
    "ensemblage.subspace._joint_classifier.JointSubspaceClassifier",
    "ensemblage.subspace._joint_regressor.JointSubspaceRegressor",
    "ensemblage.subspace._joint_selector.JointSubspaceSelector",
    "ensemblage.subspace._stability_selector.StabilitySelector",
    "ensemblage.tables._table_encoder.TableEncoder",
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
    looked at, and so is everything of ours that has a ``__check_state__``.
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
    if not isinstance(part, BaseEstimator):
        return hasattr(part, "__check_state__")
    return not getattr(part, "learns", True) or bool(_is_fitted(part))


def _check_state(part: Any) -> None:
    try:
        if isinstance(part, BaseEstimator):
            check_common(part)
        if hasattr(part, "__check_state__"):
            part.__check_state__()
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
    return int(value.__columns_added__) if hasattr(type(value), "__columns_added__") else 0


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
