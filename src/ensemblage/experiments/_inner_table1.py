"""The inner ensembles paper's Table 1: accuracy of Bayesian networks on 14 datasets.

``python -m ensemblage.experiments._inner_table1 --data-dir FOLDER`` prints it.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel, wilcoxon
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from ensemblage.bayes import BayesNetClassifier
from ensemblage.datasets import Dataset, load_dataset
from ensemblage.inner import InnerBayesNetClassifier
from ensemblage.parallel import draw_seeds


@dataclass(frozen=True)
class PaperRow:
    """What the paper reports for one dataset.

    Parameters
    ----------
    plain : float
        The plain network.
    inner, inner_best : float
        Inner ensemble without replacement: mean over the parameters that improved, and best.
    improved : float
        Percentage of the parameters that improved.
    bagging, bagging_best : float
        Bagging of networks: mean over its parameters, and best.
    """

    plain: float
    inner: float
    inner_best: float
    improved: float
    bagging: float
    bagging_best: float


PAPER = {
    "breast-w": PaperRow(97.1, 97.2, 97.31, 70, 97.18, 97.18),
    "credit-a": PaperRow(85, 85.62, 86.06, 99, 86.24, 86.48),
    "ecoli": PaperRow(80.77, 81.03, 81.7, 50, 85.35, 85.92),
    "glass": PaperRow(70.84, 71.1, 71.31, 4, 74.21, 75.14),
    "heart-c": PaperRow(80.76, 81.63, 82.74, 96, 82.56, 82.94),
    "heart-statlog": PaperRow(82.19, 82.48, 82.96, 32, 82.71, 83.19),
    "hepatitis": PaperRow(82.39, 82.75, 83.55, 10, 82.88, 83.03),
    "iris": PaperRow(92.87, 93.24, 93.8, 81, 94.58, 94.93),
    "labor": PaperRow(88.25, 90.64, 92.81, 99, 93.04, 94.04),
    "liver": PaperRow(56.93, 57.41, 58.41, 90, 63.75, 64.58),
    "lymph": PaperRow(81.96, 83.19, 85.14, 97, 84.66, 85.41),
    "pima": PaperRow(74.66, 75.35, 76.05, 97, 75.77, 75.98),
    "tic-tac-toe": PaperRow(92.44, 92.58, 92.73, 18, 96.87, 97.18),
    "vote": PaperRow(96.05, 96.12, 96.25, 26, 96.15, 96.21),
}
"""Table 1 of the paper."""

PAPER_NETWORK = {"init": "empty", "score": "probability", "max_parents": None}
"""The network that reproduces the paper's column BN."""

PLAIN_REPEATS = 10

FULL_GRID = ([*range(10, 101, 10)], [s / 100 for s in range(10, 91, 10)])
QUICK_GRID = ([10, 30], [0.1, 0.3, 0.5, 0.7, 0.9])


@dataclass(frozen=True)
class Table1Row:
    """One dataset's accuracies, in per cent.

    Parameters
    ----------
    dataset : str
        Its name.
    plain : float
        The plain network, as the paper has it, over at least ten repeats: it is cheap.
    inner : ndarray of shape (n_sizes, n_shares)
        Inner score, plain tables: one accuracy per parameter.
    bagging : float
        Bagging of 30 networks, each with its own bins.
    crowd : float
        Inner score and crowd tables with this library's defaults; one network.
    default : float
        This library's plain network.
    folds : mapping of str to ndarray
        Accuracy of each fold of ``plain``, ``bagging``, ``crowd`` and ``default``, on the same
        folds.
    """

    dataset: str
    plain: float
    inner: NDArray[np.float64]
    bagging: float
    crowd: float
    default: float
    folds: Mapping[str, NDArray[np.float64]]

    @property
    def paired(self) -> float:  # numpydoc ignore=RT01
        """The plain network on the folds of the others."""
        return float(self.folds["plain"].mean())

    @property
    def selective(self) -> float:  # numpydoc ignore=RT01
        """Mean over the parameters that beat the plain network, as the paper reports it."""
        better = self.inner[self.inner > self.paired]
        return float(better.mean()) if len(better) else float(self.inner.max())

    @property
    def improved(self) -> float:  # numpydoc ignore=RT01
        """Percentage of the parameters that beat the plain network."""
        return 100.0 * float((self.inner > self.paired).mean())


