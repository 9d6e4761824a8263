"""Calibration and members of a pool, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import require, set_module
from ensemblage.evaluation import Reliability, interval_reliability, reliability

Doubles = NDArray[np.float64]


@set_module("ensemblage.pool")
class PoolDisplay:
    """Three pictures of a pool: weights, calibration, and how far members are apart.

    Parameters
    ----------
    names : list of str
        The members.
    weights : ndarray of shape (n_members,)
        Their shares in the pool.
    calibration : Reliability
        Of the pool, on rows that it has not seen.
    disagreement : ndarray of shape (n_members, n_members)
        Share of these rows of which two members predict different classes; of numbers, how far
        apart they are in the mean, in standard deviations of the target.
    of_classes : bool, default=True
        Whether classes are predicted.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The three, side by side.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    ensemblage.pool.EnsemblageClassifier : The pool.
    ensemblage.pool.EnsemblageRegressor : The pool of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.pool import PoolDisplay
    >>> from ensemblage.evaluation import reliability
    >>> sure = reliability([[0.8, 0.2]] * 4, [0, 0, 0, 1])
    >>> PoolDisplay(["svm"], np.ones(1), sure, np.zeros((1, 1))).names
    ['svm']
    """

    def __init__(
        self,
        names: list[str],
        weights: Doubles,
        calibration: Reliability,
        disagreement: Doubles,
        *,
        of_classes: bool = True,
    ) -> None:
        self.names = names
        self.weights = weights
        self.calibration = calibration
        self.disagreement = disagreement
        self.of_classes = of_classes

    @classmethod
    def from_estimator(cls, pool: Any, *, axes: Any = None) -> PoolDisplay:
        """Draw a fitted pool.

        Parameters
        ----------
        pool : EnsemblageClassifier or EnsemblageRegressor
            Fitted.
        axes : sequence of three matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        PoolDisplay
            Drawn.
        """
        check_is_fitted(pool, "held_out_")
        record = pool.held_out_
        shares = {each.member: each.weight or 0.0 for each in pool.leaderboard_}
        weights = np.array([shares[name] for name in record.names])
        of_classes = hasattr(pool, "classes_")
        calibration, differ = (_of_classes if of_classes else _of_numbers)(record)
        display = cls(list(record.names), weights, calibration, differ, of_classes=of_classes)
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> PoolDisplay:
        """Draw.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        PoolDisplay
            Itself, with ``axes_`` and ``figure_`` set.
        """
        plt = require("matplotlib.pyplot", "PoolDisplay", extra="plot")
        if axes is None:
            axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")[1]
        bars, curve, image = axes
        places = np.arange(len(self.names))
        bars.barh(places, self.weights, color="0.4")
        bars.set_yticks(places, self.names)
        bars.invert_yaxis()
        bars.set_title("Weight in the pool")
        curve.plot([0, 1], [0, 1], color="0.8")
        curve.plot(self.calibration.confidence, self.calibration.accuracy, "o-", color="0.2")
        low = min(self.calibration.confidence.min(), self.calibration.accuracy.min())
        curve.set(xlim=(low - 0.02, 1.02), ylim=(low - 0.02, 1.02))
        sure, right = ("how sure the pool is", "how often it is right") if self.of_classes else (
            "share of rows that intervals should hold", "share that they hold"
        )  # fmt: skip
        curve.set(xlabel=sure, ylabel=right)
        curve.set_title(f"Calibration error {self.calibration.error:.3f}")
        image.imshow(self.disagreement, cmap="Greys", vmin=0.0)
        image.set_xticks(places, self.names, rotation=90)
        image.set_yticks(places, self.names)
        image.set_title(
            "Share of rows on which two disagree" if self.of_classes
            else "Mean distance, in standard deviations"
        )  # fmt: skip
        self.axes_, self.figure_ = np.asarray(axes), bars.figure
        return self


def _of_classes(record: Any) -> tuple[Reliability, Doubles]:
    """Tell how sure a pool may be, and on how many rows two members say different classes."""
    said = record.outputs.argmax(axis=2)
    return reliability(record.pooled, record.y), (said[:, None] != said[None]).mean(axis=2)


def _of_numbers(record: Any) -> tuple[Reliability, Doubles]:
    """Tell whether intervals hold, and how far apart two members' numbers are."""
    mean, variance = record.pooled.T
    said = record.outputs[..., 0] / record.y.std()
    apart = np.abs(said[:, None] - said[None]).mean(axis=2)
    return interval_reliability(record.y, mean, np.sqrt(variance)), apart
