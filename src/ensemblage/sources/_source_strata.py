"""One stratum per source."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ensemblage._core import (
    PROBABILITY_FLOOR,
    UNKNOWN_SOURCE,
    DocLinkMixin,
    HasMethods,
    Interval,
    draw_seeds,
    expect,
    expect_array,
    expect_fitted,
    fit_context,
    fit_parameter,
    guarded_fit,
    make_folds,
    read_weights,
    set_module,
    set_seed,
    validate_numbers,
    warn_user,
)
from ensemblage.sources._source_codes import encode_sources, lookup_sources
from ensemblage.strata import ScaledLogisticRegression

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]


GATE_FOLDS = 5


def merge_small(sources: NDArray[Any], min_rows: int) -> tuple[Indices, list[list[Any]]]:
    """Give each row's stratum, and each stratum's sources; small sources share the last.

    If these have too few rows together, the next larger sources are added.
    """
    names, codes, counts = np.unique(sources, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    n_kept = int((counts >= min_rows).sum())
    left = len(sources) - counts[order[:n_kept]].sum()
    while 0 < left < min_rows and n_kept > 0:
        n_kept -= 1
        left += counts[order[n_kept]]
    kept = np.sort(order[:n_kept])
    stratum = np.full(len(names), len(kept))
    stratum[kept] = np.arange(len(kept))
    merged = [[names[k]] for k in kept]
    rest = np.setdiff1d(np.arange(len(names)), kept)
    if len(rest) > 0:
        merged.append(list(names[rest]))
    return stratum[codes], merged


@set_module("ensemblage.sources")
class SourceStrata(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocLinkMixin, BaseEstimator):
    """One stratum per known source, and a gate that predicts the source from the columns.

    If the source of each row (hospital, sensor, site) is known in training, pass it as
    ``sources``: each source becomes a stratum, and a classifier predicts the source from the
    columns, so that it may be unknown at prediction. If it is known, an ensemble on these strata
    gives the source's own member more weight than the gate does.

    Parameters
    ----------
    min_rows : int, default=20
        Sources with fewer rows share one stratum; if they have too few rows together, the smallest
        of the other sources is added, and so on.
    gate : classifier, default=None
        Predicts the source from the columns, with ``predict_proba``;
        :class:`ScaledLogisticRegression` if not given.
    random_state : int, RandomState instance or None, default=None
        For the gate and its folds.

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_strata)
        One in the stratum of the row's source, else zero.
    stratum_names_ : list of str
        Name of each stratum; of merged sources the names, joined.
    sources_ : ndarray of shape (n_sources,)
        The sources, sorted.
    source_strata_ : ndarray of shape (n_sources,)
        Index of the stratum of each source.
    gate_ : classifier
        Fitted.
    out_of_fold_log_affinity_ : ndarray of shape (n_samples, n_strata)
        Out-of-fold log probabilities of the strata of the training rows.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they all have one.

    See Also
    --------
    HISS : Strata of rows without known sources.

    Notes
    -----
    If the source is known at prediction too, pass it to ``predict_proba`` of the ensemble, or
    better use a source-aware pool (:class:`~ensemblage.pool.EnsemblageClassifier`) or
    :class:`PartialPoolingClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.sources import SourceStrata
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0], [9.0]], 30, axis=0) + rng.normal(size=(60, 1))
    >>> strata = SourceStrata().fit(X, sources=np.repeat(["north", "south"], 30))
    >>> strata.stratum_names_
    ['north', 'south']
    >>> bool(strata.transform([[9.5]])[0, 1] > 0.95)
    True
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sources": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "min_rows": [Interval(Integral, 1, None, closed="left")],
        "gate": [HasMethods(["fit", "predict_proba"]), None],
        "random_state": ["random_state"],
    }

    def __init__(self, min_rows: int = 20, *, gate: Any = None, random_state: Any = None) -> None:
        self.min_rows = min_rows
        self.gate = gate
        self.random_state = random_state

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        sources: Any = None,
    ) -> Self:
        """Make one stratum per source, and fit the gate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights, for the gate.
        sources : array-like of shape (n_samples,)
            Source of each row. If not given, all rows count as one source.

        Returns
        -------
        self : object
            Fitted stratifier.
        """
        rows = validate_numbers(self, X, dtype=[np.float64, np.float32])
        if sources is None:
            warn_user(
                "SourceStrata was fitted without sources: all rows count as one source. "
                "Pass fit(..., sources=...).",
            )
            sources = np.zeros(len(rows), dtype=int)
        encode_sources(sources, rows)  # refuses missing sources, and names that cannot be sorted
        sources = column_or_1d(sources)
        weights = None if sample_weight is None else read_weights(sample_weight, rows)
        codes, merged = merge_small(sources, self.min_rows)
        self.stratum_names_ = [" + ".join(map(str, names)) for names in merged]
        self.sources_, first = np.unique(sources, return_index=True)
        self.source_strata_ = codes[first].astype(np.int64)
        self.memberships_ = np.eye(len(merged), dtype=rows.dtype)[codes]
        self._fit_gate(rows, codes, weights)
        return self

    def _fit_gate(self, rows: Floats, codes: Indices, weights: Floats | None) -> None:
        default = ScaledLogisticRegression(max_iter=1000)
        gate_seed, fold_seed = draw_seeds(self.random_state, 2)
        gate = set_seed(clone(default if self.gate is None else self.gate), gate_seed)
        if len(self.stratum_names_) == 1:
            self.gate_ = None
            self.out_of_fold_log_affinity_ = np.zeros((len(rows), 1), dtype=rows.dtype)
            return
        name = fit_parameter(gate, "sample_weight")
        passed: dict[Any, Any] = {} if weights is None else {name: weights}
        n_folds = max(2, min(GATE_FOLDS, int(np.bincount(codes).min())))
        folds = make_folds(codes, n_folds, fold_seed)
        proba = cross_val_predict(
            gate, rows, codes, cv=folds, method="predict_proba", params=passed
        )
        self.out_of_fold_log_affinity_ = np.log(np.maximum(proba, PROBABILITY_FLOOR)).astype(
            rows.dtype
        )
        self.gate_ = gate.fit(rows, codes, **passed)

    def transform(self, X: ArrayLike) -> Floats:
        """Probability that each row comes from each source.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_strata)
            Each row adds up to one.
        """
        check_is_fitted(self)
        rows = validate_numbers(self, X, dtype=[np.float64, np.float32], reset=False)
        if self.gate_ is None:
            return np.ones((len(rows), 1), dtype=rows.dtype)
        shares: Floats = self.gate_.predict_proba(rows).astype(rows.dtype, copy=False)
        return shares

    def strata_of_sources(self, sources: Any, n_rows: int) -> NDArray[np.int64]:
        """Look up the stratum of each row's source.

        Parameters
        ----------
        sources : array-like of shape (n_samples,)
            Source of each row.
        n_rows : int
            Number of rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            -1 where the source is missing or new.
        """
        check_is_fitted(self)
        found = lookup_sources(sources, self.sources_, n_rows)
        return np.where(found == UNKNOWN_SOURCE, UNKNOWN_SOURCE, self.source_strata_[found])

    def log_affinity(self, X: ArrayLike) -> Floats:
        """Log probability that each row comes from each source.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_strata)
            Probabilities are clipped at 1e-12.
        """
        return np.log(np.maximum(np.asarray(self.transform(X)), PROBABILITY_FLOOR))

    def _check_fitted(self) -> None:
        expect_fitted(self, {"stratum_names_": "strings (*)", "sources_": "labels (*)"})
        shape = (None, len(self.stratum_names_))
        expect_array(self, "memberships_", shape, low=0, high=1)
        expect_array(self, "out_of_fold_log_affinity_", shape, high=0)
        same = len(self.memberships_) == len(self.out_of_fold_log_affinity_)
        expect(same, "memberships_ and out_of_fold_log_affinity_ differ in their number of rows")
        gate = getattr(self.gate_, "classes_", np.zeros(1))
        expect(
            len(gate) == len(self.stratum_names_),
            "gate_ and stratum_names_ differ in their number of strata",
        )
        last = len(self.stratum_names_) - 1
        expect_array(self, "source_strata_", (len(self.sources_),), "integer", low=0, high=last)

    @property
    def _n_features_out(self) -> int:
        return int(self.memberships_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
