"""Cards of datasets and tables."""

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


def test_a_dataset_by_hand():
    card = DataSummary.of_dataset(Dataset.from_table(TABLE, "kind", name="people"))
    assert card.columns == (
        ColumnSummary("age", "numeric", 1, 3, 31.0, 40.0, 52.0),
        ColumnSummary("job", "categorical", 1, 2, top_categories={"cook": 2}),
        ColumnSummary("seen", "date", 1, 3, "2023-01-05", "2024-01-01", "2024-03-01"),
        ColumnSummary("empty", "numeric", 4, 0),
    )
    assert (card.n_rows, card.n_missing, card.n_incomplete) == (4, 7, 4)
    assert card.kinds == {"numeric": 2, "categorical": 1, "date": 1}
    assert card.classes == {"a": 3, "b": 1}
    assert "Read with commas." in card.notes
    assert card.sentence == (
        "columns: 2 numeric, 1 categorical, 1 date; 7 missing values in 4 columns; "
        "classes: a 75%, b 25%"
    )


def test_a_table_has_no_classes():
    card = DataSummary.of_table(TABLE.select(["age", "job"]), "people.csv")
    assert (card.target, card.classes, card.sources) == (None, {}, {})
    assert card.sentence == "columns: 1 numeric, 1 categorical; 2 missing values in 2 columns"


def test_a_rare_class_is_not_said_to_be_nothing():
    labels = np.array(["a"] * 998 + ["b"] * 2)
    data = Dataset("d", np.zeros((1000, 1)), labels, ("x",), ("numeric",))
    assert DataSummary.of_dataset(data).sentence.endswith("classes: a >99%, b <1%")


def test_many_classes_and_sources_are_counted():
    labels = np.array([f"class {k % 6}" for k in range(12)])
    data = Dataset("d", np.zeros((12, 1)), labels, ("x",), ("numeric",), sources=labels)
    card = DataSummary.of_dataset(data)
    assert (
        card.sentence == "columns: 1 numeric; no missing values; classes: 6 of 17% each; sources: 6"
    )
    assert card.sources == dict.fromkeys(sorted(set(labels.tolist())), 2)


def test_a_card_survives_json():
    card = DataSummary.of_dataset(Dataset.from_table(TABLE, "kind"))
    assert msgspec.json.decode(msgspec.json.encode(card), type=DataSummary) == card
