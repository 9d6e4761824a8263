"""What members are fitted to: rows, features and their bases, the two objectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from ensemblage._core import expect, expect_array, set_module
from ensemblage.subspace._kernels import (
    candidate_step,
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

# With ``size_penalty="auto"`` a feature stays if it puts so many rows of mean weight right.
ROWS_PER_FEATURE = 4.0
# Knots of the linear spline: these shares of the rows lie below.
KNOTS = (0.1, 0.3, 0.5, 0.7, 0.9)
# Columns that a basis may make.
MAX_COLUMNS = 10_000
# A column with a smaller standard deviation counts as constant.
MIN_SCALE = 1e-6


class Objective(NamedTuple):
    """One loss, as the solvers use it; outputs are (n_outputs, n_rows), before any softmax."""

    step: Callable[..., None]  # both candidates one step uphill
    loss: Callable[..., tuple[float, Floats]]  # what converged coefficients minimise, and its slope
    score: Callable[[Floats, NDArray[Any], Floats], float]  # what a mask must not lower
    likelihood_ratio: Callable[[Floats, NDArray[Any], Floats], Floats]  # of each row in eq. 8, 0..1
    step_scale: float  # length of a stable step, times the largest eigenvalue
    optimum: Callable[..., Floats] | None  # where the loss is least, if that can be solved for


def weighted_accuracy(logits: Floats, labels: NDArray[Any], weights: Floats) -> float:
    """Weighted share of right rows (eq. 7); logits are (n_classes, n_rows)."""
    return float(weights[logits.argmax(axis=0) == labels].sum(dtype=float))


def _probability_of_truth(logits: Floats, labels: NDArray[Any], _weights: Floats) -> Floats:
    log_proba = log_softmax(logits, axis=0)
    return np.asarray(np.exp(log_proba[labels, np.arange(labels.size)]))


def _density_of_truth(predicted: Floats, target: NDArray[Any], weights: Floats) -> Floats:
    r"""Give the normal density of each value over its mode, :math:`e^{-r^2 / 2 s^2}`."""
    squared = (target - predicted[0]) ** 2
    variance = max(float(squared @ weights) / float(weights.sum()), 1e-12)
    return np.asarray(np.exp(-0.5 * squared / variance))


SOFTMAX = Objective(
    candidate_step, softmax_loss, weighted_accuracy, _probability_of_truth, 4.0, None
)
SQUARED = Objective(
    squared_step, squared_loss, squared_score, _density_of_truth, 1.0, squared_optimum
)


class Units(NamedTuple):
    """The units that are flipped as a whole; a column is seen if both of its units are."""

    first: Indices  # (n_columns,)
    second: Indices  # (n_columns,), the same but for products of two features
    lead: Indices  # (n_units,), a column that stands for the unit

    def flipped_columns(self, support: Mask, flipped: Indices) -> Indices:
        """Columns that come or go when units are flipped."""
        seen = support[self.lead]
        seen[flipped] ^= True
        return np.flatnonzero((seen[self.first] & seen[self.second]) ^ support)


class Rows(NamedTuple):
    """Training rows as the kernels want them: features first, rows last."""

    features: Floats  # (n_columns, n_rows), standardised; a column is a feature, or made of some
    targets: NDArray[Any]  # (n_rows,), class indices, or values of variance one
    weights: Floats  # (n_rows,), the user's weights, which add up to one, or one member's w_km / M
    n_outputs: int  # classes, of which some may not occur here, or one for a numeric target
    total: float  # sum of the user's weights: the paper's M
    objective: Objective = SOFTMAX
    units: Units | None = None  # what is flipped; None: each column by itself

    @property
    def n_units(self) -> int:
        """Count what can be flipped."""
        return len(self.features) if self.units is None else len(self.units.lead)

    def take(self, chosen: Indices) -> Rows:
        """Rows of one part of a split; their weights add up to one again."""
        weights = self.weights[chosen]
        share = float(weights.sum())
        return self._replace(
            features=np.ascontiguousarray(self.features[:, chosen]),
            targets=self.targets[chosen],
            weights=weights / max(share, float(np.finfo(weights.dtype).tiny)),
            total=self.total * share,
        )


class Member(NamedTuple):
    """One linear model; ``coef`` keeps the values that masked columns had when they left."""

    coef: Floats  # (n_outputs, n_columns)
    intercept: Floats  # (n_outputs,)
    support: Mask  # (n_columns,)
    score_path: Doubles  # the objective's score, eq. 7, at the start and after each iteration
    n_iter: int


class Settings(NamedTuple):
    """The estimators' parameters; "auto" stands where the rows decide, until :func:`resolve`."""

    solver: str
    flip_probability: float  # the paper's p_lambda
    size_penalty: Any  # score that a feature must add, per unit of mean weight
    learning_rate: Any  # length of a step uphill, the paper's eta
    C: float  # inverse strength of the ridge penalty; infinite in Algorithm 1
    patience: int  # stop after so many proposals without a new best
    tol: float
    max_iter: int  # at most so many proposals


def resolve(settings: Settings, rows: Rows) -> Settings:
    """Replace "auto" by what suits the rows; only Algorithm 1 takes a step from the user."""
    penalty, step = settings.size_penalty, settings.learning_rate
    given = settings.solver == "paper" and step != "auto"
    return settings._replace(
        size_penalty=ROWS_PER_FEATURE / rows.total if penalty == "auto" else float(penalty),
        learning_rate=float(step) if given else step_length(rows),
    )


