"""Partial pooling: coefficients of each source, shrunk towards common ones."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    UNKNOWN_SOURCE,
    DocLinkMixin,
    Fold,
    Interval,
    StrOptions,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    fit_context,
    guarded_fit,
    read_weights,
    refuse_infinite,
    set_module,
    validate_numbers,
    warn_user,
    with_shared,
)
from ensemblage.sources._pooling_solvers import (
    COMMON_GRID,
    DEVIATION_GRID,
    INTERCEPT_PENALTY,
    Penalties,
    PooledCoefs,
    PoolingData,
    fit_logistic,
    fit_ridge,
    logistic_cv_loss,
    ridge_cv_loss,
    search_folds,
    search_penalties,
    squared_error,
)
from ensemblage.sources._source_codes import encode_sources, lookup_sources
from ensemblage.strata import NumericTarget

Doubles = NDArray[np.float64]

SHARED_DOCS = """
common_penalty : float or "auto", default="auto"
    Penalty on the common coefficients; infinity leaves them out, which is one model per source.
deviation_penalty : float or "auto", default="auto"
    Penalty on the sources' deviations from them; infinity leaves these out, so that sources
    differ in their intercepts only.
cv : int, splitter or iterable, default=5
    Folds by which ``"auto"`` chooses. An integer makes folds stratified by source and class, of at
    most 20,000 rows. A splitter gets the sources as its groups.
random_state : int, RandomState instance or None, default=None
    For the folds.
sources_ : ndarray of shape (n_sources,)
    Names of the sources, sorted.
common_penalty_, deviation_penalty_ : float
    Penalties used.
n_features_in_ : int
    Number of columns seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where they all have one.
"""


@set_module("ensemblage.sources")
class Deviation(NamedTuple):
    """Difference of a source's coefficient from the common one, with 95 % confidence limits."""

    source: Any
    column: str
    label: Any
    value: float
    low: float
    high: float


def _moments(columns: Doubles, weights: Doubles) -> tuple[Doubles, Doubles]:
    """Mean and standard deviation of each column; the latter is one for a constant column."""
    mean = np.average(columns, axis=0, weights=weights)
    sd = np.sqrt(np.average((columns - mean) ** 2, axis=0, weights=weights))
    return mean, np.where(sd > 1e-12 * (np.abs(mean) + 1e-300), sd, 1.0)


