"""Calibration of a model in one source, and intercepts for known ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_predict
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_y,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
)

from ensemblage._core import (
    DocLinkMixin,
    Fold,
    expect,
    expect_array,
    expect_fitted,
    fit_parameter,
    guarded_fit,
    listing,
    make_folds,
    read_weights,
    set_module,
    warn_user,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]


SMALLEST = 1e-12
LOG_ODDS_OF_NONE = np.log(2)
"""Before any row is seen, no change is twice as likely as one."""


class CalibrationPrior(NamedTuple):
    """Standard deviations of a site's log slope and of its offsets, before any row is seen."""

    slope: float = 0.4
    offset: float = 1.0


class SiteCalibration(NamedTuple):
    """A slope and an offset per class, which add up to zero, and how sure they are.

    The covariance is of the log slope, then of the offsets; ``chance`` is that of a change at all,
    and ``log_evidence`` the log probability of the labels, whatever the change.
    """

    slope: float
    offsets: Doubles
    covariance: Doubles
    chance: float = 1.0
    log_evidence: float = 0.0

    def cautious(self) -> SiteCalibration:
        """Draw slope and offsets towards no change, by the chance that there is one."""
        return self._replace(
            slope=float(self.slope**self.chance), offsets=self.chance * self.offsets, chance=1.0
        )

    def log_proba(self, log_proba: Doubles) -> Doubles:
        """Give calibrated log probabilities."""
        return np.asarray(log_softmax(self.slope * log_proba + self.offsets, axis=1))

    @property
    def deviations(self) -> Doubles:
        """Log slope and offsets, in standard deviations from no change."""
        values = np.concatenate([[np.log(self.slope)], self.offsets])
        return np.asarray(values / np.sqrt(np.diag(self.covariance)))


