"""Names of strata: short, plain, each of its own."""

from hypothesis import given
from hypothesis import strategies as st

from ensemblage.strata._stratum_names import name_strata


def test_two_phrases_and_more_only_where_needed():
    phrases = [["a high", "b low", "c = x"], ["a high", "b low", "c = y"], ["d = z", "a low", "e"]]
    assert name_strata(phrases) == ["a high, b low, c = x", "a high, b low, c = y", "d = z, a low"]


def test_what_does_not_differ_is_numbered():
    assert name_strata([[], [], ["a"]]) == [
        "like all rows (1 of 2)",
        "like all rows (2 of 2)",
        "a",
    ]
    assert name_strata([["a"], ["a"]]) == ["a (1 of 2)", "a (2 of 2)"]
    assert name_strata([]) == []


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=4), max_size=8))
def test_no_name_stands_twice(phrases):
    names = name_strata(phrases)
    assert len(set(names)) == len(names) == len(phrases)
