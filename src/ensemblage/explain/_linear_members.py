"""Members whose decision values are linear in their features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from ensemblage.explain._decision import LinearPart
from ensemblage.parallel import final_step

SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler)


def linear_part(member: Any, classes: NDArray[Any]) -> LinearPart | None:
    """Give a classifier's coefficients for all classes; None where it is not linear in its rows.

    A class that it has not seen has zeros. Scalers before it are taken in.
    """
    classifier = final_step(member)
    coef, intercept = (getattr(classifier, name, None) for name in ("coef_", "intercept_"))
    if coef is None or intercept is None or not hasattr(classifier, "classes_"):
        return None
    coef, intercept = np.atleast_2d(np.asarray(coef, dtype=float)), np.ravel(intercept)
    known = classifier.classes_
    if hasattr(classifier, "support_vectors_") and len(known) > 2:
        return None  # its coefficients are those of pairs of classes
    if len(coef) != (1 if len(known) == 2 else len(known)) or len(intercept) != len(coef):
        return None
    scaled = _through_scalers(member, coef, np.asarray(intercept, dtype=float))
    return (
        None
        if scaled is None
        else _on_all_classes(scaled, np.searchsorted(classes, known), len(classes))
    )


def linear_numbers(member: Any) -> LinearPart | None:
    """Give a regressor's coefficients, as those of one class; None where it is not linear."""
    regressor = final_step(member)
    coef, intercept = (getattr(regressor, name, None) for name in ("coef_", "intercept_"))
    if coef is None or intercept is None or not is_regressor(regressor):
        return None
    coef, level = np.atleast_2d(np.asarray(coef, dtype=float)), np.ravel(intercept).astype(float)
    if len(coef) != 1 or len(level) != 1:
        return None
    corners = np.stack([np.zeros(coef.shape[1]), np.ones(coef.shape[1])])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        said = np.ravel(regressor.predict(corners))
    if not np.allclose(said, corners @ coef[0] + level[0]):
        return None  # its coefficients are those of a logarithm, say
    return _through_scalers(member, coef, level)


def _on_all_classes(part: LinearPart, known: NDArray[np.intp], n_classes: int) -> LinearPart:
    if len(known) == 2:
        part = LinearPart(*(np.stack([np.zeros_like(each[0]), each[0]]) for each in part))
    coef = np.zeros((n_classes, part.coef.shape[1]))
    intercept = np.zeros(n_classes)
    coef[known], intercept[known] = part
    return LinearPart(coef, intercept)


def _through_scalers(
    member: Any, coef: NDArray[np.float64], intercept: NDArray[np.float64]
) -> LinearPart | None:
    """Put coefficients into the units of what comes before a pipeline's scalers."""
    if not isinstance(member, Pipeline):
        return LinearPart(coef, intercept)
    for _, step in reversed(member.steps[:-1]):
        if not isinstance(step, SCALERS):
            return None
        # an affine map of each column: its value at zero, and its slope
        origin = step.transform(np.zeros((1, coef.shape[1])))[0]
        slope = step.transform(np.ones((1, coef.shape[1])))[0] - origin
        intercept = intercept + coef @ origin
        coef = coef * slope
    return LinearPart(coef, intercept)
