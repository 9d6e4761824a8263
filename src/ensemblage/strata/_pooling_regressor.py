"""One linear regression of a number for all sources, and what each source has of its own."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from ensemblage.kernels import (
    SharedAndOwn,
    SourceProducts,
    solve_pooled,
    source_products,
    squared_error,
)
from ensemblage.messages import DocLinkMixin, expect, expect_array, expect_fitted
from ensemblage.parallel import guarded_fit, read_weights
from ensemblage.strata._pooled_fit import INTERCEPT_PENALTY, Penalties
from ensemblage.strata._pooling_base import PartialPoolingMixin, Scaling
from ensemblage.strata._pooling_search import Grid, SourcedRows, search_penalties
from ensemblage.strata._source_codes import UNKNOWN, find_sources
from ensemblage.strata._strata_targets import read_numbers
from ensemblage.tables import validate_numbers

Doubles = NDArray[np.float64]


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
    >>> from ensemblage.strata import PartialPoolingRegressor
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
        numbers, _ = read_numbers(y, weights)
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
        known = codes != UNKNOWN
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

    def __check_state__(self) -> None:
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
