"""Members, anchors and fusion of an ensemble on strata, as a user's parameters ask for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from ensemblage.fusion import (
    AnchoredGate,
    DensityGate,
    DensityPool,
    Fusion,
    Gate,
    common_response,
    number_response,
    resolve_fusion,
)
from ensemblage.parallel import Blueprint, fit_parameter
from ensemblage.strata._scaled_logistic import ScaledLogisticRegression
from ensemblage.strata._scaled_ridge import ScaledRidge
from ensemblage.strata._strata_rows import is_mixed_frame

SVM_GRID = {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": ["scale", 0.01, 0.1]}
SVR_GRID = {f"regressor__{name.replace('svc', 'svr')}": each for name, each in SVM_GRID.items()}


def tuned_svm() -> GridSearchCV:
    """Make a lightly tuned support vector machine with an RBF kernel.

    Returns
    -------
    GridSearchCV
        On standardised columns: three values of C and of gamma, three folds.

    Examples
    --------
    >>> from ensemblage.strata import tuned_svm
    >>> len(tuned_svm().param_grid)
    2
    """
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), SVM_GRID, cv=3)


def tuned_svr() -> GridSearchCV:
    """Make a lightly tuned support vector regressor with an RBF kernel.

    Returns
    -------
    GridSearchCV
        On standardised columns and a standardised target: three values of C and of gamma, three
        folds.

    Examples
    --------
    >>> from ensemblage.strata import tuned_svr
    >>> len(tuned_svr().param_grid)
    2
    """
    machine = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler()
    )
    return GridSearchCV(machine, SVR_GRID, cv=3)


class Role(NamedTuple):
    """What members of an ensemble are if not told otherwise, and how they are asked and fused."""

    member: Callable[[], Any]
    anchors: dict[str, Callable[[], Any]]
    """By the names that users may give."""
    expected: str
    """What an anchor has to be."""
    response: Callable[[Any], str]
    """The best method that an estimator has."""
    fusion: Callable[..., Fusion]
    """Turns a name into a fusion."""
    gate: type[Fusion]
    pool: Callable[[], Fusion | None]
    """Of a gate with anchors."""


CLASSIFIERS = Role(
    ScaledLogisticRegression,
    {"svm": tuned_svm},
    "a classifier",
    lambda estimator: common_response([estimator]),
    resolve_fusion,
    Gate,
    lambda: None,
)
REGRESSORS = Role(
    ScaledRidge,
    {"svm": tuned_svr},
    "a regressor",
    number_response,
    partial(resolve_fusion, numbers=True),
    DensityGate,
    lambda: DensityPool(by_stratum=True),
)


class Kind(NamedTuple):
    """A kind of member: the method that it is asked for, and of what copies are fitted."""

    response: str
    blueprint: Blueprint


class Recipe(NamedTuple):
    """What the user's parameters come to; ``soft`` passes memberships as weights."""

    kinds: tuple[Kind, ...]
    anchors: tuple[Kind, ...]
    fusion: Fusion
    soft: bool


def make_recipe(
    estimator: Any,
    anchor: Any,
    fusion: Any,
    *,
    final_estimator: Any = None,
    X: Any = None,
    soft: bool = False,
    weighted: bool = False,
    role: Role = CLASSIFIERS,
) -> Recipe:
    """Resolve members, anchors and fusion as the user gave them; a gate beside others is anchored.

    A fusion that needs more than there is in the rows X is refused, and so are members that cannot
    take the weights that they are to get.
    """
    offered = frozenset(
        {"affinity", "strata"} if is_mixed_frame(X) else {"affinity", "strata", "X"}
    )
    fusion = role.fusion(fusion, offered=offered, final_estimator=final_estimator)
    members = [role.member()] if estimator is None else listed_parts(estimator)
    anchors = [] if anchor is None else [_anchor(each, role) for each in listed_parts(anchor)]
    if soft or weighted:
        _require_weights(members, "membership='soft'" if soft else "sample_weight")
    if weighted:
        _require_weights(anchors, "sample_weight")
    if isinstance(fusion, role.gate) and len(members) + len(anchors) > 1:
        fusion = AnchoredGate(fusion, role.pool(), n_anchors=len(anchors))
    kinds, on_all_rows = (
        tuple(Kind(role.response(each), Blueprint(each)) for each in several)
        for several in (members, anchors)
    )
    return Recipe(kinds, on_all_rows, fusion, soft)


def listed_parts(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _anchor(given: Any, role: Role) -> Any:
    if not isinstance(given, str):
        return given
    if given not in role.anchors:
        known = ", ".join(map(repr, role.anchors))
        raise ValueError(f"anchor={given!r} is not known; use {known} or {role.expected}.")
    return role.anchors[given]()


def _require_weights(estimators: list[Any], reason: str) -> None:
    for each in estimators:
        if fit_parameter(each, "sample_weight") is None:
            raise ValueError(
                f"{reason} needs members that take sample_weight; {type(each).__name__}.fit does "
                "not. Choose another estimator, or membership='hard' without sample_weight."
            )
