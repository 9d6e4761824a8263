"""A study of our own: trees in which a crowd decides, with the null results beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from ensemblage.inner import TreeRows
from ensemblage.papers._paper_rows import (
    by_repeat,
    complete_scores,
    failed,
    gain_sentence,
    grouped,
    mean_rows,
)
from ensemblage.papers._paper_table import (
    PaperScope,
    PaperTable,
    Scales,
    dataset_print,
    paper_cell,
    paper_table,
    repeat_seed,
)
from ensemblage.papers.inner._inner_tree_fits import Told, tell
from ensemblage.papers.inner._inner_tree_sets import NUMBERS, set_print, tree_rows
from ensemblage.parallel import draw_seeds, make_folds
from ensemblage.runs import CellResult, ResultRow, ResultTable

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


class TreePair(NamedTuple):
    """Two methods, and in which of the tables they are compared."""

    one: str
    other: str


PAIRS = (
    TreePair("ours", "cart-accuracy"),
    TreePair("ours", "cart-loss"),
    TreePair("ours", "shrunk"),
    TreePair("shrunk", "cart-loss"),
    TreePair("thresholds", "cart-loss"),
    TreePair("ours", "ramp"),
    TreePair("ours-16", "cart-loss"),
    TreePair("ours-16", "shrunk-16"),
    TreePair("crisp-16", "ours-16"),
    TreePair("splits-16", "shrunk-16"),
    TreePair("stopping-16", "shrunk-16"),
    TreePair("leaves-16", "shrunk-16"),
    TreePair("ours", "bagging"),
)
NUMBER_PAIRS = (
    TreePair("ours", "cart-loss"),
    TreePair("ours", "shrunk"),
    TreePair("ours-16", "cart-16"),
    TreePair("ours-16", "shrunk-16"),
    TreePair("ours", "bagging"),
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
        """Know sets with numbers by their files."""
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
        """Score one method on the folds of one repeat."""
        seed = repeat_seed(params.seed, params.repeat)
        rows = tree_rows(params.dataset, data_dir, seed)
        if params.dataset.startswith(NUMBERS):
            return _number_scores(params.method, rows, seed)
        return _class_scores(params.method, rows, seed)

    def summarise(self, results: Sequence[CellResult], scope: PaperScope) -> list[ResultTable]:
        """Give accuracy, log loss, agreement, leaves and R², each in a table."""
        classes = [name for name in scope.datasets if not name.startswith(NUMBERS)]
        numbers = [name for name in scope.datasets if name.startswith(NUMBERS)]
        sheet = _Sheet(self, results, scope)
        return [
            sheet.table("accuracy", "accuracy (%)", classes, CLASSES),
            sheet.table("log_loss", "log loss", classes, CLASSES),
            sheet.table("agreement", "agreement of two halves (%)", classes,
                        {name: CLASSES[name] for name in HALVED}),
            sheet.table("leaves", "leaves", classes, CLASSES),
            sheet.table("r2", "R²", numbers, WITH_NUMBERS),
        ]  # fmt: skip


class _Sheet:
    """Tables of one value each, from the same results."""

    def __init__(self, table: InnerTree, results: Sequence[CellResult], scope: PaperScope) -> None:
        self.paper, self.scope = table, scope
        self.groups = grouped(results, "dataset", "method")

    def table(
        self, value: str, measure: str, names: Sequence[str], methods: dict[str, str]
    ) -> ResultTable:
        """Average repeats; compare over the sets."""
        rows: list[ResultRow] = []
        for name, method in product(names, methods):
            found = self.groups.get((name, method), [])
            if method == "bagging" and value == "leaves":
                continue
            short = name.removeprefix(NUMBERS)
            rows.append(
                self.paper.entry(short, methods[method], by_repeat(found, value), failed(found))
            )
        columns = tuple(dict.fromkeys(row.column for row in rows))
        summary = [] if value == "leaves" else _sentences(rows, value, methods)
        measured = f"{self.paper.printed.title}: {measure}"
        return ResultTable(
            f"{self.paper.name}-{value.replace('_', '-')}", measured, measure,
            [*rows, *mean_rows(rows, columns)], summary,
            (*self.paper.printed.notes, *self.scope.missing_notes),
            greater_is_better={"log_loss": False, "leaves": None}.get(value, True),
        )  # fmt: skip


def _sentences(rows: Sequence[ResultRow], value: str, methods: dict[str, str]) -> list[str]:
    sentences = []
    for one, other in NUMBER_PAIRS if value == "r2" else PAIRS:
        if one in methods and other in methods:
            columns = (methods[one], methods[other])
            scores = complete_scores(rows, columns).scores
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
        train, X = rows.at(fold.train), rows.X[fold.test]
        told = tell(method, train, X, own)
        shares[fold.test] = told.values
        leaves += [] if told.leaves is None else [told.leaves]
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
    said: list[Told] = [tell(method, train.at(part.train), X, seed) for part in (first, second)]
    return int((said[0].values.argmax(axis=1) == said[1].values.argmax(axis=1)).sum())


def _number_scores(method: str, rows: TreeRows, seed: int) -> dict[str, float]:
    fold_seed, *seeds = draw_seeds(seed, 1 + FOLDS)
    said = np.zeros(len(rows.X))
    labels = np.zeros(len(rows.X), dtype=int)
    for fold, own in zip(make_folds(labels, FOLDS, fold_seed), seeds, strict=True):
        said[fold.test] = tell(method, rows.at(fold.train), rows.X[fold.test], own).values[:, 0]
    spread = ((rows.y - rows.y.mean()) ** 2).sum()
    return {"r2": 1 - float(((rows.y - said) ** 2).sum() / spread)}
