"""A classifier whose probabilities are adapted to a site of which few rows have labels."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
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

from ensemblage.messages import (
    DocLinkMixin,
    expect,
    expect_array,
    expect_fitted,
    listing,
    warn_user,
)
from ensemblage.parallel import fit_parameter, guarded_fit, make_folds, read_weights
from ensemblage.strata._site_calibration import SiteCalibration, as_log_proba, calibrate_site

Doubles = NDArray[np.float64]

TELLING = 2.0
"""A change of fewer standard deviations than these could be chance."""


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
    >>> from ensemblage.strata import RecalibratedClassifier
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

    def __check_state__(self) -> None:
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
    >>> from ensemblage.strata import recalibrate
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