class BaggedNetworks:
    """Bagging that hands frames on by rows, so that declared categories survive.

    Parameters
    ----------
    estimator : estimator
        The network.
    n_estimators : int
        How many bootstraps.
    random_state : int
        Where their seeds come from.
    """

    def __init__(self, estimator: Any, n_estimators: int, random_state: int) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> BaggedNetworks:
        """Fit each member on its bootstrap.

        Parameters
        ----------
        X : dataframe or ndarray
            Features.
        y : array-like
            Classes.

        Returns
        -------
        BaggedNetworks
            Fitted.
        """
        self.members_ = []
        for seed in draw_seeds(self.random_state, self.n_estimators):
            rows = np.random.default_rng(seed).integers(len(y), size=len(y))
            member = clone(self.estimator)
            self.members_.append(member.fit(_safe_indexing(X, rows), _safe_indexing(y, rows)))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Take the class of the highest mean probability.

        Parameters
        ----------
        X : dataframe or ndarray
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        total = sum(member.predict_proba(X) for member in self.members_)
        return self.members_[0].classes_[np.asarray(total).argmax(axis=1)]


def as_frame(dataset: Dataset) -> tuple[Any, Any]:
    """Give a dataset its declared categories, as a frame.

    Parameters
    ----------
    dataset : Dataset
        Any.

    Returns
    -------
    X : pandas.DataFrame
        Features.
    y : pandas.Series
        Classes, categorical.
    """
    import pandas as pd  # noqa: PLC0415  optional; only frames can declare categories

    columns = {}
    for j, (name, kind) in enumerate(zip(dataset.feature_names, dataset.kinds, strict=True)):
        cells = dataset.X[:, j]
        if kind == "number":
            columns[name] = pd.Series(cells.astype(float))
        else:
            declared = dataset.categories.get(name)
            categories = list(declared) if declared else sorted({c for c in cells if c is not None})
            columns[name] = pd.Series(pd.Categorical(cells, categories=categories))
    declared = dataset.categories.get(dataset.target)
    classes = list(declared) if declared else np.unique(dataset.y).tolist()
    y = pd.Series(pd.Categorical(dataset.y, categories=classes), name=dataset.target)
    return pd.DataFrame(columns), y


def _folds(X: Any, y: Any, repeats: Iterable[int]) -> Iterator[tuple[Any, Any, Any, Any, int]]:
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    for repeat in repeats:
        splitter = StratifiedKFold(10, shuffle=True, random_state=repeat)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits = list(splitter.split(codes, codes))
        for train, test in splits:
            yield (
                _safe_indexing(X, train), _safe_indexing(y, train),
                _safe_indexing(X, test), np.asarray(_safe_indexing(y, test)), repeat,
            )  # fmt: skip


def _accuracy(model: Any, X_train: Any, y_train: Any, X_test: Any, y_test: Any) -> float:
    predicted = model.fit(X_train, y_train).predict(X_test)
    return 100.0 * float(np.mean(predicted == y_test))


def score_dataset(
    name: str,
    X: Any,
    y: Any,
    repeats: int = 4,
    grid: tuple[Sequence[int], Sequence[float]] = QUICK_GRID,
    n_estimators: int = 30,
) -> Table1Row:
    """Cross-validate all columns of the table on one dataset, on the same folds.

    Parameters
    ----------
    name : str
        The dataset's name.
    X : dataframe or ndarray of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        Classes.
    repeats : int, default=4
        Ten-fold cross-validations.
    grid : tuple of two sequences
        Ensemble sizes, and sample sizes as shares.
    n_estimators : int, default=30
        Networks in the bag.

    Returns
    -------
    Table1Row
        Accuracies in per cent.
    """
    sizes, shares = grid
    single: dict[str, list[float]] = {"plain": [], "bagging": [], "crowd": [], "default": []}
    inner: list[list[list[float]]] = [[[] for _ in shares] for _ in sizes]
    for X_train, y_train, X_test, y_test, seed in _folds(X, y, range(repeats)):
        models = {
            "plain": BayesNetClassifier(**PAPER_NETWORK),
            "bagging": BaggedNetworks(BayesNetClassifier(**PAPER_NETWORK), n_estimators, seed),
            "crowd": InnerBayesNetClassifier(random_state=seed),
            "default": BayesNetClassifier(),
        }
        for key, model in models.items():
            single[key].append(_accuracy(model, X_train, y_train, X_test, y_test))
        for i, size in enumerate(sizes):
            for j, share in enumerate(shares):
                model = InnerBayesNetClassifier(
                    size, share, tables="plain", random_state=seed, **PAPER_NETWORK
                )
                inner[i][j].append(_accuracy(model, X_train, y_train, X_test, y_test))
    folds = {key: np.array(values) for key, values in single.items()}
    means = {key: float(values.mean()) for key, values in folds.items()}
    more = [
        _accuracy(BayesNetClassifier(**PAPER_NETWORK), *fold[:4])
        for fold in _folds(X, y, range(repeats, PLAIN_REPEATS))
    ]
    means["plain"] = float(np.mean([*folds["plain"], *more]))
    return Table1Row(name, inner=np.array(inner).mean(axis=2), folds=folds, **means)


