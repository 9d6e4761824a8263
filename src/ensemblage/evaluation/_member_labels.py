"""What each member of a fitted ensemble predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ensemblage.fusion import members_of
from ensemblage.parallel import encoded_rows, final_step, rows_at_final_step


def member_labels(ensemble: Any, X: Any) -> NDArray[Any]:
    """Let the members of a fitted ensemble predict, each for itself, (n_members, n_samples).

    The ensemble has ``member_outputs``, as ours have, or ``estimators_`` that are classifiers; it
    may stand in a pipeline or a search.
    """
    check_is_fitted(ensemble)
    X, ensemble = rows_at_final_step(ensemble, X), final_step(ensemble)
    for inner in ("best_estimator_", "ensemble_"):
        if hasattr(ensemble, inner):
            return member_labels(getattr(ensemble, inner), X)
    if hasattr(ensemble, "member_outputs"):
        return np.asarray(ensemble.classes_[ensemble.member_outputs(X).argmax(axis=2)])
    try:
        members = members_of(ensemble)
    except ValueError as error:
        raise ValueError(f"{error} Or give the members' labels to from_predictions.") from None
    X = encoded_rows(ensemble, X)
    if not any(hasattr(member.foreign, "feature_names_in_") for member in members):
        X = X if hasattr(X, "tocsr") else np.asarray(X)
    return np.asarray(ensemble.classes_[np.stack([member.predict(X) for member in members])])
