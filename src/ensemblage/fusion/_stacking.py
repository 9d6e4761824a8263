"""A model on the members' outputs, of our own ensembles and of other libraries'."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeCV
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

from ensemblage._core import (
    DocLinkMixin,
    deal_folds,
    draw_seeds,
    expect,
    fit_parameter,
    guarded_fit,
    read_weights,
    set_module,
    set_seed,
    validate_numbers,
)
from ensemblage.fusion._base import NOTHING_KNOWN, FusedClassifierMixin, Fusion, FusionContext
from ensemblage.fusion._outputs import as_columns, common_response, is_constant, member_outputs

Doubles = NDArray[np.float64]


def stack_features(outputs: Any) -> Doubles:
    """Lay the members' outputs side by side.

    Parameters
    ----------
    outputs : ndarray of shape (n_members, n_samples, n_classes)
        Members' outputs.

    Returns
    -------
    ndarray of shape (n_samples, n_members * n_classes)
        With two classes only the second's output, (n_samples, n_members): the first follows
        from it.
    """
    outputs = np.asarray(outputs)
    if outputs.shape[2] == 2:
        return np.asarray(outputs[:, :, 1].T)
    return np.concatenate(list(outputs), axis=1)


@set_module("ensemblage.fusion")
class Stacking(Fusion):
    """A classifier on the members' outputs.

    Parameters
    ----------
    final_estimator : classifier, default=None
        With ``predict_proba`` or ``decision_function``; logistic regression if not given. A
        linear one on linear members' decision values is one linear classifier again.

    Attributes
    ----------
    final_estimator_ : classifier
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> outputs = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.6, 0.4], [0.4, 0.6]]])
    >>> Stacking().fit(outputs, np.array([0, 1])).combine(outputs).argmax(axis=1)
    array([0, 1])
    """

    learns = True

    def __init__(self, final_estimator: Any = None) -> None:
        self.final_estimator = final_estimator

    def _unfitted(self) -> Any:
        return LogisticRegression() if self.final_estimator is None else self.final_estimator

    def fit(
        self,
        outputs: Doubles | None,
        y: NDArray[np.intp],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> Self:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.final_estimator_ = clone(self._unfitted()).fit(stack_features(outputs), y, **weights)
        return self

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        features = stack_features(outputs)
        if hasattr(self.final_estimator_, "predict_proba"):
            return np.asarray(self.final_estimator_.predict_proba(features))
        return as_columns(self.final_estimator_.decision_function(features))

    def importance(self, n_members: int) -> Doubles | None:
        """Share of the absolute coefficients, where the classifier is linear.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,) or None
            None if the classifier has no coefficients.
        """
        coefficients = getattr(self.final_estimator_, "coef_", None)
        if coefficients is None:
            return None
        size = np.abs(coefficients).mean(axis=0).reshape(n_members, -1).sum(axis=1)
        return np.asarray(size / max(size.sum(), np.finfo(float).tiny))

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        return hasattr(self._unfitted(), "predict_proba")


N_FOLDS = 5


@set_module("ensemblage.fusion")
class DensityMean(Fusion):
    """Mean of members' predictions, with the variance of its residuals.

    Attributes
    ----------
    variance_ : float
        Mean squared residual on rows that the members have not seen.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import DensityMean
    >>> outputs = np.array([[[1.0, 1.0], [2.0, 1.0]], [[3.0, 1.0], [4.0, 1.0]]])
    >>> DensityMean().fit(outputs, np.array([1.0, 3.0])).combine(outputs)
    array([[2. , 0.5],
           [3. , 0.5]])
    """

    learns = True

    def fit(
        self,
        outputs: Doubles | None,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> Self:
        fused = np.asarray(outputs)[:, :, 0].mean(axis=0)
        self.variance_ = _mean_square(fused - y, sample_weight)
        return self

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        return _with_variance(np.asarray(outputs)[:, :, 0].mean(axis=0), self.variance_)

    def _check_fitted(self) -> None:
        """Refuse a variance that no fit makes."""
        expect(bool(0 < self.variance_ < np.inf), "the variance is not above zero")


@set_module("ensemblage.fusion")
class DensityStacking(Fusion):
    """A regressor on the members' predictions, with the variance of its residuals.

    Parameters
    ----------
    final_estimator : regressor, default=None
        Learns from the members' predictions; :class:`~sklearn.linear_model.RidgeCV` if not given.

    Attributes
    ----------
    final_estimator_ : regressor
        Fitted.
    variance_ : float
        Mean squared residual on rows that neither members nor regressor have seen, by five folds.

    See Also
    --------
    Stacking : The same of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.fusion import DensityStacking
    >>> y = np.arange(20.0)
    >>> outputs = np.stack([np.column_stack([y / 2, np.ones(20)])])
    >>> DensityStacking().fit(outputs, y).combine(outputs)[:3, 0].round(1)
    array([0., 1., 2.])
    """

    learns = True

    def __init__(self, final_estimator: Any = None) -> None:
        self.final_estimator = final_estimator

    def fit(
        self,
        outputs: Doubles | None,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> Self:
        said = np.asarray(outputs)[:, :, 0].T
        fused = np.empty(len(y))
        for train, test in deal_folds(np.zeros(len(y), dtype=int), N_FOLDS, _generator()):
            few = None if sample_weight is None else sample_weight[train]
            fused[test] = self._fitted(said[train], y[train], few).predict(said[test])
        self.variance_ = _mean_square(fused - y, sample_weight)
        self.final_estimator_ = self._fitted(said, y, sample_weight)
        return self

    def _fitted(self, said: Doubles, y: Doubles, weights: Doubles | None) -> Any:
        unfitted = RidgeCV() if self.final_estimator is None else self.final_estimator
        name = fit_parameter(unfitted, "sample_weight")
        passed = {} if weights is None or name is None else {name: weights}
        return clone(unfitted).fit(said, y, **passed)

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        fused = self.final_estimator_.predict(np.asarray(outputs)[:, :, 0].T)
        return _with_variance(fused, self.variance_)

    def importance(self, n_members: int) -> Doubles | None:
        """Share of the absolute coefficients, where the regressor is linear.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,) or None
            None if the regressor has no coefficients.
        """
        coefficients = getattr(self.final_estimator_, "coef_", None)
        if coefficients is None:
            return None
        size = np.abs(np.ravel(coefficients))
        return np.asarray(size / max(size.sum(), np.finfo(float).tiny))

    def _check_fitted(self) -> None:
        """Refuse a variance that no fit makes."""
        expect(bool(0 < self.variance_ < np.inf), "the variance is not above zero")


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)


def _mean_square(residuals: Doubles, weights: Doubles | None) -> float:
    """Mean squared residual, above zero."""
    found = float(np.average(residuals**2, weights=weights))
    return max(found, np.finfo(float).tiny)


def _with_variance(means: Doubles, variance: float) -> Doubles:
    return np.column_stack([means, np.full(len(means), variance)])


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


@set_module("ensemblage.fusion")
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

    def _outputs(self, X: Any) -> Doubles:
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

    def _scores(self, X: Any) -> Doubles:
        check_is_fitted(self)
        scores: Doubles = self.fusion_.combine(self._outputs(X))
        return scores

    def _check_fitted(self) -> None:
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