def inner_table1(
    datasets: Mapping[str, tuple[Any, Any]],
    repeats: int = 4,
    grid: tuple[Sequence[int], Sequence[float]] = QUICK_GRID,
    n_estimators: int = 30,
    progress: Callable[[Table1Row], None] = lambda _: None,
) -> list[Table1Row]:
    """Compute the table.

    Parameters
    ----------
    datasets : mapping of str to tuple
        Features and classes by name.
    repeats : int, default=4
        Ten-fold cross-validations.
    grid : tuple of two sequences
        Ensemble sizes, and sample sizes as shares.
    n_estimators : int, default=30
        Networks in the bag.
    progress : callable
        Given each row when it is done.

    Returns
    -------
    list of Table1Row
        One per dataset.
    """
    rows = []
    for name, (X, y) in datasets.items():
        rows.append(score_dataset(name, X, y, repeats, grid, n_estimators))
        progress(rows[-1])
    return rows


def _numbers(row: Table1Row) -> list[float]:
    paper = PAPER[row.dataset]
    return [
        row.plain, paper.plain, float(row.inner.mean()), row.selective, paper.inner,
        float(row.inner.max()), paper.inner_best, row.improved, paper.improved,
        row.bagging, paper.bagging, row.crowd, row.default,
    ]  # fmt: skip


def _line(row: Table1Row) -> str:
    return f"{row.dataset:<14}" + " ".join(f"{number:9.2f}" for number in _numbers(row))


def format_table1(rows: Sequence[Table1Row]) -> str:
    """Write the table beside the paper's, with the tests of its claims.

    Parameters
    ----------
    rows : sequence of Table1Row
        As computed.

    Returns
    -------
    str
        Lines of text.
    """
    heads = (
        "BN", "paper", "inner:all", "selective", "paper", "best", "paper", "better%", "paper",
        "bagging", "paper", "crowd", "default",
    )  # fmt: skip
    lines = ["dataset       " + " ".join(f"{head:>9}" for head in heads)]
    table = np.array([_numbers(row) for row in rows])
    lines += [_line(row) for row in rows]
    lines.append(f"{'mean':<14}" + " ".join(f"{number:9.2f}" for number in table.mean(axis=0)))
    gap = np.abs(table[:, 0] - table[:, 1]).mean()
    lines.append(f"mean absolute difference of BN to the paper's: {gap:.2f} points")
    if len(rows) > 1:
        paired = np.array([row.paired for row in rows])
        lines += [
            _test("crowd tables", table[:, 11], "plain network", paired),
            _test("crowd tables", table[:, 11], "bagging", table[:, 9]),
            _test("inner score (all parameters)", table[:, 2], "plain network", paired),
        ]
    return "\n".join(lines)


def _test(one: str, first: NDArray[np.float64], other: str, second: NDArray[np.float64]) -> str:
    if (first == second).all():
        return f"{one} equals {other} on all datasets"
    return (
        f"{one} against {other}: {np.mean(first - second):+.2f} points, better on "
        f"{int((first > second).sum())} of {len(first)} sets, paired t-test over sets "
        f"p = {ttest_rel(first, second).pvalue:.4f}, "
        f"Wilcoxon p = {wilcoxon(first, second).pvalue:.4f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Command line; None for the process's own.
    """
    parser = argparse.ArgumentParser(prog="inner-table1", description=__doc__)
    parser.add_argument("--data-dir", help="folder of CSV files with a manifest.json")
    parser.add_argument("--repeats", type=int, default=4, help="ten-fold cross-validations")
    parser.add_argument("--full", action="store_true", help="the paper's whole grid")
    parser.add_argument("--only", nargs="*", default=list(PAPER), help="datasets")
    chosen = parser.parse_args(arguments)
    datasets = {name: as_frame(load_dataset(name, chosen.data_dir)) for name in chosen.only}
    grid = FULL_GRID if chosen.full else QUICK_GRID
    rows = inner_table1(
        datasets, chosen.repeats, grid, progress=lambda row: sys.stderr.write(_line(row) + "\n")
    )
    sys.stdout.write(format_table1(rows) + "\n")


if __name__ == "__main__":
    main()
