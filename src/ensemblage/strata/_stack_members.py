"""Stacking over the members of scikit-learn's own ensembles."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ensemblage.fusion import Stacking
from ensemblage.parallel import draw_seeds, set_seed
from ensemblage.strata._fused import FusedClassifierMixin
from ensemblage.strata._members import member_outputs, weight_parameter

RESPONSES = ("predict_proba", "decision_function", "predict")


class _Numbered:
    """A member as :func:`member_outputs` takes it: fitted on class numbers.

    scikit-learn's ensembles fit their members on labels (boosting), on numbers (bagging,
    voting) or on numbers written as floats (forests).
    """

    def __init__(self, member, known):
        self.member = member
        self.known = known  # labels or numbers, in the order of the ensemble's classes
        self.classes_ = self._numbers(member.classes_)

    def _numbers(self, labels):
        return np.searchsorted(self.known, labels)

    def predict(self, X):
        return self._numbers(self.member.predict(X))

    def predict_proba(self, X):
        return self.member.predict_proba(X)

    def decision_function(self, X):
        return self.member.decision_function(X)


def _ensemble_of(estimator):
    return estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator


def _members_of(ensemble) -> list:
    """Members of a fitted ensemble, each a classifier of the ensemble's own problem."""
    members = getattr(ensemble, "estimators_", None)
    if members is None or not isinstance(getattr(ensemble, "classes_", None), np.ndarray):
        raise ValueError(
            f"ensemble={type(ensemble).__name__} has no estimators_ and classes_ after its fit. "
            "Use an ensemble of classifiers, such as AdaBoostClassifier, BaggingClassifier, "
            "RandomForestClassifier or VotingClassifier; of a pipeline, its last step."
        )
    # gradient boosting keeps an array; a pipeline must not be taken for a row of one
    flat = members.ravel().tolist() if isinstance(members, np.ndarray) else list(members)
    foreign = [each for each in flat if not hasattr(each, "classes_")]
    if foreign:
        raise ValueError(
            f"ensemble={type(ensemble).__name__} has members that are no classifiers "
            f"({type(foreign[0]).__name__}); stacking needs members that predict classes."
        )
    return flat


def _known_labels(ensemble, members):
    """Find what the members call the ensemble's classes: their labels, or their numbers."""
    labels, numbers = ensemble.classes_, np.arange(len(ensemble.classes_))
    met = np.unique(np.concatenate([member.classes_ for member in members]))
    if np.array_equal(met, labels):
        return labels
    # a class may be in no bootstrap sample, so bagging's members need not know them all
    if np.array_equal(met, numbers) or isinstance(ensemble, BaggingClassifier):
        return numbers
    raise ValueError(
        f"The members of ensemble={type(ensemble).__name__} know the classes {met.tolist()}, the "
        f"ensemble {labels.tolist()}: they solve other problems than the ensemble does. Use an "
        "ensemble whose members all predict its classes."
    )


def _common_response(members) -> str:
    """Name the best method that all members have; constant members follow the others."""
    asked = [each for each in members if not isinstance(each, DummyClassifier)] or members
    return next(name for name in RESPONSES if all(hasattr(each, name) for each in asked))


