"""The ``ensemblage cluster`` command on files."""

import csv
import json

import pytest
from sklearn.datasets import load_iris


@pytest.fixture
def iris_file(tmp_path):
    data = load_iris()
    path = tmp_path / "iris.csv"
    lines = [[f"{value:g}" for value in row] + [data.target_names[label]]
             for row, label in zip(data.data, data.target, strict=True)]  # fmt: skip
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "c", "d", "kind"], *lines])
    return path


def test_prototypes_and_scores_are_shown_and_labels_written(run, iris_file, tmp_path):
    result = run("cluster", iris_file, "-k", 3, "-t", "kind", "-o", tmp_path / "labels.csv")
    assert result.exit_code == 0
    assert "Inner K-means: 150 rows, 4 columns, 3 clusters" in result.stdout
    assert "Normalised mutual information (NMI) against the target: 0." in result.stdout
    rows = list(csv.DictReader((tmp_path / "labels.csv").read_text().splitlines()))
    assert len(rows) == 150
    assert {row["cluster"] for row in rows} == {"0", "1", "2"}
    assert all(0 <= float(row["agreement"]) <= 1 for row in rows)


def test_a_row_index_is_noted(run, tmp_path):
    lines = [f"{100 + i},{i % 2 * 5 + i / 100}" for i in range(40)]
    (tmp_path / "counted.csv").write_text("\n".join(["id,size", *lines]), encoding="utf-8")
    result = run("cluster", "counted.csv", "-k", 2)
    assert result.exit_code == 0
    assert "Column 'id' is a row index" in result.stderr
    assert "row index" not in run("cluster", "counted.csv", "-k", 2, "--drop", "id").stderr


def test_a_column_called_rows_does_not_hide_the_count(run, tmp_path):
    (tmp_path / "things.csv").write_text("rows,cluster\n7,9\n7,9\n5,9\n5,9\n", encoding="utf-8")
    result = run("cluster", "things.csv", "-k", 2, "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)["prototypes"]
    assert [(each["cluster"], each["rows"]) for each in found] == [(0, 2), (1, 2)]
    assert sorted(each["typical"]["rows"] for each in found) == [5, 7]
    assert [each["typical"]["cluster"] for each in found] == [9, 9]


@pytest.mark.parametrize("method", ["average", "inner"])
def test_the_number_of_clusters_is_chosen_if_it_is_not_given(run, iris_file, method):
    result = run("cluster", iris_file, "-m", method, "--drop", "kind", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["clusters"] == len(found["prototypes"]) == len(set(found["labels"])) == 2
    assert found["reason"].startswith("2 clusters chosen from 2 to 15: the largest k within 0.05")
    shown = run("cluster", iris_file, "-m", method, "--drop", "kind")
    assert found["reason"] in " ".join(shown.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-k", 3, "-m", "magic"), "Unknown clustering method 'magic'"),
        (("-k", 3, "--drop", "height"), "height"),
        (("-k", 999), "n_clusters=999 is more than the n_samples=150"),
    ],
)
def test_invalid_options_exit_with_a_message(run, iris_file, arguments, message):
    result = run("cluster", iris_file, *arguments)
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())


def test_a_warning_becomes_a_note(run, iris_file):
    result = run("cluster", iris_file, "-k", 12, "-m", "inner-paper", "--drop", "kind")
    assert "Note: Rows still change cluster" in " ".join(result.stderr.split())


def test_a_column_may_have_the_name_of_a_table_heading(run, tmp_path):
    rows = [f"{100 + i},{i % 2}" for i in range(12)]
    (tmp_path / "d.csv").write_text("\n".join(["rows,x", *rows]), encoding="utf-8")
    shown = run("cluster", "d.csv", "-k", 1).stdout
    assert next(line.split() for line in shown.splitlines() if line.split()[:1] == ["0"]) == [
        "0", "12", "105.5", "0.5",
    ]  # fmt: skip


@pytest.fixture
def large_file(tmp_path, monkeypatch):
    pa, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    data = load_iris()
    columns = dict(zip("abcd", data.data.T, strict=True))
    path = tmp_path / "iris.parquet"
    parquet.write_table(pa.table({**columns, "kind": data.target}), path)
    monkeypatch.setattr("ensemblage.datasets._parquet.ALWAYS_FINE", 0)
    return path


def test_a_large_file_is_clustered_in_blocks(run, large_file, tmp_path):
    result = run("cluster", large_file, "-k", 3, "-t", "kind", "-o", tmp_path / "labels.csv")
    assert result.exit_code == 0, result.output
    assert "Inner K-means: 150 rows, 4 columns, 3 clusters" in result.stdout
    assert "Mean agreement of the views on a row's cluster:" in result.stdout
    assert "'kind' is excluded" in " ".join(result.stderr.split())
    rows = list(csv.DictReader((tmp_path / "labels.csv").read_text().splitlines()))
    assert len(rows) == 150
    assert {row["cluster"] for row in rows} == {"0", "1", "2"}
    document = json.loads(run("cluster", large_file, "-k", 3, "--drop", "kind", "--json").stdout)
    assert document["labels"] == []
    assert sum(each["rows"] for each in document["prototypes"]) == 150


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "set --clusters K"),
        (("-k", 3, "--report", "page.html"), "omit --report"),
        (("-k", 3, "--drop", "height"), "no column 'height'"),
        (("-k", 3, "--scheduler", "tcp//x"), "is not an address"),
        (("-k", 3, "-m", "mcla", "--scheduler", "tcp://x:1"), "needs all rows in memory"),
    ],
)
def test_options_that_need_rows_in_memory_raise_for_a_large_file(
    run, large_file, tmp_path, arguments, message
):
    result = run("cluster", large_file, *arguments, "-o", tmp_path / "labels.csv")
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "labels.csv").exists()


def test_dask_workers_read_only_parquet(run, iris_file):
    result = run("cluster", iris_file, "-k", 3, "--scheduler", "tcp://x:1")
    assert result.exit_code == 1
    assert "is not a Parquet file, and Dask workers read only Parquet" in " ".join(
        result.stderr.split()
    )
