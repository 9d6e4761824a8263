"""Partial pooling: coefficients of each source, shrunk towards common ones."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    UNKNOWN_SOURCE,
    DocLinkMixin,
    Fold,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    guarded_fit,
    read_weights,
    refuse_infinite,
    set_module,
    validate_numbers,
    warn_user,
)
from ensemblage.sources._pooling_solvers import (
    INTERCEPT_PENALTY,
    OWN,
    SHARED,
    Grid,
    Penalties,
    Pooled,
    SharedAndOwn,
    SourcedRows,
    SourceProducts,
    choose_penalties,
    fit_pooled,
    search_folds,
    search_penalties,
    solve_pooled,
    source_products,
    squared_error,
)
from ensemblage.sources._source_codes import SourceCodes, find_sources, number_sources
from ensemblage.strata import NumericTarget

Doubles = NDArray[np.float64]


@set_module("ensemblage.sources")
class Deviation(NamedTuple):
    """How much a source's coefficient differs from what sources have in common.

    Parameters
    ----------
    source : object
        The source.
    column : str
        The column's name, or ``x`` and its number.
    label : object
        The class whose log odds the coefficient raises; None where numbers are predicted.
    value : float
        The difference, in log odds or in units of the target, per unit of the column.
    low, high : float
        Bounds between which it lies with the probability asked for.
    """

    source: Any
    column: str
    label: Any
    value: float
    low: float
    high: float


class Scaling(NamedTuple):
    """Mean and spread of each column."""

    mean: Doubles
    scale: Doubles

    @classmethod
    def of(cls, X: Doubles, weights: Doubles) -> Scaling:
        mean = np.average(X, axis=0, weights=weights)
        spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
        return cls(mean, np.where(spread > 1e-12 * (np.abs(mean) + 1e-300), spread, 1.0))

    def rows(self, X: Doubles) -> Doubles:
        """Standardise, and put a one behind the columns."""
        return np.column_stack([(X - self.mean) / self.scale, np.ones(len(X))])

    def in_units(self, coefs: Doubles) -> tuple[Doubles, Doubles]:
        """Turn coefficients of standardised columns into those of the columns, and intercepts."""
        slopes = coefs[..., :-1] / self.scale
        return slopes, coefs[..., -1] - slopes @ self.mean


class PartialPoolingMixin:
    """Penalties, folds and the telling of deviations; the class says what is fitted."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sources": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shared_penalty": [Interval(Real, 0, None, closed="right"), StrOptions({"auto"})],
        "own_penalty": [Interval(Real, 0, None, closed="right"), StrOptions({"auto"})],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "random_state": ["random_state"],
    }

    shared_penalty: Any
    own_penalty: Any
    cv: Any
    random_state: Any
    sources_: NDArray[Any]

    def _number(self, sources: Any, rows: Doubles) -> SourceCodes:
        """Give sources numbers; without them all rows count as one."""
        if sources is None:
            warn_user(
                f"{type(self).__name__} was fitted without sources: all rows count as one "
                "source. Pass fit(..., sources=...).",
            )
            sources = np.zeros(len(rows), dtype=int)
        return number_sources(sources, rows)

    def _given(self) -> Penalties | Grid:
        """Give the penalties that were given, or those to choose from."""
        given = (self.shared_penalty, self.own_penalty)
        if "auto" not in given:
            return Penalties(float(self.shared_penalty), float(self.own_penalty))
        shared, own = (None if each == "auto" else (float(each),) for each in given)
        return Grid(shared or SHARED, own or OWN)

    def _folds(self, data: SourcedRows) -> list[Fold]:
        if isinstance(self.cv, Integral):
            rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
            return search_folds(data, int(self.cv), rng)
        splitter = check_cv(self.cv, data.labels, classifier=self._of_classes)
        return [Fold(*parts) for parts in splitter.split(data.rows, data.labels, data.sources)]

    def deviations(self, false_discovery: float = 0.05) -> list[Deviation]:
        """Name the coefficients in which a source truly differs from the others.

        Parameters
        ----------
        false_discovery : float, default=0.05
            Expected share of those named that do not differ (Benjamini and Hochberg).

        Returns
        -------
        list of Deviation
            The surest first; bounds hold with a probability of 95 % each.
        """
        check_is_fitted(self)
        values, sd, labels = self._differences()
        sd = np.where(sd > 0, sd, np.inf)
        sure = norm.sf(np.abs(values) / sd) * 2
        order = np.argsort(sure, axis=None, kind="stable")
        limits = false_discovery * np.arange(1, sure.size + 1) / sure.size
        below = np.flatnonzero(sure.ravel()[order] <= limits)
        n_named = int(below[-1]) + 1 if len(below) else 0
        columns = getattr(self, "feature_names_in_", None)
        half = norm.ppf(0.975) * sd
        named = []
        for s, k, j in zip(*np.unravel_index(order[:n_named], sure.shape), strict=True):
            value, margin = float(values[s, k, j]), float(half[s, k, j])
            column = f"x{j}" if columns is None else str(columns[j])
            source, label = self.sources_.tolist()[s], labels[k]
            bounds = (value - margin, value + margin)
            named.append(Deviation(source, column, label, value, *bounds))
        return named

    _of_classes: ClassVar[bool]

    def _differences(self) -> tuple[Doubles, Doubles, list[Any]]:
        """Give deviations and their spreads, (n_sources, n_labels, n_features), and the labels."""
        raise NotImplementedError  # look: ok


