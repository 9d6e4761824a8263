"""Rows of a file handed to a model by column, beside the same rows as one array."""

from datetime import date

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ensemblage.datasets import Dataset, read_table
from ensemblage.datasets._table import TableRows
from ensemblage.persistence import SavedModel
from ensemblage.studies import open_rows, predict, read_rows, train

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N_ROWS = 60
METHODS = [
    "logistic",
    "svm",
    "strata",
    "bayesnet",
    "tree",
    pytest.param("auto", marks=pytest.mark.slow),
]


def mixed_table(seed):
    """One column of each type that a file may have, with missing values."""
    rng = np.random.default_rng(seed)

    def with_missing(values, kind=None):
        missing = rng.random(N_ROWS) < 0.1
        return pa.array(
            [None if no else x for no, x in zip(missing, values, strict=True)], type=kind
        )

    features = rng.normal(size=(2, N_ROWS))
    days = [date.fromordinal(735_000 + int(day)) for day in rng.integers(900, size=N_ROWS)]
    return pa.table({
        "size": with_missing(features[0].tolist()),
        "count": with_missing(rng.integers(5, size=N_ROWS).tolist(), pa.int32()),
        "short": pa.array(features[1].astype(np.float32)),
        "job": with_missing(rng.choice(["cook", "smith", "baker"], N_ROWS).tolist()),
        "town": with_missing(rng.choice(["Bern", "Basel"], N_ROWS).tolist()).dictionary_encode(),
        "member": with_missing((rng.random(N_ROWS) < 0.4).tolist()),
        "since": with_missing(days),
        "class": np.where(features[0] + features[1] > 0, "yes", "no").tolist(),
    })  # fmt: skip


def write(folder, table, name):
    """Write a table in the format of the file's extension."""
    path = folder / name
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
        return path
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    lines = [",".join("" if x is None else str(x) for x in row) for row in rows]
    path.write_text("\n".join([",".join(table.column_names), *lines]), encoding="utf-8")
    return path


@pytest.fixture
def dataset(tmp_path):
    return Dataset.from_table(read_table(write(tmp_path, mixed_table(0), "old.parquet")), "class")


@pytest.fixture(params=["new.parquet", "new.csv"])
def new_file(tmp_path, request):
    """Rows with unseen categories, as text and as a dictionary."""
    table = mixed_table(1)
    for name, unseen in (("job", "pilot"), ("town", "Chur")):
        categories = [unseen, *table[name].to_pylist()[1:]]
        column = pa.array(categories) if name == "job" else pa.array(categories).dictionary_encode()
        table = table.set_column(table.column_names.index(name), name, column)
    return write(tmp_path, table, request.param)


def predicted(saved, X):
    found = predict(saved.model, X)
    shares = np.zeros(0) if found.probabilities is None else found.probabilities
    return found.y_pred.tolist(), shares.tobytes()


def of(model, dataset):
    return SavedModel(model, dataset.feature_names, dataset.kinds, dataset.target)


@pytest.mark.parametrize("method", METHODS)
def test_columns_and_an_array_give_equal_bits(dataset, new_file, method, monkeypatch):
    saved = of(train(dataset, method, n_splits=2).model, dataset)
    whole = predicted(saved, read_rows(saved, new_file).X)

    def refused(*_, **__):
        pytest.fail("a matrix of objects was made")

    monkeypatch.setattr(TableRows, "__array__", refused)
    for block_rows in (None, N_ROWS):
        (new,) = open_rows(saved, new_file, block_rows=block_rows)
        assert new.X.dtype == object
        assert predicted(saved, new.X) == whole


def test_a_model_that_knows_arrays_alone_gets_one(dataset, new_file):
    categorical = [j for j, kind in enumerate(dataset.kinds) if kind == "categorical"]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), categorical))
    model = make_pipeline(encode, LogisticRegression()).fit(dataset.X, dataset.y)
    saved = of(model, dataset)
    (new,) = open_rows(saved, new_file)
    assert predicted(saved, new.X) == predicted(saved, read_rows(saved, new_file).X)


def test_plain_numbers_are_a_matrix_of_doubles(dataset, new_file):
    names = ("size", "count", "short")
    X = np.nan_to_num(dataset.X[:, :3].astype(float))
    saved = SavedModel(
        LogisticRegression().fit(X, dataset.y), names, ("numeric",) * 3, "class",
        ignored=("job", "town", "member", "since"),
    )  # fmt: skip
    (new,) = open_rows(saved, new_file)
    assert np.asarray(new.X).dtype == np.float64
    with pytest.raises(ValueError, match="contains NaN"):
        predict(saved.model, new.X)


@pytest.mark.parametrize("block_rows", [None, 10])
def test_dates_for_numbers_are_refused_by_column(dataset, tmp_path, block_rows):
    table = mixed_table(1)
    place = table.column_names.index("short")
    path = write(tmp_path, table.set_column(place, "short", table["since"]), "new.parquet")
    saved = of(LogisticRegression(), dataset)
    with pytest.raises(ValueError, match=r"Column 'short' contains '20.*not a finite"):
        [*open_rows(saved, path, block_rows=block_rows)]
