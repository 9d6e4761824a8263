"""One regression for all sources, and what each source has of its own."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_is_fitted,
)

from ensemblage.messages import DocLinkMixin, expect, expect_array, expect_fitted
from ensemblage.parallel import guarded_fit, read_weights
from ensemblage.strata._pooled_fit import INTERCEPT_PENALTY, Penalties, Pooled, fit_pooled
from ensemblage.strata._pooling_base import PartialPoolingMixin, Scaling
from ensemblage.strata._pooling_search import Grid, SourcedRows, choose_penalties
from ensemblage.strata._source_codes import UNKNOWN, find_sources
from ensemblage.tables import refuse_infinite, validate_numbers

Doubles = NDArray[np.float64]


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
    >>> from ensemblage.strata import PartialPoolingClassifier
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
        for code in np.unique(codes[codes != UNKNOWN]):
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

    def __check_state__(self) -> None:
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
