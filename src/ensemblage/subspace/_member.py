"""What the solvers work on, and what they give back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler


class Rows(NamedTuple):
    """Training rows as the kernels want them: features first, rows last."""

    features: np.ndarray  # (n_features, n_rows), standardised
    labels: np.ndarray  # (n_rows,), class indices
    weights: np.ndarray  # (n_rows,), the user's weights, which add up to one
    n_classes: int
    total: float  # sum of the user's weights: the paper's M


class Member(NamedTuple):
    """One classifier; ``coef`` keeps the values that masked features had when they left."""

    coef: np.ndarray  # (n_classes, n_features)
    intercept: np.ndarray  # (n_classes,)
    support: np.ndarray  # (n_features,), bool
    accuracy_path: np.ndarray  # weighted accuracy (eq. 7) at the start and after each iteration
    n_iter: int


def standardise(X, sample_weight=None):
    """Centre and scale the columns; a constant column becomes zero.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Training rows.
    sample_weight : ndarray of shape (n_rows,), default=None
        Row weights.

    Returns
    -------
    mean, scale : ndarray of shape (n_features,)
        In the precision of ``X``.
    """
    scaler = StandardScaler().fit(X, sample_weight=sample_weight)
    return scaler.mean_.astype(X.dtype), scaler.scale_.astype(X.dtype)


def as_features(X, mean, scale):
    """Standardised rows with the features first.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    mean, scale : ndarray of shape (n_features,)
        From the training rows.

    Returns
    -------
    ndarray of shape (n_features, n_rows)
        Rows contiguous.
    """
    features = np.array(X.T, order="C")
    features -= mean[:, None]
    features /= scale[:, None]
    return features


def as_rows(X, labels, n_classes, mean, scale, sample_weight=None):
    """Training rows for the solvers.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    labels : ndarray of shape (n_rows,)
        Class indices.
    n_classes : int
        Number of classes, of which some may not occur here.
    mean, scale : ndarray of shape (n_features,)
        From :func:`standardise`.
    sample_weight : ndarray of shape (n_rows,), default=None
        Row weights; one each if not given.

    Returns
    -------
    Rows
    """
    if sample_weight is None:
        sample_weight = np.ones(len(labels))
    total = float(sample_weight.sum())
    weights = (sample_weight / total).astype(X.dtype)
    features = as_features(X, mean, scale)
    return Rows(features, labels.astype(np.intp), weights, n_classes, total)


def member_logits(features, member):
    """Logits of one member (eq. 6).

    Parameters
    ----------
    features : ndarray of shape (n_features, n_rows)
        Standardised features.
    member : Member
        The classifier.

    Returns
    -------
    ndarray of shape (n_classes, n_rows)
    """
    return (member.coef * member.support) @ features + member.intercept[:, None]
