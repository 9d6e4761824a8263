"""Base class of fusions, and mixins of classifiers that use one."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import signature
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from ensemblage._core import (
    Fold,
    expect,
    refuse_infinite,
    set_module,
    take_rows,
    validate_parameter_constraints,
    with_shared,
)

Doubles = NDArray[np.float64]


@set_module("ensemblage.fusion")
class FusionContext(NamedTuple):
    """Information on the rows in addition to the members' outputs; None where not available.

    Parameters
    ----------
    affinity : ndarray of shape (n_samples, n_strata), default=None
        Log affinity of each row to each stratum.
    X : array-like of shape (n_samples, n_features), default=None
        The rows, as passed to the members.
    sources : ndarray of shape (n_samples,), default=None
        Source of each row.
    strata : ndarray of shape (n_samples,), default=None
        Index of the stratum that each row is closest to.

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
        """Select the context of some rows.

        Parameters
        ----------
        rows : ndarray of int or bool
            Row indices, or a mask.

        Returns
        -------
        FusionContext
            Fields that are None remain None.
        """
        return FusionContext(*(None if each is None else take_rows(each, rows) for each in self))


EMPTY_CONTEXT = FusionContext()

FUSION_DOCS = """
outputs : ndarray of shape (n_members, n_samples, n_classes)
    Members' outputs.
context : FusionContext, default=FusionContext()
    Further information on the rows.
numeric : bool, default=False
    Whether the target is numeric; set by the ensemble.
sample_weight : array-like of shape (n_samples,), default=None
    Row weights.
n_members : int
    Number of members.
X : array-like of shape (n_samples, n_features)
    Rows.
"""

document = with_shared(FUSION_DOCS)


