"""Co-selection of features: matrix, scores and display."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import require, set_module, with_shared
from ensemblage.subspace._objectives import Rows

Doubles = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

DISPLAY_DOCS = """
feature_names : sequence of str, default=None
    Names of the features; by default indices from 0.
ax : matplotlib Axes, default=None
    Axes to plot on; by default a new figure.
ax_ : matplotlib Axes
    Axes with the plot.
figure_ : matplotlib Figure
    Figure that contains the axes.
"""


def co_selection(
    supports: Any,
    *,
    binary: bool = False,
    cross_threshold: float | None = None,
    individual_threshold: float | None = None,
    top_pairs: int | None = None,
    top_features: int | None = None,
) -> NDArray[Any]:
    r"""Fraction of the members that use both features (eq. 12), or the most frequent ones (eq. 13).

    Parameters
    ----------
    supports : array-like of shape (n_members, n_features)
        Masks.
    binary : bool, default=False
        Return a boolean matrix of the most frequent features (diagonal) and pairs (off-diagonal),
        as defined by the other parameters.
    cross_threshold : float, default=None
        Pairs above this fraction are marked; the paper's :math:`T_{cross}`. One half if neither
        this nor ``top_pairs`` is given.
    individual_threshold : float, default=None
        Features above this fraction are marked; the paper's :math:`T_{indiv}`. One half if
        neither this nor ``top_features`` is given.
    top_pairs : int, default=None
        Instead of ``cross_threshold``: number of pairs to mark.
    top_features : int, default=None
        Instead of ``individual_threshold``: number of features to mark.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        :math:`F_{pq} = \frac{1}{K} \sum_k \lambda_{kp} \lambda_{kq}`; the diagonal is the
        fraction of members that use each feature. With ``binary``, of bool; ties with the last one
        marked are marked too, and pairs or features that never occur are not marked.

    Examples
    --------
    >>> from ensemblage.subspace import co_selection
    >>> co_selection([[1, 1, 0], [1, 0, 0]])
    array([[1. , 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    >>> co_selection([[1, 1, 0], [1, 1, 1]], binary=True, top_pairs=1, top_features=2).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 0]])
    """
    used = np.asarray(supports, dtype=float)
    matrix = np.asarray(used.T @ used / len(used))
    if not binary:
        return matrix
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    cross = _threshold("cross", "pairs", cross_threshold, top_pairs, pairs)
    individual = _threshold(
        "individual", "features", individual_threshold, top_features, np.diag(matrix)
    )  # fmt: skip
    marked: Mask = matrix > cross
    np.fill_diagonal(marked, np.diag(matrix) > individual)
    return marked


def _threshold(
    kind: str, what: str, threshold: float | None, top: int | None, values: Doubles
) -> float:
    """Threshold that marks the top ones and their ties; one half by default."""
    if threshold is not None and top is not None:
        raise ValueError(
            f"{kind}_threshold={threshold!r} and top_{what}={top!r} were both given; use only one."
        )
    if top is None:
        return 0.5 if threshold is None else float(threshold)
    if not 0 <= top <= values.size or int(top) != top:
        raise ValueError(f"top_{what}={top!r}; expected an integer from 0 to {values.size}.")
    if top == 0:
        return np.inf
    last = np.sort(values)[::-1][int(top) - 1]
    return max(0.0, float(np.nextafter(last, -np.inf)))


def coefficient_sizes(coefs: Floats) -> Doubles:
    """Size of each member's use of each feature, (n_members, n_features).

    It is the norm of the coefficients, (n_members, n_classes, n_features), centred over classes, as
    the softmax is invariant to their mean. For a numeric target there is no class axis.
    """
    if coefs.ndim == 2:
        return np.asarray(np.abs(coefs), dtype=float)
    centred = coefs - coefs.mean(axis=1, keepdims=True)
    return np.asarray(np.sqrt((centred**2).sum(axis=1, dtype=float)))


def contribution_sizes(coefs: Floats, rows: Rows, owners: tuple[Indices, Indices]) -> Doubles:
    """Compute the deviation of each feature's contribution, (n_members, n_features).

    It is the standard deviation over the rows. The basis columns of a feature are summed first, as
    they are correlated and their single coefficients are not informative. With a linear basis it is
    the coefficient's size.
    """
    centred = coefs[:, None] if coefs.ndim == 2 else coefs - coefs.mean(axis=1, keepdims=True)
    first, second = owners
    sizes = []
    for d in range(int(first.max()) + 1):
        own = np.flatnonzero((first == d) | (second == d))
        added = (centred[..., own] @ rows.features[own]).astype(float)
        mean = added @ rows.weights
        squares = (added - mean[..., None]) ** 2 @ rows.weights
        sizes.append(np.sqrt(squares.sum(axis=1)))
    return np.column_stack(sizes)


def power_mean_scores(sizes: Doubles, supports: Mask, power: float = 8.0) -> Doubles:
    r"""Score features by how often and how strongly members use them.

    :math:`s_d = \left(\frac{1}{K} \sum_k \lambda_{kd} |\theta_{kd}|^r\right)^{1/r}`, which is
    frequency to the power of :math:`1/r` times the power mean of the sizes :math:`|\theta_{kd}|`
    where the feature is used. At :math:`r = 1` it is frequency times mean size; a larger exponent
    gives more weight to the members with the largest coefficients.
    """
    largest = sizes.max(initial=np.finfo(float).tiny)
    used = np.where(supports, sizes / largest, 0.0) ** power
    return np.asarray(largest * used.mean(axis=0) ** (1.0 / power))


def group_sizes(sizes: Doubles, groups: Indices) -> Doubles:
    """Sum of the sizes over each feature's group, (n_members, n_features)."""
    totals = np.zeros((int(groups.max()) + 1, len(sizes)))
    np.add.at(totals, groups, sizes.T)
    return np.asarray(totals[groups].T)


