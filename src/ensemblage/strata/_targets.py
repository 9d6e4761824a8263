"""Classification and numeric targets, and corrections fitted after the fusion."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils.multiclass import check_classification_targets

from ensemblage._core import (
    PROBABILITY_FLOOR,
    Fold,
    as_numbers,
    make_folds,
    refuse_missing_targets,
    warn_user,
)
from ensemblage.evaluation import source_thresholds, weighted_threshold
from ensemblage.fusion import (
    SHARE_GRID,
    Normals,
    are_probabilities,
    fit_variance_correction,
    member_outputs,
    normal_log_density,
    normal_mixture,
    regressor_outputs,
)
from ensemblage.strata._linear_members import ScaledLogisticRegression, ScaledRidge

if TYPE_CHECKING:
    from ensemblage.strata._members import StrataFit

Doubles = NDArray[np.float64]
Indices = NDArray[np.intp]

N_BINS = 10
"""Number of quantile bins of a numeric target by which folds are stratified."""
MIN_SCALE = 1e-140
"""Smallest standard deviation of a target, and inverse of the largest; else squares overflow."""
SVM_GRID = {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": ["scale", 0.01, 0.1]}
SVR_GRID = {f"regressor__{name.replace('svc', 'svr')}": each for name, each in SVM_GRID.items()}
SHRINKAGE_GRID = (0.0, 5.0, 20.0, 80.0, 320.0, float("inf"))
"""Candidate shrinkages of a source's own member towards the fused prediction, in rows."""
DEFAULT_SHRINKAGE = 20.0
"""Shrinkage without out-of-fold outputs to choose it by, in rows."""
PRIOR_ROWS = 20.0
"""Weight of all rows in a stratum's variance, in rows of the stratum."""
MAX_SCORES = 20_000
"""Largest number of conformity scores kept."""


def tuned_svm() -> GridSearchCV:
    """RBF support vector machine on standardised columns, tuned on a small grid."""
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), SVM_GRID, cv=3)


def tuned_svr() -> GridSearchCV:
    """RBF support vector regressor on a standardised target, tuned on a small grid."""
    machine = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler()
    )
    return GridSearchCV(machine, SVR_GRID, cv=3)


class ClassTarget(NamedTuple):
    """Sorted classes; ``y`` has their codes, and outputs have one column per class."""

    classes: NDArray[Any]
    is_classification: bool = True
    constant_stratum_warning: str = (
        "one class only; their members always predict that class. Use larger or fewer strata to "
        "mix classes."
    )

    @classmethod
    def read(cls, y: Any, weights: Doubles) -> tuple[NDArray[np.intp], Self]:
        """Encode the classes; reject a single class, and classes without weight."""
        refuse_missing_targets(y)
        check_classification_targets(y)
        classes, y = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes.tolist()[0]!r}; a classifier needs at least two."
            )
        absent = np.bincount(y, weights) == 0
        if absent.any():
            raise ValueError(
                f"sample_weight is zero for all rows of class {classes[absent].tolist()[0]!r}. "
                "Omit its rows, or give some of them weight."
            )
        return y, cls(classes)

    @staticmethod
    def default_member() -> Any:
        return ScaledLogisticRegression()

    @staticmethod
    def svm_anchor() -> Any:
        return tuned_svm()

    @property
    def n_outputs(self) -> int:
        return len(self.classes)

    def stratification_labels(self, y: NDArray[np.intp]) -> NDArray[np.intp]:
        return y

    def n_folds(self, y: NDArray[np.intp], wanted: int) -> int:
        """Limit the number of folds to the number of rows of the rarest class."""
        counts = np.bincount(y)
        n_folds = max(2, min(wanted, int(counts.min())))
        if n_folds < wanted:
            smallest = self.classes.tolist()[counts.argmin()]
            warn_user(
                f"Class {smallest!r} has {counts.min()} rows, fewer than cv={wanted} folds: using "
                f"{n_folds} folds.",
            )
        return n_folds

    def constant_member(self, y: NDArray[np.intp]) -> Any:
        return DummyClassifier(strategy="prior").fit(np.zeros((len(y), 1)), y)

    def is_constant(self, member: Any) -> bool:
        return len(member.classes_) == 1

    def outputs(self, member: Any, X: Any, response_method: str) -> Doubles:
        """Probabilities or decision values, (n_samples, n_outputs)."""
        return member_outputs(member, X, len(self.classes), response_method)

    def prediction(self, fused: Doubles) -> Any:
        """Predicted class of one row, from its fused outputs."""
        return self.classes[fused.argmax()]

    def losses(self, outputs: Doubles, y: NDArray[np.intp]) -> NDArray[np.bool_]:
        return np.asarray(outputs.argmax(axis=1) != y)

    def error_from_loss(self, mean_loss: float) -> float:
        return mean_loss

    def likelihoods(self, outputs: Doubles, y: NDArray[np.intp]) -> Doubles | None:
        """Probability of the true class; None where outputs are no probabilities."""
        return outputs[np.arange(len(y)), y] if are_probabilities(outputs) else None

    def mix(self, own: Doubles, fused: Doubles, weights: Doubles) -> Doubles:
        """Average of the own member's and the fused outputs, by the own member's weights."""
        return np.asarray(weights[:, None] * own + (1 - weights[:, None]) * fused)

    def own_member_output(self, own: Doubles, strata: Indices) -> Doubles:
        return own

    def can_mix(self, fused: Doubles, response_methods: list[str]) -> bool:
        return are_probabilities(fused) and {*response_methods} == {"predict_proba"}

    def member_report(
        self, member: Any, outputs: Doubles | None, y: NDArray[np.intp]
    ) -> dict[str, Any]:
        """Classes of a member, and its out-of-fold accuracy if outputs are given."""
        known = outputs is not None and len(outputs) > 0
        return {
            "classes": self.classes[member.classes_].tolist(),
            "constant": self.is_constant(member),
            "score": float((outputs.argmax(axis=1) == y).mean()) if known else None,  # type: ignore[union-attr]
        }


