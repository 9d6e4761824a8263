"""Words as zeros and ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensemblage.tables import Column
from ensemblage.tables._word_features import Split, group_codes, split_rare, write_words

WORDS = Column("job", values=["b", "a", None, "a", "c", "a", "b"])


def test_all_categories_have_a_feature_and_a_gap_is_one():
    assert split_rare(WORDS, None, None) == Split(["a", "b", "c", "missing"], [])


@pytest.mark.parametrize(
    ("min_frequency", "max_categories", "own"),
    [(2, None, ["a", "b"]), (0.3, None, ["a"]), (None, 2, ["a"]), (None, 3, ["a", "b"])],
)
def test_rare_categories_are_put_together(min_frequency, max_categories, own):
    split = split_rare(WORDS, min_frequency, max_categories)
    assert split.own == own
    assert sorted(split.own + split.rare) == ["a", "b", "c", "missing"]
    assert split.labels == [*own, "other"]


def test_unseen_categories_and_gaps_by_hand():
    out = np.zeros((5, 3))
    split = Split(["a", "missing"], ["b", "c"])
    write_words(Column("job", values=["c", "z", None, "a", "b"]), split, out)
    assert out.tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert group_codes(Column("job", values=[None]), Split(["a"], [])).tolist() == [1]


@given(
    st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1),
    st.none() | st.integers(1, 3),
    st.none() | st.integers(2, 4),
)
def test_every_training_row_has_a_single_one(values, min_frequency, max_categories):
    column = Column("x", values=values)
    split = split_rare(column, min_frequency, max_categories)
    out = np.zeros((len(values), split.n_features))
    write_words(column, split, out)
    assert (out.sum(axis=1) == 1).all()
    assert (out.sum(axis=0) > 0).all()
    assert max_categories is None or split.n_features <= max_categories
