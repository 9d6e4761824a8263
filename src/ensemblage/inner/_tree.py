"""Inner trees: one decision tree with thresholds placed by an ensemble of bootstraps."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ensemblage._core import (
    ColumnUnits,
    DocLinkMixin,
    Interval,
    StrOptions,
    as_numbers,
    check_feature_names_in,
    expect,
    expect_fitted,
    expect_units,
    fit_context,
    guarded_fit,
    read_weights,
    set_module,
    with_shared,
    write_number,
)
from ensemblage.datasets import ENCODE_CONSTRAINT, ENCODE_DOCS, EncodeMixin, feature_categories
from ensemblage.inner._inner_ensemble import BOOSTING, COMBINATIONS, sample_views
from ensemblage.inner._tree_decisions import as_counts
from ensemblage.inner._tree_drawing import TreeNode, tree_html
from ensemblage.inner._tree_growth import (
    SHRINKAGE_GRID,
    FittedTree,
    TreeSettings,
    learn_tree,
    writable,
)
from ensemblage.inner._tree_kernels import RowTargets, TreeRows, Views, views_right

Doubles = NDArray[np.float64]

MAX_TARGET = 1e70
"""Largest absolute value of a numeric target: products of its sums of squares stay finite."""


@set_module("ensemblage.inner")
class TreeStep(NamedTuple):  # numpydoc ignore=PR01
    """A split on a row's path.

    Attributes
    ----------
    node : int
        Index of the node.
    column : str
        Name of the column.
    condition : str
        Condition of the split, as in ``to_text``.
    value : float
        The row's value; NaN if it is missing.
    threshold, low, high : float
        Median, minimum and maximum of the views' thresholds.
    share : float
        The row's membership in the node.
    left : float
        Share of it that goes left, to values at or below the threshold.
    yes : float
        Share of it that satisfies the condition: ``left``, or ``1 - left`` for a category.
    contribution : ndarray of shape (n_columns,)
        Contribution of the split to the prediction: to the probability of each class, or to the
        numeric prediction.
    """

    node: int
    column: str
    condition: str
    value: float
    threshold: float
    low: float
    high: float
    share: float
    left: float
    yes: float
    contribution: Doubles


@set_module("ensemblage.inner")
class TreePath(NamedTuple):  # numpydoc ignore=PR01
    """A row's path through a tree.

    Attributes
    ----------
    baseline : ndarray of shape (n_columns,)
        Prediction of the root.
    steps : list of TreeStep
        The splits on the path, parents first.
    leaves : dict of int to float
        The row's membership in each leaf that it reaches.
    prediction : ndarray of shape (n_columns,)
        Sum of the baseline and all contributions.
    """

    baseline: Doubles
    steps: list[TreeStep]
    leaves: dict[int, float]
    prediction: Doubles


class TreeNames(NamedTuple):
    """Names of the columns, and of the classes; no classes if the target is numeric.

    ``categories`` has the category of each one-hot encoded column ``name = category``, and None
    for the other columns; it may be empty.
    """

    columns: Sequence[str]
    classes: Sequence[str]
    categories: Sequence[str | None] = ()


class SplitText(NamedTuple):
    """Condition of a split: a column, the comparison, and the range of the views' thresholds.

    ``yes`` and ``no`` are the children.
    """

    column: str
    compared: str
    views: str
    yes: int
    no: int

    @property
    def condition(self) -> str:
        """Column and comparison together."""
        return f"{self.column}{self.compared}"

    @property
    def line(self) -> str:
        """The condition and the views' range: ``petal length <= 2.45 (views: 2.3 to 2.6)``."""
        return f"{self.condition} ({self.views})" if self.views else self.condition


