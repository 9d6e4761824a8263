"""Inner trees compared with CART, its variants and bagging."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ensemblage._core import draw_seeds, make_folds
from ensemblage.datasets import Table, find_folder, read_table
from ensemblage.inner import (
    LARGEST,
    SHRINKAGE_GRID,
    RowTargets,
    SoftTree,
    TreeRows,
    TreeSettings,
    alpha_grid,
    draw_bootstraps,
    learn_tree,
    predict_soft,
    pruned,
    rows_at_splits,
)
from ensemblage.papers._declaration import (
    PaperScope,
    PaperTable,
    Scales,
    dataset_print,
    paper_cell,
    paper_dataset,
    paper_table,
    repeat_seed,
)
from ensemblage.papers._summaries import (
    by_repeat,
    complete_scores,
    failed,
    gain_sentence,
    grouped,
)
from ensemblage.studies import CellResult, ResultRow, ResultTable

Doubles = NDArray[np.float64]
TARGET = "target"


REGRESSION = "regression/"
"""Prefix of the names of datasets with a numeric target: a subfolder of the data folder."""
MAX_ROWS = 1500
"""A larger dataset is sampled."""


def tree_rows(name: str, data_dir: str | None, seed: int) -> TreeRows:
    """Read a dataset; a large one is sampled by the seed."""
    if name.startswith(REGRESSION):
        X, y = _regression_data(name, data_dir)
        targets = RowTargets(np.ones(len(y)), np.zeros(len(y), dtype=np.int32), y, 0)
    else:
        X, codes, n_classes = _classification_data(name, data_dir)
        targets = RowTargets(np.ones(len(codes)), codes, np.zeros(len(codes)), n_classes)
    rows = TreeRows(X, targets)
    if len(X) <= MAX_ROWS:
        return rows
    return rows.take(np.sort(np.random.default_rng(seed).permutation(len(X))[:MAX_ROWS]))


@lru_cache(maxsize=8)
def _classification_data(name: str, data_dir: str | None) -> tuple[Any, Any, int]:
    data = paper_dataset(name, data_dir)
    classes, codes = np.unique(data.y, return_inverse=True)
    columns = [data.X[:, j] for j in range(data.X.shape[1])]
    return matrix(columns, list(data.kinds)), codes.astype(np.int32), len(classes)


@lru_cache(maxsize=8)
def _regression_data(name: str, data_dir: str | None) -> tuple[Any, Any]:
    table = _table(name, data_dir)
    chosen = [k for k, column in enumerate(table.names) if column != TARGET]
    X = matrix([table.columns[k] for k in chosen], [table.kinds[k] for k in chosen])
    return X, np.asarray(table.columns[table.names.index(TARGET)], dtype=np.float64)


def matrix(columns: list[Any], kinds: list[str]) -> NDArray[np.float32]:
    """Numeric columns with NaN for missing values, and one-hot encoded categorical columns."""
    features = []
    for column, kind in zip(columns, kinds, strict=True):
        if kind != "categorical":
            features.append(np.asarray(column, dtype=np.float64))
            continue
        values = np.array(["" if each is None else str(each) for each in column])
        features += [(values == each).astype(np.float64) for each in np.unique(values) if each]
    return np.ascontiguousarray(np.column_stack(features), dtype=np.float32)


def file_fingerprint(name: str, data_dir: str | None) -> str:
    """Fingerprint of a dataset with a numeric target: the hash of its file."""
    return hashlib.sha256(_path(name, data_dir).read_bytes()).hexdigest()[:16]


def _table(name: str, data_dir: str | None) -> Table:
    path = _path(name, data_dir)
    manifest = path.parent / "manifest.json"
    declared = msgspec.json.decode(manifest.read_bytes())[path.stem]
    return read_table(path, kinds=dict.fromkeys(declared.get("words", ()), "categorical"))


def _path(name: str, data_dir: str | None) -> Path:
    folder = find_folder(data_dir)
    if folder is None:
        raise ValueError(
            f"The dataset {name} needs a data folder; set `data_dir` to one that contains "
            "`regression`."
        )
    path = folder / f"{name}.csv"
    if not path.exists():
        raise ValueError(f"There is no file {name}.csv in the data folder.")
    return path


VIEWS = 30
"""Bootstraps of an inner tree and of bagging; the estimators' default."""
WINDOW = 0.25
"""The estimators' default."""
INNER_FOLDS = 5
"""The estimators' default of ``cv``."""
FEW_LEAVES = 16
"""The estimators' default of ``max_leaf_nodes``."""

