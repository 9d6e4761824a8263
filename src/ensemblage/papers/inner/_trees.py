"""Inner trees beside single trees."""

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
    SHRINKAGE_GRID,
    RowTargets,
    SoftTree,
    TreeRows,
    TreeSettings,
    alpha_grid,
    learn_tree,
    predict_soft,
    pruned,
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
from ensemblage.papers.inner._tree_variants import (
    CrowdLeavesRecipe,
    CrowdSplitsRecipe,
    CrowdStoppingRecipe,
    LaplaceRecipe,
    RampRecipe,
)
from ensemblage.studies import CellResult, ResultRow, ResultTable

Doubles = NDArray[np.float64]
TARGET = "target"


NUMBERS = "regression/"
"""What names of sets with a number to predict start with: a folder inside the data's."""
MOST_ROWS = 1500


def tree_rows(name: str, data_dir: str | None, seed: int) -> TreeRows:
    """Read a set; of a large one, rows drawn by the seed."""
    if name.startswith(NUMBERS):
        X, y = _numbers(name, data_dir)
        targets = RowTargets(np.ones(len(y)), np.zeros(len(y), dtype=np.int32), y, 0)
    else:
        X, codes, n_classes = _classes(name, data_dir)
        targets = RowTargets(np.ones(len(codes)), codes, np.zeros(len(codes)), n_classes)
    rows = TreeRows(X, targets)
    if len(X) <= MOST_ROWS:
        return rows
    return rows.take(np.sort(np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]))


@lru_cache(maxsize=8)
def _classes(name: str, data_dir: str | None) -> tuple[Any, Any, int]:
    data = paper_dataset(name, data_dir)
    classes, codes = np.unique(data.y, return_inverse=True)
    columns = [data.X[:, j] for j in range(data.X.shape[1])]
    return matrix(columns, list(data.kinds)), codes.astype(np.int32), len(classes)


@lru_cache(maxsize=8)
def _numbers(name: str, data_dir: str | None) -> tuple[Any, Any]:
    table = _table(name, data_dir)
    chosen = [k for k, column in enumerate(table.names) if column != TARGET]
    X = matrix([table.columns[k] for k in chosen], [table.kinds[k] for k in chosen])
    return X, np.asarray(table.columns[table.names.index(TARGET)], dtype=np.float64)


def matrix(columns: list[Any], kinds: list[str]) -> NDArray[np.float32]:
    """Numbers as they are, missing ones NaN; a feature of zeros and ones for each word."""
    features = []
    for column, kind in zip(columns, kinds, strict=True):
        if kind != "categorical":
            features.append(np.asarray(column, dtype=np.float64))
            continue
        words = np.array(["" if each is None else str(each) for each in column])
        features += [(words == word).astype(np.float64) for word in np.unique(words) if word]
    return np.ascontiguousarray(np.column_stack(features), dtype=np.float32)


def set_print(name: str, data_dir: str | None) -> str:
    """Fingerprint of a set with numbers: of its file's bytes."""
    return hashlib.sha256(_path(name, data_dir).read_bytes()).hexdigest()[:16]


def _table(name: str, data_dir: str | None) -> Table:
    path = _path(name, data_dir)
    manifest = path.parent / "manifest.json"
    declared = msgspec.json.decode(manifest.read_bytes())[path.stem]
    return read_table(path, kinds=dict.fromkeys(declared.get("words", ()), "categorical"))


def _path(name: str, data_dir: str | None) -> Path:
    folder = find_folder(data_dir)
    if folder is None:
        raise ValueError(f"{name} is in no folder: name one that has `regression` by `data_dir`.")
    path = folder / f"{name}.csv"
    if not path.exists():
        raise ValueError(f"There is no file {name}.csv in the folder of the data.")
    return path


VIEWS, WINDOW, INNER_FOLDS = 30, 0.25, 5
"""The estimators' defaults."""
SMALL = 16

Predicted: TypeAlias = tuple[Doubles, float | None]
"""Of new rows, (n_rows, n_columns), and the number of leaves."""


