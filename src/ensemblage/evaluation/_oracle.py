"""The oracle bound, never without its control."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


class OracleScore(NamedTuple):
    """Oracle accuracy of an ensemble, and of untrained classifiers of the same number.

    Parameters
    ----------
    oracle : float
        Share of rows that at least one member gets right.
    untrained : float
        The same for random linear classifiers that have learned nothing.
    """

    oracle: float
    untrained: float


def _covered(choices: NDArray[np.intp], labels: NDArray[Any]) -> float:
    """Share of rows for which one of the choices, (n_members, n_samples), is the label."""
    return float((choices == labels).any(axis=0).mean())


def oracle_score(
    outputs: Any, y: Any, X: Any, *, n_draws: int = 20, random_state: Any = None
) -> OracleScore:
    """Accuracy if somebody always picked a member that is right.

    The bound needs the labels, so it is no prediction, and it flatters: with enough members, one
    of them is right by chance. So the control stands beside it.

    Parameters
    ----------
    outputs : array-like of shape (n_members, n_samples, n_classes)
        Members' probabilities or decision values.
    y : array-like of shape (n_samples,)
        Class numbers, 0 to n_classes - 1.
    X : array-like of shape (n_samples, n_features)
        The rows, on which untrained classifiers are drawn.
    n_draws : int, default=20
        Over how many ensembles of untrained classifiers to average.
    random_state : int, RandomState instance or None, default=None
        Draws them.

    Returns
    -------
    OracleScore
        The bound, and that of as many random linear classifiers on standardised features.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets", Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.evaluation import oracle_score
    >>> X, y = load_iris(return_X_y=True)
    >>> always = np.array([np.tile(row, (150, 1)) for row in np.eye(3)])
    >>> oracle_score(always, y, X, random_state=0).oracle
    1.0
    """
    outputs, labels = np.asarray(outputs), np.asarray(y)
    X = np.asarray(X, dtype=float)
    if outputs.ndim != 3 or outputs.shape[1] != len(labels) or len(X) != len(labels):
        raise ValueError(
            f"outputs has shape {outputs.shape}, y {labels.shape} and X {X.shape}; expected "
            "(n_members, n_samples, n_classes), (n_samples,) and (n_samples, n_features)."
        )
    n_members, _, n_classes = outputs.shape
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    random_state = check_random_state(random_state)
    size = (n_members, X.shape[1], n_classes)
    chance = [
        _covered((X @ random_state.normal(size=size)).argmax(axis=2), labels)
        for _ in range(n_draws)
    ]
    return OracleScore(_covered(outputs.argmax(axis=2), labels), float(np.mean(chance)))