class BasePartialPooling(DocLinkMixin):
    """Shared by classifier and regressor: validation, penalties, units of the coefficients."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sources": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "common_penalty": [Interval(Real, 0, None, closed="right"), StrOptions({"auto"})],
        "deviation_penalty": [Interval(Real, 0, None, closed="right"), StrOptions({"auto"})],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "random_state": ["random_state"],
    }

    _is_classification: ClassVar[bool]
    common_penalty: Any
    deviation_penalty: Any
    cv: Any
    random_state: Any
    coef_: Doubles
    common_coef_: Doubles
    common_intercept_: Any
    n_features_in_: int

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None, *, sources: Any = None
    ) -> Self:
        """Choose the penalties, and fit common coefficients and deviations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,)
            Source of each row. If not given, all rows count as one source.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        least = 1 if self._is_classification else 2
        rows, y = validate_numbers(
            self, X, y, dtype=np.float64, squares=True, ensure_min_samples=least
        )
        weights = read_weights(sample_weight, rows)
        y, target_mean, target_scale = self._read_target(y, weights)
        if sources is None:
            warn_user(
                f"{type(self).__name__} was fitted without sources: all rows count as one "
                "source. Pass fit(..., sources=...).",
            )
            sources = np.zeros(len(rows), dtype=int)
        self.sources_, codes = encode_sources(sources, rows)
        mean, scale = _moments(rows, weights)
        standardised = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
        data = PoolingData(standardised, y, codes, weights, len(self.sources_))
        penalties = self._choose_penalties(data)
        self.common_penalty_, self.deviation_penalty_ = penalties
        coefs, common, sd = self._solve(data, penalties, target_scale)
        self.coef_ = coefs[..., :-1] / scale
        self.intercept_ = coefs[..., -1] - self.coef_ @ mean + target_mean
        self.common_coef_ = common[..., :-1] / scale
        common_intercept = common[..., -1] - self.common_coef_ @ mean + target_mean
        self.common_intercept_ = common_intercept if common.ndim > 1 else float(common_intercept)
        self.deviation_sd_ = sd / scale
        return self

    def _choose_penalties(self, data: PoolingData) -> Penalties:
        given = (self.common_penalty, self.deviation_penalty)
        if "auto" not in given:
            return Penalties(*map(float, given))
        grids = [
            grid if each == "auto" else (float(each),)
            for each, grid in zip(given, (COMMON_GRID, DEVIATION_GRID), strict=True)
        ]
        labels = data.y if self._is_classification else np.zeros(len(data.y), np.int64)
        if isinstance(self.cv, Integral):
            rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
            folds = search_folds(labels, data.sources, int(self.cv), rng)
        else:
            splitter = check_cv(self.cv, labels, classifier=self._is_classification)
            folds = [Fold(*parts) for parts in splitter.split(data.rows, labels, data.sources)]
        return search_penalties(self._cv_loss(data, folds), data.n_sources, *grids)

    def _read_target(self, y: Any, weights: Doubles) -> tuple[NDArray[Any], float, float]:
        """Give the encoded target, and the mean and scale by which it was standardised."""
        raise NotImplementedError  # look: ok

    def _cv_loss(self, data: PoolingData, folds: list[Fold]) -> Callable[[Penalties], float]:
        raise NotImplementedError  # look: ok

    def _solve(
        self, data: PoolingData, penalties: Penalties, target_scale: float
    ) -> tuple[Doubles, Doubles, Doubles]:
        """Give coefficients of sources, their mean, and standard deviations of the deviations."""
        raise NotImplementedError  # look: ok

    def predict(self, X: Any, sources: Any = None) -> Any:
        raise NotImplementedError  # look: ok

    def score(self, X: Any, y: Any, sample_weight: Any = None, sources: Any = None) -> float:
        """Accuracy of a classifier, coefficient of determination (R²) of a regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            True classes or values.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,), default=None
            As in ``predict``.

        Returns
        -------
        float
            1.0 is the best score.
        """
        measure = accuracy_score if self._is_classification else r2_score
        return float(measure(y, self.predict(X, sources), sample_weight=sample_weight))

    def deviations(self, false_discovery_rate: float = 0.05) -> list[Deviation]:
        """List the coefficients in which a source differs significantly from the others.

        Parameters
        ----------
        false_discovery_rate : float, default=0.05
            Expected share of those listed that do not differ (Benjamini and Hochberg).

        Returns
        -------
        list of Deviation
            The most significant first. Each is a named tuple of ``source``, ``column`` (its name,
            or ``x`` and its number), ``label`` (the class whose log-odds the coefficient raises;
            None for a numeric target), ``value`` (the difference, in log-odds or in units of the
            target, per unit of the column) and its 95 % confidence limits ``low`` and ``high``.
        """
        check_is_fitted(self)
        shape = (len(self.sources_), -1, self.n_features_in_)
        values = (self.coef_ - self.common_coef_).reshape(shape)
        sd = np.where(self.deviation_sd_ > 0, self.deviation_sd_, np.inf).reshape(shape)
        classes = getattr(self, "classes_", np.array([None]))
        labels = classes.tolist()[-values.shape[1] :]  # the second of two
        p_values = norm.sf(np.abs(values) / sd) * 2
        order = np.argsort(p_values, axis=None, kind="stable")
        limits = false_discovery_rate * np.arange(1, p_values.size + 1) / p_values.size
        below = np.flatnonzero(p_values.ravel()[order] <= limits)
        n_listed = int(below[-1]) + 1 if len(below) else 0
        columns = getattr(self, "feature_names_in_", None)
        half = norm.ppf(0.975) * sd
        listed = []
        for s, k, j in zip(*np.unravel_index(order[:n_listed], p_values.shape), strict=True):
            value, margin = float(values[s, k, j]), float(half[s, k, j])
            column = f"x{j}" if columns is None else str(columns[j])
            source, bounds = self.sources_.tolist()[s], (value - margin, value + margin)
            listed.append(Deviation(source, column, labels[k], value, *bounds))
        return listed

    def _check_coefs(self, outputs: tuple[int, ...]) -> None:
        """Check coefficients of a model file; ``outputs`` is the axis of the logits, if any."""
        n_sources, d = len(self.sources_), self.n_features_in_
        expect_fitted(self, {"sources_": "labels (sources)"})
        expect(n_sources > 0, "sources_ is empty")
        penalties = (self.common_penalty_, self.deviation_penalty_)
        expect(all(each > 0 for each in penalties), "a penalty is not above zero")
        expect_array(self, "coef_", (n_sources, *outputs, d))
        expect_array(self, "intercept_", (n_sources, *outputs))
        expect_array(self, "common_coef_", (*outputs, d))
        expect_array(self, "deviation_sd_", (n_sources, *outputs, d), low=0)


