"""What a model says of rows where it predicts numbers; light, as ``predict`` needs no more."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

REACH = 1.6448536269514722
"""So many standard deviations to each side hold 90 % of a normal distribution."""


class NumberAnswers(NamedTuple):
    """Predicted numbers, each with a standard deviation where the model gives one.

    Where it does, there are intervals that should hold 90 % of the numbers, shape (n_rows, 2).
    """

    predicted: Floats
    spread: Floats | None = None
    intervals: Floats | None = None


def number_answers(model: Any, X: Any, told: Mapping[str, Any]) -> NumberAnswers:
    """Ask a model for numbers, and for their spread if its ``predict`` takes ``return_std``.

    ``told`` is what a prediction takes beside the rows. A spread of zero, as of a constant
    prediction, is none. Intervals are the model's own, by ``predict_interval``, or normal ones.
    """
    from ensemblage.parallel import final_step, rows_at_final_step  # noqa: PLC0415  scikit-learn

    estimator = final_step(model)
    if "return_std" not in signature(estimator.predict).parameters:
        return NumberAnswers(np.ravel(model.predict(X, **told)).astype(float))
    predicted, spread = (
        np.ravel(each).astype(float) for each in model.predict(X, return_std=True, **told)
    )
    if not (spread > 0).all():
        return NumberAnswers(predicted)
    if hasattr(estimator, "predict_interval"):
        own = estimator.predict_interval(rows_at_final_step(model, X), **told)
        return NumberAnswers(predicted, spread, np.asarray(own, dtype=float))
    reach = REACH * spread
    return NumberAnswers(predicted, spread, np.column_stack([predicted - reach, predicted + reach]))
