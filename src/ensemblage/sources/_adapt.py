"""Adaptation of a fitted model to a new source, from few labelled rows or from rows alone."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack
from scipy.special import log_softmax
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ensemblage._core import (
    MINUS,
    DocLinkMixin,
    HasMethods,
    as_numbers,
    check_y,
    count,
    deal_folds,
    expect,
    expect_array,
    expect_fitted,
    final_step,
    fit_context,
    fit_parameter,
    guarded_fit,
    listing,
    num_samples,
    read_weights,
    refuse_missing_targets,
    safe_indexing,
    set_module,
    suggestion,
    write_number,
)
from ensemblage.datasets import read_columns
from ensemblage.sources._calibration import (
    Z_THRESHOLD,
    Calibration,
    RecalibratedClassifier,
    as_log_proba,
    class_codes,
    fit_calibration,
    fit_value_calibration,
)
from ensemblage.sources._partial_pooling import Z_95
from ensemblage.sources._source_codes import (
    encode_sources,
    outer_sources,
    source_folds,
    split_fitted_column,
    split_source_column,
)

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]
Integers = NDArray[np.int64]

NEW_SOURCE = "new source"
SITE_SHARE = 0.15
"""Total weight of the new source's rows in a refit, as a share of the training rows."""
SHRINKAGE_ROWS = 25.0
"""Rows of all sources that a source's own moments are averaged with."""
MIN_GAIN = 0.01
"""Of log loss, or of the squared error as a share of the variance, for columns to be normalised."""
MIN_SOURCES = 3
MAX_LEFT_OUT_FOLDS = 10
MIN_CV_ROWS = 10
CV_FOLDS = 5
MAX_LISTED_CLASSES = 6


class BaseAdapted:
    """Shared by classifier and regressor: the refitted model, and the report."""

    estimator: Any
    refitted: Any
    source_name: Any
    estimator_: Any
    share_: float
    n_rows_: int
    cv_change_: Any
    summary_: str

    def _refitted_outputs(self, X: Any, method: str) -> Any:
        """Give outputs of the refitted model, to which all rows are of the new source."""
        rows = split_fitted_column(X, None, _source_column(self.estimator_))[0]
        function = getattr(self.refitted, method)
        if self.source_name is None:
            return function(rows)
        nested = np.ndim(_fitted_sources(self.refitted)) == 2
        return function(rows, sources=_named(self.source_name, num_samples(rows), nested=nested))

    def _refit_note(self) -> str:
        if self.refitted is None:
            return ""
        how = "with a weight" if self.source_name is None else "as a source of their own"
        return f" The model was also fitted again with these rows {how}; the mean of both is used."

    def _check_common(self) -> None:
        rules = {"share_": "number 0..1", "n_rows_": "count 1..", "summary_": "string"}
        expect_fitted(self, {**rules, "cv_change_": "optional number"})
        known = self.source_name is None or isinstance(self.source_name, str)
        expect(known, "source_name is no string")
        frozen = self.refitted is None or isinstance(self.refitted, FrozenEstimator)
        expect(frozen, "refitted is no fitted model")


