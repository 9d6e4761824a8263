"""Picture of how often features are selected on halves of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ensemblage.evaluation._feature_labels import feature_labels
from ensemblage.messages import require


class StabilityDisplay:
    """Selection frequencies as bars, the most frequent on top, and the threshold as a line.

    Parameters
    ----------
    frequencies : array-like of shape (n_features,)
        Share of the fits in which each feature is selected.
    threshold : float
        Share from which a feature is selected.
    feature_names : sequence of str, default=None
        Names; numbers from 0 if not given.
    error_bound : float, default=None
        Bound on the expected number of wrongly selected features, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        Its figure.
    bars_ : matplotlib BarContainer
        The bars.

    See Also
    --------
    ensemblage.subspace.StabilitySelector : Counts them.
    CoSelectionDisplay : Which features are selected together.

    Examples
    --------
    >>> from ensemblage.evaluation import StabilityDisplay
    >>> display = StabilityDisplay([0.2, 0.9], 0.75, feature_names=["height", "weight"])
    >>> display.selected()
    ['weight']
    """

    def __init__(
        self,
        frequencies: Any,
        threshold: float,
        *,
        feature_names: Sequence[str] | None = None,
        error_bound: float | None = None,
    ) -> None:
        self.frequencies = np.asarray(frequencies, dtype=float)
        if self.frequencies.ndim != 1:
            raise ValueError(
                f"frequencies has shape {self.frequencies.shape}; expected one share per feature."
            )
        self.threshold = float(threshold)
        self.feature_names = feature_labels(feature_names, len(self.frequencies))
        self.error_bound = error_bound

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        top: int | None = 30,
        ax: Any = None,
    ) -> StabilityDisplay:
        """Draw a fitted selector's frequencies.

        Parameters
        ----------
        estimator : StabilitySelector
            Fitted.
        feature_names : sequence of str, default=None
            Names; those seen in ``fit`` if not given.
        top : int, default=30
            Draw so many features at most; None draws all.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        StabilityDisplay
            Drawn.
        """
        check_is_fitted(estimator, "frequencies_")
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        display = cls(
            estimator.frequencies_, estimator.threshold, feature_names=feature_names,
            error_bound=estimator.error_bound_,
        )  # fmt: skip
        return display.plot(top=top, ax=ax)

    def selected(self) -> list[str]:
        """Name the features at or above the threshold.

        Returns
        -------
        list of str
            Most frequent first; of equals the one that was given first.
        """
        return [self.feature_names[d] for d in self._order() if self._stays(d)]

    def _order(self) -> list[int]:
        return [int(d) for d in np.argsort(-self.frequencies, kind="stable")]

    def _stays(self, d: int) -> bool:
        return bool(self.frequencies[d] >= self.threshold - 1e-9)

    def plot(self, *, top: int | None = None, ax: Any = None) -> StabilityDisplay:
        """Draw.

        Parameters
        ----------
        top : int, default=None
            Draw so many features at most.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        StabilityDisplay
            Itself, with ``ax_``, ``figure_`` and ``bars_`` set.
        """
        plt = require("matplotlib.pyplot", "StabilityDisplay", extra="plot")
        order = self._order()[:top]
        ax = plt.subplots(figsize=(6.4, 1.2 + 0.25 * len(order)))[1] if ax is None else ax
        places = np.arange(len(order))
        colors = ["C0" if self._stays(d) else "0.75" for d in order]
        self.bars_ = ax.barh(places, self.frequencies[order], color=colors)
        ax.axvline(self.threshold, color="C3", linestyle="--")
        ax.set_yticks(places, [self.feature_names[d] for d in order])
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set_xlabel("Share of the fits that select the feature")
        if self.error_bound is not None:
            ax.set_title(f"At most {self.error_bound:.2g} expected to be selected wrongly")
        self.ax_, self.figure_ = ax, ax.figure
        return self