def as_log_proba(probabilities: Doubles) -> Doubles:
    """Take logs of probabilities, none below 1e-12."""
    found = np.asarray(probabilities, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError(
            "The estimator's probabilities are not all numbers, which happens where its columns "
            "are too large for it. Scale them first, for instance with StandardScaler."
        )
    logs = np.log(np.clip(found, SMALLEST, None))
    return np.asarray(log_softmax(logs, axis=1))


def calibrate_site(
    log_proba: Doubles,
    labels: NDArray[np.intp],
    weights: Doubles,
    prior: CalibrationPrior = CalibrationPrior(),  # noqa: B008  a constant
) -> SiteCalibration:
    r"""Find slope b and offsets a of a site by their posterior mode.

    .. math:: -\sum_m w_m \log \mathrm{softmax}(b \log p_m + a)_{y_m} +
        \frac{(\log b)^2}{2 \sigma_b^2} + \frac{\|a\|^2}{2 \sigma_a^2}

    The covariance is that of the normal distribution with the same mode and Fisher information.
    """
    each, n_classes = np.arange(len(labels)), log_proba.shape[1]
    if n_classes == 1:
        return SiteCalibration(1.0, np.zeros(1), np.eye(2))
    precision = np.full(n_classes + 1, prior.offset**-2.0)
    precision[0] = prior.slope**-2.0

    def loss(values: Doubles) -> tuple[float, Doubles]:
        stretched = np.exp(values[0]) * log_proba
        log_p = log_softmax(stretched + values[1:], axis=1)
        gap = np.exp(log_p)
        gap[each, labels] -= 1
        gap *= weights[:, None]
        slope = np.append((gap * stretched).sum(), gap.sum(axis=0)) + precision * values
        value = -weights @ log_p[each, labels] + 0.5 * precision @ values**2
        return float(value), slope

    best = minimize(loss, np.zeros(n_classes + 1), jac=True, method="L-BFGS-B").x
    covariance = np.linalg.inv(_information(log_proba, weights, best) + np.diag(precision))
    # by Laplace's approximation
    volume = 0.5 * (np.linalg.slogdet(covariance)[1] + np.log(precision).sum())
    evidence = float(volume - loss(best)[0])
    chance = float(expit(evidence + loss(np.zeros(n_classes + 1))[0] - LOG_ODDS_OF_NONE))
    slope = float(np.exp(best[0]))
    return SiteCalibration(slope, best[1:], _centred(covariance), chance, evidence)


def _centred(covariance: Doubles) -> Doubles:
    """Leave out what all offsets have in common, of which no row can tell."""
    n_classes = len(covariance) - 1
    centre = np.eye(n_classes + 1)
    centre[1:, 1:] -= 1 / n_classes
    return np.asarray(centre @ covariance @ centre.T)


def _information(log_proba: Doubles, weights: Doubles, values: Doubles) -> Doubles:
    """Fisher information of log slope and offsets."""
    stretched = np.exp(values[0]) * log_proba
    shares = np.exp(log_softmax(stretched + values[1:], axis=1))
    # each class's score moves by its stretched log probability, and by its own offset
    centred = stretched - (shares * stretched).sum(axis=1, keepdims=True)
    n_classes = log_proba.shape[1]
    out = np.zeros((n_classes + 1, n_classes + 1))
    weighted = weights[:, None] * shares
    out[0, 0] = (weighted * centred * stretched).sum()
    out[0, 1:] = out[1:, 0] = (weighted * centred).sum(axis=0)
    out[1:, 1:] = np.diag(weighted.sum(axis=0)) - weighted.T @ shares
    return out


TELLING = 2.0
"""A change of fewer standard deviations than these could be chance."""


@set_module("ensemblage.sources")
class RecalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, DocLinkMixin, BaseEstimator):
    r"""Probabilities of a classifier, shifted and stretched to what the rows say.

    For a model that comes from elsewhere use :func:`recalibrate`.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``. A ``FrozenEstimator`` is taken as it is; any other is fitted, and
        calibrated on rows that it has not seen.
    cv : int, splitter or iterable, default=5
        Folds by which rows are held out.

    Attributes
    ----------
    slope_ : float
        What log probabilities are multiplied by; below 1 the model was too sure.
    offsets_ : ndarray of shape (n_classes,)
        What is then added to each class's.
    deviations_ : ndarray of shape (n_classes + 1,)
        Log slope and offsets, in standard deviations from no change.
    telling_ : bool
        Whether one of them is more than chance would make of so few rows.
    estimator_ : classifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    n_features_in_ : int
        Number of features, if the estimator tells it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the estimator tells them.

    Notes
    -----
    The slope b and the offsets a are the mode of

    .. math:: \sum_m w_m \log \mathrm{softmax}(b \log p_m + a)_{y_m} -
        \frac{(\log b)^2}{2 \cdot 0.4^2} - \frac{\|a\|^2}{2},

    drawn towards no change by the chance that there is one, which the rows' evidence tells. So
    few rows change little, and a class that they do not have keeps a probability.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from ensemblage.sources import RecalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> RecalibratedClassifier(GaussianNB()).fit(X, y).slope_ < 0.5     # much too sure
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
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn slope and offsets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; whatever the estimator takes.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted classifier.
        """
        labels = _check_y(column_or_1d(y, warn=True), estimator=self)
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        weights = read_weights(sample_weight, labels[:, None])
        if isinstance(self.estimator, FrozenEstimator):
            self.estimator_ = self.estimator
            shares = self.estimator.predict_proba(X)
        else:
            shares = self._fit_and_predict(X, labels, None if sample_weight is None else weights)
        self.classes_ = np.asarray(self.estimator_.classes_)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        codes = _codes(labels, self.classes_)
        found = calibrate_site(as_log_proba(shares), codes, weights).cautious()
        self.slope_, self.offsets_ = found.slope, found.offsets
        self.deviations_ = found.deviations
        self.telling_ = bool((np.abs(found.deviations) >= TELLING).any())
        return self

    def _fit_and_predict(self, X: Any, labels: NDArray[Any], weights: Doubles | None) -> Doubles:
        """Fit on all rows; give probabilities of rows that were held out."""
        name = fit_parameter(self.estimator, "sample_weight") if weights is not None else None
        if weights is not None and name is None:
            raise TypeError(
                f"{type(self.estimator).__name__} takes no sample_weight: leave it out, or take "
                "another estimator."
            )
        params: dict[Any, Any] = {} if name is None else {name: weights}
        self.estimator_ = clone(self.estimator).fit(X, labels, **params)
        if len(self.estimator_.classes_) < 2 or len(np.unique(labels)) < 2:
            return np.asarray(self.estimator_.predict_proba(X))
        with warnings.catch_warnings():
            # a class of one row is unknown where that row is held out, and keeps a probability
            warnings.filterwarnings("ignore", message="Number of classes in training fold")
            shares = cross_val_predict(
                self.estimator, X, labels, cv=self._folds(labels), method="predict_proba",
                params=params,
            )  # fmt: skip
        return np.asarray(shares)

    def _folds(self, labels: NDArray[Any]) -> Any:
        if not isinstance(self.cv, Integral):
            return self.cv
        rarest = int(np.unique(labels, return_counts=True)[1].min())
        return make_folds(labels, max(2, min(int(self.cv), rarest)), 0)

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
        change = SiteCalibration(self.slope_, self.offsets_, np.zeros((0, 0)))
        return np.asarray(np.exp(change.log_proba(logs)))

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
        """Refuse a change that no fit makes."""
        expect_array(self, "offsets_", (len(self.classes_),))
        expect_fitted(self, {"deviations_": "float (*)", "telling_": "flag"})
        same = np.array_equal(self.classes_, self.estimator_.classes_)
        expect(same, "its classes are not its estimator's")
        expect(0 < float(self.slope_) < np.inf, "slope_ is not positive")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        return tags


