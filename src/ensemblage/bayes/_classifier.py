"""Bayesian network classifiers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from numbers import Integral, Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ensemblage._core import (
    CallbackSupportMixin,
    DocLinkMixin,
    Interval,
    StrOptions,
    deal_folds,
    expect,
    expect_fitted,
    fit_context,
    fit_progress,
    guarded_fit,
    set_module,
    with_callbacks,
    with_shared,
)
from ensemblage.bayes._coding import (
    MAX_ENTRIES,
    ProbabilityTable,
    Sample,
    Training,
    code_columns,
    code_sample,
    fill_missing,
    read_training,
)
from ensemblage.bayes._network import BayesNetwork
from ensemblage.bayes._score_kernels import CLASS
from ensemblage.bayes._search import (
    GLOBAL_CRITERIA,
    LOCAL_CRITERIA,
    SEARCHES,
    NetworkConstraints,
    Score,
    SearchSpace,
    Structure,
    criterion_of,
    make_measure,
    plan_search,
)
from ensemblage.bayes._tables import (
    FittedNetwork,
    fit_expected,
    fit_network,
    fit_temperature,
    marginal_log_joint,
)
from ensemblage.datasets import MISSING_CODE, read_features

Doubles: TypeAlias = NDArray[np.float64]
Estimate: TypeAlias = Callable[[Structure], tuple[FittedNetwork, Doubles | None]]
"""Function from a structure to a network and the out-of-bag log joint of the training rows.

The latter, of shape (n_rows, n_classes), is None without bootstraps, and NaN for rows that are in
all of them.
"""
FITTED = {
    "classes_": "labels (classes)",
    "class_codes_": "integer (classes) 0..<classes",
    "class_log_prior_": "float (classes) ..0",
    "modes_": "integer (features)",
    "order_": "strings (nodes)",
    "temperature_": "number",
    "target_name_": "string",
    "parents_": "dict",
    "categories_": "dict",
    "cut_points_": "dict",
}
N_FOLDS = 5
"""Folds in which a network without bootstraps is calibrated."""
CALIBRATION_ROWS = 2000
"""Out-of-fold rows that suffice for a temperature; with more rows fewer folds are fitted."""
NETWORK_DOCS = """
max_parents : int or None, default=3
    Maximal number of parents of each feature, including the class; None for no limit.
init : {"naive", "empty"}, default="naive"
    Initial network: the class as the parent of every feature, or no arcs.
search : {"k2", "tan", "hill-climbing", "tabu"}, default="k2"
    Structure search. ``"k2"`` takes a feature's parents from those before it in ``order``.
    ``"tan"`` is tree-augmented naive Bayes: each feature has the class and one more parent, in the
    tree with the largest conditional mutual information; ``criterion`` and ``init`` are ignored.
    ``"hill-climbing"`` makes the best addition, removal or reversal of one arc at a time;
    ``"tabu"`` continues from there, also with moves that lower the score, until ten consecutive
    moves have found no better structure.
constraints : NetworkConstraints or None, default=None
    Required arcs, forbidden arcs, and tiers of nodes.
smoothing : float, default=0.5
    Additive smoothing: added to each count of a table.
order : array-like of str or int, default=None
    Features by name or position, each once. K2 takes a feature's parents from those before it;
    the other searches use the order to resolve ties. None for the order of the columns, with
    earlier tiers and required parents first.
discretizer : {"mdlp", None}, default="mdlp"
    Discretisation of numeric columns; None takes each distinct value as a category.
missing : {"mode", "marginal", "em"}, default="mode"
    In training, missing values are filled with the column's mode; ``"em"`` does so for the search
    only, and estimates the tables by expectation-maximisation. At prediction, they are filled with
    the mode, or marginalised ("marginal", "em").
categories : "auto", list or dict, default="auto"
    Categories of columns whose type does not declare them, including those that do not occur: a
    list with one entry per column (None for "auto"), or a dict by column name. With the name of the
    target ("class" if it has none) a dict declares classes; otherwise they are those that occur.
