"""A Bayesian network whose every decision is an ensemble's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.utils._param_validation import Interval, StrOptions

from ensemblage._core import draw_seeds, run_tasks, set_module, with_shared
from ensemblage.bayes import (
    CLASS,
    MAX_ENTRIES,
    NETWORK_DOCS,
    BaseBayesNet,
    Coder,
    Estimation,
    FittedNetwork,
    Found,
    Grid,
    Learned,
    NetworkConstraints,
    NodeTable,
    Plan,
    Sample,
    SearchSpace,
    Structure,
    Training,
    code_sample,
    criterion_of,
    fit_prior,
    make_measure,
)
from ensemblage.datasets import MISSING_CODE, Column
from ensemblage.inner._inner_ensemble import (
    COMBINATIONS,
    InnerEnsemble,
    VoicesMeasure,
    draw_weighted_views,
)

Doubles = NDArray[np.float64]


GRID_ENTRIES = 2**14
"""A table on the common grid has at most so many entries per class; bins are merged beyond."""


def draw_bag(training: Training, discretizer: str | None, max_entries: int, seed: int) -> Sample:
    """Draw a bootstrap, and cut the columns by it."""
    n_rows = len(training.weights)
    drawn = np.random.default_rng(seed).integers(n_rows, size=n_rows)
    weights = np.bincount(drawn, minlength=n_rows) * training.weights
    return code_sample(training._replace(weights=weights), discretizer, max_entries)


class CommonColumn(NamedTuple):
    """A column on the grid of all bags.

    The masses are the weight of the rows with each code, a little above zero if there is none;
    ``bag_codes`` say, for each bag, which of its codes the middle row of each code of the grid
    has. Where bins are merged, a code may lie in several of a bag's: ``shares`` then say how much
    of each of the bag's codes (rows) lies in each of the grid's (columns); None for the others.
    """

    coder: Coder
    masses: Doubles
    bag_codes: list[NDArray[np.int64]]
    shares: list[Doubles | None]


def common_cuts(bags: list[Sample], structure: Structure, max_entries: int) -> dict[int, Doubles]:
    """Put all bags' cut points on one grid per numeric column, by node.

    Every other cut is left out of the widest column of a table that would be too large.
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


def common_coders(training: Training, plain: Sample, cuts: dict[int, Doubles]) -> dict[int, Coder]:
    """Make the coders of the common grid, by node.

    A number's mode is where the middle row of the plain mode lies.
    """
    coders = {}
    for node, (column, coder) in enumerate(
        zip(training.columns, plain.coders, strict=True), CLASS + 1
    ):
        coders[node] = coder
        if node in cuts:
            inside = column.as_numbers()[coder.code(column) == coder.mode]
            mode = int(np.searchsorted(cuts[node], np.median(inside))) if len(inside) else 0
            coders[node] = Coder(cuts[node], mode=mode)
    return coders


def common_columns(
    bags: list[Sample], training: Training, coders: dict[int, Coder]
) -> dict[int, CommonColumn]:
    """Count the rows on the common grid, and find it in each bag's, by node."""
    common = {}
    for j, (node, coder) in enumerate(coders.items()):
        column = training.columns[j]
        masses = coder.masses(column, training.weights)
        own = [bag.coders[j] for bag in bags]
        common[node] = CommonColumn(
            coder,
            masses + 0.5 / len(masses),
            _bag_codes(column, coder, own),
            [_overlaps(column, training.weights, bag, coder) for bag in own],
        )
    return common


def _bag_codes(column: Column, common: Coder, bags: list[Coder]) -> list[NDArray[np.int64]]:
    """Find the bags' codes of each code on the common grid."""
    if common.cuts is None:
        return [np.arange(bag.n_codes) for bag in bags]
    middles = _middles(column.as_numbers(), common.cuts)
    cuts = [bag.cuts for bag in bags if bag.cuts is not None]
    return [np.searchsorted(each, middles, side="left") for each in cuts]