def recalibrate(model: Any, X: Any, y: Any, sample_weight: Any = None) -> RecalibratedClassifier:
    """Adapt a fitted classifier to a site, from as few as twenty labelled rows.

    Parameters
    ----------
    model : classifier
        Fitted elsewhere, with ``predict_proba``; it stays as it is.
    X : array-like of shape (n_samples, n_features)
        Rows of the site.
    y : array-like of shape (n_samples,)
        Their classes, among the model's.
    sample_weight : array-like of shape (n_samples,), default=None
        Row weights.

    Returns
    -------
    RecalibratedClassifier
        The model with a slope and an offset per class, both drawn towards no change; it warns if
        the rows are too few to say that there is any.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.sources import recalibrate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> model = LogisticRegression().fit(X, X[:, 0] + rng.logistic(size=500) > 0)
    >>> site = X[:50]                       # here far more rows are positive
    >>> adapted = recalibrate(model, site, site[:, 0] + rng.logistic(size=50) > -2)
    >>> adapted.offsets_.round(1)
    array([-0.7,  0.7])
    """
    check_is_fitted(model)
    adapted: RecalibratedClassifier = RecalibratedClassifier(FrozenEstimator(model))
    adapted.fit(X, y, sample_weight)
    if not adapted.telling_:
        warn_user(
            f"{_num_samples(X)} labelled rows do not tell the site from what the model expects; "
            "its probabilities are hardly changed.",
        )
    return adapted


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Find labels among the model's classes."""
    position = {label: code for code, label in enumerate(classes.tolist())}
    strange = sorted({str(each) for each in labels.tolist() if each not in position})
    if strange:
        raise ValueError(
            f"y holds classes that the model does not know: {listing(strange)}. It knows: "
            f"{listing(map(str, classes.tolist()))}."
        )
    return np.array([position[each] for each in labels.tolist()], dtype=np.intp)


RIDGES = (1.0, 4.0, 16.0, float("inf"))
r"""Pulls :math:`\nu` towards no offsets to choose from; infinity leaves none."""


class Spoken(NamedTuple):
    """Log probabilities of rows, (n_rows, n_classes), their classes, sources and weights."""

    log_proba: Doubles
    y: Indices
    sources: Integers
    weights: Doubles

    def take(self, rows: Indices) -> Spoken:
        """Give some of the rows."""
        return Spoken(self.log_proba[rows], self.y[rows], self.sources[rows], self.weights[rows])

    def shifted(self, offsets: Doubles) -> Doubles:
        """Give log probabilities with their sources' offsets."""
        return np.asarray(log_softmax(self.log_proba + offsets[self.sources], axis=1))

    def loss(self, offsets: Doubles) -> float:
        """Give the log loss, summed."""
        log_p = self.shifted(offsets)
        return float(-self.weights @ log_p[np.arange(len(self.y)), self.y])


def spoken(proba: Doubles, y: Indices, sources: Integers, weights: Doubles | None) -> Spoken:
    """Take logs of probabilities, none below 1e-12; rows without weights count the same."""
    given = np.ones(len(y)) if weights is None else weights
    return Spoken(np.log(np.maximum(proba, SMALLEST)), y, sources, given)


def fit_offsets(rows: Spoken, n_sources: int, ridge: float) -> Doubles:
    """Find all sources' offsets, (n_sources, n_classes); those of a source add up to zero."""
    shape = (n_sources, rows.log_proba.shape[1])
    if not np.isfinite(ridge):
        return np.zeros(shape)
    each = np.arange(len(rows.y))

    def loss(values: Doubles) -> tuple[float, Doubles]:
        offsets = values.reshape(shape)
        log_p = rows.shifted(offsets)
        gap = np.exp(log_p)
        gap[each, rows.y] -= 1
        gap *= rows.weights[:, None]
        slope = np.stack([np.bincount(rows.sources, column, n_sources) for column in gap.T], axis=1)
        value = -rows.weights @ log_p[each, rows.y] + ridge * float(values @ values)
        return float(value), (slope + 2 * ridge * offsets).ravel()

    options: Any = {"ftol": 1e-14, "gtol": 1e-8}
    best = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(best.x.reshape(shape))


def choose_ridge(rows: Spoken, n_sources: int, folds: Sequence[Fold]) -> float:
    """Take the pull with the least loss on rows that offsets have not seen; of equals the most."""
    losses = {
        ridge: sum(
            rows.take(fold.test).loss(fit_offsets(rows.take(fold.train), n_sources, ridge))
            for fold in folds
        )
        for ridge in reversed(RIDGES)
    }
    return min(losses, key=losses.__getitem__)
