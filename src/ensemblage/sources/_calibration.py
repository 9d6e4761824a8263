"""Calibration of a model at one source, and intercepts for known sources."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_predict
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ensemblage._core import (
    PROBABILITY_FLOOR,
    DocLinkMixin,
    Fold,
    HasMethods,
    check_y,
    count,
    expect,
    expect_array,
    expect_fitted,
    fit_context,
    fit_parameter,
    guarded_fit,
    listing,
    make_folds,
    num_samples,
    read_weights,
    refuse_missing_targets,
    set_module,
    warn_user,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]

PRIOR_LOG_ODDS_UNCHANGED = np.log(2)
"""Prior log-odds of no change against a change."""
VALUE_PENALTIES = np.array([1.0, 4.0])
"""On the shift of a numeric prediction and on its slope in standard deviations, in rows."""
Z_THRESHOLD = 2.0
"""Standard deviations below which a change is not significant."""
INTERCEPT_PENALTIES = (1.0, 4.0, 16.0, float("inf"))
r"""Penalties :math:`\nu` on a source's intercepts to choose from; infinity means no intercepts."""


class CalibrationPrior(NamedTuple):
    """Prior standard deviations of a source's log slope and of its intercepts."""

    slope: float = 0.4
    intercept: float = 1.0


class Calibration(NamedTuple):
    """A slope and an intercept per class, which add up to zero, and their covariance.

    The covariance is of the log slope and the intercepts, in this order; ``probability_of_change``
    is the posterior probability of any change, ``log_evidence`` the log marginal likelihood.
    """

    slope: float
    intercepts: Doubles
    covariance: Doubles
    probability_of_change: float = 1.0
    log_evidence: float = 0.0

    def shrunken(self) -> Calibration:
        """Shrink slope and intercepts towards no change, by the probability of one."""
        p = self.probability_of_change
        return self._replace(
            slope=float(self.slope**p), intercepts=p * self.intercepts, probability_of_change=1.0
        )

    def log_proba(self, log_proba: Doubles) -> Doubles:
        """Give calibrated log probabilities."""
        return np.asarray(log_softmax(self.slope * log_proba + self.intercepts, axis=1))

    @property
    def z_scores(self) -> Doubles:
        """Log slope and intercepts, in standard deviations from no change."""
        values = np.concatenate([[np.log(self.slope)], self.intercepts])
        return np.asarray(values / np.sqrt(np.diag(self.covariance)))


