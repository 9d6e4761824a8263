"""Training rows, basis expansions and objectives of members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from ensemblage._core import expect, expect_array, set_module
from ensemblage.subspace._kernels import (
    RowLoss,
    brier_rows,
    candidate_step,
    focal_rows,
    hinge_rows,
    linear_loss,
    log_softmax,
    member_log_proba,
    softmax_loss,
    squared_loss,
    squared_optimum,
    squared_score,
    squared_step,
)

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

# With ``size_penalty="auto"`` a feature must gain this many correct rows of mean weight.
ROWS_PER_FEATURE = 4.0
# Quantiles at which the linear spline has its knots.
KNOTS = (0.1, 0.3, 0.5, 0.7, 0.9)
# Most columns of a basis expansion.
MAX_COLUMNS = 10_000
# A column with a smaller standard deviation counts as constant.
MIN_SCALE = 1e-6


class Objective(NamedTuple):
    """Objective functions of the solvers; outputs are (n_outputs, n_rows), before the softmax."""

    step: Callable[..., None]  # a gradient step of both candidates
    loss: Callable[..., tuple[float, Floats]]  # loss of the coefficients and its gradient
    score: Callable[[Floats, NDArray[Any], Floats], float]  # criterion to accept a mask
    likelihood_ratio: Callable[
        [Floats, NDArray[Any], Floats], Floats
    ]  # of each row in eq. 8, in [0, 1]
    step_scale: float  # stable step size times the largest eigenvalue
    optimum: Callable[..., Floats] | None  # minimiser of the loss, if there is a closed form


def weighted_accuracy(logits: Floats, labels: NDArray[Any], weights: Floats) -> float:
    """Weighted accuracy (eq. 7); logits are (n_classes, n_rows)."""
    return float(weights[logits.argmax(axis=0) == labels].sum(dtype=float))


def _probability_of_truth(logits: Floats, labels: NDArray[Any], _weights: Floats) -> Floats:
    log_proba = log_softmax(logits, axis=0)
    return np.asarray(np.exp(log_proba[labels, np.arange(labels.size)]))


def _density_of_truth(predicted: Floats, target: NDArray[Any], weights: Floats) -> Floats:
    r"""Compute the normal density of each value divided by its mode, :math:`e^{-r^2 / 2 s^2}`."""
    squared = (target - predicted[0]) ** 2
    variance = max(float(squared @ weights) / float(weights.sum()), 1e-12)
    return np.asarray(np.exp(-0.5 * squared / variance))


def _with_row_loss(row_loss: RowLoss, step_scale: float) -> Objective:
    return SOFTMAX._replace(
        step=partial(candidate_step, row_loss=row_loss),
        loss=partial(linear_loss, row_loss=row_loss),
        step_scale=step_scale,
    )


SOFTMAX = Objective(
    candidate_step, softmax_loss, weighted_accuracy, _probability_of_truth, 4.0, None
)
# Step scales are at most two divided by the largest second derivative.
CLASS_LOSSES = {
    "log_loss": SOFTMAX,
    "hinge": _with_row_loss(hinge_rows, 1.0),
    "squared": _with_row_loss(brier_rows, 4.0),
    "focal": _with_row_loss(focal_rows, 2.0),
}
SQUARED = Objective(
    squared_step, squared_loss, squared_score, _density_of_truth, 1.0, squared_optimum
)


class Units(NamedTuple):
    """Units that are flipped as a whole; a column is used if both of its units are."""

    first: Indices  # (n_columns,)
    second: Indices  # (n_columns,), the same except for products of two features
    lead: Indices  # (n_units,), a representative column of the unit

    def flipped_columns(self, support: Mask, flipped: Indices) -> Indices:
        """Columns that change when units are flipped."""
        seen = support[self.lead]
        seen[flipped] ^= True
        return np.flatnonzero((seen[self.first] & seen[self.second]) ^ support)


class Rows(NamedTuple):
    """Training rows in the layout of the kernels: features first, rows last."""

    features: Floats  # (n_columns, n_rows), standardised features or basis columns
    targets: NDArray[Any]  # (n_rows,), class indices, or standardised values
    weights: Floats  # (n_rows,), sample weights that sum to one, or one member's w_km / M
    n_outputs: int  # number of classes, some possibly absent here, or one for a numeric target
    total: float  # sum of the sample weights: the paper's M
    objective: Objective = SOFTMAX
    units: Units | None = None  # units that are flipped; None: single columns

    @property
    def n_units(self) -> int:
        """Number of units that can be flipped."""
        return len(self.features) if self.units is None else len(self.units.lead)

    def take(self, chosen: Indices) -> Rows:
        """Rows of one part of a split, with weights normalised to one."""
        weights = self.weights[chosen]
        share = float(weights.sum())
        return self._replace(
            features=np.ascontiguousarray(self.features[:, chosen]),
            targets=self.targets[chosen],
            weights=weights / max(share, float(np.finfo(weights.dtype).tiny)),
            total=self.total * share,
        )


class Member(NamedTuple):
    """One linear model; ``coef`` keeps the last values of masked columns."""

    coef: Floats  # (n_outputs, n_columns)
    intercept: Floats  # (n_outputs,)
    support: Mask  # (n_columns,)
    score_path: Doubles  # the objective's score, eq. 7, at the start and after each iteration
    n_iter: int


class Settings(NamedTuple):
    """Hyperparameters of a fit; :func:`resolve` replaces "auto"."""

    solver: str
    flip_probability: float  # the paper's p_lambda
    size_penalty: Any  # score gain needed per feature, per unit of mean weight
    learning_rate: Any  # step size, the paper's eta
    C: float  # inverse strength of the ridge penalty; infinite in Algorithm 1
    patience: int  # stop after this many proposals without improvement
    tol: float
    max_iter: int  # most proposals


def resolve(settings: Settings, rows: Rows) -> Settings:
    """Replace "auto" by values from the rows; ``learning_rate`` is used only by Algorithm 1."""
    penalty, step = settings.size_penalty, settings.learning_rate
    given = settings.solver == "paper" and step != "auto"
    return settings._replace(
        size_penalty=ROWS_PER_FEATURE / rows.total if penalty == "auto" else float(penalty),
        learning_rate=float(step) if given else step_length(rows),
    )


def step_length(rows: Rows) -> float:
    r"""Stable step size of gradient ascent, :math:`\eta = 4 / \lambda_{\max}(X^T X / M)`.

    The numerator is the objective's. The step is 1 if every column is constant.
    """
    scaled = rows.features * np.sqrt(rows.weights)
    # the Gram matrix has the same largest eigenvalue and is smaller with many basis columns
    made = rows.units is not None and len(scaled) > scaled.shape[1]
    largest = float(np.linalg.eigvalsh(scaled.T @ scaled if made else scaled @ scaled.T)[-1])
    return rows.objective.step_scale / largest if largest > 1e-12 else 1.0


def columns_of(kind: str, d: int) -> int:
    """Columns of the expansion of ``d`` features."""
    return {"linear": d, "spline": d * (1 + len(KNOTS)), "quadratic": d + d * (d + 1) // 2}[kind]


@set_module("ensemblage.subspace")
class FeatureBasis(BaseEstimator):
    r"""Basis expansion of standardised features.

    "linear" is the identity. "quadratic" adds :math:`x_d^2` and the products
    :math:`x_d x_e`. "spline" adds :math:`\max(0, x_d - t)` for five quantiles :math:`t`, a
    linear spline. Features come first; all columns are standardised again.
    """

    def __init__(self, kind: str = "linear") -> None:
        self.kind = kind

    def fit(self, features: Floats, weights: Floats) -> Self:
        """Compute knots and scales of features, (n_features, n_rows); the weights sum to one."""
        self.n_features_ = len(features)
        if self.kind == "linear":
            return self
        if self.n_columns() > MAX_COLUMNS:
            raise ValueError(
                f"basis={self.kind!r} expands {self.n_features_} features to {self.n_columns()} "
                f"columns, more than {MAX_COLUMNS}. Select features first, or use basis='linear'."
            )
        self.knots_ = np.empty((0, self.n_features_), features.dtype)
        if self.kind == "spline":
            each = np.broadcast_to(weights, features.shape)
            knots = np.quantile(features, KNOTS, axis=1, method="inverted_cdf", weights=each)
            self.knots_ = knots.astype(features.dtype)
        columns = self._columns(features)
        mean = columns @ weights
        scale = np.sqrt(np.maximum((columns - mean[:, None]) ** 2 @ weights, 0.0))
        self.column_mean_ = mean.astype(features.dtype)
        self.column_scale_ = np.where(scale >= MIN_SCALE, scale, 1.0).astype(features.dtype)
        return self

    def expand(self, features: Floats) -> Floats:
        """Expand standardised features to columns, (n_columns, n_rows)."""
        if self.kind == "linear":
            return features
        columns = self._columns(features)
        columns -= self.column_mean_[:, None]
        columns /= self.column_scale_[:, None]
        return columns

    def owners(self) -> tuple[Indices, Indices] | None:
        """Features of each column, one twice or two; None if columns are features."""
        each = np.arange(self.n_features_)
        if self.kind == "linear":
            return None
        if self.kind == "spline":
            own = np.tile(each, 1 + len(KNOTS))
            return own, own
        first, second = np.triu_indices(self.n_features_)
        return np.concatenate([each, first]), np.concatenate([each, second])

    def seen_columns(self, supports: Mask) -> Mask:
        """Masks of columns, (..., n_columns), from masks of features."""
        owners = self.owners()
        return supports if owners is None else supports[..., owners[0]] & supports[..., owners[1]]

    def n_columns(self) -> int:
        return columns_of(self.kind, self.n_features_)

    def _columns(self, features: Floats) -> Floats:
        if self.kind == "quadratic":
            first, second = np.triu_indices(len(features))
            return np.concatenate([features, features[first] * features[second]])
        hinges = [np.maximum(features - knots[:, None], 0.0) for knots in self.knots_]
        return np.concatenate([features, *hinges])

    def _check_fitted(self) -> None:
        expect(self.kind in {"linear", "quadratic", "spline"}, "kind is not a known basis")
        if self.kind != "linear":
            n_knots = len(KNOTS) if self.kind == "spline" else 0
            expect_array(self, "knots_", (n_knots, self.n_features_))
            expect_array(self, "column_mean_", (self.n_columns(),))
            expect_array(self, "column_scale_", (self.n_columns(),), low=MIN_SCALE)


def units_of(owners: tuple[Indices, Indices] | None, groups: Indices | None) -> Units | None:
    """Units of columns of one or two features each; None if columns are the units.

    ``groups`` is the group index of each feature; the first columns are the features.
    """
    if owners is None:
        if groups is None:
            return None
        owners = np.arange(groups.size), np.arange(groups.size)
    first, second = owners
    if groups is None:
        return Units(first, second, np.arange(int(first.max()) + 1))
    lead = np.unique(groups, return_index=True)[1]
    return Units(groups[first], groups[second], lead)


def expand_basis(rows: Rows, kind: str, groups: Indices | None) -> tuple[FeatureBasis, Rows]:
    """Fit a basis to standardised features; return it with the expanded rows."""
    basis = FeatureBasis(kind).fit(rows.features, rows.weights)
    units = units_of(basis.owners(), groups)
    return basis, rows._replace(features=basis.expand(rows.features), units=units)


def correlated_groups(features: Floats, weights: Any, least: float) -> Indices:
    r"""Group features by single linkage on absolute correlations of at least ``least``.

    Features are (n_features, n_rows), of mean zero. Groups are numbered in the order of their
    first features. Each constant feature is a group.
    """
    scaled = features.astype(float) * np.sqrt(np.asarray(weights, dtype=float))
    norms = np.sqrt((scaled**2).sum(axis=1))
    scaled /= np.where(norms > 0, norms, 1.0)[:, None]
    close = np.abs(scaled @ scaled.T) >= least - 1e-9
    groups = np.full(len(features), -1)
    for d in range(len(features)):
        if groups[d] >= 0:
            continue
        reached, extended = np.zeros(len(close), dtype=bool), np.arange(len(close)) == d
        while (extended != reached).any():
            reached, extended = extended, extended | close[extended].any(axis=0)
        groups[reached] = groups.max() + 1
    return groups


def standardise(X: Floats, sample_weight: Doubles | None = None) -> tuple[Floats, Floats]:
    """Mean and scale of the columns, in the dtype of the rows; constant columns become zero."""
    scaler = StandardScaler().fit(X, sample_weight=sample_weight)
    return scaler.mean_.astype(X.dtype), scaler.scale_.astype(X.dtype)


def as_features(X: Floats, mean: Floats, scale: Floats) -> Floats:
    """Standardised rows with the features first, (n_features, n_rows), rows contiguous."""
    features = np.array(X.T, order="C")
    features -= mean[:, None]
    features /= scale[:, None]
    return features


def as_rows(
    X: Floats,
    targets: NDArray[Any],
    n_outputs: int,
    scaling: tuple[Floats, Floats],
    sample_weight: Doubles | None = None,
) -> Rows:
    """Training rows for the solvers; by default each row has weight one."""
    if sample_weight is None:
        sample_weight = np.ones(len(targets))
    total = float(sample_weight.sum())
    weights = (sample_weight / total).astype(X.dtype)
    return Rows(as_features(X, *scaling), targets, weights, n_outputs, total)


def member_logits(features: Floats, member: Member) -> Floats:
    """Logits of one member (eq. 6), or its predictions, (n_outputs, n_rows)."""
    return np.asarray((member.coef * member.support) @ features + member.intercept[:, None])


def outputs_of(features: Floats, coef: Floats, intercept: Floats) -> Doubles:
    """Members' probabilities, (n_members, n_rows, n_classes); ``coef`` is zero where masked."""
    log_proba = member_log_proba(features, coef, intercept)
    return np.exp(log_proba).transpose(0, 2, 1).astype(float)


def stacked(members: Sequence[Member]) -> tuple[Floats, Floats]:
    """Coefficients of members, zero where masked, and their intercepts."""
    coef = np.array([member.coef * member.support for member in members])
    return coef, np.array([member.intercept for member in members])


def member_outputs(features: Floats, members: Sequence[Member]) -> Doubles:
    """Probabilities of fitted members, (n_members, n_rows, n_classes)."""
    return outputs_of(features, *stacked(members))
