"""Tables 2 and 3 of the HISS paper: what it printed, and what we measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from ensemblage.datasets import load_dataset, make_video_standin
from ensemblage.experiments._cells import recorded_warnings
from ensemblage.parallel import iterate_tasks
from ensemblage.strata import MemberStackingClassifier, MixtureStrata, StrataEnsembleClassifier

N_MEMBERS = 20
PENDIGITS_ROWS = 2000

PAPER = {
    "ecoli": {
        "svm": 0.047, "adaboost": 0.046, "bagging": 0.057, "hiss": 0.037,
        "bagging-stacked": 0.046, "adaboost-stacked": 0.059, "em-3": 0.448, "em-10": 0.448,
    },
    "pendigits": {
        "svm": 0.010, "adaboost": 0.013, "bagging": 0.012, "hiss": 0.008,
        "bagging-stacked": 0.012, "adaboost-stacked": 0.012, "em-3": 0.081, "em-10": 0.110,
    },
    "glass": {
        "svm": 0.382, "adaboost": 0.385, "bagging": 0.379, "hiss": 0.161,
        "bagging-stacked": 0.379, "adaboost-stacked": 0.379, "em-3": 0.292, "em-10": 0.353,
    },
    "yeast": {
        "svm": 0.314, "adaboost": 0.320, "bagging": 0.313, "hiss": 0.313,
        "bagging-stacked": 0.315, "adaboost-stacked": 0.315, "em-3": 0.314, "em-10": 0.314,
    },
    "vehicle": {
        "svm": 0.103, "adaboost": 0.163, "bagging": 0.131, "hiss": 0.048,
        "bagging-stacked": 0.100, "adaboost-stacked": 0.085, "em-3": 0.219, "em-10": 0.052,
    },
    "indoor-stand-in": {
        "svm": 0.153, "adaboost": 0.140, "bagging": 0.156, "hiss": 0.140,
        "bagging-stacked": 0.157, "adaboost-stacked": 0.144, "em-3": 0.184, "em-10": 0.203,
    },
    "outdoor-stand-in": {
        "svm": 0.116, "adaboost": 0.111, "bagging": 0.120, "hiss": 0.088,
        "bagging-stacked": 0.114, "adaboost-stacked": 0.112, "em-3": 0.156, "em-10": 0.182,
    },
}  # fmt: skip
"""Classification errors that the paper prints; its columns are keys of ``METHODS``."""

STAND_INS = {"indoor-stand-in": "indoor", "outdoor-stand-in": "outdoor"}
"""Rows of generated data in place of the paper's image sets, with the scene of each."""

TABLES = {
    "hiss-table2": (
        "svm", "adaboost", "bagging", "hiss", "bagging-stacked", "adaboost-stacked", "rbf-svm",
    ),
    "hiss-table3": ("hiss", "em-3", "em-10"),
}  # fmt: skip

NOTES = (
    (
        "Protocol: the most frequent class against the rest, 70 % of the rows for training, "
        "columns scaled to [0, 1], linear support vector machines with C = 1, an RBF one on their "
        "decision values where members are stacked. The paper names neither kernel nor scaling."
    ),
    (
        f"pendigits is a random {PENDIGITS_ROWS} of its rows, as many as the paper used; the other "
        "sets have a few rows more or fewer than the paper counts."
    ),
    "The paper's errors on yeast, 0.313 to 0.320, are what guessing the majority class gives.",
    (
        "The paper's 0.161 on glass may come from an Id column that is sorted by class: its Table "
        "1 counts ten features where the data have nine. That is consistent with it, not proven."
    ),
    (
        "The paper's two image sets cannot be had. The rows marked stand-in are generated data of "
        "the same shape, 7 sources of 500 rows; the paper's figures beside them belong to other "
        "data, and nothing is reproduced there."
    ),
    (
        "rbf-svm is not in the paper: a support vector machine with an RBF kernel and "
        "scikit-learn's defaults on standardised columns, alone."
    ),
)


def _linear() -> SVC:
    return SVC(kernel="linear")


def _stacked(strata: Any, seed: int) -> Any:
    return StrataEnsembleClassifier(
        strata,
        _linear(),
        fusion="stacking",
        final_estimator=SVC(),
        cv="in-sample",
        random_state=seed,
    )


