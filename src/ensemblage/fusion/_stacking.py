"""Stacking, for ensembles of this and other libraries."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ensemblage._core import (
    DocLinkMixin,
    HasMethods,
    deal_folds,
    draw_seeds,
    expect,
    fit_context,
    fit_parameter,
    guarded_fit,
    num_samples,
    read_weights,
    refuse_missing_targets,
    set_module,
    set_seed,
    validate_numbers,
)
from ensemblage.fusion._base import (
    EMPTY_CONTEXT,
    FusedClassifierMixin,
    Fusion,
    FusionContext,
    as_columns,
    common_response_method,
    is_constant,
    member_outputs,
)
from ensemblage.fusion._normal import residual_variance, with_variance

Doubles = NDArray[np.float64]


# Number of folds for the residual variance of a stacked regressor.
N_FOLDS = 5


def stacking_features(outputs: Any) -> Doubles:
    """Members' outputs side by side, (n_samples, n_members * n_classes).

    With two classes only the output of the second, (n_samples, n_members), which implies the first.
    """
    outputs = np.asarray(outputs)
    if outputs.shape[2] == 2:
        return np.asarray(outputs[:, :, 1].T)
    return np.concatenate(list(outputs), axis=1)


@set_module("ensemblage.fusion")
class Stacking(Fusion):
    """A classifier or regressor on the members' outputs.

    Parameters
    ----------
    final_estimator : classifier or regressor, default=None
        A classifier with ``predict_proba`` or ``decision_function``, by default logistic
        regression; a linear one on decision values of linear members is again a linear classifier.
        For regression a regressor on the predicted means, by default
        :class:`~sklearn.linear_model.RidgeCV`. If it is linear, members' weights are shares of the
        absolute coefficients.

    Attributes
    ----------
    final_estimator_ : classifier or regressor
        Fitted.
    variance_ : float
        Mean squared residual of the regressor on out-of-fold outputs by five-fold
        cross-validation. Regression only.

    Examples
    --------
    >>> import numpy as np
    >>> outputs = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.6, 0.4], [0.4, 0.6]]])
    >>> Stacking().fit(outputs, np.array([0, 1])).combine(outputs).argmax(axis=1)
    array([0, 1])
    """

    def __init__(self, final_estimator: Any = None) -> None:
        self.final_estimator = final_estimator

    def requires_fit(self, *, numeric: bool = False) -> bool:
        return True

    def _fit(self, outputs: Any, y: Any, context: FusionContext, weights: Doubles | None) -> None:
        features = self._features(outputs)
        if self.numeric_:
            fused, rng = np.empty(len(y)), np.random.default_rng(0)
            for train, test in deal_folds(np.zeros(len(y), dtype=int), N_FOLDS, rng):
                own = None if weights is None else weights[train]
                fitted = self._fit_final(features[train], y[train], own)
                fused[test] = fitted.predict(features[test])
            self.variance_ = residual_variance(fused - y, weights)
        self.final_estimator_ = self._fit_final(features, y, weights)

    def _unfitted(self) -> Any:
        if self.final_estimator is not None:
            return self.final_estimator
        return RidgeCV() if self.numeric_ else LogisticRegression()

    def _fit_final(self, features: Doubles, y: NDArray[Any], weights: Doubles | None) -> Any:
        final = clone(self._unfitted())
        name = "sample_weight" if not self.numeric_ else fit_parameter(final, "sample_weight")
        passed = {} if weights is None or name is None else {name: weights}
        return final.fit(features, y, **passed)

    def _features(self, outputs: Any) -> Doubles:
        return np.asarray(outputs)[:, :, 0].T if self.numeric_ else stacking_features(outputs)

    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        features = self._features(outputs)
        if self.numeric_:
            return with_variance(self.final_estimator_.predict(features), self.variance_)
        if hasattr(self.final_estimator_, "predict_proba"):
            return np.asarray(self.final_estimator_.predict_proba(features))
        return as_columns(self.final_estimator_.decision_function(features))

    def member_weights(self, n_members: int) -> Doubles | None:
        coefficients = getattr(self.final_estimator_, "coef_", None)
        if coefficients is None:
            return None
        size = np.abs(np.atleast_2d(coefficients)).mean(axis=0)
        size = size.reshape(n_members, -1).sum(axis=1)
        return np.asarray(size / max(size.sum(), np.finfo(float).tiny))

    def returns_probabilities(self, from_probabilities: bool) -> bool:
        return hasattr(self._unfitted(), "predict_proba")

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self.numeric_:
            expect(bool(0 < self.variance_ < np.inf), "the variance is not above zero")


class EncodedMember:
    """A fitted member that takes the ensemble's rows and predicts class indices.

    ``labels`` are the ensemble's classes in its order, as encoded in the member; ``columns`` are
    the columns that the member was fitted on, all if None.
    """

    def __init__(self, wrapped: Any, labels: NDArray[Any], columns: NDArray[Any] | None) -> None:
        self.wrapped = wrapped
        self.labels = labels
        self.columns = columns
        self.classes_ = np.searchsorted(labels, wrapped.classes_)

    def _own_columns(self, X: Any) -> Any:
        return X if self.columns is None else X[:, self.columns]

    def predict(self, X: Any) -> NDArray[np.intp]:
        predicted = self.wrapped.predict(self._own_columns(X))
        return np.asarray(np.searchsorted(self.labels, predicted))

    def predict_proba(self, X: Any) -> Any:
        return self.wrapped.predict_proba(self._own_columns(X))

    def decision_function(self, X: Any) -> Any:
        return self.wrapped.decision_function(self._own_columns(X))


def encoded_members(ensemble: Any) -> list[EncodedMember]:
    """Members of a fitted ensemble; raise ValueError if they do not predict its classes."""
    found: Any = getattr(ensemble, "estimators_", ())
    start = f"ensemble={type(ensemble).__name__} has no members that predict its classes"
    if len(found) == 0 or not isinstance(getattr(ensemble, "classes_", None), np.ndarray):
        raise ValueError(
            f"{start}: it has no estimators_ and classes_ after fit. Use an ensemble of "
            "classifiers, such as AdaBoostClassifier, BaggingClassifier, RandomForestClassifier or "
            "VotingClassifier; for a pipeline, its last step."
        )
    # gradient boosting has an array; a list, since np.ravel would split pipelines
    members = found.ravel().tolist() if isinstance(found, np.ndarray) else list(found)
    others = [type(each).__name__ for each in members if not hasattr(each, "classes_")]
    if others:
        raise ValueError(f"{start}: they are not classifiers ({others[0]}).")
    labels = _member_labels(ensemble, members)
    columns = getattr(ensemble, "estimators_features_", [None] * len(members))
    return [EncodedMember(each, labels, own) for each, own in zip(members, columns, strict=True)]


def _member_labels(ensemble: Any, members: list[Any]) -> NDArray[Any]:
    """Find how the members encode the ensemble's classes: as labels or as indices."""
    labels, indices = ensemble.classes_, np.arange(len(ensemble.classes_))
    seen = np.unique(np.concatenate([np.asarray(member.classes_) for member in members]))
    if np.array_equal(seen, labels):
        return np.asarray(labels)
    from sklearn.ensemble import BaggingClassifier  # noqa: PLC0415  slow to import

    # members fitted on samples need not have all classes
    of_samples = isinstance(ensemble, BaggingClassifier | FusedClassifierMixin)
    if np.array_equal(seen, indices) or of_samples:
        return indices
    raise ValueError(
        f"The members of ensemble={type(ensemble).__name__} have the classes {seen.tolist()}, the "
        f"ensemble {labels.tolist()}. Use an ensemble whose members all predict its classes."
    )