@set_module("ensemblage.sources")
class AdaptedClassifier(BaseAdapted, RecalibratedClassifier):
    r"""A classifier that is adapted to a new source; :func:`adapt` makes one.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``. A ``FrozenEstimator`` is not fitted again; any other is fitted, and
        recalibrated on its out-of-fold probabilities.
    refitted : FrozenEstimator, default=None
        The model fitted again to training rows and those of the new source.
    source_name : str, default=None
        Name of the new source in the refitted model, if that takes sources.
    cv : int, splitter or iterable, default=5
        Folds for the out-of-fold probabilities.

    Attributes
    ----------
    share_ : float
        Share of the change that is made: the posterior probability that calibration has changed.
    slope_ : float
        Calibration slope, by which log probabilities are multiplied.
    intercepts_ : ndarray of shape (n_classes,)
        Calibration intercept of each class, added to the log probabilities.
    intervals_ : ndarray of shape (n_classes + 1, 2)
        95 % limits of the slope and of the intercepts, before they are shrunk.
    z_scores_ : ndarray of shape (n_classes + 1,)
        Log slope and intercepts, as shrunk, in standard deviations from no change.
    significant_ : bool
        Whether one of them is at least two standard deviations from no change.
    n_rows_ : int
        Labelled rows of the source.
    class_counts_ : ndarray of shape (n_classes,)
        Their number by class.
    cv_change_ : float or None
        Change of the log loss by recalibration alone, on rows of the source in five folds; None
        with fewer than ten rows.
    summary_ : str
        What the rows tell, in words.
    estimator_ : classifier
        The model that is adapted.
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    n_features_in_ : int
        Number of features, if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the estimator has them.

    See Also
    --------
    RecalibratedClassifier : Recalibration alone.

    Notes
    -----
    With log probabilities :math:`\ell` of the model, :math:`\ell_c` recalibrated as by
    :class:`RecalibratedClassifier`, and :math:`\ell_r` of the refitted model, probabilities are
    proportional to

    .. math:: \exp\left((1 - \pi)\, \ell + \pi\, (\ell_c + \ell_r) / 2\right),

    with :math:`\pi` the posterior probability of a change of the calibration; without a refitted
    model :math:`\ell_c` takes the place of the mean.

    Random folds are by position: another order of rows, or copies of rows instead of weights, may
    give another fit, unless the estimator is frozen.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from ensemblage.sources import AdaptedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> AdaptedClassifier(GaussianNB()).fit(X, y).slope_ < 0.5     # overconfident
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RecalibratedClassifier._parameter_constraints,  # noqa: SLF001
        "refitted": [FrozenEstimator, None],
        "source_name": [str, None],
    }

    def __init__(
        self, estimator: Any, refitted: Any = None, *, source_name: Any = None, cv: Any = 5
    ) -> None:
        super().__init__(estimator, cv=cv)
        self.refitted = refitted
        self.source_name = source_name

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit slope, intercepts and the share of the change to rows of the new source.

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
        self._check_refitted()
        found = fit_calibration(logs, codes, weights)
        self._store(found.shrunken())
        half = Z_95 * np.sqrt(np.diag(found.covariance))
        ends = np.append(np.log(found.slope), found.intercepts)[:, None] + np.outer(half, [-1, 1])
        ends[0] = np.exp(ends[0])
        self.intervals_, self.share_ = ends, found.probability_of_change
        self.n_rows_ = len(codes)
        self.class_counts_ = np.bincount(codes, minlength=len(self.classes_))
        self.cv_change_ = _recalibration_change(logs, codes, weights)
        self.summary_ = self._summary(found)
        return self

    def _check_refitted(self) -> None:
        if self.refitted is not None:
            same = np.array_equal(self.classes_, self.refitted.classes_)
            expect(same, "the classes of refitted are not the estimator's")

    def _store_unlabelled(self, X: Any, summary: str) -> Self:
        """Store that there are no labels, so that nothing is recalibrated."""
        self.estimator_, self.classes_ = self.estimator, np.asarray(self.estimator.classes_)
        n_classes = len(self.classes_)
        self._store(Calibration(1.0, np.zeros(n_classes), np.eye(n_classes + 1)))
        self.intervals_ = np.repeat([[1.0], *[[0.0]] * n_classes], 2, axis=1)
        self.class_counts_ = np.zeros(n_classes, dtype=np.int64)
        _store_report(self, X, summary)
        return self

    def predict_proba(self, X: Any) -> Doubles:
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the new source.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        logs = as_log_proba(self.estimator_.predict_proba(X))
        adapted = np.asarray(log_softmax(self.slope_ * logs + self.intercepts_, axis=1))
        if self.refitted is not None:
            refitted = as_log_proba(self._refitted_outputs(X, "predict_proba"))
            adapted = (adapted + refitted) / 2
        mixed = logs + self.share_ * (adapted - logs)
        return np.asarray(np.exp(log_softmax(mixed, axis=1)))

    def _summary(self, found: Calibration) -> str:
        """Say what the rows tell about calibration."""
        names = self.classes_.tolist()
        shown = [f"{name}: {int(n)}" for name, n in zip(names, self.class_counts_, strict=True)]
        text = f"{count(self.n_rows_, 'labelled row')} ({listing(shown, MAX_LISTED_CLASSES)}): "
        slope = f"slope {found.slope:.2f} (95% interval {_limits(self.intervals_[0])})"
        if len(names) == 2:
            # the log-odds of the second class have twice its intercept
            intercept = _with_minus(f"{2 * found.intercepts[1]:.2f}")
            ends = _limits(2 * self.intervals_[2])
            text += f"calibration intercept for {names[1]} {intercept} (95% interval {ends}), "
            text += slope
        else:
            text += f"calibration {slope}"
        text += _verdict(significant=self.significant_, share=self.share_)
        if self.cv_change_ is not None:
            change = _with_minus(f"{self.cv_change_:+.3f}")
            text += (
                f" Recalibration alone changes the log loss by {change} on these rows, out of fold."
            )
        return text + self._refit_note()

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._check_common()
        n_classes = len(self.classes_)
        expect_array(self, "intervals_", (n_classes + 1, 2))
        expect_array(self, "class_counts_", (n_classes,), "integer", low=0)
        self._check_refitted()


@set_module("ensemblage.sources")
class AdaptedRegressor(
    BaseAdapted, MetaEstimatorMixin, RegressorMixin, DocLinkMixin, BaseEstimator
):
    r"""A regressor that is adapted to a new source; :func:`adapt` makes one.

    Parameters
    ----------
    estimator : regressor
        A ``FrozenEstimator`` is not fitted again; any other is fitted, and recalibrated on its
        out-of-fold predictions.
    refitted : FrozenEstimator, default=None
        The model fitted again to training rows and those of the new source.
    source_name : str, default=None
        Name of the new source in the refitted model, if that takes sources.
    cv : int, splitter or iterable, default=5
        Folds for the out-of-fold predictions.

    Attributes
    ----------
    share_ : float
        Share of the change that is made: the posterior probability of a change.
    shift_ : float
        Added to predictions, at their mean.
    slope_ : float
        By which differences of predictions from their mean are multiplied.
    centre_ : float
        Mean of the predictions of the source's rows.
    refitted_correction_ : ndarray of shape (3,)
        Shift, slope and centre of the refitted model's predictions; only if there is one.
    intervals_ : ndarray of shape (2, 2)
        95 % limits of shift and slope, before they are shrunk.
    significant_ : bool
        Whether one of them, as shrunk, is at least two standard deviations from no change.
    n_rows_ : int
        Labelled rows of the source.
    cv_change_ : None
        As in :class:`AdaptedClassifier`; not computed.
    summary_ : str
        What the rows tell, in words.
    estimator_ : regressor
        The model that is adapted.
    n_features_in_ : int
        Number of features, if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the estimator has them.

    Notes
    -----
    With predictions p of the model, the recalibrated ones are :math:`p + a + b (p - m)`, with m
    the mean of p at the source. Shift a and change of slope b minimise

    .. math:: \sum_i w_i (y_i - p_i - a - b (p_i - m))^2 + a^2 + 4 b^2 s^2,

    s the standard deviation of p; both are shrunk by the posterior probability :math:`\pi` of a
    change. The prediction is :math:`(1 - \pi) p + \pi q`, with q the recalibrated prediction, or
    its mean with that of the refitted model, which is recalibrated in the same way. It has no
    standard deviation and no interval.

    Random folds are by position: another order of rows, or copies of rows instead of weights, may
    give another fit, unless the estimator is frozen.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from ensemblage.sources import AdaptedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdaptedRegressor(Ridge()).fit(X, y).slope_ > 1     # shrunk too much
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "refitted": [FrozenEstimator, None],
        "source_name": [str, None],
        "cv": ["cv_object"],
    }

    def __init__(
        self, estimator: Any, refitted: Any = None, *, source_name: Any = None, cv: Any = 5
    ) -> None:
        self.estimator = estimator
        self.refitted = refitted
        self.source_name = source_name
        self.cv = cv

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit shift, slope and the share of the change to rows of the new source.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Values.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted regressor.
        """
        refuse_missing_targets(y)
        values = as_numbers(check_y(column_or_1d(y, warn=True), y_numeric=True, estimator=self))
        check_consistent_length(X, values)
        weights = read_weights(sample_weight, values[:, None])
        if isinstance(self.estimator, FrozenEstimator):
            self.estimator_ = self.estimator
            predicted = self.estimator.predict(X)
        else:
            predicted = self._fit_and_predict(X, values, sample_weight)
        _copy_features(self)
        found = fit_value_calibration(_finite(predicted), values, weights)
        share = found.probability_of_change
        self.shift_, self.slope_, self.centre_ = found.shrunken().tolist()
        self.share_ = share
        self.__dict__.pop("refitted_correction_", None)
        if self.refitted is not None:
            refitted = _finite(self._refitted_outputs(X, "predict"))
            own = fit_value_calibration(refitted, values, weights)
            self.refitted_correction_ = own.shrunken()
        sds = np.sqrt(np.diag(found.covariance))
        self.intervals_ = np.array([[found.shift], [found.slope]]) + np.outer(Z_95 * sds, [-1, 1])
        changes = np.abs([self.shift_, self.slope_ - 1])
        self.significant_ = bool((changes >= Z_THRESHOLD * np.maximum(sds, 1e-300)).any())
        self.n_rows_, self.cv_change_ = len(values), None
        self.summary_ = (
            f"{count(self.n_rows_, 'labelled row')}: predictions are shifted by "
            f"{_with_minus(write_number(found.shift, 3))} "
            f"(95% interval {_limits(self.intervals_[0], 3)}), "
            f"slope {_with_minus(f'{found.slope:.2f}')} ({_limits(self.intervals_[1])})"
            + _verdict(significant=self.significant_, share=share)
            + self._refit_note()
        )
        return self

    def _fit_and_predict(self, X: Any, y: Doubles, sample_weight: Any) -> Any:
        """Fit on all rows; give out-of-fold predictions."""
        params = _weight_params(self.estimator, sample_weight)
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        if len(y) < 2:
            return self.estimator_.predict(X)
        folds = min(self.cv, len(y)) if isinstance(self.cv, int) else self.cv
        return cross_val_predict(self.estimator, X, y, cv=folds, params=params)

    def _store_unlabelled(self, X: Any, summary: str) -> Self:
        """Store that there are no labels, so that nothing is recalibrated."""
        self.estimator_ = self.estimator
        _copy_features(self)
        self.shift_, self.slope_, self.centre_ = 0.0, 1.0, 0.0
        self.significant_, self.intervals_ = False, np.array([[0.0, 0.0], [1.0, 1.0]])
        _store_report(self, X, summary)
        return self

    def predict(self, X: Any) -> Doubles:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the new source.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        predicted = _finite(self.estimator_.predict(X))
        adapted = _corrected(predicted, self.shift_, self.slope_, self.centre_)
        if self.refitted is not None:
            refitted = _finite(self._refitted_outputs(X, "predict"))
            adapted = (adapted + _corrected(refitted, *self.refitted_correction_.tolist())) / 2
        return np.asarray(predicted + self.share_ * (adapted - predicted))

    def _check_fitted(self) -> None:
        self._check_common()
        numbers = dict.fromkeys(("shift_", "slope_", "centre_"), "number")
        expect_fitted(self, {**numbers, "significant_": "flag"})
        expect_array(self, "intervals_", (2, 2))
        if self.refitted is not None:
            expect_array(self, "refitted_correction_", (3,))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _corrected(predicted: Doubles, shift: float, slope: float, centre: float) -> Doubles:
    return np.asarray(predicted + shift + (slope - 1) * (predicted - centre))


def _store_report(adapted: Any, X: Any, summary: str) -> None:
    _copy_features(adapted)
    adapted.share_, adapted.n_rows_, adapted.cv_change_ = 0.0, num_samples(X), None
    adapted.summary_ = summary


def _copy_features(adapted: Any) -> None:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(adapted.estimator_, name):
            setattr(adapted, name, getattr(adapted.estimator_, name))


def _finite(predicted: Any) -> Doubles:
    values = np.asarray(predicted, dtype=np.float64).ravel()
    if not np.isfinite(values).all():
        raise ValueError(
            "The estimator's predictions are not all finite; its features may be too large. Scale "
            "them first, for instance with StandardScaler."
        )
    return values


def _weight_params(estimator: Any, sample_weight: Any) -> dict[Any, Any]:
    if sample_weight is None:
        return {}
    name = fit_parameter(estimator, "sample_weight")
    if name is None:
        raise TypeError(
            f"{type(estimator).__name__} does not support sample_weight: omit it, or use another "
            "estimator."
        )
    return {name: sample_weight}


def _limits(ends: Doubles, digits: int = 0) -> str:
    low, high = (write_number(e, digits) if digits else f"{e:.2f}" for e in ends.tolist())
    return _with_minus(f"{low} to {high}")


def _with_minus(text: str) -> str:
    return text.replace("-", MINUS)


def _verdict(*, significant: bool, share: float) -> str:
    if significant:
        return f". The change is significant; {share:.0%} of it is made."
    return (
        f". The probability that calibration has changed is {share:.0%}, and this share of the "
        "change is made. More labelled rows tell more."
    )


def _recalibration_change(logs: Doubles, codes: Indices, weights: Doubles) -> float | None:
    """Change of the log loss by recalibration, on rows of the source out of fold."""
    if len(codes) < MIN_CV_ROWS:
        return None
    each, adapted = np.arange(len(codes)), logs.copy()
    for train, test in deal_folds(codes, CV_FOLDS, np.random.default_rng(0)):
        if len(test) and weights[train].sum() > 0:
            found = fit_calibration(logs[train], codes[train], weights[train])
            adapted[test] = found.shrunken().log_proba(logs[test])
    change = logs[each, codes] - adapted[each, codes]
    return float(np.average(change, weights=weights))


@set_module("ensemblage.sources")
class SourceScaler(TransformerMixin, BaseEstimator):
    """Give the numeric columns of one source the means and standard deviations of all sources.

    The source's own moments are averaged with those of all sources, which count as 25 rows.

    Parameters
    ----------
    columns : list of int
        Positions of the numeric columns.
    means, sds : ndarray of shape (n_columns,)
        Moments of these columns over all sources.
    source_column : str, list of str or None, default=None
        Columns of a frame that are removed.

    Attributes
    ----------
    scale_, shift_ : ndarray of shape (n_columns,)
        A value x becomes ``scale_ * x + shift_``.
    """

    def __init__(self, columns: Any, means: Any, sds: Any, source_column: Any = None) -> None:
        self.columns = columns
        self.means = means
        self.sds = sds
        self.source_column = source_column

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the source's own moments."""
        del y
        found = _numbers(self._features(X), self.columns)
        n, means, variances = _column_moments(found)
        share = n / (n + SHRINKAGE_ROWS)
        means = share * means + (1 - share) * self.means
        sds = np.sqrt(share * variances + (1 - share) * self.sds**2)
        self.scale_ = np.where(sds > 0, self.sds / np.where(sds > 0, sds, 1.0), 1.0)
        self.shift_ = self.means - self.scale_ * means
        return self

    def _features(self, X: Any) -> Any:
        return split_fitted_column(X, None, self.source_column)[0]

    def transform(self, X: Any) -> Any:
        """Normalise the numeric columns; others are left as they are."""
        X = self._features(X)
        scaled = _numbers(X, self.columns) * self.scale_ + self.shift_
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            backend = frame.implementation
            named = [frame.columns[j] for j in self.columns]
            series = [
                nw.new_series(name, scaled[:, j], nw.Float64, backend=backend)
                for j, name in enumerate(named)
            ]
            if backend.is_pandas():
                index = frame.to_native().index
                series = [nw.maybe_set_index(each, index=index) for each in series]
            return frame.with_columns(*series).to_native()
        rows = np.array(X, dtype=object if np.asarray(X).dtype == object else np.float64)
        rows[:, self.columns] = scaled
        return rows

    def _check_fitted(self) -> None:
        n = len(self.columns)
        places = all(isinstance(each, int) and each >= 0 for each in self.columns)
        expect(isinstance(self.columns, list) and places, "columns is no list of positions")
        for name in ("means", "sds", "scale_", "shift_"):
            expect_array(self, name, (n,))


