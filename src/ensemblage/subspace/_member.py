"""What the solvers work on, and what they give back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from ensemblage.kernels import member_log_proba
from ensemblage.subspace._objectives import CLASSES, Objective
from ensemblage.subspace._units import Units

Floats: TypeAlias = NDArray[np.floating[Any]]
"""Of the precision that the user's rows have."""
Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.intp]


class Rows(NamedTuple):
    """Training rows as the kernels want them: features first, rows last."""

    features: Floats  # (n_columns, n_rows), standardised; a column is a feature, or made of some
    targets: NDArray[Any]  # (n_rows,), class indices, or numbers of variance one
    weights: Floats  # (n_rows,), the user's weights, which add up to one
    n_outputs: int  # classes, of which some may not occur here, or one for numbers
    total: float  # sum of the user's weights: the paper's M
    objective: Objective = CLASSES
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
    accuracy_path: Array  # the objective's score, eq. 7, at the start and after each iteration
    n_iter: int


class Scaling(NamedTuple):
    """What the columns are standardised with, (n_features,) each, in the precision of the rows."""

    mean: Floats
    scale: Floats


def standardise(X: Floats, sample_weight: Array | None = None) -> Scaling:
    """Mean and scale of the columns; a constant column becomes zero by them."""
    scaler = StandardScaler().fit(X, sample_weight=sample_weight)
    return Scaling(scaler.mean_.astype(X.dtype), scaler.scale_.astype(X.dtype))


def as_features(X: Floats, scaling: Scaling) -> Floats:
    """Standardised rows with the features first, (n_features, n_rows), rows contiguous."""
    features = np.array(X.T, order="C")
    features -= scaling.mean[:, None]
    features /= scaling.scale[:, None]
    return features


def as_rows(
    X: Floats,
    targets: NDArray[Any],
    n_outputs: int,
    scaling: Scaling,
    sample_weight: Array | None = None,
) -> Rows:
    """Training rows for the solvers; without weights each row has the weight one."""
    if sample_weight is None:
        sample_weight = np.ones(len(targets))
    total = float(sample_weight.sum())
    weights = (sample_weight / total).astype(X.dtype)
    return Rows(as_features(X, scaling), targets, weights, n_outputs, total)


def member_logits(features: Floats, member: Member) -> Floats:
    """Logits of one member (eq. 6), or its predictions, (n_outputs, n_rows)."""
    return np.asarray((member.coef * member.support) @ features + member.intercept[:, None])


def outputs_of(features: Floats, coef: Floats, intercept: Floats) -> Array:
    """Members' probabilities, (n_members, n_rows, n_classes); ``coef`` is zero where masked."""
    log_proba = member_log_proba(features, coef, intercept)
    return np.exp(log_proba).transpose(0, 2, 1).astype(float)


def member_outputs(features: Floats, members: Sequence[Member]) -> Array:
    """Probabilities of members that were just fitted, (n_members, n_rows, n_classes)."""
    coef = np.array([member.coef * member.support for member in members])
    return outputs_of(features, coef, np.array([member.intercept for member in members]))