Predicted: TypeAlias = tuple[Doubles, float | None]
"""Predictions for new rows, (n_rows, n_columns), and the number of leaves."""


RAMP = 0.1
"""Half the width of a fixed ramp, as a share of the node's rows."""


class LaplaceSettings(TreeSettings):
    """Leaves with Laplace smoothing in the place of shrinkage."""

    def means(self, tree: SoftTree, rows: TreeRows) -> tuple[Doubles, Doubles]:
        """Add one to each class's weight; means of a numeric target stay as they are."""
        means, weights = super().means(tree, rows)
        n_classes = rows.targets.n_classes
        if not n_classes:
            return means, weights
        smoothed = (means * weights[:, None] + 1) / (weights[:, None] + n_classes)
        return smoothed, weights


class RampSettings(TreeSettings):
    """Soft thresholds over a fixed share of each node's rows, without an ensemble."""

    def place_thresholds(self, tree: SoftTree, rows: TreeRows, seed: int) -> SoftTree:
        """Place the thresholds at equal distances in rank around CART's."""
        rows = rows.take(rows.counted)
        thresholds = np.repeat(tree.thresholds, self.n_views, axis=1)
        for node, here in rows_at_splits(tree, rows):
            x = np.sort(rows.X[here, tree.feature[node]].astype(np.float64))
            x = x[~np.isnan(x)]
            if tree.thresholds[node, 0] < LARGEST and len(x):
                rank = np.searchsorted(x, tree.thresholds[node, 0], side="right") - 1
                ranks = rank + np.linspace(-RAMP, RAMP, self.n_views) * len(x)
                thresholds[node] = x[np.clip(np.round(ranks).astype(int), 0, len(x) - 1)]
        return tree._replace(thresholds=thresholds)


class EnsembleLeavesSettings(TreeSettings):
    """Node means that are averages over bootstraps; thresholds are CART's."""

    def means(self, tree: SoftTree, rows: TreeRows) -> tuple[Doubles, Doubles]:
        """Average the bootstraps' means; a node without rows in one counts by its plain mean."""
        rows = rows.take(rows.counted)
        plain, plain_weights = super().means(tree, rows)
        total = np.zeros_like(plain)
        for counts in draw_bootstraps(len(rows.X), range(self.n_views)).T:
            drawn = rows._replace(targets=rows.targets._replace(weights=counts.astype(np.float64)))
            means, weights = super().means(tree, drawn)
            total += np.where(weights[:, None] > 0, means, plain)
        return total / self.n_views, plain_weights


class TreeVariant(NamedTuple):
    """Settings of a single tree."""

    settings: type[TreeSettings]
    window: float
    strengths: tuple[float, ...] = SHRINKAGE_GRID
    max_leaf_nodes: int | None = None
    hard_thresholds: bool = False
    split: str = "cart"
    prune: str = "cv"
    combine: str = "mean"


VARIANTS = {
    "cart-loss": TreeVariant(LaplaceSettings, 0.0, (0.0,)),
    "shrunk": TreeVariant(TreeSettings, 0.0),
    "thresholds": TreeVariant(LaplaceSettings, WINDOW, (0.0,)),
    "ours": TreeVariant(TreeSettings, WINDOW),
    "ramp": TreeVariant(RampSettings, WINDOW),
    "cart-16": TreeVariant(LaplaceSettings, 0.0, (0.0,), FEW_LEAVES),
    "shrunk-16": TreeVariant(TreeSettings, 0.0, max_leaf_nodes=FEW_LEAVES),
    "ours-16": TreeVariant(TreeSettings, WINDOW, max_leaf_nodes=FEW_LEAVES),
    "hard-16": TreeVariant(TreeSettings, WINDOW, max_leaf_nodes=FEW_LEAVES, hard_thresholds=True),
    "splits-16": TreeVariant(TreeSettings, 0.0, max_leaf_nodes=FEW_LEAVES, split="ensemble"),
    "stopping-16": TreeVariant(
        TreeSettings, 0.0, max_leaf_nodes=FEW_LEAVES, prune="ensemble", combine="vote"
    ),
    "leaves-16": TreeVariant(EnsembleLeavesSettings, 0.0, max_leaf_nodes=FEW_LEAVES),
}


