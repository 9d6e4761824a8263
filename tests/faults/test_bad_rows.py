"""Invalid rows and targets: a ValueError or TypeError that names the cause, or support."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from ensemblage.datasets import TableEncoder
from ensemblage.inner import InnerTreeClassifier
from ensemblage.sources import source_audit
from ensemblage.strata import HISS
from made_estimators import (
    CLASSES,
    CLUSTERS,
    COLUMNS,
    MADE,
    REGRESSION,
    STRATA,
    attempt,
    fit_on,
    made_rows,
)

X, Y, NUMERIC = made_rows()
EVERY = pytest.mark.parametrize("made", MADE.values(), ids=MADE)
# estimators that accept raw tables, with categories, dates and missing values
RAW_TABLES = {
    "BayesNetClassifier", "EnsemblageClassifier", "EnsemblageRegressor", "InnerBayesNetClassifier",
    "InnerTreeClassifier", "InnerTreeRegressor", "JointSubspaceClassifier",
    "JointSubspaceRegressor", "StrataEnsembleClassifier", "StrataEnsembleRegressor", "TableEncoder",
}  # fmt: skip
# they pass rows to another estimator, which validates them
WRAPPERS = {
    "AdaptedClassifier", "AdaptedRegressor", "MemberStackingClassifier", "RecalibratedClassifier",
}  # fmt: skip


def with_cell(value):
    rows = X.copy()
    rows[3, 1] = value
    return rows


DATES = np.full(X.shape, np.datetime64("2020-01-01")) + np.arange(len(X))[:, None]
INVALID = {
    "infinity": with_cell(np.inf),
    "minus infinity": with_cell(-np.inf),
    "no rows": X[:0],
    "no columns": X[:, :0],
    "one dimension": X[:, 0],
    "three dimensions": X[:, :, None],
    "complex": X + 1j,
    "nothing": None,
    "a number": 3.0,
    "a string": "hello",
    "a dictionary": {"a": 1},
}


@EVERY
@pytest.mark.parametrize("case", INVALID)
def test_invalid_rows_are_refused(made, case):
    with pytest.raises((ValueError, TypeError)) as caught:
        fit_on(made, INVALID[case])
    assert len(str(caught.value)) > 20


@EVERY
@pytest.mark.parametrize(
    "rows",
    [with_cell(np.nan), np.array([["a", "b", "c"]] * len(X)), DATES, DATES - DATES[0],
     pd.DataFrame({"when": DATES[:, 0], "size": X[:, 0]})],
    ids=["missing", "text", "dates", "durations", "a dataframe with dates"],
)  # fmt: skip
def test_raw_tables_are_accepted_or_refused(made, rows):
    if made.name in RAW_TABLES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant columns
            fit_on(made, rows)
    elif made.name == "MDLPDiscretizer" and np.asarray(rows).dtype.kind == "f":
        assert np.isnan(fit_on(made, rows).transform(rows)).sum() == 1  # missing values are kept
    else:
        with pytest.raises((ValueError, TypeError)):
            fit_on(made, rows)


@pytest.mark.parametrize(
    "name", sorted(set(MADE) - RAW_TABLES - WRAPPERS - {"JointSubspaceSelector"}), ids=str
)
@pytest.mark.parametrize("rows", [DATES, pd.DataFrame({"when": DATES[:, 0], "size": X[:, 0]})],
                         ids=["array", "dataframe"])  # fmt: skip
def test_dates_are_refused(name, rows):
    column = "'when'" if hasattr(rows, "columns") else "0"
    with pytest.raises(ValueError, match=f"Column {column} of X holds dates .* TableEncoder"):
        fit_on(MADE[name], rows)


@EVERY
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_sparse_rows_are_refused(made, kind):
    if made.name in WRAPPERS:
        return
    with pytest.raises((TypeError, ValueError), match="dense"):
        fit_on(made, kind(X))


@pytest.mark.parametrize(
    "name", [name for name, made in MADE.items() if made.kind in {CLASSES, REGRESSION}]
)
@pytest.mark.parametrize(
    "target",
    [None, np.where(np.arange(40) == 3, np.nan, NUMERIC), np.where(np.arange(40) == 3, np.inf, Y),
     np.column_stack([Y, Y]), Y[:-1], Y + 1j],
    ids=["absent", "missing", "infinity", "two columns", "too short", "complex"],
)  # fmt: skip
def test_invalid_targets_are_refused(name, target):
    with pytest.raises((ValueError, TypeError)):
        fit_on(MADE[name], X, target)


def with_missing(values, missing):
    values = list(values)
    values[3] = values[7] = missing
    return values


TEXT = np.where(Y == 1, "yes", "no").tolist()
MISSING_CLASSES = {
    "string": pd.Series(with_missing(TEXT, pd.NA), dtype="string"),
    "string[pyarrow]": pd.Series(with_missing(TEXT, pd.NA), dtype="string[pyarrow]"),
    "object, NA": np.array(with_missing(TEXT, pd.NA), dtype=object),
    "object, None": np.array(with_missing(TEXT, None), dtype=object),
    "object, NaN": np.array(with_missing(TEXT, np.nan), dtype=object),
    "list, NaN": with_missing(TEXT, np.nan),
    "Categorical": pd.Series(pd.Categorical(with_missing(TEXT, None))),
    "Int64": pd.Series(with_missing(Y.tolist(), pd.NA), dtype="Int64"),
    "boolean": pd.Series(with_missing((Y == 1).tolist(), pd.NA), dtype="boolean"),
    "polars": pl.Series(with_missing(TEXT, None)),
    "float": np.array(with_missing(Y.astype(float), np.nan)),
}
MISSING_NUMBERS = {
    "float": np.array(with_missing(NUMERIC, np.nan)),
    "Float64": pd.Series(with_missing(NUMERIC, pd.NA), dtype="Float64"),
    "object, NA": np.array(with_missing(NUMERIC, pd.NA), dtype=object),
    "object, None": np.array(with_missing(NUMERIC, None), dtype=object),
    "list, None": with_missing(NUMERIC, None),
    "polars": pl.Series(with_missing(NUMERIC, None)),
}
# they read the target only if a parameter or a column says so
WITHOUT_TARGET = {"TableEncoder"}


@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name, made in MADE.items()
     if made.kind in {CLASSES, REGRESSION, COLUMNS} and name not in WITHOUT_TARGET
     for case in (MISSING_NUMBERS if made.kind == REGRESSION else MISSING_CLASSES)],
)  # fmt: skip
def test_missing_targets_are_refused_with_their_rows(name, case):
    cases = MISSING_NUMBERS if MADE[name].kind == REGRESSION else MISSING_CLASSES
    with pytest.raises(ValueError, match=r"y is missing in 2 of 40 rows \(counted from 0: 3, 7\)"):
        fit_on(MADE[name], X, cases[case])


@pytest.mark.parametrize("case", MISSING_CLASSES)
def test_missing_targets_of_other_readers_of_y(case):
    y, sources = MISSING_CLASSES[case], ["a", "b"] * 20
    table = pd.DataFrame({"town": [f"town {i}" for i in range(40)], "size": X[:, 0]})
    for call in (
        lambda: HISS(2, 0.6, class_balance=True).fit(X, y),
        lambda: source_audit(LogisticRegression(), X, y, sources),
        lambda: TableEncoder(max_categories=3).fit(table, y),
        lambda: InnerTreeClassifier().fit(table, y),
    ):
        with pytest.raises(ValueError, match=r"y is missing in 2 of 40 rows .*3, 7"):
            call()


@pytest.mark.parametrize(
    "name", [name for name, made in MADE.items() if made.kind == CLASSES]
)  # fmt: skip
def test_classifiers_refuse_numeric_targets(name):
    with pytest.raises(ValueError, match=r"continuous|Unknown label type"):
        fit_on(MADE[name], X, NUMERIC)


@pytest.mark.parametrize("name", [name for name, made in MADE.items() if made.kind == REGRESSION])
@pytest.mark.parametrize(
    "target", [np.array(["a", "b"] * 20), np.full(40, np.datetime64("2020-01-01"))],
    ids=["text", "dates"],
)  # fmt: skip
def test_regressors_refuse_text_and_dates(name, target):
    with pytest.raises(ValueError, match="not numeric; a regressor needs a numeric target"):
        fit_on(MADE[name], X, target)


@pytest.mark.parametrize(
    "name", [name for name, made in MADE.items() if made.kind in {CLUSTERS, STRATA, COLUMNS}]
)
def test_one_row_is_a_fit_or_an_error(name):
    _, error = attempt(lambda: fit_on(MADE[name], X[:1], Y[:1]))
    assert not error or "sample" in error or "class" in error