@set_module("ensemblage.sources")
@with_shared(SHARED_DOCS)
class PartialPoolingClassifier(BasePartialPooling, ClassifierMixin, BaseEstimator):
    r"""Logistic regression whose coefficients are partially pooled over sources.

    Between one model for all sources and one model per source: every source has coefficients of
    its own, shrunk towards common ones. The shrinkage is chosen by cross-validation.

    Parameters
    ----------
    {common_penalty, deviation_penalty, cv}
    tol : float, default=1e-5
        Stop when no entry of the gradient per row is larger than this.
    max_iter : int, default=500
        Maximum number of iterations.
    {random_state}

    Attributes
    ----------
    {sources_}
    coef_ : ndarray of shape (n_sources, n_logits, n_features)
        Each source's coefficients, in the columns' units. There is one logit for two classes, and
        otherwise one per class.
    intercept_ : ndarray of shape (n_sources, n_logits)
        Each source's intercepts.
    common_coef_ : ndarray of shape (n_logits, n_features)
        Mean over the sources, used for rows of unknown source.
    common_intercept_ : ndarray of shape (n_logits,)
        Mean over the sources.
    deviation_sd_ : ndarray of shape (n_sources, n_logits, n_features)
        Standard deviations of the deviations given all else, in the columns' units.
    {common_penalty_, deviation_penalty_}
    n_iter_ : int
        Iterations of the last fit.
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    {n_features_in_, feature_names_in_}

    See Also
    --------
    SourceStrata : Strata of sources, for an unknown source at prediction.

    Notes
    -----
    On standardised columns it minimises

    .. math:: -\sum_m \log p(y_m \mid x_m; B + D_{s(m)}) + \tfrac{\lambda_0}{2} \|B\|^2 +
        \tfrac{\lambda_1}{2} \sum_s \|D_s\|^2 + \tfrac12 \sum_s \|d_s\|^2,

    with :math:`B` common, :math:`D_s` the deviations of source s and :math:`d_s` those of its
    intercepts. At the minimum :math:`\lambda_0 B = \lambda_1 \sum_s D_s`; a row of unknown source
    gets the mean :math:`B + \sum_s D_s / S`, which is :math:`B` if there are no deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.sources import PartialPoolingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, site = rng.normal(size=(300, 2)), np.arange(300) % 3
    >>> y = X[:, 0] + (site - 1) * X[:, 1] > 0
    >>> model = PartialPoolingClassifier(random_state=0).fit(X, y, sources=site)
    >>> model.predict([[0.0, 1.0], [0.0, 1.0]], sources=[0, 2])
    array([False,  True])
    >>> sorted({each.column for each in model.deviations()})
    ['x1']
    """

    _is_classification = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BasePartialPooling._parameter_constraints,  # noqa: SLF001
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        common_penalty: Any = "auto",
        deviation_penalty: Any = "auto",
        cv: Any = 5,
        tol: float = 1e-5,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.common_penalty = common_penalty
        self.deviation_penalty = deviation_penalty
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _read_target(self, y: Any, weights: Doubles) -> tuple[NDArray[Any], float, float]:
        del weights
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {self.classes_.tolist()[0]!r}; a classifier needs at "
                "least two classes."
            )
        return labels.astype(np.int64), 0.0, 1.0

    @property
    def _n_logits(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _cv_loss(self, data: PoolingData, folds: list[Fold]) -> Callable[[Penalties], float]:
        start = PooledCoefs.zeros(data.n_sources, self._n_logits, data.rows.shape[1])
        return logistic_cv_loss(data, start, folds)

    def _solve(
        self, data: PoolingData, penalties: Penalties, target_scale: float
    ) -> tuple[Doubles, Doubles, Doubles]:
        del target_scale
        start = PooledCoefs.zeros(data.n_sources, self._n_logits, data.rows.shape[1])
        found, self.n_iter_ = fit_logistic(
            data.by_source(), penalties, start, tol=self.tol, max_iter=self.max_iter
        )
        return found.coefs, found.mean, _logistic_deviation_sd(data, found.coefs, penalties)

    def decision_function(self, X: Any, sources: Any = None) -> Doubles:
        """Log-odds; for more than two classes, one unnormalised log probability per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,), default=None
            Source of each row; a row of missing or new source gets the mean coefficients.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes.
        """
        check_is_fitted(self)
        rows = validate_numbers(self, X, dtype=np.float64, squares=True, reset=False)
        codes = lookup_sources(sources, self.sources_, len(rows))
        scores = rows @ self.common_coef_.T + self.common_intercept_
        for code in np.unique(codes[codes != UNKNOWN_SOURCE]):
            own = codes == code
            scores[own] = rows[own] @ self.coef_[code].T + self.intercept_[code]
        return refuse_infinite(scores[:, 0] if len(self.classes_) == 2 else scores)

    def predict_proba(self, X: Any, sources: Any = None) -> Doubles:
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,), default=None
            As in ``decision_function``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X, sources)
        if scores.ndim == 2:
            return np.asarray(softmax(scores, axis=1))
        return np.column_stack([expit(-scores), expit(scores)])

    def predict(self, X: Any, sources: Any = None) -> NDArray[Any]:
        """Most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,), default=None
            As in ``decision_function``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        scores = self.decision_function(X, sources)
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        return np.asarray(self.classes_[best])

    def _check_fitted(self) -> None:
        expect(len(self.classes_) > 1, "there is one class")
        expect_fitted(self, {"n_iter_": "count"})
        self._check_coefs((self._n_logits,))
        expect_array(self, "common_intercept_", (self._n_logits,))


def _logistic_deviation_sd(data: PoolingData, coefs: Doubles, penalties: Penalties) -> Doubles:
    """Give standard deviations of the deviations by the curvature of the loss, all else fixed."""
    n_sources, n_logits, width = coefs.shape
    out = np.zeros((n_sources, n_logits, width - 1))
    if not np.isfinite(penalties.deviation):
        return out
    penalty = np.full(width, penalties.deviation)
    penalty[-1] = INTERCEPT_PENALTY
    for s in range(n_sources):
        own = data.sources == s
        rows, weights = data.rows[own], data.weights[own]
        scores = rows @ coefs[s].T
        proba = expit(scores) if n_logits == 1 else softmax(scores, axis=1)
        for k in range(n_logits):
            curvature = weights * proba[:, k] * (1 - proba[:, k])
            inverse = np.linalg.inv((rows * curvature[:, None]).T @ rows + np.diag(penalty))
            out[s, k] = np.sqrt(np.diag(inverse)[:-1])
    return out


@set_module("ensemblage.sources")
@with_shared(SHARED_DOCS)
class PartialPoolingRegressor(BasePartialPooling, RegressorMixin, BaseEstimator):
    r"""Linear regression whose coefficients are partially pooled over sources.

    Between one model for all sources and one model per source: every source has coefficients of
    its own, shrunk towards common ones. The shrinkage is chosen by cross-validation.

    Parameters
    ----------
    {common_penalty, deviation_penalty, cv, random_state}

    Attributes
    ----------
    {sources_}
    coef_ : ndarray of shape (n_sources, n_features)
        Each source's coefficients, in the columns' units.
    intercept_ : ndarray of shape (n_sources,)
        Each source's intercept.
    common_coef_ : ndarray of shape (n_features,)
        Mean over the sources, used for rows of unknown source.
    common_intercept_ : float
        Mean over the sources.
    deviation_sd_ : ndarray of shape (n_sources, n_features)
        Standard deviations of the deviations given all else, in the columns' units.
    residual_sd_ : float
        Standard deviation of the residuals.
    {common_penalty_, deviation_penalty_, n_features_in_, feature_names_in_}

    See Also
    --------
    PartialPoolingClassifier : The same for classification.
    StrataEnsembleRegressor : Strata of sources, for an unknown source at prediction.

    Notes
    -----
    On standardised columns and a standardised target it minimises

    .. math:: \tfrac12 \sum_m (y_m - x_m \cdot (B + D_{s(m)}))^2 + \tfrac{\lambda_0}{2} \|B\|^2 +
        \tfrac{\lambda_1}{2} \sum_s \|D_s\|^2 + \tfrac12 \sum_s d_s^2,

    with :math:`B` common, :math:`D_s` the deviations of source s and :math:`d_s` that of its
    intercept, in closed form. A row of unknown source gets the mean :math:`B + \sum_s D_s / S`.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.sources import PartialPoolingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, site = rng.normal(size=(300, 2)), np.arange(300) % 3
    >>> y = X[:, 0] + (site - 1) * X[:, 1] + 0.1 * rng.normal(size=300)
    >>> model = PartialPoolingRegressor(random_state=0).fit(X, y, sources=site)
    >>> model.predict([[0.0, 1.0], [0.0, 1.0]], sources=[0, 2]).round()
    array([-1.,  1.])
    >>> sorted({each.column for each in model.deviations()})
    ['x1']
    """

    _is_classification = False

    def __init__(
        self,
        *,
        common_penalty: Any = "auto",
        deviation_penalty: Any = "auto",
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.common_penalty = common_penalty
        self.deviation_penalty = deviation_penalty
        self.cv = cv
        self.random_state = random_state

    def _read_target(self, y: Any, weights: Doubles) -> tuple[NDArray[Any], float, float]:
        values, _ = NumericTarget.read(y, weights)
        mean, scale = (float(each[0]) for each in _moments(values[:, None], weights))
        return (values - mean) / scale, mean, scale

    def _cv_loss(self, data: PoolingData, folds: list[Fold]) -> Callable[[Penalties], float]:
        return ridge_cv_loss(data, folds)

    def _solve(
        self, data: PoolingData, penalties: Penalties, target_scale: float
    ) -> tuple[Doubles, Doubles, Doubles]:
        grams = data.grams(np.arange(len(data.y)))
        found, sd = fit_ridge(grams, penalties)
        error = squared_error(grams, found.coefs) / float(grams.weights.sum())
        self.residual_sd_ = target_scale * float(np.sqrt(error))
        return target_scale * found.coefs, target_scale * found.mean, self.residual_sd_ * sd

    def predict(self, X: Any, sources: Any = None) -> Doubles:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,), default=None
            Source of each row; a row of missing or new source gets the mean coefficients.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        rows = validate_numbers(self, X, dtype=np.float64, squares=True, reset=False)
        codes = lookup_sources(sources, self.sources_, len(rows))
        predicted = rows @ self.common_coef_ + self.common_intercept_
        known = codes != UNKNOWN_SOURCE
        own = codes[known]
        predicted[known] = (rows[known] * self.coef_[own]).sum(axis=1) + self.intercept_[own]
        return np.asarray(predicted)

    def _check_fitted(self) -> None:
        expect_fitted(self, {"residual_sd_": "number 0.."})
        self._check_coefs(())
        expect(bool(np.isfinite(self.common_intercept_)), "common_intercept_ is not finite")
