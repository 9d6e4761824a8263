"""Random samples of large files."""

import numpy as np
import pytest

from ensemblage.datasets import open_dataset, read_table
from ensemblage.datasets._chunked import sample_table

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file of 300 rows that counts as large, in blocks of 64."""
    numbers = np.arange(300)
    table = {
        "n": numbers.astype(float),
        "text": [["a", None, "b"][i % 3] for i in numbers],
        "code": numbers % 3,
        "label": [f"0{i % 3}" for i in numbers],
        "amount": numbers / 7,
    }
    parquet.write_table(pa.table(table), tmp_path / "rows.parquet", row_group_size=50)
    datasets = "ensemblage.datasets"
    monkeypatch.setattr(f"{datasets}._parquet.ALWAYS_FINE", 0)
    monkeypatch.setattr(f"{datasets}._chunked.rows_per_block", lambda _: 64)
    return tmp_path / "rows.parquet"


def test_sample_is_in_file_order_and_depends_on_the_seed(path):
    table = sample_table(path, 100, 7)
    numbers = table.column("n").astype(int)
    assert len(set(numbers.tolist())) == 100
    assert (np.diff(numbers) > 0).all()
    assert table.column("text").tolist() == [["a", None, "b"][i % 3] for i in numbers]
    assert table.notes[-1] == "A random sample of 100 of 300 rows is used (seed 7)."
    np.testing.assert_array_equal(sample_table(path, 100, 7).column("n"), numbers)
    assert sample_table(path, 100, 8).column("n").tolist() != numbers.tolist()


@pytest.mark.parametrize("max_rows", [300, 1000])
def test_small_files_are_read_whole(path, max_rows):
    whole, table = read_table(path), sample_table(path, max_rows, 0)
    assert table.notes == whole.notes
    for one, other in zip(table.columns, whole.columns, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("target", ["label", "code", "amount", "text"])
def test_sampled_dataset_is_a_subset(path, target):
    whole, some = open_dataset(str(path), target), open_dataset(str(path), target, draw=(90, 0))
    assert some.task == whole.task
    assert some.kinds == whole.kinds
    assert set(some.classes) == set(whole.classes)
    index = list(whole.feature_names).index("n")
    at = {row[index]: label for row, label in zip(whole.X.tolist(), whole.y.tolist(), strict=True)}
    assert [at[row[index]] for row in some.X.tolist()] == some.y.tolist()
    assert any("random sample of 90 of 300" in each for each in some.notes)


def test_text_files_are_not_sampled_by_default(tmp_path):
    (tmp_path / "rows.csv").write_text("a\n1\n2\n3\n", encoding="utf-8")
    assert sample_table(tmp_path / "rows.csv", 2, 0).n_rows == 3


def test_text_files_are_sampled_with_always(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("n,label\n" + "\n".join(f"{i},0{i % 2}" for i in range(50)))
    assert sample_table(path, 20, 7).n_rows == 50
    table = sample_table(path, 20, 7, always=True, kinds={"label": "numeric_or_label"})
    assert table.notes[-1] == "A random sample of 20 of 50 rows is used (seed 7)."
    numbers = table.column("n").astype(int).tolist()
    assert numbers == sorted(set(numbers))
    assert table.written.column("label").tolist() == [f"0{i % 2}" for i in numbers]
    assert sample_table(path, 50, 7, always=True).notes == ()


def test_named_datasets_are_not_sampled():
    with pytest.raises(ValueError, match="`draw` is supported for files only"):
        open_dataset("iris", draw=(20, 0, True))
    assert len(open_dataset("iris", draw=(20, 0)).y) == 150