class Way(NamedTuple):
    """A way to learn a tree: its recipe, window, strengths and most leaves."""

    recipe: type[TreeSettings]
    window: float
    strengths: tuple[float, ...] = SHRINKAGE_GRID
    leaves: int | None = None
    hard_thresholds: bool = False


WAYS = {
    "cart-loss": Way(LaplaceRecipe, 0.0, (0.0,)),
    "shrunk": Way(TreeSettings, 0.0),
    "thresholds": Way(LaplaceRecipe, WINDOW, (0.0,)),
    "ours": Way(TreeSettings, WINDOW),
    "ramp": Way(RampRecipe, WINDOW),
    "cart-16": Way(LaplaceRecipe, 0.0, (0.0,), SMALL),
    "shrunk-16": Way(TreeSettings, 0.0, leaves=SMALL),
    "ours-16": Way(TreeSettings, WINDOW, leaves=SMALL),
    "crisp-16": Way(TreeSettings, WINDOW, leaves=SMALL, hard_thresholds=True),
    "splits-16": Way(CrowdSplitsRecipe, 0.0, leaves=SMALL),
    "stopping-16": Way(CrowdStoppingRecipe, 0.0, leaves=SMALL),
    "leaves-16": Way(CrowdLeavesRecipe, 0.0, leaves=SMALL),
}


def predict_new(method: str, train: TreeRows, X: NDArray[np.float32], seed: int) -> Predicted:
    if method not in WAYS:
        return OTHERS[method](train, X, seed)
    way = WAYS[method]
    criterion = "gini" if train.targets.n_classes else "squared_error"
    settings = way.recipe(criterion, way.leaves, 1, VIEWS, way.window, way.hard_thresholds)
    tree, *_ = learn_tree(
        train, settings, way.strengths, cv=INNER_FOLDS, random_state=seed, n_jobs=1
    )
    return tree.predict(X), float(tree.is_leaf.sum())


def _cart_by_accuracy(train: TreeRows, X: NDArray[np.float32], seed: int) -> Predicted:
    """Prune by the errors on the folds, as most users do; of equal alphas the largest."""
    recipe = LaplaceRecipe("gini", None, 1, VIEWS, 0.0)
    grow_seed, fold_seed, *seeds = draw_seeds(seed, 2 + INNER_FOLDS)
    whole, ccp_alphas = recipe.grow(train, grow_seed)
    alphas = alpha_grid(whole, ccp_alphas)
    errors = np.zeros(len(alphas))
    n_folds = min(INNER_FOLDS, int(np.bincount(train.y).max()))
    for fold, own in zip(make_folds(train.y, n_folds, fold_seed), seeds, strict=False):
        part = train.take(fold.train)
        grown, own_alphas = recipe.grow(part, own)
        classes = recipe.means(grown, part)[0].argmax(axis=1)
        errors += errors_by_alpha(grown, own_alphas, classes, train.take(fold.test), alphas)
    tree = pruned(whole, ccp_alphas, float(alphas[errors.argmin()]))
    values = predict_soft(tree, X, recipe.means(tree, train)[0])
    return values, float((tree.left < 0).sum())


def errors_by_alpha(
    tree: SoftTree,
    ccp_alphas: Doubles,
    classes: NDArray[np.intp],
    rows: TreeRows,
    alphas: Doubles,
) -> Doubles:
    """Errors of a tree pruned at each of the falling alphas, each node giving its class."""
    jumps = np.zeros(len(alphas) + 1)
    node, start = np.zeros(len(rows.X), dtype=np.int64), np.zeros(len(rows.X), dtype=np.int64)
    here = np.arange(len(rows.X))
    while len(here):
        # a node is a leaf from where it appears until its own children do
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
    """Average 30 whole trees on bootstraps, scikit-learn's."""
    n_classes = train.targets.n_classes
    if not n_classes:
        numbers = BaggingRegressor(DecisionTreeRegressor(), VIEWS, random_state=seed)
        return (numbers.fit(train.X, train.y).predict(X)[:, None], None)
    classes = BaggingClassifier(DecisionTreeClassifier(), VIEWS, random_state=seed)
    classes.fit(train.X, train.y)
    values = np.zeros((len(X), n_classes))
    values[:, classes.classes_] = classes.predict_proba(X)
    return values, None