@set_module("ensemblage.sources")
class PartialPoolingClassifier(PartialPoolingMixin, ClassifierMixin, DocLinkMixin, BaseEstimator):
    r"""Logistic regression in which sources share what they have in common.

    Between one model for all sources and one model per source: every source has coefficients of
    its own, drawn towards shared ones as far as held-out rows say that it helps.

    Parameters
    ----------
    shared_penalty : float or "auto", default="auto"
        Penalty on the shared coefficients; infinity leaves them out, which is one model per
        source.
    own_penalty : float or "auto", default="auto"
        Penalty on the sources' deviations from them; infinity leaves these out, so that sources
        differ in their intercepts only.
    cv : int, splitter or iterable, default=5
        Folds by which ``"auto"`` chooses; a number of them keeps the shares of sources and
        classes, on at most 20,000 rows. A splitter gets the sources as its groups.
    tol : float, default=1e-5
        Stop when no slope is larger than this, per row.
    max_iter : int, default=500
        At most so many steps.
    random_state : int, RandomState instance or None, default=None
        For the folds.

    Attributes
    ----------
    sources_ : ndarray of shape (n_sources,)
        Names of the sources, sorted.
    coef_ : ndarray of shape (n_sources, n_logits, n_features)
        Each source's coefficients, in the columns' units. There is one logit for two classes, and
        otherwise one per class.
    intercept_ : ndarray of shape (n_sources, n_logits)
        Each source's intercepts.
    common_coef_ : ndarray of shape (n_logits, n_features)
        Mean over the sources, used for rows whose source is not known.
    common_intercept_ : ndarray of shape (n_logits,)
        Mean over the sources.
    deviation_sd_ : ndarray of shape (n_sources, n_logits, n_features)
        Standard deviations of the deviations given all else, in the columns' units.
    shared_penalty_, own_penalty_ : float
        Penalties in use.
    n_iter_ : int
        Steps of the last fit.
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    SourceStrata : Strata of sources, where the source is not known at prediction.

    Notes
    -----
    On standardised columns it minimises

    .. math:: -\sum_m \log p(y_m \mid x_m; B + D_{s(m)}) + \tfrac{\lambda_0}{2} \|B\|^2 +
        \tfrac{\lambda_1}{2} \sum_s \|D_s\|^2 + \tfrac12 \sum_s \|d_s\|^2,

    with :math:`B` shared, :math:`D_s` the deviations of source s and :math:`d_s` those of its
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

    _of_classes = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PartialPoolingMixin._parameter_constraints,  # noqa: SLF001
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        shared_penalty: Any = "auto",
        own_penalty: Any = "auto",
        cv: Any = 5,
        tol: float = 1e-5,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.shared_penalty = shared_penalty
        self.own_penalty = own_penalty
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @guarded_fit
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None, sources: Any = None
    ) -> Self:
        """Choose the penalties, and learn what is shared and what is not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,)
            Where each row comes from. If not given, all rows count as one source.

        Returns
        -------
        self : object
            Fitted classifier.
        """
        rows, labels = self._check_rows(X, y)
        weights = read_weights(sample_weight, rows)
        names, codes = self._number(sources, rows)
        scaling = Scaling.of(rows, weights)
        data = SourcedRows(scaling.rows(rows), labels, codes, weights)
        n_logits = 1 if len(self.classes_) == 2 else len(self.classes_)
        start = Pooled.nothing(len(names), n_logits, rows.shape[1] + 1)
        penalties = self._given()
        if isinstance(penalties, Grid):
            penalties = choose_penalties(data, start, self._folds(data), penalties)
        sorted_rows = data.by_source(len(names))
        found, self.n_iter_ = fit_pooled(
            sorted_rows, penalties, start, tol=self.tol, max_iter=self.max_iter
        )
        self.sources_ = names
        self.shared_penalty_, self.own_penalty_ = penalties
        self.coef_, self.intercept_ = scaling.in_units(found.coefs)
        self.common_coef_, self.common_intercept_ = scaling.in_units(found.typical)
        self.deviation_sd_ = _deviation_sd(data, found.coefs, penalties) / scaling.scale
        return self

    def _check_rows(self, X: Any, y: Any) -> tuple[Doubles, NDArray[np.int64]]:
        rows, y = validate_numbers(self, X, y, dtype=np.float64, squares=True)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {self.classes_.tolist()[0]!r}; a classifier needs at "
                "least two classes."
            )
        return rows, labels.astype(np.int64)

    def decision_function(self, X: Any, sources: Any = None) -> Doubles:
        """Log odds; for more than two classes, one unnormalised log probability per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,), default=None
            Where each row comes from; a row whose source is missing or new gets the mean
            coefficients.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes.
        """
        check_is_fitted(self)
        rows = validate_numbers(self, X, dtype=np.float64, squares=True, reset=False)
        codes = find_sources(sources, self.sources_, len(rows))
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

    def score(self, X: Any, y: Any, sample_weight: Any = None, sources: Any = None) -> float:
        """Share of the rows whose class is predicted right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,), default=None
            As in ``decision_function``.

        Returns
        -------
        float
            Accuracy.
        """
        return float(accuracy_score(y, self.predict(X, sources), sample_weight=sample_weight))

    def _differences(self) -> tuple[Doubles, Doubles, list[Any]]:
        labels = self.classes_ if self.coef_.shape[1] > 1 else self.classes_[1:]
        return self.coef_ - self.common_coef_, self.deviation_sd_, labels.tolist()

    def _check_fitted(self) -> None:
        """Refuse coefficients that no fit makes."""
        n_sources, d = len(self.sources_), self.n_features_in_
        n_logits = 1 if len(self.classes_) == 2 else len(self.classes_)
        expect_fitted(self, {"sources_": "labels (sources)", "n_iter_": "count"})
        expect(n_sources > 0 and len(self.classes_) > 1, "there is no source, or one class")
        penalties = (self.shared_penalty_, self.own_penalty_)
        expect(all(each > 0 for each in penalties), "a penalty is not above zero")
        expect_array(self, "coef_", (n_sources, n_logits, d))
        expect_array(self, "intercept_", (n_sources, n_logits))
        expect_array(self, "common_coef_", (n_logits, d))
        expect_array(self, "common_intercept_", (n_logits,))
        expect_array(self, "deviation_sd_", (n_sources, n_logits, d), low=0)


def _deviation_sd(data: SourcedRows, coefs: Doubles, penalties: Penalties) -> Doubles:
    """Spread of each source's deviations by the curvature of the loss, all else as it is."""
    n_sources, n_logits, width = coefs.shape
    out = np.zeros((n_sources, n_logits, width - 1))
    if not np.isfinite(penalties.own):
        return out
    ridge = np.full(width, penalties.own)
    ridge[-1] = INTERCEPT_PENALTY
    for s in range(n_sources):
        own = data.sources == s
        rows, weights = data.rows[own], data.weights[own]
        scores = rows @ coefs[s].T
        shares = expit(scores) if n_logits == 1 else softmax(scores, axis=1)
        for k in range(n_logits):
            curvature = weights * shares[:, k] * (1 - shares[:, k])
            inverse = np.linalg.inv((rows * curvature[:, None]).T @ rows + np.diag(ridge))
            out[s, k] = np.sqrt(np.diag(inverse)[:-1])
    return out


