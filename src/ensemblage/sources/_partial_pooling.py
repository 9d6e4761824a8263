"""Partial pooling: coefficients of each source, shrunk towards common ones, at one level or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
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
    GRIDS,
    INF,
    Penalties,
    PooledCoefs,
    PoolingData,
    SourceRows,
    deviation_sds,
    fit_logistic,
    fit_ridge,
    logistic_cv_loss,
    ridge_cv_loss,
    search_folds,
    search_penalties,
    squared_error,
)
from ensemblage.sources._source_codes import (
    encode_sources,
    expect_source_names,
    lookup_sources,
    outer_sources,
    source_column,
    source_labels,
    split_fitted_column,
    split_source_column,
)
from ensemblage.strata import NumericTarget

Doubles = NDArray[np.float64]

LEVEL_PENALTY = (Interval(Real, 0, None, closed="right"), StrOptions({"auto"}), tuple, list)
"""Constraint of a penalty that may differ between outer and inner sources."""
OUTER_ATTRIBUTES = (
    "outer_coef_", "outer_intercept_", "outer_deviation_sd_", "outer_intercept_sd_",
)  # fmt: skip
"""Of nested sources."""
Z_95 = float(norm.ppf(0.975))
"""Half width of a 95 % confidence interval in standard deviations."""
SHARED_DOCS = """
common_penalty : float or "auto", default="auto"
    Penalty on the common coefficients; infinity leaves them out, which is one model per source.
deviation_penalty : float, "auto" or pair of these, default="auto"
    Penalty on the sources' deviations from them; infinity leaves these out, so that sources
    differ in their intercepts only. If sources are nested, a pair is that of the outer sources, and
    that of the inner ones' deviations from these; one number is both.
intercept_penalty : float, "auto" or pair of these, default="auto"
    Likewise on the deviations of the sources' intercepts, in standardised columns; with infinity,
    sources have the same intercept.
cv : int, splitter or iterable, default=5
    Folds by which ``"auto"`` chooses. An integer makes folds stratified by source, of at most
    10,000 rows. A splitter gets the sources as its groups; the outer ones, if they are nested.
random_state : int, RandomState instance or None, default=None
    For the folds.
sources_ : ndarray of shape (n_sources,) or (n_sources, 2)
    Names of the sources, sorted; the outer and the inner name of each pair, if they are nested.
source_column_ : str, list of two str, or None
    Columns of the frame that are the sources.
outer_coef_, outer_intercept_ : ndarray of shape (n_outer, ...)
    Means of the coefficients and intercepts over the sources of each outer source, sorted by name;
    used for rows of a known outer source whose inner source is unknown. Only if sources are nested.
common_penalty_ : float
    Penalty used.
deviation_penalty_, intercept_penalty_ : float or tuple of two
    Penalties used; those of outer and inner sources, if they are nested.
column_means_ : ndarray of shape (n_features,)
    Mean of each column.
n_features_in_ : int
    Number of columns seen in ``fit``.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where they all have one.
