"""Picture of which features are chosen together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ensemblage.evaluation._feature_labels import feature_labels
from ensemblage.messages import require


class CoSelectionDisplay:
    """The co-selection matrix as an image; darker is more often together.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features)
        Shares of members (eq. 12), or marks (eq. 13).
    feature_names : sequence of str, default=None
        Names; numbers from 0 if not given.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        Its figure.
    im_ : matplotlib AxesImage
        The image.

    See Also
    --------
    ensemblage.subspace.co_selection : The matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.evaluation import CoSelectionDisplay
    >>> display = CoSelectionDisplay(np.eye(2), feature_names=["height", "weight"])
    >>> display.feature_names
    ['height', 'weight']
    """

    def __init__(self, matrix: Any, *, feature_names: Sequence[str] | None = None) -> None:
        self.matrix = np.asarray(matrix, dtype=float)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(f"matrix has shape {self.matrix.shape}; expected a square.")
        self.feature_names = feature_labels(feature_names, len(self.matrix))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Sequence[str] | None = None, ax: Any = None
    ) -> CoSelectionDisplay:
        """Draw a fitted estimator's co-selection matrix.

        Parameters
        ----------
        estimator : JointSubspaceClassifier or JointSubspaceSelector
            Fitted.
        feature_names : sequence of str, default=None
            Names; those seen in ``fit`` if not given.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        CoSelectionDisplay
            Drawn.
        """
        check_is_fitted(estimator, "co_selection_")
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        return cls(estimator.co_selection_, feature_names=feature_names).plot(ax=ax)

    def plot(self, *, ax: Any = None, cmap: str = "Greys") -> CoSelectionDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.
        cmap : str, default="Greys"
            Colours.

        Returns
        -------
        CoSelectionDisplay
            Itself, with ``ax_``, ``figure_`` and ``im_`` set.
        """
        plt = require("matplotlib.pyplot", "CoSelectionDisplay", extra="plot")
        ax = plt.subplots()[1] if ax is None else ax
        self.im_ = ax.imshow(self.matrix, cmap=cmap, vmin=0.0, vmax=1.0)
        places = np.arange(len(self.matrix))
        ax.set_xticks(places, self.feature_names, rotation=90)
        ax.set_yticks(places, self.feature_names)
        ax.set_title("Share of members that use both features")
        ax.figure.colorbar(self.im_, ax=ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