class MemberStackingClassifier(FusedClassifierMixin, BaseEstimator):
    """Fit an ensemble, then a classifier on what its members say.

    An ensemble's own way to combine its members, a vote or a weighted sum, is replaced by
    stacking.

    Parameters
    ----------
    ensemble : classifier
        An ensemble with ``estimators_`` that are classifiers, such as AdaBoost, bagging, a
        random forest or voting. In a :class:`~sklearn.frozen.FrozenEstimator` it is taken as
        fitted; see :func:`stack_members`.
    final_estimator : classifier, default=None
        With ``predict_proba`` or ``decision_function``; logistic regression if not given.
    random_state : int, RandomState instance or None, default=None
        For the ensemble and the final estimator; if not given, they keep their own.

    Attributes
    ----------
    ensemble_ : classifier
        Fitted.
    fusion_ : Stacking
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    stack_members : The same for an ensemble that is fitted already.
    StrataEnsembleClassifier : Members on strata, stacked on rows they have not seen.

    Notes
    -----
    The final estimator learns from the rows that the members learned from, as in the HISS paper's
    columns "Bagging (Stacking)" and "AdaBoost (Stacking)". Members that know their training rows
    by heart, such as full trees, look better there than they are. For an honest meta-fit, fit the
    ensemble on some rows and call :func:`stack_members` with others.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from ensemblage.strata import MemberStackingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> boosting = AdaBoostClassifier(n_estimators=20, random_state=0)
    >>> model = MemberStackingClassifier(boosting).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.93)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "ensemble": [HasMethods(["fit", "predict"])],
        "final_estimator": [HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state"],
    }

    def __init__(self, ensemble, final_estimator=None, *, random_state=None):
        self.ensemble = ensemble
        self.final_estimator = final_estimator
        self.random_state = random_state

    # prefer_skip_nested_validation=False: the ensemble validates its own parameters
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the ensemble, then the classifier on its members' outputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, as the ensemble takes them.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights, for the ensemble and the final estimator.

        Returns
        -------
        self : object
            Fitted classifier.
        """
        validate_data(self, X, skip_check_array=True)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self._check_weights(sample_weight)
        self.ensemble_ = clone(self.ensemble)
        self.fusion_ = clone(Stacking(self.final_estimator))
        if self.random_state is not None:
            for part, seed in zip(
                (self.ensemble_, self.fusion_), draw_seeds(self.random_state, 2), strict=True
            ):
                set_seed(part, seed)
        self.ensemble_.fit(X, y, **weights)
        ensemble = _ensemble_of(self.ensemble_)
        _members_of(ensemble)
        self.classes_ = ensemble.classes_
        numbers = self._class_numbers(column_or_1d(y))
        self.fusion_.fit(self._outputs(X), numbers, **weights)
        return self

    def _check_weights(self, sample_weight) -> None:
        if sample_weight is None or isinstance(self.ensemble, FrozenEstimator):
            return
        if weight_parameter(self.ensemble) is None:
            raise ValueError(
                f"sample_weight was given, but {type(self.ensemble).__name__}.fit takes none. "
                "Leave sample_weight out, or use another ensemble."
            )

    def _class_numbers(self, y) -> np.ndarray:
        check_classification_targets(y)
        given = np.unique(y)
        if not np.array_equal(given, self.classes_):
            raise ValueError(
                f"y holds the classes {given.tolist()}, the ensemble knows "
                f"{self.classes_.tolist()}. Stack it on rows of exactly its classes."
            )
        return np.searchsorted(self.classes_, y)

    def _outputs(self, X) -> np.ndarray:
        """Member outputs, of shape (n_members, n_samples, n_classes)."""
        ensemble = _ensemble_of(self.ensemble_)
        members = _members_of(ensemble)
        known, response = _known_labels(ensemble, members), _common_response(members)
        X = self._rows(X, any(hasattr(member, "feature_names_in_") for member in members))
        views = getattr(ensemble, "estimators_features_", [None] * len(members))
        outputs = []
        for member, columns in zip(members, views, strict=True):
            numbered = member if isinstance(member, DummyClassifier) else _Numbered(member, known)
            seen = X if columns is None else X[:, columns]
            outputs.append(member_outputs(numbered, seen, len(self.classes_), response))
        return np.stack(outputs)

    def _rows(self, X, named: bool):
        """Check rows; members that know no names of columns get an array."""
        if named:
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        finite = "allow-nan" if get_tags(self).input_tags.allow_nan else True
        return validate_data(
            self, X, accept_sparse=["csr", "csc"], ensure_all_finite=finite, reset=False
        )

    def _gives_probabilities(self) -> bool:
        return Stacking(self.final_estimator).gives_probabilities(from_probabilities=False)

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        return self.fusion_.combine(self._outputs(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.ensemble).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags


def stack_members(ensemble, X, y, final_estimator=None, *, sample_weight=None):
    """Stack the members of a fitted ensemble.

    Parameters
    ----------
    ensemble : classifier
        A fitted ensemble with ``estimators_`` that are classifiers: AdaBoost, bagging, a random
        forest, voting and the like. It is left as it is.
    X : array-like of shape (n_samples, n_features)
        Rows to learn the stacking from, best such that the ensemble has not seen.
    y : array-like of shape (n_samples,)
        Their classes, each of the ensemble's at least once.
    final_estimator : classifier, default=None
        With ``predict_proba`` or ``decision_function``; logistic regression if not given.
    sample_weight : array-like of shape (n_samples,), default=None
        Row weights for the final estimator.

    Returns
    -------
    MemberStackingClassifier
        Fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemblage.strata import stack_members
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X[:250], y[:250])
    >>> model = stack_members(forest, X[250:400], y[250:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.93)
    True
    """
    check_is_fitted(ensemble)
    stacked = MemberStackingClassifier(FrozenEstimator(ensemble), final_estimator)
    return stacked.fit(X, y, sample_weight=sample_weight)
