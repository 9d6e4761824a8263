"""Members of somebody else's ensemble, as classifiers of its class numbers.

scikit-learn's ensembles fit their members on labels (boosting), on numbers (bagging, voting) or on
numbers written as floats (forests), and some show each member its own columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier

from ensemblage.fusion._base import FusedClassifierMixin


class NumberedMember:
    """A fitted member that takes the ensemble's rows and speaks in class numbers.

    ``known`` are the ensemble's classes in its order, as the member calls them; ``columns`` those
    that the member sees, all if None.
    """

    def __init__(self, foreign: Any, known: NDArray[Any], columns: NDArray[Any] | None) -> None:
        self.foreign = foreign
        self.known = known
        self.columns = columns
        self.classes_ = np.searchsorted(known, foreign.classes_)

    def _seen(self, X: Any) -> Any:
        return X if self.columns is None else X[:, self.columns]

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Give class numbers."""
        return np.asarray(np.searchsorted(self.known, self.foreign.predict(self._seen(X))))

    def predict_proba(self, X: Any) -> Any:
        """Give what the member does."""
        return self.foreign.predict_proba(self._seen(X))

    def decision_function(self, X: Any) -> Any:
        """Give what the member does."""
        return self.foreign.decision_function(self._seen(X))


def members_of(ensemble: Any) -> list[NumberedMember]:
    """Give the members of a fitted ensemble; refuse one whose members solve other problems."""
    members = _classifiers_in(ensemble)
    known = _known_labels(ensemble, members)
    views = getattr(ensemble, "estimators_features_", [None] * len(members))
    pairs = zip(members, views, strict=True)
    return [NumberedMember(each, known, columns) for each, columns in pairs]


def _classifiers_in(ensemble: Any) -> list[Any]:
    members: Any = getattr(ensemble, "estimators_", ())
    who = f"ensemble={type(ensemble).__name__} has no members that predict its classes"
    if len(members) == 0 or not isinstance(getattr(ensemble, "classes_", None), np.ndarray):
        raise ValueError(
            f"{who}: it has no estimators_ and classes_ after its fit. Use an ensemble of "
            "classifiers, such as AdaBoostClassifier, BaggingClassifier, RandomForestClassifier or "
            "VotingClassifier; of a pipeline, its last step."
        )
    # gradient boosting keeps an array; a pipeline must not be taken for a row of one
    flat = members.ravel().tolist() if isinstance(members, np.ndarray) else list(members)
    strangers = [type(each).__name__ for each in flat if not hasattr(each, "classes_")]
    if strangers:
        raise ValueError(f"{who}: they are no classifiers ({strangers[0]}).")
    return flat


def _known_labels(ensemble: Any, members: list[Any]) -> NDArray[Any]:
    """Find what the members call the ensemble's classes: their labels, or their numbers."""
    labels, numbers = ensemble.classes_, np.arange(len(ensemble.classes_))
    met = np.unique(np.concatenate([np.asarray(member.classes_) for member in members]))
    if np.array_equal(met, labels):
        return np.asarray(labels)
    # a class may be in no member's sample, so those that learn samples need not know them all
    of_samples = isinstance(ensemble, BaggingClassifier | FusedClassifierMixin)
    if np.array_equal(met, numbers) or of_samples:
        return numbers
    raise ValueError(
        f"The members of ensemble={type(ensemble).__name__} know the classes {met.tolist()}, the "
        f"ensemble {labels.tolist()}: they solve other problems than the ensemble does. Use an "
        "ensemble whose members all predict its classes."
    )
