"""What an ensemble on strata is made of: kinds of member, anchors on all rows, a fusion."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ensemblage.fusion import AnchoredGate, Fusion, Gate, common_response
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
    """A kind of member, not fitted, and the method that its copies are asked for."""

    estimator: Any
    response: str


class Recipe(NamedTuple):
    """What the user's parameters come to; ``soft`` passes memberships as weights."""

    kinds: tuple[Kind, ...]
    anchors: tuple[Kind, ...]
    fusion: Fusion
    soft: bool

    def responses(self, n_strata: int) -> list[str]:
        """Name the method that each member is asked for, kind by kind, anchors last."""
        own = [kind.response for kind in self.kinds for _ in range(n_strata)]
        return own + [anchor.response for anchor in self.anchors]


def make_recipe(estimator: Any, anchor: Any, fusion: Fusion, *, soft: bool) -> Recipe:
    """Resolve members and anchors as the user gave them; a gate beside others is anchored."""
    kinds = _kinds(ScaledLogisticRegression() if estimator is None else estimator)
    anchors = () if anchor is None else _kinds(anchor)
    if isinstance(fusion, Gate) and len(kinds) + len(anchors) > 1:
        fusion = AnchoredGate(fusion, n_anchors=len(anchors))
    return Recipe(kinds, anchors, fusion, soft)


def _kinds(given: Any) -> tuple[Kind, ...]:
    each = given if isinstance(given, list | tuple) else [given]
    unknown = [one for one in each if isinstance(one, str) and one != "svm"]
    if unknown:
        raise ValueError(f"anchor={unknown[0]!r} is not known; use 'svm' or a classifier.")
    made = [tuned_svm() if isinstance(one, str) else one for one in each]
    return tuple(Kind(one, common_response([one])) for one in made)
