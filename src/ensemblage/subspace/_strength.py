"""Strength of the ridge penalty by cross-validation."""

from __future__ import annotations

import numpy as np

from ensemblage.kernels import softmax_loss
from ensemblage.subspace._anneal import converge
from ensemblage.subspace._climb import first_member
from ensemblage.subspace._development import take_rows
from ensemblage.subspace._member import Rows

STRENGTHS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)
N_FOLDS = 5


def fold_numbers(labels, n_folds, rng):
    """Deal the rows of each class to folds in turn.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Class indices.
    n_folds : int
        Number of folds.
    rng : numpy.random.Generator
        Shuffles within each class.

    Returns
    -------
    ndarray of shape (n_rows,)
        Fold of each row; fold sizes differ by one at most.
    """
    order = rng.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(labels.size, dtype=int)
    folds[order] = np.arange(labels.size) % n_folds
    return folds


def choose_strength(rows: Rows, rng):
    """``C`` with the lowest held-out log loss of a single classifier on all features.

    Parameters
    ----------
    rows : Rows
        Training rows.
    rng : numpy.random.Generator
        Deals the folds.

    Returns
    -------
    float
        A power of ten from 0.01 to 1000.
    """
    folds = fold_numbers(rows.labels, min(N_FOLDS, rows.labels.size), rng)
    losses = np.zeros(len(STRENGTHS))
    for fold in np.unique(folds):
        train, held = take_rows(rows, folds != fold), take_rows(rows, folds == fold)
        member = first_member(train, rng)
        for i, strength in reversed(list(enumerate(STRENGTHS))):
            member = converge(train, train.weights, member, 1.0 / (strength * train.total), 1e-4)
            parameters = np.column_stack([member.coef, member.intercept])
            loss, _ = softmax_loss(held.features, held.labels, held.weights, parameters, 0.0)
            losses[i] += loss * held.total
    return STRENGTHS[int(losses.argmin())]