temperature_ : float
    Temperature by which the log joint of class and row is divided before normalisation; 1 without
    calibration.
parents_ : dict of str to list of str
    Parents of each node, in the order in which they were added.
order_ : list of str
    The class, then the features in the order of the search, parents before children.
categories_ : dict of str to list
    Categories or bins of each node, by code.
modes_ : ndarray of shape (n_features,)
    Code that fills a missing value.
class_log_prior_ : ndarray of shape (n_classes,)
    Log probability of each class, in the order of ``categories_``.
target_name_ : str
    Name of the class: that of ``y``, or "class".
classes_ : ndarray of shape (n_classes,)
    Classes, sorted; those that a categorical ``y`` declares, even if they do not occur.
class_codes_ : ndarray of shape (n_classes,)
    Position of each class in ``categories_``.
network_ : object
    Coding of the columns and all tables, used at prediction.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features,)
    Names of the features, if they have any.
"""


class BaseBayesNet(CallbackSupportMixin, ClassifierMixin, DocLinkMixin, BaseEstimator):
    """Base class of Bayesian network classifiers; subclasses may override score and estimate."""

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "max_parents": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions({"naive", "empty"})],
        "criterion": [StrOptions({*GLOBAL_CRITERIA, *LOCAL_CRITERIA})],
        "search": [StrOptions(set(SEARCHES))],
        "constraints": [NetworkConstraints, None],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "order": ["array-like", None],
        "discretizer": [StrOptions({"mdlp"}), None],
        "missing": [StrOptions({"mode", "marginal", "em"})],
        "calibration": [StrOptions({"temperature"}), None],
        "categories": [StrOptions({"auto"}), dict, list, tuple],
        "max_entries": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        max_parents: int | None = 3,
        *,
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
    ) -> None:
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

    @guarded_fit
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit bins, structure and tables.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            Numeric, categorical and boolean columns; for missing values see ``missing``.
        y : array-like of shape (n_samples,)
            Classes; a categorical column keeps the classes that it declares.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight two counts as two rows. Weights with a mean below one, or above a
            million, are scaled to a mean of one.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        training = read_training(self, X, y, sample_weight)
        space = plan_search(self, training)
        n_steps = len(space.order) if self.search in {"k2", "tan"} else None
        with fit_progress(self, "node" if n_steps else "move", n_steps) as step:
            found = self._learn(training, space, step)
        structure, view_structures, network, log_joint = found
        self._store(training, space, structure, network, view_structures)
        self.temperature_ = 1.0
        if self.calibration == "temperature":
            if log_joint is None:
                log_joint = self._out_of_fold_log_joint(training, structure)
            known = np.isfinite(log_joint).all(axis=1)
            self.temperature_ = fit_temperature(
                log_joint[known], training.labels[known], training.weights[known]
            )
        return self

    def _learn(
        self, training: Training, space: SearchSpace, step: Callable[[], bool]
    ) -> tuple[Structure, list[Structure], FittedNetwork, NDArray[np.float64] | None]:
        """Discretise the columns, search the structure, estimate the tables.

        A method of its own, so that the coded rows are freed before the calibration.
        """
        sample = code_sample(training, self.discretizer, self.max_entries, self.n_jobs)
        if sample.rows.one_class():  # all structures predict the same
            empty = Structure.start(len(space.order), "empty")
            return empty, [], self._estimate(training, sample, empty), None
        score, estimate, view_scores = self._plan(training, sample)
        search = SEARCHES[self.search]
        structure = search(score, space, step)
        view_structures = [search(each, space, lambda: False) for each in view_scores]
        return structure, view_structures, *estimate(structure)

    def _plan(self, training: Training, sample: Sample) -> tuple[Score, Estimate, list[Score]]:
        """Return the score of the search, the estimator of the tables, and scores of the views."""
        measure = make_measure(criterion_of(self), sample.rows, self.smoothing)
        score = partial(measure, view=sample.weights)
        return score, lambda structure: (self._estimate(training, sample, structure), None), []

    def _estimate(self, training: Training, sample: Sample, structure: Structure) -> FittedNetwork:
        """Estimate all tables, by EM or with missing values filled with the mode."""
        if self.missing == "em":
            return fit_expected(training, sample, self.smoothing, structure)
        return fit_network(sample, self.smoothing, structure)

    def _out_of_fold_log_joint(self, training: Training, structure: Structure) -> Doubles:
        """Log joint of the rows of each fold, by bins and tables from the other folds."""
        log_joint = np.full((len(training.labels), len(training.classes)), np.nan)
        folds = deal_folds(training.labels.astype(np.intp), N_FOLDS, np.random.default_rng(0))
        needed = -(-N_FOLDS * CALIBRATION_ROWS // len(training.labels))
        for train, test in islice(folds, needed):
            part, rest = training.take(train), [column.take(test) for column in training.columns]
            sample = code_sample(part, self.discretizer, self.max_entries)
            network = self._estimate(part, sample, structure)
            log_joint[test] = self._joint(network, code_columns(rest, network.coders))
        return log_joint

    def _joint(self, network: FittedNetwork, codes: NDArray[np.int32]) -> Doubles:
        """Log joint of class and row, up to a constant per row, classes in order of their codes."""
        if self.missing != "mode" and (codes == MISSING_CODE).any():
            return marginal_log_joint(network, codes, self.max_entries)
        return network.log_joint(fill_missing(codes, network.coders))

    def predict_proba(self, X: Any) -> Doubles:
        """Predict class probabilities.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            New rows, with the columns of ``fit``. An unseen category has the smoothed probability
            of a zero count; an unseen category of a parent gives a uniform distribution.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Doubles:
        """Predict log probabilities of the classes.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            As in ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        log_joint = self._log_joint(X) / self.temperature_
        return log_softmax(log_joint, axis=1)[:, self.class_codes_]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            As in ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes; the first of equally probable ones.
        """
        best = self._log_joint(X).argmax(axis=1)
        predicted: NDArray[Any] = self._declared_classes()[best]
        return predicted

    def explain(self, X: Any) -> Doubles:
        r"""Compute each node's contribution to the log-odds.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            As in ``predict_proba``; missing values are filled with the mode.

        Returns
        -------
        ndarray of shape (n_samples, n_features + 1) or (n_samples, n_features + 1, n_classes)
            Baseline (the prior of the class), then the contribution of each feature. With two
            classes, contributions to :math:`\log P(c_1 \mid x) - \log P(c_0 \mid x)`; with more,
            to the log probability of each class minus the mean over the classes. Their sum gives
            the prediction: its softmax over the classes is ``predict_proba``.
        """
        check_is_fitted(self)
        codes = fill_missing(self._codes(X), self.network_.coders)
        found = self.network_.contributions(codes)[:, :, self.class_codes_] / self.temperature_
        odds: Doubles = found - found.mean(axis=2, keepdims=True)
        return odds if len(self.classes_) != 2 else np.asarray(found[:, :, 1] - found[:, :, 0])

    def graph(self) -> BayesNetwork:
        """Return the fitted network.

        Returns
        -------
        BayesNetwork
            Nodes, states, parents and tables, without the temperature.
        """
        check_is_fitted(self)
        return BayesNetwork(
            {name: [str(label) for label in labels] for name, labels in self.categories_.items()},
            self.tables_,
            max_entries=self.max_entries,
        )

    def markov_blanket(self, node: str | None = None) -> list[str]:
        """List the Markov blanket: given these nodes, a node is independent of all others.

        Parameters
        ----------
        node : str, default=None
            A node's name; None for the class.

        Returns
        -------
        list of str
            Parents, children, and the children's other parents.
        """
        return self.graph().markov_blanket(self.target_name_ if node is None else node)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Any]:
        """Draw rows and classes from the network.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Controls the sampling.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Categories; for numeric columns the ranges of bins as text.
        y : ndarray of shape (n_samples,)
            Classes.
        """
        drawn = self.graph().sample(n_samples, random_state)
        X = np.empty((n_samples, len(drawn) - 1), dtype=object)
        features = [name for name in drawn if name != self.target_name_]
        for j, name in enumerate(features):
            labels = np.empty(len(self.categories_[name]), dtype=object)
            labels[:] = self.categories_[name]
            X[:, j] = labels[drawn[name]]
        return X, self._declared_classes()[drawn[self.target_name_]]

    def to_networkx(self) -> Any:
        """Convert the graph to networkx, with states and tables as node attributes.

        Returns
        -------
        networkx.DiGraph
            Node attributes ``states`` and ``table``.
        """
        return self.graph().to_networkx()

    def to_dot(self) -> str:
        """Write the graph as Graphviz text, the class with a double border.

        Returns
        -------
        str
            Input of ``dot``.
        """
        return self.graph().to_dot(self.target_name_)

    def to_xmlbif(self) -> str:
        """Write the network as XMLBIF 0.3; read it with ``BayesNetwork.from_xmlbif``.

        Returns
        -------
        str
            The document.
        """
        return self.graph().to_xmlbif()

    def to_bif(self) -> str:
        """Write the network as BIF; read it with ``BayesNetwork.from_bif``.

        Returns
        -------
        str
            The document.
        """
        return self.graph().to_bif()

    @property
    def tables_(self) -> dict[str, ProbabilityTable]:  # numpydoc ignore=RT01
        """Parents, configurations and probabilities of each node."""
        check_is_fitted(self)
        return self.network_.describe(list(self.parents_))

    def _store(
        self,
        training: Training,
        space: SearchSpace,
        structure: Structure,
        network: FittedNetwork,
        view_structures: list[Structure],
    ) -> None:
        """Set the fitted attributes; a subclass may use the views' structures."""
        names, coders = training.names, network.coders
        labels = [training.classes.tolist(), *(coder.labels for coder in coders)]
        self.network_ = network
        self.target_name_ = training.target_name
        self.class_codes_ = training.sorted_codes
        self.classes_ = training.classes[self.class_codes_]
        order = structure.sorted_features(space.order)
        self.order_ = [names[node] for node in (CLASS, *order)]
        self.categories_ = dict(zip(names, labels, strict=True))
        features = zip(names[CLASS + 1 :], coders, strict=True)
        self.cut_points_ = {name: c.cuts for name, c in features if c.cuts is not None}
        self.modes_ = np.array([coder.mode for coder in coders])
        self.class_log_prior_ = network.log_prior
        self.parents_: dict[str, list[str]] = {training.target_name: []}
        for table in network.tables:
            self.parents_[names[table.node]] = [names[parent] for parent in table.parents]

    def _declared_classes(self) -> NDArray[Any]:
        """Classes in the order of their codes."""
        return self.classes_[np.argsort(self.class_codes_)]

    def _codes(self, X: Any) -> NDArray[np.int32]:
        return code_columns(read_features(self, X, reset=False), self.network_.coders)

    def _log_joint(self, X: Any) -> Doubles:
        check_is_fitted(self)
        return self._joint(self.network_, self._codes(X))

    def _check_fitted(self) -> None:
        """Reject attributes that do not match ``network_``."""
        expect(isinstance(self.network_, FittedNetwork), "network_ is not a network")
        self.network_._check_fitted()  # noqa: SLF001  a check of ours, of a part
        coders, tables = self.network_.coders, self.network_.tables
        sizes = {"classes": len(self.network_.log_prior), "features": self.n_features_in_}
        expect_fitted(self, FITTED, nodes=len(tables) + 1, **sizes)
        expect(self.temperature_ > 0, "temperature_ is not positive")
        expect(len(tables) == self.n_features_in_, "the network does not have one table per column")
        expect(len(set(self.class_codes_.tolist())) == sizes["classes"], "class_codes_ repeat")
        modes = [coder.mode for coder in coders]
        expect(self.modes_.tolist() == modes, "modes_ do not match the network")
        names = list(self.parents_)
        expect(names[0] == self.target_name_, "the class is not the first node")
        expect(sorted(self.order_) == sorted(names), "order_ does not match the nodes")
        expect(list(self.categories_) == names, "categories_ do not match the nodes")
        for name, coder, table in zip(names[1:], coders, tables, strict=True):
            own = [names[parent] for parent in table.parents]
            expect(self.parents_[name] == own, "parents_ do not match the network")
            n_categories = len(self.categories_[name])
            expect(n_categories == coder.n_codes, "categories_ do not match the network")
            cuts = self.cut_points_.get(name)
            both = [None if each is None else each.tolist() for each in (cuts, coder.cuts)]
            expect(both[0] == both[1], "cut_points_ do not match the network")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


