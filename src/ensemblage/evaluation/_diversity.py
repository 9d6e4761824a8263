"""Diversity of ensemble members: measures, plot, and oracle accuracy."""

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
from ensemblage.fusion import encoded_members, product_rule

Doubles = NDArray[np.float64]

DIVERSITY_DOCS = """
predictions : array-like of shape (n_members, n_samples)
    Predicted labels of the members.
y : array-like of shape (n_samples,)
    The true labels.
ensemble_error : float, default=None
    Error of the ensemble, shown as a line.
ax : matplotlib Axes, default=None
    Axes to plot on; a new figure if not given.
"""


def member_labels(ensemble: Any, X: Any) -> NDArray[Any]:
    """Return the predicted labels of a fitted ensemble's members, (n_members, n_samples).

    The ensemble has ``member_outputs``, or ``estimators_`` that are classifiers; it may be in a
    pipeline or a search.
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
        raise ValueError(f"{error} Or pass the members' labels to from_predictions.") from None
    X = encoded_rows(ensemble, X)
    if not any(hasattr(member.wrapped, "feature_names_in_") for member in members):
        X = X if hasattr(X, "tocsr") else np.asarray(X)
    return np.asarray(ensemble.classes_[np.stack([member.predict(X) for member in members])])


@set_module("ensemblage.evaluation")
class KappaError(NamedTuple):
    """Points of a kappa-error diagram, one per pair of members."""

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


def _correct(predictions: Any, y: Any) -> Doubles:
    """Whether each member is correct, as 0 and 1, of shape (n_members, n_samples)."""
    predictions, y = _checked(predictions, y)
    return np.asarray(predictions == y, dtype=np.float64)


def _mean_of_pairs(matrix: Doubles) -> float:
    return float(matrix[np.triu_indices(len(matrix), 1)].mean())


@with_shared(DIVERSITY_DOCS)
def disagreement(predictions: Any, y: Any) -> float:
    r"""Share of rows on which exactly one of two members is correct, averaged over pairs.

    Parameters
    ----------
    {predictions, y}

    Returns
    -------
    float
        Between 0 and 1; higher is more diverse.

    Notes
    -----
    :math:`(N^{01} + N^{10}) / N` for a pair, where :math:`N^{ab}` is the number of rows on which
    the first is correct (a = 1) or not (a = 0), and the second likewise (b).

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
    correct = _correct(predictions, y)
    differing = correct @ (1 - correct).T
    return _mean_of_pairs((differing + differing.T) / correct.shape[1])


@with_shared(DIVERSITY_DOCS)
def q_statistic(predictions: Any, y: Any) -> float:
    r"""Yule's Q statistic of correct predictions, averaged over the pairs of members.

    Parameters
    ----------
    {predictions, y}

    Returns
    -------
    float
        Between -1 and 1: 0 for independent members, 1 if they err on the same rows, negative if
        one is correct where the other errs. Lower is more diverse.

    Notes
    -----
    :math:`Q = \frac{N^{11}N^{00} - N^{01}N^{10}}{N^{11}N^{00} + N^{01}N^{10}}` for a pair. Where
    that is 0 / 0, as when a member is always correct, Q is 1 if both are correct on the same rows
    and 0 otherwise.

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
    correct = _correct(predictions, y)
    wrong = 1 - correct
    agreeing = (correct @ correct.T) * (wrong @ wrong.T)
    differing = (correct @ wrong.T) * (wrong @ correct.T)
    same = (correct @ wrong.T + wrong @ correct.T) == 0
    total = agreeing + differing
    quotient = (agreeing - differing) / np.where(total > 0, total, 1.0)
    return _mean_of_pairs(np.where(total > 0, quotient, same.astype(np.float64)))


@with_shared(DIVERSITY_DOCS)
def kappa(predictions: Any, y: Any) -> float:
    r"""Interrater agreement of all members in being correct, beyond chance.

    Parameters
    ----------
    {predictions, y}

    Returns
    -------
    float
        1 if all members are correct on the same rows, 0 for chance, at least -1 / (L - 1) for L
        members. Lower is more diverse.

    Notes
    -----
    The interrater agreement
    :math:`1 - \frac{\frac{1}{L} \sum_j l_j (L - l_j)}{N (L - 1) \bar p (1 - \bar p)}`, where
    :math:`l_j` of the L members are correct on row j and :math:`\bar p` is their mean accuracy.
    If all are correct on all rows, or on none, it is 1.

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
    correct = _correct(predictions, y)
    members, rows = correct.shape
    votes, p = correct.sum(axis=0), correct.mean()
    chance = rows * (members - 1) * p * (1 - p)
    differing = float((votes * (members - votes)).sum()) / members
    # full agreement is 1, also where chance agreement is full
    return 1.0 if differing == 0 else float(1 - differing / chance)


