"""Unseen categories and rows outside the training range."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.datasets import TrainingRanges, UnseenValues
from ensemblage.datasets._novelty import ColumnRange, far_rows

ROWS = np.array(
    [[1.0, "cook", 5.0], [2.0, "cook", 5.0], [3.0, None, 5.0], [np.nan, "smith", 5.0]],
    dtype=object,
)
KINDS = ("numeric", "categorical", "numeric")
NAMES = ("age", "job", "always")


def sentences(seen, X, names):
    unseen = UnseenValues(seen, names)
    unseen.add(X.T)
    return list(unseen.sentences())


def test_training_ranges():
    seen = TrainingRanges.of(ROWS, KINDS)
    assert seen.categories == (None, ("cook", "smith"), None)
    limits, nothing, constant = seen.ranges
    assert (limits.low, limits.high, limits.centre) == (1.0, 3.0, 2.0)
    assert (nothing, constant) == (None, None)
    # the outermost rows are one year from the median, with a scale of 1 / 1.349 years
    assert seen.radius == 1.349


def test_a_column_with_equal_quartiles_has_a_scale():
    assert ColumnRange.of(np.array([0.0] * 9 + [4.0])).scale == 1.0
    assert ColumnRange.of(np.array([np.nan, 2.0, 2.0])) is None


def test_unseen_categories_are_listed_with_their_rows():
    new = np.array([[2.0, "pilot", 5.0], [2.0, "cook", 5.0], [2.0, "pilot", 9.0]], dtype=object)
    (sentence,) = sentences(TrainingRanges.of(ROWS, KINDS), new, NAMES)
    assert sentence == "Unseen categories in column 'job': 'pilot' (2 rows)."


def test_far_rows_are_listed_with_their_column():
    # the range is 2: beyond it by half is below 0 or above 4
    new = np.array([[age, None, 5.0] for age in (0.0, 4.0, 4.01, np.nan, -9.0)], dtype=object)
    (sentence,) = sentences(TrainingRanges.of(ROWS, KINDS), new, NAMES)
    assert "training data, mostly in column 'age': 2 of 5 rows (indices from 0: 2, 4)" in sentence


def test_rows_far_in_several_columns():
    # unit vectors: a row of ones is within every range but three times as far from the medians
    X = np.vstack([np.eye(9), -np.eye(9)])
    seen = TrainingRanges.of(X, ["numeric"] * 9)
    assert far_rows(seen, np.ones((9, 1)))[0].tolist() == [0]
    assert far_rows(seen, np.full((9, 1), 2 / 3))[0].tolist() == []


@given(st.integers(0, 10_000))
def test_training_rows_are_never_far(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1, size=(20, 3)) * 10.0 ** rng.integers(-5, 6, size=3)
    assert len(far_rows(TrainingRanges.of(X, ["numeric"] * 3), X.T)[0]) == 0


def test_far_rows_are_far_from_each_training_row():
    """By half a range in one column, or by the radius in all."""
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(60, 4)), rng.normal(scale=3, size=(200, 4))
    seen = TrainingRanges.of(X, ["numeric"] * 4)
    ranges = X.max(axis=0) - X.min(axis=0)
    scales = np.array([limits.scale for limits in seen.ranges])
    far = far_rows(seen, new.T)[0]
    assert 0 < len(far) < 200
    for row in new[far]:
        apart = np.abs(row - X)
        by_column = (apart / ranges).max(axis=1).min()
        by_distance = np.linalg.norm(apart / scales, axis=1).min()
        assert by_column > 0.5 or by_distance > seen.radius


def test_categorical_table_has_no_far_rows():
    categories = np.array([["a"], ["b"]], dtype=object)
    seen = TrainingRanges.of(categories, ["categorical"])
    assert len(far_rows(seen, categories.T)[0]) == 0
    assert sentences(seen, categories, ["w"]) == []