def predict_new(method: str, train: TreeRows, X: NDArray[np.float32], seed: int) -> Predicted:
    if method not in VARIANTS:
        return BASELINES[method](train, X, seed)
    variant = VARIANTS[method]
    criterion = "gini" if train.targets.n_classes else "squared_error"
    settings = variant.settings(
        criterion, variant.max_leaf_nodes, 1, VIEWS, variant.window, variant.hard_thresholds,
        variant.split, variant.prune, combine=variant.combine,
    )  # fmt: skip
    tree, *_ = learn_tree(
        train, settings, variant.strengths, cv=INNER_FOLDS, random_state=seed, n_jobs=1
    )
    return tree.predict(X), float(tree.is_leaf.sum())


def _cart_by_accuracy(train: TreeRows, X: NDArray[np.float32], seed: int) -> Predicted:
    """Choose alpha by the cross-validated errors, as most users do; of equal alphas the largest."""
    settings = LaplaceSettings("gini", None, 1, VIEWS, 0.0)
    grow_seed, fold_seed, *seeds = draw_seeds(seed, 2 + INNER_FOLDS)
    whole, ccp_alphas = settings.grow(train, grow_seed)
    alphas = alpha_grid(whole, ccp_alphas)
    errors = np.zeros(len(alphas))
    n_folds = min(INNER_FOLDS, int(np.bincount(train.y).max()))
    for fold, own in zip(make_folds(train.y, n_folds, fold_seed), seeds, strict=False):
        part = train.take(fold.train)
        grown, own_alphas = settings.grow(part, own)
        classes = settings.means(grown, part)[0].argmax(axis=1)
        errors += errors_by_alpha(grown, own_alphas, classes, train.take(fold.test), alphas)
    tree = pruned(whole, ccp_alphas, float(alphas[errors.argmin()]))
    values = predict_soft(tree, X, settings.means(tree, train)[0])
    return values, float((tree.left < 0).sum())


def errors_by_alpha(
    tree: SoftTree,
    ccp_alphas: Doubles,
    classes: NDArray[np.intp],
    rows: TreeRows,
    alphas: Doubles,
) -> Doubles:
    """Count the errors of a tree pruned at each alpha; alphas descend, nodes predict a class."""
    jumps = np.zeros(len(alphas) + 1)
    node, start = np.zeros(len(rows.X), dtype=np.int64), np.zeros(len(rows.X), dtype=np.int64)
    here = np.arange(len(rows.X))
    while len(here):
        # a node is a leaf from the alpha at which it appears to that of its children
        end = np.searchsorted(-alphas, -ccp_alphas[node], side="right")
        end = np.where(tree.left[node] < 0, len(alphas), np.maximum(end, start))
        wrong = (classes[node] != rows.y[here]).astype(np.float64)
        np.add.at(jumps, start, wrong)
        np.add.at(jumps, end, -wrong)
        on = end < len(alphas)
        here, node, start = here[on], node[on], end[on]
        x = rows.X[here, tree.feature[node]]
        left = np.where(np.isnan(x), tree.missing_left[node], x <= tree.thresholds[node, 0])
        node = np.where(left, tree.left[node], tree.right[node])
    return np.asarray(np.cumsum(jumps)[:-1])


def _bagging(train: TreeRows, X: NDArray[np.float32], seed: int) -> Predicted:
    """Average 30 unpruned trees of scikit-learn on bootstraps."""
    n_classes = train.targets.n_classes
    if not n_classes:
        regressor = BaggingRegressor(DecisionTreeRegressor(), VIEWS, random_state=seed)
        return (regressor.fit(train.X, train.y).predict(X)[:, None], None)
    classifier = BaggingClassifier(DecisionTreeClassifier(), VIEWS, random_state=seed)
    classifier.fit(train.X, train.y)
    values = np.zeros((len(X), n_classes))
    values[:, classifier.classes_] = classifier.predict_proba(X)
    return values, None


BASELINES: dict[str, Callable[[TreeRows, Any, int], Predicted]] = {
    "cart-accuracy": _cart_by_accuracy,
    "bagging": _bagging,
}