class NumericTarget(NamedTuple):
    """A numeric target with its standard deviation; outputs are a mean and a variance.

    ``stratum_variances`` are those of each stratum's members on its rows, where they are known.
    """

    scale: float
    stratum_variances: Doubles | None = None
    is_classification: bool = False
    constant_stratum_warning: str = (
        "one value of the target only; their members always predict it. Use larger or fewer "
        "strata to have more values."
    )

    @classmethod
    def read(cls, y: Any, weights: Doubles) -> tuple[Doubles, Self]:
        """Validate a numeric target; reject text, missing values, infinity and a constant."""
        values = as_numbers(y)
        bad = ~np.isfinite(values)
        if bad.any():
            raise ValueError(f"y is infinite in {bad.sum()} of {len(bad)} rows. Omit these rows.")
        with np.errstate(over="ignore"):
            present = values[weights > 0]
            scale = float(np.sqrt(np.average((present - present.mean()) ** 2)))
        if present.min() == present.max() or not MIN_SCALE < scale < 1 / MIN_SCALE:
            raise ValueError(
                f"y has the range {present.min():g} to {present.max():g}: it is constant, or its "
                "squares overflow. A regressor needs a target that varies."
            )
        return values, cls(scale)

    @staticmethod
    def default_member() -> Any:
        return ScaledRidge()

    @staticmethod
    def svm_anchor() -> Any:
        return tuned_svr()

    @property
    def n_outputs(self) -> int:
        return 2

    def stratification_labels(self, y: Doubles) -> NDArray[np.intp]:
        ranks = np.empty(len(y), dtype=np.intp)
        ranks[np.argsort(y, kind="stable")] = np.arange(len(y))
        return ranks * min(N_BINS, max(len(y) // N_BINS, 1)) // len(y)

    def n_folds(self, y: Doubles, wanted: int) -> int:
        """Limit the number of folds to the number of rows."""
        return max(2, min(wanted, len(y)))

    def constant_member(self, y: Doubles) -> Any:
        return DummyRegressor().fit(np.zeros((len(y), 1)), y)

    def is_constant(self, member: Any) -> bool:
        return isinstance(member, DummyRegressor)

    def outputs(self, member: Any, X: Any, response_method: str) -> Doubles:
        """Means and variances, (n_samples, 2)."""
        # the variance of a constant member is not informative
        name = "predict" if self.is_constant(member) else response_method
        return regressor_outputs(member, X, name, self.scale**2)

    def prediction(self, fused: Doubles) -> float:
        """Predicted mean of one row, from its fused outputs."""
        return float(fused[0])

    def losses(self, outputs: Doubles, y: Doubles) -> Doubles:
        return np.asarray((outputs[:, 0] - y) ** 2)

    def error_from_loss(self, mean_loss: float) -> float:
        return float(np.sqrt(mean_loss))

    def likelihoods(self, outputs: Doubles, y: Doubles) -> Doubles:
        """Density of the true value, in units of the scale."""
        densities = Normals(outputs[:, 0] / self.scale, outputs[:, 1] / self.scale**2)
        return np.exp(normal_log_density(densities, y / self.scale))

    def mix(self, own: Doubles, fused: Doubles, weights: Doubles) -> Doubles:
        """Mixture of the own member's and the fused density, by the own member's weights."""
        both = np.stack([own, fused])
        pairs = np.column_stack([weights, 1 - weights])
        return np.column_stack(normal_mixture(Normals(both[..., 0], both[..., 1]), pairs))

    def own_member_output(self, own: Doubles, strata: Indices) -> Doubles:
        if self.stratum_variances is None:
            return own
        return np.column_stack([own[:, 0], self.stratum_variances[strata]])

    def can_mix(self, fused: Doubles, response_methods: list[str]) -> bool:
        return True

    def member_report(self, member: Any, outputs: Doubles | None, y: Doubles) -> dict[str, Any]:
        """RMSE and R² of a member on out-of-fold outputs, if given."""
        report: dict[str, Any] = {
            "constant": self.is_constant(member), "rmse": None, "score": None
        }  # fmt: skip
        if outputs is None or len(outputs) == 0:
            return report
        error, variance = float(self.losses(outputs, y).mean()), float(y.var())
        report["rmse"] = self.error_from_loss(error)
        report["score"] = 1 - error / variance if variance > 0 else None
        return report


Target: TypeAlias = ClassTarget | NumericTarget


class Training(NamedTuple):
    """Validated training rows.

    ``y`` has class codes or a numeric target; ``weights`` are ones without ``sample_weight``;
    ``folds`` are set where out-of-fold outputs are needed.
    """

    X: Any
    y: NDArray[Any]
    target: Target
    weights: Doubles
    sample_weight: Doubles | None = None
    sources: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    folds: list[Fold] | None = None

    def with_folds(self, cv: Any, seed: int) -> Training:
        """Add the folds of the parameter ``cv``; a splitter may leave rows in no test fold."""
        y, target, groups = self.y, self.target, self.groups
        if not isinstance(cv, Integral):
            splitter = check_cv(cv, y, classifier=target.is_classification)
            return self._replace(folds=[Fold(*each) for each in splitter.split(self.X, y, groups)])
        n_folds = int(cv) if groups is not None else target.n_folds(y, int(cv))
        labels = target.stratification_labels(y)
        return self._replace(folds=make_folds(labels, n_folds, seed, groups))


def mean_losses(
    losses: Doubles, memberships: Doubles, error_from_loss: Callable[[float], float] = float
) -> tuple[list[float | None], float | None]:
    """Errors of each stratum, weighted by membership, and of all rows; NaN losses are excluded."""
    known = np.isfinite(losses)
    shares, losses = memberships[known], losses[known]
    strata = [
        error_from_loss(float(losses @ own / total)) if total > 0 else None
        for own, total in zip(shares.T, shares.sum(axis=0), strict=True)
    ]
    return strata, error_from_loss(float(losses.mean())) if len(losses) > 0 else None


class OutputCorrection(NamedTuple):
    """Weighted mean with an anchor's mean; variances v become ``factor`` v + ``offset``."""

    anchor: int = 0
    """Index of the anchor with the smallest error; its weight is 0 without anchors."""
    weight: float = 0.0
    factor: float = 1.0
    offset: float = 0.0

    def apply(self, fused: Doubles, anchored: Doubles) -> Doubles:
        """Correct means and variances, (n_rows, 2), given anchors' means, (n_anchors, n_rows)."""
        mean, variance = fused.T
        if self.weight > 0:
            mean = (1 - self.weight) * mean + self.weight * anchored[self.anchor]
        return np.column_stack([mean, self.factor * variance + self.offset])


def fit_output_correction(
    fused: Doubles, anchored: Doubles, y: Doubles, weights: Doubles
) -> OutputCorrection:
    """Fit the correction to out-of-fold outputs; the anchor's weight by squared error.

    Ties go to the largest weight.
    """
    anchor, weight = 0, 0.0
    if len(anchored) > 0:
        anchor = int(np.argmin((anchored - y) ** 2 @ weights))
        mixed = np.outer(1 - SHARE_GRID, fused[:, 0]) + np.outer(SHARE_GRID, anchored[anchor])
        errors = (mixed - y) ** 2 @ weights
        weight = float(SHARE_GRID[::-1][np.argmin(errors[::-1])])
    correction = OutputCorrection(anchor, weight)
    variances = fit_variance_correction(correction.apply(fused, anchored), y, weights)
    return correction._replace(factor=variances.factor, offset=variances.offset)


def own_member_weights(counts: NDArray[np.float64], shrinkage: float) -> Doubles:
    """Weight of the own member in each stratum's prediction, n / (n + shrinkage)."""
    finite = np.isfinite(shrinkage)
    return np.asarray(counts / (counts + shrinkage) if finite else np.zeros(len(counts)))


def choose_shrinkage(
    own: Doubles, fused: Doubles, strata: Indices, weights: Doubles, counts: Doubles
) -> float:
    """Choose the shrinkage by out-of-fold log loss; ties go to the largest.

    ``own`` and ``fused`` are likelihoods of each row under its own member and the fusion,
    (n_rows,); ``counts`` are sizes of the strata.
    """
    losses = {}
    for shrinkage in reversed(SHRINKAGE_GRID):
        shares = own_member_weights(counts, shrinkage)[strata]
        true = shares * own + (1 - shares) * fused
        losses[shrinkage] = float(-weights @ np.log(np.maximum(true, PROBABILITY_FLOOR)))
    return min(losses, key=losses.__getitem__)


def own_outputs(outputs: Doubles, strata: Indices, n_strata: int) -> Doubles:
    """Select outputs of the member of each row's own stratum; the mean over several estimators.

    Members are ordered by estimator, and may be followed by anchors.
    """
    n_kinds = len(outputs) // n_strata
    by_kind = outputs[: n_kinds * n_strata].reshape(n_kinds, n_strata, *outputs.shape[1:])
    return np.asarray(by_kind[:, strata, np.arange(len(strata))].mean(axis=0))


def fit_source_shrinkage(
    oof: Doubles | None, strata: StrataFit, data: Training, target: Target
) -> float:
    """Choose the shrinkage for known sources on out-of-fold outputs, if available."""
    if strata.outputs is None or oof is None:
        return DEFAULT_SHRINKAGE
    of_rows = strata.strata_of_rows
    n_strata = strata.memberships.shape[1]
    own = target.own_member_output(own_outputs(strata.outputs, of_rows, n_strata), of_rows)
    known = np.isfinite(oof).all(axis=1) & np.isfinite(own).all(axis=1)
    if not known.any():
        return DEFAULT_SHRINKAGE
    by_own, by_all = (target.likelihoods(each[known], data.y[known]) for each in (own, oof))
    if by_own is None or by_all is None:
        return DEFAULT_SHRINKAGE
    counts = strata.memberships.sum(axis=0)
    return choose_shrinkage(by_own, by_all, of_rows[known], data.weights[known], counts)


def stratum_variances(
    outputs: Doubles, strata: StrataFit, known: Indices, data: Training
) -> Doubles:
    """Mean squared residual of each stratum's member on its known rows; ``outputs`` are of these.

    Shrunk towards that of all rows, which counts as ``PRIOR_ROWS`` rows.
    """
    of_rows, n_strata = strata.strata_of_rows[known], strata.memberships.shape[1]
    means = own_outputs(outputs, of_rows, n_strata)[:, 0]
    squares = (data.y[known] - means) ** 2
    weights = data.weights[known] / data.weights[known].mean()
    whole = float(np.average(squares, weights=weights))
    sums = np.bincount(of_rows, weights * squares, n_strata)
    sizes = np.bincount(of_rows, weights, n_strata)
    least = np.finfo(float).tiny
    return np.asarray(np.maximum((sums + PRIOR_ROWS * whole) / (sizes + PRIOR_ROWS), least))


def conformity_scores(
    oof: Doubles, known: Indices, strata: Indices, data: Training
) -> dict[str, NDArray[Any]]:
    """Absolute out-of-fold residuals in standard deviations; ``strata`` are of all rows."""
    kept = known[:: -(-len(known) // MAX_SCORES)]
    scores = np.abs(data.y[kept] - oof[kept, 0]) / np.sqrt(oof[kept, 1])
    return {
        "scores": scores, "strata": strata[kept].astype(np.int64), "weights": data.weights[kept]
    }  # fmt: skip


def conformal_factors(scores: dict[str, NDArray[Any]], n_strata: int, coverage: float) -> Doubles:
    """Half widths of prediction intervals in standard deviations, for each stratum."""
    values, weights = scores["scores"], scores["weights"]
    found = source_thresholds(values, scores["strata"], weights, n_strata, coverage)
    whole = weighted_threshold(values, weights, coverage, float(weights.mean()))
    whole = whole if np.isfinite(whole) else float(values.max())
    return np.where(np.isfinite(found), found, whole)
