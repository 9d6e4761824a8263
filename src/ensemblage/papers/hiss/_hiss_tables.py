"""Tables 2 and 3 of the HISS paper: what it printed, and what we measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from ensemblage.datasets import make_video_standin
from ensemblage.papers._paper_rows import (
    by_repeat,
    entry,
    failed,
    grouped,
    mean_rows,
)
from ensemblage.papers._paper_scope import (
    PaperScope,
    make_scope,
    paper_cell,
    paper_dataset,
    repeat_seed,
)
from ensemblage.papers._paper_sentences import (
    closeness,
    friedman,
    who_wins,
)
from ensemblage.papers.hiss._hiss_printed import (
    NOTES,
    PAPER,
    PENDIGITS_ROWS,
    ROW_NOTES,
    STAND_INS,
)
from ensemblage.runs import (
    Cell,
    CellResult,
    Experiment,
    ResultRow,
    ResultTable,
    recorded_warnings,
)
from ensemblage.strata import MemberStackingClassifier, MixtureStrata, StrataEnsembleClassifier

TITLES = {
    "hiss-table2": "HISS against a support vector machine, AdaBoost and bagging (Table 2)",
    "hiss-table3": "HISS against clusters of a Gaussian mixture (Table 3)",
}
N_REPEATS = 10
QUICK_DATASETS = ("ecoli", "pendigits", "glass", "yeast", "vehicle")
FEW_REPEATS = 3
N_MEMBERS = 20

TABLES = {
    "hiss-table2": (
        "svm", "adaboost", "bagging", "hiss", "bagging-stacked", "adaboost-stacked", "rbf-svm",
        "majority",
    ),
    "hiss-table3": ("hiss", "em-3", "em-10"),
}  # fmt: skip

CELLS, VERSION = "hiss-tables", 1
OWN_COLUMNS = ("rbf-svm", "majority")


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
    "majority": lambda seed, n_rows: DummyClassifier(),  # noqa: ARG005
}
"""Makes the unfitted classifier of each column from a seed and the number of training rows."""


def binary_problem(name: str, data_dir: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Load a dataset as the paper uses it.

    Parameters
    ----------
    name : str
        One of the paper's datasets, or of ``STAND_INS``.
    data_dir : str, default=None
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
    dataset = paper_dataset(name, data_dir)
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
    with recorded_warnings():  # strata of one class are part of the experiment
        return 1.0 - float(model.fit(X_train, y_train).score(X_test, y_test))


@paper_cell
def compute_hiss(cell: Cell, data_dir: str | None) -> Mapping[str, Any]:
    """Error of one method on one split of one dataset.

    Parameters
    ----------
    cell : Cell
        Dataset, method, repeat and seed.
    data_dir : str or None
        Folder of CSV files.

    Returns
    -------
    dict
        The ``error``.
    """
    params = cell.params
    X, y = binary_problem(params["dataset"], data_dir)
    seed = repeat_seed(params["seed"], params["repeat"])
    return {"error": split_error(X, y, params["method"], seed)}


def _repeats(scale: str, name: str) -> int:
    # the stand-ins take most of the time and reproduce nothing
    few = scale == "quick" or (scale == "standard" and name in STAND_INS)
    return FEW_REPEATS if few else N_REPEATS


def declare_hiss(
    table: str,
    scale: str,
    seed: int = 0,
    data_dir: str | None = None,
    datasets: Sequence[str] | None = None,
) -> Experiment:
    """Declare Table 2 or 3 of the HISS paper.

    Parameters
    ----------
    table : {"hiss-table2", "hiss-table3"}
        Which; the column hiss is the same cells in both.
    scale : {"quick", "standard", "full"}
        Three splits of the public sets; ten of them and three of the stand-ins; or ten splits of
        everything, as in the paper.
    seed : int, default=0
        The user's seed.
    data_dir : str or None, default=None
        Folder of CSV files.
    datasets : sequence of str or None, default=None
        Some of the rows.

    Returns
    -------
    Experiment
    """
    if datasets is None and scale == "quick":
        datasets = QUICK_DATASETS
    scope = make_scope(scale, seed, data_dir, tuple(PAPER), datasets, tuple(STAND_INS))
    cells = [
        scope.cell(CELLS, VERSION, dataset=name, method=method, repeat=repeat)
        for repeat in range(N_REPEATS)
        for name in scope.prints
        for method in TABLES[table]
        if repeat < _repeats(scale, name)
    ]
    return Experiment(
        table, TITLES[table], cells, compute_hiss,
        partial(summarise_hiss, table=table, scope=scope), data_dir,
    )  # fmt: skip


def summarise_hiss(
    results: Sequence[CellResult], table: str, scope: PaperScope
) -> list[ResultTable]:
    """Put the errors beside the paper's.

    Parameters
    ----------
    results : sequence of CellResult
        Those that there are.
    table : {"hiss-table2", "hiss-table3"}
        Which table.
    scope : PaperScope
        What was declared.

    Returns
    -------
    list of ResultTable
        One.
    """
    groups = grouped(results, "dataset", "method")
    columns = TABLES[table]
    rows = [
        _entry(name, method, groups.get((name, method), []))
        for name in scope.prints
        for method in columns
    ]
    public = [row for row in rows if row.comparable]
    theirs = [column for column in columns if column not in OWN_COLUMNS]
    summary = [
        *closeness(public),
        *who_wins(public, theirs, greater_is_better=False),
        *who_wins(public, [c for c in columns if c != "majority"], greater_is_better=False),
        *friedman(public, theirs, greater_is_better=False),
    ]
    return [
        ResultTable(
            table, TITLES[table], "classification error", [*rows, *mean_rows(rows, columns)],
            list(dict.fromkeys(summary)), (*NOTES, *scope.missing_notes), greater_is_better=False,
        )
    ]  # fmt: skip


def _entry(name: str, method: str, found: Sequence[CellResult]) -> ResultRow:
    return entry(
        name, method, by_repeat(found, "error"), paper=PAPER[name].get(method),
        failures=failed(found), note=ROW_NOTES[name], comparable=name not in STAND_INS,
    )  # fmt: skip
