"""Forest plot of the sources' errors and their calibration curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from ensemblage._core import require, set_module
from ensemblage.sources._audit import AuditedSource, SourceAudit, source_audit

DARK = "0.25"
LIGHT = "0.7"
WARNING = "tab:red"
ROW_INCHES = 0.28
"""Height of one source in the forest plot."""
NAME_POSITIONS = (0.3, 0.6, 0.45, 0.75)
"""Probabilities at which the curves furthest from the diagonal are labelled."""


@set_module("ensemblage.sources")
class SourceAuditDisplay:
    """Forest plot of the sources' errors, and their calibration curves.

    Parameters
    ----------
    audit : SourceAudit
        Result of :func:`source_audit`.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Forest plot and calibration curves.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    source_audit : Validation at known sources and at new ones.

    Notes
    -----
    Left: leave-source-out error (circle), its shrunken estimate with a 95 % confidence interval
    (square, line) and the cross-validation error (tick). Vertical lines are the expected error at
    a new source and its upper 90 % prediction limit. Right: calibration curve of each source by
    its leave-source-out calibration slope and intercept; on the diagonal the model is calibrated.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ensemblage.datasets import make_multi_source
    >>> from ensemblage.sources import SourceAuditDisplay, source_audit
    >>> X, y, sources = make_multi_source(3, n_samples=300, random_state=0, return_sources=True)
    >>> audit = source_audit(LogisticRegression(), X, y, sources, random_state=0)
    >>> SourceAuditDisplay(audit).plot().axes_.shape
    (2,)
    """

    def __init__(self, audit: SourceAudit) -> None:
        self.audit = audit

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, sources: Any, *, axes: Any = None, **options: Any
    ) -> SourceAuditDisplay:
        """Audit a classifier and draw the result.

        Parameters
        ----------
        estimator : classifier
            Unfitted, with ``predict_proba``.
        X : array-like or dataframe of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sources : array-like of shape (n_samples,)
            Source of each row.
        axes : sequence of two matplotlib Axes, default=None
            Where to draw; a new figure if not given.
        **options : dict
            Passed to :func:`source_audit`.

        Returns
        -------
        SourceAuditDisplay
            With ``axes_`` and ``figure_`` set.
        """
        return cls(source_audit(estimator, X, y, sources, **options)).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> SourceAuditDisplay:
        """Draw both plots.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        SourceAuditDisplay
            Itself, with ``axes_`` and ``figure_`` set.
        """
        plt = require("matplotlib.pyplot", "SourceAuditDisplay", extra="plot")
        if axes is None:
            height = max(4.0, 1.0 + ROW_INCHES * len(self.audit.sources))
            axes = plt.subplots(1, 2, figsize=(11, height), layout="constrained")[1]
        draw_source_errors(self.audit, axes[0])
        draw_calibration_curves(self.audit, axes[1])
        self.axes_, self.figure_ = np.asarray(axes), axes[0].figure
        return self


def draw_source_errors(audit: SourceAudit, ax: Any) -> None:
    """Draw the errors of all sources with confidence intervals, the largest on top."""
    shown = sorted(audit.sources, key=lambda each: each.leave_source_out_error)
    ax.axvline(audit.leave_source_out_error, color=LIGHT, zorder=0)
    if audit.prediction_limit < 1:
        ax.axvline(audit.prediction_limit, color=LIGHT, linestyle="--", zorder=0)
    for place, each in enumerate(shown):
        colour = _colour(each)
        ax.plot(
            [each.shrunken_error_ci_low, each.shrunken_error_ci_high],
            [place, place],
            color=colour,
            zorder=1,
        )
        ax.plot(each.shrunken_error, place, "s", color=colour, markersize=5)
        ax.plot(
            each.leave_source_out_error, place, "o", markeredgecolor=colour, markerfacecolor="none"
        )
        ax.plot(each.cv_error, place, "|", color=DARK, markersize=10)
    ax.set_yticks(range(len(shown)), [each.name for each in shown])
    ax.set(xlabel="leave-source-out error", xlim=(0, None))
    ax.set_title(f"New source: {audit.leave_source_out_error:.3f}; CV: {audit.cv_error:.3f}")


def draw_calibration_curves(audit: SourceAudit, ax: Any, ink: str = DARK) -> None:
    """Draw the calibration curve of each source.

    Those furthest from the diagonal are named in the corners, above or below all curves.
    """
    predicted = np.linspace(0.01, 0.99, 99)
    ax.plot([0, 1], [0, 1], color=LIGHT, zorder=0)
    for each in audit.sources:
        ax.plot(predicted, calibrated_rate(each, predicted), color=_colour(each, ink), linewidth=1)
    furthest = sorted(audit.sources, key=lambda each: -abs(each.calibration_intercept))
    named = list(zip(furthest, NAME_POSITIONS, strict=False))
    above = sorted(
        (pair for pair in named if pair[0].calibration_intercept >= 0), key=lambda pair: -pair[1]
    )
    below = sorted(
        (pair for pair in named if pair[0].calibration_intercept < 0), key=lambda pair: pair[1]
    )
    for place, side, first, step, pairs in (
        (0.04, "left", 0.93, -0.08, above), (0.96, "right", 0.04, 0.08, below)
    ):  # fmt: skip
        for k, (each, position) in enumerate(pairs):
            colour = _colour(each, ink)
            ax.annotate(
                each.name, (position, calibrated_rate(each, position)),
                (place, first + k * step), ha=side, fontsize="small", color=colour,
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5},
            )  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"predicted risk of {audit.reference_class!s}")
    ax.set(ylabel="expected rate", title="Leave-source-out calibration")


def calibrated_rate(source: AuditedSource, predicted: Any) -> Any:
    """Give the expected rate of the class in a source at a predicted probability (two classes)."""
    return expit(source.calibration_slope * logit(predicted) + source.calibration_intercept)


def _colour(source: AuditedSource, ink: str = DARK) -> str:
    return WARNING if source.inverted else ink
