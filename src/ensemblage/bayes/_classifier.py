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
"""From a structure to a network, and the log joint of rows that its tables have not seen.

The latter, of shape (n_rows, n_classes), is None if there are no such tables, and NaN for a row
that all have seen.
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
ENOUGH_ROWS = 2000
"""Held-out rows that suffice for a temperature; of larger data fewer folds are fitted."""
NETWORK_DOCS = """
max_parents : int or None, default=3
    Upper bound on each feature's parents, the class included; None for no bound.
init : {"naive", "empty"}, default="naive"
    Where the search starts: with the class as every feature's parent, or with no parents.
search : {"k2", "tan", "hill-climbing", "tabu"}, default="k2"
    How the structure is found. ``"k2"`` takes a feature's parents from those before it in
    ``order``. ``"tan"`` gives each feature the class and one more parent, in the tree of the
    largest conditional mutual information, whatever the criterion and the start.
    ``"hill-climbing"`` adds, removes or reverses one arc at a time, the best; ``"tabu"`` goes on
    from there, downhill too, until ten moves in a row have found no better structure.
constraints : NetworkConstraints or None, default=None
    Arcs that there must be, arcs that there must not be, and tiers of nodes.
smoothing : float, default=0.5
    Added to each count of a table.
order : array-like of str or int, default=None
    Features by name or position, each once; K2 takes a feature's parents from those before it,
    other searches prefer the earlier of equals. None for the columns' order, with earlier tiers
    and required parents first.
discretizer : {"mdlp", None}, default="mdlp"
    How numeric columns become categories; None takes each number as a category of its own.
missing : {"mode", "marginal", "em"}, default="mode"
    In training missing values are filled with the column's mode; ``"em"`` does so for the search
    only, and estimates the tables by expectation and maximisation. At prediction, they are filled
    with the mode, or summed over ("marginal", "em").
categories : "auto", list or dict, default="auto"
    Categories of columns whose type does not declare them, also of those that never occur: a
    list per column, None where there are none, or lists by the column's name.
temperature_ : float
    What the log probabilities of class and row are divided by before they are made to add up to
    one; 1 without calibration.
parents_ : dict of str to list of str
    Parents of each node, in the order in which they were added; the class under its own
    name.
order_ : list of str
    The class, then the features in the order of the search, parents before children.
categories_ : dict of str to list
    What each node's codes stand for.
modes_ : ndarray of shape (n_features,)
    Code that fills a missing value.
class_log_prior_ : ndarray of shape (n_classes,)
    Log probability of each class, in the order of ``categories_``.
target_name_ : str
    Name of the class: that of ``y``, or "class".
classes_ : ndarray of shape (n_classes,)
    Classes, sorted; those that a categorical ``y`` declares, even if they do not occur.
class_codes_ : ndarray of shape (n_classes,)
    Position of each of them in ``categories_``.
network_ : object
    What prediction reads: how columns become codes, and all tables.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features,)
    Names of the features, if they have any.
