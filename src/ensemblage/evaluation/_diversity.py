"""Diversity of members, measured and drawn, and what an oracle would gain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    BLUE,
    RED,
    count,
    encoded_rows,
    final_step,
    require,
    rows_at_final_step,
    set_module,
    with_shared,
)
from ensemblage.fusion import encoded_members

Doubles = NDArray[np.float64]

DIVERSITY_DOCS = """
predictions : array-like of shape (n_members, n_samples)
    The members' labels.
y : array-like of shape (n_samples,)
    The true labels.
ensemble_error : float, default=None
    Error of the whole ensemble, drawn as a line.
ax : matplotlib Axes, default=None
    Where to draw; a new figure if not given.
"""


def member_labels(ensemble: Any, X: Any) -> NDArray[Any]:
    """Let the members of a fitted ensemble predict, each for itself, (n_members, n_samples).

    The ensemble has ``member_outputs``, as ours have, or ``estimators_`` that are classifiers; it
    may stand in a pipeline or a search.
    """
    check_is_fitted(ensemble)
    X, ensemble = rows_at_final_step(ensemble, X), final_step(ensemble)
    for inner in ("best_estimator_", "ensemble_"):
        if hasattr(ensemble, inner):
            return member_labels(getattr(ensemble, inner), X)
    if hasattr(ensemble, "member_outputs"):
        return np.asarray(ensemble.classes_[ensemble.member_outputs(X).argmax(axis=2)])
    try:
        members = encoded_members(ensemble)
    except ValueError as error:
        raise ValueError(f"{error} Or give the members' labels to from_predictions.") from None
    X = encoded_rows(ensemble, X)
    if not any(hasattr(member.wrapped, "feature_names_in_") for member in members):
        X = X if hasattr(X, "tocsr") else np.asarray(X)
    return np.asarray(ensemble.classes_[np.stack([member.predict(X) for member in members])])


@set_module("ensemblage.evaluation")
class KappaError(NamedTuple):
    """What a kappa-error diagram shows: one point per pair of members."""

    pairs: NDArray[np.intp]
    kappa: Doubles
    error: Doubles


def _checked(predictions: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    predictions, y = np.asarray(predictions), np.asarray(y)
    if predictions.ndim != 2 or y.shape != predictions.shape[1:]:
        raise ValueError(
            f"predictions has shape {predictions.shape} and y {y.shape}; expected labels of shape "
            "(n_members, n_samples) and (n_samples,)."
        )
    if len(predictions) < 2 or len(y) == 0:
        raise ValueError(
            f"predictions holds {len(predictions)} members and {len(y)} rows; diversity needs at "
            "least 2 members and 1 row."
        )
    return predictions, y


def _right(predictions: Any, y: Any) -> Doubles:
    """Where each member is right, as 0 and 1, of shape (n_members, n_samples)."""
    predictions, y = _checked(predictions, y)
    return np.asarray(predictions == y, dtype=np.float64)


def _mean_of_pairs(matrix: Doubles) -> float:
    return float(matrix[np.triu_indices(len(matrix), 1)].mean())


@with_shared(DIVERSITY_DOCS)
def disagreement(predictions: Any, y: Any) -> float:
    r"""Share of rows on which just one of two members is right, averaged over the pairs.

    Parameters
    ----------
    {predictions, y}

    Returns
    -------
    float
        Between 0 and 1; more is more diverse.

    Notes
    -----
    :math:`(N^{01} + N^{10}) / N` for a pair, of which :math:`N^{ab}` counts the rows that the
    first gets right (a = 1) or wrong, and the second (b) likewise.

    References
    ----------
    L. Kuncheva, C. Whitaker. Measures of Diversity in Classifier Ensembles and Their Relationship
    with the Ensemble Accuracy. Machine Learning 51, 2003.

    Examples
    --------
    >>> from ensemblage.evaluation import disagreement
    >>> disagreement([[0, 0, 1, 1], [0, 1, 1, 1]], [0, 0, 1, 1])
    0.25
    """
    right = _right(predictions, y)
    apart = right @ (1 - right).T
    return _mean_of_pairs((apart + apart.T) / right.shape[1])


@with_shared(DIVERSITY_DOCS)
def q_statistic(predictions: Any, y: Any) -> float:
    r"""Yule's Q of being right, averaged over the pairs of members.

    Parameters
    ----------
    {predictions, y}

    Returns
    -------
    float
        Between -1 and 1: 0 for independent members, 1 if they err on the same rows, negative if
        one is right where the other errs. Less is more diverse.

    Notes
    -----
    :math:`Q = \frac{N^{11}N^{00} - N^{01}N^{10}}{N^{11}N^{00} + N^{01}N^{10}}` for a pair. Where
    that is 0 / 0, as when a member is always right, Q is 1 if both are right on the same rows and
    0 otherwise: what never changes depends on nothing.

    References
    ----------
    L. Kuncheva, C. Whitaker. Measures of Diversity in Classifier Ensembles and Their Relationship
    with the Ensemble Accuracy. Machine Learning 51, 2003.

    Examples
    --------
    >>> from ensemblage.evaluation import q_statistic
    >>> q_statistic([[0, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]], [0, 0, 1, 1])
    -0.3333333333333333
    """
    right = _right(predictions, y)
    wrong = 1 - right
    alike = (right @ right.T) * (wrong @ wrong.T)
    apart = (right @ wrong.T) * (wrong @ right.T)
    same = (right @ wrong.T + wrong @ right.T) == 0
    total = alike + apart
    quotient = (alike - apart) / np.where(total > 0, total, 1.0)
    return _mean_of_pairs(np.where(total > 0, quotient, same.astype(np.float64)))


@with_shared(DIVERSITY_DOCS)
def kappa(predictions: Any, y: Any) -> float:
    r"""Agreement of all members about what is right, beyond chance.

    Parameters
    ----------
    {predictions, y}

    Returns
    -------
    float
        1 if all members are right on the same rows, 0 for chance, at least -1 / (L - 1) for L
        members. Less is more diverse.

    Notes
    -----
    The interrater agreement
    :math:`1 - \frac{\frac{1}{L} \sum_j l_j (L - l_j)}{N (L - 1) \bar p (1 - \bar p)}`, where
    :math:`l_j` of the L members are right on row j and :math:`\bar p` is their mean accuracy.
    If all are right everywhere, or wrong everywhere, they agree: 1.

    References
    ----------
    L. Kuncheva, C. Whitaker. Measures of Diversity in Classifier Ensembles and Their Relationship
    with the Ensemble Accuracy. Machine Learning 51, 2003.

    Examples
    --------
    >>> from ensemblage.evaluation import kappa
    >>> kappa([[0, 0, 1, 1], [0, 0, 1, 1]], [0, 1, 1, 1])
    1.0
    """
    right = _right(predictions, y)
    members, rows = right.shape
    votes, p = right.sum(axis=0), right.mean()
    chance = rows * (members - 1) * p * (1 - p)
    differing = float((votes * (members - votes)).sum()) / members
    # where none differ they agree, whether or not chance could have made them differ
    return 1.0 if differing == 0 else float(1 - differing / chance)


@with_shared(DIVERSITY_DOCS)
def entropy_diversity(predictions: Any, y: Any) -> float:
    r"""How evenly the members split into right and wrong, row by row.

    Parameters
    ----------
    {predictions, y}

    Returns
    -------
    float
        0 if all are right or wrong together, 1 if half of them are right on every row.

    Notes
    -----
    :math:`E = \frac{1}{N} \sum_j \frac{\min(l_j, L - l_j)}{L - \lceil L / 2 \rceil}`, where
    :math:`l_j` of the L members are right on row j.

    References
    ----------
    L. Kuncheva, C. Whitaker. Measures of Diversity in Classifier Ensembles and Their Relationship
    with the Ensemble Accuracy. Machine Learning 51, 2003.

    Examples
    --------
    >>> from ensemblage.evaluation import entropy_diversity
    >>> entropy_diversity([[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]], [0, 0, 1, 1])
    0.25
    """
    right = _right(predictions, y)
    members = len(right)
    votes = right.sum(axis=0)
    return float(np.minimum(votes, members - votes).mean() / (members // 2))


@with_shared(DIVERSITY_DOCS)
def kappa_error(predictions: Any, y: Any) -> KappaError:
    r"""Agreement and mean error of every pair of members.

    Parameters
    ----------
    {predictions, y}

    Returns
    -------
    KappaError
        The points of a kappa-error diagram: ``kappa``, the agreement beyond chance of each pair, 1
        for equal predictions and 0 for chance; ``error``, the mean of their two error rates; and
        ``pairs``, of shape (n_pairs, 2), the members' indices.

    See Also
    --------
    MemberDiversityDisplay : Draws it.

    Notes
    -----
    Cohen's kappa of two members' labels, right or not:
    :math:`(\theta_1 - \theta_2) / (1 - \theta_2)`, where they agree on the share
    :math:`\theta_1` of the rows and would on :math:`\theta_2` by chance. Two members that give
    the same one label to all rows agree: 1.

    References
    ----------
    D. Margineantu, T. Dietterich. Pruning Adaptive Boosting. ICML 1997.

    Examples
    --------
    >>> from ensemblage.evaluation import kappa_error
    >>> found = kappa_error([[0, 0, 1, 1], [0, 1, 1, 1]], [0, 0, 1, 1])
    >>> found.kappa.tolist(), found.error.tolist()
    ([0.5], [0.125])
    """
    predictions, y = _checked(predictions, y)
    agree = np.zeros((len(predictions),) * 2)
    chance = np.zeros_like(agree)
    for label in np.unique(predictions):
        predicted = (predictions == label).astype(np.float64)
        share = predicted.mean(axis=1)
        agree += predicted @ predicted.T
        chance += np.outer(share, share)
    agree /= predictions.shape[1]
    # rounding can leave a chance just below 1 for members that predict one label only
    certain = chance > 1 - 1e-12
    values = np.where(certain, 1.0, (agree - chance) / np.where(certain, 1.0, 1 - chance))
    errors = (predictions != y).mean(axis=1)
    first, second = np.triu_indices(len(predictions), 1)
    return KappaError(
        np.column_stack([first, second]),
        values[first, second],
        (errors[first] + errors[second]) / 2,
    )


@set_module("ensemblage.evaluation")
class OracleScore(NamedTuple):
    """Oracle accuracy of an ensemble, and of as many untrained classifiers."""

    oracle: float
    untrained: float


def oracle_score(
    outputs: Any, y: Any, X: Any, *, n_draws: int = 20, random_state: Any = None
) -> OracleScore:
    """Accuracy of an oracle that picks a right member wherever there is one.

    The bound needs the labels, so it is no prediction, and it flatters: with enough members, one
    of them is right by chance. So the control stands beside it.

    Parameters
    ----------
    outputs : array-like of shape (n_members, n_samples, n_classes)
        Members' probabilities or decision values.
    y : array-like of shape (n_samples,)
        Class indices, 0 to n_classes - 1.
    X : array-like of shape (n_samples, n_features)
        The rows, on which untrained classifiers are drawn.
    n_draws : int, default=20
        Over how many ensembles of untrained classifiers to average.
    random_state : int, RandomState instance or None, default=None
        Draws them.

    Returns
    -------
    OracleScore
        ``oracle``, the share of rows that at least one member gets right, and ``untrained``, the
        same for as many random linear classifiers on standardised features.

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
    scale = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    random_state = check_random_state(random_state)
    size = (n_members, X.shape[1], n_classes)

    def covered(members: NDArray[Any]) -> float:
        return float((members.argmax(axis=2) == labels).any(axis=0).mean())

    chance = [covered(X @ random_state.normal(size=size)) for _ in range(n_draws)]
    return OracleScore(covered(outputs), float(np.mean(chance)))


