"""A file predicted in blocks beside the same file predicted whole."""

import csv

import numpy as np
import pytest

from ensemblage.datasets import Dataset, TrainingRanges, read_table
from ensemblage.datasets import _chunked as _text_stream
from ensemblage.persistence import SavedModel, SourceColumn
from ensemblage.studies import predict, train

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(autouse=True)
def short_head(monkeypatch):
    monkeypatch.setattr(_text_stream, "HEAD_LINES", 4)
    monkeypatch.setattr(_text_stream, "LONG_TEXT", 1)


@pytest.fixture
def saved(table_file):
    """A model of numeric and categorical columns, with their training ranges."""
    dataset = Dataset.from_table(read_table(table_file), "class")
    model = train(dataset, "logistic", n_splits=2).model
    return SavedModel(
        model, dataset.feature_names, dataset.kinds, "class", ("no", "yes"), ignored=("id",),
        training_ranges=TrainingRanges.of(dataset.X, dataset.kinds),
    )  # fmt: skip


@pytest.fixture
def new_rows(table_file, tmp_path):
    """The same rows with identifiers, an unseen category and outliers; decimal commas."""
    header, *rows = table_file.read_text(encoding="utf-8").replace(",", ";").splitlines()
    rows[7] = "400;pilot;;no"
    rows[30] = "29;pilot;10,25;yes"
    lines = [f"{i:03};{row.replace('.', ',')}" for i, row in enumerate(rows)]
    path = tmp_path / "new.csv"
    path.write_text("\n".join([f"id;{header}", *lines]), encoding="utf-8")
    return path


def test_blocks_give_what_the_whole_gives(saved, new_rows, tmp_path):
    whole = predict(saved, new_rows, tmp_path / "whole.csv", keep=["id", "pay"])
    steps = []
    blocks = predict(
        saved, new_rows, tmp_path / "blocks.csv", keep=["id", "pay"], block_rows=7,
        progress=lambda *step: steps.append(step),
    )  # fmt: skip
    assert blocks == whole
    assert (tmp_path / "blocks.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert steps[-1] == (40, 40)
    assert len(steps) > 5
    assert "'job': 'pilot' (2 rows)." in " ".join(whole.notes)
    assert "1 of 40 rows (indices from 0: 7)" in " ".join(whole.notes)
    assert whole.agreement.startswith("The target 'class' was not used; accuracy ")


def test_any_format_to_any_format(saved, new_rows, tmp_path):
    table = read_table(new_rows, kinds={"id": "categorical"})
    categorical = {name: table.column(name).tolist() for name in ("id", "job", "class")}
    numeric = {name: table.column(name) for name in ("age", "pay")}
    parquet.write_table(pa.table(categorical | numeric), tmp_path / "new.parquet")
    texts = {}
    for new in ("new.csv", "new.parquet"):
        for out in ("out.csv", "out.parquet"):
            predict(saved, tmp_path / new, tmp_path / out, keep=["id"], block_rows=9)
            texts[new, out] = (tmp_path / out).read_bytes()
        stored = parquet.read_table(tmp_path / "out.parquet")
        rows = list(csv.reader(texts[new, "out.csv"].decode().splitlines()))
        assert stored.column_names == rows[0]
        assert stored.column("id").to_pylist()[:2] == ["000", "001"]
        assert stored.column("prediction").to_pylist() == [row[1] for row in rows[1:]]
        shares = np.array([row[2:] for row in rows[1:]], dtype=float)
        np.testing.assert_allclose(stored.column("probability_no"), shares[:, 0], rtol=1e-5)
    assert texts["new.csv", "out.csv"] == texts["new.parquet", "out.csv"]


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_files_are_written_atomically(saved, new_rows, tmp_path, out):
    (tmp_path / out).write_text("before", encoding="utf-8")
    lines = new_rows.read_text(encoding="utf-8").splitlines()
    new_rows.write_text("\n".join([*lines, "99;1e300;cook;1;no"]), encoding="utf-8")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"In new\.csv: Column 'age' contains 1e\+300"):
        predict(saved, new_rows, tmp_path / out, block_rows=9)
    assert (tmp_path / out).read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_kept_columns_must_not_have_names_of_predictions(saved, new_rows, tmp_path):
    text = new_rows.read_text(encoding="utf-8").replace("id;", "prediction;", 1)
    new_rows.write_text(text, encoding="utf-8")
    predict(saved, new_rows, tmp_path / "out.csv", keep=["prediction"])
    with pytest.raises(ValueError, match="same names as prediction columns: prediction"):
        predict(saved, new_rows, tmp_path / "out.parquet", keep=["prediction"])


class BySource:
    """Predicts by the source."""

    classes_ = np.array(["no", "yes"])

    def predict(self, X, sources=None):
        return np.where(np.asarray(sources) == "Bern", "yes", "no")


def test_sources_are_passed_block_by_block(tmp_path):
    rows = "".join(f"{('Bern', 'Rome', '')[i % 3]},{i}\n" for i in range(30))
    (tmp_path / "new.csv").write_text(f"site,size\n{rows}", encoding="utf-8")
    saved = SavedModel(BySource(), ("size",), ("numeric",), source=SourceColumn("site", ("Bern",)))
    done = predict(saved, tmp_path / "new.csv", tmp_path / "out.csv", block_rows=4)
    assert (tmp_path / "out.csv").read_text().split()[1:] == ["yes", "no", "no"] * 10
    assert done.notes[0] == (
        "20 of 30 rows are of 2 unknown sources in column 'site', and predicted without the "
        "source: 'Rome' (10 rows), missing (10 rows)."
    )
    assert (done.unknown_sources.rows, done.unknown_sources.sources) == (20, {"Rome": 10})


class WithStd:
    """Predicts a standard deviation where the value is positive."""

    def predict(self, X, return_std=False):
        return (X[:, 0], np.maximum(X[:, 0], 0)) if return_std else X[:, 0]


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_blocks_without_a_std_have_missing_values_there(tmp_path, out):
    values = "".join(f"{value}\n" for value in [*range(1, 13), *[0] * 6])
    (tmp_path / "new.csv").write_text(f"a,b\n{values}".replace("\n", ",1\n", 30).replace(
        "a,b,1", "a,b"), encoding="utf-8")  # fmt: skip
    saved = SavedModel(WithStd(), ("a",), ("numeric",), ignored=("b",))
    predict(saved, tmp_path / "new.csv", tmp_path / out, block_rows=3)
    if out == "out.csv":
        lines = (tmp_path / out).read_text().splitlines()
        assert (lines[0], lines[-1]) == ("prediction,std,lower,upper", "0,,,")
    else:
        assert parquet.read_table(tmp_path / out).column("std").to_pylist()[-1] is None
