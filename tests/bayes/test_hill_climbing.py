from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes.coded import as_lists, draw, space
from ensemblage.bayes._hill_climbing import (
    PATIENCE,
    Remembered,
    hill_climbing,
    sorted_moves,
    tabu_search,
)
from ensemblage.bayes._k2_search import make_measure
from ensemblage.bayes._search_space import Candidates, Structure
from ensemblage.kernels import NO_EXTRA
from reference import k2 as slow


def never():
    return False


def all_structures(n_features, max_parents):
    """Every structure without a cycle in which the class has no parents."""
    nodes = range(n_features + 1)
    families = [
        [c for k in range(max_parents + 1) for c in combinations([p for p in nodes if p != n], k)]
        for n in nodes[1:]
    ]
    for parents in product(*families):
        structure = Structure(((), *parents))
        if all(node not in structure.above(node) for node in structure.features):
            yield structure


def whole(score, structure):
    """Add a local score up over the nodes."""
    asked = (Candidates(structure, node, np.array([NO_EXTRA])) for node in structure.features)
    return sum(float(score(each)[0]) for each in asked)


def local(seed, criterion="bic"):
    rows = draw(seed, n_rows=60)
    return partial(make_measure(criterion, rows, 0.5), view=np.ones(rows.n_rows))


def test_by_hand():
    """One arc is worth 3, its reverse 5, another 1; the class is worth nothing."""
    worth = {(1, 2): 3.0, (2, 1): 5.0, (3, 1): 1.0}

    def score(candidates):
        structure, node, extras = candidates
        now = sum(worth.get((p, node), 0.0) for p in structure.parents[node])
        return np.array([now + worth.get((int(e), node), 0.0) for e in extras])

    found = hill_climbing(score, space([1, 2, 3], "empty"), never)
    assert found.parents == ((), (2, 3), (), ())
    narrow = hill_climbing(score, space([1, 2, 3], "empty", max_parents=1), never)
    assert narrow.parents == ((), (2,), (), ())
    # from an arc the wrong way round, the best move is to turn it
    start = Structure(((), (), (1,), ()))
    best = sorted_moves(score, start, space([1, 2, 3]))[0]
    assert (best.gain, best.structure.parents) == (2.0, ((), (2,), (), ()))


@pytest.mark.parametrize("criterion", ["bic", "bdeu", "k2"])
def test_no_neighbour_is_better_and_tabu_is_no_worse(criterion):
    for seed in range(4):
        score, within = local(seed, criterion), space([1, 2, 3], local=True)
        climbed, tabu = (search(score, within, never) for search in (hill_climbing, tabu_search))
        heights = {each: whole(score, each) for each in all_structures(3, 3)}
        near = [
            heights[other] for other in heights
            if sum(set(a) != set(b) for a, b in zip(other.parents, climbed.parents, strict=True))
            and _is_one_arc_away(other, climbed)
        ]  # fmt: skip
        top = whole(score, climbed)
        assert max(near) <= top + 1e-9
        assert whole(score, tabu) >= top - 1e-9


def _is_one_arc_away(one, other):
    first, second = (
        {(p, n) for n, above in enumerate(each.parents) for p in above} for each in (one, other)
    )
    gone, new = first - second, second - first
    turned = len(gone) == len(new) == 1 and next(iter(gone)) == next(iter(new))[::-1]
    return len(gone) + len(new) == 1 or turned


def test_tabu_finds_the_best_of_all_structures_where_climbing_may_stop():
    """Exhaustive search on three features."""
    for seed in range(4):
        score, within = local(seed), space([1, 2, 3], local=True)
        best = max(whole(score, each) for each in all_structures(3, 3))
        assert whole(score, tabu_search(score, within, never)) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("criterion", ["probability", "log"])
def test_moves_of_a_global_score_gain_what_algorithm_3_says(criterion):
    rows = draw(1)
    lists, sizes = as_lists(rows)
    score = partial(make_measure(criterion, rows, 0.5), view=np.ones(rows.n_rows))
    structure = Structure(((), (0,), (0, 1), (0, 2)))

    def slowly(each):
        families = [list(above) for above in each.parents]
        return slow.leave_one_out(lists, [1.0] * len(lists), sizes, families, criterion)

    now, moves = slowly(structure), sorted_moves(score, structure, space([1, 2, 3]))
    assert len(moves) == 8  # one arc more, five less, two the other way
    for gain, changed in moves:
        assert gain == pytest.approx(slowly(changed) - now, abs=1e-10)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_structures_have_no_cycle_and_not_too_many_parents(seed, max_parents):
    score, within = local(seed), space([3, 1, 2], max_parents=max_parents, local=True)
    for search in (hill_climbing, tabu_search):
        found = search(score, within, never)
        assert found.parents[0] == ()
        assert max(map(len, found.parents)) <= max_parents
        assert all(node not in found.above(node) for node in found.features)
        assert whole(score, found) >= whole(score, within.first()) - 1e-9


def test_searches_end_where_they_are_told_to():
    steps = iter([False, True])
    score = local(0)
    found = hill_climbing(score, space([1, 2, 3], "empty"), lambda: next(steps))
    assert sum(map(len, found.parents)) == 2
    count = []
    tabu_search(score, space([1, 2, 3]), lambda: bool(count.append(1)))
    assert len(count) >= PATIENCE


def test_a_local_score_is_asked_once():
    asked = []

    def score(candidates):
        asked.extend(candidates.extras.tolist())
        return candidates.extras * 2.0

    known, structure = Remembered(score), Structure(((), (0,), (0,)))
    for extras in ([NO_EXTRA, 1], [NO_EXTRA, 1, 3], [3]):
        candidates = Candidates(structure, 2, np.array(extras))
        np.testing.assert_array_equal(known(candidates), np.array(extras) * 2.0)
    assert asked == [NO_EXTRA, 1, 3]
