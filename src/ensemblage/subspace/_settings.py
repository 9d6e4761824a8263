"""How a member is fitted: as the user asks for it, and what that means for some rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensemblage.subspace._member import Rows

# A feature stays if it puts so many rows of mean weight right.
ROWS_PER_FEATURE = 4.0


class Settings(NamedTuple):
    """The estimators' parameters; "auto" stands where the rows decide."""

    solver: str
    flip_probability: float
    size_penalty: Any
    learning_rate: Any
    C: float
    patience: int
    tol: float
    max_iter: int


class Walk(NamedTuple):
    """The settings resolved for some rows."""

    flip_probability: float  # the paper's p_lambda
    rate: float  # length of a step uphill, the paper's eta
    price: float  # accuracy that a feature must add, per unit of mean weight
    decay: float  # strength of the ridge penalty, per unit of mean weight
    patience: int  # stop after so many proposals without a new best
    tol: float  # see the estimators
    max_iter: int  # at most so many proposals


def step_length(rows: Rows) -> float:
    r"""Step for which climbing is stable, :math:`\eta = 4 / \lambda_{\max}(X^T X / M)`.

    Under squared loss the four is a one. It is 1 if every column is constant.
    """
    scaled = rows.features * np.sqrt(rows.weights)
    # the rows' side has the same largest eigenvalue, and made columns are often more than rows
    made = rows.units is not None and len(scaled) > scaled.shape[1]
    largest = float(np.linalg.eigvalsh(scaled.T @ scaled if made else scaled @ scaled.T)[-1])
    return rows.objective.step_scale / largest if largest > 1e-12 else 1.0


def price_of_a_feature(size_penalty: Any, total: float) -> float:
    """Accuracy that a feature must add: with "auto" what four of the rows make."""
    return ROWS_PER_FEATURE / total if size_penalty == "auto" else float(size_penalty)


def resolve(settings: Settings, rows: Rows) -> Walk:
    """Say what the settings mean for these rows; only Algorithm 1 takes a step from the user."""
    paper = settings.solver == "paper"
    given = paper and settings.learning_rate != "auto"
    return Walk(
        settings.flip_probability,
        float(settings.learning_rate) if given else step_length(rows),
        price_of_a_feature(settings.size_penalty, rows.total),
        0.0 if paper else 1.0 / (settings.C * rows.total),
        settings.patience,
        settings.tol,
        settings.max_iter,
    )