"""


@set_module("ensemblage.sources")
class Deviation(NamedTuple):
    """Difference of a source's coefficient from the common one, with 95 % confidence limits.

    That of an inner source is from the coefficient of its outer source.
    """

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


def _by_level(name: str, given: Any, *, nested: bool) -> tuple[Any, Any]:
    """Give the penalties of outer and inner sources; sources of one level have no inner ones."""
    if not isinstance(given, (tuple, list)):
        return given, given if nested else INF
    each_valid = all(
        each == "auto" if isinstance(each, str) else isinstance(each, Real) and float(each) > 0
        for each in given
    )
    if not nested or len(given) != 2 or not each_valid:
        raise ValueError(
            f"{name}={given!r}, but must be a number above 0 or 'auto', or a pair of these, for "
            "outer and inner sources, if sources are nested."
        )
    return given[0], given[1]


class BasePartialPooling(DocLinkMixin):
    """Shared by classifier and regressor: validation, penalties, units of the coefficients."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sources": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "common_penalty": [Interval(Real, 0, None, closed="right"), StrOptions({"auto"})],
        "deviation_penalty": [*LEVEL_PENALTY],
        "intercept_penalty": [*LEVEL_PENALTY],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object"],
        "random_state": ["random_state"],
    }

    _is_classification: ClassVar[bool]
    common_penalty: Any
    deviation_penalty: Any
    intercept_penalty: Any
    cv: Any
    random_state: Any
    coef_: Doubles
    intercept_: Doubles
    outer_coef_: Doubles
    outer_intercept_: Doubles
    common_coef_: Doubles
    common_intercept_: Any
    deviation_sd_: Doubles
    intercept_sd_: Doubles
    outer_deviation_sd_: Doubles
    outer_intercept_sd_: Doubles
    deviation_penalty_: Any
    intercept_penalty_: Any
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
        sources : array-like of shape (n_samples,) or (n_samples, 2), str, or list of two str
            Source of each row, or its outer and its inner source, such as a hospital and a ward of
            it; or the names of these columns of a frame, which are removed from it. If not given,
            all rows count as one source.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        least = 1 if self._is_classification else 2
        rest, given = split_source_column(X, sources)
        rows, y = validate_numbers(
            self, rest, y, dtype=np.float64, squares=True, ensure_min_samples=least
        )
        weights = read_weights(sample_weight, rows)
        y, target_mean, target_scale = self._read_target(y, weights)
        if given is None:
            warn_user(
                f"{type(self).__name__} was fitted without sources: all rows count as one "
                "source. Pass fit(..., sources=...).",
            )
            given = np.zeros(len(rows), dtype=int)
        self.source_column_ = None if rest is X else source_column(sources)
        self.sources_, codes = encode_sources(given, rows, allow_nested=True)
        _, outer = outer_sources(self.sources_)
        mean, scale = _moments(rows, weights)
        standardised = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
        data = PoolingData(standardised, y, codes, weights, outer)
        penalties = self._choose_penalties(data)
        coefs, *sds = self._solve(data, penalties, target_scale)
        self._store(coefs, sds, penalties, (mean, scale, target_mean))
        return self

    def _store(
        self,
        found: PooledCoefs,
        sds: Sequence[Doubles],
        penalties: Penalties,
        units: tuple[Doubles, Doubles, float],
    ) -> None:
        """Store coefficients, and standard deviations of outer and inner ones, in given units."""
        mean, scale, target_mean = units

        def in_units(coefs: Doubles) -> tuple[Doubles, Any]:
            slopes = coefs[..., :-1] / scale
            return slopes, coefs[..., -1] - slopes @ mean + target_mean

        self.column_means_ = mean
        self.common_penalty_ = penalties.common
        self.coef_, self.intercept_ = in_units(found.coefs)
        self.common_coef_, common_intercept = in_units(found.mean)
        self.common_intercept_ = (
            common_intercept if found.common.ndim > 1 else float(common_intercept)
        )
        outer_sd, own_sd = sds
        if self._nested:
            self.deviation_penalty_ = penalties.deviation, penalties.inner_deviation
            self.intercept_penalty_ = penalties.intercept, penalties.inner_intercept
            self.outer_coef_, self.outer_intercept_ = in_units(found.outer_coefs)
            self.outer_deviation_sd_ = outer_sd[..., :-1] / scale
            self.outer_intercept_sd_ = outer_sd[..., -1]
        else:
            self.deviation_penalty_, self.intercept_penalty_ = penalties[1:3]
            own_sd = outer_sd
            for name in OUTER_ATTRIBUTES:
                vars(self).pop(name, None)
        self.deviation_sd_, self.intercept_sd_ = own_sd[..., :-1] / scale, own_sd[..., -1]

    @property
    def _nested(self) -> bool:
        return bool(self.sources_.ndim == 2)

    def _choose_penalties(self, data: PoolingData) -> Penalties:
        given: dict[str, Any] = {"common": self.common_penalty}
        for name in ("deviation", "intercept"):
            parameter = f"{name}_penalty"
            given[name], given[f"inner_{name}"] = _by_level(
                parameter, getattr(self, parameter), nested=self._nested
            )
        if "auto" not in given.values():
            return Penalties(**{name: float(each) for name, each in given.items()})
        grids = {
            name: grid if given[name] == "auto" else (float(given[name]),)
            for name, grid in GRIDS.items()
        }
        n_outer = int(data.outer[-1]) + 1
        if n_outer == 1:  # deviations are not identified
            grids |= {"deviation": (INF,), "intercept": (INF,)}
        if n_outer == data.n_sources:
            grids |= {"inner_deviation": (INF,), "inner_intercept": (INF,)}
        labels = data.y if self._is_classification else np.zeros(len(data.y), np.int64)
        if isinstance(self.cv, Integral):
            rng = np.random.default_rng(draw_seeds(self.random_state, 1)[0])
            folds = search_folds(data.sources, int(self.cv), rng)
        else:
            splitter = check_cv(self.cv, labels, classifier=self._is_classification)
            groups = data.outer[data.sources]
            folds = [Fold(*parts) for parts in splitter.split(data.rows, labels, groups)]
        return search_penalties(self._cv_loss(data, folds), grids)

    def _read_target(self, y: Any, weights: Doubles) -> tuple[NDArray[Any], float, float]:
        """Give the encoded target, and the mean and scale by which it was standardised."""
        raise NotImplementedError  # look: ok

    def _cv_loss(self, data: PoolingData, folds: list[Fold]) -> Callable[[Penalties], float]:
        raise NotImplementedError  # look: ok

    def _solve(
        self, data: PoolingData, penalties: Penalties, target_scale: float
    ) -> tuple[PooledCoefs, Doubles, Doubles]:
        """Give coefficients, and standard deviations of deviations and inner deviations."""
        raise NotImplementedError  # look: ok

    def _read_rows(self, X: Any, sources: Any) -> tuple[Doubles, NDArray[np.int64]]:
        """Validate rows; also give the codes of their sources, indices of ``_by_code``."""
        check_is_fitted(self)
        X, sources = split_fitted_column(X, sources, self.source_column_)
        rows = validate_numbers(self, X, dtype=np.float64, squares=True, reset=False)
        return rows, lookup_sources(sources, self.sources_, len(rows))

    def _by_code(self) -> tuple[Doubles, Doubles]:
        """Coefficients and intercepts of sources, outer sources if any, and unknown sources."""
        common = self.common_coef_[None], np.asarray(self.common_intercept_)[None]
        outer = [(self.outer_coef_, self.outer_intercept_)] if self._nested else []
        parts = zip((self.coef_, self.intercept_), *outer, common, strict=True)
        coefs, intercepts = (np.concatenate(part) for part in parts)
        return coefs, intercepts

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

    def deviations(
        self, false_discovery_rate: float = 0.05, *, intercepts: bool = False
    ) -> list[Deviation]:
        """List the coefficients in which a source differs significantly from the others.

        If sources are nested, these are differences of outer sources from the common coefficients,
        and of inner sources from their outer source.

        Parameters
        ----------
        false_discovery_rate : float, default=0.05
            Expected share of those listed that do not differ (Benjamini and Hochberg); 1 lists all.
        intercepts : bool, default=False
            Whether to list intercepts instead, as the column ``intercept``: the difference of a
            row with the mean of each column.

        Returns
        -------
        list of Deviation
            The most significant first. Each is a named tuple of ``source``, ``column`` (its name,
            or ``x`` and its number), ``label`` (the class whose log-odds the coefficient raises;
            None for a numeric target), ``value`` (the difference, in log-odds or in units of the
            target, per unit of the column) and its 95 % confidence limits ``low`` and ``high``.
            The source is ``outer / inner`` for an inner one.
        """
        check_is_fitted(self)
        sources, values, sd = self._differences()
        tested = sd > 0
        tested[..., :-1] &= not intercepts
        tested[..., -1] &= intercepts
        found = np.argwhere(tested)
        p_values = norm.sf(np.abs(values[tested]) / sd[tested]) * 2
        order = np.argsort(p_values, kind="stable")
        limits = false_discovery_rate * np.arange(1, len(order) + 1) / max(len(order), 1)
        below = np.flatnonzero(p_values[order] <= limits)
        n_listed = int(below[-1]) + 1 if len(below) else 0
        names = getattr(self, "feature_names_in_", None)
        columns = [f"x{j}" for j in range(self.n_features_in_)] if names is None else names.tolist()
        columns = [*map(str, columns), "intercept"]
        classes = getattr(self, "classes_", np.array([None]))
        labels = classes.tolist()[-values.shape[1] :]  # the second of two
        listed = []
        for s, k, j in found[order[:n_listed]].tolist():
            value, margin = float(values[s, k, j]), float(Z_95 * sd[s, k, j])
            bounds = value - margin, value + margin
            listed.append(Deviation(sources[s], columns[j], labels[k], value, *bounds))
        return listed

    def _differences(self) -> tuple[list[Any], Doubles, Doubles]:
        """Differences of sources, and their standard deviations; zero if there is none by model.

        Both have the shape (n, n_logits, n_features + 1), the intercept at the columns' means last.
        """

        def at_means(coefs: Doubles, intercepts: Any) -> Doubles:
            return np.concatenate([coefs, (intercepts + coefs @ self.column_means_)[..., None]], -1)

        own = at_means(self.coef_, self.intercept_)
        common = at_means(self.common_coef_, self.common_intercept_)
        own_sd = np.concatenate([self.deviation_sd_, self.intercept_sd_[..., None]], -1)
        sources = source_labels(self.sources_)
        shape = (-1, 1 if common.ndim == 1 else len(common), common.shape[-1])
        if not self._nested:
            return sources, (own - common).reshape(shape), own_sd.reshape(shape)
        names, codes = outer_sources(self.sources_)
        outer = at_means(self.outer_coef_, self.outer_intercept_)
        outer_sd = np.concatenate(
            [self.outer_deviation_sd_, self.outer_intercept_sd_[..., None]], -1
        )
        values = np.concatenate([outer - common, own - outer[codes]])
        sd = np.concatenate([outer_sd, own_sd])
        return [*names.tolist(), *sources], values.reshape(shape), sd.reshape(shape)

    def _check_coefs(self, outputs: tuple[int, ...]) -> None:
        """Check coefficients of a model file; ``outputs`` is the axis of the logits, if any."""
        expect_source_names(self, "sources_")
        n_sources, d, nested = len(self.sources_), self.n_features_in_, self._nested
        column = self.source_column_
        names = [column] if isinstance(column, str) else column
        listed = isinstance(names, list) and all(isinstance(each, str) for each in names)
        expect(names is None or listed, "source_column_ is no column")
        expect(names is None or len(names) == 1 + nested, "source_column_ has another length")
        self._check_penalties()
        expect_array(self, "column_means_", (d,))
        expect_array(self, "common_coef_", (*outputs, d))
        levels = [("", n_sources)]
        if nested:
            levels.append(("outer_", len(outer_sources(self.sources_)[0])))
        for prefix, n in levels:
            expect_array(self, f"{prefix}coef_", (n, *outputs, d))
            expect_array(self, f"{prefix}intercept_", (n, *outputs))
            expect_array(self, f"{prefix}deviation_sd_", (n, *outputs, d), low=0)
            expect_array(self, f"{prefix}intercept_sd_", (n, *outputs), low=0)

    def _check_penalties(self) -> None:
        penalties = [self.common_penalty_]
        for each in (self.deviation_penalty_, self.intercept_penalty_):
            pair = isinstance(each, tuple)
            expect(pair == self._nested and (not pair or len(each) == 2), "a penalty is no pair")
            penalties += each if pair else [each]
        expect(all(each > 0 for each in penalties), "a penalty is not above zero")


