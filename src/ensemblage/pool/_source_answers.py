"""Answers of a pool to rows whose source may be known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from ensemblage.fusion import SourcedClassifierMixin, take_rows
from ensemblage.kernels import Scored, source_thresholds, weighted_threshold
from ensemblage.pool._conformal import check_coverage, held_out_scores, in_set, new_source_threshold
from ensemblage.pool._held_out_record import HeldOutRecord
from ensemblage.pool._known_sources import KnownSources, answer_told
from ensemblage.pool._pool_rows import Array
from ensemblage.pool._source_column import Parted, part_known_column
from ensemblage.pool._source_offsets import Codes
from ensemblage.strata import UNKNOWN, find_sources


class SourceAnswersMixin(SourcedClassifierMixin):
    """Give each row the answer of the pool that knows most of it.

    A class that uses it has ``known_sources_`` and ``source_column_`` if it was fitted with
    sources.
    """

    known_sources_: KnownSources
    source_column_: str | None
    held_out_: HeldOutRecord

    def _scores(self, X: Any, sources: Any = None) -> Array:
        return self._answer(*self._look_up(X, sources))

    def _answer(self, X: Any, codes: Codes) -> Array:
        """Ask the pool that knows the source, or the one that needs none, row by row."""
        if (codes == UNKNOWN).all():
            return self._scores_without(X)
        X = X if hasattr(X, "shape") else np.asarray(X)
        scores = np.empty((len(codes), len(self.classes_)))
        known, unknown = np.flatnonzero(codes != UNKNOWN), np.flatnonzero(codes == UNKNOWN)
        rows = self._numbers(take_rows(X, known))
        scores[known] = answer_told(self.known_sources_, rows, codes[known])
        if len(unknown):
            scores[unknown] = self._scores_without(take_rows(X, unknown))
        return scores

    def _look_up(self, X: Any, sources: Any) -> tuple[Any, Codes]:
        """Give rows without a column of sources, and numbers of these."""
        check_is_fitted(self)
        known = getattr(self, "known_sources_", None)
        if known is None:
            if sources is not None:
                raise ValueError(
                    "sources were given, but the pool was fitted without: pass "
                    "fit(..., sources=...), or leave them out."
                )
            return X, np.full(_num_samples(X), UNKNOWN, dtype=np.int64)
        parted: Parted = part_known_column(X, sources, self.source_column_)
        return parted.X, find_sources(parted.sources, known.names, _num_samples(parted.X))

    def _scores_without(self, X: Any) -> Array:
        """Fuse what members say that do not know the source, (n_samples, n_classes)."""
        raise NotImplementedError  # look: ok

    def _numbers(self, X: Any) -> Array:
        """Give rows as numbers, encoded where need be."""
        raise NotImplementedError  # look: ok

    @available_if(lambda self: self._gives_probabilities())
    def predict_set(
        self, X: Any, sources: Any = None, *, coverage: float = 0.9
    ) -> NDArray[np.bool_]:
        r"""Give for each row the classes that it may well have.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or str, default=None
            As in ``predict_proba``.
        coverage : float, default=0.9
            Share of rows whose set is to hold their class.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            True for classes in the set; the most probable always is.

        Notes
        -----
        A class is in the set if :math:`1 - p` is at most the quantile of :math:`1 - p(y)` on
        training rows that the pool had not seen. Each known source has its own quantile, in which
        all other sources count as 20 rows; that of rows whose source is new or missing is of rows
        whose source had been left out, all sources alike. The coverage is that of rows like those
        of training; of a new source it may be less.
        """
        check_coverage(coverage)
        X, codes = self._look_up(X, sources)
        known = getattr(self, "known_sources_", None)
        proba = self._answer(X, codes)
        thresholds = np.full(len(codes), self._new_threshold(coverage))
        if known is not None and (codes != UNKNOWN).any():
            own = source_thresholds(_scored(known), len(known.names), coverage)
            thresholds = np.where(codes != UNKNOWN, own[codes], thresholds)
        return in_set(proba, thresholds)

    def _new_threshold(self, coverage: float) -> float:
        """Give the threshold of rows whose source is not known."""
        known, record = getattr(self, "known_sources_", None), self.held_out_
        if known is not None and known.left_out is not None:
            left = known.left_out
            return new_source_threshold(Scored(left.scores, left.sources, left.weights), coverage)
        weights = np.ones(len(record.y)) if record.weights is None else record.weights
        scores = held_out_scores(record.pooled, record.y)
        return weighted_threshold(scores, weights / weights.mean(), coverage, 1.0)


def _scored(known: KnownSources) -> Scored:
    record = known.pool.held_out
    weights = np.ones(len(record.y)) if record.weights is None else record.weights
    return Scored(held_out_scores(record.pooled, record.y), known.codes, weights)