@set_module("ensemblage.sources")
class PartialPoolingRegressor(PartialPoolingMixin, RegressorMixin, DocLinkMixin, BaseEstimator):
    r"""Linear regression in which sources share what they have in common.

    Between one model for all sources and one model per source: every source has coefficients of
    its own, drawn towards shared ones as far as held-out rows say that it helps.

    Parameters
    ----------
    shared_penalty : float or "auto", default="auto"
        Penalty on the shared coefficients; infinity leaves them out, which is one model per
        source.
    own_penalty : float or "auto", default="auto"
        Penalty on the sources' deviations from them; infinity leaves these out, so that sources
        differ in their intercepts only.
    cv : int, splitter or iterable, default=5
        Folds by which ``"auto"`` chooses; a number of them keeps the shares of the sources, on at
        most 20,000 rows. A splitter gets the sources as its groups.
    random_state : int, RandomState instance or None, default=None
        For the folds.

    Attributes
    ----------
    sources_ : ndarray of shape (n_sources,)
        Names of the sources, sorted.
    coef_ : ndarray of shape (n_sources, n_features)
        Each source's coefficients, in the columns' units.
    intercept_ : ndarray of shape (n_sources,)
        Each source's intercept.
    common_coef_ : ndarray of shape (n_features,)
        Mean over the sources, used for rows whose source is not known.
    common_intercept_ : float
        Mean over the sources.
    deviation_sd_ : ndarray of shape (n_sources, n_features)
        Standard deviations of the deviations given all else, in the columns' units.
    residual_sd_ : float
        Standard deviation of the residuals.
    shared_penalty_, own_penalty_ : float
        Penalties in use.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    PartialPoolingClassifier : The same of classes.
    StrataEnsembleRegressor : Strata of sources, where the source is not known at prediction.

    Notes
    -----
    On standardised columns and a standardised target it minimises

    .. math:: \tfrac12 \sum_m (y_m - x_m \cdot (B + D_{s(m)}))^2 + \tfrac{\lambda_0}{2} \|B\|^2 +
        \tfrac{\lambda_1}{2} \sum_s \|D_s\|^2 + \tfrac12 \sum_s d_s^2,

    with :math:`B` shared, :math:`D_s` the deviations of source s and :math:`d_s` that of its
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

    _of_classes = False

    def __init__(
        self,
        *,
        shared_penalty: Any = "auto",
        own_penalty: Any = "auto",
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.shared_penalty = shared_penalty
        self.own_penalty = own_penalty
        self.cv = cv
        self.random_state = random_state

    @guarded_fit
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: Any = None, sources: Any = None
    ) -> Self:
        """Choose the penalties, and learn what is shared and what is not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,)
            Where each row comes from. If not given, all rows count as one source.

        Returns
        -------
        self : object
            Fitted regressor.
        """
        rows, y = validate_numbers(self, X, y, dtype=np.float64, squares=True, ensure_min_samples=2)
        weights = read_weights(sample_weight, rows)
        numbers, _ = NumericTarget.read(y, weights)
        names, codes = self._number(sources, rows)
        scaling, target = Scaling.of(rows, weights), Scaling.of(numbers[:, None], weights)
        level, unit = float(target.mean[0]), float(target.scale[0])
        data = _Sorted(
            SourcedRows(scaling.rows(rows), np.zeros(len(rows), np.int64), codes, weights),
            (numbers - level) / unit, len(names),
        )  # fmt: skip
        penalties = self._given()
        if isinstance(penalties, Grid):
            judge = _Folds([data.products(*fold) for fold in self._folds(data.rows)])
            penalties = search_penalties(judge, len(names), penalties)
        products = data.of(np.arange(len(rows)))
        coefs, typical, spread = _solved(products, penalties)
        self.sources_ = names
        self.shared_penalty_, self.own_penalty_ = penalties
        self.coef_, self.intercept_ = scaling.in_units(unit * coefs)
        self.common_coef_, common = scaling.in_units(unit * typical)
        self.intercept_, self.common_intercept_ = self.intercept_ + level, float(common + level)
        error = squared_error(products, coefs) / float(products.weights.sum())
        self.residual_sd_ = unit * float(np.sqrt(error))
        self.deviation_sd_ = self.residual_sd_ * spread / scaling.scale
        return self

    def predict(self, X: Any, sources: Any = None) -> Doubles:
        """Predict numbers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,), default=None
            Where each row comes from; a row whose source is missing or new gets the mean
            coefficients.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        rows = validate_numbers(self, X, dtype=np.float64, squares=True, reset=False)
        codes = find_sources(sources, self.sources_, len(rows))
        said = rows @ self.common_coef_ + self.common_intercept_
        known = codes != UNKNOWN_SOURCE
        own = codes[known]
        said[known] = (rows[known] * self.coef_[own]).sum(axis=1) + self.intercept_[own]
        return np.asarray(said)

    def score(self, X: Any, y: Any, sample_weight: Any = None, sources: Any = None) -> float:
        """Share of the target's variance that is explained (R²).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            True numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,), default=None
            As in ``predict``.

        Returns
        -------
        float
            1 at best; 0 is the constant mean.
        """
        return float(r2_score(y, self.predict(X, sources), sample_weight=sample_weight))

    def _differences(self) -> tuple[Doubles, Doubles, list[Any]]:
        values = self.coef_ - self.common_coef_
        return values[:, None], self.deviation_sd_[:, None], [None]

    def _check_fitted(self) -> None:
        """Refuse coefficients that no fit makes."""
        n_sources, d = len(self.sources_), self.n_features_in_
        expect_fitted(self, {"sources_": "labels (sources)", "residual_sd_": "number 0.."})
        expect(n_sources > 0, "sources_ is empty")
        penalties = (self.shared_penalty_, self.own_penalty_)
        expect(all(each > 0 for each in penalties), "a penalty is not above zero")
        expect_array(self, "coef_", (n_sources, d))
        expect_array(self, "intercept_", (n_sources,))
        expect_array(self, "common_coef_", (d,))
        expect_array(self, "deviation_sd_", (n_sources, d), low=0)
        expect(bool(np.isfinite(self.common_intercept_)), "common_intercept_ is not finite")


