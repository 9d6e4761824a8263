"""Summaries of datasets and tables."""

import msgspec
import numpy as np

from ensemblage.datasets import ColumnSummary, Dataset, DataSummary, Table
from ensemblage.datasets._table import column_from_texts

TABLE = Table(
    ("age", "job", "seen", "empty", "kind"),
    (
        column_from_texts(["31", None, "52", "40"]),
        column_from_texts(["cook", "cook", None, "smith"]),
        column_from_texts(["2024-03-01", None, "2023-01-05", "2024-01-01"], "date"),
        column_from_texts([None] * 4),
        column_from_texts(["a", "b", "a", "a"]),
    ),
    notes=("Read with commas.",),
)


def test_summary_by_hand():
    summary = DataSummary.of_dataset(Dataset.from_table(TABLE, "kind", name="people"))
    assert summary.columns == (
        ColumnSummary("age", "numeric", 1, 3, 31.0, 40.0, 52.0),
        ColumnSummary("job", "categorical", 1, 2, top_categories={"cook": 2}),
        ColumnSummary("seen", "date", 1, 3, "2023-01-05", "2024-01-01", "2024-03-01"),
        ColumnSummary("empty", "numeric", 4, 0),
    )
    assert (summary.n_rows, summary.n_missing, summary.n_incomplete) == (4, 7, 4)
    assert summary.kinds == {"numeric": 2, "categorical": 1, "date": 1}
    assert summary.classes == {"a": 3, "b": 1}
    assert "Read with commas." in summary.notes
    assert summary.sentence == (
        "columns: 2 numeric, 1 categorical, 1 date; 7 missing values in 4 columns; "
        "classes: a 75%, b 25%"
    )


def test_summary_of_a_table():
    summary = DataSummary.of_table(TABLE.select(["age", "job"]), "people.csv")
    assert (summary.target, summary.classes, summary.sources) == (None, {}, {})
    assert summary.sentence == "columns: 1 numeric, 1 categorical; 2 missing values in 2 columns"


def test_rare_classes_are_not_rounded_to_zero():
    labels = np.array(["a"] * 998 + ["b"] * 2)
    data = Dataset("d", np.zeros((1000, 1)), labels, ("x",), ("numeric",))
    assert DataSummary.of_dataset(data).sentence.endswith("classes: a >99%, b <1%")


def test_many_classes_are_summarised():
    labels = np.array([f"class {k % 6}" for k in range(12)])
    data = Dataset("d", np.zeros((12, 1)), labels, ("x",), ("numeric",), sources=labels)
    summary = DataSummary.of_dataset(data)
    assert (
        summary.sentence
        == "columns: 1 numeric; no missing values; classes: 6 of 17% each; sources: 6"
    )
    assert summary.sources == dict.fromkeys(sorted(set(labels.tolist())), 2)


def test_json_round_trip():
    summary = DataSummary.of_dataset(Dataset.from_table(TABLE, "kind"))
    assert msgspec.json.decode(msgspec.json.encode(summary), type=DataSummary) == summary
