"""Picture of a pool: who counts, whether its probabilities hold, and how members differ."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from ensemblage.evaluation._number_measures import SMALLEST, alike_columns
from ensemblage.messages import require

Array = NDArray[np.float64]

N_BINS = 10


class Reliability(NamedTuple):
    """Means of bins of rows with about the same confidence.

    Parameters
    ----------
    confidence : ndarray of shape (n_bins,)
        Mean probability of the class that is predicted.
    accuracy : ndarray of shape (n_bins,)
        How often it is the true one.
    share : ndarray of shape (n_bins,)
        Share of the rows.
    """

    confidence: Array
    accuracy: Array
    share: Array

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of confidence and accuracy."""
        return float(self.share @ np.abs(self.confidence - self.accuracy))


def reliability(probabilities: Any, y: Any, *, n_bins: int = N_BINS) -> Reliability:
    """Compare how sure a classifier is with how often it is right.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Its probabilities.
    y : array-like of shape (n_samples,)
        Class numbers, 0 to n_classes - 1.
    n_bins : int, default=10
        Bins of equally many rows, at most; rows that are equally sure stay together.

    Returns
    -------
    Reliability
        A mean per bin, the least sure first.

    Examples
    --------
    >>> from ensemblage.evaluation import reliability
    >>> reliability([[0.8, 0.2]] * 4, [0, 0, 0, 1]).accuracy
    array([0.75])
    """
    probabilities, numbers = _probabilities_and_numbers(probabilities, y)
    if n_bins < 1:
        raise ValueError(f"n_bins={n_bins} must be at least 1.")
    sure = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == numbers
    edges = np.unique(np.quantile(sure, np.linspace(0, 1, n_bins + 1)[1:-1]))
    bins = np.searchsorted(edges, sure)
    counts = np.bincount(bins)
    filled = counts > 0
    confidence, accuracy = (
        np.bincount(bins, values)[filled] / counts[filled] for values in (sure, right)
    )
    return Reliability(confidence, accuracy, counts[filled] / len(sure))


def _probabilities_and_numbers(probabilities: Any, y: Any) -> tuple[Array, NDArray[Any]]:
    found, numbers = np.asarray(probabilities, dtype=float), np.asarray(y)
    if found.ndim != 2 or found.size == 0 or numbers.shape != found.shape[:1]:
        raise ValueError(
            "Probabilities of each row and class are needed, and a class number per row, got "
            f"arrays of shapes {found.shape} and {numbers.shape}."
        )
    if not np.isfinite(found).all():
        raise ValueError("Probabilities must be finite: leave the other rows out.")
    if not np.isin(numbers, np.arange(found.shape[1])).all():
        raise ValueError(
            f"y must hold class numbers from 0 to {found.shape[1] - 1}, the places of its classes "
            "among the columns; np.searchsorted(model.classes_, y) gives them."
        )
    return found, numbers


def interval_reliability(y: Any, predicted: Any, spread: Any) -> Reliability:
    """Compare how many numbers normal intervals should hold with how many they do.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The numbers.
    predicted : array-like of shape (n_samples,)
        Their predicted means.
    spread : array-like of shape (n_samples,)
        Their predicted standard deviations; what is below 1e-12 counts as that.

    Returns
    -------
    Reliability
        For intervals of 5 % to 95 %, in ``confidence``, how many numbers they hold, in
        ``accuracy``.

    Examples
    --------
    >>> from ensemblage.evaluation import interval_reliability
    >>> found = interval_reliability([0.0, 2.0], [0.0, 0.0], [1.0, 1.0])
    >>> found.accuracy[[0, -1]]
    array([0.5, 0.5])
    """
    nominal = np.arange(1, 20) / 20
    numbers, means, spreads = alike_columns(y, predicted, spread)
    apart = np.abs(numbers - means) / np.maximum(spreads, SMALLEST)
    held = (apart <= ndtri(0.5 + nominal / 2)[:, None]).mean(axis=1)
    return Reliability(nominal, held, np.full(len(nominal), 1 / len(nominal)))


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
    >>> from ensemblage.evaluation import PoolDisplay, reliability
    >>> sure = reliability([[0.8, 0.2]] * 4, [0, 0, 0, 1])
    >>> PoolDisplay(["svm"], np.ones(1), sure, np.zeros((1, 1))).names
    ['svm']
    """

    def __init__(
        self,
        names: list[str],
        weights: Array,
        calibration: Reliability,
        disagreement: Array,
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


def _of_classes(record: Any) -> tuple[Reliability, Array]:
    """Tell how sure a pool may be, and on how many rows two members say different classes."""
    said = record.outputs.argmax(axis=2)
    return reliability(record.pooled, record.y), (said[:, None] != said[None]).mean(axis=2)


def _of_numbers(record: Any) -> tuple[Reliability, Array]:
    """Tell whether intervals hold, and how far apart two members' numbers are."""
    mean, variance = record.pooled.T
    said = record.outputs[..., 0] / record.y.std()
    apart = np.abs(said[:, None] - said[None]).mean(axis=2)
    return interval_reliability(record.y, mean, np.sqrt(variance)), apart
