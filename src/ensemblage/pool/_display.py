"""Plot of a pool: weights, calibration, disagreement of its members."""

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
    """Weights of a pool's members, its calibration curve, and their pairwise disagreement.

    Parameters
    ----------
    names : list of str
        Names of the members.
    weights : ndarray of shape (n_members,)
        Their weights in the pool.
    calibration : Reliability
        Calibration curve of the pool's out-of-fold predictions.
    disagreement : ndarray of shape (n_members, n_members)
        Share of rows on which two members predict different classes; for regression, the mean
        absolute difference of their predictions, in standard deviations of the target.
    is_classification : bool, default=True
        Whether the pool is a classifier.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The three axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ensemblage.pool.EnsemblageClassifier : The pool.
    ensemblage.pool.EnsemblageRegressor : The pool for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.pool import PoolDisplay
    >>> from ensemblage.evaluation import reliability
    >>> curve = reliability([[0.8, 0.2]] * 4, [0, 0, 0, 1])
    >>> PoolDisplay(["svm"], np.ones(1), curve, np.zeros((1, 1))).names
    ['svm']
    """

    def __init__(
        self,
        names: list[str],
        weights: Doubles,
        calibration: Reliability,
        disagreement: Doubles,
        *,
        is_classification: bool = True,
    ) -> None:
        self.names = names
        self.weights = weights
        self.calibration = calibration
        self.disagreement = disagreement
        self.is_classification = is_classification

    @classmethod
    def from_estimator(cls, pool: Any, *, axes: Any = None) -> PoolDisplay:
        """Plot a fitted pool.

        Parameters
        ----------
        pool : EnsemblageClassifier or EnsemblageRegressor
            A fitted pool.
        axes : sequence of three matplotlib Axes, default=None
            Axes to plot on; a new figure if not given.

        Returns
        -------
        PoolDisplay
            The display, plotted.
        """
        check_is_fitted(pool, "out_of_fold_")
        record = pool.out_of_fold_
        shares = {each.member: each.weight or 0.0 for each in pool.leaderboard_}
        weights = np.array([shares[name] for name in record.names])
        is_classification = hasattr(pool, "classes_")
        if is_classification:
            calibration = reliability(record.pool_outputs, record.y)
            predicted = record.outputs.argmax(axis=2)
            differ = (predicted[:, None] != predicted[None]).mean(axis=2)
        else:
            mean, variance = record.pool_outputs.T
            calibration = interval_reliability(record.y, mean, np.sqrt(variance))
            predicted = record.outputs[..., 0] / record.y.std()
            differ = np.abs(predicted[:, None] - predicted[None]).mean(axis=2)
        display = cls(
            list(record.names), weights, calibration, differ, is_classification=is_classification
        )
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> PoolDisplay:
        """Plot.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, default=None
            Axes to plot on; a new figure if not given.

        Returns
        -------
        PoolDisplay
            The display, with ``axes_`` and ``figure_`` set.
        """
        plt = require("matplotlib.pyplot", "PoolDisplay", extra="plot")
        if axes is None:
            axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")[1]
        bars, curve, image = axes
        positions = np.arange(len(self.names))
        bars.barh(positions, self.weights, color="0.4")
        bars.set_yticks(positions, self.names)
        bars.invert_yaxis()
        bars.set_title("Weight in the pool")
        curve.plot([0, 1], [0, 1], color="0.8")
        curve.plot(self.calibration.confidence, self.calibration.accuracy, "o-", color="0.2")
        low = min(self.calibration.confidence.min(), self.calibration.accuracy.min())
        curve.set(xlim=(low - 0.02, 1.02), ylim=(low - 0.02, 1.02))
        labels = ("nominal coverage of intervals", "observed coverage")
        if self.is_classification:
            labels = ("mean predicted probability", "accuracy")
        curve.set(xlabel=labels[0], ylabel=labels[1])
        curve.set_title(f"Calibration error {self.calibration.error:.3f}")
        image.imshow(self.disagreement, cmap="Greys", vmin=0.0)
        image.set_xticks(positions, self.names, rotation=90)
        image.set_yticks(positions, self.names)
        image.set_title(
            "Share of rows with different predictions" if self.is_classification
            else "Mean absolute difference, in standard deviations"
        )  # fmt: skip
        self.axes_, self.figure_ = np.asarray(axes), bars.figure
        return self