def _numbers(X: Any, columns: list[int]) -> Doubles:
    """Read numeric columns, (n_rows, n_columns), NaN where missing."""
    names = [str(j) for j in range(_width(X))]
    found = read_columns(X if hasattr(X, "shape") else np.array(X, dtype=object), names)
    out = np.empty((num_samples(X), len(columns)))
    for k, j in enumerate(columns):
        numbers = found[j].numbers
        if numbers is None:
            raise ValueError(
                f"Column {j} of X (counted from 0) is not numeric, but it is in the training rows: "
                "convert it to numbers."
            )
        out[:, k] = numbers
    return out


def _column_moments(rows: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Count, mean and variance of each column's known values; zero if there are none."""
    known = ~np.isnan(rows)
    n = known.sum(axis=0).astype(float)
    means = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(known, rows - means, 0.0) ** 2
    return n, means, squares.sum(axis=0) / np.maximum(n, 1)


def adapt(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    X_train: Any = None,
    y_train: Any = None,
    sources: Any = None,
    source_name: str = NEW_SOURCE,
    sample_weight: Any = None,
) -> Any:
    r"""Adapt a fitted model to a new source, from few labelled rows of it, or without labels.

    Parameters
    ----------
    model : classifier or regressor
        Fitted at other sources; a classifier with ``predict_proba``. It is not changed.
    X : array-like or dataframe of shape (n_samples, n_features)
        Rows of the new source, as the model takes them.
    y : array-like of shape (n_samples,), default=None
        Their classes, from the model's ``classes_``, or their values. Not all classes need occur;
        one row is enough. Without them, columns are normalised by source if that helps.
    X_train, y_train : array-like, default=None
        Rows that the model was fitted on. Without them the model is recalibrated only.
    sources : array-like of shape (n_train,) or (n_train, 2), str, or list of two str, default=None
        Source of each training row, or its outer and its inner source; or the columns of the frame
        ``X_train`` that have them.
    source_name : str, default="new source"
        Name of the new source.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the labelled rows.

    Returns
    -------
    AdaptedClassifier or AdaptedRegressor
        A fitted model for rows of the new source. ``summary_`` says how much the rows can tell,
        or which way of reading the columns was chosen.

    See Also
    --------
    recalibrate : Slope and intercepts only.

    Notes
    -----
    With labels and training rows the model is fitted again. Where its ``fit`` takes sources, the
    rows join the training rows as a source of their own; partial pooling keeps the penalties that
    were chosen. Elsewhere they join with a total weight of 15 % of the training rows, but not less
    than one each. The result is between the model itself, and the mean (of log probabilities, or
    predictions) of the recalibrated and the refitted model; see :class:`AdaptedClassifier`.

    Without labels, each numeric column is normalised by the mean and standard deviation of its own
    source, which are averaged with those of all sources, as 25 rows. The model is fitted with and
    without, leaving sources out, and normalised columns are used only if the log loss, or the
    squared error as a share of the target's variance, is lower by .01. Training rows of at least
    three sources are needed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.sources import adapt
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> y = X[:, 0] + rng.logistic(size=500) > 0
    >>> model = LogisticRegression().fit(X, y)
    >>> site = X[:50]                       # a site with far more positive rows
    >>> labels = site[:, 0] + rng.logistic(size=50) > -2
    >>> adapted = adapt(model, site, labels, X_train=X, y_train=y)
    >>> adapted.significant_
    True
    >>> bool(adapted.predict_proba([[0.0]])[0, 1] > model.predict_proba([[0.0]])[0, 1])
    True
    """
    _check_model(model)
    _check_columns(model, X)
    if (X_train is None) != (y_train is None):
        given, lacking = ("X_train", "y_train") if y_train is None else ("y_train", "X_train")
        raise ValueError(f"{given} was given without {lacking}: give both, or neither.")
    if y is None:
        return _adapt_without_labels(model, X, X_train, y_train, sources)
    y = _read_target(model, X, y, "y")
    refitted, joined = None, False
    if X_train is not None:
        _refuse_adapted(model)
        refitted, joined = _refit(
            model, X, y, sample_weight, X_train, y_train, sources, source_name
        )
    kind = AdaptedClassifier if is_classifier(model) else AdaptedRegressor
    adapted: Any = kind(
        FrozenEstimator(model), refitted, source_name=source_name if joined else None
    )
    return adapted.fit(X, y, sample_weight)


def _check_model(model: Any) -> None:
    if not hasattr(model, "predict"):
        raise TypeError(
            f"model is a {type(model).__name__}, but must be a fitted classifier or regressor: of "
            "a loaded file give `load(path).model`."
        )
    check_is_fitted(model)
    if is_classifier(model):
        if not hasattr(model, "predict_proba"):
            raise TypeError(
                f"model={model!r} has no predict_proba, which adapting needs: fit a "
                "RecalibratedClassifier or CalibratedClassifierCV of a classifier with "
                "probabilities."
            )
    elif not is_regressor(model):
        raise TypeError(f"model={model!r} is neither a classifier nor a regressor.")


def _refuse_adapted(model: Any) -> None:
    """Refuse to fit a model again that is adapted already."""
    kinds = (RecalibratedClassifier, AdaptedRegressor)
    if isinstance(model, kinds) and isinstance(model.estimator, FrozenEstimator):
        raise ValueError(  # noqa: TRY004  a fitted model
            "model is adapted to a source already, so that it is not fitted again: give the model "
            "before that and all rows of the new source, or recalibrate this one by omitting "
            "X_train and y_train."
        )


def _check_columns(model: Any, X: Any) -> None:
    """Refuse frames with other columns than the model's, and arrays of another width."""
    names = getattr(model, "feature_names_in_", None)
    rest = split_fitted_column(X, None, _source_column(model))[0]
    frame = nw.from_native(rest, eager_only=True, pass_through=True)
    if names is not None and isinstance(frame, nw.DataFrame):
        expected, found = [str(each) for each in names], [str(each) for each in frame.columns]
        absent = [each for each in expected if each not in found]
        extra = [each for each in found if each not in expected]
        if absent:
            raise ValueError(
                f"Columns that the model requires are missing in X: {listing(absent)}."
                f"{suggestion(absent[0], extra)} Add them, or rename a column."
            )
        if extra:
            raise ValueError(
                f"X has columns that the model was not fitted on: {listing(extra)}. Drop them."
            )
    expected_width = getattr(model, "n_features_in_", None)
    if expected_width is not None and np.ndim(rest) == 2 and _width(rest) != expected_width:
        raise ValueError(
            f"X has {count(_width(rest), 'column')}, but the model was fitted on {expected_width}: "
            "give the same columns, in the same order."
        )


def _read_target(model: Any, X: Any, y: Any, name: str) -> NDArray[Any]:
    """Refuse missing and new classes, missing values, and another number of rows."""
    refuse_missing_targets(y)
    if len(np.asarray(y)) != num_samples(X):
        raise ValueError(
            f"{name} has {len(np.asarray(y))} entries, but there are {num_samples(X)} rows: give "
            "one per row."
        )
    values = column_or_1d(y, warn=True)
    if is_classifier(model):
        class_codes(values, np.asarray(model.classes_))
        return np.asarray(values)
    return as_numbers(values)


def _last(model: Any) -> Any:
    """Give the last step of a model that may be frozen."""
    return final_step(model.estimator if isinstance(model, FrozenEstimator) else model)


def _fitted_sources(model: Any) -> Any:
    """Give the sources that a model was fitted with; empty if it was fitted without."""
    last = _last(model)
    pool = getattr(last, "source_pool_", None)
    return getattr(last, "sources_", ()) if pool is None else pool.names


def _source_column(model: Any) -> Any:
    return getattr(_last(model), "source_column_", None)


def _width(X: Any) -> int:
    return int(X.shape[1]) if hasattr(X, "shape") else len(X[0])


def _named(name: str, n_rows: int, *, nested: bool) -> NDArray[Any]:
    return np.full((n_rows, 2) if nested else n_rows, name, dtype=object)


def _refit(
    model: Any,
    X: Any,
    y: NDArray[Any],
    sample_weight: Any,
    X_train: Any,
    y_train: Any,
    sources: Any,
    source_name: str,
) -> tuple[FrozenEstimator, bool]:
    """Fit a model again with the rows of the new source; also tell whether as a source."""
    by_source = fit_parameter(model, "sources")
    X_train, given = split_source_column(X_train, sources)
    y_train = _read_target(model, X_train, y_train, "y_train")
    _check_training_classes(model, y_train)
    if given is None and len(_fitted_sources(model)):
        raise ValueError(
            f"sources is None, but {type(_last(model)).__name__} was fitted with sources: give the "
            "source of each training row."
        )
    rows = _stacked([X_train, split_fitted_column(X, None, _source_column(model))[0]])
    target = np.concatenate([y_train, y])
    own = read_weights(sample_weight, y[:, None])
    fresh = _with_chosen_penalties(model)
    if by_source is not None and given is not None:
        params = {by_source: _joined_sources(given, X_train, len(y), source_name)}
        if sample_weight is not None:
            weights = np.concatenate([np.ones(len(y_train)), own])
            params |= _weight_params(fresh, weights)
        return FrozenEstimator(fresh.fit(rows, target, **params)), True
    name = fit_parameter(fresh, "sample_weight")
    if name is None:
        raise TypeError(
            f"{type(_last(model)).__name__}.fit takes neither sources nor sample_weight: omit "
            "X_train and y_train, and the model is recalibrated only."
        )
    own = own * max(1.0, SITE_SHARE * len(y_train) / float(own.sum()))
    weights = np.concatenate([np.ones(len(y_train)), own])
    return FrozenEstimator(fresh.fit(rows, target, **{name: weights})), False


def _with_chosen_penalties(model: Any) -> Any:
    """Clone a model; partial pooling has the penalties that were chosen."""
    fresh = clone(model)
    names = ("common_penalty", "deviation_penalty", "intercept_penalty")
    if all(hasattr(_last(model), f"{name}_") for name in names):
        chosen = {name: getattr(_last(model), f"{name}_") for name in names}
        final_step(fresh).set_params(**chosen)
    return fresh


def _check_training_classes(model: Any, y_train: NDArray[Any]) -> None:
    if is_classifier(model):
        absent = sorted(set(model.classes_.tolist()) - set(y_train.tolist()), key=str)
        if absent:
            raise ValueError(
                f"y_train lacks the model's classes {listing(map(str, absent))}: give the rows "
                "that the model was fitted on."
            )


def _joined_sources(given: Any, X_train: Any, n_new: int, name: str) -> NDArray[Any]:
    """Names of the sources of training and new rows, as text."""
    names, codes = encode_sources(given, X_train, allow_missing=True, allow_nested=True)
    taken = {str(each) for each in np.ravel(names).tolist()}
    if name in taken:
        raise ValueError(
            f"source_name={name!r} is one of the training sources: give the new source another "
            "name, or omit it."
        )
    nested = names.ndim == 2
    out = np.full((len(codes), 2) if nested else len(codes), None, dtype=object)
    known = codes >= 0
    out[known] = names.astype(str).astype(object)[codes[known]]
    return np.concatenate([out, _named(name, n_new, nested=nested)])


def _stacked(parts: list[Any]) -> Any:
    """Join rows of several tables of the same kind and columns, in the order of the first."""
    frames = [nw.from_native(each, eager_only=True, pass_through=True) for each in parts]
    are_frames = [isinstance(each, nw.DataFrame) for each in frames]
    if any(are_frames):
        if not all(are_frames) or len({each.implementation for each in frames}) > 1:
            kinds = listing(type(each).__name__ for each in parts[:2])
            raise ValueError(f"X_train and X are of different types ({kinds}): convert one.")
        first = frames[0]
        for each in frames[1:]:
            if set(each.columns) != set(first.columns):
                other = sorted(set(first.columns) ^ set(each.columns), key=str)
                raise ValueError(
                    f"X_train and X have different columns: {listing(other)}. Drop or add these."
                )
        return nw.concat([first, *(_alike(each, first) for each in frames[1:])]).to_native()
    if any(issparse(each) for each in parts):
        return sparse_vstack(parts, format="csr")
    rows = [each if hasattr(each, "shape") else np.array(each, dtype=object) for each in parts]
    widths = [_width(each) for each in rows]
    if len(set(widths)) > 1:
        raise ValueError(
            f"X_train has {count(widths[0], 'column')}, but X has {widths[1]}: give the same "
            "columns, in the same order."
        )
    return np.concatenate(rows)


def _alike(frame: Any, first: Any) -> Any:
    """Columns in the order of the first frame, and numbers of its types."""
    schema, own = first.schema, frame.schema
    return frame.select(
        nw.col(name).cast(nw.Float64)
        if schema[name].is_float() and own[name].is_numeric() and own[name] != schema[name]
        else nw.col(name)
        for name in first.columns
    )


def _adapt_without_labels(model: Any, X: Any, X_train: Any, y_train: Any, sources: Any) -> Any:
    """Normalise columns by source if leave-source-out validation shows a gain."""
    if X_train is None or sources is None:
        raise ValueError(
            "Without labels, X_train, y_train and sources are needed: the training rows decide "
            "whether normalising columns by source helps. Or label some rows, and give y."
        )
    _refuse_adapted(model)
    X_train, given = split_source_column(X_train, sources)
    y_train = _read_target(model, X_train, y_train, "y_train")
    names, codes = encode_sources(given, X_train, allow_nested=True)
    outer = outer_sources(names)[0].tolist()
    if len(outer) < MIN_SOURCES:
        raise ValueError(
            f"The training rows have {count(len(outer), 'source')} ({listing(map(str, outer))}), "
            f"but without labels at least {MIN_SOURCES} are needed: label some rows of the new "
            "source, and give y."
        )
    _check_training_classes(model, y_train)
    columns, scaler = _make_scaler(X_train, _source_column(model))
    if not columns:
        raise ValueError(
            "No column of X_train is numeric, so that none can be normalised by source: label some "
            "rows of the new source, and give y."
        )
    own_names = names[codes]
    codes = outer_sources(names)[1][codes]
    order = np.argsort(codes, kind="stable")
    codes, y_train, own_names = codes[order], y_train[order], own_names[order]
    plain = safe_indexing(X_train, order)
    groups = np.split(np.arange(len(codes)), np.flatnonzero(np.diff(codes)) + 1)
    normalised = _stacked(
        [
            clone(scaler).fit(part).transform(part)
            for part in (safe_indexing(plain, own) for own in groups)
        ]
    )
    before, after = (
        _left_out_loss(model, rows, y_train, codes, own_names) for rows in (plain, normalised)
    )
    helps = after < before - MIN_GAIN
    used = model
    if helps:
        fresh = _with_chosen_penalties(model)
        fresh.fit(normalised, y_train, **_source_params(model, own_names))
        own = clone(scaler).fit(X)
        own.feature_names_in_ = getattr(model, "feature_names_in_", None)
        if own.feature_names_in_ is None:
            del own.feature_names_in_
        own.n_features_in_ = _width(X_train)
        used = Pipeline([("normalise", own), ("model", fresh)])
    measure = "log loss" if is_classifier(model) else "squared error, in variances of the target,"
    verdict = "are normalised by source" if helps else "are left as they are"
    summary = (
        f"Columns {verdict}: leaving sources out ({len(outer)} sources), the {measure} is "
        f"{after:.3f} with columns normalised by source and {before:.3f} without."
    )
    kind = AdaptedClassifier if is_classifier(model) else AdaptedRegressor
    return kind(FrozenEstimator(used))._store_unlabelled(X, summary)  # noqa: SLF001


def _make_scaler(X_train: Any, source_column: Any) -> tuple[list[int], SourceScaler]:
    """Make an unfitted scaler of the numeric columns that vary."""
    names = [str(j) for j in range(_width(X_train))]
    rows = X_train if hasattr(X_train, "shape") else np.array(X_train, dtype=object)
    found = read_columns(rows, names)
    numeric = [j for j, each in enumerate(found) if each.numbers is not None and not each.is_date]
    _, means, variances = _column_moments(_numbers(X_train, numeric))
    kept = variances > 0
    columns = [j for j, keep in zip(numeric, kept, strict=True) if keep]
    sds = np.sqrt(variances[kept])
    return columns, SourceScaler(columns, means[kept], sds, source_column)


def _source_params(model: Any, sources: NDArray[Any]) -> dict[Any, Any]:
    """Give sources to a ``fit`` that takes them; pools predict new sources source-blind."""
    name = fit_parameter(model, "sources")
    return {} if name is None or hasattr(_last(model), "leaderboard_") else {name: sources}


def _left_out_loss(
    model: Any, X: Any, y: NDArray[Any], codes: Integers, sources: NDArray[Any]
) -> float:
    """Mean over the sources of the log loss, or squared error, of models fitted without them."""
    losses = np.empty(len(y))
    classes = np.asarray(model.classes_) if is_classifier(model) else None
    for train, test in source_folds(codes, MAX_LEFT_OUT_FOLDS):
        fresh = _with_chosen_penalties(model)
        fresh.fit(safe_indexing(X, train), y[train], **_source_params(model, sources[train]))
        rows = safe_indexing(X, test)
        if classes is None:
            losses[test] = (y[test] - _finite(fresh.predict(rows))) ** 2
            continue
        proba = np.zeros((len(test), len(classes)))
        proba[:, class_codes(np.asarray(fresh.classes_), classes)] = fresh.predict_proba(rows)
        logs = as_log_proba(proba)
        losses[test] = -logs[np.arange(len(test)), class_codes(y[test], classes)]
    mean = float(np.mean(np.bincount(codes, losses) / np.bincount(codes)))
    return mean if classes is not None else mean / max(float(np.var(y)), np.finfo(float).tiny)