@set_module("ensemblage.fusion")
class Fusion(ABC):
    """Base class of fusions, which combine members' outputs to one output per row.

    Member outputs have shape (n_members, n_samples, n_classes); with two classes decision values
    are the pair (-d, d). For a numeric target there are two outputs, mean and variance. Parameters
    are those of ``__init__``, as in a scikit-learn estimator, so ``clone``, nested seeds and
    ``fusion__<parameter>`` in a grid search work.

    Attributes
    ----------
    needs : frozenset of str
        Required fields of :class:`FusionContext`.
    classes_only : bool
        Whether only classification is supported.
    numeric_ : bool
        Whether it was fitted on a numeric target.
    """

    needs: frozenset[str] = frozenset()
    classes_only: bool = False
    numeric_: bool = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    @document
    def requires_fit(self, *, numeric: bool = False) -> bool:
        """Whether ``fit`` needs out-of-fold outputs.

        Parameters
        ----------
        {numeric}

        Returns
        -------
        bool
            False if there is nothing to fit.
        """
        return False

    @document
    def fit(
        self,
        outputs: Doubles | None,
        y: NDArray[Any],
        context: FusionContext = EMPTY_CONTEXT,
        *,
        numeric: bool = False,
        sample_weight: Doubles | None = None,
    ) -> Self:
        """Fit to out-of-fold outputs and the target.

        Parameters
        ----------
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Out-of-fold outputs of the members; may be None if there is nothing to fit.
        y : ndarray of shape (n_samples,)
            Class indices, 0 to n_classes - 1, or a numeric target.
        {context, numeric, sample_weight}

        Returns
        -------
        self : object
            Fitted fusion.
        """
        if numeric and self.classes_only:
            raise ValueError(
                f"fusion={self!r} supports classification only. For regression use 'gate', "
                "'log_linear', 'mean' or 'stacking'."
            )
        self.numeric_ = numeric
        self._fit(outputs, y, context, sample_weight)
        return self

    def _fit(  # noqa: B027  most rules have nothing to fit
        self, outputs: Any, y: Any, context: FusionContext, weights: Doubles | None
    ) -> None:
        """Fit for classification or regression, by ``numeric_``."""

    @document
    def fit_subsets(
        self,
        subsets: list[NDArray[np.intp]],
        outputs: Doubles,
        y: NDArray[Any],
        context: FusionContext = EMPTY_CONTEXT,
        *,
        numeric: bool = False,
        sample_weight: Doubles | None = None,
    ) -> list[Self]:
        """Fit one fusion on each subset of the rows; this one is not changed.

        Parameters
        ----------
        subsets : list of ndarray of int
            Row indices of each subset.
        outputs : ndarray of shape (n_members, n_samples, n_classes)
            Out-of-fold outputs of the members.
        y : ndarray of shape (n_samples,)
            Class indices, or a numeric target.
        {context, numeric, sample_weight}

        Returns
        -------
        list of Fusion
            Fitted, one per subset.
        """
        return [
            clone(self).fit(
                outputs[:, subset],
                y[subset],
                context.take(subset),
                numeric=numeric,
                sample_weight=None if sample_weight is None else sample_weight[subset],
            )
            for subset in subsets
        ]

    @abstractmethod
    @document
    def combine(self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT) -> Doubles:
        """Fuse member outputs.

        Parameters
        ----------
        {outputs, context}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The largest entry of a row is the predicted class.
        """

    @document
    def row_weights(
        self, outputs: Doubles, context: FusionContext = EMPTY_CONTEXT
    ) -> Doubles | None:
        """Weight of each member for each row.

        Parameters
        ----------
        {outputs, context}

        Returns
        -------
        ndarray of shape (n_samples, n_members) or None
            None if the fusion has no such weights.
        """
        weights = self.member_weights(len(outputs))
        return None if weights is None else np.tile(weights, (outputs.shape[1], 1))

    @document
    def member_weights(self, n_members: int) -> Doubles | None:
        """Weight of each member, if it is the same for all rows.

        Parameters
        ----------
        {n_members}

        Returns
        -------
        ndarray of shape (n_members,) or None
            Sums to one; None if there is no such weight, or if it differs by row.
        """
        return np.full(n_members, 1 / n_members)

    def returns_probabilities(self, from_probabilities: bool) -> bool:
        """Whether fused outputs are probabilities.

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

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of ``__init__``.

        Parameters
        ----------
        deep : bool, default=True
            Also return nested parameters, as ``<parameter>__<nested parameter>``.

        Returns
        -------
        dict
            Values by parameter name.
        """
        # without an __init__ of its own, a class has object's
        init = type(self).__init__
        names = [] if init is object.__init__ else list(signature(init).parameters)[1:]
        params = {name: getattr(self, name) for name in names}
        nested = {
            f"{name}__{key}": each
            for name, value in params.items()
            if deep and hasattr(value, "get_params") and not isinstance(value, type)
            for key, each in value.get_params().items()
        }
        return params | nested

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            As ``get_params`` names them.

        Returns
        -------
        self : object
            The same fusion.
        """
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {list(known)}."
                )
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def _validate_params(self) -> None:
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )

    def _check_fitted(self) -> None:
        expect(isinstance(self.numeric_, bool), "numeric_ is not a bool")

    def __repr__(self) -> str:
        defaults = signature(type(self)).parameters
        params = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in params.items())})"


def cross_val_combine(
    fusion: Fusion,
    outputs: Doubles,
    y: NDArray[Any],
    folds: list[Fold],
    context: FusionContext = EMPTY_CONTEXT,
    *,
    numeric: bool = False,
    sample_weight: Doubles | None = None,
) -> Doubles:
    """Cross-fit a fusion: each fold is fused by a fusion fitted on the others; NaN in no fold.

    Folds whose training rows lack a class are skipped.
    """
    fused = np.full(outputs.shape[1:], np.nan)
    finite = np.isfinite(outputs)
    known = (finite.all() or finite.all(axis=(0, 2))) & (
        np.ones(len(y), dtype=bool) if sample_weight is None else sample_weight > 0
    )
    rows = np.flatnonzero(known)
    tests = [(np.bincount(test, minlength=len(y)) > 0)[known] for _, test in folds]
    if not known.all():
        outputs, y, context = outputs[:, known], y[known], context.take(known)
        sample_weight = None if sample_weight is None else sample_weight[known]
    splits = [Fold(np.flatnonzero(~inside), np.flatnonzero(inside)) for inside in tests]
    splits = [split for split in splits if len(split.test) > 0 and len(split.train) > 0]
    if not numeric:
        n_classes = len(np.unique(y))
        splits = [split for split in splits if len(np.unique(y[split.train])) == n_classes]
    fitted = fusion.fit_subsets(
        [split.train for split in splits],
        outputs, y, context, numeric=numeric, sample_weight=sample_weight,
    )  # fmt: skip
    for (_, test), each in zip(splits, fitted, strict=True):
        fused[rows[test]] = each.combine(outputs[:, test], context.take(test))
    return fused


def clip_rounding(probabilities: Doubles) -> Doubles:
    """Clip probabilities to 1: scikit-learn's scorers reject 1 + 2e-16."""
    return np.minimum(probabilities, 1.0)


class FusedClassifierMixin(ClassifierMixin):
    """Predict classes, probabilities or decision values from fused scores.

    Members are fitted on class indices; subclasses implement the two private methods.
    """

    classes_: NDArray[Any]

    def _scores(self, X: Any) -> Doubles:
        """Fused outputs, (n_samples, n_classes)."""
        raise NotImplementedError  # look: ok

    def _returns_probabilities(self) -> bool:
        """Whether scores are probabilities; also called before ``fit``."""
        raise NotImplementedError  # look: ok

    @document
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        winners = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    @available_if(lambda self: self._returns_probabilities())
    @document
    def predict_proba(self, X: Any) -> Doubles:
        """Predict class probabilities, if the fusion returns them.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return clip_rounding(self._scores(X))

    @available_if(lambda self: not self._returns_probabilities())
    @document
    def decision_function(self, X: Any) -> Doubles:
        """Fused decision values, if the fusion does not return probabilities.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one value per row, positive for the second class.
        """
        scores = self._scores(X)
        return np.asarray(scores[:, 1]) if len(self.classes_) == 2 else scores


class SourcedClassifierMixin(FusedClassifierMixin):
    """Predict from fused scores, optionally with the source of each row."""

    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__predict_proba: ClassVar[dict[str, bool]] = {"sources": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sources": True}

    def _scores(self, X: Any, sources: Any = None) -> Doubles:
        raise NotImplementedError  # look: ok

    @document
    def predict(self, X: Any, sources: Any = None) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        {X}
        sources : array-like of shape (n_samples,) or str, default=None
            Source of each row; see ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        winners = self._scores(X, sources).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    @available_if(lambda self: self._returns_probabilities())
    @document
    def predict_proba(self, X: Any, sources: Any = None) -> Doubles:
        """Predict class probabilities, if the fusion returns them.

        Parameters
        ----------
        {X}
        sources : array-like of shape (n_samples,) or str, default=None
            Source of each row, or, in a pool, the name of a column of X. Rows with a missing or new
            source are predicted as without ``sources``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return clip_rounding(self._scores(X, sources))

    @document
    def score(self, X: Any, y: Any, sample_weight: Any = None, sources: Any = None) -> float:
        """Accuracy.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            Classes.
        {sample_weight}
        sources : array-like of shape (n_samples,) or str, default=None
            As in ``predict_proba``.

        Returns
        -------
        float
            Accuracy.
        """
        return float(accuracy_score(y, self.predict(X, sources), sample_weight=sample_weight))


