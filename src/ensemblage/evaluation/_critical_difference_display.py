"""Critical-difference diagram."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ensemblage._core import ACCENT, RED, require, set_module
from ensemblage.evaluation._compare_methods import MethodComparison, compare_methods

BLACK = "black"
GREY = "0.45"
# Marker of highlighted methods, the same as in HTML reports.
MARK = "◆ "
# Height of a line of text, in inches.
ROW = 0.32
# Distance between bars, in inches.
BAR_ROW = 0.16


def stack_bars(spans: list[tuple[float, float]], margin: float) -> list[int]:
    """Assign bars, sorted by their left end, to the lowest level without overlap."""
    ends: list[float] = []
    levels = []
    for left, right in spans:
        free = [level for level, end in enumerate(ends) if end + margin < left]
        level = free[0] if free else len(ends)
        if level == len(ends):
            ends.append(right)
        ends[level] = right
        levels.append(level)
    return levels


@set_module("ensemblage.evaluation")
class CriticalDifferenceDisplay:
    """Mean ranks of methods on a line; a bar joins those that do not differ significantly.

    Use :meth:`from_scores` or :meth:`from_comparison`. The best method is on the left. Methods
    under one bar differ by no more than the critical difference of Nemenyi's test, which is shown
    on top.

    Parameters
    ----------
    comparison : MethodComparison
        Result of :func:`compare_methods`.
    highlight : collection of str, default=()
        Methods shown with a marker and a colour.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
    text_ : list of matplotlib Text
        The names with their mean ranks, best first.
    bars_ : list of matplotlib Line2D
        One per group of methods that do not differ significantly.

    See Also
    --------
    compare_methods : The tests.

    Examples
    --------
    >>> from ensemblage.evaluation import CriticalDifferenceDisplay
    >>> accuracy = {"tree": [0.8, 0.7, 0.9], "forest": [0.9, 0.8, 0.8], "majority": [0.5, 0.4, 0.3]}
    >>> display = CriticalDifferenceDisplay.from_scores(accuracy)
    >>> [text.get_text() for text in display.text_]
    ['forest  1.33', 'tree  1.67', '3.00  majority']
    """

    def __init__(self, comparison: MethodComparison, *, highlight: Collection[str] = ()) -> None:
        self.comparison = comparison
        self.highlight = frozenset(highlight)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        *,
        greater_is_better: bool = True,
        alpha: float = 0.05,
        names: Any = None,
        highlight: Collection[str] = (),
        ax: Any = None,
    ) -> CriticalDifferenceDisplay:
        """Compare methods and plot the diagram.

        Parameters
        ----------
        scores : array-like of shape (n_datasets, n_methods), DataFrame or mapping
            As :func:`compare_methods` takes them.
        greater_is_better : bool, default=True
            False for errors, losses and times.
        alpha : float, default=0.05
            Significance level.
        names : sequence of str, default=None
            Names of the methods, if ``scores`` has none.
        highlight : collection of str, default=()
            Methods shown with a marker and a colour.
        ax : matplotlib Axes, default=None
            Axes to plot on; a new figure if not given.

        Returns
        -------
        CriticalDifferenceDisplay
            The display, plotted.
        """
        found = compare_methods(
            scores, greater_is_better=greater_is_better, alpha=alpha, names=names
        )
        return cls.from_comparison(found, highlight=highlight, ax=ax)

    @classmethod
    def from_comparison(
        cls, comparison: MethodComparison, *, highlight: Collection[str] = (), ax: Any = None
    ) -> CriticalDifferenceDisplay:
        """Plot the diagram of a comparison.

        Parameters
        ----------
        comparison : MethodComparison
            Result of :func:`compare_methods`.
        highlight : collection of str, default=()
            Methods shown with a marker and a colour.
        ax : matplotlib Axes, default=None
            Axes to plot on; a new figure if not given.

        Returns
        -------
        CriticalDifferenceDisplay
            The display, plotted.
        """
        return cls(comparison, highlight=highlight).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> CriticalDifferenceDisplay:
        """Plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on; a new figure if not given.

        Returns
        -------
        CriticalDifferenceDisplay
            The display, with ``ax_``, ``figure_``, ``text_`` and ``bars_`` set.
        """
        plt = require("matplotlib.pyplot", "CriticalDifferenceDisplay", extra="plot")
        spans = self._spans()
        levels = stack_bars(spans, 0.02)
        k = len(self.comparison.methods)
        below = 0.3 + BAR_ROW * (max(levels, default=-1) + 1) + ROW * ((k + 1) // 2)
        if ax is None:
            figure, ax = plt.subplots(figsize=(8.0, below + 1.0), layout="constrained")
            figure.get_layout_engine().set(w_pad=0.12)  # long names reach beyond the axes
        # heights are in inches, so that text does not overlap with many methods
        ax.set(xlim=(0.0, 1.0), ylim=(-below - 0.1, 0.95))
        ax.set_axis_off()
        self._draw_axis(ax)
        self._draw_critical_difference(ax)
        self.bars_ = [self._draw_bar(ax, *each) for each in zip(spans, levels, strict=True)]
        self.text_ = self._draw_names(ax, 0.3 + BAR_ROW * (max(levels, default=-1) + 1))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _across(self, rank: float) -> float:
        """Horizontal position of a mean rank; names are left and right of the axis."""
        k = len(self.comparison.methods)
        return 0.26 + 0.48 * (rank - 1) / (k - 1)

    def _spans(self) -> list[tuple[float, float]]:
        ranks = self.comparison.mean_ranks
        groups = self.comparison.cliques()
        return [(self._across(ranks[each[0]]), self._across(ranks[each[-1]])) for each in groups]

    def _draw_axis(self, ax: Any) -> None:
        k = len(self.comparison.methods)
        ax.plot([self._across(1), self._across(k)], [0, 0], color=BLACK, linewidth=1.2)
        for rank in np.arange(1, k + 0.25, 0.5):
            whole = rank == int(rank)
            position = self._across(float(rank))
            ax.plot([position] * 2, [0, 0.1 if whole else 0.05], color=BLACK, linewidth=1)
            if whole:
                ax.text(position, 0.14, f"{rank:.0f}", ha="center", va="bottom", fontsize=9)
        ax.text(self._across(1) - 0.02, 0.0, "mean rank", ha="right", va="center", fontsize=8,
                color=GREY)  # fmt: skip

    def _draw_critical_difference(self, ax: Any) -> None:
        """Draw the critical difference to scale, truncated if wider than the axis."""
        length, k = self.comparison.critical_difference, len(self.comparison.methods)
        whole = length <= k - 1
        left, right = self._across(1), self._across(1 + min(length, k - 1))
        ax.plot([left, right], [0.52, 0.52], color=RED, linewidth=1.5,
                linestyle="solid" if whole else "dashed")  # fmt: skip
        for end in (left, right) if whole else (left,):
            ax.plot([end, end], [0.47, 0.57], color=RED, linewidth=1.5)
        text = f"critical difference {length:.2f}" + ("" if whole else ", wider than the axis")
        ax.text(left, 0.62, text, ha="left", va="bottom", fontsize=9, color=RED)

    def _draw_bar(self, ax: Any, span: tuple[float, float], level: int) -> Any:
        height = -0.14 - BAR_ROW * level
        ends = [span[0] - 0.006, span[1] + 0.006]
        return ax.plot(ends, [height, height], color=BLACK, linewidth=4, solid_capstyle="butt")[0]

    def _draw_names(self, ax: Any, top: float) -> list[Any]:
        """Write the better half on the left, best on top; the rest on the right, worst on top."""
        order = self.comparison.ranking()
        half = (len(order) + 1) // 2
        written = []
        for position, name in enumerate(order):
            left = position < half
            height = -top - ROW * (position if left else len(order) - 1 - position)
            edge = 0.22 if left else 0.78
            mean = self.comparison.mean_ranks[name]
            x = self._across(mean)
            own = name in self.highlight
            line = ACCENT if own else GREY
            ax.plot([x, x, edge], [0, height, height], color=line, linewidth=0.9, zorder=1)
            shown = (MARK if own else "") + name.replace("$", r"\$")
            text = f"{shown}  {mean:.2f}" if left else f"{mean:.2f}  {shown}"
            side = {"ha": "right" if left else "left", "va": "center"}
            written.append(ax.text(edge + (-0.01 if left else 0.01), height, text, fontsize=10,
                                   color=ACCENT if own else BLACK, **side))  # fmt: skip
        return written
