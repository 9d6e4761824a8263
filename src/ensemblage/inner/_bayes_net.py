"""Inner Bayesian network: structure and tables learned with an inner ensemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ensemblage._core import Interval, StrOptions, draw_seeds, run_tasks, set_module, with_shared
from ensemblage.bayes import (
    CLASS,
    MAX_ENTRIES,
    NETWORK_DOCS,
    NO_EXTRA,
    PROBABILITY,
    BaseBayesNet,
    Candidates,
    Coder,
    Estimate,
    FittedNetwork,
    LeaveOneOutMeasure,
    NetworkConstraints,
    NodeTable,
    Sample,
    Score,
    SearchSpace,
    Structure,
    Training,
    code_sample,
    criterion_of,
    fit_expected,
    fit_prior,
    fit_table,
    full_grid,
    make_measure,
)
from ensemblage.datasets import MISSING_CODE
from ensemblage.inner._inner_ensemble import (
    BOOSTING,
    COMBINATIONS,
    InnerEnsemble,
    MeasurePerView,
    draw_views,
    sample_views,
)

Doubles = NDArray[np.float64]

GRID_ENTRIES = 2**14
"""Maximal number of entries per class of a table on the common grid; bins are merged beyond."""
MIN_DIFFICULTY = 0.5
"""Added to each row's loss in weighted views, so that no row's weight is near zero."""
MAX_WEIGHT = 1e6
"""A sampler's view with a larger weight is scaled, so that sums are finite and exact enough."""


def draw_bag(training: Training, discretizer: str | None, max_entries: int, seed: int) -> Sample:
    """Draw a bootstrap, and discretise the columns by it."""
    n_rows = len(training.weights)
    drawn = np.random.default_rng(seed).integers(n_rows, size=n_rows)
    weights = np.bincount(drawn, minlength=n_rows) * training.weights
    return code_sample(training._replace(weights=weights), discretizer, max_entries)


class CommonColumn(NamedTuple):
    """A column on the common grid of all bootstraps ("bags").

    ``weights`` are those of the rows with each code, plus a small constant. ``bag_codes`` are, for
    each bag, the bag's codes of the median row of each code of the grid. If bins are merged, one of
    a bag's bins may overlap several codes: ``shares`` are then the parts of each of the bag's codes
    (rows) in each code of the grid (columns); None otherwise.
    """

    coder: Coder
    weights: Doubles
    bag_codes: list[NDArray[np.int64]]
    shares: list[Doubles | None]


def common_cuts(bags: list[Sample], structure: Structure, max_entries: int) -> dict[int, Doubles]:
    """Merge all bags' cut points into one grid per numeric column, by node.

    While a table would be too large, every other cut of its widest column is dropped.
    """
    cuts: dict[int, Doubles] = {}
    for node, coders in enumerate(zip(*(bag.coders for bag in bags), strict=True), CLASS + 1):
        numeric = [coder.cuts for coder in coders if coder.cuts is not None]
        if numeric:
            cuts[node] = np.unique(np.concatenate(numeric))
    n_categories, n_classes = bags[0].rows.nodes.n_categories, bags[0].rows.n_classes
    for node in structure.features:
        family = (node, *structure.others(node))
        while True:
            sizes = {j: len(cuts[j]) + 1 if j in cuts else int(n_categories[j]) for j in family}
            entries = n_classes * int(np.prod(list(sizes.values()), dtype=object))
            cuttable = [j for j in family if j in cuts and sizes[j] > 2]
            if entries <= max_entries or not cuttable:
                break
            widest = max(cuttable, key=lambda j: sizes[j])
            cuts[widest] = cuts[widest][1::2]
    return cuts


