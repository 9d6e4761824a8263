"""The plain Bayesian network classifier."""

from __future__ import annotations

from typing import Any

from ensemblage.bayes._arc_constraints import NetworkConstraints
from ensemblage.bayes._base import BaseBayesNet
from ensemblage.bayes._network_words import NETWORK_DOCS
from ensemblage.bayes._probability_table import MAX_ENTRIES
from ensemblage.messages import with_shared


@with_shared(NETWORK_DOCS)
class BayesNetClassifier(BaseBayesNet):
    r"""Bayesian network classifier learned by K2 or another search.

    Numeric columns are cut into bins (:class:`MDLPDiscretizer`), gaps are filled with the
    column's mode, and each feature in turn takes the parents, among the class and the features
    before it, that raise the score most. The result is a network that can be read: a handful of
    arrows, and a table of probabilities for each node.

    Parameters
    ----------
    {max_parents, init}
    criterion : {"probability", "accuracy", "log", "k2", "bdeu", "bic"}, default="probability"
        What a candidate parent must raise. The first three judge the whole network by leaving
        each row out of its own tables: mean probability of the true class, share of rows whose
        class is most probable, or mean log probability. The others are local scores, which look
        at one node and do not know that a classifier is wanted: the marginal likelihood with a
        uniform prior (Cooper and Herskovits), with a BDeu prior of sample size one, or BIC.
    {smoothing, order, discretizer, missing}
    max_entries : int, default=2**24
        Cap on the entries of a table; :class:`EntryCapError` names the table that would exceed it.
    n_jobs : int, default=None
        Columns cut into bins at the same time.
    {categories}
    calibration : {"temperature"} or None, default="temperature"
        Networks are too sure of themselves: ``"temperature"`` divides their log odds by a number
        learned in five folds, in which bins and tables of the one structure are fitted again;
        above 2,000 rows in fewer, one from 10,000 rows on. Decisions stay as they are.
    {search, constraints}

    Attributes
    ----------
    {parents_}
    tables_ : dict of str to ProbabilityTable
        Parents and probabilities of each node, for the configurations of the parents' values
        that occurred, as codes. Others are uniform.
    {order_, categories_}
    cut_points_ : dict of str to ndarray
        Cut points of the numeric columns.
    {temperature_, modes_, class_log_prior_, target_name_, classes_, class_codes_, network_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    ensemblage.inner.InnerBayesNetClassifier : The same search with a crowd behind each score.
    MDLPDiscretizer : The bins on their own.

    Notes
    -----
    A table holds :math:`(n + \alpha) / (N + \alpha r)` for each of :math:`r` categories,
    declared ones included. The leave-one-out score (Algorithm 3 of the paper) takes a row out
    of its own entries only. A parent must raise the score by more than 1e-10; of equal
    candidates the earliest wins. With a single class or row the network stays empty and
    predicts the prior.

    With a temperature T the class has :math:`P(c|x) \propto P(c, x)^{1/T}`. ``predict_proba``,
    sums over gaps and ``explain`` agree; ``graph`` and its exports hold the network itself,
    :math:`P(c, x)`, whose posterior is to be raised to the power of 1/T and made to add up to one.

    Rows with an integer weight count as so many rows, and one of them is
    left out at a time; a weight below one is left out whole.

    References
    ----------
    G. Cooper, E. Herskovits. A Bayesian method for the induction of probabilistic networks from
    data. Machine Learning 9, 1992.

    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensemblage.bayes import BayesNetClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> network = BayesNetClassifier().fit(X, y)
    >>> network.parents_["petal width (cm)"]
    ['target']
    >>> round(network.score(X, y), 2)
    0.95
    """

    def __init__(
        self,
        max_parents: int | None = 3,
        init: str = "naive",
        criterion: str = "probability",
        smoothing: float = 0.5,
        order: Any = None,
        discretizer: str | None = "mdlp",
        missing: str = "mode",
        max_entries: int = MAX_ENTRIES,
        n_jobs: int | None = None,
        categories: Any = "auto",
        calibration: str | None = "temperature",
        search: str = "k2",
        constraints: NetworkConstraints | None = None,
    ) -> None:
        self.max_parents = max_parents
        self.init = init
        self.criterion = criterion
        self.smoothing = smoothing
        self.order = order
        self.discretizer = discretizer
        self.missing = missing
        self.max_entries = max_entries
        self.n_jobs = n_jobs
        self.categories = categories
        self.calibration = calibration
        self.search = search
        self.constraints = constraints
