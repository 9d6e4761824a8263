"""The contract of a fusion: members' outputs and what is known of the rows to one output."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if

from ensemblage._core import DocLinkMixin, Fold, set_module, take_rows

Doubles = NDArray[np.float64]


@set_module("ensemblage.fusion")
class FusionContext(NamedTuple):
    """What is known of the rows beside what members say of them; None where it is not known.

    Parameters
    ----------
    affinity : ndarray of shape (n_samples, n_strata), default=None
        How close each row is to each stratum, in logs.
    X : array-like of shape (n_samples, n_features), default=None
        The rows themselves, as members see them.
    sources : ndarray of shape (n_samples,), default=None
        Where each row comes from.
    strata : ndarray of shape (n_samples,), default=None
        Number of the stratum that each row is closest to.

    Examples
    --------
    >>> import numpy as np
    >>> FusionContext(X=np.eye(3)).take(np.array([1])).X
    array([[0., 1., 0.]])
    """

    affinity: Doubles | None = None
    X: Any = None
    sources: NDArray[Any] | None = None
    strata: NDArray[np.intp] | None = None

    def take(self, rows: NDArray[Any]) -> FusionContext:
        """Give the context of some rows.

        Parameters
        ----------
        rows : ndarray of int or bool
            Row numbers, or a mask.

        Returns
        -------
        FusionContext
            What is not known stays so.
        """
        return FusionContext(*(None if each is None else take_rows(each, rows) for each in self))


NOTHING_KNOWN = FusionContext()


def fused_outputs(
    fusion: Fusion,
    outputs: Doubles,
    y: NDArray[Any],
    folds: list[Fold],
    context: FusionContext = NOTHING_KNOWN,
    *,
    sample_weight: Doubles | None = None,
) -> Doubles:
    """Fuse held-out outputs, in each fold as the other folds teach; NaN where that is not known."""
    fused = np.full(outputs.shape[1:], np.nan)
    finite = np.isfinite(outputs)
    known = (finite.all() or finite.all(axis=(0, 2))) & (
        np.ones(len(y), dtype=bool) if sample_weight is None else sample_weight > 0
    )
    tests = [(np.bincount(test, minlength=len(y)) > 0)[known] for _, test in folds]
    rows = np.flatnonzero(known)
    if not known.all():
        outputs, y, context = outputs[:, known], y[known], context.take(known)
        sample_weight = None if sample_weight is None else sample_weight[known]
    usable = _usable_folds(y, tests)
    fitted = fusion.fit_parts(
        [fold.train for fold in usable], outputs, y, context, sample_weight=sample_weight
    )
    for (_, judge), each in zip(usable, fitted, strict=True):
        fused[rows[judge]] = each.combine(outputs[:, judge], context.take(judge))
    return fused


def _usable_folds(y: NDArray[Any], tests: list[NDArray[np.bool_]]) -> list[Fold]:
    """Rows to learn from and to judge by; folds that lack a class to learn are left out."""
    folds = [Fold(np.flatnonzero(~inside), np.flatnonzero(inside)) for inside in tests]
    folds = [fold for fold in folds if len(fold.test) > 0 and len(fold.train) > 0]
    if y.dtype.kind == "f":  # numbers, of which none has to be there
        return folds
    n_classes = len(np.unique(y))
    return [fold for fold in folds if len(np.unique(y[fold.train])) == n_classes]


@set_module("ensemblage.fusion")
class Fusion(DocLinkMixin, BaseEstimator):
    """Contract of a fusion.

    Member outputs have shape (n_members, n_samples, n_classes); with two classes decision values
    are the pair (-d, d). Of a number there are two outputs, its mean and its variance.

    Attributes
    ----------
    learns : bool
        Whether ``fit`` needs outputs on rows that the members have not seen.
    needs : frozenset of str
        Fields of :class:`FusionContext` without which it can neither learn nor speak.
    """

    learns: bool = False
    needs: frozenset[str] = frozenset()

    def fit(
        self,
        outputs: Doubles | None,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> Self:
        """Learn from outputs and what is true.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs on rows that they have not seen; None will do if it learns nothing.
        y : ndarray of shape (n_samples,)
            Class numbers, 0 to n_classes - 1; or the numbers to predict.
        context : FusionContext, default=FusionContext()
            What else is known of the rows.
        sample_weight : ndarray of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        self : object
            Fitted fusion.
        """
        return self

    def fit_parts(
        self,
        parts: list[NDArray[np.intp]],
        outputs: Doubles,
        y: NDArray[Any],
        context: FusionContext = NOTHING_KNOWN,
        *,
        sample_weight: Doubles | None = None,
    ) -> list[Self]:
        """Fit one fusion on each part of the rows; this one stays as it is.

        Parameters
        ----------
        parts : list of ndarray of int
            Row numbers of each part.
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs on rows that they have not seen.
        y : ndarray of shape (n_samples,)
            Class numbers, or the numbers to predict.
        context : FusionContext, default=FusionContext()
            What else is known of the rows.
        sample_weight : ndarray of shape (n_samples,), default=None
            Row weights.

        Returns
        -------
        list of Fusion
            Fitted, one per part.
        """
        return [
            clone(self).fit(
                outputs[:, part],
                y[part],
                context.take(part),
                sample_weight=None if sample_weight is None else sample_weight[part],
            )
            for part in parts
        ]

    def combine(self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN) -> Doubles:
        """Fuse member outputs.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.
        context : FusionContext, default=FusionContext()
            What else is known of the rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The largest entry of a row is the prediction.
        """
        raise NotImplementedError  # look: ok

    def row_weights(
        self, outputs: Doubles, context: FusionContext = NOTHING_KNOWN
    ) -> Doubles | None:
        """Tell each member's share in the answer for each row.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Members' outputs.
        context : FusionContext, default=FusionContext()
            What else is known of the rows.

        Returns
        -------
        ndarray of shape (n_samples, n_members) or None
            None where there is no such number.
        """
        shares = self.importance(len(outputs))
        return None if shares is None else np.tile(shares, (outputs.shape[1], 1))

    def importance(self, n_members: int) -> Doubles | None:
        """Share of each member in the result, where that is one number.

        Parameters
        ----------
        n_members : int
            Number of members.

        Returns
        -------
        ndarray of shape (n_members,) or None
            Adds up to one; None where there is no such number, or it differs from row to row.
        """
        return np.full(n_members, 1 / n_members)

    def gives_probabilities(self, from_probabilities: bool) -> bool:
        """Tell whether fused outputs are probabilities.

        Parameters
        ----------
        from_probabilities : bool
            Whether the members' outputs are.

        Returns
        -------
        bool
            Whether ``combine`` gives probabilities.
        """
        return from_probabilities


def at_most_one(probabilities: Doubles) -> Doubles:
    """Take back what rounding adds to a sum of shares: scikit-learn's scorers refuse 1 + 2e-16."""
    return np.minimum(probabilities, 1.0)


