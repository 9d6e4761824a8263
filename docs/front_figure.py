"""Draw the figure of the front page and of the README: ``python docs/front_figure.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from ensemblage import EnsemblageClassifier, source_audit
from ensemblage.datasets import Dataset, open_dataset
from ensemblage.sources import SourceAudit

OUTPUT = Path(__file__).parent / "_static" / "front.png"
COLOURS = {"female": "#d9822b", "male": "#2a78b5"}
MARKERS = {"Biscoe": "o", "Dream": "^", "Torgersen": "s"}
DARK = "0.25"


def main() -> None:
    """Draw the penguins of three islands, and what to expect of a model on the next one."""
    data = open_dataset("penguins", "sex", source_column="island")
    audit = source_audit(
        EnsemblageClassifier(random_state=0), data.X, data.y, data.sources, random_state=0
    )
    figure, axes = plt.subplots(1, 2, figsize=(9.4, 3.7), layout="constrained")
    draw_rows(axes[0], data)
    draw_errors(axes[1], audit)
    figure.savefig(OUTPUT, dpi=110)


def draw_rows(ax: Axes, data: Dataset) -> None:
    """Scatter two measurements, by sex and island."""
    x, y = (data.X[:, data.feature_names.index(name)] for name in ("body_mass_g", "bill_depth_mm"))
    for island, marker in MARKERS.items():
        for sex, colour in COLOURS.items():
            rows = (data.sources == island) & (data.y == sex)
            ax.scatter(
                x[rows].astype(float) / 1000, y[rows].astype(float), s=16, marker=marker, c=colour,
                alpha=0.75, linewidths=0,
            )  # fmt: skip
    for island, marker in MARKERS.items():
        ax.scatter([], [], marker=marker, c=DARK, s=20, label=island)
    for sex, colour in COLOURS.items():
        ax.scatter([], [], marker="o", c=colour, s=20, label=sex)
    ax.legend(fontsize=8, frameon=False)
    ax.set(xlabel="body mass (kg)", ylabel="bill depth (mm)")
    ax.set_title(f"{len(data.y)} penguins of three islands", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)


def draw_errors(ax: Axes, audit: SourceAudit) -> None:
    """Draw the error of each island by cross-validation and by leaving the island out."""
    names = [f"{each.source} ({each.n})" for each in audit.sources]
    rows = np.arange(len(names))[::-1]
    errors = [each.measures["error"] for each in audit.sources]
    low, high, left_out = (
        100 * np.array([getattr(each, name) for each in errors])
        for name in ("low", "high", "value")
    )
    by_cv = np.array([100 * (each.cross_validation["error"] or 0.0) for each in audit.sources])
    ax.hlines(rows, low, high, color=DARK, lw=1.2)
    ax.plot(left_out, rows, "o", c=DARK, ms=7, label="island left out, 95% CI")
    ax.plot(by_cv, rows, "|", c="#c03020", ms=16, mew=2.2, label="cross-validation")
    found = audit["error"]
    expected, cv, *interval = (
        100 * (each or 0.0) for each in (found.mean, found.cross_validation, found.low, found.high)
    )
    ax.hlines(-1, *interval, color=DARK, lw=3, alpha=0.4)
    ax.plot(expected, -1, "D", c=DARK, ms=8)
    ax.plot(cv, -1, "|", c="#c03020", ms=16, mew=2.2)
    ax.set_yticks([*rows, -1], [*names, "a new island"])
    ax.set_ylim(-1.6, len(names) - 0.4)
    ax.set_xlim(0, None)
    ax.set_xlabel("error (%)")
    ax.set_title(
        f"error of cross-validation {cv:.0f}%, on a new island {expected:.0f}%", fontsize=11
    )
    ax.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 0.27))
    ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