CLASSIFICATION_COLUMNS = {
    "cart-accuracy": "CART, by errors",
    "cart-loss": "CART, by log loss",
    "shrunk": "shrunk CART",
    "thresholds": "ensemble thresholds",
    "ours": "thresholds + shrinkage",
    "ramp": "fixed ramp",
    "shrunk-16": "shrunk CART, 16 leaves",
    "ours-16": "thresholds + shrinkage, 16 leaves",
    "hard-16": "their medians, 16 leaves",
    "splits-16": "ensemble splits, 16 leaves",
    "stopping-16": "ensemble stopping, 16 leaves",
    "leaves-16": "ensemble leaves, 16 leaves",
    "bagging": "bagging of 30",
}
REGRESSION_COLUMNS = {
    "cart-loss": "CART",
    "shrunk": "shrunk CART",
    "ours": "thresholds + shrinkage",
    "cart-16": "CART, 16 leaves",
    "shrunk-16": "shrunk CART, 16 leaves",
    "ours-16": "thresholds + shrinkage, 16 leaves",
    "bagging": "bagging of 30",
}
AGREEMENT_METHODS = ("cart-accuracy", "cart-loss", "shrunk", "ours", "ours-16", "bagging")
"""Methods that are also fitted to two halves of the training rows."""
CLASSIFICATION_DATASETS = (
    "abalone", "breast-w", "credit-a", "ecoli", "glass", "heart-c", "heart-statlog", "hepatitis",
    "iris", "labor", "letter", "liver", "lymph", "optdigits", "pendigits", "pima", "segment",
    "sonar", "tic-tac-toe", "vehicle", "vote", "vowel", "waveform", "wine", "yeast",
)  # fmt: skip
REGRESSION_DATASETS = (
    "abalone", "autompg", "bodyfat", "cpu-small", "housing", "kin8nm", "machine-cpu", "pbc",
    "puma8nh", "sensory", "servo", "stock",
)  # fmt: skip
FOLDS = 5
MIN_PROBABILITY = 1e-3
"""Lower probabilities are raised to this one before the log loss is computed."""


class TreeParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One method on one dataset, all folds of one repeat."""

    dataset: str
    method: str
    repeat: int
    seed: int


PAIRS = (
    ("ours", "cart-accuracy"),
    ("ours", "cart-loss"),
    ("ours", "shrunk"),
    ("shrunk", "cart-loss"),
    ("thresholds", "cart-loss"),
    ("ours", "ramp"),
    ("ours-16", "cart-loss"),
    ("ours-16", "shrunk-16"),
    ("hard-16", "ours-16"),
    ("splits-16", "shrunk-16"),
    ("stopping-16", "shrunk-16"),
    ("leaves-16", "shrunk-16"),
    ("ours", "bagging"),
)
"""Methods that are compared with each other."""
REGRESSION_PAIRS = (
    ("ours", "cart-loss"),
    ("ours", "shrunk"),
    ("ours-16", "cart-16"),
    ("ours-16", "shrunk-16"),
    ("ours", "bagging"),
)


@paper_table("inner-tree")
class InnerTree(PaperTable[int]):
    """Repeats of five-fold cross-validation; the quick scale has three datasets."""

    scales = Scales(1, 2, 10)
    quick_datasets = ("iris", "wine", f"{REGRESSION}servo")

    def datasets(self, scale: str) -> tuple[str, ...]:
        """Classification datasets, then regression datasets."""
        return (*CLASSIFICATION_DATASETS, *(f"{REGRESSION}{name}" for name in REGRESSION_DATASETS))

    def fingerprint(self, name: str, data_dir: str | None) -> str:
        fingerprint = file_fingerprint if name.startswith(REGRESSION) else dataset_print
        return fingerprint(name, data_dir)

    def grid(self, scope: PaperScope) -> Iterator[TreeParams]:
        """Repeats first, so that an interrupted run has all datasets."""
        for repeat, name in product(range(self.scale_of(scope)), scope.datasets):
            regression = name.startswith(REGRESSION)
            for method in REGRESSION_COLUMNS if regression else CLASSIFICATION_COLUMNS:
                yield TreeParams(dataset=name, method=method, repeat=repeat, seed=scope.seed)

    @staticmethod
    @paper_cell(TreeParams)
    def compute(params: TreeParams, data_dir: str | None) -> dict[str, float]:
        seed = repeat_seed(params.seed, params.repeat)
        rows = tree_rows(params.dataset, data_dir, seed)
        if params.dataset.startswith(REGRESSION):
            return _regression_scores(params.method, rows, seed)
        return _classification_scores(params.method, rows, seed)

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        classification = [name for name in scope.datasets if not name.startswith(REGRESSION)]
        regression = [name for name in scope.datasets if name.startswith(REGRESSION)]
        groups = grouped(results, "dataset", "method")
        tables = (
            ("accuracy", "accuracy (%)", classification, CLASSIFICATION_COLUMNS),
            ("log_loss", "log loss", classification, CLASSIFICATION_COLUMNS),
            ("agreement", "agreement of two halves (%)", classification,
             {name: CLASSIFICATION_COLUMNS[name] for name in AGREEMENT_METHODS}),
            ("leaves", "leaves", classification, CLASSIFICATION_COLUMNS),
            ("r2", "R²", regression, REGRESSION_COLUMNS),
        )  # fmt: skip
        made = []
        for value, measure, names, methods in tables:
            rows = []
            for name, method in product(names, methods):
                found = groups.get((name, method), [])
                if method == "bagging" and value == "leaves":
                    continue
                values = by_repeat(found, value)
                short = name.removeprefix(REGRESSION)
                rows.append(self.entry(short, methods[method], values, failed(found)))
            summary = [] if value == "leaves" else _sentences(rows, value, methods)
            better = {"log_loss": False, "leaves": None}.get(value, True)
            made.append(
                self.measure_table(
                    value.replace("_", "-"), measure, rows, summary, scope, greater_is_better=better
                )
            )
        return made


def _sentences(rows: Sequence[ResultRow], value: str, methods: dict[str, str]) -> list[str]:
    sentences = []
    for one, other in REGRESSION_PAIRS if value == "r2" else PAIRS:
        if one in methods and other in methods:
            columns = (methods[one], methods[other])
            scores = complete_scores(rows, columns)[1]
            if value == "log_loss":
                sentences += loss_sentence(*columns, scores)
            else:
                gains = scores[:, 0] - scores[:, 1]
                sentences += gain_sentence(*columns, gains.tolist(), 3 if value == "r2" else 2)
    return sentences


def loss_sentence(one: str, other: str, scores: NDArray[np.float64]) -> list[str]:
    """Compare the log losses of two methods, with Wilcoxon's test."""
    if not len(scores):
        return []
    means, lower = scores.mean(axis=0), int((scores[:, 0] < scores[:, 1]).sum())
    text = (
        f"{one} against {other}: log loss {means[0]:.3f} against {means[1]:.3f} "
        f"({means[0] / means[1] - 1:+.1%}), lower on {lower} of {len(scores)} datasets"
    )
    if len(scores) < 6 or np.allclose(scores[:, 0], scores[:, 1]):
        return [f"{text}."]
    return [f"{text}, Wilcoxon p = {wilcoxon(scores[:, 0] - scores[:, 1]).pvalue:.2g}."]