def common_column(
    j: int, training: Training, plain: Coder, cuts: Doubles | None, bags: list[Sample]
) -> CommonColumn:
    """Map a column to the common grid, and the grid to each bag's codes.

    The mode of a numeric column is the bin of the median row of the plain mode.
    """
    column, own = training.columns[j], [bag.coders[j] for bag in bags]
    if cuts is None:
        coder, bag_codes = plain, [np.arange(each.n_codes) for each in own]
    else:
        values = column.as_numbers()
        inside = values[plain.code(column) == plain.mode]
        mode = int(np.searchsorted(cuts, np.median(inside))) if len(inside) else 0
        coder, middles = Coder(cuts, mode=mode), _middles(values, cuts)
        bag_cuts = [each.cuts for each in own if each.cuts is not None]
        bag_codes = [np.searchsorted(each, middles, side="left") for each in bag_cuts]
    weights = coder.code_weights(column, training.weights)
    shares: list[Doubles | None] = []
    for each in own:
        if cuts is None or each.cuts is None or set(each.cuts).issubset(cuts):
            shares.append(None)
            continue
        inner, outer = each.code(column), coder.code(column)
        known = outer != MISSING_CODE
        joint = np.zeros((each.n_codes, coder.n_codes))
        np.add.at(joint, (inner[known], outer[known]), training.weights[known])
        joint += 0.5 / joint.size  # a bin without rows is divided evenly
        shares.append(np.asarray(joint / joint.sum(axis=1, keepdims=True)))
    return CommonColumn(coder, weights + 0.5 / len(weights), bag_codes, shares)


