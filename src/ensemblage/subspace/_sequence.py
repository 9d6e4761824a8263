"""Members one after another, each on the rows that the earlier ones get wrong."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ensemblage.kernels import log_softmax
from ensemblage.subspace._anneal import anneal
from ensemblage.subspace._climb import climb, step_length
from ensemblage.subspace._member import Rows, member_logits

SMALLEST_WEIGHT = 1e-6
# A feature stays if it puts so many rows of mean weight right.
ROWS_PER_FEATURE = 4.0


class Settings(NamedTuple):
    """How to fit a member; the estimators' parameters, resolved."""

    solver: str
    flip_probability: float
    size_penalty: float | str
    learning_rate: float | str
    C: float
    patience: int
    tol: float
    max_iter: int


def member_weights(probability_sum, n_before):
    r"""Row weights of the next member (eq. 8).

    Parameters
    ----------
    probability_sum : ndarray of shape (n_rows,)
        Sum of the earlier members' probabilities of the true class.
    n_before : int
        Number of earlier members.

    Returns
    -------
    ndarray of shape (n_rows,)
        :math:`w_m = 1 - \frac{1}{k-1} \sum_{k'} p_{k'}(y_m \mid x_m)`, between 1e-6 and 1; all
        ones for the first member, for which the paper leaves them open.
    """
    if n_before == 0:
        return np.ones_like(probability_sum)
    return np.clip(1.0 - probability_sum / n_before, SMALLEST_WEIGHT, 1.0)


def resolved_penalty(size_penalty, total):
    """Price of a feature, in accuracy.

    Parameters
    ----------
    size_penalty : float or "auto"
        As given by the user.
    total : float
        Sum of the rows' weights.

    Returns
    -------
    float
        With "auto" the accuracy that four rows make.
    """
    return ROWS_PER_FEATURE / total if size_penalty == "auto" else float(size_penalty)


def member_solver(rows: Rows, settings: Settings):
    """Fit function of one member, a function of its row weights and its generator.

    Parameters
    ----------
    rows : Rows
        Training rows.
    settings : Settings
        Resolved parameters.

    Returns
    -------
    callable
        ``(weights, rng) -> Member``.
    """
    if settings.solver == "paper":
        auto = settings.learning_rate == "auto"
        rate = step_length(rows) if auto else float(settings.learning_rate)
        return partial(
            climb, rows, flip_probability=settings.flip_probability, learning_rate=rate,
            tol=settings.tol, max_iter=settings.max_iter,
        )  # fmt: skip
    return partial(
        anneal, rows, flip_probability=settings.flip_probability,
        size_penalty=resolved_penalty(settings.size_penalty, rows.total),
        decay=1.0 / (settings.C * rows.total), patience=settings.patience, tol=settings.tol,
        max_iter=settings.max_iter,
    )  # fmt: skip


def fit_sequence(rows: Rows, seeds, settings: Settings):
    """Fit members in turn, as many as there are seeds (lines 2 to 4).

    Parameters
    ----------
    rows : Rows
        Training rows.
    seeds : sequence of int
        One per member.
    settings : Settings
        Resolved parameters.

    Yields
    ------
    Member
    """
    solve = member_solver(rows, settings)
    probability_sum = np.zeros_like(rows.weights)
    index = np.arange(rows.labels.size)
    for k, seed in enumerate(seeds):
        weights = member_weights(probability_sum, k) * rows.weights
        member = solve(weights, np.random.default_rng(seed))
        yield member
        log_proba = log_softmax(member_logits(rows.features, member), axis=0)
        probability_sum = probability_sum + np.exp(log_proba[rows.labels, index])
