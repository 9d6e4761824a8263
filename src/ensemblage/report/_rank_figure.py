"""Mean ranks over independent rows, and which of them could be chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ensemblage.evaluation import CriticalDifferenceDisplay, compare_methods
from ensemblage.pages import INK, QUIET, WARM, FigureBlock, short_names
from ensemblage.report._svg import recolour

WIDTH = 7.2
THEMED = {"#000000": INK, "#737373": QUIET, "#c23b22": WARM}


def critical_difference_figure(
    names: Sequence[str], scores: Any, *, greater_is_better: bool, over: str
) -> FigureBlock:
    """Draw mean ranks with Nemenyi's critical difference.

    Scores are of shape (n_rows, n_methods); ``over`` says what the rows are: "5 datasets".
    """
    table = np.asarray(scores, dtype=float)
    found = compare_methods(table, names=short_names(names), greater_is_better=greater_is_better)
    ranks = ", ".join(f"{name} {found.mean_ranks[name]:.2f}" for name in found.ranking())
    apart = f"{found.critical_difference:.2f}"
    return FigureBlock(
        lambda ax: _draw(ax, found), WIDTH, 2.0,
        f"Critical-difference diagram. Mean ranks over {over}: {ranks}. Ranks less than {apart} "
        "apart may differ by chance.",
        f"Mean rank over {over}, 1 for the best. Methods joined by a line are less than the "
        f"critical difference of {apart} apart, so that Nemenyi's test does not tell them apart "
        "at the level of 5 %.",
    )  # fmt: skip


def _draw(ax: Any, found: Any) -> None:
    CriticalDifferenceDisplay(found).plot(ax=ax)
    # the display measures heights in inches
    low, high = ax.get_ylim()
    ax.figure.set_size_inches(WIDTH, high - low)
    ax.set_position((0, 0, 1, 1))
    recolour(ax, THEMED)