def _middles(values: Doubles, cuts: Doubles) -> Doubles:
    """Give the median value of each bin; for an empty bin its right edge."""
    ordered = np.sort(values[~np.isnan(values)])
    ends = np.append(np.searchsorted(ordered, cuts, side="right"), len(ordered))
    starts = np.append(0, ends[:-1])
    edges = np.append(cuts, np.inf)
    if len(ordered) == 0:
        return edges
    return np.where(ends > starts, ordered[np.minimum((starts + ends) // 2, ends - 1)], edges)


def average_table(tables: list[NodeTable], common: dict[int, CommonColumn]) -> NodeTable:
    r"""Pool a node's tables, one from each bag, for all configurations of the common grid.

    A bag's probability of one of its bins is divided among the common bins in proportion to the
    rows in both, of all classes: :math:`P_b(u) = \sum_v P_b(v) m_{uv} / m_v`. The pooled table is
    the normalised geometric mean, :math:`\exp \frac1B \sum_b \log P_b`. A parent's common bin is
    looked up by its median row.
    """
    node, parents = tables[0].node, tables[0].parents
    others, weights = [common[p] for p in parents if p != CLASS], common[node].weights
    sizes = [len(other.weights) for other in others]
    axes = np.indices((*sizes, len(weights) + 1), sparse=True)
    total = np.zeros(1)
    for b, table in enumerate(tables):
        maps = [column.bag_codes[b] for column in others]
        given = [m[axis] for m, axis in zip(maps, axes[:-1], strict=True)]
        overlaps = common[node].shares[b]
        if overlaps is None:
            own = common[node].bag_codes[b]
            within = np.bincount(own, weights=weights)[own]
            shares = np.append(np.log(weights / within), 0.0)
            own = np.append(own, table.n_categories)  # an unseen category
            total = total + table.log_probabilities([own[axes[-1]], *given]) + shares[:, None]
        else:  # merged bins: sum over the parts of the bag's bins
            found = table.log_probabilities([np.arange(table.n_categories + 1), *given])
            parts = np.einsum("...vc,vu->...uc", np.exp(found[..., :-1, :]), overlaps)
            total = total + np.concatenate([np.log(parts), found[..., -1:, :]], axis=-2)
    log_table = total.reshape(-1, len(weights) + 1, total.shape[-1]) / len(tables)
    log_table -= logsumexp(log_table[:, :-1], axis=1, keepdims=True)
    return NodeTable.make(node, parents, sizes, full_grid(sizes), log_table)


def pool_bags(
    bags: list[Sample],
    training: Training,
    plain: Sample,
    smoothing: float,
    by_em: bool,
    structure: Structure,
) -> tuple[FittedNetwork, Doubles]:
    """Fit a structure's tables to each bag, and pool them into one network.

    Also returns the out-of-bag log joint, the mean over the bags that have not drawn a row; NaN
    for rows in all bags.
    """
    n_classes, max_entries = plain.rows.n_classes, plain.rows.max_entries
    cuts = common_cuts(bags, structure, min(max_entries, n_classes * GRID_ENTRIES))
    common = {
        node: common_column(node - CLASS - 1, training, coder, cuts.get(node), bags)
        for node, coder in enumerate(plain.coders, CLASS + 1)
    }
    priors = [fit_prior(bag, smoothing) for bag in bags]
    prior = np.mean(priors, axis=0)
    left_out = [bag.weights == 0 for bag in bags]
    out_of_bag = sum(left[:, None] * own for left, own in zip(left_out, priors, strict=True))
    networks = [fit_expected(training, bag, smoothing, structure) for bag in bags if by_em]
    pooled = []
    for node in structure.features:
        if by_em:
            tables = [network.tables[node - CLASS - 1] for network in networks]
        else:  # node by node, since all tables of all bags may not fit into memory
            tables = [fit_table(bag, node, structure.parents[node], smoothing) for bag in bags]
        pooled.append(average_table(tables, common))
        for bag, left, table in zip(bags, left_out, tables, strict=True):
            likelihood = np.zeros_like(out_of_bag)
            table.add_log_likelihood(bag.rows.nodes.codes, likelihood)
            out_of_bag += left[:, None] * likelihood
    counts = np.sum(left_out, axis=0)[:, None]
    coders = [column.coder for column in common.values()]
    network = FittedNetwork(coders, pooled, prior - logsumexp(prior))
    return network, np.where(counts > 0, out_of_bag / np.maximum(counts, 1), np.nan)


class WeightedScore:
    """An inner ensemble whose views are weighted by the losses of the structure so far.

    The judge is a leave-one-out measure of the rows with their weights.
    """

    def __init__(
        self, ensemble: InnerEnsemble, judge: LeaveOneOutMeasure, weights: Doubles
    ) -> None:
        self.ensemble = ensemble
        self.judge = judge
        self.weights = weights

    def __call__(self, candidates: Candidates) -> Doubles:
        """Score the candidates: (n_extras,)."""
        now = candidates._replace(extras=np.array([NO_EXTRA]))
        difficulty = MIN_DIFFICULTY + self.judge.item_losses(now, 0, self.weights)
        return self.ensemble(candidates, difficulty / np.average(difficulty, weights=self.weights))


@set_module("ensemblage.inner")
@with_shared(NETWORK_DOCS)
class InnerBayesNetClassifier(BaseBayesNet):
    r"""Bayesian network classifier with an inner ensemble (inner Bayesian network).

    In the structure search, the score of a candidate parent is the mean of its scores on many
    samples of the rows (views). For the tables, bootstraps discretise the numeric columns
    separately, fit the tables of the one structure, and are pooled into one table per node. The
    result is a single network for any number of views.

    Parameters
    ----------
    n_views : int, default=30
        Number of samples for each score, and of bootstraps for each table.
    view_size : float or int, default=0.6
        Share (float) or number (int) of rows in each sample.
    replace : bool, default=False
        Sample with replacement. Copies of a row then stay in training when one of them is left
        out, which makes the score optimistic.
    tables : {"ensemble", "plain"}, default="ensemble"
        "ensemble" pools tables over bootstraps, each with its own bins for scores and tables;
        "plain" uses one set of bins and one estimate from all rows, as in the paper.
    combine : {"mean", "median", "boosting"} or callable, default="mean"
        How the views' scores are combined. With "boosting" the views of a decision are scored one
        after the other, with more weight on the rows that the best parent so far predicts badly
        (:class:`InnerEnsemble`); it needs ``search="k2"`` and a leave-one-out criterion.
    views : {"uniform", "weighted"}, default="uniform"
        "weighted" weights the rows of each decision's views by one minus the leave-one-out
        probability of their class, by the structure so far; it needs the search "k2" or "tan".
    sampler : callable or None, default=None
        Function from the number of rows to their weights in each view, an array of shape
        (n_views, n_rows), for instance a :class:`ViewSampler`. Then ``n_views``, ``view_size`` and
        ``replace`` are not used, and there is one bootstrap per view. A view with a weight above a
        million is scaled to weights of at most one. A model with a function of
        your own cannot be saved; one with a ``ViewSampler`` can.
    arc_confidence : bool, default=True
        Also run the search on each view alone, and store the share of views that choose each arc.
        It takes about as long as the search of the ensemble.
    {max_parents, search}
    criterion : {"probability", "accuracy", "log", "k2", "bdeu", "bic"}, default="probability"
        Score that a candidate parent must raise, on the mean over the views.
    {init, order, constraints, smoothing, discretizer, categories, missing}
    calibration : {"temperature"} or None, default="temperature"
        Networks are overconfident: ``"temperature"`` divides their log-odds by a temperature
        fitted to out-of-bag predictions, or to out-of-fold predictions of five folds if tables are
        plain.
    max_entries : int, default=2**24
        Maximal number of entries of a table.
    n_jobs : int, default=None
        Number of columns or bootstraps processed in parallel.
    random_state : int, RandomState instance or None, default=None
        Controls views and bootstraps.

    Attributes
    ----------
    {parents_}
    tables_ : dict of str to ProbabilityTable
        Parents and probabilities of each node.
    {order_, categories_}
    arc_confidence_ : dict of str to dict of str to float
        For each node, the share of the views whose own search chooses each parent; parents that no
        view chooses are listed only if the network has them. Only with ``arc_confidence``.
    cut_points_ : dict of str to ndarray
        Cut points of the numeric columns; for pooled tables those of all bootstraps.
    {temperature_, modes_, class_log_prior_, target_name_, classes_, class_codes_, network_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    ensemblage.bayes.BayesNetClassifier : The same network without an ensemble.
    InnerEnsemble : Inner ensembles in other learners.

    Notes
    -----
    The score is Algorithm 4 of the paper, :math:`\frac1E \sum_e g(D_e)`, with the samples drawn
    once and shared by all candidates. A single view of all rows (``n_views=1``,
    ``view_size=1.0``, ``tables="plain"``) gives the plain network, bit for bit.

    With a temperature T the class has :math:`P(c|x) \propto P(c, x)^{1/T}`. Predicted classes do
    not change. ``predict_proba`` and ``explain`` use the temperature; ``graph`` and its exports
    have the network itself, :math:`P(c, x)`, whose posterior must be raised to the power of 1/T and
    normalised.

    Weighted views multiply the weight of a row in each view by :math:`1.5 - P(y_i | x_i)`,
    divided by its mean, where the probability is a leave-one-out one by the structure so far. In
    boosting, a row's loss is :math:`1 - P(y_i | x_i)` with the candidate that scores highest on the
    view. In both, a row is left out with its whole weight, so that no part of a weight above one
    stays in training. ``arc_confidence_`` is from the views as drawn.

    Pooled tables extend the paper's method to the estimation of the probabilities, which it leaves
    open. They are most of the gain in accuracy; the inner score alone is not significantly better
    than the plain one.

    Random draws and folds are by position: another order of rows, or copies of rows instead of
    weights, gives another model of similar accuracy.

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.inner import InnerBayesNetClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> network = InnerBayesNetClassifier(random_state=0).fit(X, y)
    >>> network.parents_["petal width (cm)"]
    ['target']
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **BaseBayesNet._parameter_constraints,  # noqa: SLF001
        "n_views": [Interval(Integral, 1, None, closed="left")],
        "view_size": [
            Interval(Real, 0, None, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "replace": ["boolean"],
        "tables": [StrOptions({"ensemble", "plain"})],
        "combine": [StrOptions({*COMBINATIONS, BOOSTING} - {"vote"}), callable],
        "views": [StrOptions({"uniform", "weighted"})],
        "sampler": [callable, None],
        "random_state": ["random_state"],
        "arc_confidence": ["boolean"],
    }

    def __init__(
        self,
        n_views: int = 30,
        *,
        view_size: float = 0.6,
        replace: bool = False,
        tables: str = "ensemble",
        combine: Any = "mean",
        views: str = "uniform",
        sampler: Callable[[int], Any] | None = None,
        arc_confidence: bool = True,
        max_parents: int | None = 3,
        search: str = "k2",
        criterion: str = "probability",
        init: str = "naive",
        order: Any = None,
        constraints: NetworkConstraints | None = None,
        smoothing: float = 0.5,
        discretizer: str | None = "mdlp",
        categories: Any = "auto",
        missing: str = "mode",
        calibration: str | None = "temperature",
        max_entries: int = MAX_ENTRIES,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            max_parents, search=search, criterion=criterion, init=init, order=order,
            constraints=constraints, smoothing=smoothing, discretizer=discretizer,
            categories=categories, missing=missing, calibration=calibration,
            max_entries=max_entries, n_jobs=n_jobs,
        )  # fmt: skip
        self.n_views = n_views
        self.view_size = view_size
        self.replace = replace
        self.tables = tables
        self.combine = combine
        self.views = views
        self.sampler = sampler
        self.arc_confidence = arc_confidence
        self.random_state = random_state

    def _learn(
        self, training: Training, space: SearchSpace, step: Callable[[], bool]
    ) -> tuple[Structure, list[Structure], FittedNetwork, Doubles | None]:
        """Reject combinations of parameters that have no meaning, then learn."""
        if self.views == "weighted" and self.search not in {"k2", "tan"}:
            raise ValueError(
                "views='weighted' weights the views by the structure so far, but "
                f"search={self.search!r} compares scores of several structures in one decision. "
                "Set search to 'k2' or 'tan', or views to 'uniform'."
            )
        if self.combine == BOOSTING and self.search != "k2":
            raise ValueError(
                "combine='boosting' scores all candidates of a decision together, as "
                f"search='k2' does, got search={self.search!r}. Set search to 'k2', or combine to "
                "'mean'."
            )
        if self.combine == BOOSTING and space.local:
            raise ValueError(
                "combine='boosting' needs a leave-one-out criterion, which predicts each row's "
                f"class, got criterion={self.criterion!r}. Set criterion to 'probability', "
                "'accuracy' or 'log', or combine to 'mean'."
            )
        return super()._learn(training, space, step)

    def _plan(self, training: Training, sample: Sample) -> tuple[Score, Estimate, list[Score]]:
        """Score by views; estimate tables by bootstraps with separate bins."""
        n_rows = len(training.weights)
        drawn = None if self.sampler is None else sample_views(self.sampler, n_rows)
        n_views = self.n_views if drawn is None else len(drawn)
        seeds = draw_seeds(self.random_state, 2 * n_views)
        if drawn is None:
            views = draw_views(n_rows, seeds[:n_views], self.view_size, self.replace)
        else:
            largest = drawn.max(axis=1, keepdims=True)
            views = np.where(largest > MAX_WEIGHT, drawn / largest, drawn)
        reweighted = self.views == "weighted" or self.combine == BOOSTING
        make = partial(make_measure, criterion_of(self), smoothing=self.smoothing,
                       importance=reweighted)  # fmt: skip
        measure: Any = make(sample.rows)
        estimate: Estimate = lambda structure: (  # noqa: E731
            self._estimate(training, sample, structure),
            None,
        )
        if self.tables == "ensemble":
            bootstraps = seeds[n_views:]
            tasks = [(training, self.discretizer, self.max_entries, seed) for seed in bootstraps]
            bags = run_tasks(draw_bag, tasks, self.n_jobs)
            by_em = self.missing == "em"
            estimate = partial(pool_bags, bags, training, sample, self.smoothing, by_em)
            if any(coder.cuts is not None for coder in sample.coders):
                measure = MeasurePerView([make(bag.rows) for bag in bags])
        ensemble = InnerEnsemble(measure, lambda _: views * training.weights, self.combine)
        score: Score = ensemble
        if self.views == "weighted":
            judge = LeaveOneOutMeasure(sample.rows, PROBABILITY, self.smoothing, importance=True)
            score = WeightedScore(ensemble, judge, training.weights)
        return score, estimate, ensemble.view_scores() if self.arc_confidence else []

    def _store(
        self,
        training: Training,
        space: SearchSpace,
        structure: Structure,
        network: FittedNetwork,
        view_structures: list[Structure],
    ) -> None:
        """Set the fitted attributes, with the share of the views that have each arc."""
        super()._store(training, space, structure, network, view_structures)
        if hasattr(self, "arc_confidence_"):
            del self.arc_confidence_  # of an earlier fit
        if not self.arc_confidence:
            return
        self.arc_confidence_: dict[str, dict[str, float]] = {}
        names, n_views = training.names, max(len(view_structures), 1)
        for node, name in enumerate(names):
            votes = Counter(parent for each in view_structures for parent in each.parents[node])
            votes.update(dict.fromkeys(structure.parents[node], 0))
            self.arc_confidence_[name] = {names[p]: votes[p] / n_views for p in sorted(votes)}