@set_module("ensemblage.bayes")
@with_shared(NETWORK_DOCS)
class BayesNetClassifier(BaseBayesNet):
    r"""Bayesian network classifier with structure learning by K2 or another search.

    Numeric columns are discretised (:class:`MDLPDiscretizer`), missing values are filled with the
    column's mode, and each feature in turn takes the parents, among the class and the features
    before it, that raise the score most. The result is a graph with few arcs and a probability
    table for each node.

    Parameters
    ----------
    {max_parents, search}
    criterion : {"probability", "accuracy", "log", "k2", "bdeu", "bic"}, default="probability"
        Score that a candidate parent must raise. The first three are leave-one-out scores of the
        whole network: mean probability of the true class, accuracy, or mean log probability. The
        others are local scores of one node, which do not consider classification: the marginal
        likelihood with a uniform prior (Cooper and Herskovits), with a BDeu prior of equivalent
        sample size one, or BIC.
    {init, order, constraints, smoothing, discretizer, categories, missing}
    calibration : {"temperature"} or None, default="temperature"
        Networks are overconfident: ``"temperature"`` divides their log-odds by a temperature fitted
        to out-of-fold predictions of five folds (fewer above 2,000 rows, one from 10,000 rows on),
        in which bins and tables of the one structure are fitted again. Predicted classes do not
        change.
    max_entries : int, default=2**24
        Maximal number of entries of a table; a ``ValueError`` names the table that would exceed it.
    n_jobs : int, default=None
        Number of columns discretised in parallel.

    Attributes
    ----------
    {parents_}
    tables_ : dict of str to ProbabilityTable
        Parents and probabilities of each node, for the configurations of the parents that occur,
        as codes. Other configurations are uniform.
    {order_, categories_}
    cut_points_ : dict of str to ndarray
        Cut points of the numeric columns.
    {temperature_, modes_, class_log_prior_, target_name_, classes_, class_codes_, network_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    ensemblage.inner.InnerBayesNetClassifier : Inner Bayesian network, learned with an ensemble.
    MDLPDiscretizer : The discretisation alone.

    Notes
    -----
    A table has :math:`(n + \alpha) / (N + \alpha r)` for each of :math:`r` categories, including
    declared ones that do not occur. The leave-one-out score (Algorithm 3 of the paper) removes a
    row from its own entries only. A parent must raise the score by more than 1e-10; ties are
    resolved in favour of the earliest candidate. With a single class or row the network is empty
    and predicts the prior.

    With a temperature T the class has :math:`P(c|x) \propto P(c, x)^{1/T}`. ``predict_proba`` and
    ``explain`` use the temperature; ``graph`` and its exports have the network itself,
    :math:`P(c, x)`, whose posterior must be raised to the power of 1/T and normalised.

    A row with an integer weight counts as this number of rows, of which one is left out at a time;
    a row with a weight below one is left out whole.

    The folds of the calibration are by position: another order of rows, or copies of rows instead
    of weights, changes the probabilities a little.

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
