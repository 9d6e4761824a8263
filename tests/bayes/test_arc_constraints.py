import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from ensemblage.bayes import BayesNetClassifier, NetworkConstraints
from ensemblage.bayes._arc_constraints import arc_rules
from ensemblage.bayes._searches import SEARCHES
from ensemblage.inner import InnerBayesNetClassifier

NAMES = ["class", "a", "b", "c"]


def table(seed, n_rows=80):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    a = (y + rng.integers(0, 2, n_rows)) % 3
    b, c = (a + rng.integers(0, 2, n_rows)) % 3, rng.integers(0, 2, n_rows)
    X = pd.DataFrame({"a": a, "b": b, "c": c}).astype(str)
    return X, pd.Series(y, name="class")


def test_they_are_values():
    rules = NetworkConstraints(required=[["a", "b"]], tiers=[["a"], ["b"]])
    assert rules == NetworkConstraints((("a", "b"),), (), (("a",), ("b",)))
    assert hash(rules) == hash(NetworkConstraints([("a", "b")], tiers=[("a",), ("b",)]))
    assert clone(BayesNetClassifier(constraints=rules)).constraints == rules


def test_tiers_and_order_by_hand():
    rules = NetworkConstraints(forbidden=[("a", "b")], tiers=[["c"], ["a"]])
    found = arc_rules(rules, NAMES)
    expected = [[0, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 1, 0]]
    np.testing.assert_array_equal(found.possible, np.array(expected, dtype=bool))
    assert found.default_order() == [2, 3, 1]
    required = NetworkConstraints(required=[("c", "a")])
    assert arc_rules(required, NAMES).default_order() == [2, 3, 1]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"required": [("a", "size")]}, "'size', which is no node"),
        ({"forbidden": [("A", "b")]}, "Did you mean 'a'"),
        ({"required": [("a", "class")]}, "is the class, which has no parents"),
        ({"required": [("a", "a")]}, "not its own parent"),
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "it is forbidden too"),
        ({"required": [("a", "b")], "tiers": [["b"], ["a"]]}, "'a' is in a later tier than 'b'"),
        ({"required": [("a", "b"), ("b", "c"), ("c", "a")]}, r"circle through \['a', 'b', 'c'\]"),
        ({"tiers": [["a"], ["b", "a"]]}, "'a' into tiers 1 and 2"),
        ({"required": [("class", "c"), ("a", "c"), ("b", "c")]}, "more than max_parents=2"),
    ],
)
def test_contradictions_are_refused_before_any_work(rules, words):
    X, y = table(0)
    with pytest.raises(ValueError, match=words):
        BayesNetClassifier(2, constraints=NetworkConstraints(**rules)).fit(X, y)


def test_contradictions_of_other_parameters():
    X, y = table(0)
    rules = NetworkConstraints(required=[("b", "a"), ("c", "a")])
    with pytest.raises(ValueError, match=r"order puts 'a' first.*hill-climbing"):
        BayesNetClassifier(constraints=rules, order=["a", "b", "c"]).fit(X, y)
    BayesNetClassifier(constraints=rules, order=["a", "b", "c"], search="tabu").fit(X, y)
    with pytest.raises(ValueError, match="one parent besides the class"):
        BayesNetClassifier(constraints=rules, search="tan").fit(X, y)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"required": ["ab"]}, "required must be pairs of names"),
        ({"forbidden": [("a", 1)]}, "forbidden must be pairs of names"),
        ({"tiers": ["ab"]}, "tiers must be groups of names"),
    ],
)
def test_other_things_than_names_are_refused(rules, words):
    with pytest.raises(TypeError, match=words):
        NetworkConstraints(**rules)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(SEARCHES)), st.booleans())
def test_every_search_keeps_them(seed, search, crowd):
    X, y = table(seed)
    rules = NetworkConstraints([("b", "a")], [("class", "c")], [["b"], ["a", "c"]])
    make = InnerBayesNetClassifier if crowd else BayesNetClassifier
    size = {"n_views": 3, "random_state": 0} if crowd else {}
    network = make(search=search, criterion="bic", constraints=rules, **size).fit(X, y)
    parents = network.parents_
    assert "b" in parents["a"]
    assert "class" not in parents["c"]
    assert not {"a", "c"} & set(parents["b"])
    places = {name: place for place, name in enumerate(network.order_)}
    assert all(places[p] < places[n] for n, above in parents.items() for p in above)
    assert network.graph().topological_order()