@set_module("ensemblage.evaluation")
@with_shared(DIVERSITY_DOCS)
class MemberDiversityDisplay:
    """Pairs of members by agreement and error; diverse pairs are left, accurate ones low.

    Make one by :meth:`from_estimator` or :meth:`from_predictions`, best with rows that the
    members have not learned from.

    Parameters
    ----------
    {predictions, y, ensemble_error}

    Attributes
    ----------
    points : KappaError
        What is drawn: one point per pair.
    measures : dict of str to float
        ``"disagreement"``, ``"q_statistic"``, ``"kappa"`` and ``"entropy_diversity"`` as the
        functions of these names give them, ``"pairwise_kappa"``, the mean over the points, and the
        members' ``"mean_error"``.
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
        self.measures = {
            "pairwise_kappa": float(self.points.kappa.mean()),
            "disagreement": disagreement(predictions, y),
            "q_statistic": q_statistic(predictions, y),
            "kappa": kappa(predictions, y),
            "entropy_diversity": entropy_diversity(predictions, y),
            "mean_error": float(self.points.error.mean()),
        }

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
    @with_shared(DIVERSITY_DOCS)
    def from_predictions(
        cls, predictions: Any, y: Any, *, ensemble_error: float | None = None, ax: Any = None
    ) -> MemberDiversityDisplay:
        """Draw members by their predictions.

        Parameters
        ----------
        {predictions, y, ensemble_error, ax}

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
            plt = require("matplotlib.pyplot", "MemberDiversityDisplay", extra="plot")
            ax = plt.subplots(figsize=(8.0, 4.5), layout="constrained")[1]
        kappas, errors = self.points.kappa, self.points.error
        n_pairs = len(kappas)
        self.scatter_ = ax.scatter(
            kappas, errors, s=18, alpha=max(0.3, min(0.7, 30 / n_pairs)), linewidths=0,
            color=BLUE, rasterized=n_pairs > 2000,
            label=f"{count(n_pairs, 'pair')} of {self.n_members} members",
        )  # fmt: skip
        ax.plot(kappas.mean(), errors.mean(), "x", color="black", markersize=9, label="their mean")
        if self.ensemble_error is not None:
            ax.axhline(self.ensemble_error, color=RED, linestyle="--", linewidth=1.2,
                       label=f"the ensemble's error, {self.ensemble_error:.3f}")  # fmt: skip
        ax.set(xlabel="agreement of two members (kappa)", ylabel="their mean error")
        found = self.measures
        ax.set_title(
            f"disagreement {found['disagreement']:.2f}, Q {found['q_statistic']:.2f}, "
            f"κ {found['kappa']:.2f}, E {found['entropy_diversity']:.2f}",
            fontsize="medium",
        )
        # room around the errors, but none below 0 or above 1 that is not needed
        shown = errors if self.ensemble_error is None else np.append(errors, self.ensemble_error)
        low, high = float(shown.min()), float(shown.max())
        room = max(0.08 * (high - low), 0.01)
        ax.set_ylim(max(low - room, -0.01), min(high + room, 1.01))
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
