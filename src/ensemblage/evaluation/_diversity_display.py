"""Diversity of members, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ensemblage._core import count, require, set_module
from ensemblage.evaluation._diversity import (
    DiversityMeasures,
    disagreement,
    entropy,
    kappa,
    kappa_error,
    member_labels,
    q_statistic,
)


@set_module("ensemblage.evaluation")
class MemberDiversityDisplay:
    """Pairs of members by agreement and error; diverse pairs are left, accurate ones low.

    Make one by :meth:`from_estimator` or :meth:`from_predictions`, best with rows that the
    members have not learned from.

    Parameters
    ----------
    predictions : array-like of shape (n_members, n_samples)
        The members' labels.
    y : array-like of shape (n_samples,)
        The true labels.
    ensemble_error : float, default=None
        Error of the whole ensemble, drawn as a line.

    Attributes
    ----------
    points : KappaError
        What is drawn: one point per pair.
    measures : DiversityMeasures
        Mean pairwise kappa of the labels, disagreement, Q, kappa (of being right), entropy and
        the members' mean error.
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        Its figure.
    scatter_ : matplotlib PathCollection
        The points.

    See Also
    --------
    kappa_error : The points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ensemblage.evaluation import MemberDiversityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
    >>> display = MemberDiversityDisplay.from_estimator(forest, X[1::2], y[1::2])
    >>> len(display.points.kappa)
    45
    """

    def __init__(self, predictions: Any, y: Any, *, ensemble_error: float | None = None) -> None:
        self.points = kappa_error(predictions, y)
        self.ensemble_error = ensemble_error
        self.n_members = len(predictions)
        self.measures = DiversityMeasures(
            pairwise_kappa=float(self.points.kappa.mean()),
            disagreement=disagreement(predictions, y),
            q_statistic=q_statistic(predictions, y),
            kappa=kappa(predictions, y),
            entropy=entropy(predictions, y),
            mean_error=float(self.points.error.mean()),
        )

    @classmethod
    def from_estimator(
        cls, ensemble: Any, X: Any, y: Any, *, ax: Any = None
    ) -> MemberDiversityDisplay:
        """Draw the members of a fitted ensemble.

        Parameters
        ----------
        ensemble : classifier
            A StrataEnsembleClassifier, a JointSubspaceClassifier, an ensemble of scikit-learn
            with ``estimators_`` that are classifiers, a pipeline or a search over one.
        X : array-like of shape (n_samples, n_features)
            Rows, best such that it has not learned from.
        y : array-like of shape (n_samples,)
            Their classes.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        MemberDiversityDisplay
            Drawn.
        """
        error = float((np.asarray(ensemble.predict(X)) != np.asarray(y)).mean())
        return cls(member_labels(ensemble, X), y, ensemble_error=error).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, predictions: Any, y: Any, *, ensemble_error: float | None = None, ax: Any = None
    ) -> MemberDiversityDisplay:
        """Draw members by their predictions.

        Parameters
        ----------
        predictions : array-like of shape (n_members, n_samples)
            The members' labels.
        y : array-like of shape (n_samples,)
            The true labels.
        ensemble_error : float, default=None
            Error of the whole ensemble, drawn as a line.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        MemberDiversityDisplay
            Drawn.
        """
        return cls(predictions, y, ensemble_error=ensemble_error).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> MemberDiversityDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.

        Returns
        -------
        MemberDiversityDisplay
            Itself, with ``ax_``, ``figure_`` and ``scatter_`` set.
        """
        if ax is None:
            ax = _new_axes()
        kappas, errors = self.points.kappa, self.points.error
        n_pairs = len(kappas)
        self.scatter_ = ax.scatter(
            kappas, errors, s=18, alpha=max(0.3, min(0.7, 30 / n_pairs)), linewidths=0,
            color="#2a6f97", rasterized=n_pairs > 2000,
            label=f"{count(n_pairs, 'pair')} of {self.n_members} members",
        )  # fmt: skip
        ax.plot(kappas.mean(), errors.mean(), "x", color="black", markersize=9, label="their mean")
        if self.ensemble_error is not None:
            ax.axhline(self.ensemble_error, color="#c23b22", linestyle="--", linewidth=1.2,
                       label=f"the ensemble's error, {self.ensemble_error:.3f}")  # fmt: skip
        ax.set(xlabel="agreement of two members (kappa)", ylabel="their mean error")
        ax.set_title(self._title(), fontsize="medium")
        whole = [] if self.ensemble_error is None else [self.ensemble_error]
        ax.set_ylim(*_limits(np.append(errors, whole)))
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _title(self) -> str:
        found = self.measures
        return (
            f"disagreement {found.disagreement:.2f}, Q {found.q_statistic:.2f}, "
            f"κ {found.kappa:.2f}, E {found.entropy:.2f}"
        )


def _new_axes() -> Any:
    plt = require("matplotlib.pyplot", "MemberDiversityDisplay", extra="plot")
    return plt.subplots(figsize=(8.0, 4.5), layout="constrained")[1]


def _limits(errors: NDArray[np.float64]) -> tuple[float, float]:
    """Leave room around the errors, but none below 0 or above 1 that is not needed."""
    low, high = float(errors.min()), float(errors.max())
    room = max(0.08 * (high - low), 0.01)
    return max(low - room, -0.01), min(high + room, 1.01)
