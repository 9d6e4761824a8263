"""Stacking over the members of scikit-learn's own ensembles."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ensemblage.fusion._base import Array, FusedClassifierMixin
from ensemblage.fusion._foreign_members import members_of
from ensemblage.fusion._member_outputs import common_response, is_constant, member_outputs
from ensemblage.fusion._stacking import Stacking
from ensemblage.messages import DocLinkMixin, expect
from ensemblage.parallel import draw_seeds, fit_parameter, guarded_fit, read_weights, set_seed
from ensemblage.tables import validate_numbers


class MemberStackingClassifier(FusedClassifierMixin, DocLinkMixin, BaseEstimator):
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
    ensemblage.strata.StrataEnsembleClassifier : Members on strata, fused on rows they never saw.

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
    >>> from ensemblage.fusion import MemberStackingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> boosting = AdaBoostClassifier(n_estimators=20, random_state=0)
    >>> model = MemberStackingClassifier(boosting).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.93)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ensemble": [HasMethods(["fit", "predict"])],
        "final_estimator": [HasMethods(["fit", "predict"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, ensemble: Any, final_estimator: Any = None, *, random_state: Any = None
    ) -> None:
        self.ensemble = ensemble
        self.final_estimator = final_estimator
        self.random_state = random_state

    # prefer_skip_nested_validation=False: the ensemble validates its own parameters
    @guarded_fit
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        check_consistent_length(X, y)
        validate_data(self, X, skip_check_array=True)
        self._check_weights(sample_weight)
        weights = {}
        if sample_weight is not None:
            weights = {"sample_weight": read_weights(sample_weight, np.zeros((_num_samples(X), 1)))}
        self.ensemble_ = clone(self.ensemble)
        self.fusion_ = clone(Stacking(self.final_estimator))
        if self.random_state is not None:
            for part, seed in zip(
                (self.ensemble_, self.fusion_), draw_seeds(self.random_state, 2), strict=True
            ):
                set_seed(part, seed)
        self.ensemble_.fit(X, y, **weights)
        members_of(self._inner())  # refuses an ensemble that has none
        self.classes_ = self._inner().classes_
        numbers = self._class_numbers(column_or_1d(y))
        self.fusion_.fit(self._outputs(X), numbers, **weights)
        return self

    def _inner(self) -> Any:
        """Give the fitted ensemble, also where it came frozen."""
        frozen = isinstance(self.ensemble_, FrozenEstimator)
        return self.ensemble_.estimator if frozen else self.ensemble_

    def _check_weights(self, sample_weight: Any) -> None:
        if sample_weight is None or isinstance(self.ensemble, FrozenEstimator):
            return
        if fit_parameter(self.ensemble, "sample_weight") is None:
            raise ValueError(
                f"sample_weight was given, but {type(self.ensemble).__name__}.fit takes none. "
                "Leave sample_weight out, or use another ensemble."
            )

    def _class_numbers(self, y: NDArray[Any]) -> NDArray[np.intp]:
        check_classification_targets(y)
        given = np.unique(y)
        if not np.array_equal(given, self.classes_):
            raise ValueError(
                f"y holds the classes {given.tolist()}, the ensemble knows "
                f"{self.classes_.tolist()}. Stack it on rows of exactly its classes."
            )
        return np.searchsorted(self.classes_, y)

    def _outputs(self, X: Any) -> Array:
        """Member outputs, of shape (n_members, n_samples, n_classes)."""
        members = members_of(self._inner())
        foreign = [member.foreign for member in members]
        X = self._rows(X, named=any(hasattr(each, "feature_names_in_") for each in foreign))
        # constant members follow the others
        varying = [each.foreign for each in members if not is_constant(each)]
        response = common_response(varying or foreign)
        n_classes = len(self.classes_)
        return np.stack([member_outputs(each, X, n_classes, response) for each in members])

    def _rows(self, X: Any, *, named: bool) -> Any:
        """Check rows; members that know no names of columns get an array."""
        if named:
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        finite = "allow-nan" if get_tags(self).input_tags.allow_nan else True
        return validate_numbers(
            self, X, accept_sparse=["csr", "csc"], ensure_all_finite=finite, reset=False
        )

    def _gives_probabilities(self) -> bool:
        return Stacking(self.final_estimator).gives_probabilities(from_probabilities=False)

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        scores: Array = self.fusion_.combine(self._outputs(X))
        return scores

    def __check_state__(self) -> None:
        """Refuse classes that the ensemble does not know."""
        same = np.array_equal(self.classes_, self._inner().classes_)
        expect(same, "its classes are not its ensemble's")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.ensemble).input_tags
        tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags


def stack_members(
    ensemble: Any, X: Any, y: Any, final_estimator: Any = None, *, sample_weight: Any = None
) -> MemberStackingClassifier:
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
    >>> from ensemblage.fusion import stack_members
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X[:250], y[:250])
    >>> model = stack_members(forest, X[250:400], y[250:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.93)
    True
    """
    check_is_fitted(ensemble)
    stacked = MemberStackingClassifier(FrozenEstimator(ensemble), final_estimator)
    stacked.fit(X, y, sample_weight=sample_weight)
    return stacked