@with_shared(DIVERSITY_DOCS)
def entropy_diversity(predictions: Any, y: Any) -> float:
    r"""Entropy measure of diversity: how evenly members split into correct and wrong, by row.

    Parameters
    ----------
    {predictions, y}

    Returns
    -------
    float
        0 if all are correct or wrong together, 1 if half of them are correct on every row.

    Notes
    -----
    :math:`E = \frac{1}{N} \sum_j \frac{\min(l_j, L - l_j)}{L - \lceil L / 2 \rceil}`, where
    :math:`l_j` of the L members are correct on row j.

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
    correct = _correct(predictions, y)
    members = len(correct)
    votes = correct.sum(axis=0)
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
        The points of a kappa-error diagram: ``kappa``, Cohen's kappa of each pair, 1 for equal
        predictions and 0 for chance; ``error``, the mean of the two error rates; and ``pairs``, of
        shape (n_pairs, 2), the indices of the members.

    See Also
    --------
    MemberDiversityDisplay : Plots it.

    Notes
    -----
    Cohen's kappa of two members' labels is :math:`(\theta_1 - \theta_2) / (1 - \theta_2)`, where
    they agree on the share :math:`\theta_1` of the rows, and on :math:`\theta_2` by chance. For two
    members that predict the same label for all rows it is 1.

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
    # of members that predict one label only, chance may be just below 1 by rounding
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
    """Oracle accuracy of an ensemble, its bounds and controls; see :func:`oracle_score`."""

    oracle: float
    untrained: float
    lower: float
    upper: float
    equal_weights: float
    unanimous: float

    @property
    def shortfall(self) -> float:
        """The oracle less equal weights; may be negative with three or more classes."""
        return self.oracle - self.equal_weights


def oracle_score(
    outputs: Any, y: Any, X: Any, *, n_draws: int = 20, random_state: Any = None
) -> OracleScore:
    r"""Accuracy of an oracle that selects a correct member wherever there is one, with bounds.

    No selection of one member per row is more accurate. The oracle uses the labels and is
    optimistic: with enough members, one of them is correct by chance. Untrained classifiers are
    the control.

    Parameters
    ----------
    outputs : array-like of shape (n_members, n_samples, n_classes)
        Probabilities or decision values of the members.
    y : array-like of shape (n_samples,)
        Class indices, 0 to n_classes - 1.
    X : array-like of shape (n_samples, n_features)
        The rows, for the untrained classifiers.
    n_draws : int, default=20
        Number of ensembles of untrained classifiers to average over.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    OracleScore
        ``oracle``, the share of rows on which at least one member is correct; ``untrained``, the
        same for equally many random linear classifiers on standardised features; ``lower`` and
        ``upper``, bounds on the oracle from the members' accuracies; ``equal_weights``, the
        accuracy of the members' product (eq. 10), or of the mean of their decision values;
        ``unanimous``, the share of rows on which all members are correct; and ``shortfall``, the
        oracle less equal weights.

    Notes
    -----
    Of members with accuracies :math:`a_k`, the oracle's accuracy is between

    .. math:: \max_k a_k \le a_{orc} \le \min\bigl(1, \sum_k a_k\bigr),

    the first by Theorem 1, the second by Fréchet's lower bound on the probability that all members
    err, :math:`1 - \sum_k a_k`. Neither depends on how the members' errors are associated, and each
    is attained: the lower bound by members whose correct rows are nested, the upper bound by
    members that are never correct on the same row.

    Where all members are correct, so are equal weights. With two classes they are wrong where all
    members are wrong, so their accuracy is between ``unanimous`` and ``oracle``. With more classes
    a product may find a class that no member has first, and ``shortfall`` may be negative.

    References
    ----------
    R. Gupta, K. Audhkhasi and S. Narayanan, "Training Ensemble of Diverse Classifiers on Feature
    Subsets", Theorem 1 and Lemma 1.

    Examples
    --------
    Three members that always predict the same class, one each:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.evaluation import oracle_score
    >>> X, y = load_iris(return_X_y=True)
    >>> always = np.array([np.tile(row, (150, 1)) for row in np.eye(3)])
    >>> score = oracle_score(always, y, X, random_state=0)
    >>> score.oracle, round(score.lower, 2), score.upper
    (1.0, 0.33, 1.0)
    >>> round(score.equal_weights, 2), round(score.shortfall, 2), score.unanimous
    (0.33, 0.67, 0.0)
    """
    outputs, labels = np.asarray(outputs), np.asarray(y)
    X = np.asarray(X, dtype=float)
    if outputs.ndim != 3 or outputs.shape[1] != len(labels) or len(X) != len(labels):
        raise ValueError(
            f"outputs has shape {outputs.shape}, y {labels.shape} and X {X.shape}; expected "
            "(n_members, n_samples, n_classes), (n_samples,) and (n_samples, n_features)."
        )
    if 0 in outputs.shape:
        raise ValueError(
            f"outputs has shape {outputs.shape}; at least one member, row and class are needed."
        )
    if not np.isfinite(outputs).all():
        raise ValueError("outputs holds NaN or infinity; expected finite values. Replace them.")
    n_members, _, n_classes = outputs.shape
    scale = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    random_state = check_random_state(random_state)
    size = (n_members, X.shape[1], n_classes)

    def correct(members: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(members.argmax(axis=-1) == labels)

    chance = [
        correct(X @ random_state.normal(size=size)).any(axis=0).mean() for _ in range(n_draws)
    ]
    right = correct(outputs)
    probabilities = (outputs >= 0).all() and np.allclose(outputs.sum(axis=2), 1.0)
    fused = product_rule(outputs) if probabilities else outputs.mean(axis=0)
    return OracleScore(
        float(right.any(axis=0).mean()),
        float(np.mean(chance)),
        float(right.mean(axis=1).max()),
        min(1.0, float(right.sum() / len(labels))),
        float(correct(fused).mean()),
        float(right.all(axis=0).mean()),
    )


@set_module("ensemblage.evaluation")
@with_shared(DIVERSITY_DOCS)
class MemberDiversityDisplay:
    """Kappa-error diagram: pairs of members by agreement and mean error.

    Diverse pairs are on the left, accurate ones at the bottom. Use :meth:`from_estimator` or
    :meth:`from_predictions`, with rows that the members were not fitted on.

    Parameters
    ----------
    {predictions, y, ensemble_error}

    Attributes
    ----------
    points : KappaError
        The points, one per pair.
    measures : dict of str to float
        ``"disagreement"``, ``"q_statistic"``, ``"kappa"`` and ``"entropy_diversity"`` as the
        functions of these names return them, ``"pairwise_kappa"``, the mean over the points, and
        the members' ``"mean_error"``.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.
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
        """Plot the members of a fitted ensemble.

        Parameters
        ----------
        ensemble : classifier
            A StrataEnsembleClassifier, a JointSubspaceClassifier, an ensemble of scikit-learn
            with ``estimators_`` that are classifiers, a pipeline or a search over one.
        X : array-like of shape (n_samples, n_features)
            Rows, preferably not those of the fit.
        y : array-like of shape (n_samples,)
            Their classes.
        ax : matplotlib Axes, default=None
            Axes to plot on; a new figure if not given.

        Returns
        -------
        MemberDiversityDisplay
            The display, plotted.
        """
        error = float((np.asarray(ensemble.predict(X)) != np.asarray(y)).mean())
        return cls(member_labels(ensemble, X), y, ensemble_error=error).plot(ax=ax)

    @classmethod
    @with_shared(DIVERSITY_DOCS)
    def from_predictions(
        cls, predictions: Any, y: Any, *, ensemble_error: float | None = None, ax: Any = None
    ) -> MemberDiversityDisplay:
        """Plot members by their predictions.

        Parameters
        ----------
        {predictions, y, ensemble_error, ax}

        Returns
        -------
        MemberDiversityDisplay
            The display, plotted.
        """
        return cls(predictions, y, ensemble_error=ensemble_error).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> MemberDiversityDisplay:
        """Plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to plot on; a new figure if not given.

        Returns
        -------
        MemberDiversityDisplay
            The display, with ``ax_``, ``figure_`` and ``scatter_`` set.
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
        ax.plot(
            kappas.mean(),
            errors.mean(),
            "x",
            color="black",
            markersize=9,
            label="mean of the pairs",
        )
        if self.ensemble_error is not None:
            ax.axhline(self.ensemble_error, color=RED, linestyle="--", linewidth=1.2,
                       label=f"error of the ensemble, {self.ensemble_error:.3f}")  # fmt: skip
        ax.set(xlabel="agreement of two members (kappa)", ylabel="mean error of the two")
        found = self.measures
        ax.set_title(
            f"disagreement {found['disagreement']:.2f}, Q {found['q_statistic']:.2f}, "
            f"κ {found['kappa']:.2f}, E {found['entropy_diversity']:.2f}",
            fontsize="medium",
        )
        # a margin around the errors, within 0 and 1
        shown = errors if self.ensemble_error is None else np.append(errors, self.ensemble_error)
        low, high = float(shown.min()), float(shown.max())
        margin = max(0.08 * (high - low), 0.01)
        ax.set_ylim(max(low - margin, -0.01), min(high + margin, 1.01))
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
