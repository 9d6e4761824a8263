"""What trees of crowd-placed thresholds for classes and for numbers have in common."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
)

from ensemblage.inner._fitted_tree import FittedTree, writable
from ensemblage.inner._tree_choice import STRENGTHS, FoldPlan, TreeRecipe
from ensemblage.inner._tree_learning import learn_tree
from ensemblage.inner._tree_path import TreePath, follow_row
from ensemblage.inner._tree_reading import TreeWords, as_dot, as_text, outline
from ensemblage.inner._tree_structure import GrowthRule, TreeRows
from ensemblage.kernels import RowTargets
from ensemblage.messages import DocLinkMixin, expect, expect_fitted
from ensemblage.pages import TreeNode, tree_html
from ensemblage.parallel import guarded_fit, read_weights
from ensemblage.tables import ENCODE_CONSTRAINT, ENCODE_DOCS, EncodeMixin, feature_categories

Floats = NDArray[np.float64]

TREE_DOCS = f"""
{ENCODE_DOCS.strip()}
n_views : int, default=30
    Size of the crowd: bootstraps that place each threshold again.
window : float, default=0.25
    How far from CART's threshold a view may place its own: a share of the node's rows, by rank. At
    0 the thresholds are CART's.
max_leaves : int or None, default=16
    Leaves at most. None has no limit, and is the most accurate.
min_samples_leaf : int, default=1
    Rows that a split leaves on each side at least.
shrinkage : float or "cv", default="cv"
    Strength by which a node is drawn towards its parent: as if so many rows of the parent's mean
    had been added to the parent. "cv" chooses by folds, among 0.1, 1, 10, 25, 50 and 100.
cv : int, default=5
    Folds by which pruning and shrinkage are chosen together.
crisp : bool, default=False
    Keep the median of each node's thresholds only, so that every row has one leaf.
random_state : int, RandomState instance or None, default=None
    For the tree's ties, the bootstraps and the folds.
n_jobs : int, default=None
    Folds at the same time.
tree_ : FittedTree
    The nodes: ``left``, ``right``, ``feature``, ``missing_left``, ``thresholds`` of shape
    (n_nodes, n_views) in ascending order, ``values`` (n_nodes, n_columns), ``weights``.
alpha_ : float
    Cost of a leaf by which the tree was pruned; ``ccp_alpha`` of scikit-learn's trees.
shrinkage_ : float
    The strength used.
cv_loss_ : float or None
    Its loss over the folds; None where there were too few rows for folds.
feature_importances_ : ndarray of shape (n_features,)
    Share of each feature in what all splits explain, by squares of what they change.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if they were all strings.
