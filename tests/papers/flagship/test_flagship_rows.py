import numpy as np

from ensemblage.datasets import Dataset, load_dataset
from ensemblage.papers.flagship import _flagship_rows
from ensemblage.papers.flagship._flagship_rows import outer_fold


def test_outer_folds_share_their_rows_and_test_each_once(monkeypatch):
    monkeypatch.setattr(_flagship_rows, "MOST_ROWS", 60)
    folds = [outer_fold(load_dataset("iris"), k, 0) for k in range(5)]
    assert [len(each.asked.y) for each in folds] == [12] * 5
    assert all(len(each.learned.y) == 48 for each in folds)
    tested = np.concatenate([each.asked.X for each in folds])
    learned = np.concatenate([folds[0].learned.X, folds[0].asked.X])
    assert sorted(map(tuple, tested)) == sorted(map(tuple, learned))
    assert all((np.bincount(each.asked.y) == 4).all() for each in folds)


def test_many_classes_have_fewer_rows(monkeypatch):
    monkeypatch.setattr(_flagship_rows, "MOST_ROWS_OF_MANY", 200)
    fold = outer_fold(load_dataset("digits"), 0, 0)
    assert len(fold.asked.y) + len(fold.learned.y) == 200


def test_words_and_gaps_become_numbers_by_the_rows_that_are_learned():
    X = np.array([["a", 1.0], ["b", None]] * 20, dtype=object)
    data = Dataset("d", X, np.repeat(["no", "yes"], 20), ("w", "n"), ("word", "number"))
    fold = outer_fold(data, 0, 0)
    assert fold.asked.X.shape[1] == fold.learned.X.shape[1] > 2
    assert np.isfinite(fold.asked.X).all()
    assert len(fold.learned.folds) == 5
