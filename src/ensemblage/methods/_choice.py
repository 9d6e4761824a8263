"""Which of the compared methods to choose, and how sure one can be of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ensemblage.evaluation import holm

Array = NDArray[np.float64]

MARGIN = 0.01
"""A difference in accuracy that few users would pay for."""
ALPHA = 0.05
DRAWS = 20_000
SURENESS = ((0.95, "quite sure"), (0.8, "fairly sure"), (0.6, "not very sure"))
MOST_NAMES = 3


@dataclass(frozen=True)
class Choice:
    """The method to choose.

    Parameters
    ----------
    method, label : str
        The choice.
    accuracy : float
        Its mean accuracy.
    leader : str
        The method of highest mean accuracy; another one, if the choice is the simpler of two that
        are about as good.
    chance_best : float
        Chance that no other method is better.
    chance_within_margin : float
        Chance that no other method is better by more than ``margin``.
    margin : float
        A difference in accuracy that hardly matters.
    not_told_apart : tuple of str
        Methods that a paired test, corrected for the number of methods, does not tell from it.
    sentence : str
        All that in plain words.
    """

    method: str
    label: str
    accuracy: float
    leader: str
    chance_best: float
    chance_within_margin: float
    margin: float
    not_told_apart: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Candidate:
    """A method that has a score on every fold.

    Parameters
    ----------
    name, label : str
        The method.
    effort : int
        How much there is to fit and to read; less is simpler.
    accuracy : tuple of float
        Per fold.
    """

    name: str
    label: str
    effort: int
    accuracy: tuple[float, ...]


def corrected_error(values: Sequence[float] | Array, n_splits: int) -> float:
    """Estimate the standard error of a mean over overlapping folds.

    Parameters
    ----------
    values : sequence of float
        One per fold; NaN for a fold that failed.
    n_splits : int
        Folds per repeat.

    Returns
    -------
    float
        NaN if there are fewer than two values.

    Notes
    -----
    The training sets of the folds overlap, so that the usual s / sqrt(J) is too small. With J
    folds of which each tests 1 / k of the rows, the corrected variance of the mean is
    (1 / J + 1 / (k - 1)) s² (Nadeau and Bengio, Inference for the generalization error,
    Machine Learning 52, 2003).
    """
    known = np.array(values, dtype=float)
    known = known[~np.isnan(known)]
    if len(known) < 2:
        return float("nan")
    return float(np.sqrt(_inflation(len(known), n_splits) * known.var(ddof=1)))


def _inflation(n_folds: int, n_splits: int) -> float:
    return 1 / n_folds + 1 / (n_splits - 1)


def corrected_pvalue(differences: Array, n_splits: int) -> float:
    """Test paired differences over overlapping folds: the corrected resampled t-test.

    Parameters
    ----------
    differences : ndarray of shape (n_folds,)
        Of two methods, on the same folds.
    n_splits : int
        Folds per repeat.

    Returns
    -------
    float
        Two-sided; 1 if there is no difference on any fold.
    """
    gap, error = float(differences.mean()), corrected_error(differences, n_splits)
    if error == 0:
        return 1.0 if gap == 0 else 0.0
    return float(2 * student.sf(abs(gap) / error, len(differences) - 1))


def chances(accuracy: Array, n_splits: int, chosen: int, margins: Sequence[float]) -> list[float]:
    r"""Chance that no other method is better than the chosen one, by more than a margin.

    Parameters
    ----------
    accuracy : ndarray of shape (n_methods, n_folds)
        Scores on the same folds.
    n_splits : int
        Folds per repeat.
    chosen : int
        Number of the chosen method.
    margins : sequence of float
        One or more.

    Returns
    -------
    list of float
        One per margin.

    Notes
    -----
    The joint form of the Bayesian correlated t-test (Corani and Benavoli, A Bayesian approach for
    comparing cross-validated algorithms on multiple data sets, Machine Learning 100, 2015): given
    the folds, the true means follow a multivariate t distribution with J - 1 degrees of freedom
    around the observed means, its scale the covariance of the folds times
    :math:`1/J + 1/(k - 1)`. All methods are drawn at once, so their number is accounted for. The
    draws are always the same ones.
    """
    n_folds = accuracy.shape[1]
    gaps = accuracy - accuracy[chosen]
    values, vectors = np.linalg.eigh(_inflation(n_folds, n_splits) * np.cov(gaps))
    spread = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((len(gaps), DRAWS))
    scale = np.sqrt((n_folds - 1) / rng.chisquare(n_folds - 1, DRAWS))
    drawn = gaps.mean(axis=1)[:, None] + (spread @ normal) * scale
    drawn[chosen] = 0.0
    # rounding must not make a method that never differs seem better
    return [float((drawn.max(axis=0) <= margin + 1e-9).mean()) for margin in margins]


def choose(candidates: Sequence[Candidate], n_splits: int) -> Choice | None:
    """Choose the most accurate method, or a simpler one that is about as good.

    Parameters
    ----------
    candidates : sequence of Candidate
        Methods with a score on every fold.
    n_splits : int
        Folds per repeat.

    Returns
    -------
    Choice or None
        None if there are fewer than two candidates.

    Notes
    -----
    A simpler method is preferred to the most accurate one if it is behind by no more than the
    corrected standard error of their difference, and by no more than 0.01.
    """
    if len(candidates) < 2:
        return None
    accuracy = np.array([each.accuracy for each in candidates])
    means = accuracy.mean(axis=1)
    # of equals, the simplest leads; then the one given first
    order = sorted(range(len(means)), key=lambda i: (-means[i], candidates[i].effort))
    leader = order[0]
    chosen = _simplest(candidates, accuracy, order, n_splits)
    others = [i for i in order if i != chosen]
    tests = holm([corrected_pvalue(accuracy[i] - accuracy[chosen], n_splits) for i in others])
    close = [i for i, pvalue in zip(others, tests, strict=True) if pvalue >= ALPHA]
    best, within = chances(accuracy, n_splits, chosen, (0.0, MARGIN))
    words = [
        _start(candidates, accuracy, chosen, leader, n_splits),
        _sureness(best, within),
        _apart([candidates[i].label for i in close], len(others)),
    ]
    return Choice(
        method=candidates[chosen].name,
        label=candidates[chosen].label,
        accuracy=float(means[chosen]),
        leader=candidates[leader].name,
        chance_best=best,
        chance_within_margin=within,
        margin=MARGIN,
        not_told_apart=tuple(candidates[i].name for i in close),
        sentence="; ".join(words) + ".",
    )


def _simplest(
    candidates: Sequence[Candidate], accuracy: Array, order: list[int], n_splits: int
) -> int:
    leader = order[0]

    def about_as_good(i: int) -> bool:
        gaps = accuracy[leader] - accuracy[i]
        return bool(gaps.mean() <= min(MARGIN, corrected_error(gaps, n_splits)))

    near = [i for i in order if i == leader or about_as_good(i)]
    # the order is kept among equally simple ones: the more accurate first
    return min(near, key=lambda i: candidates[i].effort)


def _start(
    candidates: Sequence[Candidate], accuracy: Array, chosen: int, leader: int, n_splits: int
) -> str:
    start = f"Choose {candidates[chosen].label} (mean accuracy {accuracy[chosen].mean():.4f})"
    if chosen == leader:
        means = accuracy.mean(axis=1)
        equals = int((means >= means[leader]).sum()) - 1
        shared = f", with {equals} more as accurate" if equals else ""
        return f"{start}, the most accurate of {len(candidates)} methods{shared}"
    gaps = accuracy[leader] - accuracy[chosen]
    return (
        f"{start}, as it is simpler than {candidates[leader].label}, whose lead of "
        f"{gaps.mean():.4f} is within the standard error ({corrected_error(gaps, n_splits):.4f})"
    )


def _sureness(best: float, within: float) -> str:
    word = next((text for least, text in SURENESS if within >= least), "far from sure")
    return (
        f"this is {word}: the chance that no other method is better by more than {MARGIN} is "
        f"{_percent(within)}, that none is better at all {_percent(best)}"
    )


def _apart(close: list[str], n_others: int) -> str:
    if not close:
        return "a paired test tells it apart from every other"
    if len(close) > MOST_NAMES:
        return f"a paired test does not tell it apart from {len(close)} of the {n_others} others"
    listed = close[0] if len(close) == 1 else f"{', '.join(close[:-1])} and {close[-1]}"
    return f"a paired test does not tell it apart from {listed}"


def _percent(share: float) -> str:
    """Write a chance; draws and folds do not show that anything is certain."""
    return "above 99 %" if share > 0.99 else "below 1 %" if share < 0.01 else f"{100 * share:.0f} %"
