"""A Bayesian network whose structure and tables are a crowd's decision."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from ensemblage.bayes import MAX_ENTRIES, BaseBayesNet, Plan, Sample, Training
from ensemblage.inner._crowd_tables import VoicesMeasure, draw_bag, pool_bags
from ensemblage.inner._inner_ensemble import COMBINATIONS, InnerEnsemble
from ensemblage.inner._views import draw_views
from ensemblage.parallel import draw_seeds, run_tasks


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
    view_size : float or int, default=0.3
        Share (float) or number (int) of rows in each sample.
    replace : bool, default=False
        Sample with replacement. A row's copies then stay in training when one of them is left
        out, which makes the score optimistic.
    tables : {"ensemble", "plain"}, default="ensemble"
        Pooled tables, with each bootstrap's own bins behind scores and tables; or one set of bins
        and one estimate from all rows, as in the paper.
    combine : {"mean", "median"} or callable, default="mean"
        How the views' scores are combined.
    max_parents : int or None, default=3
        Upper bound on each feature's parents, the class included; None for no bound.
    init : {"naive", "empty"}, default="naive"
        Where the search starts.
    criterion : {"probability", "accuracy", "log", "k2", "bdeu", "bic"}, default="probability"
        What a candidate parent must raise, on the mean over the views.
    smoothing : float, default=0.5
        Added to each count of a table.
    order : array-like of str or int, default=None
        Features by name or position, each once. None for the columns' order.
    discretizer : {"mdlp", None}, default="mdlp"
        How numbers become categories; None takes each number as a category of its own.
    missing : {"mode", "marginal"}, default="mode"
        At prediction, a gap is filled with the column's mode, or summed over.
    max_entries : int, default=2**24
        Cap on the entries of a table.
    random_state : int, RandomState instance or None, default=None
        For views and bootstraps.
    n_jobs : int, default=None
        Columns or bootstraps at the same time.

    Attributes
    ----------
    parents_ : dict of str to list of str
        Parents of each node, in the order in which they were added.
    tables_ : dict of str to ProbabilityTable
        Parents and probabilities of each node.
    order_ : list of str
        The class, then the features in the order of the search.
    categories_ : dict of str to list
        What each node's codes stand for.
    cut_points_ : dict of str to ndarray
        Cut points of the numeric columns: all the bootstraps', for pooled tables.
    modes_ : ndarray of shape (n_features,)
        Code that fills a gap.
    class_log_prior_ : ndarray of shape (n_classes,)
        Log probability of each class, in the order of ``categories_``.
    target_name_ : str
        Name of the class.
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    class_codes_ : ndarray of shape (n_classes,)
        Position of each of them in ``categories_``.
    network_ : object
        What prediction reads: how columns become codes, and all tables.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if they have any.

    See Also
    --------
    ensemblage.bayes.BayesNetClassifier : The same network without a crowd.
    InnerEnsemble : The building block.

    Notes
    -----
    The score is Algorithm 4 of the paper, :math:`\frac1E \sum_e g(D_e)`, with the samples drawn
    once and shared by all candidates. A single view of all rows (``n_views=1``,
    ``view_size=1.0``, ``tables="plain"``) gives the plain network, bit for bit.

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
    }

    def __init__(
        self,
        n_views: int = 30,
        view_size: float = 0.3,
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

    def _plan(self, training: Training, sample: Sample) -> Plan:
        """Let views score; let bootstraps, on bins of their own, make the tables."""
        plain = super()._plan(training, sample)
        if sample.rows.one_class():
            return plain
        seeds = draw_seeds(self.random_state, 2 * self.n_views)
        views, bootstraps = seeds[: self.n_views], seeds[self.n_views :]

        def sampler(n_rows: int) -> NDArray[np.float64]:
            return draw_views(n_rows, views, self.view_size, self.replace) * training.weights

        measure: Any = self._measure(sample.rows)
        if self.tables == "plain":
            return plain._replace(score=InnerEnsemble(measure, sampler, self.combine))
        tasks = [(training, self.discretizer, self.max_entries, seed) for seed in bootstraps]
        bags = run_tasks(draw_bag, tasks, self.n_jobs)
        if any(coder.cuts is not None for coder in sample.coders):
            measure = VoicesMeasure([self._measure(bag.rows) for bag in bags])
        return Plan(
            InnerEnsemble(measure, sampler, self.combine),
            partial(pool_bags, bags, training, sample, self.smoothing),
        )