@set_module("ensemblage.fusion")
class MemberStackingClassifier(FusedClassifierMixin, DocLinkMixin, BaseEstimator):
    """Fit an ensemble, then a classifier on its members' outputs.

    Stacking replaces the ensemble's own combination of its members, a vote or a weighted sum.

    Parameters
    ----------
    ensemble : classifier
        An ensemble with ``estimators_`` that are classifiers, such as AdaBoost, bagging, a
        random forest or voting. In a :class:`~sklearn.frozen.FrozenEstimator` it is not refitted;
        see :func:`stack_members`.
    final_estimator : classifier, default=None
        With ``predict_proba`` or ``decision_function``; by default logistic regression.
    random_state : int, RandomState instance or None, default=None
        For the ensemble and the final estimator; by default they keep their own.

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
    stack_members : Stacking for a fitted ensemble.
    ensemblage.strata.StrataEnsembleClassifier : Members on strata, with out-of-fold outputs.

    Notes
    -----
    The final estimator is fitted on the rows that the members were fitted on, as in the HISS
    paper's columns "Bagging (Stacking)" and "AdaBoost (Stacking)". This overrates members that
    overfit their training rows, such as full trees. For an unbiased final estimator, fit the
    ensemble on some rows and call :func:`stack_members` with others.

    Random draws and folds are by position: another order of rows, or copies of rows instead of
    weights, gives another model of similar accuracy. Whether units of columns matter depends on the
    members.

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
    @fit_context(prefer_skip_nested_validation=False)
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
        refuse_missing_targets(y)
        validate_data(self, X, skip_check_array=True)
        weights = {}
        if sample_weight is not None:
            frozen = isinstance(self.ensemble, FrozenEstimator)
            if not frozen and fit_parameter(self.ensemble, "sample_weight") is None:
                raise ValueError(
                    f"sample_weight was given, but {type(self.ensemble).__name__}.fit does not "
                    "take it. Omit sample_weight, or use another ensemble."
                )
            weights = {"sample_weight": read_weights(sample_weight, np.zeros((num_samples(X), 1)))}
        self.ensemble_ = clone(self.ensemble)
        self.fusion_ = clone(Stacking(self.final_estimator))
        if self.random_state is not None:
            ensemble_seed, fusion_seed = draw_seeds(self.random_state, 2)
            set_seed(self.ensemble_, ensemble_seed)
            set_seed(self.fusion_, fusion_seed)
        self.ensemble_.fit(X, y, **weights)
        encoded_members(self._inner())  # raises ValueError if there are none
        self.classes_ = self._inner().classes_
        y = column_or_1d(y)
        check_classification_targets(y)
        given = np.unique(y)
        if not np.array_equal(given, self.classes_):
            raise ValueError(
                f"y has the classes {given.tolist()}, the ensemble {self.classes_.tolist()}. "
                "Stack it on rows of exactly its classes."
            )
        self.fusion_.fit(self._outputs(X), np.searchsorted(self.classes_, y), **weights)
        return self

    def _inner(self) -> Any:
        """Give the fitted ensemble, also if it is frozen."""
        frozen = isinstance(self.ensemble_, FrozenEstimator)
        return self.ensemble_.estimator if frozen else self.ensemble_

    def _outputs(self, X: Any) -> Doubles:
        """Member outputs, of shape (n_members, n_samples, n_classes)."""
        members = encoded_members(self._inner())
        estimators = [member.wrapped for member in members]
        if any(hasattr(each, "feature_names_in_") for each in estimators):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:  # members without column names get an array
            finite = "allow-nan" if get_tags(self).input_tags.allow_nan else True
            X = validate_numbers(
                self, X, accept_sparse=["csr", "csc"], ensure_all_finite=finite, reset=False
            )
        # constant members have no decision values
        varying = [each.wrapped for each in members if not is_constant(each)]
        method = common_response_method(varying or estimators)
        n_classes = len(self.classes_)
        return np.stack([member_outputs(each, X, n_classes, method) for each in members])

    def _returns_probabilities(self) -> bool:
        return Stacking(self.final_estimator).returns_probabilities(from_probabilities=False)

    def _scores(self, X: Any) -> Doubles:
        check_is_fitted(self)
        scores: Doubles = self.fusion_.combine(self._outputs(X))
        return scores

    def _check_fitted(self) -> None:
        same = np.array_equal(self.classes_, self._inner().classes_)
        expect(same, "its classes differ from those of its ensemble")

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
        A fitted ensemble with ``estimators_`` that are classifiers, such as AdaBoost, bagging, a
        random forest or voting. It is not changed.
    X : array-like of shape (n_samples, n_features)
        Rows to fit the final estimator on, preferably not used in the fit of the ensemble.
    y : array-like of shape (n_samples,)
        Their classes, with at least one row of each class of the ensemble.
    final_estimator : classifier, default=None
        With ``predict_proba`` or ``decision_function``; by default logistic regression.
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
