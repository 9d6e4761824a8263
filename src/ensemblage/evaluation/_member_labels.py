"""What each member of a fitted ensemble predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def member_labels(ensemble: Any, X: Any) -> NDArray[Any]:
    """Let the members of an ensemble predict, each for itself.

    Parameters
    ----------
    ensemble : classifier
        Fitted: a StrataEnsembleClassifier, a JointSubspaceClassifier, an ensemble of
        scikit-learn with ``estimators_`` that are classifiers, a pipeline or a search over one.
    X : array-like of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_members, n_samples)
        Labels of the ensemble's classes.
    """
    check_is_fitted(ensemble)
    if isinstance(ensemble, Pipeline):
        return member_labels(ensemble[-1], ensemble[:-1].transform(X) if len(ensemble) > 1 else X)
    for inner in ("best_estimator_", "ensemble_"):
        if hasattr(ensemble, inner):
            return member_labels(getattr(ensemble, inner), X)
    if hasattr(ensemble, "member_outputs"):
        return np.asarray(ensemble.classes_[ensemble.member_outputs(X).argmax(axis=2)])
    members = _members_of(ensemble)
    known = _known_labels(ensemble, members)
    if not any(hasattr(member, "feature_names_in_") for member in members):
        X = X if hasattr(X, "tocsr") else np.asarray(X)
    views = getattr(ensemble, "estimators_features_", [None] * len(members))
    found = [
        np.searchsorted(known, member.predict(X if columns is None else X[:, columns]))
        for member, columns in zip(members, views, strict=True)
    ]
    return np.asarray(ensemble.classes_[np.stack(found)])


def _members_of(ensemble: Any) -> list[Any]:
    members = getattr(ensemble, "estimators_", None)
    flat = members.ravel().tolist() if isinstance(members, np.ndarray) else list(members or [])
    if not flat or not all(hasattr(each, "classes_") for each in flat):
        raise ValueError(
            f"ensemble={type(ensemble).__name__} has no members that predict its classes. Use an "
            "ensemble with estimators_ that are classifiers, such as StrataEnsembleClassifier, "
            "RandomForestClassifier, BaggingClassifier or AdaBoostClassifier; or give the members' "
            "labels to from_predictions."
        )
    return flat


def _known_labels(ensemble: Any, members: list[Any]) -> NDArray[Any]:
    """Find what the members call the ensemble's classes: by label, or by number."""
    labels, numbers = ensemble.classes_, np.arange(len(ensemble.classes_))
    met = np.unique(np.concatenate([np.asarray(member.classes_) for member in members]))
    if np.array_equal(met, labels):
        return np.asarray(labels)
    # a class may be in no member's sample, so the members need not know them all
    if met.dtype.kind in "iuf" and np.isin(met, numbers).all():
        return numbers
    raise ValueError(
        f"The members of ensemble={type(ensemble).__name__} know the classes {met.tolist()}, the "
        f"ensemble {labels.tolist()}: they solve other problems than the ensemble does."
    )