METHODS: dict[str, Callable[[int, int], Any]] = {
    "svm": lambda seed, n_rows: _linear(),  # noqa: ARG005
    # boosting hands out weights that add up to one; C makes them add up to the number of rows
    "adaboost": lambda seed, n_rows: AdaBoostClassifier(
        _linear().set_params(C=n_rows), n_estimators=N_MEMBERS, random_state=seed
    ),
    "bagging": lambda seed, n_rows: BaggingClassifier(  # noqa: ARG005
        _linear(), n_estimators=N_MEMBERS, random_state=seed
    ),
    "hiss": lambda seed, n_rows: StrataEnsembleClassifier.paper(random_state=seed)[-1],  # noqa: ARG005
    "bagging-stacked": lambda seed, n_rows: MemberStackingClassifier(
        METHODS["bagging"](seed, n_rows), SVC()
    ),
    "adaboost-stacked": lambda seed, n_rows: MemberStackingClassifier(
        METHODS["adaboost"](seed, n_rows), SVC()
    ),
    "em-3": lambda seed, n_rows: _stacked(MixtureStrata(3), seed),  # noqa: ARG005
    "em-10": lambda seed, n_rows: _stacked(MixtureStrata(10), seed),  # noqa: ARG005
    "rbf-svm": lambda seed, n_rows: make_pipeline(StandardScaler(), SVC()),  # noqa: ARG005
}
"""Makes the unfitted classifier of each column from a seed and the number of training rows."""


@dataclass(frozen=True)
class TableRow:
    """One entry of a reproduced table.

    Parameters
    ----------
    dataset, method : str
        Which entry.
    paper : float or None
        The error that the paper prints; None for a column of our own.
    ours : float
        Mean error over the repeats.
    standard_error : float or None
        Of that mean; None for a single repeat.
    repeats : int
        Number of random splits.
    stand_in : bool, default=False
        Whether our data only stand in for the paper's, so that the two figures do not compare.
    """

    dataset: str
    method: str
    paper: float | None
    ours: float
    standard_error: float | None
    repeats: int
    stand_in: bool = False


def binary_problem(name: str, data_dir: Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Load a dataset as the paper uses it.

    Parameters
    ----------
    name : str
        One of the paper's datasets, or of ``STAND_INS``.
    data_dir : Path, default=None
        Folder of CSV files; otherwise as for ``load_dataset``.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        Rows, not scaled.
    y : ndarray of shape (n_rows,)
        One for the most frequent class, else zero.
    """
    if name in STAND_INS:
        return make_video_standin(STAND_INS[name], random_state=0)
    dataset = load_dataset(name, data_dir=data_dir)
    X, labels = dataset.X.astype(float), dataset.y
    if name == "pendigits":
        rows = np.random.default_rng(0).permutation(len(X))[:PENDIGITS_ROWS]
        X, labels = X[rows], labels[rows]
    names, counts = np.unique(labels, return_counts=True)
    return X, (labels == names[counts.argmax()]).astype(int)


def split_error(X: np.ndarray, y: np.ndarray, method: str, seed: int) -> float:
    """Error of one method on one random split.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    y : ndarray of shape (n_rows,)
        Zeros and ones.
    method : str
        Column of the table.
    seed : int
        For the split and the fit.

    Returns
    -------
    float
        Share of the test rows that are classified wrongly.
    """
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
    model = make_pipeline(MinMaxScaler(), METHODS[method](seed, len(y_train)))
    with threadpool_limits(limits=1), recorded_warnings():
        return 1.0 - float(model.fit(X_train, y_train).score(X_test, y_test))


def reproduce_hiss(
    table: str,
    *,
    datasets: Sequence[str] | None = None,
    n_repeats: int = 10,
    seed: int = 0,
    data_dir: Path | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> list[TableRow]:
    """Run the experiments of Table 2 or 3 of the HISS paper.

    Parameters
    ----------
    table : {"hiss-table2", "hiss-table3"}
        Which.
    datasets : sequence of str, default=None
        Rows of the table; all if not given.
    n_repeats : int, default=10
        Random splits per entry; the same for all methods.
    seed : int, default=0
        Seed of the first split and fit; the next have the next numbers.
    data_dir : Path, default=None
        Folder of CSV files; otherwise as for ``load_dataset``.
    n_jobs : int, default=None
        Processes, as in joblib.
    progress : callable, default=None
        Called as ``progress(done, total)``.

    Returns
    -------
    list of TableRow
        One per dataset and method.
    """
    names = list(dict.fromkeys(datasets or PAPER))
    for name in names:
        if name not in PAPER:
            raise ValueError(f"The table has no dataset {name!r}; it has: {', '.join(PAPER)}.")
    problems = {name: binary_problem(name, data_dir) for name in names}
    seeds = range(seed, seed + n_repeats)
    entries = [(name, method) for name in names for method in TABLES[table]]
    tasks = [(*problems[name], method, own) for name, method in entries for own in seeds]
    errors = np.empty(len(tasks))
    for done, (index, error) in enumerate(iterate_tasks(split_error, tasks, n_jobs), start=1):
        errors[index] = error
        if progress is not None:
            progress(done, len(tasks))
    return [
        _row(entry, part)
        for entry, part in zip(entries, errors.reshape(-1, n_repeats), strict=True)
    ]


def _row(entry: Sequence[str], errors: np.ndarray) -> TableRow:
    name, method = entry
    several = len(errors) > 1
    spread = float(errors.std(ddof=1) / np.sqrt(len(errors))) if several else None
    return TableRow(
        name, method, PAPER[name].get(method), float(errors.mean()), spread, len(errors),
        stand_in=name in STAND_INS,
    )  # fmt: skip