def _middles(values: Doubles, cuts: Doubles) -> Doubles:
    """Give the middle value inside each bin; where there is none, the bin's right edge."""
    ordered = np.sort(values[~np.isnan(values)])
    ends = np.append(np.searchsorted(ordered, cuts, side="right"), len(ordered))
    starts = np.append(0, ends[:-1])
    edges = np.append(cuts, np.inf)
    if len(ordered) == 0:
        return edges
    return np.where(ends > starts, ordered[np.minimum((starts + ends) // 2, ends - 1)], edges)


def _overlaps(column: Column, weights: Doubles, bag: Coder, common: Coder) -> Doubles | None:
    """Tell how much of each of a bag's bins lies in each common one, by the rows in both."""
    if bag.cuts is None or common.cuts is None or set(bag.cuts).issubset(common.cuts):
        return None
    inner, outer = bag.code(column), common.code(column)
    known = outer != MISSING_CODE
    joint = np.zeros((bag.n_codes, common.n_codes))
    np.add.at(joint, (inner[known], outer[known]), weights[known])
    joint += 0.5 / joint.size  # a bin without rows is shared out evenly
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def average_table(tables: list[NodeTable], common: dict[int, CommonColumn]) -> NodeTable:
    r"""Pool a node's tables, one from each bag, for all configurations of the common grid.

    A bag's probability of one of its bins is shared out among the common bins by the rows in
    both, whatever their class: :math:`P_b(u) = \sum_v P_b(v) m_{uv} / m_v`. The pool is
    :math:`\exp \frac1B \sum_b \log P_b`, made to add up to one. A parent's common bin is looked
    up where its middle row lies.
    """
    node, parents = tables[0].node, tables[0].parents
    others, masses = [common[parent] for parent in parents if parent != CLASS], common[node].masses
    grid = Grid.full([len(other.masses) for other in others])
    axes = np.indices((*grid.sizes, len(masses) + 1), sparse=True)
    total = np.zeros(1)
    for b, table in enumerate(tables):
        maps = [column.bag_codes[b] for column in others]
        given = [m[axis] for m, axis in zip(maps, axes[:-1], strict=True)]
        if common[node].shares[b] is None:
            own = common[node].bag_codes[b]
            within = np.bincount(own, weights=masses)[own]
            shares = np.append(np.log(masses / within), 0.0)
            own = np.append(own, table.n_categories)  # a value never seen
            total = total + table.log_probabilities([own[axes[-1]], *given]) + shares[:, None]
        else:
            total = total + _merged(table, given, common[node].shares[b])
    log_table = total.reshape(-1, len(masses) + 1, total.shape[-1]) / len(tables)
    log_table -= logsumexp(log_table[:, :-1], axis=1, keepdims=True)
    return NodeTable.make(node, parents, grid, log_table)


class LeftRows:
    """What bags say of the rows that they have not drawn, node by node, in the log mean."""

    def __init__(self, bags: list[Sample], priors: list[Doubles]) -> None:
        self.bags = bags
        self.left = [bag.weights == 0 for bag in bags]
        self.total = sum(
            left[:, None] * prior for left, prior in zip(self.left, priors, strict=True)
        )

    def hear(self, tables: list[NodeTable]) -> None:
        """Add the tables of one node, one from each bag."""
        for bag, left, table in zip(self.bags, self.left, tables, strict=True):
            said = np.zeros_like(self.total)
            table.add_log_likelihood(bag.rows.nodes.codes, said)
            self.total += left[:, None] * said

    def mean(self) -> Doubles:
        """Give the mean over the bags that have left a row; NaN where none has."""
        counts = np.sum(self.left, axis=0)[:, None]
        return np.where(counts > 0, self.total / np.maximum(counts, 1), np.nan)


def _merged(table: NodeTable, given: list[NDArray[np.int64]], shares: Any) -> Doubles:
    """Look a bag's table up for merged bins: the sum over its own bins' parts of them."""
    own = np.arange(table.n_categories + 1)
    found = table.log_probabilities([own, *given])
    parts = np.einsum("...vc,vu->...uc", np.exp(found[..., :-1, :]), shares)
    return np.concatenate([np.log(parts), found[..., -1:, :]], axis=-2)


def pool_bags(
    bags: list[Sample],
    training: Training,
    plain: Sample,
    estimation: Estimation,
    structure: Structure,
) -> Learned:
    """Fit a structure's tables to each bag, and pool them into one network."""
    n_classes, max_entries = plain.rows.n_classes, plain.rows.max_entries
    cuts = common_cuts(bags, structure, min(max_entries, n_classes * GRID_ENTRIES))
    coders = common_coders(training, plain, cuts)
    common = common_columns(bags, training, coders)
    priors = [fit_prior(bag, estimation.smoothing) for bag in bags]
    prior = np.mean(priors, axis=0)
    left = LeftRows(bags, priors)
    fitted = [estimation.tables(training, bag, structure) for bag in bags]
    pooled = []
    for node in structure.features:
        tables = [table_of(node) for table_of in fitted]
        pooled.append(average_table(tables, common))
        left.hear(tables)
    return Learned(FittedNetwork([*coders.values()], pooled, prior - logsumexp(prior)), left.mean())


def count_arcs(found: Found, names: list[str]) -> dict[str, dict[str, float]]:
    """Give, by node and parent, the share of structures that have the arc."""
    shares: dict[str, dict[str, float]] = {}
    for node, name in enumerate(names):
        votes = Counter(parent for each in found.chosen for parent in each.parents[node])
        votes.update(dict.fromkeys(found.structure.parents[node], 0))
        most = max(len(found.chosen), 1)
        shares[name] = {names[parent]: votes[parent] / most for parent in sorted(votes)}
    return shares


@set_module("ensemblage.inner")
@with_shared(NETWORK_DOCS)
class InnerBayesNetClassifier(BaseBayesNet):
    r"""Bayesian network classifier with inner ensembles.

    Each decision of K2 is taken by a crowd: the score of a candidate parent is the mean of its
    scores on many samples of the rows. The tables are a crowd's too: bootstraps cut numbers
    into bins of their own, refit the tables of the one structure, and are pooled into one table
    per node. What comes out is a single network, to be read and to predict with, whatever the
    size of the crowd.

    Parameters
    ----------
    n_views : int, default=30
        Size of the crowd: samples behind each score, and bootstraps behind each table.
    view_size : float or int, default=0.6
        Share (float) or number (int) of rows in each sample.
    replace : bool, default=False
        Sample with replacement. A row's copies then stay in training when one of them is left
        out, which makes the score optimistic.
    tables : {"ensemble", "plain"}, default="ensemble"
        Pooled tables, with each bootstrap's own bins behind scores and tables; or one set of bins
        and one estimate from all rows, as in the paper.
    combine : {"mean", "median"} or callable, default="mean"
        How the views' scores are combined.
    arc_confidence : bool, default=True
        Let each view search alone as well, and keep how many of them choose each arc. That takes
        about as long as the crowd's own search.
    {max_parents, search}
    criterion : {"probability", "accuracy", "log", "k2", "bdeu", "bic"}, default="probability"
        What a candidate parent must raise, on the mean over the views.
    {init, order, constraints, smoothing, discretizer, categories, missing}
    calibration : {"temperature"} or None, default="temperature"
        Networks are too sure of themselves: ``"temperature"`` divides their log odds by a number
        learned from rows that the bootstraps have left out, or in five folds where tables are
        plain.
    max_entries : int, default=2**24
        Cap on the entries of a table.
    n_jobs : int, default=None
        Columns or bootstraps at the same time.
    random_state : int, RandomState instance or None, default=None
        For views and bootstraps.

    Attributes
    ----------
    {parents_}
    tables_ : dict of str to ProbabilityTable
        Parents and probabilities of each node.
    {order_, categories_}
    arc_confidence_ : dict of str to dict of str to float
        For each node, the share of the views that choose each parent when they search alone;
        parents that none chooses are not listed unless the network has them. Only with
        ``arc_confidence``.
    cut_points_ : dict of str to ndarray
        Cut points of the numeric columns: all the bootstraps', for pooled tables.
    {temperature_, modes_, class_log_prior_, target_name_, classes_, class_codes_, network_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    ensemblage.bayes.BayesNetClassifier : The same network without a crowd.
    InnerEnsemble : The building block.

    Notes
    -----
    The score is Algorithm 4 of the paper, :math:`\frac1E \sum_e g(D_e)`, with the samples drawn
    once and shared by all candidates. A single view of all rows (``n_views=1``,
    ``view_size=1.0``, ``tables="plain"``) gives the plain network, bit for bit.

    With a temperature T the class has :math:`P(c|x) \propto P(c, x)^{1/T}`. Decisions stay as
    they are; ``predict_proba`` and ``explain`` agree; ``graph`` and its exports hold the network
    itself, :math:`P(c, x)`, whose posterior is to be raised to the power of 1/T.

    Pooled tables answer the paper's open question of inner ensembles for the second part of
    learning, the probabilities. They are most of the gain in accuracy; the inner score by
    itself is not significantly better than the plain one.

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
        "combine": [StrOptions(set(COMBINATIONS) - {"vote"}), callable],
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
        self.n_views = n_views
        self.view_size = view_size
        self.replace = replace
        self.tables = tables
        self.combine = combine
        self.arc_confidence = arc_confidence
        self.max_parents = max_parents
        self.search = search
        self.criterion = criterion
        self.init = init
        self.order = order
        self.constraints = constraints
        self.smoothing = smoothing
        self.discretizer = discretizer
        self.categories = categories
        self.missing = missing
        self.calibration = calibration
        self.max_entries = max_entries
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _plan(self, training: Training, sample: Sample) -> Plan:
        """Let views score; let bootstraps, on bins of their own, make the tables."""
        seeds = draw_seeds(self.random_state, 2 * self.n_views)
        sampler = partial(
            draw_weighted_views,
            weights=training.weights,
            seeds=seeds[: self.n_views],
            view_size=self.view_size,
            replace=self.replace,
        )
        criterion = criterion_of(self)
        measure: Any = make_measure(criterion, sample.rows, self.smoothing)
        learn: Callable[[Structure], Learned] = lambda structure: Learned(  # noqa: E731
            self._estimation.network(training, sample, structure)
        )
        if self.tables == "ensemble":
            bootstraps = seeds[self.n_views :]
            tasks = [(training, self.discretizer, self.max_entries, seed) for seed in bootstraps]
            bags = run_tasks(draw_bag, tasks, self.n_jobs)
            learn = partial(pool_bags, bags, training, sample, self._estimation)
            if any(coder.cuts is not None for coder in sample.coders):
                measure = VoicesMeasure(
                    [make_measure(criterion, bag.rows, self.smoothing) for bag in bags]
                )
        crowd = InnerEnsemble(measure, sampler, self.combine)
        return Plan(crowd, learn, crowd.voices() if self.arc_confidence else ())

    def _store(self, training: Training, space: SearchSpace, found: Found) -> None:
        """Set the fitted attributes, with the crowd's votes on arcs."""
        super()._store(training, space, found)
        if hasattr(self, "arc_confidence_"):
            del self.arc_confidence_  # of an earlier fit
        if self.arc_confidence:
            self.arc_confidence_: dict[str, dict[str, float]] = count_arcs(found, training.names)
