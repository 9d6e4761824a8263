"""What the solvers work on, and what they give back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from ensemblage.kernels import member_log_proba

Floats: TypeAlias = NDArray[np.floating[Any]]
"""Of the precision that the user's rows have."""
Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.intp]


class Rows(NamedTuple):
    """Training rows as the kernels want them: features first, rows last."""

    features: Floats  # (n_features, n_rows), standardised
    labels: Indices  # (n_rows,), class indices
    weights: Floats  # (n_rows,), the user's weights, which add up to one
    n_classes: int  # of which some may not occur here
    total: float  # sum of the user's weights: the paper's M

    def take(self, chosen: Indices) -> Rows:
        """Rows of one part of a split; their weights add up to one again."""
        weights = self.weights[chosen]
        share = float(weights.sum())
        return Rows(
            np.ascontiguousarray(self.features[:, chosen]),
            self.labels[chosen],
            weights / max(share, float(np.finfo(weights.dtype).tiny)),
            self.n_classes,
            self.total * share,
        )


class Member(NamedTuple):
    """One classifier; ``coef`` keeps the values that masked features had when they left."""

    coef: Floats  # (n_classes, n_features)
    intercept: Floats  # (n_classes,)
    support: Mask  # (n_features,)
    accuracy_path: Array  # weighted accuracy (eq. 7) at the start and after each iteration
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
    labels: NDArray[Any],
    n_classes: int,
    scaling: Scaling,
    sample_weight: Array | None = None,
) -> Rows:
    """Training rows for the solvers; without weights each row has the weight one."""
    if sample_weight is None:
        sample_weight = np.ones(len(labels))
    total = float(sample_weight.sum())
    weights = (sample_weight / total).astype(X.dtype)
    return Rows(as_features(X, scaling), labels.astype(np.intp), weights, n_classes, total)


def member_logits(features: Floats, member: Member) -> Floats:
    """Logits of one member (eq. 6), (n_classes, n_rows)."""
    return np.asarray((member.coef * member.support) @ features + member.intercept[:, None])


def outputs_of(features: Floats, coef: Floats, intercept: Floats) -> Array:
    """Members' probabilities, (n_members, n_rows, n_classes); ``coef`` is zero where masked."""
    log_proba = member_log_proba(features, coef, intercept)
    return np.exp(log_proba).transpose(0, 2, 1).astype(float)


def member_outputs(features: Floats, members: Sequence[Member]) -> Array:
    """Probabilities of members that were just fitted, (n_members, n_rows, n_classes)."""
    coef = np.array([member.coef * member.support for member in members])
    return outputs_of(features, coef, np.array([member.intercept for member in members]))
