"""Plot of strata and their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ensemblage._core import WARM, encoded_rows, final_step, require, rows_at_final_step, set_module

Doubles = NDArray[np.float64]


NO_STRATUM = -1
"""Index of a row that is in no stratum."""
LABEL_SIZE = 0.035
"""Diameter of a stratum's label, as a share of the plot's width."""


def project(rows: Doubles, names: NDArray[np.str_] | None) -> tuple[Doubles, tuple[str, str]]:
    """Coordinates of rows, (n_samples, 2): two columns, or the first two principal components."""
    if rows.shape[1] == 2:
        first, second = ("column 0", "column 1") if names is None else map(str, names)
        return rows, (first, second)
    pca = PCA(2, svd_solver="full").fit(rows)
    first, second = (
        f"component {k + 1} ({share:.0%} of the variance)"
        for k, share in enumerate(np.nan_to_num(pca.explained_variance_ratio_))
    )
    return pca.transform(rows), (first, second)


def strongest_stratum(memberships: Doubles, affinity: Doubles | None) -> NDArray[np.intp]:
    """Stratum of the highest membership of each row, or ``NO_STRATUM``; ties by affinity."""
    best = memberships.max(axis=1, keepdims=True)
    leading = memberships >= best - 1e-9
    closeness = np.zeros_like(memberships) if affinity is None else affinity
    winners = np.where(leading, closeness, -np.inf).argmax(axis=1)
    return np.where(best[:, 0] > 0, winners, NO_STRATUM)


def outline_strata(points: Doubles, memberships: Doubles) -> tuple[Doubles, Doubles]:
    """Means, (n_strata, 2), and covariances, (n_strata, 2, 2), weighted by membership."""
    sizes = np.maximum(memberships.sum(axis=0), np.finfo(float).tiny)
    centres = memberships.T @ points / sizes[:, None]
    covariances = np.empty((len(sizes), 2, 2))
    for j, centre in enumerate(centres):
        offsets = points - centre
        covariances[j] = (memberships[:, j, None] * offsets).T @ offsets / sizes[j]
    return centres, covariances


def separate_labels(positions: Doubles, min_distance: float) -> Doubles:
    """Move positions that are closer than ``min_distance``, in fifty small steps."""
    positions = positions.copy()
    # equal positions need different directions
    angles = 2 * np.pi * np.arange(len(positions)) / max(len(positions), 1)
    positions += 1e-3 * min_distance * np.column_stack([np.cos(angles), np.sin(angles)])
    for _ in range(50):
        between = positions[:, None] - positions
        distance = np.linalg.norm(between, axis=2) + np.eye(len(positions))
        overlap = np.maximum(min_distance - distance, 0) / distance
        positions += 0.5 * (overlap[:, :, None] * between).sum(axis=1)
    return positions


def _unfold(model: Any, X: Any) -> tuple[Any, Any, Any]:
    """Stratifier of a model, the rows as passed to it, and their column names."""
    last = final_step(model)
    rows = encoded_rows(last, rows_at_final_step(model, X))
    names = getattr(last, "feature_names_in_", None)
    if hasattr(last, "encoder_"):
        names = last.encoder_.get_feature_names_out()
    if hasattr(last, "stratifier_"):
        inner = last.stratifier_
        if not hasattr(inner, "feature_names_in_"):  # fitted on an array
            rows = np.asarray(rows)
        stratifier, rows, own_names = _unfold(inner, rows)
        prepared = final_step(inner) is not inner
        return stratifier, rows, own_names if prepared or own_names is not None else names
    if not (hasattr(last, "transform") and hasattr(last, "log_affinity")):
        raise TypeError(
            f"model={type(last).__name__} has no strata. Use a fitted stratifier such as HISS, a "
            "StrataEnsembleClassifier, or a pipeline that ends in one."
        )
    return last, rows, names


def _as_floats(X: Any) -> Doubles:
    try:
        rows = np.asarray(X).astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            "X has categorical columns, which cannot be plotted. Put an encoder before the "
            "stratifier, in a pipeline."
        ) from None
    if rows.shape[1] < 2:
        raise ValueError(f"The plot needs at least two columns; the strata have {rows.shape[1]}.")
    return rows


def _pyplot() -> Any:
    return require("matplotlib.pyplot", "StrataDisplay", extra="plot")


@set_module("ensemblage.strata")
class StrataDisplay:
    """Plot of strata: the rows, and an ellipse for each stratum.

    Create it with :meth:`from_estimator`. With more than two columns it shows the first two
    principal components.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 2)
        Coordinates of the rows.
    memberships : ndarray of shape (n_samples, n_strata)
        Their memberships.
    affinity : ndarray of shape (n_samples, n_strata), default=None
        Log affinities, which decide between strata of equal membership.
    classes : ndarray of shape (n_samples,), default=None
        Their classes.
    axis_names : tuple of (str, str), default=("", "")
        Axis labels.
    stratum_names : list of str, default=None
        Names of the strata; by default their indices.

    Attributes
    ----------
    centres : ndarray of shape (n_strata, 2)
        Mean of each stratum's points, weighted by membership.
    covariances : ndarray of shape (n_strata, 2, 2)
        Covariance of each stratum's points, weighted by membership.
    sizes : ndarray of shape (n_strata,)
        Sum of each stratum's memberships over the rows shown.
    strongest : ndarray of shape (n_samples,)
        Stratum of the highest membership of each row; -1 for a row in none.
    ax_ : matplotlib Axes
        After :meth:`plot`.
    figure_ : matplotlib Figure
        After :meth:`plot`.

    See Also
    --------
    ensemblage.strata.HISS : Strata to draw.

    Notes
    -----
    Ellipses follow from the memberships of the given rows, not from the stratifier's Gaussians,
    so that any stratifier can be plotted. They span ``n_std`` standard deviations. Strata that are
    separate in many dimensions may overlap in the plot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.strata import StrataDisplay
    >>> from ensemblage.strata import HISS
    >>> X = load_iris().data
    >>> strata = HISS(n_strata=3, stratum_size=0.3, random_state=0).fit(X)
    >>> display = StrataDisplay.from_estimator(strata, X)  # doctest: +SKIP
    """

    def __init__(
        self,
        points: Doubles,
        memberships: Doubles,
        *,
        affinity: Doubles | None = None,
        classes: NDArray[Any] | None = None,
        axis_names: tuple[str, str] = ("", ""),
        stratum_names: Any = None,
    ) -> None:
        self.points = points
        self.memberships = memberships
        self.classes = classes
        self.axis_names = axis_names
        self.stratum_names = stratum_names
        self.sizes = memberships.sum(axis=0)
        self.centres, self.covariances = outline_strata(points, memberships)
        self.strongest = strongest_stratum(memberships, affinity)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        colour_by: str | None = None,
        n_std: float = 1.5,
        ax: Any = None,
    ) -> StrataDisplay:
        """Draw the strata of a fitted model.

        Parameters
        ----------
        model : stratifier, StrataEnsembleClassifier or Pipeline
            Fitted; a pipeline ends in one of the others.
        X : array-like of shape (n_samples, n_features)
            Rows to show.
        y : array-like of shape (n_samples,), default=None
            Their classes.
        colour_by : {"stratum", "class"}, default=None
            Meaning of the colours; by default the class if ``y`` is given.
        n_std : float, default=1.5
            Half the length of an ellipse's axis, in standard deviations.
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure.

        Returns
        -------
        StrataDisplay
            The drawn display.
        """
        _pyplot()
        return cls.of_model(model, X, y).plot(colour_by=colour_by, n_std=n_std, ax=ax)

    @classmethod
    def of_model(cls, model: Any, X: Any, y: Any = None) -> StrataDisplay:
        """Compute the display of a fitted model without drawing it.

        Parameters
        ----------
        model : stratifier, StrataEnsembleClassifier or Pipeline
            Fitted; a pipeline ends in one of the others.
        X : array-like of shape (n_samples, n_features)
            Rows to show.
        y : array-like of shape (n_samples,), default=None
            Their classes.

        Returns
        -------
        StrataDisplay
            Drawn by :meth:`plot`.
        """
        check_is_fitted(model)
        stratifier, rows, names = _unfold(model, X)
        memberships = np.asarray(stratifier.transform(rows), dtype=float)
        affinity = np.asarray(stratifier.log_affinity(rows), dtype=float)
        if affinity.shape[1] > 1 and not np.ptp(affinity, axis=1).any():
            raise ValueError(
                f"{type(stratifier).__name__} has the same affinity to all strata in all rows, so "
                "its strata have no location to plot."
            )
        if y is not None:
            y = column_or_1d(y)
            check_consistent_length(X, y)
        points, axis_names = project(_as_floats(rows), names)
        return cls(
            points, memberships, affinity=affinity, classes=y, axis_names=axis_names,
            stratum_names=getattr(stratifier, "stratum_names_", None),
        )  # fmt: skip

    def plot(
        self,
        *,
        colour_by: str | None = None,
        n_std: float = 1.5,
        strata: Any = None,
        mark: int | None = None,
        ax: Any = None,
    ) -> StrataDisplay:
        """Draw the plot.

        Parameters
        ----------
        colour_by : {"stratum", "class"}, default=None
            Meaning of the colours; by default the class if classes are known.
        n_std : float, default=1.5
            Half the length of an ellipse's axis, in standard deviations.
        strata : sequence of int, default=None
            Strata to outline; by default all.
        mark : int, default=None
            Index of a row to highlight.
        ax : matplotlib Axes, default=None
            Axes to draw on; by default a new figure.

        Returns
        -------
        StrataDisplay
            Itself.
        """
        plt = _pyplot()
        colour_by = self._colour_by(colour_by)
        if ax is None:
            _, ax = plt.subplots(figsize=(8.5, 6), layout="constrained")
        if colour_by == "class":
            self._draw_classes(ax, plt)
        else:
            self._draw_strongest(ax, plt)
        shown = np.flatnonzero(self.sizes > 0)
        if strata is not None:
            shown = shown[np.isin(shown, strata)]
        self._draw_outlines(ax, shown, n_std, coloured=colour_by == "stratum")
        if mark is not None:
            ax.plot(*self.points[mark], "o", markersize=13, markerfacecolor="none", zorder=6,
                    markeredgecolor=WARM, markeredgewidth=2.2, label="the row")  # fmt: skip
        ax.set_xlabel(self.axis_names[0])
        ax.set_ylabel(self.axis_names[1])
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small",
                  ncols=1 + len(ax.get_legend_handles_labels()[0]) // 26)  # fmt: skip
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _colour_by(self, colour_by: str | None) -> str:
        if colour_by is None:
            return "stratum" if self.classes is None else "class"
        if colour_by not in {"stratum", "class"}:
            raise ValueError(f"colour_by={colour_by!r} must be 'stratum' or 'class'.")
        if colour_by == "class" and self.classes is None:
            raise ValueError("colour_by='class' requires y.")
        return colour_by

    def _scatter(
        self, ax: Any, rows: NDArray[np.intp], colour: Any, opacity: Any, label: str | None = None
    ) -> None:
        colours = np.empty((len(rows), 4))
        colours[:, :3], colours[:, 3] = colour, opacity
        # rasterized: viewers cannot open a vector file with a million circles
        ax.scatter(
            *self.points[rows].T, c=colours, s=14, linewidths=0, rasterized=True, label=label
        )

    def _draw_classes(self, ax: Any, plt: Any) -> None:
        names, codes = np.unique(np.asarray(self.classes), return_inverse=True)
        palette = _palette(plt, len(names))
        for k, name in enumerate(names):
            rows = np.flatnonzero(codes == k)
            label = f"class {name} ({len(rows)} rows)"
            self._scatter(ax, rows, palette[k % len(palette)], 0.6, label)

    def _draw_strongest(self, ax: Any, plt: Any) -> None:
        none = np.flatnonzero(self.strongest == NO_STRATUM)
        if len(none) > 0:
            self._scatter(ax, none, 0.6, 0.6, f"in no stratum ({len(none)} rows)")
        palette = _palette(plt, len(self.sizes))
        for j in range(len(self.sizes)):
            rows = np.flatnonzero(self.strongest == j)
            if len(rows) > 0:
                # opacity is the membership
                opacity = np.clip(self.memberships[rows].max(axis=1), 0.15, 0.85)
                self._scatter(ax, rows, palette[j % len(palette)], opacity)

    def _draw_outlines(
        self, ax: Any, shown: NDArray[np.intp], n_std: float, *, coloured: bool
    ) -> None:
        palette = _palette(_pyplot(), len(self.sizes)) if coloured else [(0.35, 0.35, 0.35)]
        extent = np.maximum(np.ptp(self.points, axis=0), np.finfo(float).tiny)
        labels = separate_labels(self.centres[shown] / extent, LABEL_SIZE) * extent
        for j, position in zip(shown.tolist(), labels, strict=True):
            colour = palette[j % len(palette)]
            _draw_ellipse(ax, self.centres[j], self.covariances[j], n_std, colour)
            ax.annotate(
                str(j), self.centres[j], position, ha="center", va="center", fontsize=8, zorder=5,
                bbox={"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": colour},
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8},
            )  # fmt: skip
            if coloured:
                names = self.stratum_names
                name = f"stratum {j}" if names is None else f"{j}: {names[j]}"
                label = f"{name} ({self.sizes[j]:.0f} rows)"
                ax.plot([], [], "o", color=colour, markersize=5, label=label)
        if not coloured and len(shown) > 0:
            low, high = self.sizes[shown].min(), self.sizes[shown].max()
            of = "" if len(shown) == len(self.sizes) else f" of {len(self.sizes)}"
            ax.plot([], [], color=palette[0], linewidth=1,
                    label=f"{len(shown)}{of} strata of {low:.0f} to {high:.0f} rows")  # fmt: skip


def _draw_ellipse(ax: Any, centre: Doubles, covariance: Doubles, n_std: float, colour: Any) -> None:
    patches = require("matplotlib.patches", "StrataDisplay", extra="plot")

    variances, directions = np.linalg.eigh(covariance)
    width, height = 2 * n_std * np.sqrt(np.maximum(variances, 0))
    angle = np.degrees(np.arctan2(directions[1, 0], directions[0, 0]))
    ax.add_patch(
        patches.Ellipse(centre, width, height, angle=angle, fill=False, edgecolor=colour, alpha=0.8)
    )


def _palette(plt: Any, n_colours: int) -> list[Any]:
    """Colours that differ between neighbours; beyond twenty they repeat."""
    if n_colours <= 10:
        return list(plt.get_cmap("tab10").colors)
    pairs = plt.get_cmap("tab20").colors
    return [*pairs[::2], *pairs[1::2]]
