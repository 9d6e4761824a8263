"""A fingerprint changes with what a method sees, and with nothing else."""

from dataclasses import replace

import numpy as np

from ensemblage.datasets import Dataset, Table, dataset_fingerprint

TABLE = Table.from_texts(
    ["size", "colour", "class"], [["1", "", "3"], ["red", "blue", ""], ["a", "b", "a"]]
)
DATASET = Dataset.from_table(TABLE, "class", name="one")


def test_where_it_came_from_does_not_count():
    again = replace(DATASET, name="other", origin="elsewhere", notes=("odd",), description="so")
    assert dataset_fingerprint(again) == dataset_fingerprint(DATASET)


def test_missing_numbers_are_alike_whatever_their_bits():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    other = X.copy()
    other[0, 1] = np.uint64(0x7FF8000000000001).view(np.float64)
    made = [Dataset("d", each, np.array(["a", "b"]), ("p", "q"), ("number", "number"))
            for each in (X, other)]  # fmt: skip
    assert len({dataset_fingerprint(each) for each in made}) == 1


def test_each_thing_that_a_method_sees_counts():
    X = DATASET.X.copy()
    X[0, 0] = 1.5
    words = DATASET.X.copy()
    words[0, 1] = "blue"
    changed = [
        replace(DATASET, X=X),
        replace(DATASET, X=words),
        replace(DATASET, X=DATASET.X[::-1], y=DATASET.y[::-1]),
        replace(DATASET, y=np.array(["a", "b", "b"])),
        replace(DATASET, categories={"colour": ("blue", "red")}),
        replace(DATASET, feature_names=("weight", "colour")),
        replace(DATASET, sources=np.array(["x", "x", "y"])),
    ]
    prints = {dataset_fingerprint(each) for each in (DATASET, *changed)}
    assert len(prints) == 1 + len(changed)