OTHERS: dict[str, Callable[[TreeRows, Any, int], Predicted]] = {
    "cart-accuracy": _cart_by_accuracy,
    "bagging": _bagging,
}

CLASSES = {
    "cart-accuracy": "CART, by errors",
    "cart-loss": "CART, by log loss",
    "shrunk": "shrunk CART",
    "thresholds": "crowd thresholds",
    "ours": "thresholds + shrinkage",
    "ramp": "fixed ramp",
    "shrunk-16": "shrunk CART, 16 leaves",
    "ours-16": "thresholds + shrinkage, 16 leaves",
    "crisp-16": "their medians, 16 leaves",
    "splits-16": "crowd splits, 16 leaves",
    "stopping-16": "crowd stopping, 16 leaves",
    "leaves-16": "crowd leaves, 16 leaves",
    "bagging": "bagging of 30",
}
WITH_NUMBERS = {
    "cart-loss": "CART",
    "shrunk": "shrunk CART",
    "ours": "thresholds + shrinkage",
    "cart-16": "CART, 16 leaves",
    "shrunk-16": "shrunk CART, 16 leaves",
    "ours-16": "thresholds + shrinkage, 16 leaves",
    "bagging": "bagging of 30",
}
HALVED = ("cart-accuracy", "cart-loss", "shrunk", "ours", "ours-16", "bagging")
"""Methods of which two are learned from halves."""
CLASS_SETS = (
    "abalone", "breast-w", "credit-a", "ecoli", "glass", "heart-c", "heart-statlog", "hepatitis",
    "iris", "labor", "letter", "liver", "lymph", "optdigits", "pendigits", "pima", "segment",
    "sonar", "tic-tac-toe", "vehicle", "vote", "vowel", "waveform", "wine", "yeast",
)  # fmt: skip
NUMBER_SETS = (
    "abalone", "autompg", "bodyfat", "cpu-small", "housing", "kin8nm", "machine-cpu", "pbc",
    "puma8nh", "sensory", "servo", "stock",
)  # fmt: skip
FOLDS = 5
LEAST = 1e-3