# Methods of a classifier, the most informative first.
RESPONSE_METHODS = ("predict_proba", "decision_function", "predict")

# Smallest variance that a member may predict, as a share of the target's.
MIN_VARIANCE_SHARE = 1e-9


def as_columns(decision: Doubles) -> Doubles:
    """Decision values with one column per class; for two classes the pair (-d, d)."""
    return np.column_stack([-decision, decision]) if decision.ndim == 1 else decision


def common_response_method(members: Sequence[Any]) -> str:
    """Find the most informative method that all members have, fitted or not."""
    return next(name for name in RESPONSE_METHODS if all(hasattr(each, name) for each in members))


def is_constant(member: Any) -> bool:
    """Whether a member is constant; then it has no decision values."""
    return isinstance(getattr(member, "wrapped", member), DummyClassifier)


def member_outputs(member: Any, X: Any, n_classes: int, method: str) -> Doubles:
    """Predict by a member that was fitted on class indices, (n_samples, n_classes).

    Classes unseen in its fit have probability zero, or a decision value one below its lowest.
    """
    known: Any
    lowest: Any = 0.0
    if method == "predict_proba":
        known = member.predict_proba(X)
    elif is_constant(member):
        known, lowest = 2 * member.predict_proba(X) - 1, -1.0
    elif method == "predict":
        return np.asarray(2 * np.eye(n_classes)[_indices(member, member.predict(X), n_classes)] - 1)
    else:
        known = as_columns(member.decision_function(X))
        lowest = known.min(axis=1, keepdims=True) - 1
    if not np.isfinite(known).all():
        raise ValueError(
            f"{type(getattr(member, 'wrapped', member)).__name__} predicts NaN or infinity: "
            "values of X are too large. Scale the columns first, for instance with "
            "StandardScaler."
        )
    if np.array_equal(member.classes_, np.arange(n_classes)):
        return np.asarray(known, dtype=float)
    outputs = np.broadcast_to(np.asarray(lowest, dtype=float), (len(known), n_classes)).copy()
    outputs[:, _indices(member, member.classes_, n_classes)] = known
    return outputs


def _indices(member: Any, classes: Any, n_classes: int) -> NDArray[np.intp]:
    indices = np.asarray(classes)
    inside = indices.dtype.kind in "iu" and bool(((indices >= 0) & (indices < n_classes)).all())
    if not inside:
        raise ValueError(
            f"{type(getattr(member, 'wrapped', member)).__name__} predicts classes other than "
            f"the {n_classes} that it was fitted on: the model, or its file, is damaged."
        )
    return indices


def are_probabilities(outputs: Doubles) -> bool:
    """Whether outputs of one member, (n_samples, n_classes), are probabilities."""
    # a matrix product sums short rows faster than sum
    sums = outputs @ np.ones(outputs.shape[1])
    return bool(outputs.min() >= 0 and np.abs(sums - 1).max() <= 1e-5)


def regressor_response_method(member: Any) -> str:
    """Response method of a regressor: ``predict_std`` if ``predict`` takes ``return_std``."""
    last = member[-1] if isinstance(member, Pipeline) else member
    known = inspect.signature(last.predict).parameters
    return "predict_std" if "return_std" in known else "predict"


def regressor_outputs(member: Any, X: Any, method: str, variance: float) -> Doubles:
    """Means and variances predicted by a fitted regressor, (n_samples, 2).

    Without a standard deviation of its own the given variance, that of the target, is used. Raises
    ValueError if squares of predictions overflow.
    """
    if method == "predict_std":
        mean, std = member.predict(X, return_std=True)
        own = np.maximum(np.square(std, dtype=float), MIN_VARIANCE_SHARE * variance)
    else:
        mean = np.asarray(member.predict(X), dtype=float)
        own = np.full(len(mean), variance)
    with np.errstate(over="ignore"):
        refuse_infinite(4.0 * len(mean) * np.square(mean) + own)
    return np.column_stack([mean, own])