"""


class BaseBayesNet(CallbackSupportMixin, ClassifierMixin, DocLinkMixin, BaseEstimator):
    """Template of a Bayesian network classifier; subclasses may score and estimate otherwise."""

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
        """Learn bins, structure and tables.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            Numbers, categories, truth values; for missing values see ``missing``.
        y : array-like of shape (n_samples,)
            Classes; a categorical column keeps the classes that it declares.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight two counts as two rows. Weights below one in the mean, or above a
            million, are no copies: they are scaled to a mean of one.

        Returns
        -------
        self : object
            Fitted network.
        """
        training = read_training(self, X, y, sample_weight)
        space = plan_search(self, training)
        n_steps = len(space.order) if self.search in {"k2", "tan"} else None
        with fit_progress(self, "node" if n_steps else "move", n_steps) as step:
            found = self._learn(training, space, step)
        structure, view_structures, network, held_out = found
        self._store(training, space, structure, network, view_structures)
        self.temperature_ = 1.0
        if self.calibration == "temperature":
            if held_out is None:
                held_out = self._held_out(training, structure)
            known = np.isfinite(held_out).all(axis=1)
            self.temperature_ = fit_temperature(
                held_out[known], training.labels[known], training.weights[known]
            )
        return self

    def _learn(
        self, training: Training, space: SearchSpace, step: Callable[[], bool]
    ) -> tuple[Structure, list[Structure], FittedNetwork, NDArray[np.float64] | None]:
        """Cut the columns, search the structure, estimate the tables.

        The coded rows are free again afterwards, before folds are coded for the temperature.
        """
        sample = code_sample(training, self.discretizer, self.max_entries, self.n_jobs)
        if sample.rows.one_class():  # no structure predicts better than another
            empty = Structure.start(len(space.order), "empty")
            return empty, [], self._estimate(training, sample, empty), None
        score, estimate, view_scores = self._plan(training, sample)
        search = SEARCHES[self.search]
        structure = search(score, space, step)
        view_structures = [search(each, space, lambda: False) for each in view_scores]
        return structure, view_structures, *estimate(structure)

    def _plan(self, training: Training, sample: Sample) -> tuple[Score, Estimate, list[Score]]:
        """Give the score of the search, the estimation of tables, and scores of single views."""
        measure = make_measure(criterion_of(self), sample.rows, self.smoothing)
        score = partial(measure, view=sample.weights)
        return score, lambda structure: (self._estimate(training, sample, structure), None), []

    def _estimate(self, training: Training, sample: Sample, structure: Structure) -> FittedNetwork:
        """Estimate all tables, by EM or with missing values filled."""
        if self.missing == "em":
            return fit_expected(training, sample, self.smoothing, structure)
        return fit_network(sample, self.smoothing, structure)

    def _held_out(self, training: Training, structure: Structure) -> Doubles:
        """Log joint of the rows of each fold, by bins and tables from the other folds."""
        held_out = np.full((len(training.labels), len(training.classes)), np.nan)
        folds = deal_folds(training.labels.astype(np.intp), N_FOLDS, np.random.default_rng(0))
        needed = -(-N_FOLDS * ENOUGH_ROWS // len(training.labels))
        for train, test in islice(folds, needed):
            part, rest = training.take(train), [column.take(test) for column in training.columns]
            sample = code_sample(part, self.discretizer, self.max_entries)
            network = self._estimate(part, sample, structure)
            held_out[test] = self._joint(network, code_columns(rest, network.coders))
        return held_out

    def _joint(self, network: FittedNetwork, codes: NDArray[np.int32]) -> Doubles:
        """Log of class and row together, up to a constant per row, classes as coded."""
        if self.missing != "mode" and (codes == MISSING_CODE).any():
            return marginal_log_joint(network, codes, self.max_entries)
        return network.log_joint(fill_missing(codes, network.coders))

    def predict_proba(self, X: Any) -> Doubles:
        """Probability of each class.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            As in ``fit``. A category that was not known then has the smoothed probability of
            a zero count; as a parent it makes the distribution uniform.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Doubles:
        """Log probability of each class.

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
        """Most probable class; of equally probable ones the first.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            As in ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        best = self._log_joint(X).argmax(axis=1)
        predicted: NDArray[Any] = self._declared_classes()[best]
        return predicted

    def explain(self, X: Any) -> Doubles:
        r"""Give what each node contributes to the decision, in log odds.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            As in ``predict_proba``; missing values are filled with the mode.

        Returns
        -------
        ndarray of shape (n_samples, n_features + 1) or (n_samples, n_features + 1, n_classes)
            First the class's own prior, then each feature. With two classes the contribution to
            :math:`\log P(c_1 \mid x) - \log P(c_0 \mid x)`; with more, to each class's log
            probability against the mean over the classes. Rows add up to the decision: softmax
            over the classes gives ``predict_proba``.
        """
        check_is_fitted(self)
        codes = fill_missing(self._codes(X), self.network_.coders)
        found = self.network_.contributions(codes)[:, :, self.class_codes_] / self.temperature_
        odds: Doubles = found - found.mean(axis=2, keepdims=True)
        return odds if len(self.classes_) != 2 else np.asarray(found[:, :, 1] - found[:, :, 0])

    def graph(self) -> BayesNetwork:
        """Give the fitted network itself.

        Returns
        -------
        BayesNetwork
            Nodes, states, parents and tables, free of the classifier.
        """
        check_is_fitted(self)
        return BayesNetwork(
            {name: [str(label) for label in labels] for name, labels in self.categories_.items()},
            self.tables_,
            max_entries=self.max_entries,
        )

    def markov_blanket(self, node: str | None = None) -> list[str]:
        """Name the nodes that, once known, make all others irrelevant to one.

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
            How many.
        random_state : int, RandomState instance or None, default=None
            For the draw.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Categories, and the ranges of bins as text.
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
        """Give the graph to networkx, with states and tables on the nodes.

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
            For ``dot`` or any viewer of its format.
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
        """Refuse attributes that do not describe ``network_``."""
        expect(isinstance(self.network_, FittedNetwork), "network_ is no network")
        self.network_._check_fitted()  # noqa: SLF001  a check of ours, of a part
        coders, tables = self.network_.coders, self.network_.tables
        sizes = {"classes": len(self.network_.log_prior), "features": self.n_features_in_}
        expect_fitted(self, FITTED, nodes=len(tables) + 1, **sizes)
        expect(self.temperature_ > 0, "its temperature is no positive number")
        expect(len(tables) == self.n_features_in_, "the network has not one table per column")
        expect(len(set(self.class_codes_.tolist())) == sizes["classes"], "class_codes_ repeat")
        expect(self.modes_.tolist() == [coder.mode for coder in coders], "modes_ are others")
        names = list(self.parents_)
        expect(names[0] == self.target_name_, "the class is not first")
        expect(sorted(self.order_) == sorted(names), "order_ names other nodes")
        expect(list(self.categories_) == names, "categories_ are of other nodes")
        for name, coder, table in zip(names[1:], coders, tables, strict=True):
            own = [names[parent] for parent in table.parents]
            expect(self.parents_[name] == own, "parents_ are others")
            expect(len(self.categories_[name]) == coder.n_codes, "categories_ are others")
            cuts = self.cut_points_.get(name)
            both = [None if each is None else each.tolist() for each in (cuts, coder.cuts)]
            expect(both[0] == both[1], "cut_points_ are others")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


