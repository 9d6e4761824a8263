"""Draw the figure of the front page and of the README: ``python docs/front_figure.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from ensemblage.datasets import make_multi_source
from ensemblage.strata import HISS, StrataEnsembleClassifier

OUTPUT = Path(__file__).parent / "_static" / "front.png"
COLOURS = ["#2a78b5", "#d9822b"]


def main() -> None:
    """Fit one linear model, then one per stratum, to the same rows, and draw their predictions."""
    X, y = make_multi_source(5, 700, n_features=2, separation=4.0, noise=0.1, random_state=7)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
    stratifier = HISS(n_strata=8, stratum_size=0.2, random_state=0)
    models = {
        "one logistic regression": LogisticRegression().fit(X, y),
        "one per stratum, gated": StrataEnsembleClassifier(stratifier, random_state=0).fit(X, y),
    }
    figure, axes = plt.subplots(
        1, 2, figsize=(9, 3.9), sharex=True, sharey=True, layout="constrained"
    )
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        draw_regions(ax, model, X)
        wrong = model.predict(X_new) != y_new
        for label, colour in enumerate(COLOURS):
            ax.scatter(*X_new[y_new == label].T, s=9, c=colour, linewidths=0)
        ax.scatter(*X_new[wrong].T, s=34, facecolors="none", edgecolors="k", linewidths=0.7)
        ax.set_title(f"{name}: error {wrong.mean():.0%} on new rows", fontsize=11)
        ax.set(xticks=[], yticks=[])
    figure.savefig(OUTPUT, dpi=110)


def draw_regions(ax: Axes, model: object, X: np.ndarray) -> None:
    """Shade the plane by the predicted class."""
    low, high = X.min(axis=0) - 1, X.max(axis=0) + 1
    across, up = (np.linspace(low[axis], high[axis], 300) for axis in (0, 1))
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    probability = model.predict_proba(grid)[:, 1].reshape(300, 300)  # type: ignore[attr-defined]
    ax.contourf(across, up, probability, levels=[0, 0.5, 1], colors=["#d5e5f1", "#f7e2cd"])


if __name__ == "__main__":
    main()