class FusedClassifierMixin(ClassifierMixin):
    """Give classes, probabilities or decision values from fused scores.

    Members are fitted on class numbers; a class that uses it fills in what is left open here.
    """

    classes_: NDArray[Any]

    def _scores(self, X: Any) -> Doubles:
        """Fuse what members say of rows, (n_samples, n_classes)."""
        raise NotImplementedError  # look: ok

    def _gives_probabilities(self) -> bool:
        """Tell whether scores are probabilities; it is asked before ``fit`` too."""
        raise NotImplementedError  # look: ok

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        winners = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    @available_if(lambda self: self._gives_probabilities())
    def predict_proba(self, X: Any) -> Doubles:
        """Predict class probabilities, where the fusion gives them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return at_most_one(self._scores(X))

    @available_if(lambda self: not self._gives_probabilities())
    def decision_function(self, X: Any) -> Doubles:
        """Fused decision values, where the fusion gives no probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value per row for two classes: positive for the second.
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1]) if len(self.classes_) == 2 else scores


class SourcedClassifierMixin(FusedClassifierMixin):
    """Give classes and probabilities from fused scores, of rows whose sources may be given."""

    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__predict_proba: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sources": True}

    def _scores(self, X: Any, sources: Any = None) -> Doubles:
        """Fuse what members say of rows, (n_samples, n_classes)."""
        raise NotImplementedError  # look: ok

    def predict(self, X: Any, sources: Any = None) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or str, default=None
            Where each row comes from; see ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        winners = self._scores(X, sources).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    @available_if(lambda self: self._gives_probabilities())
    def predict_proba(self, X: Any, sources: Any = None) -> Doubles:
        """Predict class probabilities, where the fusion gives them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        sources : array-like of shape (n_samples,) or str, default=None
            Where each row comes from: one per row, or, in a pool, the column of X that tells. A row
            whose source is missing or new is answered as if none had been given.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return at_most_one(self._scores(X, sources))

    def score(self, X: Any, y: Any, sample_weight: Any = None, sources: Any = None) -> float:
        """Share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Row weights.
        sources : array-like of shape (n_samples,) or str, default=None
            As in ``predict_proba``.

        Returns
        -------
        float
            Accuracy.
        """
        return float(accuracy_score(y, self.predict(X, sources), sample_weight=sample_weight))
