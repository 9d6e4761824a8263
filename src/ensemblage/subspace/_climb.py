"""Algorithm 1's inner loop as the paper has it."""

from __future__ import annotations

import numpy as np

from ensemblage.kernels import candidate_step, step_buffers
from ensemblage.subspace._member import Member, Rows, member_logits

START_SCALE = 0.01
DRAWN_AT_ONCE = 64


def first_member(rows: Rows, rng, start_scale=START_SCALE):
    r"""Start of a member: small random coefficients, all features (line 3).

    Parameters
    ----------
    rows : Rows
        Training rows.
    rng : numpy.random.Generator
        Draws :math:`\Theta^0 \sim N(0, 0.01^2)`.
    start_scale : float, default=0.01
        Standard deviation of the draws.

    Returns
    -------
    Member
    """
    n_features, dtype = len(rows.features), rows.features.dtype
    coef = rng.normal(0.0, start_scale, (rows.n_classes, n_features)).astype(dtype)
    everything = np.ones(n_features, dtype=bool)
    return Member(coef, np.zeros(rows.n_classes, dtype), everything, np.empty(0), 0)


def step_length(rows: Rows):
    r"""Step for which climbing is stable.

    Parameters
    ----------
    rows : Rows
        Training rows.

    Returns
    -------
    float
        :math:`\eta = 4 / \lambda_{\max}(X^T X / M)`; 1 if every column is constant.
    """
    scaled = rows.features * np.sqrt(rows.weights)
    largest = float(np.linalg.eigvalsh(scaled @ scaled.T)[-1])
    return 4.0 / largest if largest > 1e-12 else 1.0


def proposals(rng, n_features, flip_probability):
    r"""Features to flip, one proposal after another (lines 6 and 7).

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws one uniform number per feature and proposal.
    n_features : int
        Number of features.
    flip_probability : float
        :math:`p_\lambda`.

    Yields
    ------
    ndarray of intp
        Indices of the features to flip.
    """
    while True:
        for drawn in rng.random((DRAWN_AT_ONCE, n_features)) < flip_probability:
            yield np.flatnonzero(drawn)


def empties(support, flipped):
    """Tell whether flipping would leave no feature.

    Parameters
    ----------
    support : ndarray of shape (n_features,)
        The current mask.
    flipped : ndarray of intp
        Features to flip.

    Returns
    -------
    bool
    """
    kept = int(support.sum()) + flipped.size - 2 * int(support[flipped].sum())
    return kept == 0


def weighted_accuracy(logits, labels, weights):
    """Weighted share of right rows (eq. 7).

    Parameters
    ----------
    logits : ndarray of shape (n_classes, n_rows)
        Logits.
    labels : ndarray of shape (n_rows,)
        Class indices.
    weights : ndarray of shape (n_rows,)
        Row weights.

    Returns
    -------
    float
    """
    return float(weights[logits.argmax(axis=0) == labels].sum(dtype=float))


def climb(rows: Rows, weights, rng, *, flip_probability, learning_rate, tol, max_iter):
    r"""Fit one member by Algorithm 1, lines 3 to 22.

    Parameters
    ----------
    rows : Rows
        Training rows.
    weights : ndarray of shape (n_rows,)
        :math:`w_{km} / M`.
    rng : numpy.random.Generator
        For the start and the proposals.
    flip_probability : float
        :math:`p_\lambda`.
    learning_rate : float
        :math:`\eta`, applied to the mean of eq. 9 over rows.
    tol : float
        Stop at the first iteration that gains less; the paper's ``thr``.
    max_iter : int
        At most so many iterations.

    Returns
    -------
    Member
    """
    member = first_member(rows, rng)
    coef, intercept, support = member[:3]
    logits = member_logits(rows.features, member)
    path = [weighted_accuracy(logits, rows.labels, weights)]
    buffers = step_buffers(rows.n_classes, rows.features)
    drawn = proposals(rng, len(support), flip_probability)
    n_iter = 0
    for n_iter, flipped in zip(  # noqa: B007  counts the last one too
        range(1, max_iter + 1), drawn, strict=False
    ):
        if empties(support, flipped):
            flipped = flipped[:0]  # noqa: PLW2901  an empty mask is not a proposal
        candidate_step(
            rows.features, rows.labels, weights, logits, coef, support, flipped,
            learning_rate, 0.0, buffers,
        )  # fmt: skip
        if buffers.accuracy.max() - path[-1] < tol:
            break
        chosen = int(buffers.accuracy[0] < buffers.accuracy[1])
        part = slice(chosen * rows.n_classes, (chosen + 1) * rows.n_classes)
        coef = coef + buffers.coef_step[part]
        intercept = (intercept + buffers.intercept_step[part]).astype(coef.dtype)
        logits = buffers.logits[part].copy()
        if chosen:
            support = support.copy()
            support[flipped] ^= True
        path.append(float(buffers.accuracy[chosen]))
    return Member(coef, intercept, support, np.array(path), n_iter)
