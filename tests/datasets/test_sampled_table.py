"""Some rows of a large file."""

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
        "word": [["a", None, "b"][i % 3] for i in numbers],
        "code": numbers % 3,
        "label": [f"0{i % 3}" for i in numbers],
        "amount": numbers / 7,
    }
    parquet.write_table(pa.table(table), tmp_path / "rows.parquet", row_group_size=50)
    datasets = "ensemblage.datasets"
    monkeypatch.setattr(f"{datasets}._parquet.ALWAYS_FINE", 0)
    monkeypatch.setattr(f"{datasets}._chunked.rows_per_block", lambda _: 64)
    return tmp_path / "rows.parquet"


def test_rows_are_drawn_in_their_order_by_the_seed(path):
    table = sample_table(path, 100, 7)
    numbers = table.column("n").astype(int)
    assert len(set(numbers.tolist())) == 100
    assert (np.diff(numbers) > 0).all()
    assert table.column("word").tolist() == [["a", None, "b"][i % 3] for i in numbers]
    assert table.notes[-1] == "The file has 300 rows, of which 100 were drawn by the seed 7."
    np.testing.assert_array_equal(sample_table(path, 100, 7).column("n"), numbers)
    assert sample_table(path, 100, 8).column("n").tolist() != numbers.tolist()


@pytest.mark.parametrize("most", [300, 1000])
def test_all_rows_are_read_where_they_are_few(path, most):
    whole, table = read_table(path), sample_table(path, most, 0)
    assert table.notes == whole.notes
    for one, other in zip(table.columns, whole.columns, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("target", ["label", "code", "amount", "word"])
def test_a_dataset_of_some_rows_is_a_part_of_the_whole(path, target):
    whole, some = open_dataset(str(path), target), open_dataset(str(path), target, draw=(90, 0))
    assert some.task == whole.task
    assert some.kinds == whole.kinds
    assert set(some.classes) == set(whole.classes)
    place = list(whole.feature_names).index("n")
    at = {row[place]: label for row, label in zip(whole.X.tolist(), whole.y.tolist(), strict=True)}
    assert [at[row[place]] for row in some.X.tolist()] == some.y.tolist()
    assert any("90 were drawn" in each for each in some.notes)


def test_text_is_read_whole(tmp_path):
    (tmp_path / "rows.csv").write_text("a\n1\n2\n3\n", encoding="utf-8")
    assert sample_table(tmp_path / "rows.csv", 2, 0).n_rows == 3


def test_of_a_file_that_is_read_whole_rows_are_drawn_if_asked_for(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("n,label\n" + "\n".join(f"{i},0{i % 2}" for i in range(50)))
    assert sample_table(path, 20, 7).n_rows == 50
    table = sample_table(path, 20, 7, always=True, kinds={"label": "numeric_or_label"})
    assert table.notes[-1] == "The file has 50 rows, of which 20 were drawn by the seed 7."
    numbers = table.column("n").astype(int).tolist()
    assert numbers == sorted(set(numbers))
    assert table.written.column("label").tolist() == [f"0{i % 2}" for i in numbers]
    assert sample_table(path, 50, 7, always=True).notes == ()


def test_rows_of_a_named_dataset_are_not_drawn():
    with pytest.raises(ValueError, match="Rows can be drawn of a file only"):
        open_dataset("iris", draw=(20, 0, True))
    assert len(open_dataset("iris", draw=(20, 0)).y) == 150