def describe_split(tree: FittedTree, node: int, names: TreeNames) -> SplitText:
    """Describe a split by the median of its thresholds and their range.

    A one-hot encoded column is described by its category.
    """
    thresholds, column = tree.thresholds[node], names.columns[tree.feature[node]]
    left, right = int(tree.left[node]), int(tree.right[node])
    category = names.categories[tree.feature[node]] if names.categories else None
    if category is not None and 0 <= thresholds[0] <= thresholds[-1] < 1:
        return SplitText(column.removesuffix(f" = {category}"), f" is {category}", "", right, left)
    if tree.separates_missing(node):
        return SplitText(column, " is known", "", left, right)
    middle, low, high = distinct_texts(
        float(thresholds[len(thresholds) // 2]), float(thresholds[0]), float(thresholds[-1])
    )
    views = "" if low == high else f"views: {low} to {high}"
    return SplitText(column, f" <= {middle}", views, left, right)


def distinct_texts(*values: float) -> tuple[str, ...]:
    """Write values with enough digits to distinguish them, at least four."""
    texts: tuple[str, ...] = ()
    for digits in range(4, 17):
        texts = tuple(write_number(value, digits) for value in values)
        if len(set(texts)) == len(set(values)):
            break
    return texts


def describe_values(tree: FittedTree, node: int, names: TreeNames) -> str:
    """Write a node's prediction: its most probable classes, or its mean."""
    values = tree.values[node]
    if not names.classes:
        return write_number(float(values[0]))
    order = np.argsort(-values, kind="stable")
    shown = [f"{names.classes[k]} {values[k]:.0%}" for k in order if values[k] >= 0.005][:3]
    return ", ".join(shown)


def describe_rows(tree: FittedTree, node: int) -> str:
    """Write the weight of the training rows in a node."""
    weight = float(tree.weights[node])
    return f"{weight:.0f} rows" if weight >= 9.95 else f"{weight:.1f} rows"


def as_text(tree: FittedTree, names: TreeNames) -> str:
    """Write a line per node, children below their parent, the "yes" child first."""
    # node, prefix of its line, prefix of the lines below
    lines, waiting = [], [(0, "", "")]
    while waiting:
        node, prefix, below = waiting.pop()
        rows = describe_rows(tree, node)
        if tree.left[node] < 0:
            lines.append(f"{prefix}{describe_values(tree, node, names)}   [{rows}]")
            continue
        split = describe_split(tree, node, names)
        lines.append(f"{prefix}{split.line}   [{rows}]")
        waiting.append((split.no, f"{below}└─ no: ", f"{below}   "))
        waiting.append((split.yes, f"{below}├─ yes: ", f"{below}│  "))
    return "\n".join(lines)


def outline(tree: FittedTree, names: TreeNames) -> list[TreeNode]:
    """List the nodes for a drawing, in the order of the text."""
    nodes, waiting = [], [(0, 0, "")]
    while waiting:
        node, depth, side = waiting.pop()
        rows = describe_rows(tree, node)
        if tree.left[node] < 0:
            shares = tuple(tree.values[node].tolist()) if names.classes else ()
            title = (describe_values(tree, node, names), "")
            nodes.append(TreeNode(depth, side, title, rows, shares, is_leaf=True))
            continue
        split = describe_split(tree, node, names)
        detail = f"{split.views}, {rows}" if split.views else rows
        title = (split.column, split.compared.replace("<=", "\N{LESS-THAN OR EQUAL TO}"))
        nodes.append(TreeNode(depth, side, title, detail, soft=bool(split.views)))
        waiting.append((split.no, depth + 1, "no"))
        waiting.append((split.yes, depth + 1, "yes"))
    return nodes


def as_dot(tree: FittedTree, names: TreeNames) -> str:
    """Write the tree as Graphviz text; leaves are ellipses."""

    def label(text: str, node: int) -> str:
        lines = [text, describe_rows(tree, node)]
        escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
        return '"' + "\\n".join(escaped) + '"'

    lines = ["digraph tree {", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    for node in range(len(tree.left)):
        if tree.left[node] < 0:
            values = label(describe_values(tree, node, names), node)
            lines.append(f"  n{node} [label={values}, shape=ellipse];")
            continue
        split = describe_split(tree, node, names)
        lines.append(f"  n{node} [label={label(split.line, node)}];")
        lines.append(f'  n{node} -> n{split.yes} [label="yes"];')
        lines.append(f'  n{node} -> n{split.no} [label="no"];')
    return "\n".join([*lines, "}"])


def follow_row(tree: FittedTree, row: NDArray[np.float32], names: TreeNames) -> TreePath:
    """Follow one row, in the units of the nodes, through both sides of each split."""
    n_views, values, scaled = tree.thresholds.shape[1], tree.values, tree.nodes.thresholds
    shares, steps = {0: 1.0}, []
    for node in range(len(tree.left)):
        if tree.left[node] < 0 or node not in shares:
            continue
        feature, thresholds = int(tree.feature[node]), tree.thresholds[node]
        x = row[feature]
        right = views_right(scaled[node], float(x), bool(tree.missing_left[node])) / n_views
        split = describe_split(tree, node, names)
        contribution = np.zeros(values.shape[1])
        for child, part in ((int(tree.left[node]), 1 - right), (int(tree.right[node]), right)):
            if part > 0:
                shares[child] = shares[node] * part
                contribution += shares[child] * (values[child] - values[node])
        steps.append(
            TreeStep(
                node, names.columns[feature], split.condition,
                float(tree.units.restore(x, feature)),
                float(thresholds[n_views // 2]), float(thresholds[0]), float(thresholds[-1]),
                shares[node], 1 - right, 1 - right if split.yes == tree.left[node] else right,
                contribution,
            )
        )  # fmt: skip
    leaves = {node: share for node, share in shares.items() if tree.left[node] < 0}
    total = values[0] + sum((step.contribution for step in steps), np.zeros(values.shape[1]))
    return TreePath(values[0], steps, leaves, total)


TREE_DOCS = f"""
{ENCODE_DOCS.strip()}
n_views : int, default=30
    Number of bootstraps on which each threshold is estimated; a ``sampler`` has its own number.
views : {{"uniform", "weighted"}}, default="uniform"
    "weighted" multiplies the weight of each row of a decision by its residual in the tree so far,
    as in boosting, so that the views choose by the rows that are predicted worst.
sampler : callable, default=None
    Function from the number of training rows (of positive weight) to the views, an array of shape
    (n_views, n_rows) with the weight of each row in each view; for instance a ``ViewSampler``. It
    is called once per fit. None for ``n_views`` bootstraps.
split : {{"cart", "ensemble"}}, default="cart"
    How splits are chosen: "cart" by all rows, or "ensemble" by the gain of each column and
    threshold on all views, combined by ``combine``.
prune : {{"cv", "ensemble"}}, default="cv"
    How the tree is pruned: "cv" by cost complexity, with ``ccp_alpha_`` chosen by cross-validation.
    With "ensemble", a split stays if the splits above it stay and the views' out-of-view losses,
    combined by ``combine``, are lower with it; cross-validation then only decides between this tree
    and its root.
combine : {{"mean", "median", "vote", "boosting"}}, default="mean"
    How the views' scores are combined, for ``split="ensemble"`` and ``prune="ensemble"``;
    "boosting" weights rows and views as AdaBoost does.
window : float, default=0.25
    Maximal distance of a view's threshold from CART's, in rank, as a share of the node's rows. At
    0 the thresholds are CART's.
max_leaf_nodes : int or None, default=16
    Maximal number of leaves. None for no limit, which is the most accurate.
min_samples_leaf : int, default=1
    Minimal number of rows on each side of a split.
shrinkage : float or "cv", default="cv"
    Strength with which a node is shrunk towards its parent: equivalent to this number of additional
    rows in the parent, all at the parent's mean. "cv" chooses it by cross-validation, among 0.1, 1,
    10, 25, 50 and 100.
cv : int, default=5
    Number of folds of the cross-validation that chooses pruning and shrinkage together.
hard_thresholds : bool, default=False
    Keep only the median of each node's thresholds, so that every row is in one leaf.
random_state : int, RandomState instance or None, default=None
    Controls ties in the tree, the bootstraps and the folds.
n_jobs : int, default=None
    Number of folds fitted in parallel.
tree_ : FittedTree
    The nodes: ``left``, ``right``, ``feature``, ``missing_left``, ``thresholds`` of shape
    (n_nodes, n_views) in ascending order, ``values`` (n_nodes, n_columns), ``weights``.
ccp_alpha_ : float or None
    Complexity parameter of the pruning, as ``ccp_alpha`` of scikit-learn's trees; None with
    ``prune="ensemble"``.
shrinkage_ : float
    Strength of the shrinkage used.
cv_loss_ : float or None
    Cross-validated loss of the chosen values; None if there are too few rows for folds.
feature_importances_ : ndarray of shape (n_features,)
    Share of each feature in the sum of squares explained by all splits.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if they were all strings.
"""


class BaseInnerTree(EncodeMixin, DocLinkMixin, BaseEstimator, ABC):
    """Base class of inner trees for classification and regression."""

    _keeps_missing = True  # a missing numeric value goes to the side that the tree learns

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_views": [Interval(Integral, 1, None, closed="left")],
        "window": [Interval(Real, 0, 1, closed="both")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "split": [StrOptions({"cart", "ensemble"})],
        "prune": [StrOptions({"cv", "ensemble"})],
        "views": [StrOptions({"uniform", "weighted"})],
        "combine": [StrOptions({BOOSTING, *COMBINATIONS})],
        "sampler": [callable, None],
        "shrinkage": [Interval(Real, 0, None, closed="left"), StrOptions({"cv"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "hard_thresholds": ["boolean"],
        "random_state": ["random_state"],
        "encode": ENCODE_CONSTRAINT,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        max_leaf_nodes: int | None = 16,
        min_samples_leaf: int = 1,
        split: str = "cart",
        prune: str = "cv",
        n_views: int = 30,
        window: float = 0.25,
        views: str = "uniform",
        combine: str = "mean",
        sampler: Any = None,
        shrinkage: Any = "cv",
        cv: int = 5,
        hard_thresholds: bool = False,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.split = split
        self.prune = prune
        self.n_views = n_views
        self.window = window
        self.views = views
        self.combine = combine
        self.sampler = sampler
        self.shrinkage = shrinkage
        self.cv = cv
        self.hard_thresholds = hard_thresholds
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        """Fit the tree: grow, choose pruning and shrinkage by cross-validation, place thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; NaN is a missing value. Categorical columns are one-hot encoded.
        y : array-like of shape (n_samples,)
            Classes, or a numeric target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are ignored.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are in one fold.

        Returns
        -------
        object
            Fitted estimator.
        """
        if self.combine != "mean" and self.split == "cart" and self.prune == "cv":
            raise ValueError(
                f"combine={self.combine!r} combines the views' scores, but with split='cart' and "
                "prune='cv' there are none. Set split='ensemble' or prune='ensemble', or leave "
                "combine='mean'."
            )
        X, y = self._training_rows(X, y, sample_weight, dtype=[np.float64, np.float32])
        weights = read_weights(sample_weight, X)
        targets, counted = self._encode_target(y, weights), weights > 0
        units = ColumnUnits.of(X if counted.all() else X[counted])
        target_units = ColumnUnits.of(
            targets.values[counted, None], shift=self.criterion != "poisson", scaled_exponent=0
        )
        scaled = target_units.scale_values(targets.values, 0)
        rows = TreeRows(writable(units.scale(X)), targets._replace(values=scaled))
        if groups is not None:
            check_consistent_length(X, groups)
            groups = np.asarray(groups)[rows.counted]
        settings = TreeSettings(
            self.criterion, self.max_leaf_nodes, self.min_samples_leaf, self.n_views, self.window,
            self.hard_thresholds, self.split, self.prune, self.views, self.combine,
            self._sampled_views(int(counted.sum())),
        )  # fmt: skip
        tree, alpha, self.shrinkage_, loss = learn_tree(
            rows if weights.all() else rows.take(rows.counted),
            settings,
            SHRINKAGE_GRID if self.shrinkage == "cv" else (self.shrinkage,),
            cv=self.cv,
            random_state=self.random_state,
            groups=groups,
            n_jobs=self.n_jobs,
        )
        exponent = int(target_units.exponents[0])
        tree = replace(tree.restored(units), values=target_units.restore(tree.values, 0))
        self.tree_ = tree
        self.ccp_alpha_ = None
        if self.prune == "cv":
            self.ccp_alpha_ = math.ldexp(
                alpha, exponent if self.criterion == "poisson" else 2 * exponent
            )
        self.cv_loss_ = None if loss is None else math.ldexp(loss, 2 * exponent)
        return self

    def _sampled_views(self, n_rows: int) -> Views | None:
        if self.sampler is None:
            return None
        views = as_counts(sample_views(self.sampler, n_rows))
        if self.prune == "ensemble" and n_rows > 1 and views.all():
            raise ValueError(
                "prune='ensemble' judges splits by the rows outside of a view, but all views of "
                "`sampler` contain all rows. Give some rows the weight 0, or set prune='cv'."
            )
        return views

    @abstractmethod
    def _encode_target(self, y: Any, weights: Doubles) -> RowTargets: ...

    def _rows(self, X: Any) -> NDArray[np.float32]:
        check_is_fitted(self)
        return self.tree_.scale(self._new_rows(X, dtype=[np.float64, np.float32]))

    @property
    def feature_importances_(self) -> Doubles:  # numpydoc ignore=RT01
        """Share of each feature in the sum of squares explained by all splits."""
        check_is_fitted(self)
        return self.tree_.importances(self._encoded_width())

    def get_n_leaves(self) -> int:
        """Count the leaves.

        Returns
        -------
        int
            At most ``max_leaf_nodes``.
        """
        check_is_fitted(self)
        return int(self.tree_.is_leaf.sum())

    def get_depth(self) -> int:
        """Count the splits on the longest path to a leaf.

        Returns
        -------
        int
            0 for a tree with a single node.
        """
        check_is_fitted(self)
        return int(self.tree_.depths.max())

    def leaf_memberships(self, X: Any) -> csr_array:
        """Compute the membership of each row in each leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        csr_array of shape (n_samples, n_leaves)
            Each row sums to one; leaves are in the order of their nodes.
        """
        rows = self._rows(X)
        starts, leaves, shares = self.tree_.leaf_memberships(rows)
        columns = np.cumsum(self.tree_.is_leaf) - 1
        return csr_array((shares, columns[leaves], starts), shape=(len(rows), self.get_n_leaves()))

    def explain(self, x: Any) -> TreePath:
        """Explain the prediction for one row.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row.

        Returns
        -------
        TreePath
            The splits on its path, its share on each side, and the contribution of each split.
            Baseline and contributions add up to the prediction.
        """
        if np.ndim(x) == 1 and not hasattr(x, "columns"):
            x = np.asarray(x)[None]
        rows = self._rows(x)
        if len(rows) != 1:
            raise ValueError(f"`x` has {len(rows)} rows; expected one row to explain.")
        return follow_row(self.tree_, rows[0], self._names())

    def harden(self) -> Any:
        """Replace the thresholds of each node by their median.

        Returns
        -------
        estimator
            A copy in which each node has one threshold, and each row is in one of the same leaves.
        """
        check_is_fitted(self)
        hardened = copy.copy(self)
        hardened.tree_ = self.tree_.harden()
        return hardened

    def to_text(self) -> str:
        """Write the tree as indented text.

        Returns
        -------
        str
            One line per node, with the range of the views' thresholds.
        """
        check_is_fitted(self)
        return as_text(self.tree_, self._names())

    def to_dot(self) -> str:
        """Write the tree as Graphviz text.

        Returns
        -------
        str
            Input of ``dot``.
        """
        check_is_fitted(self)
        return as_dot(self.tree_, self._names())

    def to_html(self) -> str:
        """Draw the tree as HTML; notebooks show it below the parameters of a fitted tree.

        Returns
        -------
        str
            A self-contained HTML figure.
        """
        check_is_fitted(self)
        names = self._names()
        return tree_html(outline(self.tree_, names), names.classes)

    def _repr_html_inner(self) -> str:
        """Show the parameters as scikit-learn does, and the tree if it is fitted."""
        parameters: str = super()._repr_html_inner()
        return parameters + self.to_html() if hasattr(self, "tree_") else parameters

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the same in a notebook."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return shown | {"text/html": self._repr_html_inner()} if "text/html" in shown else shown

    def _names(self, columns: Sequence[str] = ()) -> TreeNames:
        """Name features and classes; ``columns`` are the caller's names of the input columns."""
        given = list(columns) if len(columns) else None
        classes = [str(label) for label in getattr(self, "classes_", ())]
        if hasattr(self, "encoder_"):
            named = self.encoder_.get_feature_names_out(given)
            return TreeNames(list(map(str, named)), classes, feature_categories(self.encoder_))
        named = check_feature_names_in(self) if given is None else given
        return TreeNames(list(map(str, named)), classes)

    def _check_fitted(self) -> None:
        """Reject a tree that does not match the columns or classes."""
        expect(isinstance(self.tree_, FittedTree), "tree_ is not a tree")
        found = ("ccp_alpha_", "shrinkage_", "cv_loss_")
        expect_fitted(self, dict.fromkeys(found, "optional number 0.."))
        self.tree_._check_fitted()  # noqa: SLF001  a check of ours, of a part
        n_features = self._encoded_width()
        expect(int(self.tree_.feature.max()) < n_features, "a split has no column")
        if not (self.tree_.offsets is None and self.tree_.exponents is None):
            expect_units(self.tree_, "offsets", "exponents", n_features)
        n_columns = len(self.classes_) if hasattr(self, "classes_") else 1
        expect(self.tree_.values.shape[1] == n_columns, "values and classes do not match")


def tree_names(estimator: BaseInnerTree, columns: Sequence[str] = ()) -> TreeNames:
    """Give the names of a fitted tree's features and classes."""
    return estimator._names(columns)  # noqa: SLF001


@set_module("ensemblage.inner")
@with_shared(TREE_DOCS)
class InnerTreeClassifier(ClassifierMixin, BaseInnerTree):
    r"""One decision tree with thresholds placed by bootstraps (inner tree).

    The structure is CART's. In each node, the threshold is estimated again on many bootstraps
    (views), on the same feature and near CART's threshold. The share of a row that goes left is the
    share of the thresholds at or above its value, so a row near a threshold goes to both sides.
    Leaves weight rows by these shares, and are shrunk towards their ancestors. The result is one
    tree.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Split criterion.
    {max_leaf_nodes, min_samples_leaf, split, prune, n_views, window, views, combine, sampler}
    {shrinkage, cv, hard_thresholds, encode, n_jobs, random_state}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    {tree_, ccp_alpha_, shrinkage_, cv_loss_, feature_importances_, encoder_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    InnerTreeRegressor : For numeric targets.
    InnerEnsemble : Inner ensembles in other learners.

    Notes
    -----
    Let :math:`m_t` be the row's membership in node :math:`t`, the product of its shares on the
    path, :math:`\mu_t` the class proportions in the node and :math:`N_t` its weight, both weighted
    by memberships, and :math:`p(t)` the parent. The prediction is

    .. math:: f = \mu_0 + \sum_t m_t \frac{\mu_t - \mu_{p(t)}}{1 + \lambda / N_{p(t)}}.

    The complexity parameter :math:`\alpha` and :math:`\lambda` are chosen together by
    cross-validated log loss; all candidates are evaluated with one tree per fold. With ``window=0``
    and ``shrinkage=0`` this is scikit-learn's tree with ``ccp_alpha=ccp_alpha_``, bit for bit.

    By default the views choose only the thresholds. With ``split="ensemble"`` they also choose the
    splits, best-first: the candidates are all thresholds of all columns (at most 255 per column),
    and the score of one on a view is the decrease of impurity times the weight of the view's rows.
    Missing values are on the side of the column's median, and are no split of their own. With
    ``prune="ensemble"`` each view scores a node as a leaf and with its split, by the log likelihood
    of the rows outside of the view under the class proportions (with Laplace smoothing) of those
    inside, or by minus their squared errors. ``combine`` combines these scores; for boosting see
    :class:`InnerEnsemble`, where the loss of a row is one minus the proportion of its class on its
    side of the split, or its absolute error as a share of the largest. With ``views="weighted"`` a
    row's weight in each decision is multiplied by :math:`1 - p` with the proportion :math:`p` of
    its class in the node, or by the distance from the node's mean. None of these is significantly
    better than the default. Only numeric (ordered) columns gain.

    Columns and numeric targets may be in any unit. Those of very small or very large width, or far
    from zero, are scaled by a power of two and shifted before the tree is grown, because CART does
    not distinguish values with a difference below 1e-7; thresholds are in the columns' own units.
    Rows have the precision of float32, and rounding decides between equally good splits.

    Random draws and folds are by position: another order of rows, or copies of rows instead of
    weights, gives another model of similar accuracy.

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013.

    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu. Hierarchical Shrinkage: Improving the
    Accuracy and Interpretability of Tree-Based Methods. ICML 2022.

    J. R. Quinlan. C4.5: Programs for Machine Learning. 1993 (soft thresholds, section 8).

    J. M. Perez, J. Muguerza, O. Arbelaitz, I. Gurrutxaga. A New Algorithm to Build Consolidated
    Trees: Study of the Error Rate and Steadiness. IIPWM 2004 (splits chosen by samples).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ensemblage.inner import InnerTreeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> tree = InnerTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    >>> print(tree.to_text().splitlines()[0])
    proline <= 755 (views: 722.5 to 987.5)   [178 rows]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseInnerTree._parameter_constraints,  # noqa: SLF001
        "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
    }

    def _encode_target(self, y: Any, weights: Doubles) -> RowTargets:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return RowTargets(weights, codes.astype(np.int32), np.zeros(len(y)), len(self.classes_))

    def predict_proba(self, X: Any) -> Doubles:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Class proportions of the leaves, averaged by the row's memberships.
        """
        rows = self._rows(X)
        # rounding may raise a probability above one, which scikit-learn's scorers reject
        return np.minimum(self.tree_.predict(rows), 1.0)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes; the first of equally probable ones.
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


@set_module("ensemblage.inner")
@with_shared(TREE_DOCS)
class InnerTreeRegressor(RegressorMixin, BaseInnerTree):
    r"""One regression tree with thresholds placed by bootstraps (inner tree).

    As :class:`InnerTreeClassifier`, with the mean of a node's targets instead of its class
    proportions, and squared error instead of log loss.

    Parameters
    ----------
    criterion : {"squared_error", "poisson"}, default="squared_error"
        Split criterion. "poisson" (deviance) needs a target that is not negative.
    {max_leaf_nodes, min_samples_leaf, split, prune, n_views, window, views, combine, sampler}
    {shrinkage, cv, hard_thresholds, encode, n_jobs, random_state}

    Attributes
    ----------
    {tree_, ccp_alpha_, shrinkage_, cv_loss_, feature_importances_, encoder_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    InnerTreeClassifier : For classification.

    Notes
    -----
    See :class:`InnerTreeClassifier` for the formula, for decisions by an ensemble, and for units of
    columns and targets.

    Random draws and folds are by position: another order of rows, or copies of rows instead of
    weights, gives another model of similar accuracy. Rounding decides between equally good splits,
    so that this also holds for another order of columns, and for a target in another unit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ensemblage.inner import InnerTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = InnerTreeRegressor(random_state=0).fit(X, y)
    >>> tree.get_n_leaves() <= 16
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseInnerTree._parameter_constraints,  # noqa: SLF001
        "criterion": [StrOptions({"squared_error", "poisson"})],
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_leaf_nodes: int | None = 16,
        min_samples_leaf: int = 1,
        split: str = "cart",
        prune: str = "cv",
        n_views: int = 30,
        window: float = 0.25,
        views: str = "uniform",
        combine: str = "mean",
        sampler: Any = None,
        shrinkage: Any = "cv",
        cv: int = 5,
        hard_thresholds: bool = False,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            criterion=criterion, max_leaf_nodes=max_leaf_nodes, min_samples_leaf=min_samples_leaf,
            split=split, prune=prune, n_views=n_views, window=window, views=views, combine=combine,
            sampler=sampler, shrinkage=shrinkage, cv=cv, hard_thresholds=hard_thresholds,
            encode=encode, n_jobs=n_jobs, random_state=random_state,
        )  # fmt: skip

    def _encode_target(self, y: Any, weights: Doubles) -> RowTargets:
        values = as_numbers(column_or_1d(y, warn=True))
        if not np.isfinite(values).all():
            raise ValueError("`y` has values that are not finite. Remove these rows.")
        largest = float(np.abs(values).max())
        if largest > MAX_TARGET:
            raise ValueError(
                f"`y` has absolute values up to {largest:g}; the limit is {MAX_TARGET:g}. Divide "
                "`y` by a constant."
            )
        if self.criterion == "poisson" and (values.min() < 0 or weights @ values <= 0):
            raise ValueError(
                "`criterion='poisson'` needs a target `y` that is not negative, with a positive "
                f"sum; its minimum is {values.min():g}. Use 'squared_error'."
            )
        return RowTargets(weights, np.zeros(len(values), dtype=np.int32), values, 0)

    def predict(self, X: Any) -> Doubles:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Means of the leaves, averaged by the row's memberships.
        """
        rows = self._rows(X)
        return self.tree_.predict(rows)[:, 0]
