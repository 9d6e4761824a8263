"""Anchors: members that learn all rows."""

from __future__ import annotations

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

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


def resolve_anchors(anchor) -> list:
    """List the anchors that a parameter names.

    Parameters
    ----------
    anchor : None, "svm", classifier or list of these
        As given by the user.

    Returns
    -------
    list of classifiers
        Not fitted.
    """
    if anchor is None:
        return []
    each = anchor if isinstance(anchor, list | tuple) else [anchor]
    unknown = [one for one in each if isinstance(one, str) and one != "svm"]
    if unknown:
        raise ValueError(f"anchor={unknown[0]!r} is not known; use 'svm' or a classifier.")
    return [tuned_svm() if isinstance(one, str) else one for one in each]
