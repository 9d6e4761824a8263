"""What an ensemble on strata is made of: kinds of member, anchors on all rows, a fusion."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage.fusion import AnchoredGate, Fusion, Gate, common_response
from ensemblage.parallel import Blueprint, fit_parameter
from ensemblage.strata._scaled_logistic import ScaledLogisticRegression

SVM_GRID = {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": ["scale", 0.01, 0.1]}


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


class Kind(NamedTuple):
    """A kind of member, of which copies are fitted, and the method that they are asked for."""

    blueprint: Blueprint
    response: str


class Recipe(NamedTuple):
    """What the user's parameters come to; ``soft`` passes memberships as weights."""

    kinds: tuple[Kind, ...]
    anchors: tuple[Kind, ...]
    fusion: Fusion
    soft: bool


def make_recipe(
    estimator: Any, anchor: Any, fusion: Fusion, *, soft: bool = False, weighted: bool = False
) -> Recipe:
    """Resolve members and anchors as the user gave them; a gate beside others is anchored.

    Those that cannot take the weights that they are to get are refused.
    """
    members = [ScaledLogisticRegression()] if estimator is None else _listed(estimator)
    anchors = [] if anchor is None else [_anchor(each) for each in _listed(anchor)]
    if soft or weighted:
        _require_weights(members, "membership='soft'" if soft else "sample_weight")
    if weighted:
        _require_weights(anchors, "sample_weight")
    if isinstance(fusion, Gate) and len(members) + len(anchors) > 1:
        fusion = AnchoredGate(fusion, n_anchors=len(anchors))
    kinds, on_all_rows = (
        tuple(Kind(Blueprint(each), common_response([each])) for each in several)
        for several in (members, anchors)
    )
    return Recipe(kinds, on_all_rows, fusion, soft)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _anchor(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if given != "svm":
        raise ValueError(f"anchor={given!r} is not known; use 'svm' or a classifier.")
    return tuned_svm()


def _require_weights(estimators: list[Any], reason: str) -> None:
    for each in estimators:
        if fit_parameter(each, "sample_weight") is None:
            raise ValueError(
                f"{reason} needs members that take sample_weight; {type(each).__name__}.fit does "
                "not. Choose another estimator, or membership='hard' without sample_weight."
            )
