"""One tree whose thresholds are placed by an ensemble of bootstraps."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ensemblage._core import (
    DocLinkMixin,
    Interval,
    StrOptions,
    as_numbers,
    check_feature_names_in,
    expect,
    expect_fitted,
    fit_context,
    guarded_fit,
    read_weights,
    set_module,
    with_shared,
    write_number,
)
from ensemblage.datasets import ENCODE_CONSTRAINT, ENCODE_DOCS, EncodeMixin, feature_categories
from ensemblage.inner._tree_drawing import TreeNode, tree_html
from ensemblage.inner._tree_growth import (
    LARGEST,
    SHRINKAGE_GRID,
    FittedTree,
    TreeRows,
    TreeSettings,
    learn_tree,
    writable,
)
from ensemblage.inner._tree_kernels import RowTargets, views_right

Doubles = NDArray[np.float64]

MAX_TARGET = 1e70
"""Products of two sums of squares of larger targets are not finite."""


@set_module("ensemblage.inner")
class TreeStep(NamedTuple):  # numpydoc ignore=PR01
    """A split on a row's path.

    Attributes
    ----------
    node : int
        Number of the node.
    column : str
        What is compared.
    question : str
        What is asked of it, as in ``to_text``.
    value : float
        The row's value; NaN if it is missing.
    threshold, low, high : float
        Median, least and greatest of the views' thresholds.
    share : float
        How much of the row comes here.
    left : float
        How much of that goes left, to the values at or below the threshold.
    yes : float
        For how much of it the answer is yes: what goes left, or, where a category is asked for,
        what goes right.
    contribution : ndarray of shape (n_columns,)
        What the split adds to the prediction: to each class's probability, or to the number.
    """

    node: int
    column: str
    question: str
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
    start : ndarray of shape (n_columns,)
        What the root predicts.
    steps : list of TreeStep
        The splits on the way, parents first.
    leaves : dict of int to float
        The row's share in each leaf that it touches.
    prediction : ndarray of shape (n_columns,)
        The start and all contributions together.
    """

    start: Doubles
    steps: list[TreeStep]
    leaves: dict[int, float]
    prediction: Doubles


class TreeNames(NamedTuple):
    """Names of the columns, and of the classes; no classes where the target is numeric.

    ``categories`` has one for each column ``name = category`` of zeros and ones, and None for the
    others; it may be empty.
    """

    columns: Sequence[str]
    classes: Sequence[str]
    categories: Sequence[str | None] = ()


class SplitText(NamedTuple):
    """What a split asks: a column, what it is compared with, and where the views differ.

    ``yes`` and ``no`` are the children.
    """

    column: str
    compared: str
    views: str
    yes: int
    no: int

    @property
    def question(self) -> str:
        """Column and comparison together."""
        return f"{self.column}{self.compared}"

    @property
    def line(self) -> str:
        """The question and the views' range: ``petal length <= 2.45 (views: 2.3 to 2.6)``."""
        return f"{self.question} ({self.views})" if self.views else self.question


