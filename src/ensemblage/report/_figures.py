"""The Displays of ``ensemblage.evaluation``, drawn for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensemblage.evaluation import (
    CoSelectionDisplay,
    CriticalDifferenceDisplay,
    NetworkDisplay,
    PrototypeDisplay,
    StrataDisplay,
)
from ensemblage.report._cells import MINUS
from ensemblage.report._page import FigureBlock
from ensemblage.report._svg import (
    INK,
    QUIET,
    WARM,
    inline_svg,
    new_figure,
    recolour,
    short,
    short_names,
)

LINE = 0.36
"""Height of a node in a list, in inches."""
MOST_PROTOTYPE_COLUMNS = 24
MOST_MAP_ROWS = 20_000


def strata_figure(model: Any, X: Any, y: Any = None) -> FigureBlock | None:
    """Draw the map of a model's strata.

    Parameters
    ----------
    model : StrataEnsembleClassifier or Pipeline
        Fitted; a pipeline ends in one.
    X : array-like of shape (n_rows, n_features)
        Rows to show; of more than 20 000, evenly spaced ones.
    y : array-like of shape (n_rows,), default=None
        Their classes.

    Returns
    -------
    FigureBlock or None
        None where the strata have no map: all alike, or in fewer than two dimensions.
    """
    step = -(-len(X) // MOST_MAP_ROWS)
    figure, ax = new_figure(7.2, 5.4)
    try:
        shown = None if y is None else [short(str(each)) for each in y[::step]]
        display = StrataDisplay.from_estimator(model, X[::step], shown, ax=ax)
    except ValueError:
        return None
    for points in ax.collections:  # faint points vanish on a dark page
        points.set_facecolor(np.minimum(points.get_facecolor() * (1, 1, 1, 1.5), 1))
    _beside(ax)
    if y is not None:
        for outline in ax.patches:
            outline.set_edgecolor(QUIET)
    colours = "their stratum" if y is None else "their class"
    n_strata = len(display.sizes)
    places = [f"{j} at {x:.2g}, {z:.2g}" for j, (x, z) in enumerate(display.centres)]
    alt = f"Map of {len(display.points)} rows with the outlines of {n_strata} strata."
    if n_strata <= 12:
        alt += f" Centres of the strata: {'; '.join(places)}."
    return FigureBlock(
        inline_svg(figure), alt,
        f"The rows, coloured by {colours}, and where each of the {n_strata} strata lies. An "
        "ellipse spans one and a half standard deviations of the stratum's rows; strata that "
        "overlap here may lie apart in the other dimensions.",
    )  # fmt: skip


def co_selection_figure(names: Sequence[str], matrix: Sequence[Sequence[float]]) -> FigureBlock:
    """Draw which features are chosen together.

    Parameters
    ----------
    names : sequence of str
        Names of the features.
    matrix : sequence of sequence of float
        Shares of the members that use both.

    Returns
    -------
    FigureBlock
        The matrix as a picture.
    """
    shares = np.asarray(matrix, dtype=float)
    size = max(1.6, 0.34 * len(names))
    # wider by the colour bar's fifth; cells that fill the axes leave it as high as they are
    figure, ax = new_figure(1.25 * size, size)
    CoSelectionDisplay(shares, feature_names=short_names(names)).plot(ax=ax, cmap="GnBu")
    ax.set_aspect("auto")
    ax.set_title("")
    pairs = [(shares[i, j], i, j) for i in range(len(names)) for j in range(i)]
    best = max(pairs, default=None)
    most = "" if best is None else (
        f" Most often together: {names[best[2]]} and {names[best[1]]}, in {best[0]:.0%} of the "
        "members."
    )  # fmt: skip
    return FigureBlock(
        inline_svg(figure),
        f"Matrix of {len(names)} features by the share of members that use both.{most}",
        "Share of the members that use both features; on the diagonal, that use the feature at "
        "all. Darker is more often.",
    )


def network_figure(parents: Mapping[str, Sequence[str]], target: str | None) -> FigureBlock:
    """Draw a network: its nodes below each other, arrows at their side.

    Parameters
    ----------
    parents : mapping of str to sequence of str
        Parents of each node.
    target : str or None
        The class.

    Returns
    -------
    FigureBlock
        The drawing.
    """
    display = NetworkDisplay({name: list(above) for name, above in parents.items()}, target)
    # a list has room for any number of nodes and for long names, on a phone too
    last = max(len(parents) - 1, 1)
    display.positions = {name: (0.0, 1 - k / last) for k, name in enumerate(parents)}
    figure, ax = new_figure(1.5, max(0.8, last * LINE))
    display.plot(ax=ax)
    ax.set_position((0, 0, 1, 1))
    ax.set(xlim=(0, 1), ylim=(0, 1))
    _bend_arrows(display, target)
    arrows = sum(map(len, parents.values()))
    return FigureBlock(
        inline_svg(figure),
        f"Network of {len(parents)} nodes and {arrows} arrows. {_arrows_in_words(parents)}",
        "An arrow leads from a node to one whose probabilities depend on it. Arrows from the "
        "class are drawn faintly.",
    )


def prototype_figure(
    prototypes: Sequence[Mapping[str, Any]], rows: Mapping[str, np.ndarray]
) -> FigureBlock | None:
    """Draw what the clusters are like in the columns that hold numbers.

    Parameters
    ----------
    prototypes : sequence of mapping
        Per cluster ``cluster``, ``rows`` and the mean of each column.
    rows : mapping of str to ndarray
        The columns of numbers, NaN for a missing one; they tell how much a column varies.

    Returns
    -------
    FigureBlock or None
        None if there is no column of numbers.
    """
    known = {name: column[~np.isnan(column)] for name, column in rows.items()}
    names = [
        name for name, column in known.items()
        if len(column) and all(each[name] is not None for each in prototypes)
    ]  # fmt: skip
    if not names:
        return None
    shown = _most_telling(prototypes, known, names)
    means = np.array([[each[name] for name in shown] for each in prototypes], dtype=float)
    figure, ax = new_figure(max(4.5, 0.62 * len(shown) + 2.2), max(1.8, 0.42 * len(means) + 0.8))
    display = PrototypeDisplay(
        means, center=np.array([known[name].mean() for name in shown]),
        scale=np.array([known[name].std() or 1.0 for name in shown]),
        sizes=np.array([each["rows"] for each in prototypes]),
        feature_names=short_names(shown),
    ).plot(ax=ax)  # fmt: skip
    display.image_.colorbar.set_label("standard deviations\nfrom the mean row", color=INK)
    ax.set_yticks(range(len(means)), [f"{each['cluster']}" for each in prototypes])
    ax.set_ylabel("cluster")
    # there are no texts if they were too many to read
    for text, value in zip(ax.texts, means.flat, strict=False):
        text.set_text(f"{value:.4g}".replace("-", MINUS))
    left = len(names) - len(shown)
    most = f" The {left} columns in which the clusters differ least are left out." if left else ""
    return FigureBlock(
        inline_svg(figure),
        f"Table of colours: {len(means)} clusters by {len(shown)} columns of numbers.",
        "Mean of each column in each cluster, in the units of the data. Red is above the mean of "
        f"all rows, blue below.{most}",
    )


def critical_difference_figure(
    names: Sequence[str], scores: Any, *, greater_is_better: bool, over: str
) -> FigureBlock:
    """Draw mean ranks, and which of them could be chance.

    Parameters
    ----------
    names : sequence of str
        The methods.
    scores : array-like of shape (n_blocks, n_methods)
        A score per dataset or fold and method.
    greater_is_better : bool
        Direction of the score.
    over : str
        What the ranks are averaged over: "5 folds".

    Returns
    -------
    FigureBlock
        The diagram.
    """
    figure, ax = new_figure(7.2, 2.0)
    display = CriticalDifferenceDisplay.from_scores(
        np.asarray(scores, dtype=float), names=short_names(names),
        greater_is_better=greater_is_better, ax=ax,
    )  # fmt: skip
    # the display measures heights in inches
    low, high = ax.get_ylim()
    figure.set_size_inches(7.2, high - low)
    ax.set_position((0, 0, 1, 1))
    recolour(ax, {"#000000": INK, "#737373": QUIET, "#c23b22": WARM})
    found = display.comparison
    ranks = ", ".join(f"{name} {found.mean_ranks[name]:.2f}" for name in found.ranking())
    return FigureBlock(
        inline_svg(figure),
        f"Critical-difference diagram. Mean ranks over {over}: {ranks}. Ranks less than "
        f"{found.critical_difference:.2f} apart may differ by chance.",
        f"Mean rank over {over}, 1 for the best. Methods joined by a line are less than the "
        f"critical difference of {found.critical_difference:.2f} apart, so that Nemenyi's test "
        "does not tell them apart at the level of 5 %.",
    )


def _beside(ax: Any) -> None:
    """Below the map, where a legend does not take its width."""
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False,
        fontsize="small", ncols=min(3, len(labels)),
    )  # fmt: skip


def _bend_arrows(display: NetworkDisplay, target: str | None) -> None:
    """Lead arrows around the right-hand side of the list."""
    for box in display.text_:
        box.set_ha("right")
        box.set_text(short(box.get_text()))
    ends = [(parent, child) for child, above in display.parents.items() for parent in above]
    arrows = [text for text in display.ax_.texts if getattr(text, "arrow_patch", None) is not None]
    for (parent, child), arrow in zip(ends, arrows, strict=True):
        down = display.positions[parent][1] > display.positions[child][1]
        patch = arrow.arrow_patch
        patch.set_connectionstyle("arc3", rad=-0.55 if down else 0.55)
        patch.set_color(INK)
        patch.set_alpha(0.25 if parent == target else 0.85)
        # the annotation tells its arrow again at each drawing
        arrow.arrowprops |= {"shrinkA": 6, "shrinkB": 6}
        patch.shrinkA = patch.shrinkB = 6


def _arrows_in_words(parents: Mapping[str, Sequence[str]], most: int = 12) -> str:
    linked = [(node, above) for node, above in parents.items() if above]
    told = [f"{node} depends on {', '.join(above)}" for node, above in linked[:most]]
    more = f"; and {len(linked) - most} more" if len(linked) > most else ""
    return "; ".join(told) + f"{more}."


def _most_telling(
    prototypes: Sequence[Mapping[str, Any]], known: Mapping[str, np.ndarray], names: list[str]
) -> list[str]:
    """Columns in which the clusters differ most, in the order of the file."""
    spread = {
        name: np.std([each[name] for each in prototypes]) / (known[name].std() or 1.0)
        for name in names
    }
    best = set(sorted(names, key=lambda name: -spread[name])[:MOST_PROTOTYPE_COLUMNS])
    return [name for name in names if name in best]
