"""What the plain and the inner network share: a template of ``fit``, and prediction."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ensemblage.bayes._cells import Configurations
from ensemblage.bayes._coding import Coder, code_columns, fill_missing, learn_coders
from ensemblage.bayes._columns import Column
from ensemblage.bayes._evidence import marginal_log_likelihood
from ensemblage.bayes._measures import GLOBAL_SCORES, LOCAL_SCORES, Candidates, make_measure
from ensemblage.bayes._network import BayesNetwork, NetworkMethods
from ensemblage.bayes._reading import Target, feature_names, read_rows, read_training
from ensemblage.bayes._search import k2_search
from ensemblage.bayes._tables import (
    NodeTable,
    describe_table,
    fit_prior,
    fit_table,
    node_log_likelihood,
)
from ensemblage.parallel import CallbackSupportMixin, fit_progress, with_callbacks

Score = Callable[[Candidates], NDArray[np.float64]]


def resolve_order(order: Any, names: list[str]) -> list[int]:
    """Turn the user's order of features into node numbers.

    Parameters
    ----------
    order : array-like of str or int, or None
        Every feature once, by name or position; None for the columns' order.
    names : list of str
        Names of the features.

    Returns
    -------
    list of int
        Nodes; the class, node 0, is not among them.
    """
    if order is None:
        return list(range(1, len(names) + 1))
    position = {name: j for j, name in enumerate(names)}
    wanted = [position.get(item, item) for item in np.asarray(order).tolist()]
    if sorted(map(str, wanted)) != sorted(map(str, range(len(names)))):
        raise ValueError(
            f"order must name each of the {len(names)} features exactly once, by name or by "
            f"position, got {order!r}. The class always comes first and is not listed."
        )
    return [int(j) + 1 for j in wanted]


class BaseBayesNet(
    NetworkMethods,
    CallbackSupportMixin,
    ClassifierMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    """Template of a Bayesian network classifier.

    A subclass says how the crowd, if any, scores candidates, and where the tables come from.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "max_parents": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions({"naive", "empty"})],
        "criterion": [StrOptions({*GLOBAL_SCORES, *LOCAL_SCORES})],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "order": ["array-like", None],
        "discretizer": [StrOptions({"mdlp"}), None],
        "missing": [StrOptions({"mode", "marginal"})],
        "max_entries": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn bins, structure and tables.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            Numbers, categories, truth values; gaps are filled with the column's mode.
        y : array-like of shape (n_samples,)
            Classes; a categorical column keeps the classes that it declares.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight two counts as two rows.

        Returns
        -------
        self : object
            Fitted network.
        """
        columns, target, weights = read_training(self, X, y, sample_weight)
        names = feature_names(self)
        order = resolve_order(self.order, names)
        coders = learn_coders(
            columns, target.labels, len(target.categories), weights, self.discretizer, self.n_jobs
        )
        self._set_target(target)
        self.order_ = [target.name, *(names[node - 1] for node in order)]
        codes = fill_missing(code_columns(columns, coders), coders)
        codes[0] = target.labels
        cells = self._cells(codes, coders, target)
        with fit_progress(self, "node", len(names)) as step:
            parents = self._search(cells, columns, order, weights, step)
        self._set_tables(parents, columns, coders, cells, weights)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            As in ``fit``. A category that was not known then has the smoothed probability of
            a zero count; as a parent it says nothing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
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
        return log_softmax(self._log_joint(X), axis=1)[:, self._class_order]

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
        log_joint = self._log_joint(X)
        position = np.argsort(self._class_order)
        return self.classes_[position[log_joint.argmax(axis=1)]]

    def explain(self, X: Any) -> NDArray[np.float64]:
        r"""Tell what each node contributes to the decision, in log odds.

        Parameters
        ----------
        X : dataframe or array-like of shape (n_samples, n_features)
            As in ``predict_proba``; gaps are filled with the mode.

        Returns
        -------
        ndarray of shape (n_samples, n_features + 1) or (n_samples, n_features + 1, n_classes)
            First the class's own prior, then each feature. With two classes the contribution to
            :math:`\log P(c_1 \mid x) - \log P(c_0 \mid x)`; with more, to each class's log
            probability against the mean over the classes. Rows add up to the decision: softmax
            over the classes gives ``predict_proba``.
        """
        check_is_fitted(self)
        codes = fill_missing(self._codes(X), self._coders())
        n_classes, n_rows = len(self.classes_), codes.shape[1]
        out = np.zeros((n_rows, len(self._tables) + 1, n_classes))
        out[:, 0] = self.class_log_prior_
        for node, table in enumerate(self._tables, start=1):
            likelihood = np.zeros((n_rows, n_classes))
            node_log_likelihood(codes, self._n_categories, node, table, likelihood)
            out[:, node] = likelihood
        out = out[:, :, self._class_order]
        if n_classes == 2:
            return out[:, :, 1] - out[:, :, 0]
        return out - out.mean(axis=2, keepdims=True)

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

    def _set_target(self, target: Target) -> None:
        self.target_name_ = target.name
        try:
            order = np.argsort(target.categories, kind="stable")
        except TypeError:  # classes of different types keep their declared order
            order = np.arange(len(target.categories))
        self._class_order = order
        self.classes_ = target.categories[order]

    def _cells(
        self, codes: NDArray[np.int32], coders: list[Coder], target: Target
    ) -> Configurations:
        sizes = [len(target.categories), *(len(coder.labels) for coder in coders)]
        names = [target.name, *feature_names(self)]
        return Configurations(codes, np.array(sizes, dtype=np.int64), names, self.max_entries)

    def _search(
        self,
        cells: Configurations,
        columns: list[Column],
        order: list[int],
        weights: NDArray[np.float64],
        step: Callable[[], bool],
    ) -> list[list[int]]:
        if len(np.unique(cells.columns[0])) < 2 or cells.columns.shape[1] < 2:
            return [[] for _ in range(len(order) + 1)]
        limit = len(order) + 1 if self.max_parents is None else self.max_parents
        score = self._scorer(cells, columns, weights)
        return k2_search(score, order, self.init, limit, step).parents

    @abstractmethod
    def _scorer(
        self, cells: Configurations, columns: list[Column], weights: NDArray[np.float64]
    ) -> Score:
        """Say how candidates are scored: on one view of the rows, or by a crowd."""

    def _measure(self, cells: Configurations) -> Any:
        return make_measure(self.criterion, cells, self.smoothing)

    def _set_tables(
        self,
        parents: list[list[int]],
        columns: list[Column],
        coders: list[Coder],
        cells: Configurations,
        weights: NDArray[np.float64],
    ) -> None:
        tables = [
            fit_table(cells, node, parents[node], weights, self.smoothing)
            for node in range(1, len(parents))
        ]
        n_classes = int(cells.n_categories[0])
        prior = fit_prior(cells.columns[0], n_classes, weights, self.smoothing)
        self._store(coders, tables, prior)

    def _store(
        self, coders: list[Coder], tables: list[NodeTable], prior: NDArray[np.float64]
    ) -> None:
        """Set the fitted attributes that describe the network."""
        names = [self.target_name_, *feature_names(self)]
        declared = self.classes_[np.argsort(self._class_order)]
        labels = [declared.tolist(), *(coder.labels for coder in coders)]
        self.categories_ = dict(zip(names, labels, strict=True))
        self.cut_points_ = {
            name: coder.cuts
            for name, coder in zip(names[1:], coders, strict=True)
            if coder.cuts is not None
        }
        self.modes_ = np.array([coder.mode for coder in coders])
        self.class_log_prior_ = prior
        self._n_categories = np.array([len(one) for one in labels], dtype=np.int64)
        self._no_values = [coder.cuts is None and not coder.categories for coder in coders]
        self._tables = tables
        self.parents_ = {names[0]: []}
        for name, table in zip(names[1:], tables, strict=True):
            self.parents_[name] = [names[p] for p in table["parents"]]

    @property
    def tables_(self) -> dict[str, dict[str, Any]]:  # numpydoc ignore=RT01
        """Parents, configurations and probabilities of each node."""
        check_is_fitted(self)
        names = list(self.parents_)
        prior_table = {
            "parents": [],
            "configurations": np.zeros((1, 0), dtype=np.int32),
            "probabilities": np.exp(self.class_log_prior_)[None],
        }
        features = [describe_table(table, len(self.classes_), names) for table in self._tables]
        return dict(zip(names, [prior_table, *features], strict=True))

    def _coders(self) -> list[Coder]:
        names = feature_names(self)
        return [
            Coder(
                self.cut_points_.get(name),
                None if name in self.cut_points_ or empty else self.categories_[name],
                int(mode),
            )
            for name, mode, empty in zip(names, self.modes_, self._no_values, strict=True)
        ]

    def _codes(self, X: Any) -> NDArray[np.int32]:
        return code_columns(read_rows(self, X, reset=False), self._coders())

    def _log_joint(self, X: Any) -> NDArray[np.float64]:
        """Log of class and row together, up to a constant per row, classes as coded."""
        check_is_fitted(self)
        codes, coders = self._codes(X), self._coders()
        if self.missing == "marginal" and (codes < 0).any():
            return self.class_log_prior_ + marginal_log_likelihood(
                codes, self._n_categories, self._tables, self.max_entries
            )
        fill_missing(codes, coders)
        out = np.tile(self.class_log_prior_, (codes.shape[1], 1))
        for node, table in enumerate(self._tables, start=1):
            node_log_likelihood(codes, self._n_categories, node, table, out)
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