class _Sorted(NamedTuple):
    """Rows with their sources, and the standardised target."""

    rows: SourcedRows
    y: Doubles
    n_sources: int

    def of(self, chosen: NDArray[np.intp]) -> SourceProducts:
        """Give the products of some rows."""
        rows, _, sources, weights = self.rows
        return source_products(
            rows[chosen], self.y[chosen], weights[chosen], sources[chosen], self.n_sources
        )

    def products(self, *sides: NDArray[np.intp]) -> tuple[SourceProducts, ...]:
        """Give the products of rows to learn from and of rows to judge by."""
        return tuple(self.of(side) for side in sides)


class _Folds:
    """Mean squared error on held-out rows, at penalties."""

    def __init__(self, parts: list[tuple[SourceProducts, ...]]) -> None:
        self.parts = [each for each in parts if all(side.weights.sum() > 0 for side in each)]

    def __call__(self, penalties: Penalties) -> float:
        total = sum(squared_error(test, _solved(train, penalties)[0]) for train, test in self.parts)
        return total / sum(float(test.weights.sum()) for _, test in self.parts)


def _solved(data: SourceProducts, penalties: Penalties) -> tuple[Doubles, Doubles, Doubles]:
    """Give coefficients of sources, their mean, and spreads of deviations per residual spread."""
    width = data.moments.shape[1]
    shared, own = (np.full(width, each) for each in penalties)
    shared[-1], own[-1] = 0.0, INTERCEPT_PENALTY
    found = solve_pooled(data, SharedAndOwn(shared, own))
    spread = np.zeros((len(data.grams), width - 1))
    if np.isfinite(penalties.own):
        inverse = np.linalg.inv(data.grams + np.diag(own))
        spread = np.sqrt(np.diagonal(inverse, axis1=1, axis2=2)[:, :-1])
    return found.shared + found.own, found.shared + found.own.mean(axis=0), spread
