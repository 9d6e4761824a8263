"""A Bayesian network whose structure and tables are a crowd's decision.

Views score the candidates of the search. Bootstraps refit bins and tables, and are averaged on one
grid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from ensemblage.bayes import (
    MAX_ENTRIES,
    NETWORK_DOCS,
    BaseBayesNet,
    Found,
    Learned,
    NetworkConstraints,
    Plan,
    Sample,
    SearchSpace,
    Structure,
    Training,
    criterion_of,
    make_measure,
)
from ensemblage.inner._crowd_tables import draw_bag, pool_bags
from ensemblage.inner._inner_ensemble import (
    COMBINATIONS,
    InnerEnsemble,
    VoicesMeasure,
    draw_weighted_views,
)
from ensemblage.messages import with_shared
from ensemblage.parallel import draw_seeds, run_tasks


def count_arcs(found: Found, names: list[str]) -> dict[str, dict[str, float]]:
    """Give, by node and parent, the share of structures that have the arc."""
    shares: dict[str, dict[str, float]] = {}
    for node, name in enumerate(names):
        votes = Counter(parent for each in found.chosen for parent in each.parents[node])
        votes.update(dict.fromkeys(found.structure.parents[node], 0))
        most = max(len(found.chosen), 1)
        shares[name] = {names[parent]: votes[parent] / most for parent in sorted(votes)}
    return shares


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
    {max_parents, init}
    criterion : {"probability", "accuracy", "log", "k2", "bdeu", "bic"}, default="probability"
        What a candidate parent must raise, on the mean over the views.
    {smoothing, order, discretizer, missing}
    max_entries : int, default=2**24
        Cap on the entries of a table.
    random_state : int, RandomState instance or None, default=None
        For views and bootstraps.
    n_jobs : int, default=None
        Columns or bootstraps at the same time.
    {categories}
    calibration : {"temperature"} or None, default="temperature"
        Networks are too sure of themselves: ``"temperature"`` divides their log odds by a number
        learned from rows that the bootstraps have left out, or in five folds where tables are
        plain.
    {search, constraints}
    arc_confidence : bool, default=True
        Let each view search alone as well, and keep how many of them choose each arc. That takes
        about as long as the crowd's own search.

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
        view_size: float = 0.6,
        replace: bool = False,
        tables: str = "ensemble",
        combine: Any = "mean",
        max_parents: int | None = 3,
        init: str = "naive",
        criterion: str = "probability",
        smoothing: float = 0.5,
        order: Any = None,
        discretizer: str | None = "mdlp",
        missing: str = "mode",
        max_entries: int = MAX_ENTRIES,
        random_state: Any = None,
        n_jobs: int | None = None,
        categories: Any = "auto",
        calibration: str | None = "temperature",
        search: str = "k2",
        constraints: NetworkConstraints | None = None,
        arc_confidence: bool = True,
    ) -> None:
        self.n_views = n_views
        self.view_size = view_size
        self.replace = replace
        self.tables = tables
        self.combine = combine
        self.max_parents = max_parents
        self.init = init
        self.criterion = criterion
        self.smoothing = smoothing
        self.order = order
        self.discretizer = discretizer
        self.missing = missing
        self.max_entries = max_entries
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.categories = categories
        self.calibration = calibration
        self.search = search
        self.constraints = constraints
        self.arc_confidence = arc_confidence

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