def step_length(rows: Rows) -> float:
    r"""Step for which climbing is stable, :math:`\eta = 4 / \lambda_{\max}(X^T X / M)`.

    Under squared loss the four is a one. It is 1 if every column is constant.
    """
    scaled = rows.features * np.sqrt(rows.weights)
    # the rows' side has the same largest eigenvalue, and made columns are often more than rows
    made = rows.units is not None and len(scaled) > scaled.shape[1]
    largest = float(np.linalg.eigvalsh(scaled.T @ scaled if made else scaled @ scaled.T)[-1])
    return rows.objective.step_scale / largest if largest > 1e-12 else 1.0


@set_module("ensemblage.subspace")
class FeatureBasis(BaseEstimator):
    r"""Columns that stand for standardised features.

    "linear" leaves the features as they are. "quadratic" adds :math:`x_d^2` and the products
    :math:`x_d x_e`. "spline" adds :math:`\max(0, x_d - t)` for five quantiles :math:`t`, a
    curve of straight pieces. Features come first; all columns are standardised again.
    """

    def __init__(self, kind: str = "linear") -> None:
        self.kind = kind

    def fit(self, features: Floats, weights: Floats) -> Self:
        """Learn knots and scales from features, (n_features, n_rows); the weights add up to one."""
        self.n_features_ = len(features)
        if self.kind == "linear":
            return self
        if self.n_columns() > MAX_COLUMNS:
            raise ValueError(
                f"basis={self.kind!r} makes {self.n_columns()} columns of {self.n_features_} "
                f"features; {MAX_COLUMNS} are the most. Choose features first, or take "
                "basis='linear'."
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
        """Columns of standardised features, (n_columns, n_rows)."""
        if self.kind == "linear":
            return features
        columns = self._columns(features)
        columns -= self.column_mean_[:, None]
        columns /= self.column_scale_[:, None]
        return columns

    def owners(self) -> tuple[Indices, Indices] | None:
        """Give each column's features, one twice or two; None where a column is a feature."""
        each = np.arange(self.n_features_)
        if self.kind == "linear":
            return None
        if self.kind == "spline":
            own = np.tile(each, 1 + len(KNOTS))
            return own, own
        first, second = np.triu_indices(self.n_features_)
        return np.concatenate([each, first]), np.concatenate([each, second])

    def seen_columns(self, supports: Mask) -> Mask:
        """Masks of columns, (..., n_columns), that follow from masks of features."""
        owners = self.owners()
        return supports if owners is None else supports[..., owners[0]] & supports[..., owners[1]]

    def n_columns(self) -> int:
        d = self.n_features_
        return {"linear": d, "spline": d * (1 + len(KNOTS)), "quadratic": d + d * (d + 1) // 2}[
            self.kind
        ]

    def _columns(self, features: Floats) -> Floats:
        if self.kind == "quadratic":
            first, second = np.triu_indices(len(features))
            return np.concatenate([features, features[first] * features[second]])
        bends = [np.maximum(features - knots[:, None], 0.0) for knots in self.knots_]
        return np.concatenate([features, *bends])

    def _check_fitted(self) -> None:
        expect(self.kind in {"linear", "quadratic", "spline"}, "kind is none of a basis")
        if self.kind != "linear":
            n_knots = len(KNOTS) if self.kind == "spline" else 0
            expect_array(self, "knots_", (n_knots, self.n_features_))
            expect_array(self, "column_mean_", (self.n_columns(),))
            expect_array(self, "column_scale_", (self.n_columns(),), low=MIN_SCALE)


def units_of(owners: tuple[Indices, Indices] | None, groups: Indices | None) -> Units | None:
    """Units of columns that belong to one or two features each; None if columns are the units.

    ``groups`` numbers each feature's group from 0; the first columns are the features themselves.
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


def correlated_groups(features: Floats, weights: Any, least: float) -> Indices:
    r"""Find the groups of features that are chained by correlations of at least :math:`\pm` least.

    Features are (n_features, n_rows), of mean zero. Groups are numbered in the order of their
    first features. Constant features are groups alone.
    """
    scaled = features.astype(float) * np.sqrt(np.asarray(weights, dtype=float))
    norms = np.sqrt((scaled**2).sum(axis=1))
    scaled /= np.where(norms > 0, norms, 1.0)[:, None]
    close = np.abs(scaled @ scaled.T) >= least - 1e-9
    groups = np.full(len(features), -1)
    for d in range(len(features)):
        if groups[d] >= 0:
            continue
        reached, wider = np.zeros(len(close), dtype=bool), np.arange(len(close)) == d
        while (wider != reached).any():
            reached, wider = wider, wider | close[wider].any(axis=0)
        groups[reached] = groups.max() + 1
    return groups


def standardise(X: Floats, sample_weight: Doubles | None = None) -> tuple[Floats, Floats]:
    """Mean and scale of the columns, in the precision of the rows; a constant one becomes zero."""
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
    """Training rows for the solvers; without weights each row has the weight one."""
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
    """Probabilities of members that were just fitted, (n_members, n_rows, n_classes)."""
    return outputs_of(features, *stacked(members))
