"""What clusters are like, as a table of colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage.evaluation import PrototypeDisplay
from ensemblage.methods import Prototype
from ensemblage.pages import INK, MINUS, FigureBlock, short_names

MOST_COLUMNS = 24

Columns = Mapping[str, NDArray[np.float64]]


def prototype_figure(prototypes: Sequence[Prototype], rows: Columns) -> FigureBlock | None:
    """Draw the clusters' means in the columns that hold numbers; None if there is no such column.

    The rows, NaN for a missing number, tell how much a column varies.
    """
    known = {name: column[~np.isnan(column)] for name, column in rows.items()}
    names = [
        name for name, column in known.items()
        if len(column) and all(each.typical[name] is not None for each in prototypes)
    ]  # fmt: skip
    if not names:
        return None
    shown = _most_telling(prototypes, known, names)
    means = np.array([[each.typical[name] for name in shown] for each in prototypes], dtype=float)
    display = PrototypeDisplay(
        means, center=np.array([known[name].mean() for name in shown]),
        scale=np.array([known[name].std() or 1.0 for name in shown]),
        sizes=np.array([each.rows for each in prototypes]),
        feature_names=short_names(shown),
    )  # fmt: skip
    clusters = [str(each.cluster) for each in prototypes]
    left = len(names) - len(shown)
    most = f" The {left} columns in which the clusters differ least are left out." if left else ""
    return FigureBlock(
        lambda ax: _draw(ax, display, clusters),
        max(4.5, 0.62 * len(shown) + 2.2), max(1.8, 0.42 * len(means) + 0.8),
        f"Table of colours: {len(means)} clusters by {len(shown)} columns of numbers.",
        "Mean of each column in each cluster, in the units of the data. Red is above the mean of "
        f"all rows, blue below.{most}",
    )  # fmt: skip


def _draw(ax: Any, display: Any, clusters: Sequence[str]) -> None:
    display.plot(ax=ax)
    display.image_.colorbar.set_label("standard deviations\nfrom the mean row", color=INK)
    ax.set_yticks(range(len(clusters)), clusters)
    ax.set_ylabel("cluster")
    # there are no texts if they were too many to read
    for text, value in zip(ax.texts, display.prototypes.flat, strict=False):
        text.set_text(f"{value:.4g}".replace("-", MINUS))


def _most_telling(prototypes: Sequence[Prototype], known: Columns, names: list[str]) -> list[str]:
    """Choose the columns in which the clusters differ most, in the order of the file."""
    means = np.array([[each.typical[name] for name in names] for each in prototypes], dtype=float)
    scale = np.array([known[name].std() or 1.0 for name in names])
    spread = dict(zip(names, (means.std(axis=0) / scale).tolist(), strict=True))
    best = set(sorted(names, key=lambda name: -spread[name])[:MOST_COLUMNS])
    return [name for name in names if name in best]