def as_log_proba(probabilities: Doubles) -> Doubles:
    """Give log probabilities, clipped at 1e-12."""
    found = np.asarray(probabilities, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError(
            "The estimator's probabilities are not all finite; its features may be too large. "
            "Scale them first, for instance with StandardScaler."
        )
    logs = np.log(np.clip(found, PROBABILITY_FLOOR, None))
    return np.asarray(log_softmax(logs, axis=1))


def fit_calibration(
    log_proba: Doubles,
    labels: NDArray[np.intp],
    weights: Doubles,
    prior: CalibrationPrior = CalibrationPrior(),  # noqa: B008  a constant
) -> Calibration:
    r"""Fit slope b and intercepts a of a source by their posterior mode.

    .. math:: -\sum_m w_m \log \mathrm{softmax}(b \log p_m + a)_{y_m} +
        \frac{(\log b)^2}{2 \sigma_b^2} + \frac{\|a\|^2}{2 \sigma_a^2}

    The covariance is that of Laplace's approximation with the Fisher information.
    """
    each, n_classes = np.arange(len(labels)), log_proba.shape[1]
    if n_classes == 1:
        return Calibration(1.0, np.zeros(1), np.eye(2))
    precision = np.full(n_classes + 1, prior.intercept**-2.0)
    precision[0] = prior.slope**-2.0

    def loss(values: Doubles) -> tuple[float, Doubles]:
        stretched = np.exp(values[0]) * log_proba
        log_p = log_softmax(stretched + values[1:], axis=1)
        residual = np.exp(log_p)
        residual[each, labels] -= 1
        residual *= weights[:, None]
        gradient = np.append((residual * stretched).sum(), residual.sum(axis=0))
        gradient += precision * values
        value = -weights @ log_p[each, labels] + 0.5 * precision @ values**2
        return float(value), gradient

    best = minimize(loss, np.zeros(n_classes + 1), jac=True, method="L-BFGS-B").x
    covariance = np.linalg.inv(_fisher_information(log_proba, weights, best) + np.diag(precision))
    # by Laplace's approximation
    log_volume = 0.5 * (np.linalg.slogdet(covariance)[1] + np.log(precision).sum())
    evidence = float(log_volume - loss(best)[0])
    log_odds = evidence + loss(np.zeros(n_classes + 1))[0] - PRIOR_LOG_ODDS_UNCHANGED
    # the common level of the intercepts is not identified
    centre = np.eye(n_classes + 1)
    centre[1:, 1:] -= 1 / n_classes
    centred = np.asarray(centre @ covariance @ centre.T)
    slope = float(np.exp(best[0]))
    return Calibration(slope, best[1:], centred, float(expit(log_odds)), evidence)


def _fisher_information(log_proba: Doubles, weights: Doubles, values: Doubles) -> Doubles:
    """Fisher information of the log slope and the intercepts, ``values``."""
    stretched = np.exp(values[0]) * log_proba
    proba = np.exp(log_softmax(stretched + values[1:], axis=1))
    # each class's score moves by its stretched log probability, and by its own intercept
    centred = stretched - (proba * stretched).sum(axis=1, keepdims=True)
    n_classes = log_proba.shape[1]
    out = np.zeros((n_classes + 1, n_classes + 1))
    weighted = weights[:, None] * proba
    out[0, 0] = (weighted * centred * stretched).sum()
    out[0, 1:] = out[1:, 0] = (weighted * centred).sum(axis=0)
    out[1:, 1:] = np.diag(weighted.sum(axis=0)) - weighted.T @ proba
    return out


class ValueCalibration(NamedTuple):
    """Shift of predictions at their mean, slope around it, and their covariance."""

    shift: float
    slope: float
    centre: float
    covariance: Doubles
    probability_of_change: float

    def shrunken(self) -> Doubles:
        """Give shift, slope and centre, shrunk by the probability of a change."""
        p = self.probability_of_change
        return np.array([p * self.shift, 1 + p * (self.slope - 1), self.centre])


def fit_value_calibration(predicted: Doubles, y: Doubles, weights: Doubles) -> ValueCalibration:
    r"""Fit shift a and slope 1 + b of predictions p with mean m and standard deviation s.

    .. math:: \sum_i w_i (y_i - p_i - a - b (p_i - m))^2 + a^2 + 4 b^2 s^2

    The probability of a change is that by the marginal likelihoods, with normal priors of a and b
    in units of the residual standard deviation, which is integrated out; its prior is one third.
    """
    n_rows = float(weights.sum())
    centre = float(np.average(predicted, weights=weights))
    scale = float(np.sqrt(np.average((predicted - centre) ** 2, weights=weights)))
    scale = scale if scale > 1e-12 * abs(centre) else 1.0
    rows = np.column_stack([np.ones(len(y)), (predicted - centre) / scale])
    residual = y - predicted
    gram = (rows * weights[:, None]).T @ rows + np.diag(VALUE_PENALTIES)
    moments = rows.T @ (weights * residual)
    mode = np.linalg.solve(gram, moments)
    tiny = np.finfo(float).tiny
    before = float(weights @ residual**2) + tiny
    after = max(before - float(mode @ moments), tiny)
    volume = 0.5 * (np.log(VALUE_PENALTIES).sum() - np.linalg.slogdet(gram)[1])
    log_odds = volume + 0.5 * n_rows * np.log(before / after) - PRIOR_LOG_ODDS_UNCHANGED
    units = np.array([1.0, 1 / scale])
    sds = float(np.sqrt(after / n_rows)) * units  # before they are squared, as units may be huge
    covariance = np.linalg.inv(gram) * np.outer(sds, sds)
    shift, change = (mode * units).tolist()
    return ValueCalibration(shift, 1 + change, centre, covariance, float(expit(log_odds)))


def class_codes(labels: NDArray[Any], classes: NDArray[Any]) -> Indices:
    """Give the positions of labels among the classes of a model; refuse new classes."""
    position = {label: code for code, label in enumerate(classes.tolist())}
    unknown = sorted({str(each) for each in labels.tolist() if each not in position})
    if unknown:
        raise ValueError(
            f"y holds classes that are not among the model's classes_: {listing(unknown)}. "
            f"Expected some of {listing(map(str, classes.tolist()))}."
        )
    return np.array([position[each] for each in labels.tolist()], dtype=np.intp)


@set_module("ensemblage.sources")
class RecalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, DocLinkMixin, BaseEstimator):
    r"""A classifier whose probabilities are recalibrated by a slope and an intercept per class.

    To adapt a fitted model to a new source use :func:`recalibrate`.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``. A ``FrozenEstimator`` is not fitted again; any other is fitted, and
        calibrated on its out-of-fold probabilities.
    cv : int, splitter or iterable, default=5
        Folds for the out-of-fold probabilities.

    Attributes
    ----------
    slope_ : float
        Calibration slope, by which log probabilities are multiplied; below 1 the model was
        overconfident.
    intercepts_ : ndarray of shape (n_classes,)
        Calibration intercept of each class, added to the log probabilities.
    z_scores_ : ndarray of shape (n_classes + 1,)
        Log slope and intercepts, as shrunk, in standard deviations from no change.
    significant_ : bool
        Whether one of them is at least two standard deviations from no change.
    estimator_ : classifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    n_features_in_ : int
        Number of features, if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the estimator has them.

    Notes
    -----
    The slope b and the intercepts a are the mode of

    .. math:: \sum_m w_m \log \mathrm{softmax}(b \log p_m + a)_{y_m} -
        \frac{(\log b)^2}{2 \cdot 0.4^2} - \frac{\|a\|^2}{2},

    shrunk towards no change by the posterior probability of a change. Few rows change little, and
    a class without rows keeps a positive probability.

    Random draws and folds are by position: another order of rows, or copies of rows instead of
    weights, gives another model of similar accuracy. Whether units of columns matter depends on the
    estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from ensemblage.sources import RecalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> RecalibratedClassifier(GaussianNB()).fit(X, y).slope_ < 0.5     # overconfident
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"])],
        "cv": ["cv_object"],
    }

    def __init__(self, estimator: Any, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit slope and intercepts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted classifier.
        """
        logs, codes, weights = self._fit_estimator(X, y, sample_weight)
        self._store(fit_calibration(logs, codes, weights).shrunken())
        return self

    def _fit_estimator(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Doubles, Indices, Doubles]:
        """Fit the estimator; give log probabilities, codes of the classes, and weights."""
        refuse_missing_targets(y)
        labels = check_y(column_or_1d(y, warn=True), estimator=self)
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        weights = read_weights(sample_weight, labels[:, None])
        if isinstance(self.estimator, FrozenEstimator):
            self.estimator_ = self.estimator
            proba = self.estimator.predict_proba(X)
        else:
            proba = self._fit_and_predict(X, labels, None if sample_weight is None else weights)
        self.classes_ = np.asarray(self.estimator_.classes_)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return as_log_proba(proba), class_codes(labels, self.classes_), weights

    def _store(self, found: Calibration) -> None:
        self.slope_, self.intercepts_, self.z_scores_ = (
            found.slope,
            found.intercepts,
            found.z_scores,
        )
        self.significant_ = bool((np.abs(found.z_scores) >= Z_THRESHOLD).any())

    def _fit_and_predict(self, X: Any, labels: NDArray[Any], weights: Doubles | None) -> Doubles:
        """Fit on all rows; give out-of-fold probabilities."""
        name = fit_parameter(self.estimator, "sample_weight") if weights is not None else None
        if weights is not None and name is None:
            raise TypeError(
                f"{type(self.estimator).__name__} does not support sample_weight: omit it, or use "
                "another estimator."
            )
        params: dict[Any, Any] = {} if name is None else {name: weights}
        self.estimator_ = clone(self.estimator).fit(X, labels, **params)
        if len(self.estimator_.classes_) < 2 or len(np.unique(labels)) < 2:
            return np.asarray(self.estimator_.predict_proba(X))
        folds = self.cv
        if isinstance(self.cv, Integral):
            rarest = int(np.unique(labels, return_counts=True)[1].min())
            folds = make_folds(labels, max(2, min(int(self.cv), rarest)), 0)
        with warnings.catch_warnings():
            # a class of one row is not in training in its own fold, and has probability zero there
            warnings.filterwarnings("ignore", message="Number of classes in training fold")
            proba = cross_val_predict(
                self.estimator, X, labels, cv=folds, method="predict_proba", params=params
            )
        return np.asarray(proba)

    def predict_proba(self, X: Any) -> Doubles:
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        logs = as_log_proba(self.estimator_.predict_proba(X))
        return np.asarray(np.exp(log_softmax(self.slope_ * logs + self.intercepts_, axis=1)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _check_fitted(self) -> None:
        expect_array(self, "intercepts_", (len(self.classes_),))
        expect_fitted(self, {"z_scores_": "float (*)", "significant_": "flag"})
        same = np.array_equal(self.classes_, self.estimator_.classes_)
        expect(same, "its classes are not its estimator's")
        expect(0 < float(self.slope_) < np.inf, "slope_ is not positive")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def recalibrate(model: Any, X: Any, y: Any, sample_weight: Any = None) -> RecalibratedClassifier:
    """Adapt a fitted classifier to a new source, from as few as twenty labelled rows.

    Parameters
    ----------
    model : classifier
        Fitted at other sources, with ``predict_proba``; it is not changed.
    X : array-like of shape (n_samples, n_features)
        Rows of the source.
    y : array-like of shape (n_samples,)
        Their classes, from the model's ``classes_``.
    sample_weight : array-like of shape (n_samples,), default=None
        Row weights.

    Returns
    -------
    RecalibratedClassifier
        The model with a slope and an intercept per class, both shrunk towards no change. A
        warning is given if no change is significant.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.sources import recalibrate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> model = LogisticRegression().fit(X, X[:, 0] + rng.logistic(size=500) > 0)
    >>> site = X[:50]                       # a site with far more positive rows
    >>> adapted = recalibrate(model, site, site[:, 0] + rng.logistic(size=50) > -2)
    >>> adapted.intercepts_.round(1)
    array([-0.7,  0.7])
    """
    check_is_fitted(model)
    adapted: RecalibratedClassifier = RecalibratedClassifier(FrozenEstimator(model))
    adapted.fit(X, y, sample_weight)
    if not adapted.significant_:
        warn_user(
            f"No significant miscalibration in {count(num_samples(X), 'labelled row')}: the change "
            "of the probabilities may be due to chance.",
        )
    return adapted


def add_intercepts(log_proba: Doubles, sources: Integers, intercepts: Doubles) -> Doubles:
    """Add the sources' intercepts, (n_sources, n_classes), to log probabilities of rows.

    With ``sources`` of shape (n_rows, n_levels) the intercepts of a row's levels are added up.
    """
    added = intercepts[sources]
    return np.asarray(log_softmax(log_proba + (added if added.ndim == 2 else added.sum(1)), axis=1))


def fit_intercepts(
    log_proba: Doubles,
    y: Indices,
    sources: Integers,
    weights: Doubles,
    n_sources: int,
    penalty: float,
) -> Doubles:
    """Fit all sources' intercepts, (n_sources, n_classes); those of a source add up to zero.

    With several levels of ``sources``, (n_rows, n_levels), each code has intercepts of its own.
    """
    shape = (n_sources, log_proba.shape[1])
    if not np.isfinite(penalty):
        return np.zeros(shape)
    each, levels = np.arange(len(y)), np.atleast_2d(sources.T)

    def loss(values: Doubles) -> tuple[float, Doubles]:
        intercepts = values.reshape(shape)
        log_p = add_intercepts(log_proba, sources, intercepts)
        residual = np.exp(log_p)
        residual[each, y] -= 1
        residual *= weights[:, None]
        sums = [sum(np.bincount(own, column, n_sources) for own in levels) for column in residual.T]
        value = -weights @ log_p[each, y] + penalty * float(values @ values)
        return float(value), (np.stack(sums, axis=1) + 2 * penalty * intercepts).ravel()

    options: Any = {"ftol": 1e-14, "gtol": 1e-8}
    best = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(best.x.reshape(shape))


def choose_intercept_penalty(
    log_proba: Doubles,
    y: Indices,
    sources: Integers,
    weights: Doubles,
    n_sources: int,
    folds: Sequence[Fold],
) -> float:
    """Choose the penalty with the lowest out-of-fold log loss; of ties the largest."""

    def fold_loss(fold: Fold, penalty: float) -> float:
        train, test = fold
        learned = (log_proba[train], y[train], sources[train], weights[train])
        intercepts = fit_intercepts(*learned, n_sources, penalty)
        log_p = add_intercepts(log_proba[test], sources[test], intercepts)
        return float(-weights[test] @ log_p[np.arange(len(test)), y[test]])

    losses = {
        penalty: sum(fold_loss(fold, penalty) for fold in folds)
        for penalty in reversed(INTERCEPT_PENALTIES)
    }
    return min(losses, key=losses.__getitem__)