"""


class BaseInnerTree(EncodeMixin, DocLinkMixin, BaseEstimator, ABC):
    """What trees for classes and for numbers have in common."""

    _keeps_gaps = True  # a missing number goes the way that the tree learns

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_views": [Interval(Integral, 1, None, closed="left")],
        "window": [Interval(Real, 0, 1, closed="both")],
        "max_leaves": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left"), StrOptions({"cv"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "crisp": ["boolean"],
        "random_state": ["random_state"],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_views: int = 30,
        window: float = 0.25,
        max_leaves: int | None = 16,
        criterion: str = "gini",
        min_samples_leaf: int = 1,
        shrinkage: Any = "cv",
        cv: int = 5,
        crisp: bool = False,
        encode: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_views = n_views
        self.window = window
        self.max_leaves = max_leaves
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.shrinkage = shrinkage
        self.cv = cv
        self.crisp = crisp
        self.encode = encode
        self.random_state = random_state
        self.n_jobs = n_jobs

    @guarded_fit
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Grow, choose by folds, let the crowd place the thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; NaN is a missing value. Words become features of zeros and ones.
        y : array-like of shape (n_samples,)
            Classes, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; rows of no weight are left out.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are in one fold.

        Returns
        -------
        object
            Itself.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # what float32 cannot hold is refused
            X, y = self._training_rows(X, y, sample_weight, dtype=np.float32, order="C")
        weights = read_weights(sample_weight, X)
        rows = TreeRows(writable(X), self._targets(y, weights))
        if groups is not None:
            check_consistent_length(X, groups)
            groups = np.asarray(groups)[rows.counted]
        self._fit_rows(rows if weights.all() else rows.at(rows.counted), groups)
        return self

    @abstractmethod
    def _targets(self, y: Any, weights: Floats) -> RowTargets:
        """Check classes or numbers."""

    def _fit_rows(self, rows: TreeRows, groups: Any) -> None:
        growth = GrowthRule(self.criterion, self.max_leaves, self.min_samples_leaf)
        recipe = TreeRecipe(growth, self.n_views, self.window, self.crisp)
        strengths = STRENGTHS if self.shrinkage == "cv" else (self.shrinkage,)
        plan = FoldPlan(self.cv, groups, self.random_state, self.n_jobs)
        self.tree_, chosen = learn_tree(rows, recipe, strengths, plan)
        self.alpha_, self.shrinkage_, self.cv_loss_ = chosen

    def _rows(self, X: Any) -> NDArray[np.float32]:
        check_is_fitted(self)
        with np.errstate(over="ignore", invalid="ignore"):
            rows: NDArray[np.float32] = writable(self._new_rows(X, dtype=np.float32, order="C"))
        return rows

    @property
    def feature_importances_(self) -> Floats:  # numpydoc ignore=RT01
        """Share of each feature in what all splits explain."""
        check_is_fitted(self)
        return self.tree_.importances(self._encoded_width())

    def get_n_leaves(self) -> int:
        """Count the leaves.

        Returns
        -------
        int
            At most ``max_leaves``.
        """
        check_is_fitted(self)
        return int(self.tree_.is_leaf.sum())

    def get_depth(self) -> int:
        """Count the splits on the longest way to a leaf.

        Returns
        -------
        int
            0 for a tree that is its root.
        """
        check_is_fitted(self)
        return int(self.tree_.depths.max())

    def memberships(self, X: Any) -> csr_array:
        """Share of each row in each leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        csr_array of shape (n_samples, n_leaves)
            Rows add up to one; leaves are in the order of their nodes.
        """
        rows = self._rows(X)
        found = self.tree_.memberships(rows)
        numbers = np.cumsum(self.tree_.is_leaf) - 1
        shape = (len(found.starts) - 1, self.get_n_leaves())
        return csr_array((found.shares, numbers[found.leaves], found.starts), shape=shape)

    def explain(self, x: Any) -> TreePath:
        """Follow one row through the tree.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row.

        Returns
        -------
        TreePath
            The splits on its way, its share on each side, and what each split adds: the start and
            all contributions add up to the prediction.
        """
        if np.ndim(x) == 1 and not hasattr(x, "columns"):
            x = np.asarray(x)[None]
        rows = self._rows(x)
        if len(rows) != 1:
            raise ValueError(f"`x` has {len(rows)} rows; give one row to explain.")
        return follow_row(self.tree_, rows[0], self._words())

    def crisp_tree(self) -> Any:
        """Follow the medians of the thresholds.

        Returns
        -------
        estimator
            A copy in which each node has one threshold, and each row one of the same leaves.
        """
        check_is_fitted(self)
        made = copy.copy(self)
        made.tree_ = self.tree_.crisp()
        return made

    def to_text(self) -> str:
        """Write the tree as indented text.

        Returns
        -------
        str
            A line per node, with the crowd's thresholds from the least to the greatest.
        """
        check_is_fitted(self)
        return as_text(self.tree_, self._words())

    def to_dot(self) -> str:
        """Write the tree in the language of Graphviz.

        Returns
        -------
        str
            To be drawn by ``dot``.
        """
        check_is_fitted(self)
        return as_dot(self.tree_, self._words())

    def to_html(self) -> str:
        """Draw the tree for a notebook, which shows it below a fitted tree's parameters.

        Returns
        -------
        str
            A figure of HTML with styles of its own; nothing is loaded.
        """
        check_is_fitted(self)
        words = self._words()
        return tree_html(outline(self.tree_, words), words.classes)

    def _repr_html_inner(self) -> str:
        """Show parameters as scikit-learn does, and the tree if there is one."""
        parameters: str = super()._repr_html_inner()
        return parameters + self.to_html() if hasattr(self, "tree_") else parameters

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the same in a notebook."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return shown | {"text/html": self._repr_html_inner()} if "text/html" in shown else shown

    def _words(self, columns: Sequence[str] = ()) -> TreeWords:
        """Name features, after the table's columns as the caller knows them, and classes."""
        given = list(columns) if len(columns) else None
        classes = [str(label) for label in getattr(self, "classes_", ())]
        if hasattr(self, "encoder_"):
            named = self.encoder_.get_feature_names_out(given)
            return TreeWords(list(map(str, named)), classes, feature_categories(self.encoder_))
        named = _check_feature_names_in(self) if given is None else given
        return TreeWords(list(map(str, named)), classes)

    def __check_state__(self) -> None:
        """Refuse a tree that asks for columns or classes which there are not."""
        expect(isinstance(self.tree_, FittedTree), "tree_ is no tree")
        found = ("alpha_", "shrinkage_", "cv_loss_")
        expect_fitted(self, dict.fromkeys(found, "optional number 0.."))
        self.tree_.__check_state__()
        expect(int(self.tree_.feature.max()) < self._encoded_width(), "a split has no column")
        n_columns = len(self.classes_) if hasattr(self, "classes_") else 1
        expect(self.tree_.values.shape[1] == n_columns, "values and classes do not fit together")


def tree_words(estimator: BaseInnerTree, columns: Sequence[str] = ()) -> TreeWords:
    """Name what a fitted tree asks for and answers."""
    return estimator._words(columns)  # noqa: SLF001


def outline_of(estimator: BaseInnerTree) -> list[TreeNode]:
    """List the nodes of a fitted tree as they are drawn."""
    return outline(estimator.tree_, tree_words(estimator))