@set_module("ensemblage.sources")
@with_shared(SHARED_DOCS)
class PartialPoolingClassifier(BasePartialPooling, ClassifierMixin, BaseEstimator):
    r"""Logistic regression whose coefficients are partially pooled over sources.

    Between one model for all sources and one model per source: every source has coefficients of
    its own, shrunk towards common ones. The shrinkage is chosen by cross-validation.

    Parameters
    ----------
    {common_penalty, deviation_penalty, intercept_penalty, cv}
    tol : float, default=1e-5
        Stop when no entry of the gradient per row is larger than this.
    max_iter : int, default=500
        Maximum number of iterations.
    {random_state}

    Attributes
    ----------
    {sources_, source_column_}
    coef_ : ndarray of shape (n_sources, n_logits, n_features)
        Each source's coefficients, in the columns' units. There is one logit for two classes, and
        otherwise one per class.
    intercept_ : ndarray of shape (n_sources, n_logits)
        Each source's intercepts.
    {outer_coef_, outer_intercept_}
    common_coef_ : ndarray of shape (n_logits, n_features)
        Mean over the sources, the outer ones if they are nested; used for rows of unknown source.
    common_intercept_ : ndarray of shape (n_logits,)
        Likewise.
    deviation_sd_ : ndarray of shape (n_sources, n_logits, n_features)
        Standard deviations of the deviations given all else, in the columns' units.
    intercept_sd_ : ndarray of shape (n_sources, n_logits)
        Likewise of the intercepts' deviations, at the mean of the columns.
    outer_deviation_sd_, outer_intercept_sd_ : ndarray of shape (n_outer, n_logits, ...)
        Likewise of the outer sources. Only if sources are nested.
    {common_penalty_, deviation_penalty_, intercept_penalty_, column_means_}
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
        \tfrac{\lambda_1}{2} \sum_s \|D_s\|^2 + \tfrac{\lambda_2}{2} \sum_s \|d_s\|^2,

    with :math:`B` common, :math:`D_s` the deviations of source s and :math:`d_s` those of its
    intercepts. At the minimum :math:`\lambda_0 B = \lambda_1 \sum_s D_s`; a row of unknown source
    gets the mean :math:`B + \sum_s D_s / S`, which is :math:`B` if there are no deviations.

    Coefficients of a source s nested in o are :math:`B + D_o + E_s`; deviations :math:`E_s` from
    those of the outer source have penalties of their own.

    The penalties minimise the log loss of the folds, one after the other, from two starts.

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
        intercept_penalty: Any = "auto",
        cv: Any = 5,
        tol: float = 1e-5,
        max_iter: int = 500,
        random_state: Any = None,
    ) -> None:
        self.common_penalty = common_penalty
        self.deviation_penalty = deviation_penalty
        self.intercept_penalty = intercept_penalty
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
        return logistic_cv_loss(data, self._start(data), folds)

    def _solve(
        self, data: PoolingData, penalties: Penalties, target_scale: float
    ) -> tuple[PooledCoefs, Doubles, Doubles]:
        del target_scale
        rows = data.by_source()
        found, self.n_iter_ = fit_logistic(
            rows, penalties, self._start(data), tol=self.tol, max_iter=self.max_iter
        )
        curvatures = _logistic_curvatures(rows, found.coefs)
        by_logit = [deviation_sds(each, data.outer, penalties) for each in curvatures]
        outer_sd, inner_sd = (np.stack(sds, axis=1) for sds in zip(*by_logit, strict=True))
        return found, outer_sd, inner_sd

    def _start(self, data: PoolingData) -> PooledCoefs:
        return PooledCoefs.zeros(data.outer, self._n_logits, data.rows.shape[1])

    def decision_function(self, X: Any, sources: Any = None) -> Doubles:
        """Log-odds; for more than two classes, one unnormalised log probability per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or (n_samples, 2), default=None
            As in ``fit``; if they are columns of X there, these are used. A row of missing or new
            source gets the mean coefficients, those of its outer source if that is known.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes.
        """
        rows, codes = self._read_rows(X, sources)
        coefs, intercepts = self._by_code()
        scores = rows @ self.common_coef_.T + self.common_intercept_
        for code in np.unique(codes[codes != UNKNOWN_SOURCE]):
            own = codes == code
            scores[own] = rows[own] @ coefs[code].T + intercepts[code]
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


def _logistic_curvatures(data: SourceRows, coefs: Doubles) -> Doubles:
    """Second derivatives of the loss of each logit, (n_logits, n_sources, width, width)."""
    n_sources, n_logits, width = coefs.shape
    out = np.zeros((n_logits, n_sources, width, width))
    for s, (first, last) in enumerate(pairwise(data.starts)):
        rows, weights = data.rows[first:last], data.weights[first:last]
        scores = rows @ coefs[s].T
        proba = expit(scores) if n_logits == 1 else softmax(scores, axis=1)
        for k in range(n_logits):
            curvature = weights * proba[:, k] * (1 - proba[:, k])
            out[k, s] = (rows * curvature[:, None]).T @ rows
    return out


@set_module("ensemblage.sources")
@with_shared(SHARED_DOCS)
class PartialPoolingRegressor(BasePartialPooling, RegressorMixin, BaseEstimator):
    r"""Linear regression whose coefficients are partially pooled over sources.

    Between one model for all sources and one model per source: every source has coefficients of
    its own, shrunk towards common ones. The shrinkage is chosen by cross-validation.

    Parameters
    ----------
    {common_penalty, deviation_penalty, intercept_penalty, cv, random_state}

    Attributes
    ----------
    {sources_, source_column_}
    coef_ : ndarray of shape (n_sources, n_features)
        Each source's coefficients, in the columns' units.
    intercept_ : ndarray of shape (n_sources,)
        Each source's intercept.
    {outer_coef_, outer_intercept_}
    common_coef_ : ndarray of shape (n_features,)
        Mean over the sources, the outer ones if they are nested; used for rows of unknown source.
    common_intercept_ : float
        Likewise.
    deviation_sd_ : ndarray of shape (n_sources, n_features)
        Standard deviations of the deviations given all else, in the columns' units.
    intercept_sd_ : ndarray of shape (n_sources,)
        Likewise of the intercepts' deviations, at the mean of the columns.
    outer_deviation_sd_, outer_intercept_sd_ : ndarray of shape (n_outer, ...)
        Likewise of the outer sources. Only if sources are nested.
    residual_sd_ : float
        Standard deviation of the residuals.
    {common_penalty_, deviation_penalty_, intercept_penalty_, column_means_, n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PartialPoolingClassifier : The same for classification.
    StrataEnsembleRegressor : Strata of sources, for an unknown source at prediction.

    Notes
    -----
    On standardised columns and a standardised target it minimises

    .. math:: \tfrac12 \sum_m (y_m - x_m \cdot (B + D_{s(m)}))^2 + \tfrac{\lambda_0}{2} \|B\|^2 +
        \tfrac{\lambda_1}{2} \sum_s \|D_s\|^2 + \tfrac{\lambda_2}{2} \sum_s d_s^2,

    with :math:`B` common, :math:`D_s` the deviations of source s and :math:`d_s` that of its
    intercept, in closed form. A row of unknown source gets the mean :math:`B + \sum_s D_s / S`.
    These are the best linear unbiased predictions of a mixed model if :math:`\lambda_0 = 0` and
    :math:`\lambda_1, \lambda_2` are its residual variance over those of the random effects.

    Coefficients of a source s nested in o are :math:`B + D_o + E_s`; deviations :math:`E_s` from
    those of the outer source have penalties of their own.

    The penalties minimise the squared error of the folds, one after the other, from two starts.

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
        intercept_penalty: Any = "auto",
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.common_penalty = common_penalty
        self.deviation_penalty = deviation_penalty
        self.intercept_penalty = intercept_penalty
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
    ) -> tuple[PooledCoefs, Doubles, Doubles]:
        grams = data.grams()
        found = fit_ridge(grams, penalties)
        error = squared_error(grams, found.coefs) / float(grams.weights.sum())
        self.residual_sd_ = target_scale * float(np.sqrt(error))
        outer_sd, inner_sd = deviation_sds(grams.grams, found.outer, penalties)
        in_units = found.scaled(target_scale)
        return in_units, self.residual_sd_ * outer_sd, self.residual_sd_ * inner_sd

    def predict(self, X: Any, sources: Any = None) -> Doubles:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or (n_samples, 2), default=None
            As in ``fit``; if they are columns of X there, these are used. A row of missing or new
            source gets the mean coefficients, those of its outer source if that is known.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        rows, codes = self._read_rows(X, sources)
        coefs, intercepts = self._by_code()
        predicted = rows @ self.common_coef_ + self.common_intercept_
        known = codes != UNKNOWN_SOURCE
        own = codes[known]
        predicted[known] = (rows[known] * coefs[own]).sum(axis=1) + intercepts[own]
        return np.asarray(predicted)

    def _check_fitted(self) -> None:
        expect_fitted(self, {"residual_sd_": "number 0.."})
        self._check_coefs(())
        expect(bool(np.isfinite(self.common_intercept_)), "common_intercept_ is not finite")
