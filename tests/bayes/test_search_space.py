import numpy as np

from bayes.coded import space
from ensemblage.bayes._search_space import ArcRules, Structure, first_best


def test_of_equal_scores_the_first_is_best():
    assert first_best([0.5, 0.5 + 1e-11, 0.4]) == 0
    assert first_best([0.5, 0.5 + 1e-9, 0.6, 0.6]) == 2


def test_a_structure_grows_into_a_new_one():
    start = Structure.start(2, "naive")
    grown = start.add(2, 1)
    assert start.parents == ((), (0,), (0,))
    assert grown.parents == ((), (0,), (0, 1))
    assert grown.others(2) == (1,)
    assert list(grown.features) == [1, 2]
    assert Structure.start(2, "empty").parents == ((), (), ())
    assert grown.remove(2, 0).parents == ((), (0,), (1,))


def test_what_stands_above_a_node_and_an_order_of_parents_before_children():
    structure = Structure(((), (2,), (3, 0), (), (1,)))
    assert structure.above(1) == {0, 2, 3}
    assert structure.above(3) == set()
    assert structure.sorted_features([1, 2, 3, 4]) == [3, 2, 1, 4]
    assert structure.sorted_features([4, 3, 2, 1]) == [3, 2, 1, 4]


def test_first_parents_are_those_required_and_the_class_where_there_is_room():
    rules = ArcRules(ArcRules.free(4).possible, ((), (2, 3), (3,), ()), (0,) * 4)
    rules.possible[0, 3] = False
    naive = space([1, 2, 3], max_parents=2)._replace(rules=rules)
    assert naive.first().parents == ((), (2, 3), (0, 3), ())
    assert naive._replace(init="empty").first().parents == ((), (2, 3), (3,), ())
    assert naive.candidates(naive.first(), 1, [0, 2, 3]) == []
    assert naive.candidates(naive.first(), 3, [0, 1, 2]) == [1, 2]


def test_without_rules_every_arc_is_possible_but_into_the_class():
    possible = ArcRules.free(3).possible
    expected = np.array([[0, 1, 1], [0, 0, 1], [0, 1, 0]], dtype=bool)
    np.testing.assert_array_equal(possible, expected)