class TreeParams(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One method on one set, all folds of one repeat."""

    dataset: str
    method: str
    repeat: int
    seed: int


# two methods that are compared
PAIRS = (
    ("ours", "cart-accuracy"),
    ("ours", "cart-loss"),
    ("ours", "shrunk"),
    ("shrunk", "cart-loss"),
    ("thresholds", "cart-loss"),
    ("ours", "ramp"),
    ("ours-16", "cart-loss"),
    ("ours-16", "shrunk-16"),
    ("crisp-16", "ours-16"),
    ("splits-16", "shrunk-16"),
    ("stopping-16", "shrunk-16"),
    ("leaves-16", "shrunk-16"),
    ("ours", "bagging"),
)
NUMBER_PAIRS = (
    ("ours", "cart-loss"),
    ("ours", "shrunk"),
    ("ours-16", "cart-16"),
    ("ours-16", "shrunk-16"),
    ("ours", "bagging"),
)


@paper_table("inner-tree")
class InnerTree(PaperTable[int]):
    """Repeats of five folds: of three sets, of all, and ten times."""

    scales = Scales(1, 2, 10)
    quick_datasets = ("iris", "wine", f"{NUMBERS}servo")

    def datasets(self, scale: str) -> tuple[str, ...]:
        """All sets with classes, then those with numbers."""
        return (*CLASS_SETS, *(f"{NUMBERS}{name}" for name in NUMBER_SETS))

    def fingerprint(self, name: str, data_dir: str | None) -> str:
        known = set_print if name.startswith(NUMBERS) else dataset_print
        return known(name, data_dir)

    def grid(self, scope: PaperScope) -> Iterator[TreeParams]:
        """Repeats first, so that a run that was stopped has all sets."""
        for repeat, name in product(range(self.scale_of(scope)), scope.datasets):
            for method in WITH_NUMBERS if name.startswith(NUMBERS) else CLASSES:
                yield TreeParams(dataset=name, method=method, repeat=repeat, seed=scope.seed)

    @staticmethod
    @paper_cell(TreeParams)
    def compute(params: TreeParams, data_dir: str | None) -> dict[str, float]:
        seed = repeat_seed(params.seed, params.repeat)
        rows = tree_rows(params.dataset, data_dir, seed)
        if params.dataset.startswith(NUMBERS):
            return _number_scores(params.method, rows, seed)
        return _class_scores(params.method, rows, seed)

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        classes = [name for name in scope.datasets if not name.startswith(NUMBERS)]
        numbers = [name for name in scope.datasets if name.startswith(NUMBERS)]
        groups = grouped(results, "dataset", "method")
        tables = (
            ("accuracy", "accuracy (%)", classes, CLASSES),
            ("log_loss", "log loss", classes, CLASSES),
            ("agreement", "agreement of two halves (%)", classes,
             {name: CLASSES[name] for name in HALVED}),
            ("leaves", "leaves", classes, CLASSES),
            ("r2", "R²", numbers, WITH_NUMBERS),
        )  # fmt: skip
        made = []
        for value, measure, names, methods in tables:
            rows = []
            for name, method in product(names, methods):
                found = groups.get((name, method), [])
                if method == "bagging" and value == "leaves":
                    continue
                values = by_repeat(found, value)
                short = name.removeprefix(NUMBERS)
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
    for one, other in NUMBER_PAIRS if value == "r2" else PAIRS:
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
    """Say by how much the log loss of one method is lower than that of another."""
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


def _class_scores(method: str, rows: TreeRows, seed: int) -> dict[str, float]:
    fold_seed, *seeds = draw_seeds(seed, 1 + FOLDS)
    shares = np.zeros((len(rows.X), rows.targets.n_classes))
    leaves: list[float] = []
    agreeing = 0
    for fold, own in zip(make_folds(rows.y, FOLDS, fold_seed), seeds, strict=True):
        train, X = rows.take(fold.train), rows.X[fold.test]
        shares[fold.test], n_leaves = predict_new(method, train, X, own)
        leaves += [] if n_leaves is None else [n_leaves]
        if method in HALVED:
            agreeing += _agreeing(method, train, X, own)
    correct = shares.argmax(axis=1) == rows.y
    losses = -np.log(np.maximum(shares[np.arange(len(correct)), rows.y], LEAST))
    scores: dict[str, Any] = {
        "accuracy": 100 * float(correct.mean()), "log_loss": float(losses.mean())
    }  # fmt: skip
    if leaves:
        scores["leaves"] = float(np.mean(leaves))
    if method in HALVED:
        scores["agreement"] = 100 * agreeing / len(correct)
    return scores


def _agreeing(method: str, train: TreeRows, X: NDArray[np.float32], seed: int) -> int:
    """Rows that trees of two halves give one class."""
    first, second = make_folds(train.y, 2, seed)
    one, other = (
        predict_new(method, train.take(part.train), X, seed)[0].argmax(axis=1)
        for part in (first, second)
    )
    return int((one == other).sum())


def _number_scores(method: str, rows: TreeRows, seed: int) -> dict[str, float]:
    fold_seed, *seeds = draw_seeds(seed, 1 + FOLDS)
    predicted = np.zeros(len(rows.X))
    labels = np.zeros(len(rows.X), dtype=int)
    for fold, own in zip(make_folds(labels, FOLDS, fold_seed), seeds, strict=True):
        values, _ = predict_new(method, rows.take(fold.train), rows.X[fold.test], own)
        predicted[fold.test] = values[:, 0]
    total = ((rows.y - rows.y.mean()) ** 2).sum()
    return {"r2": 1 - float(((rows.y - predicted) ** 2).sum() / total)}
