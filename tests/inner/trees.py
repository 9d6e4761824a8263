"""Small trees for the kernels' tests, as arrays and as the slow twin's lists."""

import numpy as np
import sklearn
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.fixes import parse_version

from ensemblage.inner import RowTargets, SoftTree

# before 1.9 scikit-learn's trees take second-best cuts, and miscount rows, where values are missing
MISSING = 0.1 if parse_version(sklearn.__version__) >= parse_version("1.9") else 0.0


def targets(y, weights=None, n_classes=0):
    y = np.asarray(y)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    codes = y.astype(np.int32) if n_classes else np.zeros(len(y), np.int32)
    return RowTargets(weights, codes, y.astype(float), n_classes)


def stump(thresholds, missing_left=False):
    """Give one split of column 0, with several thresholds."""
    return SoftTree(
        np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([0, -1, -1]),
        np.array([missing_left, False, False]),
        np.array([thresholds, [0.0] * len(thresholds), [0.0] * len(thresholds)]),
    )  # fmt: skip


def drawn_rows(seed, n_rows=40, n_classes=3, missing=0.1):
    """Draw rows with ties and missing values, and their classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(n_rows, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 2, n_rows)) // 6
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.clip(y, 0, n_classes - 1).astype(int), rng


def grown(X, y, leaves, criterion="gini", weights=None):
    """Grow scikit-learn's tree, as arrays with one threshold each and as a list."""
    is_regression = criterion in {"squared_error", "poisson"}
    kind = DecisionTreeRegressor if is_regression else DecisionTreeClassifier
    estimator = kind(criterion=criterion, max_leaf_nodes=leaves, random_state=0)
    found = estimator.fit(X, y, sample_weight=weights).tree_
    inner = found.children_left >= 0
    tree = SoftTree(
        found.children_left.astype(np.int64), found.children_right.astype(np.int64),
        np.where(inner, found.feature, -1).astype(np.int64),
        found.missing_go_to_left.astype(bool), np.where(inner, found.threshold, 0.0)[:, None],
    )  # fmt: skip
    return tree, as_list(tree), found


def as_list(tree):
    return [
        None if tree.left[t] < 0 else (int(tree.feature[t]), float(tree.thresholds[t, 0]),
        bool(tree.missing_left[t]), int(tree.left[t]), int(tree.right[t]))
        for t in range(len(tree.left))
    ]  # fmt: skip
