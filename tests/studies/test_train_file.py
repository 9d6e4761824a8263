"""Models of files that are read in blocks, here and by a cluster's workers."""

import numpy as np
import pytest

from ensemblage.datasets import make_multi_source
from ensemblage.persistence import load, save
from ensemblage.studies import train

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N_ROWS = 1200


def write(path, X, y, **others):
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    parquet.write_table(pa.table(columns | {"class": y} | others), path, row_group_size=500)
    return path


@pytest.fixture(scope="module")
def rows():
    X, y = make_multi_source(3, n_samples=N_ROWS, random_state=0)
    return X.astype(np.float32), np.array(["no", "yes"])[y]


@pytest.fixture(scope="module")
def path(rows, tmp_path_factory):
    return write(tmp_path_factory.mktemp("rows") / "rows.parquet", *rows)


@pytest.fixture(scope="module")
def found(path):
    return train(path, "strata", target="class", seed=1)


def test_a_model_is_scored_on_held_out_rows(found, rows):
    X, y = rows
    assert (found.n_rows, len(found.dataset.y)) == (960, 240)
    assert sum(found.classes.values()) == 960
    (row,) = found.comparison.summary
    model = found.model
    assert row.accuracy == pytest.approx(model.score(found.dataset.X, found.dataset.y), abs=0.01)
    assert row.accuracy > 0.9
    assert model.score(X, y) > 0.9
    assert model.classes_.tolist() == ["no", "yes"]
    assert "240 held-out rows, in 5 parts." in found.comparison.notes[-1]


def test_held_out_rows_are_rows_of_the_file(found, rows):
    X, y = rows
    at = {tuple(row): label for row, label in zip(X.tolist(), y.tolist(), strict=True)}
    assert [at[tuple(row)] for row in found.dataset.X.tolist()] == found.dataset.y.tolist()


def test_held_out_rows_do_not_change_the_model(found, rows, tmp_path):
    X, y = rows
    held = {tuple(row) for row in found.dataset.X.tolist()}
    other = [
        {"no": "yes", "yes": "no"}[label] if tuple(row) in held else label
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    again = train(write(tmp_path / "rows.parquet", X, other), "strata", target="class", seed=1)
    shares = [each.model.predict_proba(X) for each in (found, again)]
    np.testing.assert_array_equal(*shares)


def test_the_encoder_is_that_of_all_rows(found, rows):
    encoded = found.model[:-1].transform(rows[0])
    np.testing.assert_allclose(encoded.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(encoded.std(axis=0), 1.0, rtol=1e-6)


def test_it_can_be_saved_and_takes_missing_values(found, rows, tmp_path):
    save(found.model, tmp_path / "m.skops", columns=found.dataset.feature_names)
    model = load(tmp_path / "m.skops").model
    X = rows[0].copy()
    np.testing.assert_array_equal(model.predict_proba(X), found.model.predict_proba(X))
    X[0, 0] = np.nan
    assert np.isfinite(model.predict_proba(X)).all()


def test_missing_targets_and_constant_columns_are_left_out(rows, tmp_path):
    X, y = rows
    incomplete = [None if i % 10 == 0 else label for i, label in enumerate(y.tolist())]
    path = write(tmp_path / "rows.parquet", X, incomplete, always=np.ones(N_ROWS))
    found = train(path, "strata", target="class")
    assert found.n_rows + len(found.dataset.y) == 1080
    assert found.left_out == ("always",)
    assert found.dataset.feature_names == tuple(f"x{j}" for j in range(X.shape[1]))
    assert found.dataset.notes == (
        "Rows with a missing value of 'class', left out: 120.",
        "Constant columns, left out: 'always'.",
    )
    assert found.model.score(X, y) > 0.9


def test_regression_with_prediction_intervals(tmp_path):
    X, y = make_multi_source(3, n_samples=N_ROWS, task="regression", random_state=0)
    found = train(write(tmp_path / "rows.parquet", X, y), "strata", target="class")
    (row,) = found.comparison.summary
    assert found.classes == {}
    assert row.rmse < 0.3 * y.std()
    assert 0.8 < row.coverage <= 1.0


def test_what_cannot_be_fitted_is_refused_before_work_starts(rows, path, tmp_path):
    X, y = rows
    with pytest.raises(ValueError, match="The method 'forest' needs all rows in memory: use 'str"):
        train(path, "forest", target="class")
    with pytest.raises(ValueError, match=r"no target column 'clas'. Did you mean 'class'\?"):
        train(path, "strata", target="clas")
    words = write(tmp_path / "words.parquet", X, y, job=["cook"] * N_ROWS)
    with pytest.raises(ValueError, match=r"words.parquet is read in .* not numeric: 'job'"):
        train(words, "strata", target="class")
    few = write(tmp_path / "few.parquet", X[:50], y[:50])
    with pytest.raises(ValueError, match=r"50 rows have a value of 'class'; .* needs at least 100"):
        train(few, "strata", target="class")
    constant = write(tmp_path / "constant.parquet", np.ones_like(X), y)
    with pytest.raises(ValueError, match="Every column except the target 'class' is constant"):
        train(constant, "strata", target="class")
    for value, message in ((np.nan, "Column 'x1' is nan in row 7 of"), (1e120, "as large as 1e")):
        spoilt = X.astype(np.float64)
        spoilt[7, 1] = value
        with pytest.raises(ValueError, match=message):
            train(write(tmp_path / "spoilt.parquet", spoilt, y), "strata", target="class")
    flat = X.astype(np.float64)
    flat[:, 2] = 1e17 + 16 * (np.arange(N_ROWS) == 0)
    with pytest.raises(ValueError, match="Column 'x2' varies too little relative"):
        train(write(tmp_path / "flat.parquet", flat, y), "strata", target="class")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_workers_read_the_file_and_give_the_same_model(path, found, rows, scheduler):
    there = train(path, "strata", target="class", seed=1, scheduler=scheduler)
    shares = [each.model.predict_proba(rows[0]) for each in (found, there)]
    np.testing.assert_array_equal(*shares)