@set_module("ensemblage.bayes")
@with_shared(NETWORK_DOCS)
class BayesNetClassifier(BaseBayesNet):
    r"""Bayesian network classifier learned by K2 or another search.

    Numeric columns are cut into bins (:class:`MDLPDiscretizer`), missing values are filled with
    the column's mode, and each feature in turn takes the parents, among the class and the features
    before it, that raise the score most. The result is a network that can be read: a handful of
    arrows, and a table of probabilities for each node.

    Parameters
    ----------
    {max_parents, search}
    criterion : {"probability", "accuracy", "log", "k2", "bdeu", "bic"}, default="probability"
        What a candidate parent must raise. The first three judge the whole network by leaving
        each row out of its own tables: mean probability of the true class, share of rows whose
        class is most probable, or mean log probability. The others are local scores, which look
        at one node and do not know that a classifier is wanted: the marginal likelihood with a
        uniform prior (Cooper and Herskovits), with a BDeu prior of sample size one, or BIC.
    {init, order, constraints, smoothing, discretizer, categories, missing}
    calibration : {"temperature"} or None, default="temperature"
        Networks are overconfident: ``"temperature"`` divides their log odds by a number
        learned in five folds, in which bins and tables of the one structure are fitted again;
        above 2,000 rows in fewer, one from 10,000 rows on. Decisions stay as they are.
    max_entries : int, default=2**24
        Cap on the entries of a table; a ``ValueError`` names the table that would exceed it.
    n_jobs : int, default=None
        Columns cut into bins at the same time.

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
    ensemblage.inner.InnerBayesNetClassifier : Each score by an ensemble of views.
    MDLPDiscretizer : The bins on their own.

    Notes
    -----
    A table holds :math:`(n + \alpha) / (N + \alpha r)` for each of :math:`r` categories,
    declared ones included. The leave-one-out score (Algorithm 3 of the paper) takes a row out
    of its own entries only. A parent must raise the score by more than 1e-10; of equal
    candidates the earliest wins. With a single class or row the network stays empty and
    predicts the prior.

    With a temperature T the class has :math:`P(c|x) \propto P(c, x)^{1/T}`. ``predict_proba``,
    sums over missing values and ``explain`` agree; ``graph`` and its exports hold the network
    itself, :math:`P(c, x)`, whose posterior is to be raised to the power of 1/T and normalised.

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