def feature_labels(feature_names: Sequence[str] | None, n_features: int) -> list[str]:
    """Validate the names, one per feature; by default indices from 0."""
    if feature_names is None:
        return [str(d) for d in range(n_features)]
    if len(feature_names) != n_features:
        raise ValueError(
            f"feature_names has {len(feature_names)} entries for {n_features} features; expected "
            "one name per feature."
        )
    return list(feature_names)


@set_module("ensemblage.subspace")
@with_shared(DISPLAY_DOCS)
class CoSelectionDisplay:
    """Co-selection matrix as a heatmap; darker is more frequent.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features)
        Fractions of members (eq. 12), or a boolean matrix (eq. 13).
    {feature_names}

    Attributes
    ----------
    {ax_, figure_}
    im_ : matplotlib AxesImage
        The heatmap.

    See Also
    --------
    ensemblage.subspace.co_selection : Computes the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from ensemblage.subspace import CoSelectionDisplay
    >>> display = CoSelectionDisplay(np.eye(2), feature_names=["height", "weight"])
    >>> display.feature_names
    ['height', 'weight']
    """

    def __init__(self, matrix: Any, *, feature_names: Sequence[str] | None = None) -> None:
        self.matrix = np.asarray(matrix, dtype=float)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(f"matrix has shape {self.matrix.shape}; expected a square matrix.")
        self.feature_names = feature_labels(feature_names, len(self.matrix))

    @classmethod
    @with_shared(DISPLAY_DOCS)
    def from_estimator(
        cls, estimator: Any, *, feature_names: Sequence[str] | None = None, ax: Any = None
    ) -> CoSelectionDisplay:
        """Plot the co-selection matrix of a fitted estimator.

        Parameters
        ----------
        estimator : JointSubspaceClassifier or JointSubspaceSelector
            Fitted estimator.
        feature_names : sequence of str, default=None
            Names of the features; by default those seen in ``fit``.
        {ax}

        Returns
        -------
        CoSelectionDisplay
            The display with the plot.
        """
        check_is_fitted(estimator, "co_selection_")
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        return cls(estimator.co_selection_, feature_names=feature_names).plot(ax=ax)

    @with_shared(DISPLAY_DOCS)
    def plot(self, *, ax: Any = None, cmap: str = "Greys") -> CoSelectionDisplay:
        """Plot the matrix.

        Parameters
        ----------
        {ax}
        cmap : str, default="Greys"
            Matplotlib colormap.

        Returns
        -------
        CoSelectionDisplay
            The display, with ``ax_``, ``figure_`` and ``im_`` set.
        """
        plt = require("matplotlib.pyplot", "CoSelectionDisplay", extra="plot")
        ax = plt.subplots()[1] if ax is None else ax
        self.im_ = ax.imshow(self.matrix, cmap=cmap, vmin=0.0, vmax=1.0)
        places = np.arange(len(self.matrix))
        ax.set_xticks(places, self.feature_names, rotation=90)
        ax.set_yticks(places, self.feature_names)
        ax.set_title("Fraction of members that use both features")
        ax.figure.colorbar(self.im_, ax=ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