def describe_split(tree: FittedTree, node: int, names: TreeNames) -> SplitText:
    """Read a split: the median of its thresholds, and the least and the greatest of them.

    Of a column of zeros and ones the category is asked for.
    """
    thresholds, column = tree.thresholds[node], names.columns[tree.feature[node]]
    left, right = int(tree.left[node]), int(tree.right[node])
    category = names.categories[tree.feature[node]] if names.categories else None
    if category is not None and 0 <= thresholds[0] <= thresholds[-1] < 1:
        return SplitText(column.removesuffix(f" = {category}"), f" is {category}", "", right, left)
    if thresholds[0] >= LARGEST:
        return SplitText(column, " is known", "", left, right)
    middle, low, high = distinct_texts(
        float(thresholds[len(thresholds) // 2]), float(thresholds[0]), float(thresholds[-1])
    )
    views = "" if low == high else f"views: {low} to {high}"
    return SplitText(column, f" <= {middle}", views, left, right)


def distinct_texts(*numbers: float) -> tuple[str, ...]:
    """Write numbers with as many digits as distinguish them, four at least."""
    texts: tuple[str, ...] = ()
    for digits in range(4, 17):
        texts = tuple(write_number(value, digits) for value in numbers)
        if len(set(texts)) == len(set(numbers)):
            break
    return texts


def describe_values(tree: FittedTree, node: int, names: TreeNames) -> str:
    """Write what a node predicts: its most probable classes, or its mean."""
    values = tree.values[node]
    if not names.classes:
        return write_number(float(values[0]))
    order = np.argsort(-values, kind="stable")
    shown = [f"{names.classes[k]} {values[k]:.0%}" for k in order if values[k] >= 0.005][:3]
    return ", ".join(shown)


def describe_rows(tree: FittedTree, node: int) -> str:
    """Write how many training rows a node has, by weight."""
    weight = float(tree.weights[node])
    return f"{weight:.0f} rows" if weight >= 9.95 else f"{weight:.1f} rows"


def as_text(tree: FittedTree, names: TreeNames) -> str:
    """Write a line per node, children below their parent, the side of "yes" first."""
    # node, what stands before it, and what before that which is below it
    lines, waiting = [], [(0, "", "")]
    while waiting:
        node, before, below = waiting.pop()
        rows = describe_rows(tree, node)
        if tree.left[node] < 0:
            lines.append(f"{before}{describe_values(tree, node, names)}   [{rows}]")
            continue
        split = describe_split(tree, node, names)
        lines.append(f"{before}{split.line}   [{rows}]")
        waiting.append((split.no, f"{below}└─ no: ", f"{below}   "))
        waiting.append((split.yes, f"{below}├─ yes: ", f"{below}│  "))
    return "\n".join(lines)


def outline(tree: FittedTree, names: TreeNames) -> list[TreeNode]:
    """List the nodes as they are drawn, in the order of the text."""
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
    """Write Graphviz's language; leaves are round."""

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
    """Follow one row down both sides of each split."""
    n_views, values = tree.thresholds.shape[1], tree.values
    shares, steps = {0: 1.0}, []
    for node in range(len(tree.left)):
        if tree.left[node] < 0 or node not in shares:
            continue
        feature, thresholds = int(tree.feature[node]), tree.thresholds[node]
        x = float(row[feature])
        right = views_right(thresholds, x, bool(tree.missing_left[node])) / n_views
        split = describe_split(tree, node, names)
        contribution = np.zeros(values.shape[1])
        for child, part in ((int(tree.left[node]), 1 - right), (int(tree.right[node]), right)):
            if part > 0:
                shares[child] = shares[node] * part
                contribution += shares[child] * (values[child] - values[node])
        steps.append(
            TreeStep(
                node, names.columns[feature], split.question, x,
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
    Bootstraps that place each threshold again.
window : float, default=0.25
    How far from CART's threshold a view may place its own: a share of the node's rows, by rank. At
    0 the thresholds are CART's.
max_leaf_nodes : int or None, default=16
    Leaves at most. None has no limit, and is the most accurate.
min_samples_leaf : int, default=1
    Rows that a split leaves on each side at least.
shrinkage : float or "cv", default="cv"
    Strength by which a node is shrunk towards its parent: as if so many rows of the parent's mean
    had been added to the parent. "cv" chooses by folds, among 0.1, 1, 10, 25, 50 and 100.
cv : int, default=5
    Folds by which pruning and shrinkage are chosen together.
hard_thresholds : bool, default=False
    Keep the median of each node's thresholds only, so that every row has one leaf.
random_state : int, RandomState instance or None, default=None
    For the tree's ties, the bootstraps and the folds.
n_jobs : int, default=None
    Folds at the same time.
tree_ : FittedTree
    The nodes: ``left``, ``right``, ``feature``, ``missing_left``, ``thresholds`` of shape
    (n_nodes, n_views) in ascending order, ``values`` (n_nodes, n_columns), ``weights``.
ccp_alpha_ : float
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
    """What classification and regression trees have in common: all but the target."""

    _keeps_missing = True  # a missing number goes the way that the tree learns

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_views": [Interval(Integral, 1, None, closed="left")],
        "window": [Interval(Real, 0, 1, closed="both")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
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
        n_views: int = 30,
        window: float = 0.25,
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
        self.n_views = n_views
        self.window = window
        self.shrinkage = shrinkage
        self.cv = cv
        self.hard_thresholds = hard_thresholds
        self.encode = encode
        self.n_jobs = n_jobs
        self.random_state = random_state

    @guarded_fit
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        """Grow, choose by cross-validation, let the views place the thresholds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; NaN is a missing value. Categories become features of zeros and ones.
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
        rows = TreeRows(writable(X), self._encode_target(y, weights))
        if groups is not None:
            check_consistent_length(X, groups)
            groups = np.asarray(groups)[rows.counted]
        settings = TreeSettings(
            self.criterion, self.max_leaf_nodes, self.min_samples_leaf, self.n_views, self.window,
            self.hard_thresholds,
        )  # fmt: skip
        self.tree_, self.ccp_alpha_, self.shrinkage_, self.cv_loss_ = learn_tree(
            rows if weights.all() else rows.take(rows.counted),
            settings,
            SHRINKAGE_GRID if self.shrinkage == "cv" else (self.shrinkage,),
            cv=self.cv,
            random_state=self.random_state,
            groups=groups,
            n_jobs=self.n_jobs,
        )
        return self

    @abstractmethod
    def _encode_target(self, y: Any, weights: Doubles) -> RowTargets: ...

    def _rows(self, X: Any) -> NDArray[np.float32]:
        check_is_fitted(self)
        with np.errstate(over="ignore", invalid="ignore"):
            rows: NDArray[np.float32] = writable(self._new_rows(X, dtype=np.float32, order="C"))
        return rows

    @property
    def feature_importances_(self) -> Doubles:  # numpydoc ignore=RT01
        """Share of each feature in what all splits explain."""
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
        """Count the splits on the longest way to a leaf.

        Returns
        -------
        int
            0 for a tree that is its root.
        """
        check_is_fitted(self)
        return int(self.tree_.depths.max())

    def leaf_memberships(self, X: Any) -> csr_array:
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
        starts, leaves, shares = self.tree_.leaf_memberships(rows)
        numbers = np.cumsum(self.tree_.is_leaf) - 1
        return csr_array((shares, numbers[leaves], starts), shape=(len(rows), self.get_n_leaves()))

    def explain(self, x: Any) -> TreePath:
        """Follow one row through the tree.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row.

        Returns
        -------
        TreePath
            The splits on its path, its share on each side, and what each split adds: the start and
            all contributions add up to the prediction.
        """
        if np.ndim(x) == 1 and not hasattr(x, "columns"):
            x = np.asarray(x)[None]
        rows = self._rows(x)
        if len(rows) != 1:
            raise ValueError(f"`x` has {len(rows)} rows; give one row to explain.")
        return follow_row(self.tree_, rows[0], self._names())

    def harden(self) -> Any:
        """Follow the medians of the thresholds.

        Returns
        -------
        estimator
            A copy in which each node has one threshold, and each row one of the same leaves.
        """
        check_is_fitted(self)
        made = copy.copy(self)
        made.tree_ = self.tree_.harden()
        return made

    def to_text(self) -> str:
        """Write the tree as indented text.

        Returns
        -------
        str
            A line per node, with the views' thresholds from the least to the greatest.
        """
        check_is_fitted(self)
        return as_text(self.tree_, self._names())

    def to_dot(self) -> str:
        """Write the tree in the language of Graphviz.

        Returns
        -------
        str
            To be drawn by ``dot``.
        """
        check_is_fitted(self)
        return as_dot(self.tree_, self._names())

    def to_html(self) -> str:
        """Draw the tree for a notebook, which shows it below a fitted tree's parameters.

        Returns
        -------
        str
            A figure of HTML with styles of its own; nothing is loaded.
        """
        check_is_fitted(self)
        names = self._names()
        return tree_html(outline(self.tree_, names), names.classes)

    def _repr_html_inner(self) -> str:
        """Show parameters as scikit-learn does, and the tree if there is one."""
        parameters: str = super()._repr_html_inner()
        return parameters + self.to_html() if hasattr(self, "tree_") else parameters

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the same in a notebook."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return shown | {"text/html": self._repr_html_inner()} if "text/html" in shown else shown

    def _names(self, columns: Sequence[str] = ()) -> TreeNames:
        """Name features, after the table's columns as the caller knows them, and classes."""
        given = list(columns) if len(columns) else None
        classes = [str(label) for label in getattr(self, "classes_", ())]
        if hasattr(self, "encoder_"):
            named = self.encoder_.get_feature_names_out(given)
            return TreeNames(list(map(str, named)), classes, feature_categories(self.encoder_))
        named = check_feature_names_in(self) if given is None else given
        return TreeNames(list(map(str, named)), classes)

    def _check_fitted(self) -> None:
        """Refuse a tree that asks for columns or classes which there are not."""
        expect(isinstance(self.tree_, FittedTree), "tree_ is no tree")
        found = ("ccp_alpha_", "shrinkage_", "cv_loss_")
        expect_fitted(self, dict.fromkeys(found, "optional number 0.."))
        self.tree_._check_fitted()  # noqa: SLF001  a check of ours, of a part
        expect(int(self.tree_.feature.max()) < self._encoded_width(), "a split has no column")
        n_columns = len(self.classes_) if hasattr(self, "classes_") else 1
        expect(self.tree_.values.shape[1] == n_columns, "values and classes do not fit together")


def tree_names(estimator: BaseInnerTree, columns: Sequence[str] = ()) -> TreeNames:
    """Name what a fitted tree asks for and predicts."""
    return estimator._names(columns)  # noqa: SLF001


@set_module("ensemblage.inner")
@with_shared(TREE_DOCS)
class InnerTreeClassifier(ClassifierMixin, BaseInnerTree):
    r"""One decision tree whose thresholds are placed by bootstraps.

    The structure is CART's. In each node, each of many bootstraps places the threshold once more,
    on the node's own feature, near CART's. A row goes left by the share of them at or above its
    value, so near a threshold it goes both ways in part. Leaves count rows by these shares, and
    are shrunk towards their ancestors. It stays one tree, to be read and to predict with.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split is judged by.
    {max_leaf_nodes, min_samples_leaf, n_views, window, shrinkage, cv, hard_thresholds, encode}
    {n_jobs, random_state}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    {tree_, ccp_alpha_, shrinkage_, cv_loss_, feature_importances_, encoder_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    InnerTreeRegressor : For numeric targets.
    InnerEnsemble : The building block: a threshold is a measure over cuts, a bootstrap is a view.

    Notes
    -----
    With :math:`m_t` the row's membership in node :math:`t`, the product of its shares on the way
    there, :math:`\mu_t` the classes' shares in the node and :math:`N_t` its weight, both by
    memberships, and :math:`p(t)` the parent, the prediction is

    .. math:: f = \mu_0 + \sum_t m_t \frac{\mu_t - \mu_{p(t)}}{1 + \lambda / N_{p(t)}}.

    The cost :math:`\alpha` of a leaf and :math:`\lambda` are chosen together, by log loss over
    folds; all of them come from one tree per fold. With ``window=0`` and ``shrinkage=0`` this is
    scikit-learn's tree with ``ccp_alpha=ccp_alpha_``, bit for bit.

    The views decide on the thresholds only. Ensembles that choose the splits, stop the growth or
    make the leaves gained nothing in accuracy. Only ordered columns gain.

    References
    ----------
    H. Abbasian, C. Drummond, N. Japkowicz, S. Matwin. Inner Ensembles: Using Ensemble Methods
    Inside the Learning Algorithm. ECML PKDD 2013.

    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu. Hierarchical Shrinkage: Improving the
    Accuracy and Interpretability of Tree-Based Methods. ICML 2022.

    J. R. Quinlan. C4.5: Programs for Machine Learning. 1993 (soft thresholds, section 8).

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
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The leaves' shares, averaged by the row's memberships.
        """
        rows = self._rows(X)
        # memberships may add up to one and a bit, which scikit-learn's scorers refuse
        return np.minimum(self.tree_.predict(rows), 1.0)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Of equally probable classes the first.
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


@set_module("ensemblage.inner")
@with_shared(TREE_DOCS)
class InnerTreeRegressor(RegressorMixin, BaseInnerTree):
    r"""One regression tree whose thresholds are placed by bootstraps.

    As :class:`InnerTreeClassifier`, with the mean of a node's targets in the place of its classes'
    shares, and squared error in the place of log loss.

    Parameters
    ----------
    criterion : {"squared_error", "poisson"}, default="squared_error"
        What a split is judged by. Poisson's deviance needs numbers that are not negative.
    {max_leaf_nodes, min_samples_leaf, n_views, window, shrinkage, cv, hard_thresholds, encode}
    {n_jobs, random_state}

    Attributes
    ----------
    {tree_, ccp_alpha_, shrinkage_, cv_loss_, feature_importances_, encoder_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    InnerTreeClassifier : For classes.

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
        n_views: int = 30,
        window: float = 0.25,
        shrinkage: Any = "cv",
        cv: int = 5,
        hard_thresholds: bool = False,
        encode: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            criterion=criterion, max_leaf_nodes=max_leaf_nodes, min_samples_leaf=min_samples_leaf,
            n_views=n_views, window=window, shrinkage=shrinkage, cv=cv,
            hard_thresholds=hard_thresholds, encode=encode, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip

    def _encode_target(self, y: Any, weights: Doubles) -> RowTargets:
        numbers = as_numbers(column_or_1d(y, warn=True))
        if not np.isfinite(numbers).all():
            raise ValueError("`y` holds values that are not finite. Leave these rows out.")
        largest = float(np.abs(numbers).max())
        if largest > MAX_TARGET:
            raise ValueError(
                f"`y` holds numbers as large as {largest:g}; those up to {MAX_TARGET:g} can be "
                "squared and summed. Divide all by the same."
            )
        if self.criterion == "poisson" and (numbers.min() < 0 or weights @ numbers <= 0):
            raise ValueError(
                "`criterion='poisson'` needs numbers of `y` that are not negative, some of them "
                f"above zero; the least is {numbers.min():g}. Use 'squared_error'."
            )
        return RowTargets(weights, np.zeros(len(numbers), dtype=np.int32), numbers, 0)

    def predict(self, X: Any) -> Doubles:
        """Predict numbers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            The leaves' means, averaged by the row's memberships.
        """
        rows = self._rows(X)
        return self.tree_.predict(rows)[:, 0]
