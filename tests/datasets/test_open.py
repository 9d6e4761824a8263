import numpy as np
import pytest

from ensemblage.datasets import align_table, open_dataset, read_table


def test_open_dataset_takes_names_and_files(tmp_path, table_file):
    assert open_dataset("iris").name == "iris"
    data = open_dataset(str(table_file), "class")
    assert data.feature_names == ("age", "job", "pay")
    assert open_dataset(str(table_file), "class", drop=["job"]).feature_names == ("age", "pay")
    with pytest.raises(ValueError, match=r"`target`\. The columns are: age, job, pay, class"):
        open_dataset(str(table_file))
    with pytest.raises(ValueError, match="target of the dataset 'iris' is 'class', not 'x'"):
        open_dataset("iris", "x")
    with pytest.raises(ValueError, match="left out of a file only"):
        open_dataset("iris", drop=["class"])
    with pytest.raises(ValueError, match="There is no file"):
        open_dataset(str(tmp_path / "no.csv"))


def test_a_folder_does_not_hide_a_dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris").mkdir()
    (tmp_path / "things").mkdir()
    assert open_dataset("iris").name == "iris"
    with pytest.raises(ValueError, match="things is a folder"):
        open_dataset("things")


def test_labels_are_kept_as_written(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,01\n2,1\n", encoding="utf-8")
    assert open_dataset(str(path), "y").y.tolist() == ["01", "1"]


def test_columns_are_matched_by_name(table_file):
    table = read_table(table_file)
    names = ("pay", "age", "job")
    turned = table.select(["class", "job", "pay", "age"])
    expected = table.select(names).to_array()
    aligned = align_table(turned, names, target="class")
    assert [row[2] for row in aligned] == [row[2] for row in expected]
    np.testing.assert_array_equal(aligned[:, :2].astype(float), expected[:, :2].astype(float))
    with pytest.raises(ValueError, match="needs columns that are not there: wage, sex"):
        align_table(table, ["age", "wage", "sex"])
    with pytest.raises(ValueError, match=r"does not know: job, pay\."):
        align_table(table, ["age"], target="class")
    with pytest.raises(ValueError, match=r"not there: Pay\. Did you mean 'pay'\?"):
        align_table(table, ["age", "job", "Pay"], target="class")
