"""Cards of datasets and tables."""

import msgspec
import numpy as np

from ensemblage.datasets import ColumnCard, DataCard, Dataset, Table
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
    card = DataCard.of_dataset(Dataset.from_table(TABLE, "kind", name="people"))
    assert card.columns == (
        ColumnCard("age", "number", 1, 3, 31.0, 40.0, 52.0),
        ColumnCard("job", "word", 1, 2, common={"cook": 2}),
        ColumnCard("seen", "date", 1, 3, "2023-01-05", "2024-01-01", "2024-03-01"),
        ColumnCard("empty", "number", 4, 0),
    )
    assert (card.n_rows, card.n_missing, card.n_gappy) == (4, 7, 4)
    assert card.kinds == {"number": 2, "word": 1, "date": 1}
    assert card.classes == {"a": 3, "b": 1}
    assert "Read with commas." in card.notes
    assert card.sentence == (
        "columns: 2 of numbers, 1 of words, 1 of dates; 7 gaps in 4 columns; classes: a 75%, b 25%"
    )


def test_a_table_has_no_classes():
    card = DataCard.of_table(TABLE.select(["age", "job"]), "people.csv")
    assert (card.target, card.classes, card.sources) == (None, {}, {})
    assert card.sentence == "columns: 1 of numbers, 1 of words; 2 gaps in 2 columns"


def test_a_rare_class_is_not_said_to_be_nothing():
    labels = np.array(["a"] * 998 + ["b"] * 2)
    data = Dataset("d", np.zeros((1000, 1)), labels, ("x",), ("number",))
    assert DataCard.of_dataset(data).sentence.endswith("classes: a >99%, b <1%")


def test_many_classes_and_sources_are_counted():
    labels = np.array([f"class {k % 6}" for k in range(12)])
    data = Dataset("d", np.zeros((12, 1)), labels, ("x",), ("number",), sources=labels)
    card = DataCard.of_dataset(data)
    assert card.sentence == "columns: 1 of numbers; no gaps; classes: 6 of 17% each; sources: 6"
    assert card.sources == dict.fromkeys(sorted(set(labels.tolist())), 2)


def test_a_card_survives_json():
    card = DataCard.of_dataset(Dataset.from_table(TABLE, "kind"))
    assert msgspec.json.decode(msgspec.json.encode(card), type=DataCard) == card