def _classification_scores(method: str, rows: TreeRows, seed: int) -> dict[str, float]:
    fold_seed, *seeds = draw_seeds(seed, 1 + FOLDS)
    shares = np.zeros((len(rows.X), rows.targets.n_classes))
    leaves: list[float] = []
    n_agreeing = 0
    for fold, own in zip(make_folds(rows.y, FOLDS, fold_seed), seeds, strict=True):
        train, X = rows.take(fold.train), rows.X[fold.test]
        shares[fold.test], n_leaves = predict_new(method, train, X, own)
        leaves += [] if n_leaves is None else [n_leaves]
        if method in AGREEMENT_METHODS:
            n_agreeing += _count_agreements(method, train, X, own)
    correct = shares.argmax(axis=1) == rows.y
    losses = -np.log(np.maximum(shares[np.arange(len(correct)), rows.y], MIN_PROBABILITY))
    scores: dict[str, Any] = {
        "accuracy": 100 * float(correct.mean()), "log_loss": float(losses.mean())
    }  # fmt: skip
    if leaves:
        scores["leaves"] = float(np.mean(leaves))
    if method in AGREEMENT_METHODS:
        scores["agreement"] = 100 * n_agreeing / len(correct)
    return scores


def _count_agreements(method: str, train: TreeRows, X: NDArray[np.float32], seed: int) -> int:
    """Count the rows for which trees of two halves predict the same class."""
    first, second = make_folds(train.y, 2, seed)
    one, other = (
        predict_new(method, train.take(part.train), X, seed)[0].argmax(axis=1)
        for part in (first, second)
    )
    return int((one == other).sum())


def _regression_scores(method: str, rows: TreeRows, seed: int) -> dict[str, float]:
    fold_seed, *seeds = draw_seeds(seed, 1 + FOLDS)
    predicted = np.zeros(len(rows.X))
    labels = np.zeros(len(rows.X), dtype=int)
    for fold, own in zip(make_folds(labels, FOLDS, fold_seed), seeds, strict=True):
        values, _ = predict_new(method, rows.take(fold.train), rows.X[fold.test], own)
        predicted[fold.test] = values[:, 0]
    total = ((rows.y - rows.y.mean()) ** 2).sum()
    return {"r2": 1 - float(((rows.y - predicted) ** 2).sum() / total)}
